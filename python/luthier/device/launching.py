"""What a launch is told: one set of keywords for every method that launches."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar

from .. import _core
from ..base.callers import callers_level
from ..errors import ArgumentError, LaunchWarning
from .arguments import Place
from .sizes import dimensions

if TYPE_CHECKING:
    from typing_extensions import Required

#: Whether a launch is judged, or what by.
Strict: TypeAlias = "bool | Sequence[str]"
#: One to three sizes.
Sizes: TypeAlias = "int | Sequence[int]"

#: Under ``luthier check``: 1, or the kinds by which launches are judged that do not say anything of ``strict``.
CHECK = "LUTHIER_CHECK"

_M = TypeVar("_M", bound=Callable[..., Any])


class LaunchKeywords(TypedDict, total=False):
    """The keywords of every launch: of ``run``, ``trace`` and ``session`` of :class:`luthier.Device` and
    :class:`luthier.Module`, and of ``run`` of :class:`luthier.Linked`."""

    grid: Sizes | None
    """Work-items in all: an int, or up to three. Either this or ``blocks``. HIP's ``<<<blocks, block>>>`` counts blocks."""
    blocks: Sizes | None
    """Workgroups in all: an int, or up to three."""
    block: Required[Sizes]
    """Work-items of a workgroup: an int, or up to three."""
    args: Sequence[Any]
    """The kernel's explicit arguments: NumPy arrays for pointers, None for a null pointer, an int for an address on the
    device; NumPy scalars, numbers or bytes for values. The kernel works on the arrays' own memory (one that does not begin
    at a multiple of 16 bytes, has no whole number of 4-byte words, or maps a file, is copied); its address on the device
    is good for this launch only. Values are checked against the types that DWARF or the metadata give for the kernel's parameters, and against
    their sizes where neither does."""
    lds: int
    """Bytes of dynamic LDS, added to what the kernel declares."""
    strict: Strict
    """Looks for mistakes that hardware would hide, or make unpredictable: ``result.findings``. True for all kinds of
    findings but ``barrier-place``, ``undefined-lds-read``, ``undefined-memory`` and ``launch-race``, or the kinds to look for, out of
    :func:`luthier.finding_kinds`, ``["all"]`` for every one. Sessions are not judged."""
    cooperative: bool
    """All workgroups are under way together, so that each may wait for any other; a grid that no GPU could hold is a
    DeviceError."""
    cluster: Sizes | None
    """How many workgroups make a cluster of gfx1250; without it, as many as the kernel was compiled for, or one."""
    variant: str | None
    """Which of a module's variants runs, ``"original"`` or ``"full"`` say: see ``variants`` of :meth:`luthier.Device.load`.
    Without it, what the tools have made of the kernel, or what ``select`` says."""
    schedule: str | None
    """How waves take turns: ``"fair"`` (as with None), ``"alternate"``, ``"random:SEED"``, ``"pct:SEED"`` or
    ``"pct:SEED:DEPTH:STEPS"`` (one wave at a time, by random priorities), or ``"choices:AT=WHICH,..."``, which exploring gives;
    ``"weak:SEED:"`` before one of the last three has memory answer as weakly as caches let it.
    Sessions have none: the caller who steps says whose turn it is."""


