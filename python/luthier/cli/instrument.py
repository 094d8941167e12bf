"""``luthier instrument``."""

from __future__ import annotations

import contextlib
import gc
import sys
from typing import Any, NamedTuple

from ..base.text import printable, readable_json
from ..errors import ArgumentError, LuthierError
from ..objects.code_object import CodeObject, open_container
from .ending import status_of
from .work import Begun, aside, interruptible, warn_of_rejected


class _Done(NamedTuple):
    """What is to be written and said."""

    data: bytes | CodeObject
    report: Any
    lines: list[str]
    #: Code objects for which something could not be inserted, with what was done.
    placed: list[tuple[CodeObject, dict[str, Any]]]
    #: Of a file with several code objects, what was left as it was, and why.
    left: list[str]


def _opened(args: Any) -> Begun[CodeObject] | None:
    """The code object that the file is, whose code another thread takes apart; None for a file that holds some."""
    container, path = open_container(args.file)
    if container.kind != "code object":
        return None

    def lifted() -> CodeObject:
        code_object = CodeObject.of_container(container, path, target=args.target)
        # What goes wrong here goes wrong again where the program is asked for.
        with contextlib.suppress(LuthierError):
            _ = code_object.program
        return code_object

    return Begun(lifted)


def main(args: Any) -> int:
    # What places hooks takes as long to be imported as a big object to be read: native code does that meanwhile.
    opened = Begun(lambda: _opened(args))
    from ..base.outputs import Outputs
    from ..instrumenting import planning  # noqa: F401  # what a tool imports anyway, before the line below
    from ..tools import load

    if args.ends_process:
        # What is imported stays: to look through it for garbage, once more at the end, takes as long as writing the object.
        gc.freeze()
    with aside(args.json == "-"):
        for text in args.tool:
            load(text)  # what is wrong with them is said before what is wrong with the file
    lifted = opened.result()
    with Outputs() as outputs:
        out = outputs.open(args.output, like=args.file)
        report = outputs.open(args.json) if args.json not in (None, "-") else None
        with aside(args.json == "-"):
            done = interruptible(lambda: _whole_file(args) if lifted is None else _code_object(args, lifted))
        # A big object's report takes as long as writing the object, in which the kernel does the work.
        text = Begun(lambda: readable_json(done.report) + "\n") if args.json is not None else None
        out.write(done.data)
        if report is not None and text is not None:
            report.write(text.result().encode())
        outputs.commit()
    if args.json == "-" and text is not None:
        print(text.result(), end="")
    else:
        print(printable("\n".join(done.lines)))
    seen = [warn_of_rejected(code_object, did, args.on_rejected) for code_object, did in done.placed]
    for note in done.left:
        print(printable(f"luthier: not instrumented: {note}"), file=sys.stderr)
    return status_of(0, not all(seen), 0)


def _options(args: Any) -> dict[str, Any]:
    from .placing import placed_as

    # A warning is one line here, and comes when everything is written.
    how = placed_as(args, "raise" if args.on_rejected == "raise" else "report")
    return {"kernels": args.kernel, **vars(how)}


def _code_object(args: Any, lifted: Begun[CodeObject]) -> _Done:
    from ..instrumenting.planning import instrument
    from ..tools import load
    from .choose import kernels

    if args.entry not in (None, [0]):
        raise ArgumentError(f"{args.file} is a code object: it has no entry {args.entry[0]}")
    code_object = lifted.result()
    if args.kernel is not None:
        args.kernel = [name for pattern in args.kernel for name in kernels(code_object, pattern)]
    made = instrument(code_object, [load(text) for text in args.tool], **_options(args))
    did: Any = made.instrumentation
    lines = [f"{args.output}: {made.size} bytes ({code_object.size} before); {_placed(did)}", *_variables(did)]
    return _Done(made, did, lines, [(code_object, did)], [])


def _whole_file(args: Any) -> _Done:
    from ..instrumenting.container import instrument_file
    from ..tools import load

    made = instrument_file(
        args.file, lambda: [load(text) for text in args.tool], target=args.target, entries=args.entry, **_options(args)
    )
    done = _Done(made.data, {"entries": [e.to_dict() for e in made.entries]}, [f"{args.output}: {len(made.data)} bytes"], [], [])
    left: dict[str, list[int]] = {}
    for entry in made.entries:
        if entry.instrumented is None:
            left.setdefault(entry.left or "", []).append(entry.index)
            continue
        did: Any = entry.instrumented.instrumentation
        done.lines.extend([f"entry {entry.index} ({entry.id}): {_placed(did)}", *_variables(did)])
        done.placed.append((entry.original, did))
    for why, numbers in left.items():
        done.left.append(f"{'entries' if len(numbers) > 1 else 'entry'} {', '.join(map(str, numbers))}: {why}")
    return done


def _placed(did: dict[str, Any]) -> str:
    return f"{did['points']} hooks placed, {did['inserted_instructions']} instructions inserted"


def _variables(did: dict[str, Any]) -> list[str]:
    return [f"  variable {symbol}" for symbol in did["variables"]]
