"""``luthier device``: what the mock device can be, and what it knows."""

from __future__ import annotations

from typing import Any

from .. import _core


def main(args: Any) -> int:
    for processor in [args.coverage] if args.coverage else _core.TARGETS:
        operations = _core.coverage(processor)
        refused = [(name, why) for name, why in operations if why is not None]
        print(f"{processor}: {len(operations) - len(refused)} operations known, {len(refused)} refused")
        if args.coverage is not None:
            for name, why in refused:
                print(f"  {name}: {why}")
    return 0
