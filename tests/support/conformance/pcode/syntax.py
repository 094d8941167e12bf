"""Pseudocode text to a tree.

Line ends mean nothing (the manuals break long lines anywhere), statements are separated by semicolons, and a comment
goes from ``//`` to the end of its line. Sized things are written ``width'...``: ``8'255U`` is a constant, ``32'U(x)`` a
conversion, ``32'B[64]`` in a declaration an array.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any


class PcodeError(Exception):
    """The text is not in the language as we know it, or says something that we cannot evaluate."""


@dataclass(frozen=True)
class Node:
    """``kind`` says what it is; ``parts`` are its children, names and numbers."""

    kind: str
    parts: tuple[Any, ...]


_TOKEN = re.compile(
    r"""\s+
    |(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)[UI]?(?![A-Za-z0-9]))
    |(?P<type>\d+'(?:BF|[UIFB])(?![A-Za-z0-9]))
    |(?P<hex>0x[0-9a-fA-F]+(?:ULL|LL|U|L)?)
    |(?P<float>\d+\.\d+F?)
    |(?P<int>\d+(?:ULL|LL|U|L|F)?(?![A-Za-z_]))
    |(?P<name>[A-Za-z_][A-Za-z_0-9]*)
    |(?P<string>"[^"]*")
    |(?P<op>\+:|\+=|-=|\*=|\|=|&=|\^=|<<|>>|\*\*|<=|>=|==|!=|<>|&&|\|\||[-+*/%&|^~!<>=?:;,.()\[\]{}])
    """,
    re.VERBOSE,
)

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
_ASSIGN = ("=", "+=", "-=", "*=", "|=", "&=", "^=")
_STOP = frozenset({"endif", "endfor", "else", "elsif"})


def tokens(text: str) -> list[tuple[str, str]]:
    text = re.sub(r"//[^\n]*", "", text)
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise PcodeError(f"not a token: {text[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup:
            found.append((match.lastgroup, match.group(match.lastgroup)))
    return found


class Parser:
    def __init__(self, text: str):
        self.tokens = [*tokens(text), ("end", "")]
        self.at = 0

    # Tokens.

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)][1]

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, *wanted: str) -> str | None:
        kind, text = self.tokens[self.at]
        if text in wanted and kind in ("op", "name"):
            self.at += 1
            return text
        return None

    def expect(self, wanted: str) -> None:
        if not self.accept(wanted):
            raise PcodeError(f"expected {wanted!r}, found {self.peek()!r}")

    def name(self) -> str:
        kind, text = self.take()
        if kind != "name":
            raise PcodeError(f"expected a name, found {text!r}")
        return text

    # Statements.

    def program(self) -> Node:
        body = self.block()
        if self.tokens[self.at][0] != "end":
            raise PcodeError(f"unexpected {self.peek()!r}")
        return body

    def block(self, closer: str | None = None) -> Node:
        body = []
        while True:
            while self.accept(";"):
                pass
            text = self.peek()
            if self.tokens[self.at][0] == "end" or text in _STOP or text == closer:
                return Node("block", tuple(body))
            body.append(self.statement())
            text = self.peek()
            if text not in (";", closer) and text not in _STOP and self.tokens[self.at][0] != "end":
                raise PcodeError(f"expected the end of a statement, found {text!r}")

    def statement(self) -> Node:
        if self.accept("if"):
            return self.conditional()
        if self.accept("for"):
            variable = self.name()
            self.expect("in")
            first = self.expression()
            self.expect(":")
            last = self.expression()
            self.expect("do")
            body = self.block()
            self.expect("endfor")
            return Node("for", (variable, first, last, body))
        if self.accept("declare"):
            variable = self.name()
            self.expect(":")
            kind, text = self.take()
            if kind != "type":
                raise PcodeError(f"expected a type, found {text!r}")
            count = None
            if self.accept("["):
                count = self.expression()
                self.expect("]")
            return Node("declare", (variable, text, count))
        if self.accept("break"):
            return Node("break", ())
        if self.accept("return"):
            return Node("return", (self.expression(),))
        return self.assignment()

    def conditional(self) -> Node:
        condition = self.expression()
        self.expect("then")
        then = self.block()
        if self.accept("elsif"):
            return Node("if", (condition, then, self.conditional()))
        otherwise = self.block() if self.accept("else") else Node("block", ())
        self.expect("endif")
        return Node("if", (condition, then, otherwise))

    def assignment(self) -> Node:
        target = self.expression()
        if operator := self.accept(*_ASSIGN):
            if self.peek() == "lambda":
                return Node("define", (target.parts[0], self.function()))
            value = self.assignment() if operator == "=" else self.expression()
            if operator != "=":
                value = Node("binary", (operator[:-1], target, value))
            return Node("assign", (target, value))
        return target

    def function(self) -> Node:
        self.expect("lambda")
        self.expect("(")
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(")")
        self.expect("(")
        body = self.block(")")
        self.expect(")")
        return Node("lambda", (tuple(names), body))

    # Expressions.

    def expression(self) -> Node:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        return Node("select", (condition, yes, self.expression()))

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while operator := self.accept(*_LEVELS[level]):
            left = Node("binary", (operator, left, self.binary(level + 1)))
        return left

    def unary(self) -> Node:
        if operator := self.accept("-", "+", "~", "!"):
            return Node("unary", (operator, self.unary()))
        return self.postfix(self.primary())

    def postfix(self, node: Node) -> Node:
        while True:
            if self.accept("."):
                node = Node("member", (node, self.name()))
            elif self.accept("["):
                first = self.expression()
                if self.accept(":"):
                    node = Node("slice", (node, first, self.expression()))
                elif self.accept("+:"):
                    node = Node("span", (node, first, self.expression()))
                else:
                    node = Node("index", (node, first))
                self.expect("]")
            elif node.kind == "name" and self.peek() == "(":
                node = Node("call", (node.parts[0], self.arguments()))
            else:
                return node

    def arguments(self) -> tuple[Node, ...]:
        self.expect("(")
        found: list[Node] = []
        if not self.accept(")"):
            found.append(self.expression())
            while self.accept(","):
                found.append(self.expression())
            self.expect(")")
        return tuple(found)

    def primary(self) -> Node:
        kind, text = self.take()
        if kind == "op" and text == "(":
            inside = self.expression()
            self.expect(")")
            return Node("group", (inside,))
        if kind == "op" and text == "{":
            parts = [self.expression()]
            while self.accept(","):
                parts.append(self.expression())
            self.expect("}")
            return Node("concat", tuple(parts))
        if kind in ("int", "hex", "float", "sized"):
            return Node("number", (kind, text))
        if kind == "type":
            return Node("cast", (text, *self.arguments()))
        if kind == "name":
            return Node("name", (text,))
        raise PcodeError(f"unexpected {text!r}")


@functools.cache
def parse(text: str) -> Node:
    return Parser(text).program()
