"""Instrumenting files that hold several code objects: host libraries and executables, offload bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..base.tracebacks import shortened
from ..errors import ArgumentError, InstrumentError, LiftError
from ..objects.code_object import CodeObject, open_container
from ..objects.kernel import Kernel
from .options import InstrumentKeywords, instrumenting, instruments
from .planning import instrument
from .selection import kernel_names
from .tool import AnyTool, Tool, instances

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Entry:
    """What became of one code object of the file."""

    #: Its number in the file, as ``luthier inspect`` lists it.
    index: int
    #: As the file has it: ``hipv4-amdgcn-amd-amdhsa--gfx90a``.
    id: str
    original: CodeObject
    #: The instrumented code object, or None for one that was left as it is.
    instrumented: CodeObject | None
    #: Why it was left as it is.
    left: str | None
    #: The tools in it; a tool's variables belong to one code object.
    tools: Sequence[Tool]

    def to_dict(self) -> dict[str, Any]:
        """For programs (JSON)."""
        did = None if self.instrumented is None else self.instrumented.instrumentation
        return {"index": self.index, "id": self.id, "instrumentation": did, "left": self.left}


@dataclass(frozen=True)
class InstrumentedFile:
    """A file with instrumented code objects in it, and what was done."""

    data: bytes
    #: Every device entry that was asked for, in the order of the file.
    entries: list[Entry]


@shortened
@instruments
def instrument_file(
    source: Any,
    tools: Sequence[AnyTool] | Callable[[], Sequence[AnyTool]],
    *,
    target: str | None = None,
    entries: Iterable[int] | None = None,
    kernels: Iterable[str | Kernel] | None = None,
    **how: Unpack[InstrumentKeywords],
) -> InstrumentedFile:
    """The whole file ``source`` (a path or bytes) again, with the hooks of tools in its code objects; everything else in it stays. ``tools`` are names,
    classes or functions that make a tool, each called once for each code object; or a function that gives all tools of one.

    ``entries`` (numbers) or ``target`` select code objects, the latter by the rules of the runtime: of each bundle the
    one that suits it best. What is selected must be instrumented, or it is an :class:`~luthier.InstrumentError`. With
    neither, all code objects are, but for those of processors for which it cannot be done: they stay as they are, and
    say so in :attr:`Entry.left`. ``kernels`` and the other keywords are those of
    :func:`luthier.instrument` (:class:`luthier.instrumenting.options.InstrumentKeywords`); a kernel need not be in every code object.
    """
    container, path = open_container(source)
    name = path or "the bytes"
    listed = {e["index"]: e for e in container.entries}
    wanted = kernel_names(kernels)
    explicit = entries is not None or target is not None
    instrumenting(how)
    done = [
        _one(container, name, listed[index], _maker_of(tools), wanted, explicit, how)
        for index in _chosen(container, name, target, entries)
    ]
    changed = {e.index: e.instrumented.data for e in done if e.instrumented is not None}
    if not changed:
        if wanted and any(e.left == _NO_KERNEL for e in done):
            raise ArgumentError(f"{name}: none of the code objects that can be instrumented has a kernel {' or '.join(wanted)}")
        reasons = sorted({e.left for e in done if e.left is not None})
        raise InstrumentError(f"{name}: nothing in it can be instrumented: {'; '.join(reasons)}")
    _all_found(name, wanted, done)
    return InstrumentedFile(container.with_entries(changed), done)


def _maker_of(tools: Any) -> Callable[[], Sequence[Tool]]:
    """What makes the tools of a code object."""
    make: Any = tools
    if callable(tools) and not isinstance(tools, (type, Tool)):
        return lambda: instances(make())
    return lambda: instances(make)


_NO_KERNEL = "it has none of the kernels"


def _chosen(container: _core.Container, name: str, target: str | None, entries: Iterable[int] | None) -> list[int]:
    filled = [e["index"] for e in container.entries if e["target"] and e["size"]]
    if entries is None:
        return filled if target is None else container.select(target)
    chosen = sorted(set(entries))
    for index in chosen:
        if index not in filled:
            known = f"0 to {len(container.entries) - 1}" if container.entries else "none"
            raise ArgumentError(f"{name}: entry {index} is not a code object (the entries are {known}; see luthier inspect)")
    if target is not None:
        chosen = [index for index in chosen if index in container.select(target)]
        if not chosen:
            raise ArgumentError(f"{name}: none of the entries is what a {target} would load")
    return chosen


def _one(
    container: _core.Container,
    name: str,
    entry: dict[str, Any],
    make_tools: Callable[[], Sequence[Tool]],
    kernels: list[str] | None,
    explicit: bool,
    how: InstrumentKeywords,
) -> Entry:
    index, id = entry["index"], entry["id"]
    processor = entry["target"].partition(":")[0]
    code_object = CodeObject(container.code_object(index), f"{name}, entry {index} ({entry['target']})")
    if not explicit and not _core.can_instrument(processor):
        return Entry(index, id, code_object, None, f"code for {processor} cannot be instrumented", [])
    present = kernels
    if kernels is not None:
        present = [k for k in kernels if code_object.core.kernel(k) is not None]
        if not present:
            return Entry(index, id, code_object, None, _NO_KERNEL, [])
    tools = list(make_tools())
    try:
        made = instrument(code_object, tools, kernels=present, **how)
    except (InstrumentError, LiftError) as error:
        if not str(error).startswith(f"{code_object.path}"):
            error.args = (f"{code_object.path}: {error}",)
        raise
    return Entry(index, id, code_object, made, None, tools)


def _all_found(name: str, kernels: list[str] | None, done: list[Entry]) -> None:
    """Every kernel that was asked for has to be somewhere."""
    for kernel in kernels or ():
        if not any(e.instrumented is not None and e.original.core.kernel(kernel) is not None for e in done):
            raise ArgumentError(f"{name}: none of the code objects that were instrumented has a kernel {kernel}")
