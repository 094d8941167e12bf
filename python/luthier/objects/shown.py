"""How code shows itself in notebooks: instructions, blocks, functions and loops as tables of their assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from ..reports.as_html import html_table

#: Rows of a table; how many there are beyond is said.
_MOST = 100


def _place(instr: _core.Instruction) -> str:
    frames = instr.source
    return f"{frames[0].file.rpartition('/')[2]}:{frames[0].line}" if frames and frames[0].file and frames[0].line else ""


def _code(title: str, instrs: Sequence[_core.Instruction]) -> str:
    rows = [(f"{i.address:#x}", i.text, _place(i)) for i in instrs[:_MOST]]
    more = len(instrs) - len(rows)
    return html_table(title, ("address", "instruction", "line"), rows) + _more(more, "instructions")


def _more(count: int, what: str) -> str:
    return f"<p>and {count:,} more {what}</p>" if count > 0 else ""


def instruction(instr: _core.Instruction) -> str:
    """An instruction: its operands, what it does, and where it comes from."""
    facts: list[tuple[str, Any]] = [("address", f"{instr.address:#x}"), ("line", _place(instr)), ("category", instr.category)]
    for operand in instr.operands:
        does = " and ".join(word for word, is_so in (("written", operand.is_written), ("read", operand.is_read)) if is_so)
        facts.append((f"{operand.name}, {does}" if does else operand.name, str(operand)))
    facts += [("reads", ", ".join(map(str, instr.reads))), ("writes", ", ".join(map(str, instr.writes)))]
    if instr.memory_space:
        facts.append(("memory", f"{instr.memory_space}, {instr.memory_width or 'unknown'} bytes"))
    facts += [("waits", ", ".join(f"{name}({n})" for name, n in instr.waits.items())), ("flags", ", ".join(sorted(instr.flags)))]
    return html_table(instr.text, (), [(name, value) for name, value in facts if value])


def instructions(instrs: _core.Instructions) -> str:
    """Instructions, one a row."""
    return _code(f"{len(instrs):,} instructions", instrs)


def block(of: _core.Block) -> str:
    """A block's instructions, and where control goes."""
    ways = ", ".join(f"{b.address:#x}" for b in of.successors)
    live = ", ".join(map(str, of.live_in))
    loop = [("loop", f"depth {of.loop.depth}, header {of.loop.header.address:#x}")] if of.loop else []
    facts = [("ends as", of.terminator), ("leads to", ways), *loop, ("live at its start", live)]
    return _code(f"block {of.number} of {of.function.name}", of.instructions) + html_table("", (), [f for f in facts if f[1]])


def blocks(of: _core.Blocks) -> str:
    """Blocks, one a row."""
    rows = [
        (f"{b.address:#x}", b.function.name, len(b), b.terminator, ", ".join(f"{s.address:#x}" for s in b.successors), b.loop.depth if b.loop else 0)
        for b in of[:_MOST]
    ]  # fmt: skip
    headers = ("address", "function", "instructions", "ends as", "leads to", "loop depth")
    return html_table(f"{len(of):,} blocks", headers, rows) + _more(len(of) - len(rows), "blocks")


def function(of: _core.Function) -> str:
    """A function: its size, whom it calls, and its blocks."""
    facts = [
        ("kind", of.kind), ("address", f"{of.address:#x}"), ("bytes", of.size), ("blocks", len(of.blocks)), ("loops", len(of.loops)),
        ("calls", ", ".join(f.name for f in of.callees)), ("cannot be instrumented", of.refusal),
    ]  # fmt: skip
    return html_table(of.name, (), [fact for fact in facts if fact[1]]) + blocks(of.blocks)


def loop(of: _core.Loop) -> str:
    """A loop's blocks."""
    return html_table("loop", (), [("header", f"{of.header.address:#x}"), ("depth", of.depth)]) + blocks(of.blocks)


_SHOWN: dict[type, Callable[[Any], str]] = {
    _core.Instruction: instruction,
    _core.Instructions: instructions,
    _core.Block: block,
    _core.Blocks: blocks,
    _core.Function: function,
    _core.Loop: loop,
}


def show_in_notebooks() -> None:
    """From now on notebooks show code of the native module so."""
    for kind, shown in _SHOWN.items():
        kind._repr_html_ = shown  # type: ignore[attr-defined]
