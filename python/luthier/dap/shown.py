"""What a client is shown of a stop: waves as threads, inlined calls as frames, registers, lanes, arrays and LDS as variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..device.debug.waves import SPECIAL, as_text
from ..errors import ArgumentError

if TYPE_CHECKING:
    from .._core import Frame
    from ..device.debug.stage import Stage
    from ..device.debug.waves import StageWave

#: Waves of a workgroup at most, to number threads by.
_WAVES = 64
#: Elements of an array that are shown.
_ELEMENTS = 4096

Variables = list[dict[str, Any]]


def thread_of(wave: tuple[int, int]) -> int:
    """The number of a wave's thread."""
    return wave[0] * _WAVES + wave[1] + 1


def wave_of(thread: Any) -> tuple[int, int]:
    """The wave of a thread.
    ArgumentError for what is no thread's number."""
    if not isinstance(thread, int) or thread < 1:
        raise ArgumentError(f"{thread!r} is no thread")
    return divmod(thread - 1, _WAVES)


def source_of(file: str) -> dict[str, Any]:
    """A source file."""
    return {"name": os.path.basename(file), "path": os.path.abspath(file)}


class Shown:
    """The numbers that a client knows things by until the launch goes on."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self._frames: list[tuple[int, int]] = []
        self._variables: list[Callable[[], Variables]] = []

    def forget(self) -> None:
        """The launch has gone on."""
        self._frames.clear()
        self._variables.clear()

    def threads(self) -> list[dict[str, Any]]:
        """The waves under way."""
        return [{"id": thread_of(w.id), "name": f"workgroup {w.workgroup} wave {w.number} ({w.state})"} for w in self.stage.waves]

    def frames(self, thread: Any) -> list[dict[str, Any]]:
        """Where a wave is, innermost call first."""
        wave = self.stage.wave(*wave_of(thread))
        frames: list[Frame | None] = [*wave.frames]
        found = []
        for frame in frames or [None]:
            self._frames.append(wave.id)
            shown: dict[str, Any] = {
                "id": len(self._frames),
                "line": 0,
                "column": 0,
                "instructionPointerReference": f"{wave.pc:#x}",
            }
            if frame is None:
                shown["name"] = f"{self.stage.kernel} {wave.pc:#x}"
            else:
                shown |= {"name": frame.function or self.stage.kernel, "line": frame.line, "column": frame.column}
                if frame.file:
                    shown["source"] = source_of(frame.file)
            found.append(shown)
        return found

    def frame(self, number: Any) -> StageWave:
        """The wave of a frame.
        ArgumentError for what is none any more."""
        if not isinstance(number, int) or not 1 <= number <= len(self._frames):
            raise ArgumentError(f"{number!r} is no frame: the launch has gone on")
        return self.stage.wave(*self._frames[number - 1])

    def scopes(self, frame: Any) -> list[dict[str, Any]]:
        """What there is to see in a frame."""
        wave = self.frame(frame)
        scopes: dict[str, Callable[[], Variables]] = {
            "Locals": lambda: self._locals(wave),
            "Registers": lambda: self._scalars(wave),
            "Vector registers": lambda: self._vectors(wave),
            "Lanes": lambda: self._lanes(wave),
            "Arguments": self._arrays,
        }
        if wave.lds:
            scopes["LDS"] = lambda: self._words("lds", 0, wave.lds)
        return [
            {"name": name, "variablesReference": self._refer(variables), "expensive": name not in ("Locals", "Registers")}
            for name, variables in scopes.items()
        ]

    def variables(self, reference: Any) -> Variables:
        """What a scope or a variable holds.
        ArgumentError for what is none any more."""
        if not isinstance(reference, int) or not 1 <= reference <= len(self._variables):
            raise ArgumentError(f"{reference!r} holds no variables: the launch has gone on")
        return self._variables[reference - 1]()

    def _refer(self, variables: Callable[[], Variables]) -> int:
        self._variables.append(variables)
        return len(self._variables)

    def _locals(self, wave: StageWave) -> Variables:
        try:
            known = wave.variables
        except ArgumentError:  # no DWARF
            return []
        exec, found = wave.registers.exec, []
        for one in known:
            reference = 0
            if one.values is not None:
                reference = self._refer(lambda name=one.name, values=one.values: [  # type: ignore[misc]
                    _variable(f"{name}[{lane}]", str(value)) for lane, value in enumerate(values)
                ])  # fmt: skip
            found.append(_variable(one.name, one.text(exec), reference) | {"type": one.type, "evaluateName": f"var.{one.name}"})
        return found

    def _scalars(self, wave: StageWave) -> Variables:
        registers = wave.registers
        special = [_variable(name, f"{getattr(registers, name):#x}") for name in SPECIAL]
        return special + [_variable(f"s{k}", as_text(int(value))) for k, value in enumerate(registers.sgprs)]

    def _vectors(self, wave: StageWave) -> Variables:
        registers = wave.registers
        found = []
        for letter, file in (("v", registers.vgprs), ("a", registers.agprs)):
            for number, row in enumerate(file):
                name, values = f"{letter}{number}", [int(value) for value in row]
                reference = self._refer(lambda name=name, values=values: [  # type: ignore[misc]
                    _variable(f"{name}@{lane}", as_text(value)) for lane, value in enumerate(values)
                ])  # fmt: skip
                found.append(_variable(name, " ".join(f"{value:x}" for value in values[:8]) + " ...", reference))
        return found

    def _lanes(self, wave: StageWave) -> Variables:
        registers = wave.registers
        found = []
        for lane in range(64):
            on = "on" if registers.exec >> lane & 1 else "off"
            reference = self._refer(lambda lane=lane: [  # type: ignore[misc]
                _variable(f"v{number}@{lane}", as_text(int(row[lane]))) for number, row in enumerate(registers.vgprs)
            ])  # fmt: skip
            found.append(_variable(f"lane {lane}", on, reference))
        return found

    def _arrays(self) -> Variables:
        found = []
        for name, place in self.stage.arrays.items():
            reference = self._refer(lambda name=name: self._elements(name))  # type: ignore[misc]
            found.append(_variable(name, str(place), reference) | {"memoryReference": f"{place.address:#x}"})
        return found

    def _elements(self, name: str) -> Variables:
        array = self.stage.array(name).reshape(-1)
        address, size = self.stage.arrays[name].address, array.itemsize
        return [
            _variable(f"{name}[{k}]", str(value)) | {"memoryReference": f"{address + k * size:#x}"}
            for k, value in enumerate(array[:_ELEMENTS].tolist())
        ]

    def _words(self, name: str, base: int, data: bytes) -> Variables:
        return [
            _variable(f"{name}:{base + at:#x}", as_text(int.from_bytes(data[at : at + 4], "little")))
            for at in range(0, min(len(data), 4 * _ELEMENTS), 4)
        ]


def _variable(name: str, value: str, reference: int = 0) -> dict[str, Any]:
    return {"name": name, "value": value, "variablesReference": reference, "evaluateName": name}
