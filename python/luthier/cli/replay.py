"""``luthier replay``, ``explore`` and ``reduce``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ..base.text import printable
from ..errors import ArgumentError
from ..objects.code_object import CodeObject
from ..replay.case import Case
from ..replay.comparing import Compared, compare
from ..replay.debugging import why_they_differ
from ..replay.running import Replayed, Way, replay
from ..reports.as_json import plain
from ..reports.findings import finding_text
from .argspec import parse_number, parse_seconds
from .run import parse_kinds
from .work import aside, interruptible

if TYPE_CHECKING:
    from ..device.debug.why import Origin


def way_of(args: Any, **more: Any) -> Way:
    """How a case is replayed, by the options."""
    strict: Any = args.strict if args.strict_kinds is None else parse_kinds(args.strict_kinds)
    watchdog = None if args.watchdog is None else parse_number("--watchdog", args.watchdog, "instructions")
    timeout = None if args.timeout is None else parse_seconds("--timeout", args.timeout)
    return Way(strict=strict, watchdog=watchdog, timeout=timeout, **more)


def main(args: Any) -> int:
    """Replays a case. Status 1 where it does not do what the recorded launch did, or something was found."""
    from ..tools import load

    case = Case.open(args.file)
    if args.against is not None:
        if args.tool or args.code is not None:
            raise ArgumentError("--against runs two code objects: leave --tool and --code out")
        other = CodeObject.open(args.against, target=args.processor, kernel=case.kernel)
        way = way_of(args, schedule=args.schedule, processor=None)
        found = interruptible(lambda: compare(case, other, way))
        origins = interruptible(lambda: why_they_differ(case, found, other, way)) if args.why else None
        return _compared(found, origins)
    if args.why:
        raise ArgumentError("--why is about what differs: give --against, too")
    if args.processor is not None and args.code is None:
        raise ArgumentError("--as says what processor the code of --code is for: give it, too")
    code = None if args.code is None else CodeObject.open(args.code, target=args.processor, kernel=case.kernel)
    with aside(args.json == "-"):
        tools = [load(text) for text in args.tool]
        cooperative = args.cooperative or None
        way = way_of(
            args, schedule=args.schedule, tools=tools, code=code, processor=args.processor, cooperative=cooperative
        )  # fmt: skip
        did = interruptible(lambda: replay(case, way))
    _write(args.json, did)
    for finding in did.findings:
        print(printable(f"luthier: strict: {finding_text(finding)}"), file=sys.stderr)
    if args.json != "-":
        _show(did)
    return 0 if did.is_same and not did.findings else 1


def to_dict(did: Replayed) -> dict[str, Any]:
    """What ``--json`` holds."""
    differences = [
        {"region": d.region.what, "address": d.address, "offset": d.offset, "count": d.count, "expected": d.expected.hex(), "found": d.found.hex()}
        for d in did.differences
    ]  # fmt: skip
    return {
        "kernel": did.case.kernel,
        "processor": did.case.processor,
        "same": did.is_same,
        "error": did.error,
        "recorded_error": did.case.error,
        "instructions": did.instructions,
        "differences": differences,
        "findings": did.findings,
        "tools": plain(did.tools),
    }


def _write(path: str | None, did: Replayed) -> None:
    if path is None:
        return
    text = json.dumps(to_dict(did), indent=1) + "\n"
    if path == "-":
        print(text, end="")
        return
    from ..base.outputs import Outputs

    with Outputs() as outputs:
        outputs.open(path).write(text.encode())
        outputs.commit()


def _show(did: Replayed) -> None:
    from .tables import show

    for difference in did.differences:
        print(printable(f"differs: {difference}"))
    if did.error is not None:
        print(printable(f"stopped: {did.error}"))
    if did.is_same:
        print("the same as recorded" if did.error is None else "stopped, as the recorded launch was")
    elif did.case.error is not None:
        print(printable(f"the recorded launch was stopped: {did.case.error}"))
    for report in did.reports:
        for table in report.tables:
            show(table.title, table.headers, table.rows)


def _compared(found: Compared, origins: tuple[Origin, Origin] | None) -> int:
    for name, did in (("the case's code", found.first), ("the other code", found.second)):
        if did.error is not None:
            print(printable(f"{name} was stopped: {did.error}"))
    for difference in found.differences:
        print(printable(f"differs: {difference}"))
    if found.differences:
        for name, store in zip(("the case's code", "the other code"), found.stores):
            print(printable(f"{name}: {'nothing has written that byte' if store is None else f'written by {store}'}"))
    for name, origin in zip(("the case's code", "the other code"), origins or ()):
        print(printable(f"{name}: where the first word that differs comes from:\n{origin}"))
    if found.is_same:
        print("both leave the same memory" if found.first.error is None else "both were stopped")
    return 0 if found.is_same else 1
