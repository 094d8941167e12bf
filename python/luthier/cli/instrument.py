"""``luthier instrument``."""

from __future__ import annotations

import json
from typing import Any

from ..code_object import CodeObject
from ..errors import ArgumentError
from ..outputs import Outputs
from ..planning import instrument
from ..tools import load
from .run import interruptible, warn_of_rejected


def main(args: Any) -> int:
    tools = [load(text) for text in args.tool]
    code_object = CodeObject.open(args.file, target=args.target, kernel=args.kernel[0] if args.kernel else None)
    with Outputs() as outputs:
        out = outputs.open(args.output)
        report = outputs.open(args.json) if args.json not in (None, "-") else None
        # A warning is one line here, and comes when everything is written.
        how = "raise" if args.on_rejected == "raise" else "report"
        result = interruptible(lambda: instrument(code_object, tools, kernels=args.kernel, check=args.check, on_rejected=how))
        did = result.instrumentation
        try:
            out.write(result.data)
        except OSError as error:
            raise ArgumentError(f"cannot write {args.output}: {(error.strerror or str(error)).lower()}") from None
        if report is not None:
            report.write((json.dumps(did, indent=1) + "\n").encode())
        outputs.commit()
    if args.json == "-":
        print(json.dumps(did, indent=1))
    else:
        print(
            f"{args.output}: {len(result.data)} bytes ({len(code_object.data)} before); {did['points']} hooks placed, "
            f"{did['inserted_instructions']} instructions inserted"
        )
        for symbol in did["variables"]:
            print(f"  variable {symbol}")
    warn_of_rejected(code_object, did, args.on_rejected)
    return 0
