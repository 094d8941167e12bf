"""Which code object of a file a command is about, and which kernels of it."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..errors import ArgumentError, LoadError
from ..objects.code_object import CodeObject, no_kernel, open_container
from ..objects.matching import matching

#: Names that an error lists.
_SHOWN = 8


def cores(file: str, target: str | None, entry: str | None) -> list[tuple[int, _core.CodeObject]]:
    """The code objects of a file that ``--target`` and ``--entry`` leave, with their numbers."""
    container, path = open_container(file)
    entries = container.entries
    if entry is not None:
        known = {e["index"]: e for e in entries}
        number = int(entry) if entry.isdecimal() else -1
        if number not in known:
            raise ArgumentError(f"--entry {entry}: {path} has entries 0 to {len(entries) - 1} (--list shows them)")
        if not known[number]["target"]:
            raise ArgumentError(f"--entry {entry}: {known[number]['id']} is not GPU code (--list shows the entries)")
        return [(number, container.code_object(number))]
    if container.kind == "code object":
        if target is not None:
            container.select(target)
        return [(0, container.code_object(0))]
    if target is None:
        held = {str(e["target"]).split(":")[0] for e in entries if e["target"]}
        target = next((t for t in _core.TARGETS if t in held), _core.TARGETS[0])
    return [(index, container.code_object(index)) for index in container.select(target)]


def one(args: Any, pattern: str | None) -> CodeObject:
    """The one code object that a command is about; ``pattern`` names kernels, and so chooses among several."""
    found = cores(args.file, args.target, args.entry)
    if len(found) > 1 and pattern is not None:
        having = [(number, core) for number, core in found if matching(core, pattern)]
        if not having:
            raise LoadError(f"{args.file}: none of the {len(found)} code objects has a kernel {pattern}")
        exact = [(number, core) for number, core in having if core.kernel(pattern) is not None]
        found = exact or having
    if len(found) > 1:
        target, entries = found[0][1].processor, ", ".join(str(number) for number, _ in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise LoadError(
            f"{args.file}: there are {len(found)} code objects for {target}, entries {entries}{more}: choose one with --entry N, "
            f"or by a kernel of it with --kernel K (luthier kernels {args.file} lists the kernels)"
        )
    return CodeObject(found[0][1], str(args.file))


def kernels(code_object: CodeObject, pattern: str) -> list[str]:
    """The kernels that a pattern names, at least one."""
    found = matching(code_object.core, pattern)
    if not found:
        raise ArgumentError(no_kernel(code_object, pattern))
    return found


def kernel(code_object: CodeObject, pattern: str) -> str:
    """The only one that a pattern names."""
    found = kernels(code_object, pattern)
    if len(found) > 1:
        some = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
        raise ArgumentError(f"--kernel {pattern}: {len(found)} kernels fit: {some}")
    return found[0]
