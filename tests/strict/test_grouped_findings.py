"""An instruction that is wrong in many lanes is one finding: the first, the worst, and how many."""

from __future__ import annotations

import compiled
import numpy as np

import luthier as lt

SOURCE = """
KERNEL past(const u32 *a, u32 *c, u32 n) {
    u32 i = global_x();
    c[i < n ? i : i * 3] = a[0];
}
"""


def _finding(items: int, n: int, blocks: int):
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a", ("-g", "-O2")))
    c = np.zeros(n, np.uint32)
    result = lt.Device("gfx90a").run(
        code, "past", blocks=blocks, block=items, args=[np.ones(4, np.uint32), c, np.uint32(n)], strict=True
    )
    (finding,) = result.findings
    return finding


def test_all_lanes_of_all_waves_are_counted_and_the_worst_is_named():
    finding = _finding(128, 100, 3)
    assert finding["kind"] == "out-of-bounds"
    assert finding["count"] == 3 * 128 - 100
    assert (finding["workgroup"], finding["wave"], finding["lane"]) == ([0, 0, 0], 1, 36)
    assert finding["place"] == "800 bytes past the end of argument 1 'c' (400 bytes)"
    worst = finding["worst"]
    assert (worst["workgroup"], worst["wave"], worst["lane"]) == ([2, 0, 0], 1, 63)
    assert worst["place"] == f"{4 * (383 * 3 - 100):,} bytes past the end of argument 1 'c' (400 bytes)"
    text = str(finding)
    assert "; the first of 284 lanes, the worst is workgroup (2, 0, 0) wave 1 lane 63, address" in text


def test_a_finding_of_one_lane_says_nothing_of_others():
    finding = _finding(64, 63, 1)
    assert (finding["count"], finding["worst"]) == (1, None)
    assert "first of" not in str(finding)
