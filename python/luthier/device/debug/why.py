"""Where a value comes from: the chain of instructions that made it, back to what the launch was given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ..observe import MEMORY_EVENT, SPACES
from .waves import as_text, value_of

if TYPE_CHECKING:
    from ..._core import Instruction, Register
    from .stage import Stage

#: Values of one answer at most.
_MOST = 128
#: Registers of one operand that are followed.
_WIDE = 4
_LDS = SPACES.index("lds")
#: Operations that read VCC or SCC as a value, not as a condition of the program's flow.
_BY_VCC = ("v_cndmask", "v_addc", "v_subb", "v_subrev_co_ci", "v_sub_co_ci", "v_add_co_ci", "v_div_fmas")
_BY_SCC = ("s_cselect", "s_cmov", "s_addc", "s_subb")
#: Operations that take their value from other lanes, in ways that are not followed.
_ACROSS = ("ds_bpermute", "ds_permute", "ds_swizzle", "v_permlane", "v_mfma", "v_smfmac", "v_wmma", "v_swmmac", "v_mov_b32_dpp")


@dataclass(frozen=True)
class Origin:
    """A value, and what made it. ``str`` of it is the chain, a line for each value; :meth:`to_dict` the same as data,
    :meth:`to_dot` as a picture in Graphviz's language."""

    #: ``v3 in lane 5 of wave 0 of workgroup 2``, ``4 bytes at 0x10000014``.
    what: str
    #: Its bits, when it was made; None where they are not known.
    value: int | None
    #: The instruction that made it: its event, its wave, its address, its text, and the source line.
    event: int | None = None
    wave: tuple[int, int] | None = None
    pc: int | None = None
    text: str | None = None
    line: str | None = None
    #: What there is to say besides: where it was at the beginning, why it is not followed.
    note: str | None = None
    #: What it was made of.
    inputs: list[Origin] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Origin]]:
        """This value and all that it was made of, each with how deep it lies below ``depth``."""
        yield depth, self
        for origin in self.inputs:
            yield from origin.walk(depth + 1)

    @property
    def leaves(self) -> list[Origin]:
        """What it goes back to in the end."""
        return [origin for _, origin in self.walk() if not origin.inputs]

    def _one(self) -> str:
        value = "" if self.value is None else f" = {as_text(self.value)}"
        made = "" if self.text is None else f": {self.text}, at {self.pc:#x}, event {self.event:,}"
        line = f", {self.line}" if self.line else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.what}{value}{made}{line}{note}"

    def __str__(self) -> str:
        return "\n".join("  " * depth + origin._one() for depth, origin in self.walk())

    def shown(self) -> str:
        """The chain for a terminal: a line for each value, with files by their names alone, and without the lane, the wave and the
        source's text where they are those of the value above."""
        lines, above, source = [], list[str](), list[str]()
        for depth, origin in self.walk():
            name, _, where = origin.what.partition(" ")
            is_same = origin.wave is not None and depth > 0 and above[depth - 1] == where
            above = [*above[:depth], where]
            value = "" if origin.value is None else f" = {as_text(origin.value)}"
            made = "" if origin.text is None else f"  {origin.text}"
            at, text = ("", "") if origin.line is None else _short(origin.line)
            line = f"  {at}" + (f"  {text}" if text and not (depth and source[depth - 1] == text) else "") if at else ""
            source = [*source[:depth], text]
            event = "" if origin.event is None else f"  event {origin.event:,}"
            note = "" if origin.note is None else f"  ({origin.note})"
            lines.append(f"{'  ' * depth}{name if is_same else origin.what}{value}{made}{line}{event}{note}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The chain as data."""
        names = ("what", "value", "event", "wave", "pc", "text", "line", "note")
        return {name: getattr(self, name) for name in names} | {"inputs": [origin.to_dict() for origin in self.inputs]}

    def to_dot(self) -> str:
        """The chain as a graph in Graphviz's language."""
        lines, number, above = ["digraph why {", "  node [shape=box, fontname=monospace];"], 0, list[int]()
        for depth, origin in self.walk():
            label = origin._one().replace("\\", "\\\\").replace('"', '\\"').replace(": ", ":\\l", 1)
            lines.append(f'  n{number} [label="{label}\\l"];')
            above = [*above[:depth], number]
            if depth:
                lines.append(f"  n{number} -> n{above[depth - 1]};")
            number += 1
        return "\n".join([*lines, "}"])


class Explainer:
    """Answers one question, asked where the launch is now."""

    def __init__(self, stage: Stage, depth: int):
        if depth < 1:
            raise ArgumentError(f"why: depth={depth}: it is at least 1")
        self.stage, self.here = stage, stage.event
        self._left = _MOST
        #: The instructions of the kernel that write a register, and all registers that are asked for.
        self._writers: dict[str, list[int]] | None = None
        #: What was told already: registers by wave, name, lane and instruction, bytes by address and event.
        self._told: set[tuple[Any, ...]] = set()

    def register(self, id: tuple[int, int], name: str, lane: int | None, retired: int, depth: int) -> Origin:
        """A wave's register, before it executes the instruction that follows ``retired`` others."""
        self._left -= 1
        is_vector = name[0] in "va" and name[1:].isdigit()
        lane = lane if is_vector else None
        what = f"{name}{'' if lane is None else f' in lane {lane}'} of wave {id[1]} of workgroup {id[0]}"
        last = self._last(id, name, lane, retired)
        if last is None:
            return Origin(what, self._value(id, name, lane, None), wave=id, note="as it was when the wave began")
        event, at, pc, exec = last
        instruction = self.stage.lines.instruction(pc)
        assert instruction is not None
        # In weak memory a load may bring its value later; who asks here has waited for it.
        is_late = self.stage.is_weak and instruction.is_load
        seen = self.stage.core.event_of(*id, retired) if is_late else event + 1
        value = self._value(id, name, lane, self.here if seen is None else seen)
        facts: dict[str, Any] = {"event": event, "wave": id, "pc": pc, "text": instruction.text, "line": self._line(pc)}
        key = (id, name, lane, at)
        if key in self._told:
            return Origin(what, value, **facts, note="told already")
        self._told.add(key)
        if depth <= 1 or self._left <= 0:
            return Origin(what, value, **facts, note="not followed further")
        if instruction.opcode.startswith(_ACROSS) or "dpp" in instruction.flags:
            return Origin(what, value, **facts, note="from several lanes, which are not followed")
        if instruction.is_load and instruction.memory_space is not None:
            return Origin(what, value, **facts, inputs=self._loaded(instruction, event, name, lane, depth - 1))
        inputs = []
        for unit in self._reads(instruction):
            if self._left <= 0:
                break
            other = self._lane_of(instruction, id, event, exec, lane)
            inputs.append(self.register(id, unit, other, at, depth - 1))
        return Origin(what, value, **facts, inputs=inputs, note=None if inputs else "a constant")

    def memory(self, address: int, size: int, group: int | None, before: int, depth: int) -> Origin:
        """Bytes of memory, or of a workgroup's LDS, at an event."""
        self._left -= 1
        stage = self.stage
        place = stage.place_of(address) if group is None else None
        what = f"{size} bytes at {address:#x}" + (
            f" in LDS of workgroup {group}" if group is not None else f" ({place})" if place else ""
        )
        if group is None and stage.is_weak:
            return Origin(what, None, note="in weak memory: which store was seen is not followed")
        try:
            stage.goto(before)
            data = stage.read(address, size) if group is None else stage.core.lds(group)[address : address + size]
            value = int.from_bytes(data[:4], "little")
        except Exception:  # no bytes there
            value = None
        found = stage.last_write_before(before, address, size, group)
        if found is None or found.wave is None or found.pc is None or found.access is None:
            return Origin(what, value, note="as it was when the launch began")
        instruction = stage.lines.instruction(found.pc)
        event, id = found.event - 1, found.wave.id
        if instruction is None:
            return Origin(what, value, event, id, found.pc)
        facts: dict[str, Any] = {
            "event": event,
            "wave": id,
            "pc": found.pc,
            "text": instruction.text,
            "line": self._line(found.pc),
        }
        key = (group, address, size, event)
        if key in self._told:
            return Origin(what, value, **facts, note="told already")
        self._told.add(key)
        if depth <= 1 or self._left <= 0:
            return Origin(what, value, **facts, note="not followed further")
        unit = self._stored(instruction, (address - found.access[0]) // 4, event, found.access[2], found.access[0])
        if unit is None:
            return Origin(what, value, **facts, note="what was stored is not followed")
        stage.goto(event)
        at = stage.wave(*id).retired
        note = "an atomic: with what was there before" if instruction.is_atomic else None
        return Origin(what, value, **facts, note=note, inputs=[self.register(id, unit, found.access[2], at, depth - 1)])

    def _line(self, pc: int) -> str | None:
        frame = next(iter(self.stage.lines.frames(pc)), None)
        text = self.stage.lines.source(pc)
        return None if frame is None else f"{frame}{f': {text}' if text else ''}"

    def _last(self, id: tuple[int, int], name: str, lane: int | None, retired: int) -> tuple[int, int, int, int] | None:
        """The wave's last instruction among its first ``retired`` that writes the register: its event, how many the wave had
        executed before, its address, and EXEC."""
        masked: list[int] = []
        always: list[int] = []
        for pc in self._writing(name):
            instruction = self.stage.lines.instruction(pc)
            if instruction is not None and instruction.opcode.startswith("v_writelane"):
                chosen = instruction.operands[2]
                if lane is None or chosen.bits is None or int(chosen.bits) & 63 == lane:
                    always.append(pc)
            elif lane is None or instruction is not None and "mfma" in instruction.opcode:
                always.append(pc)
            else:
                masked.append(pc)
        if not masked and not always:
            return None
        return self.stage.core.last_executed(*id, retired, masked, always, lane)

    def _writing(self, name: str) -> list[int]:
        """The instructions of the kernel, and of what it reaches, that write a register."""
        if self._writers is None:
            self._writers = {}
            for function in self.stage.lines.code_object.program.select(self.stage.kernel):
                for instruction in function.instructions:
                    for unit in {unit for register in instruction.writes for unit in _units(register)}:
                        self._writers.setdefault(unit, []).append(instruction.address)
        return self._writers.get(name, [])

    def _value(self, id: tuple[int, int], name: str, lane: int | None, event: int | None) -> int | None:
        """The register's bits at an event, or at the wave's first."""
        if event is None:
            self.stage.goto(self.here)
            event = self.stage.core.event_of(*id, 0)
            if event is None:
                return None
        self.stage.goto(event)
        try:
            return value_of(self.stage.wave(*id).registers, name, lane)
        except ArgumentError:  # the wave has ended, or has no such register
            return None

    def _reads(self, instruction: Instruction) -> list[str]:
        """The registers that the value is made of."""
        found: list[str] = []
        for operand in instruction.operands:
            if operand.is_read and operand.register is not None:
                found += [unit for unit in _units(operand.register)[:_WIDE] if unit not in found]
        if instruction.opcode.startswith(_BY_VCC) and not any(unit == "vcc" or unit[0] == "s" for unit in found):
            found.append("vcc")
        if instruction.opcode.startswith(_BY_SCC):
            found.append("scc")
        return [unit for unit in found if unit != "exec"]

    def _lane_of(self, instruction: Instruction, id: tuple[int, int], event: int, exec: int, lane: int | None) -> int | None:
        """Of which lane vector sources are read."""
        if lane is not None or not exec:
            return 0 if lane is None else lane
        if instruction.opcode.startswith("v_readlane"):
            chosen = instruction.operands[2]
            if chosen.bits is not None:
                return int(chosen.bits) & 63
            unit = next(iter(_units(chosen.register)), None) if chosen.register is not None else None
            known = None if unit is None else self._value(id, unit, None, event)
            return 0 if known is None else known & 63
        return (exec & -exec).bit_length() - 1

    def _loaded(self, instruction: Instruction, event: int, name: str, lane: int | None, depth: int) -> list[Origin]:
        """What a load has brought into one of its registers."""
        import numpy

        destination = next((o.register for o in instruction.operands if o.is_written and o.register is not None), None)
        if destination is None:
            return []
        offset = 4 * max(_units(destination).index(name), 0) if name in _units(destination) else 0
        self.stage.goto(event)
        accesses = numpy.frombuffer(self.stage.core.accesses(), numpy.dtype(MEMORY_EVENT).newbyteorder("<"))
        for access in accesses:
            if int(access["kind"]) & 3 == 1 or lane is not None and int(access["lane"]) != lane:
                continue
            if offset < int(access["size"]):
                group = int(access["workgroup"]) if int(access["kind"]) >> 4 == _LDS else None
                return [self.memory(int(access["address"]) + offset, min(4, int(access["size"]) - offset), group, event, depth)]
            offset -= int(access["size"])
        return []

    def _stored(self, instruction: Instruction, word: int, event: int, lane: int, address: int) -> str | None:
        """The register that a store takes a word from; its access is the one at ``address``."""
        import numpy

        data = [o.register for o in instruction.operands if o.is_read and o.register is not None and "data" in o.name]
        if not data:
            return None
        which = 0
        if len(data) > 1 and not instruction.is_atomic:  # two places
            self.stage.goto(event)
            accesses = numpy.frombuffer(self.stage.core.accesses(), numpy.dtype(MEMORY_EVENT).newbyteorder("<"))
            own = [int(access["address"]) for access in accesses if int(access["lane"]) == lane]
            which = own.index(address) if address in own else 0
        units = _units(data[min(which, len(data) - 1)])
        return units[word] if 0 <= word < len(units) else units[0]


def _short(line: str) -> tuple[str, str]:
    """A source line without its function and folders, ``softmax.hip:14:38``, and its text, "" where it is not known."""
    told = re.fullmatch(r".*? at (?P<file>.*?)(?P<at>:\d+(?::\d+)?)(?:: (?P<text>.*))?", line)
    if told is None:
        return line, ""
    return f"{os.path.basename(told['file'])}{told['at']}", told["text"] or ""


def _units(register: Register) -> list[str]:
    """The 32-bit registers of one, as the stage names them; VCC and EXEC as a whole."""
    letter = {"sgpr": "s", "vgpr": "v", "agpr": "a"}.get(register.file)
    if letter is not None and register.index is not None:
        return [f"{letter}{register.index + k}" for k in range(register.width)]
    name = register.name
    return [next((known for known in ("vcc", "exec", "scc", "m0") if name.startswith(known)), name)]
