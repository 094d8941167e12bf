"""Every instruction of real objects gets a hook, on every target, with every placement proved.

``LUTHIER_CORPUS_ALL=1`` takes the large objects too and writes the table of docs/placement.md anew.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from places import CORPUS, ROOT

import luthier as lt

ALL = "LUTHIER_CORPUS_ALL" in os.environ
SMALL = 300_000  # bytes
#: The share that may be rejected.
MOST = 0.001
TABLE = ROOT / "docs" / "placement.md"


class Scalar(lt.Tool):
    """Two scalar instructions at every instruction."""

    count = lt.Counter()

    @lt.hook
    def tick(count: lt.counter):
        count += 1

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.tick, self.count)


class Vector(lt.Tool):
    """VGPRs in all lanes, EXEC, SCC and memory at every instruction."""

    total = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def add(total: lt.ptr[lt.u64], pc: lt.u64):
        lt.wave_atomic_add(total, pc)

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.add, self.total, lt.Pc())


def known(path: Path) -> bool:
    """GCN3 and older are not instrumented, nor are code objects of version 2."""
    return not path.parent.name.startswith(("gfx6", "gfx7", "gfx8")) and "_v2" not in path.name


def objects():
    """By target, the objects that are looked at."""
    found = defaultdict(list)
    for path in sorted(CORPUS.glob("*/*/*.hsaco")):
        if known(path) and (ALL or path.stat().st_size <= SMALL):
            found[path.parent.name].append(path)
    return found


def place(path: Path, tool: type[lt.Tool]) -> tuple[int, int, Counter]:
    """Points, inserted instructions, and rejections by reason."""
    code_object = lt.CodeObject.open(path)
    done = lt.instrument(code_object, [tool()], check=True, on_rejected="report").instrumentation
    reasons = Counter(r["reason"].split(":")[0] for r in done["rejected"])
    return done["points"], done["inserted_instructions"], reasons


@pytest.mark.skipif(CORPUS is None, reason="THE CORPUS OF REAL CODE OBJECTS IS NOT HERE (set LUTHIER_CORPUS)")
def test_every_instruction_of_the_corpus_takes_a_hook():
    rows = []
    for target, paths in objects().items():
        for tool in (Scalar, Vector):
            points = inserted = 0
            reasons: Counter = Counter()
            for path in paths:
                p, i, r = place(path, tool)
                points, inserted, reasons = points + p, inserted + i, reasons + r
            rejected = sum(reasons.values())
            assert points > 100, target
            assert rejected <= MOST * (points + rejected), (target, reasons.most_common(3))
            why = "; ".join(f"{n} x {reason}" for reason, n in reasons.most_common(3)) or "none"
            rows.append((target, tool.__name__.lower(), len(paths), points, f"{inserted / points:.2f}", rejected, why))
    if ALL:
        write(rows)


def write(rows) -> None:
    lines = [
        "# What could be placed",
        "",
        "A hook before every instruction of every object of a corpus of real code (Triton, bitsandbytes, onnxruntime, clang's",
        "device libraries), every placement proved by the splice checker. *scalar* is `count += 1` in a counter; *vector* adds",
        "the instruction's address to memory, one lane for the wave, whatever EXEC is.",
        "`LUTHIER_CORPUS_ALL=1 pytest tests/instrument/test_corpus.py` makes this table.",
        "",
        "| target | hook | objects | placed | instructions a hook | rejected | why |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(f"{c:,}" if isinstance(c, int) else c for c in row) + " |" for row in rows]
    TABLE.write_text("\n".join(lines) + "\n")
