"""Making the mock device Triton's GPU, and undoing it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..device.launching import Strict
from ..device.observe import Trace
from ..errors import ArgumentError
from ..instrumenting.options import InstrumentKeywords, instrumenting, instruments
from ..instrumenting.selection import Select, listed
from ..instrumenting.tool import maker
from ..replay.case import LIMIT
from ..replay.recorder import Recording
from ..verdict import Policy
from . import gpu
from .versions import checked_version

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .debugging import ProgramStage

_VARIABLE, _STRICT = "LUTHIER_TRITON", "LUTHIER_TRITON_STRICT"
_FINDINGS, _SCHEDULE = "LUTHIER_TRITON_FINDINGS", "LUTHIER_TRITON_SCHEDULE"
_WHAT = ("warn", "raise", "keep")
#: What puts everything back as it was.
_undo: list[Callable[[], None]] = []

_USUAL = [kind for kind in _core.finding_kinds(usual=True) if kind != "memory-race"]


def install(target: str, *, strict: Strict = False, findings: str = "warn", schedule: str | None = None) -> None:
    """Has Triton's kernels run on a mock ``target`` from now on, in this process and those that it starts.

    Kernels take torch's tensors on the CPU, NumPy arrays, and :class:`luthier.triton.Tensor`, in place. Where torch is
    there, ``device="cuda"`` means the CPU, and ``torch.cuda`` tells of one AMD GPU.

    ``strict`` has launches judged, as :class:`luthier.LaunchKeywords` says, but ``True`` leaves ``memory-race`` out:
    where a block has fewer elements than threads, Triton has all warps load what one of them stores. ``findings`` is
    what becomes of findings:
    ``"warn"`` (a :class:`luthier.FindingWarning` each), ``"raise"`` (:class:`luthier.StrictError` after the launch) or
    ``"keep"`` (they are in ``luthier.triton.last.findings`` alone); ``LUTHIER_FAIL_ON``, ``LUTHIER_SUPPRESS`` and
    ``LUTHIER_BASELINE`` say which count (docs/findings.md). ``schedule`` is that of launches. May be called again
    for another target. ArgumentError if there is no such target, or no Triton that this works with.
    """
    if target not in _core.TARGETS:
        raise ArgumentError(f"there is no mock device for {target}: there is one for {', '.join(_core.TARGETS)}")
    _check_strict(strict)
    if findings not in _WHAT:
        raise ArgumentError(f"findings={findings!r}: expected one of {', '.join(_WHAT)}")
    checked_version()
    chosen = gpu.gpu(target)
    chosen.strict = _USUAL if strict is True else strict
    chosen.findings, chosen.schedule = findings, schedule
    chosen.policy = Policy.of()
    gpu.choose(chosen)
    _environment(target, strict, findings, schedule)
    import triton
    from triton.runtime.driver import driver

    from . import patches
    from .backend.driver import LuthierDriver

    if not _undo:
        _undo.extend(patches.apply(triton))
        before = driver._active
        _undo.append(lambda: driver.set_active(before) if before is not None else setattr(driver, "_active", None))
    if importlib.util.find_spec("torch") is not None:
        from . import cuda, inductor

        undo = cuda.pretend(chosen.properties)
        if undo is not None:
            _undo.extend((undo, inductor.serve()))
        else:
            inductor.forget()
    driver.set_active(LuthierDriver())


def _check_strict(strict: Any) -> None:
    kinds = _core.finding_kinds()
    if isinstance(strict, bool):
        return
    if isinstance(strict, str) or not isinstance(strict, Collection) or not all(kind in ("all", *kinds) for kind in strict):
        raise ArgumentError(f"strict={strict!r}: expected True, False, ['all'] or a list of {', '.join(kinds)}")


def uninstall() -> None:
    """Has Triton look for a real GPU again."""
    while _undo:
        _undo.pop()()
    gpu.choose(None)
    for name in (_VARIABLE, _STRICT, _FINDINGS, _SCHEDULE):
        os.environ.pop(name, None)


@instruments
def attach(*tools: Any, kernels: str = "*", select: Sequence[Select | str] = (), **how: Unpack[InstrumentKeywords]) -> None:
    """Has tools watch kernels of these names (``*`` and ``?`` stand for any letters) from their next launches on; the results
    are in ``luthier.triton.last.tools``. A name as for ``--tool``, a tool's class, or whatever else makes a tool when it is called, makes one for each
    code object: Triton compiles a kernel anew for other types and constants. A tool itself serves all of them, and what its variables tell
    is of all of them. ``select`` (:class:`luthier.Select`, or texts as for ``--select``) says which launches of each code object the tools are
    about; the others run the original. ``how`` are the keywords of :func:`luthier.instrument`, the same for all tools of a kernel.

    ToolError for what makes no tool, TypeError and ArgumentError for keywords that there are not."""
    placed = instrumenting(how)
    for tool in tools:
        maker(tool)
    gpu.attach([gpu.Attachment(tool, kernels, listed(select), placed) for tool in tools])


def detach(*tools: Any) -> None:
    """Lets go of these tools, as they were attached, or of all."""
    gpu.detach(tools)


def trace(
    launcher: Callable[..., Any], *args: Any, events: Sequence[str] = (), snapshots: Sequence[int] = (), only: Sequence[int] = (),
    limit: int = 1 << 22, **constants: Any,
) -> Trace:  # fmt: skip
    """Launches a kernel and says what happened on the way: ``luthier.triton.trace(kernel[grid], x, out, n, BLOCK=128,
    events=["memory"])``. ``events``, ``snapshots``, ``only`` and ``limit`` are those of :meth:`luthier.Module.trace`; the rest is
    handed on. Where several kernels are launched, as by autotuning, it is the last one that is told of.

    ArgumentError where nothing is launched, and for events that there are not."""
    return active_gpu().trace((events, snapshots, only, limit), lambda: launcher(*args, **constants))


def debug(launcher: Callable[..., Any], *args: Any, **constants: Any) -> ProgramStage:
    """A launch that stops at breakpoints and goes back: ``with luthier.triton.debug(kernel[grid], x, out, n, BLOCK=128) as
    stage:``, before its first instruction; see :class:`luthier.triton.debugging.ProgramStage`. With ``strict`` of
    :func:`install` it is judged, and stops at findings. What autotuning measures first is run as usual.

    ArgumentError where no kernel is launched, or several."""
    from .debugging import begin

    return begin(active_gpu(), lambda: launcher(*args, **constants))


def capture(kernel: str = "*", *, launch: int = 1, limit: int = LIMIT) -> Recording:
    """Records a launch of a kernel of this name or pattern, while a ``with`` block lasts; ``launch`` counts them, from 1. The
    result's ``case`` can be saved, and replayed anywhere (docs/replay.md)."""
    return Recording(gpu.current().device, kernel, launch, limit)


def from_environment() -> str | None:
    """The target that the environment asks for."""
    return os.environ.get(_VARIABLE) or None


def active_gpu() -> gpu.Gpu:
    """The one that is installed, or that of the environment, which is installed then."""
    if not gpu.is_chosen():
        target = from_environment()
        if target is None:
            raise ArgumentError("no mock device is installed for Triton: luthier.triton.install('gfx942')")
        told = os.environ.get(_STRICT, "")
        strict = told == "1" or (told.split(",") if told not in ("", "0") else False)
        findings = os.environ.get(_FINDINGS) or "warn"
        install(target, strict=strict, findings=findings, schedule=os.environ.get(_SCHEDULE) or None)
    return gpu.current()


def _environment(target: str, strict: Any, findings: str, schedule: str | None) -> None:
    os.environ[_VARIABLE] = target
    os.environ[_STRICT] = ("1" if strict else "0") if isinstance(strict, bool) else ",".join(strict)
    os.environ[_FINDINGS] = findings
    os.environ[_SCHEDULE] = schedule or ""
