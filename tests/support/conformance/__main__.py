"""``python -m conformance [TARGET...]`` (from tests/support): compares, and prints the counts and lists of docs/audit/conformance.md.

``--waves N`` sets how many waves of operands each form gets in each mode (0: a sample of forms and modes, as the tests
have it), ``--seed N`` which.
"""

from __future__ import annotations

import argparse
import collections
import time

from .families import ABSENT, FAMILIES
from .targets import TARGETS, entries


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance")
    parser.add_argument("targets", nargs="*", default=["gfx90a"])
    parser.add_argument("--waves", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without the forms with modifiers, SDWA and DPP")
    parser.add_argument("--family", choices=list(FAMILIES), action="append")
    options = parser.parse_args()
    wrong = 0
    for name in options.targets:
        target = TARGETS[name]
        print(f"{name}: {len(entries(target.table))} entries in the {target.table} table")
        for family, run in FAMILIES.items():
            if options.family and family not in options.family:
                continue
            started = time.perf_counter()
            extra = {"plain": True} if options.plain and family == "vector" else {}
            report = run(target, options.waves, options.seed, **extra)
            elements = sum(o.compared for o in report.outcomes)
            forms = sum(1 for o in report.outcomes if o.compared)
            listed = {k: why for k, why in report.listed.items() if why != ABSENT and k not in report.compared}
            print(
                f"  {family}: {len(report.keys)} entries, {len(report.compared)} compared in {forms} forms with {elements} "
                f"elements, {len(listed)} listed, {len(report.absent)} not on the target, "
                f"{len(report.unaccounted)} unaccounted for ({time.perf_counter() - started:.0f} s)"
            )
            reasons = collections.defaultdict(list)
            for key, why in listed.items():
                reasons[why].append(key)
            for why, keys in reasons.items():
                print(f"    {why}: {', '.join(sorted(keys))}")
            for outcome in report.differing:
                wrong += 1
                print(f"    DIFFERS {outcome.name}: {outcome.different} of {outcome.compared}")
                for text in outcome.differences:
                    print(f"      {text}")
            for key in sorted(report.unaccounted):
                wrong += 1
                print(f"    UNACCOUNTED {key}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
