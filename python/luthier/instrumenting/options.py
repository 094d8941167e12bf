"""How tools' hooks are placed: one set of keywords for everything that instruments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .. import _core

#: What to do about insertions that cannot be made: a RejectedError, a RejectedWarning, or only the report.
OnRejected: TypeAlias = Literal["raise", "warn", "report"]
#: Whether the code of a hook stands at each of its places, or once in each function, and is called.
Bodies: TypeAlias = Literal["in-place", "choose", "called"]

_M = TypeVar("_M", bound=Callable[..., Any])


class InstrumentKeywords(TypedDict, total=False):
    """The keywords of everything that instruments: of :func:`luthier.instrument` and :func:`luthier.instrument_file`, and of
    ``load``, ``run``, ``trace`` and ``session`` of :class:`luthier.Device`."""

    check: bool | None
    """Which placements the splice checker proves: None a sample (all of a small plan), True all, False none. A wrong one is an
    :class:`~luthier.InternalError`, since placing hooks right is up to Luthier."""
    on_rejected: OnRejected
    """What becomes of insertions that cannot be made. ``"warn"`` leaves them out with one :class:`~luthier.RejectedWarning`, or,
    if nothing of a tool is left, with a :class:`~luthier.NothingInsertedError`; ``"report"`` without either; ``"raise"`` gives
    nothing but a :class:`~luthier.RejectedError` that lists them."""
    calling_convention: bool
    """Every hook is placed as a call by the C calling convention would be, all that a function may change spilled: dearer, for
    comparison."""
    bodies: Bodies
    """Where the code of hooks stands: ``"in-place"`` at each place; ``"called"`` once in each function, wherever two SGPRs are free
    for the way back, which costs two instructions more each time; ``"choose"``, the default, so where it has 32 instructions or more
    and stands at several places of a function."""


@dataclass(frozen=True)
class Instrumenting:
    """The keywords, checked."""

    check: bool | None = None
    on_rejected: OnRejected = "warn"
    calling_convention: bool = False
    bodies: Bodies = "choose"

    def __post_init__(self) -> None:
        if self.on_rejected not in ("raise", "warn", "report"):
            raise ArgumentError(f"on_rejected: {self.on_rejected!r} is not 'raise', 'warn' or 'report'")
        if self.bodies not in ("in-place", "choose", "called"):
            raise ArgumentError(f"bodies: {self.bodies!r} is not 'in-place', 'choose' or 'called'")


_NAMES = tuple(field.name for field in fields(Instrumenting))


def taken(keywords: dict[str, Any]) -> Instrumenting:
    """What the keywords say of how to instrument; these are taken out of them."""
    return Instrumenting(**{name: keywords.pop(name) for name in _NAMES if name in keywords})


def instrumenting(keywords: InstrumentKeywords) -> Instrumenting:
    """What the keywords say. TypeError for others."""
    for name in keywords:
        if name not in _NAMES:
            raise TypeError(f"there is no keyword {name!r} here, only {', '.join(_NAMES)}")
    return taken(dict(keywords))


def instruments(method: _M) -> _M:
    """Shows the keywords in the signature of a function that takes them as ``**how``, or, among others, of one that shows
    its own already."""
    shown = inspect.signature(method)
    kept = [p for p in shown.parameters.values() if p.kind is not p.VAR_KEYWORD]
    rest = [p for p in shown.parameters.values() if p.kind is p.VAR_KEYWORD and p.name != "how"]
    only = inspect.Parameter.KEYWORD_ONLY
    told = [inspect.Parameter(field.name, only, default=field.default) for field in fields(Instrumenting)]
    method.__signature__ = shown.replace(parameters=[*kept, *told, *rest])  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True)
class Plan:
    """What is to be placed, and how, as :func:`luthier._core.instrument` takes it."""

    #: A tree (JSON), or a function of a library.
    hooks: Sequence[str | _core.LibraryHook]
    #: Lists of arguments, as JSON (``luthier_codegen::Arg``): ``{"const": bits}``, ``{"literal": bits}``,
    #: ``{"variable": {"symbol": name, "offset": n}}``, ``{"slot": index}``, ``{"reg": register}``, ``{"in_out": ...}``,
    #: ``{"old": ...}``, ``{"source": ...}``, ``{"address": number or null}``, ``{"access_width": ...}``,
    #: ``{"access_kind": ...}``, ``{"access_direction": ...}``, ``"access_count"``, ``"in_range"``, ``"pc"``, ``"point_id"``,
    #: ``{"entry": value}``, ``"implicit_offset"``, ``{"kernel_argument": {"name": name, "size": bytes}}``, ``"has_clusters"``,
    #: ``"wave_size"``. A register is its file, the number of the first, how many, and which half: ``["v", 2, 2, ""]``.
    arguments: str
    #: Texts to insert.
    assembly: Sequence[str]
    #: Symbol, size, alignment, first bytes.
    variables: Sequence[tuple[str, int, int, bytes]]
    #: What each wave carries: name, units of 32 bits, whether each lane has its own, and the symbol that it is added to at the
    #: end, if any.
    slots: Sequence[tuple[str, int, bool, str | None]]
    #: Records of :data:`luthier.objects.places.RECORD`.
    insertions: bytes
    #: Those that the insertions are for; others run the code that they ran. None for all.
    kernels: Sequence[str] | None
    #: As of :class:`InstrumentKeywords`.
    check: bool | None
    calling_convention: bool
    bodies: Bodies
    #: Where vaddr 0 of the loaded original is, and the addresses of ``variables``. The result is to be loaded beside the
    #: original; it has no variables of its own. What calls through pointers cannot be instrumented so.
    beside: tuple[int, Sequence[int]] | None
