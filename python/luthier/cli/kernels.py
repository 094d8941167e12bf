"""``luthier kernels``: what can be launched."""

from __future__ import annotations

import json
import sys
from typing import Any

from ..objects.matching import matching
from .choose import cores
from .tables import paged, show


def main(args: Any) -> int:
    found: list[dict[str, Any]] = []
    for number, core in cores(args.file, args.target, args.entry):
        wanted = None if args.glob is None else set(matching(core, args.glob))
        rows = core.kernel_table()
        found += [{"entry": number, "target": core.target, **k} for k in rows if wanted is None or k["name"] in wanted]
    if args.json:
        json.dump(found, sys.stdout, indent=1)
        print()
        return 0
    several = len({row["entry"] for row in found}) > 1
    columns = {
        **({"entry": "entry"} if several else {}),
        "demangled": "kernel",
        "target": "target",
        "sgprs": "SGPRs",
        "vgprs": "VGPRs",
        "lds": "LDS",
        "scratch": "scratch",
        "arguments": "arguments",
        "code_size": "code",
    }
    targets = {row["target"] for row in found}
    if len(targets) <= 1:
        del columns["target"]
    title = f"{args.file}: {', '.join(sorted(targets)) or 'no kernels'}"
    with paged():
        show(title, list(columns.values()), [tuple("" if row[c] is None else row[c] for c in columns) for row in found])
        print(f"{len(found):,} kernel{'' if len(found) == 1 else 's'}; LDS, scratch and code in bytes")
    return 0
