"""Where a launch on the stage stops, and why it has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from ...reports.findings import Finding
    from .stage import Stage
    from .waves import StageWave

#: What is asked at a stop: whether it counts. Text is an expression over the wave's registers.
Condition = Callable[["StageWave"], object]

ACTIONS = ("load", "store", "atomic")


@dataclass(eq=False)
class Breakpoint:
    """Addresses before whose instructions waves stop."""

    number: int
    #: As it was asked for.
    what: str
    addresses: list[int]
    condition: Condition | None = None
    #: The place, as :meth:`Stage.break_at` was told.
    where: int | str = "entry"
    enabled: bool = True
    #: How often a wave has stopped there.
    hits: int = 0

    def __str__(self) -> str:
        places = ", ".join(f"{address:#x}" for address in self.addresses)
        return f"breakpoint {self.number}: {self.what} ({places})"


@dataclass(eq=False)
class Watchpoint:
    """Bytes or a register, and what makes the launch stop behind the instruction."""

    number: int
    what: str
    #: As the native module takes it.
    request: tuple[str, str, int, int, int, int | None] = field(repr=False)
    condition: Condition | None = None
    enabled: bool = True
    hits: int = 0

    def __str__(self) -> str:
        return f"watchpoint {self.number}: {self.what}"


@dataclass(frozen=True)
class Stop:
    """Why the launch has stopped.

    ``why`` is ``address`` (a breakpoint), ``watchpoint``, ``finding``, ``failed`` (a fault, a deadlock, a watchdog: see
    ``error``), ``over``, ``reached`` (as far as it was told), or ``begin`` (it can go no further back).
    """

    why: str
    #: Instructions executed so far, by all waves.
    event: int
    #: Whose turn it is, or whose it was.
    wave: StageWave | None = None
    point: Breakpoint | Watchpoint | None = None
    #: Of a watchpoint: the instruction that did it, by its address.
    pc: int | None = None
    #: Of a watchpoint on memory: address, bytes, lane and action.
    access: tuple[int, int, int, str] | None = None
    finding: Finding | None = None
    error: DeviceError | None = None

    def __str__(self) -> str:
        at = "" if self.wave is None else f"; {self.wave}"
        if self.why == "watchpoint" and self.wave is not None and self.pc is not None:
            did = "" if self.access is None else f" ({self.access[3]} of {self.access[1]} bytes at {self.access[0]:#x})"
            return f"{self.point}, by {self.wave.stage.lines.text(self.pc)} at {self.pc:#x}{did}{at}"
        if self.why == "finding" and self.finding is not None:
            return f"strict: {self.finding['kind']}: {self.finding['message']}{at}"
        says = {"address": str(self.point), "failed": str(self.error), "over": "the launch is over", "begin": "the beginning"}
        return f"{says.get(self.why, f'event {self.event:,}')}{at}"


#: What expressions may use besides registers.
_FUNCTIONS = {name: __builtins__[name] if isinstance(__builtins__, dict) else getattr(__builtins__, name)
              for name in ("abs", "any", "all", "bool", "float", "hex", "int", "len", "max", "min", "range", "sum")}  # fmt: skip


def names_of(stage: Stage, wave: StageWave | None, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """What expressions can name: ``s[4]``, ``v[2][lane]``, ``a``, ``exec``, ``vcc``, ``scc``, ``m0``; ``f32(v[2])``; the wave's
    ``wave``, ``group``, ``workgroup``, ``pc``; ``mem(address, dtype, count)``, ``lds``, the kernel's arguments by name, and the
    source's variables (``var.x`` where something else is called ``x``). Of these, those that are ``wanted``."""
    import numpy

    def f32(bits: Any) -> Any:
        return numpy.asarray(bits, "uint32").view("float32")

    def mem(address: int, dtype: Any = "uint32", count: int = 1) -> numpy.ndarray:
        kind = numpy.dtype(dtype)
        return numpy.frombuffer(stage.read(int(address), kind.itemsize * count), kind)

    names: dict[str, Callable[[], Any]] = {name: lambda value=value: value for name, value in _FUNCTIONS.items()}  # type: ignore[misc]
    names |= {name: lambda name=name: stage.array(name) for name in stage.arrays}  # type: ignore[misc]
    names |= {"mem": lambda: mem, "f32": lambda: f32, "np": lambda: numpy}
    if wave is not None:  # else all have ended
        registers = cache(lambda: wave.registers)
        names |= {
            "s": lambda: registers().sgprs, "v": lambda: registers().vgprs, "a": lambda: registers().agprs,
            "exec": lambda: registers().exec, "vcc": lambda: registers().vcc, "scc": lambda: int(registers().scc),
            "m0": lambda: registers().m0, "mode": lambda: registers().mode, "wave": lambda: wave.number,
            "group": lambda: wave.group, "workgroup": lambda: wave.workgroup, "pc": lambda: wave.pc,
            "lds": lambda: numpy.frombuffer(wave.lds, "uint8"), "var": lambda: Named(wave),
        }  # fmt: skip
    names |= stage.more_names(wave)
    found = {name: value() for name, value in names.items() if wanted is None or name in wanted}
    if wave is not None and wanted is not None:
        others = [name for name in wanted if name not in names and name in stage.variables.names_at(wave.pc)]
        found |= {name: wave.variable(name) for name in others}
    return found


class Named:
    """The source's variables of a wave, as attributes."""

    def __init__(self, wave: StageWave):
        self._wave = wave

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._wave.variable(name)


def _words(code: CodeType) -> set[str]:
    """The names that an expression has."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return {*code.co_names}.union(*map(_words, inner))


def evaluate(text: str, stage: Stage, wave: StageWave | None) -> Any:
    """The value of a Python expression about a wave (see :func:`names_of`).
    ArgumentError for what is no expression, and for one that fails."""
    try:
        code = _compiled(text.strip())
        return eval(code, {"__builtins__": {}} | names_of(stage, wave, _words(code)))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(f"{text!r}: {type(error).__name__}: {error}") from None


@lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    return compile(text, "<expression>", "eval")


def condition_of(condition: Condition | str | None) -> Condition | None:
    """A condition that can be asked; of text, a check that it is an expression.
    ArgumentError for text that is none."""
    if not isinstance(condition, str):
        return condition
    text = condition
    try:
        compile(text.strip(), "<condition>", "eval")
    except SyntaxError as error:
        raise ArgumentError(f"condition {text!r}: {error.msg}") from None
    return lambda wave: evaluate(text, wave.stage, wave)
