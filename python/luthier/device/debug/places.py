"""What people call a place that a value is in: a register, an element of an argument's array, bytes of memory or LDS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .stops import evaluate
from .waves import SPECIAL

if TYPE_CHECKING:
    from .lines import Lines
    from .stage import Stage
    from .waves import StageWave


def number_of(stage: Stage, wave: StageWave | None, text: str, default: int | None = None) -> int:
    """A number: an expression of one.
    ArgumentError for anything else."""
    if not text.strip() and default is not None:
        return default
    value = evaluate(text, stage, wave)
    if not hasattr(value, "__index__") or value.__index__() < 0:
        raise ArgumentError(f"{text!r} is not a number")
    return int(value)


def place_named(stage: Stage, wave: StageWave | None, text: str, *, for_why: bool = False) -> dict[str, Any]:
    """The keywords of :meth:`Stage.watch` for ``s4``, ``v3``, ``v3@LANE``, ``ARGUMENT[INDEX]``, ``lds:OFFSET`` and
    ``ADDRESS[:BYTES]``; or those of :meth:`Stage.why`, where a vector register without a lane stands for its lane 0.
    ArgumentError for anything else."""
    name, _, lane_text = text.partition("@")
    is_register = name in SPECIAL or name[:1] in ("s", "v", "a") and name[1:].isdigit()
    if wave is None and (is_register or text.startswith("lds:")):
        raise ArgumentError(f"{text}: no wave is under way")
    if is_register:
        lane = (
            number_of(stage, wave, lane_text)
            if lane_text
            else 0
            if for_why and name[:1] in ("v", "a") and name != "vcc"
            else None
        )
        return {"register": name, "wave": wave, "lane": lane}
    if text.startswith("lds:"):
        return {"lds": number_of(stage, wave, text[4:]), "group": wave.group if wave is not None else None}
    array, bracket, index = text.partition("[")
    if bracket and array in stage.arrays:
        size = int(getattr(stage.array(array), "itemsize", 1))
        at = number_of(stage, wave, index.rstrip("]"))
        place = stage.arrays[array]
        if (at + 1) * size > place.size:
            raise ArgumentError(f"{text!r}: {place} has {place.size // size} elements")
        return {"address": place.address + size * at, "size": min(size, 4) if for_why else size}
    address, _, size_text = text.partition(":")
    return {"address": number_of(stage, wave, address), "size": number_of(stage, wave, size_text, 4)}


def place_to_break(lines: Lines, kernel: str, where: int | str) -> tuple[str, list[int]]:
    """What an address, ``FILE:LINE``, a line, a function's name or ``entry`` stands for: in words, and the addresses.
    ArgumentError for a place that is not there."""
    program = lines.code_object.program
    if isinstance(where, str) and where.lower().startswith("0x"):
        try:
            where = int(where, 16)
        except ValueError:
            raise ArgumentError(f"{where!r} is no address") from None
    if isinstance(where, int):
        if program.instruction_at(where) is None:
            raise ArgumentError(f"no instruction begins at {where:#x}")
        return f"{where:#x}", [where]
    reached = program.select(kernel)
    if where == "entry":
        return f"the entry of {kernel}", [reached[0].address]
    file, _, number = where.rpartition(":")
    if number.isdigit() and int(number) > 0:
        (path, line), addresses = lines.addresses(file or None, int(number))
        moved = "" if line == int(number) else f", the first line with code from {number} on"
        return f"{path}:{line}{moved}", addresses
    found = [function.address for function in reached if function.name == where]
    if not found:
        known = ", ".join(function.name for function in reached[:8])
        raise ArgumentError(f"{where!r} is no address, FILE:LINE, entry, or function that {kernel} reaches ({known})")
    return f"function {where}", found
