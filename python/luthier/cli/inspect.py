"""``luthier inspect``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ..base.text import printable
from ..objects.code_object import open_container
from .choose import cores


def main(args: Any) -> int:
    container, path = open_container(args.file)
    entries = container.entries
    if args.entry is not None:
        chosen = [number for number, _ in cores(args.file, args.target, args.entry)]
    elif args.target is not None:
        chosen = container.select(args.target)
    elif container.kind == "code object":
        chosen = [0]
    else:
        chosen = [e["index"] for e in entries if e["target"] and e["size"]]
    # A library holds dozens; without a choice people get the list of them, programs get everything.
    detailed = not args.list and (args.json or args.target is not None or len(chosen) <= 1)
    objects = [{"entry": i, **container.code_object(i).inspect()} for i in chosen] if detailed else []
    if args.json:
        import json

        json.dump({"file": path, "kind": container.kind, "entries": entries, "code_objects": objects}, sys.stdout, indent=1)
        print()
        return 0
    lines: list[str] = []
    if container.kind != "code object":
        lines.append(f"{path}: {container.kind}, {len(entries)} entries")
        rows = [("entry", "bundle", "size", "id")] + [
            (str(e["index"]), str(e["bundle"]), str(e["size"]), e["id"]) for e in entries
        ]
        lines += _columns(rows, "rrrl")
        if not detailed:
            lines.append("--target T shows those for T, --entry N one of them")
    for info in objects:
        lines += _code_object(str(path), info)
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return 0


def _code_object(path: str, info: dict[str, Any]) -> Iterator[str]:
    yield f"{path}: {info['target']}, code object v{info['code_object_version']}, {info['os_abi']}, {info['size']} bytes" + (
        ", instrumented by Luthier" if info["instrumented"] else ""
    )
    for kernel in info["kernels"]:
        yield from _kernel(kernel)
    functions = [f for f in info["functions"] if f["name"] not in {k["name"] for k in info["kernels"]}]
    if functions:
        yield "\ndevice functions"
        yield from _columns([(hex(f["address"]), str(f["size"]), f["name"]) for f in functions], "rrl")
    yield "\nsymbols"
    yield from _columns(
        [("address", "size", "kind", "binding", "visibility", "section", "name")]
        + [
            (hex(s["address"]), str(s["size"]), s["kind"], s["binding"], s["visibility"], s["section"] or "-", s["name"])
            for s in info["symbols"]
        ],
        "rrlllll",
    )
    yield "\nsections"
    yield from _columns(
        [("address", "offset", "size", "kind", "name")]
        + [(hex(s["address"]), hex(s["offset"]), str(s["size"]), s["kind"], s["name"]) for s in info["sections"] if s["name"]],
        "rrrll",
    )
    if info["relocations"]:
        yield "\nrelocations"
        yield from _columns(
            [
                (hex(r["offset"]), r["kind"], r["symbol"] or "", "" if r["addend"] is None else hex(r["addend"]))
                for r in info["relocations"]
            ],
            "rlll",
        )
    metadata = info["metadata"]
    if metadata:
        yield "\nmetadata"
        for key, value in metadata.items():
            if key != "amdhsa.kernels":
                yield f"  {key}: {value}"


def _kernel(kernel: dict[str, Any]) -> Iterator[str]:
    launch = kernel["launch"]
    yield f"\nkernel {kernel['name']}"
    yield f"  code        {kernel['entry']:#x}, {kernel['code_size']} bytes"
    copy = kernel["instrumented"]
    if copy:
        yield (
            f"  original    {copy['original']:#x}; {copy['application_instructions']} instructions of the application's, "
            f"{copy['inserted_instructions']} inserted"
        )
    for arg in launch["args"] or ():
        if not arg["hidden"]:
            offset, size, kind = ("?" if arg[what] is None else str(arg[what]) for what in ("offset", "size", "kind"))
            kind += f" {arg['type']}" if arg["type"] else ""
            yield f"  argument    {offset:>4}: {size} bytes {kind}" + (f" {arg['name']}" if arg["name"] else "")
    hidden = [a["kind"].removeprefix("hidden_") for a in launch["args"] or () if a["hidden"]]
    if hidden:
        yield f"  hidden      {', '.join(hidden)}"
    if launch["args"] is None:
        yield "  arguments   unknown: there is no metadata"
    limits = {
        "kernarg": launch["kernarg_size"],
        "LDS": launch["group_segment"],
        "scratch": launch["private_segment"],
        "wavefront": launch["wavefront_size"],
        "workgroup up to": launch["max_workgroup_size"],
        "workgroup exactly": launch["required_workgroup_size"],
    }
    yield "  limits      " + ", ".join(f"{name} {value}" for name, value in limits.items() if value is not None)
    yield f"  descriptor  {kernel['descriptor_address']:#x}"
    for name, value in kernel["descriptor"].items():
        yield f"    {name:<46} {value}" + (f" ({value:#x})" if value > 9 else "")


def _columns(rows: list[tuple[str, ...]], align: str) -> list[str]:
    """Rows in columns, indented by two."""
    if not rows:
        return ["  none"]
    widths = [max(len(row[i]) for row in rows) for i in range(len(align))]
    return [
        "  " + "  ".join(cell.rjust(w) if a == "r" else cell.ljust(w) for cell, w, a in zip(row, widths, align)).rstrip()
        for row in rows
    ]
