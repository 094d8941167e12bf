"""``luthier disasm`` and ``luthier lift``."""

from __future__ import annotations

import sys
from typing import Any

from ..base.text import printable
from .choose import kernel, one


def main(args: Any) -> int:
    code_object = one(args, args.kernel)
    if args.kernel is not None:
        args.kernel = kernel(code_object, args.kernel)
    program = code_object.program
    functions = program.select(args.kernel)
    if args.command == "disasm" or args.emit == "text":
        print(printable(f"{args.file}: {code_object.target}"))
        for function in functions:
            sys.stdout.write("\n" + printable(program.disasm(function)))
        for line in program.remarks() if args.kernel is None else ():
            print(printable(f"; {line}"))
    elif args.emit == "dot":
        for function in functions:
            sys.stdout.write(printable(program.to_dot(function)))
    elif args.emit == "mir":
        mir = program.to_mir(args.kernel)
        sys.stdout.write(printable(mir.text))
        for function, why in mir.left_out:
            print(printable(f"luthier: {function.name} is left out: {why}"), file=sys.stderr)
    else:
        sys.stdout.write(program.to_json(args.kernel) + "\n")
    return 0
