"""A launch that stops wherever it is told to, and goes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ... import _core
from ...errors import ArgumentError
from ...reports.findings import Finding
from ..arguments import Packed, Place
from ..where import place_of
from .arrays import Arrays
from .back import last_event_of, last_of_other_line, last_stop_before
from .lines import Lines
from .places import place_to_break
from .stops import ACTIONS, Breakpoint, Condition, Stop, Watchpoint, condition_of
from .variables import Variables
from .waves import SPECIAL, StageWave, register_name

if TYPE_CHECKING:
    import numpy

    from ..mock_device import Device
    from .why import Origin


class Stage:
    """A launch under way: all its resident waves, in the order of its schedule.

    An *event* is an instruction that a wave has executed; :attr:`event` counts them and says where the launch is. Stops do not
    change what it does. Going back is doing it again up to an earlier event, so everything is what it was then.
    :meth:`finish` (or the end of a ``with`` block) ends it where it is, and brings the buffers back.
    """

    #: Of a launch of a program that waits for it: lets the program go on, and gives its next launch, before the first instruction;
    #: None where it has ended.
    following: Callable[[], Stage | None] | None = None
    #: Called when it is finished.
    at_end: Callable[[], object] | None = None

    def __init__(self, device: Device, kernel: str, core: _core.Stage, packed: Packed, arguments: Sequence[Any], lines: Lines):
        self.device = device
        self.kernel = kernel
        self.core = core
        self.lines = lines
        self.breakpoints: list[Breakpoint] = []
        self.watchpoints: list[Watchpoint] = []
        #: Whether it stops at what strict mode finds.
        self.stops_at_findings = False
        self.last: Stop | None = None
        self._packed: Packed | None = packed
        #: The arguments as the caller has given them.
        self.arguments = list(arguments)
        self._places = list(packed.places)
        self._arrays = Arrays(lines, kernel, self._places, self.arguments)
        self._next = 1
        #: The event at which the last step ended, and the wave that made it.
        self._stepped: tuple[int, tuple[int, int]] | None = None

    # Where it is.

    @property
    def event(self) -> int:
        """Instructions executed so far, by all waves."""
        return self.core.event

    @property
    def is_weak(self) -> bool:
        """Memory answers as weakly as caches and stores under way let it, by the schedule. What is shown of memory is what has
        arrived where all share it."""
        return self.core.choices().startswith("weak:")

    @property
    def waves(self) -> list[StageWave]:
        """The waves under way."""
        found = self.core.waves()
        return [StageWave(self, *wave) for wave in found]

    def wave(self, group: int = 0, number: int = 0) -> StageWave:
        """A wave under way, by the number of its workgroup (``group``) and its own ``number``.
        ArgumentError if there is none."""
        found = next((wave for wave in self.waves if wave.id == (group, number)), None)
        if found is None:
            raise ArgumentError(f"wave {number} of workgroup {group} is not under way at event {self.event:,}")
        return found

    @property
    def is_over(self) -> bool:
        """All waves have ended."""
        return self.last is not None and self.last.why == "over" and self.last.event == self.event

    @property
    def choices(self) -> str:
        """The schedule that leads here again, for ``schedule=``."""
        return self.core.choices()

    @property
    def findings(self) -> list[Finding]:
        """What strict mode has found so far."""
        return [Finding(found) for found in self.core.findings()]

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes of device memory from ``address`` on, as the kernel sees it, scratch and arguments included."""
        return self.core.read(address, size)

    @property
    def arrays(self) -> dict[str, Place]:
        """The arguments that are arrays, by name (``arg0``, ``arg1``, ... where the kernel's have none): where they are."""
        return self._arrays.places

    @cached_property
    def variables(self) -> Variables:
        """The source's variables, by DWARF."""
        return Variables(self, self.lines)

    def array(self, name: str | int) -> numpy.ndarray:
        """A copy of an argument's array as it is now, by the argument's name or number.
        ArgumentError for an argument that is no array."""
        return self._arrays.read(name, self.read)

    def more_names(self, wave: StageWave | None) -> dict[str, Callable[[], Any]]:
        """What expressions about a ``wave`` can name besides registers, arrays and variables: how to have the value of each."""
        return {}

    def place_of(self, address: int) -> str | None:
        """Which argument's array an address is in, in words; None for none."""
        return place_of(address, self._places)

    # Where it stops.

    def break_at(self, where: int | str, condition: Condition | str | None = None) -> Breakpoint:
        """Stops waves before the instruction that ``where`` says: at an address, a line (``"file.hip:12"``, ``"12"`` of the kernel's own file), the
        start of a function by name, or ``"entry"``, the kernel's. A line without code stands for the next one with some: the
        breakpoint says which. ``condition`` is asked with the wave (see :class:`StageWave`), or is a Python expression over
        its registers (``"v[3][0] > 5"``; :func:`luthier.device.debug.stops.names_of`).
        ArgumentError for a place that is not there."""
        what, addresses = place_to_break(self.lines, self.kernel, where)
        point = Breakpoint(self._number(), what, addresses, condition_of(condition), where)
        self.breakpoints.append(point)
        return point

    def watch(
        self,
        *,
        address: int | None = None,
        lds: int | None = None,
        register: str | None = None,
        size: int = 4,
        wave: Any = None,
        group: int | None = None,
        lane: int | None = None,
        on: str = "change",
        condition: Condition | str | None = None,
    ) -> Watchpoint:
        """Stops behind the instruction that accesses ``size`` bytes at an ``address``, or at offset ``lds`` in the LDS of
        workgroup ``group``; ``on`` is ``read``, ``write``, ``access`` or ``change``. Or behind the one that changes a
        ``register`` of a ``wave``, a vector register in one ``lane`` or in any. ``condition`` is as of :meth:`break_at`.
        ArgumentError for anything else."""
        if sum(x is not None for x in (address, lds, register)) != 1:
            raise ArgumentError("watch: give one of address=, lds= and register=")
        if size < 1 or on not in ("read", "write", "access", "change"):
            raise ArgumentError(f"watch: size={size}, on={on!r}: a size from 1, and read, write, access or change")
        request: tuple[str, str, int, int, int, int | None]
        if register is not None:
            name = register_name(register)
            if name in ("mode", "flat_scratch") or on != "change":
                raise ArgumentError(
                    f"watch: register {name}, on={on!r}: changes of s, v, a, exec, vcc, scc and m0 can be watched"
                )
            at = self._wave(wave)
            request = ("register", name, at[0], at[1], 0, lane)
            what = f"changes of {name}{'' if lane is None else f' in lane {lane}'} of wave {at[1]} of workgroup {at[0]}"
        elif lds is not None:
            number = self._wave(wave)[0] if group is None else group
            request = ("lds", on, lds, size, number, None)
            what = f"{on} of {size} bytes at {lds:#x} in LDS of workgroup {number}"
        else:
            assert address is not None
            request = ("memory", on, address, size, 0, None)
            place = self.place_of(address)
            what = f"{on} of {size} bytes at {address:#x}{'' if place is None else f', {place}'}"
        point = Watchpoint(self._number(), what, request, condition_of(condition))
        self.watchpoints.append(point)
        return point

    def take_over(self, other: Stage) -> None:
        """Has the breakpoints and watchpoints of the ``other`` launch, of the same program. Breakpoints are found anew by what was
        asked for; one that is not in this kernel's code has no addresses."""
        for point in other.breakpoints:
            try:
                point.addresses = place_to_break(self.lines, self.kernel, point.where)[1]
            except ArgumentError:
                point.addresses = []
        self.breakpoints, self.watchpoints, self._next = other.breakpoints, other.watchpoints, other._next
        self.stops_at_findings = other.stops_at_findings

    def delete(self, point: Breakpoint | Watchpoint | int) -> None:
        """Forgets ``point``, a breakpoint or a watchpoint, or the one with that number.
        ArgumentError for one that is not there."""
        all_points: list[Breakpoint | Watchpoint] = [*self.breakpoints, *self.watchpoints]
        found = next((known for known in all_points if known is point or known.number == point), None)
        if found is None:
            raise ArgumentError(f"there is no breakpoint or watchpoint {point}")
        self.breakpoints = [known for known in self.breakpoints if known is not found]
        self.watchpoints = [known for known in self.watchpoints if known is not found]

    def _number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    def _wave(self, wave: Any) -> tuple[int, int]:
        """Which wave is meant: the one whose turn it is, or was, where none is given."""
        if isinstance(wave, StageWave):
            return wave.id
        if wave is not None:
            group, number = wave
            return int(group), int(number)
        if self.last is not None and self.last.wave is not None:
            return self.last.wave.id
        if not self.event:
            self._go(event=0)
        return next((found.id for found in self.waves), (0, 0))

    # On.

    def resume(self, event: int | None = None) -> Stop:
        """Goes on to the next breakpoint, watchpoint, finding (if :attr:`stops_at_findings`) or fault, the end, or an event."""
        while True:
            stop = self._go(event=event, points=True)
            if stop.point is None:
                return stop
            if self._stepped is not None and stop.why == "address" and (stop.event, stop.wave and stop.wave.id) == self._stepped:
                continue  # the step before has ended here
            if stop.point.condition is None or stop.wave is None or stop.point.condition(stop.wave):
                stop.point.hits += 1
                return stop

    def step(self, wave: Any = None, count: int = 1) -> Stop:
        """Goes on until a wave (without one, the one that has stopped) has executed ``count`` more instructions. Others run when
        it is their turn; a breakpoint of theirs stops it, too."""
        group, number = self._wave(wave)
        retired = self.wave(group, number).retired
        return self._until((group, number, retired + count))

    def step_all(self, group: int | None = None) -> Stop:
        """One instruction of each wave that can go on, of one workgroup (its number, ``group``) or of all."""
        ready = [wave for wave in self.waves if wave.state == "ready" and group in (None, wave.group)]
        stop = self._go(event=self.event)
        for wave in ready:
            now = next((found for found in self.waves if found.id == wave.id), None)
            if now is None or now.retired > wave.retired:
                continue
            stop = self._until((*wave.id, wave.retired + 1))
            if stop.why != "reached":
                break
        return stop

    def step_line(self, wave: Any = None, limit: int = 1 << 20) -> Stop:
        """Goes on until a wave comes to another source line; at most ``limit`` of its instructions.
        ArgumentError if the kernel has no source lines."""
        self.lines.file(None)
        id = self._wave(wave)
        first = self.lines.line(self.wave(*id).pc)
        stop = self._go(event=self.event)
        for _ in range(limit):
            stop = self.step(id)
            if stop.why != "reached":
                return stop
            line = self.lines.line(self.wave(*id).pc)
            if line is not None and line != first:
                return stop
        return stop

    def _until(self, retired: tuple[int, int, int]) -> Stop:
        start = self.event
        while True:
            stop = self._go(retired=retired, points=True)
            if stop.why == "address" and stop.event == start and stop.wave is not None and stop.wave.id == retired[:2]:
                continue  # it stood there before
            if stop.why == "reached":
                own = next((wave for wave in self.waves if wave.id == retired[:2]), stop.wave)
                stop = self.last = replace(stop, wave=own)
                self._stepped = (self.event, retired[:2])
            if stop.point is None or stop.point.condition is None or stop.wave is None or stop.point.condition(stop.wave):
                return stop

    # Back.

    def goto(self, event: int) -> Stop:
        """Goes to an event, before or behind, without a stop on the way.
        DeviceError where the launch cannot be taken back: its kernel calls the host, or can write too much memory."""
        if event < 0:
            raise ArgumentError(f"goto: {event} is no event: they count from 0")
        self._stepped = None
        return self._told(self.core.goto(event))

    def back(self, count: int = 1) -> Stop:
        """Takes ``count`` instructions back, of whichever waves they were."""
        return self.goto(max(self.event - count, 0))

    def reverse_step(self, wave: Any = None, count: int = 1) -> Stop:
        """Goes back to where a wave was about to execute the last ``count`` of its instructions."""
        group, number = self._wave(wave)
        retired = next((found.retired for found in self.waves if found.id == (group, number)), None)
        if retired is None:  # it has ended
            event = last_event_of(self, group, number)
            return self._begin() if event is None else self._stand(event, (group, number))
        found = self.core.event_of(group, number, max(retired - count, 0))
        return self._begin() if found is None or not retired else self._stand(found, (group, number))

    def reverse_line(self, wave: Any = None) -> Stop:
        """Goes back to where a wave came to the line before."""
        self.lines.file(None)
        id = self._wave(wave)
        wave = self.wave(*id)
        before = last_of_other_line(self, id, wave.retired, self.lines.line(wave.pc))
        if before is None:
            return self._begin()
        retired, line = before
        further = last_of_other_line(self, id, retired, line)
        event = self.core.event_of(*id, 0 if further is None else further[0] + 1)
        assert event is not None
        return self._stand(event, id)

    def reverse_resume(self) -> Stop:
        """Goes back to the last breakpoint, watchpoint or finding before now, or the beginning."""
        found = last_stop_before(self, self.event)
        if found is None:
            return self._begin()
        # Once more to it, so that its stop is what was stopped at.
        self.goto(max(found.event - 1, 0) if found.why != "address" else found.event)
        stop = self.resume(found.event if found.why != "address" else None)
        return stop if stop.event == found.event and stop.why == found.why else self._stand(found.event, None, found)

    def _begin(self) -> Stop:
        self.goto(0)
        self.last = Stop("begin", 0, next(iter(self.waves), None))
        return self.last

    def _stand(self, event: int, wave: tuple[int, int] | None, found: Stop | None = None) -> Stop:
        """Is at an event, and with a wave."""
        stop = self.goto(event)
        if found is not None:
            self.last = found
        elif wave is not None:
            self.last = Stop(stop.why, self.event, next((w for w in self.waves if w.id == wave), stop.wave))
        assert self.last is not None
        return self.last

    def last_write(
        self, *, address: int | None = None, lds: int | None = None, size: int = 4, group: int | None = None
    ) -> Stop | None:
        """The last store or atomic before now that reached some of ``size`` bytes at ``address``, or at offset ``lds`` in the LDS of
        workgroup ``group``. The launch stays where it is. The stop names the instruction and the wave that wrote; its event is
        the one behind that instruction. None if the launch has not written there."""
        if (address is None) == (lds is None):
            raise ArgumentError("last_write: give either address= or lds=")
        here, last = self.event, self.last
        if lds is not None and group is None:
            group = self._wave(None)[0]
        found = self.last_write_before(here, (address if lds is None else lds) or 0, size, group if lds is not None else None)
        self.goto(here)
        self.last = last
        return found

    def last_write_before(self, event: int, address: int, size: int, group: int | None) -> Stop | None:
        """The same before an ``event``, of ``size`` bytes at an ``address`` of device memory, or of the LDS of workgroup
        ``group``; the launch stands behind the store then, if there is one, and anywhere if not."""
        space, number = ("memory", 0) if group is None else ("lds", group)
        request = (space, "write", address, size, number, None)
        told = self.core.last_write(request, event)
        if told is None:
            return None
        self.goto(told["event"])
        return self._told(told, Watchpoint(0, f"write at {address:#x}", request))

    def trace(self, wave: Any = None, first: int = 0) -> numpy.ndarray:
        """The ``event``, ``pc`` and ``exec`` of each instruction that a wave has executed up to now, but for its ``first``."""
        import numpy

        group, number = self._wave(wave)
        data = self.core.trace(group, number, first)
        return numpy.frombuffer(data, [("event", "<u8"), ("pc", "<u8"), ("exec", "<u8")])

    def why(
        self,
        register: str | None = None,
        *,
        wave: Any = None,
        lane: int | None = None,
        address: int | None = None,
        lds: int | None = None,
        group: int | None = None,
        size: int = 4,
        depth: int = 12,
    ) -> Origin:
        """Where a value comes from: a ``register`` of a ``wave`` (of a vector register, in a ``lane``), or ``size`` bytes at ``address``, or
        at offset ``lds`` in the LDS of workgroup ``group``; at most ``depth`` values deep. The chain
        of instructions that made it, back to what the launch was given. See :class:`luthier.device.debug.Origin`."""
        from .why import Explainer

        here, last = self.event, self.last
        explainer = Explainer(self, depth)
        try:
            if register is not None:
                id = self._wave(wave)
                name = register_name(register)
                if name[0] in "va" and name not in SPECIAL and lane is None:
                    raise ArgumentError(f"why: {name} has a value for each lane: say which with lane=")
                return explainer.register(id, name, lane, self.wave(*id).retired, depth)
            if (address is None) == (lds is None):
                raise ArgumentError("why: give a register, or one of address= and lds=")
            number = self._wave(wave)[0] if group is None else group
            return explainer.memory(address if lds is None else lds, size, None if lds is None else number, here, depth)  # type: ignore[arg-type]
        finally:
            self.goto(here)
            self.last = last

    # The native module.

    def _go(self, *, event: int | None = None, retired: tuple[int, int, int] | None = None, points: bool = False) -> Stop:
        breakpoints = [point for point in self.breakpoints if point.enabled] if points else []
        watchpoints = [point for point in self.watchpoints if point.enabled] if points else []
        addresses = [address for point in breakpoints for address in point.addresses]
        findings = points and self.stops_at_findings
        try:
            told = self.core.resume(event, retired, addresses, [point.request for point in watchpoints], findings)
        finally:
            self.device.printer.flush()
        point: Breakpoint | Watchpoint | None = None
        if told["why"] == "address":
            point = next((point for point in breakpoints if told["pc"] in point.addresses), None)
        elif told["why"] == "watchpoint":
            point = watchpoints[told["watchpoint"]]
        return self._told(told, point)

    def _told(self, told: dict[str, Any], point: Breakpoint | Watchpoint | None = None) -> Stop:
        wave, access = None, told.get("access")
        if told["wave"] is not None:
            wave = next((found for found in self.waves if found.id == tuple(told["wave"])), None)
        if access is not None:
            access = (access[0], access[1], access[2], ACTIONS[access[3] & 3])
        if wave is None and told["why"] != "over":
            before = None if self.last is None or self.last.wave is None else self.last.wave.id
            under_way = self.waves
            wave = next((found for found in under_way if found.id == before), next(iter(under_way), None))
        finding = None if told.get("finding") is None else Finding(told["finding"])
        self.last = Stop(told["why"], self.event, wave, point, told.get("pc"), access, finding, told.get("error"))
        return self.last

    def finish(self) -> None:
        """Ends the launch where it is: the arguments' buffers are copied back and given up. A program that waits goes on."""
        if self.at_end is not None:
            at_end, self.at_end = self.at_end, None
            at_end()
        if self._packed is not None:
            packed, self._packed = self._packed, None
            try:
                packed.fetch(self.device.core)
            finally:
                packed.free(self.device.core)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def __repr__(self) -> str:
        return f"<Stage of {self.kernel}: event {self.event:,}, {len(self.waves)} waves>"
