"""A launch of Triton's on the stage of the debugger: its programs, its arguments, and the tensors that they load and store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..device.arguments import Packed
from ..device.debug.places import place_to_break
from ..device.debug.stage import Stage
from ..errors import ArgumentError
from .blocks import Block, Elements, Recorded, put_together, record
from .operations import Operation, Program

if TYPE_CHECKING:
    from ..device.debug.waves import StageWave
    from .gpu import Bound, Gpu

#: A program's number in each direction.
Id = tuple[int, int, int]


class ProgramStage(Stage):
    """A launch of a Triton kernel. Besides what :class:`luthier.Stage` has: :attr:`values` are its arguments by name, constants
    among them, :meth:`program` says which program a wave is of, and :meth:`blocks` and :meth:`elements` are the tensors that a
    line loads or stores. Conditions may use ``program`` (a tuple) and the arguments by name: ``"program[0] == 2 and n > 5"``.
    """

    #: Arguments by name.
    values: dict[str, Any]

    def begin(self, bound: Bound, ir: str | None, grid: Id, cluster: Id | None) -> None:
        """What Triton knows of the launch: its ``bound`` arguments, the ``ir`` of its kernel (None where there is none), the
        workgroups of its ``grid`` and ``cluster``."""
        self.values = bound.values
        self._passed, self._ir = bound.passed, ir
        self._grid, self._cluster = grid, cluster or (1, 1, 1)
        self._recorded: dict[tuple[int, tuple[int, ...]], Recorded] = {}
        self._made: dict[Id, list[Operation]] = {}

    @property
    def programs(self) -> Id:
        """How many there are in each direction."""
        x, y, z = (count // size for count, size in zip(self._grid, self._cluster))
        return x, y, z

    def program(self, wave: StageWave) -> Id:
        """The program (``tl.program_id`` in each direction) that a wave is of."""
        x, y, z = (at // size for at, size in zip(wave.workgroup, self._cluster))
        return x, y, z

    def more_names(self, wave: StageWave | None) -> dict[str, Callable[[], Any]]:
        """``program``, that of the ``wave``, and the arguments that are no arrays."""
        arrays = self.arrays
        names: dict[str, Callable[[], Any]] = {
            name: lambda name=name: self.values[name]  # type: ignore[misc]
            for name in self.values
            if name not in arrays
        }
        return names | ({} if wave is None else {"program": lambda: self.program(wave)})

    def blocks(self, where: int | str, program: int | Sequence[int] | None = None, iteration: int = 0) -> list[Block]:
        """The tensors that a line (as of :meth:`break_at`) loads and stores in one ``program``, that of the wave that has stopped
        if none is given: in the order of Triton's IR, each as the program makes it for the ``iteration``-th time, from 0. Its
        shape is the source's. They are what the whole launch comes to under its schedule, wherever it stands; it is left there.

        Addresses are worked out from Triton's IR and the arguments, values are those of the accesses to these addresses. An
        element that is masked off, or that nothing has accessed, is masked in the result. Where addresses come from memory
        themselves, or from operations that are not followed, ``values`` is None, and ``note`` says why; :meth:`elements` has them.

        ArgumentError for a line that neither loads nor stores, and for a program or an iteration that is not there."""
        id, line, recorded = self._at(where, program)
        own = [made for made in self._operations(id) if line in made.lines]
        if not own and self._ir is not None and not len(recorded.events):
            raise ArgumentError(f"{line[0]}:{line[1]} neither loads nor stores")
        wanted = [made for made in own if made.iteration == iteration]
        if own and not wanted:
            most = 1 + max(made.iteration for made in own)
            raise ArgumentError(
                f"program {id} makes the accesses of {line[0]}:{line[1]} {most} times: iteration={iteration} is not there"
            )
        places = self.arrays
        given = {name: self.arguments[place.index] for name, place in places.items()}
        if not wanted:
            note = (
                "Triton's IR of the kernel is not at hand"
                if self._ir is None
                else "Triton's IR has no load or store at this line"
            )
            return [
                Block("", name, action, iteration, None, None, f"{note}: elements() has what it accesses")
                for name, action in recorded.arguments(places)
            ]
        return [put_together(made, own, recorded, places, given) for made in wanted]

    def elements(
        self, where: int | str, argument: str, program: int | Sequence[int] | None = None, action: str | None = None
    ) -> Elements:
        """Which elements of the array ``argument`` a line loads or stores in one ``program``, by their offsets from the pointer, and
        what they were, the last time each was accessed; ``action`` is ``load``, ``store`` or ``atomic``, any if None.
        ArgumentError for an argument that is no array."""
        _, _, recorded = self._at(where, program)
        if argument not in self.arrays:
            raise ArgumentError(f"kernel {self.kernel} has no array {argument!r}, only {', '.join(self.arrays) or 'none'}")
        place = self.arrays[argument]
        return recorded.elements(place, argument, self.arguments[place.index], action)

    def _at(self, where: int | str, program: int | Sequence[int] | None) -> tuple[Id, tuple[str, int], Recorded]:
        if self._cluster != (1, 1, 1):
            raise ArgumentError(
                "tensors of programs that are clusters of workgroups are not put together: see each wave's registers"
            )
        id = self._program_id(program)
        _, addresses = place_to_break(self.lines, self.kernel, where)
        frames = {(frame.file, frame.line) for frame in self.lines.frames(addresses[0])}
        text = str(where).rpartition(":")[2]
        number = int(text) if text.isdigit() else None
        found = sorted((file, line) for file, line in frames if file and line and (number is None or line >= number))
        if not found:
            raise ArgumentError(f"{where!r} is no line of kernel {self.kernel}")
        line = found[0]
        of_line = tuple(
            instruction.address
            for function in self.lines.code_object.program.select(self.kernel)
            for instruction in function.instructions
            if instruction.memory_space in ("flat", "global", "buffer", None)
            and {"load", "store", "smem", "atomic"} & instruction.flags
            and line in {(frame.file, frame.line) for frame in instruction.source}
        )
        x, y, _ = self._grid
        group = id[0] + x * (id[1] + y * id[2])
        key = (group, of_line)
        if key not in self._recorded:
            self._recorded[key] = record(self, group, of_line)
        return id, line, self._recorded[key]

    def _program_id(self, program: int | Sequence[int] | None) -> Id:
        if program is None:
            if self.last is None or self.last.wave is None:
                raise ArgumentError("no wave has stopped: say which program with program=")
            return self.program(self.last.wave)
        given = [program] if isinstance(program, int) else list(program)
        x, y, z = (*given, 0, 0, 0)[:3]
        if len(given) > 3 or not all(0 <= at < count for at, count in zip((x, y, z), self.programs)):
            raise ArgumentError(f"program {program} is not there: there are {' x '.join(map(str, self.programs))}")
        return x, y, z

    def _operations(self, id: Id) -> list[Operation]:
        if self._ir is None:
            return []
        if id not in self._made:
            self._made[id] = list(Program(self._ir, id, self.programs, self._passed).operations())
        return self._made[id]


def begin(gpu: Gpu, launch: Callable[[], object]) -> ProgramStage:
    """Puts the launch that ``launch`` makes on the stage."""
    from .gpu import forget_last

    held, compiled = gpu.hold(launch)
    forget_last()
    packed = Packed(held.kernarg, places=held.places, kept=[held.bound, list(held.launch.args)])
    stage = held.module.debug_packed(held.launch, packed, ProgramStage)
    texts = getattr(compiled, "asm", None) or {}
    x, y, z = (size // own for size, own in zip(held.launch.grid, held.launch.block))
    stage.begin(held.bound, texts.get("ttir") or texts.get("ttgir"), (x, y, z), held.launch.cluster)
    stage.stops_at_findings = held.launch.kinds is not None
    return stage