@dataclass(frozen=True)
class Launch:
    """A launch: its kernel, and the keywords, checked. Sizes are in work-items, but for the cluster's."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: Sequence[Any] = ()
    lds: int = 0
    strict: Strict = False
    cooperative: bool = False
    cluster: tuple[int, int, int] | None = None
    schedule: str | None = None
    variant: str | None = None
    #: Where on the device the arguments' arrays are, asked when it is about to run.
    places: Callable[[], Sequence[Place]] = field(default=tuple, repr=False, compare=False)

    @property
    def kinds(self) -> list[str] | None:
        """The findings that the device is to look for; None for none."""
        if isinstance(self.strict, bool):
            return _core.finding_kinds(usual=True) if self.strict else None
        return [str(kind) for kind in self.strict]


_NAMES = ("grid", "blocks", *(f.name for f in fields(Launch) if f.name not in ("kernel", "grid", "places")))
_KNOWN = frozenset(_NAMES)
_DEFAULTS: dict[str, Any] = {
    "grid": None,
    "blocks": None,
    **{f.name: f.default for f in fields(Launch) if f.default is not MISSING},
}


def launch_of(kernel: str, keywords: LaunchKeywords) -> Launch:
    """The launch that the keywords describe."""
    if not _KNOWN.issuperset(keywords):
        name = next(name for name in keywords if name not in _KNOWN)
        close = difflib.get_close_matches(name, _NAMES, 1)
        raise TypeError(f"a launch has no keyword {name!r}" + (f": {close[0]}" if close else f", only {', '.join(_NAMES)}"))
    if "block" not in keywords:
        raise TypeError("a launch needs block=, the work-items of a workgroup")
    told: dict[str, Any] = {**_DEFAULTS, **keywords}
    block = dimensions("block", told["block"])
    told["grid"], told["block"] = _grid(told["grid"], told.pop("blocks"), block), block
    lds = told["lds"]
    if not hasattr(lds, "__index__") or not 0 <= lds.__index__() < 1 << 32:
        raise ArgumentError(f"lds: {lds!r} is not a number of bytes")
    if "strict" not in keywords:
        told["strict"] = strict_of_environment()
    elif isinstance(strict := told["strict"], str):
        raise ArgumentError(f"strict={strict!r}: expected True, False or a list of kinds: {', '.join(_core.finding_kinds())}")
    if (cluster := told["cluster"]) is not None:
        told["cluster"] = dimensions("cluster", cluster)
    return checked(kernel, told)


def checked(kernel: str, told: dict[str, Any]) -> Launch:
    """The launch with these attributes, which have been looked at; what is not among them is as the class has it. They are put
    where they are kept: a frozen class would take three times as long, at every launch."""
    launch = Launch.__new__(Launch)
    own = launch.__dict__
    own["kernel"] = kernel
    own.update(told)
    return launch


def strict_of_environment() -> Strict:
    """Whether ``luthier check`` has launches judged, or what by."""
    told = _core.environment(CHECK)
    if told is None or told in ("", "0"):
        return False
    return told == "1" or told.split(",")


def _grid(grid: Any, blocks: Any, block: tuple[int, int, int]) -> tuple[int, int, int]:
    if (grid is None) == (blocks is None):
        raise TypeError("a launch needs either grid=, the work-items in all, or blocks=, the workgroups in all")
    if grid is not None:
        return dimensions("grid", grid)
    x, y, z = dimensions("blocks", blocks)
    return dimensions("grid", (x * block[0], y * block[1], z * block[2]))


def warn_of_small_grid(launch: Launch) -> None:
    """A grid in workgroups, taken for one in work-items, runs a part of a single workgroup."""
    (x, y, z), (in_x, in_y, in_z) = launch.grid, launch.block
    if x >= in_x and y >= in_y and z >= in_z:
        return
    items, size = (" x ".join(map(str, s if s[1:] != (1, 1) else s[:1])) for s in (launch.grid, launch.block))
    warnings.warn(
        f"kernel {launch.kernel}: a grid of {items} work-items is smaller than a workgroup of {size}, whose rest does not run; "
        f"blocks= counts workgroups",
        LaunchWarning,
        stacklevel=callers_level(),
    )


def launches(method: _M) -> _M:
    """Shows the launch's keywords in the signature of a method that takes them as ``**launch``."""
    shown = inspect.signature(method)
    kept = [p for p in shown.parameters.values() if p.kind is not p.VAR_KEYWORD]
    defaults = {f.name: f.default for f in fields(Launch)}
    told = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name == "block" else None if name in ("grid", "blocks") else defaults[name],
        )
        for name in _NAMES
    ]

    method.__signature__ = shown.replace(parameters=[*kept, *told])  # type: ignore[attr-defined]
    return method
