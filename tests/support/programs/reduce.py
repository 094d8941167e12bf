"""Makes a program that differs smaller: drops statements and variables, one after the other, while it still differs."""

from __future__ import annotations

import copy
import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from .model import Function, Program, Statement
from .run import Build, CompilerError, Sources


def differs(folder: Path, seed: int, what: Build) -> Callable[[Program], bool]:
    def check(program: Program) -> bool:
        sources = Sources(folder, seed, [program])
        try:
            path = sources.compile(what)
            library = sources.host()
        except (CompilerError, subprocess.CalledProcessError):
            return False
        found = bool(sources.run(what, path).differences)
        ctypes.CDLL("").dlclose(ctypes.c_void_p(library._handle))
        for left in folder.glob(f"{sources.name}*"):
            left.unlink()
        return found

    return check


def reduce(program: Program, check: Callable[[Program], bool]) -> Program:
    program = copy.deepcopy(program)
    while any([_pass(program, function, check) for function in program.functions if isinstance(function, Function)]):
        pass
    for items in (program.functions, program.types):
        _drop(items, program, check)
    for function in program.functions:
        if isinstance(function, Function):
            for k, text in enumerate(function.variables):
                _shorten(text, lambda new, f=function, k=k: f.variables.__setitem__(k, new), program, check)
            for statement in _all(function.body):
                _shorten(statement.text, lambda new, one=statement: setattr(one, "text", new), program, check)
                _shorten(statement.tail, lambda new, one=statement: setattr(one, "tail", new), program, check)
    return program


def _all(items: list[Statement]) -> list[Statement]:
    return [one for item in items for one in [item, *_all(item.inside)]]


def _operands(text: str) -> list[tuple[int, int]]:
    """What stands in parentheses, with the name of what is called, the longest first."""
    open_at, found = [], []
    for at, letter in enumerate(text):
        if letter == "(":
            open_at.append(at)
        elif letter == ")" and open_at:
            found.append((open_at.pop(), at + 1))
    whole = []
    for start, end in found:
        whole.append((start, end))
        if called := re.search(r"[A-Za-z_][A-Za-z_0-9]*(<[^<>]*>)?$", text[:start]):
            whole.append((called.start(), end))
    return sorted(whole, key=lambda span: span[0] - span[1])


def _shorten(text: str, put: Callable[[str], None], program: Program, check: Callable[[Program], bool]) -> None:
    tried: set[str] = set()
    while True:
        for start, end in _operands(text):
            new = next((text[:start] + other + text[end:] for other in ("1", "2") if text[start:end] not in ("(1)", "(2)")), text)
            if new in tried or len(new) >= len(text):
                continue
            tried.add(new)
            put(new)
            if check(program):
                text = new
                break
        else:
            put(text)
            return


def _pass(program: Program, function: Function, check: Callable[[Program], bool]) -> bool:
    changed = _statements(function.body, program, check)
    for items in (function.ending, function.variables):
        changed |= _drop(items, program, check)
    return changed


def _drop(items: list, program: Program, check: Callable[[Program], bool]) -> bool:
    """Leaves out what can be left out: halves first, then smaller parts."""
    changed, size = False, max(1, len(items) // 2)
    while items and size:
        at = 0
        while at < len(items):
            old = items[:]
            del items[at : at + size]
            if check(program):
                changed = True
            else:
                items[:] = old
                at += size
        size //= 2
    return changed


def _statements(items: list[Statement], program: Program, check: Callable[[Program], bool]) -> bool:
    changed = _drop(items, program, check)
    for statement in list(items):
        if not statement.inside:
            continue
        at = next(k for k, other in enumerate(items) if other is statement)
        items[at : at + 1] = statement.inside
        if check(program):
            changed = True
            continue
        items[at : at + len(statement.inside)] = [statement]
        changed |= _statements(statement.inside, program, check)
    return changed
