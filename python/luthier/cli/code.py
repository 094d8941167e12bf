"""``luthier disasm`` and ``luthier lift``."""

from __future__ import annotations

import sys
from typing import Any

from ..code_object import CodeObject
from ..errors import ArgumentError
from ..instrument import no_kernel


def main(args: Any) -> int:
    code_object = CodeObject.open(args.file, target=args.target, kernel=args.kernel)
    if args.kernel is not None and code_object.core.kernel(args.kernel) is None:
        raise ArgumentError(no_kernel(code_object, args.kernel))
    program = code_object.program
    functions = program.select(args.kernel)
    if args.command == "disasm":
        print(f"{args.file}: {code_object.target}")
        for function in functions:
            sys.stdout.write("\n" + program.disasm(function))
        for line in program.remarks() if args.kernel is None else ():
            print(f"; {line}")
    elif args.emit == "dot":
        sys.stdout.write(_dot(functions))
    else:
        import json

        json.dump({"target": code_object.target, "functions": [_function(f) for f in functions]}, sys.stdout, indent=1)
        print()
    return 0


def _function(function: Any) -> dict[str, Any]:
    return {
        "name": function.name,
        "kind": function.kind,
        "address": function.address,
        "size": function.size,
        "calls": [{"address": at, "callee": callee} for at, callee in function.calls],
        "blocks": [
            {
                "address": block.address,
                "terminator": block.terminator,
                "successors": [s.address for s in block.successors],
                "live_in": block.live_in,
                "live_out": block.live_out,
                "instructions": [
                    {"address": i.address, "text": i.text, "opcode": i.opcode, "reads": i.reads, "writes": i.writes}
                    for i in block.instructions
                ],
            }
            for block in function.blocks
        ],
    }


def _dot(functions: list[Any]) -> str:
    lines = ["digraph luthier {", '  node [shape=box, fontname="monospace"];']
    for number, function in enumerate(functions):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f'    label="{_escape(function.name)}";')
        for block in function.blocks:
            text = "".join(f"{i.address:#x}  {_escape(i.text)}\\l" for i in block.instructions)
            lines.append(f'    b{block.address:x} [label="{text}"];')
        lines.append("  }")
        for block in function.blocks:
            lines += [f"  b{block.address:x} -> b{s.address:x};" for s in block.successors]
    return "\n".join([*lines, "}", ""])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
