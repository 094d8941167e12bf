"""Arrays on the stack at lanes' own negative offsets: LLVM subtracts first, and the instruction's offset brings the sum back above
zero. (rocPRIM's exchanges within a warp do so on CDNA2.)"""

from __future__ import annotations

import re

import compiled
import numpy as np
import pytest

import luthier as lt

SOURCE = """
KERNEL kept(u32 *in, u32 *out, u32 n) {
    u32 i = global_x(), back = i & 8;
    u32 own[128];
    for (u32 k = 0; k != 128; ++k) own[k] = in[(i + k * 5) % 64] + k;
    for (u32 k = 0; k != 8; ++k) own[10 - back + 12 * k] = i * 1000 + k;
    u32 sum = 0;
    for (u32 k = 0; k != 128; ++k) sum = sum * 31 + own[k ^ back];
    out[i] = sum;
}
"""


def _by_numpy(values: np.ndarray) -> np.ndarray:
    out = np.zeros(64, np.uint32)
    for i in range(64):
        back = i & 8
        own = [int(values[(i + k * 5) % 64]) + k for k in range(128)]
        for k in range(8):
            own[10 - back + 12 * k] = i * 1000 + k
        total = 0
        for k in range(128):
            total = (total * 31 + own[k ^ back]) & 0xFFFFFFFF
        out[i] = total
    return out


@pytest.mark.parametrize("target", ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_offsets_below_zero_meet_the_instructions_own(target: str) -> None:
    values = np.random.default_rng(7).integers(0, 1 << 30, 64, dtype=np.uint32)
    out = np.zeros(64, np.uint32)
    code = lt.CodeObject.open(compiled.build(SOURCE, target, level="O2"))
    if target in ("gfx900", "gfx90a", "gfx1030"):
        # What this is about: a register is subtracted from zero, and offsets of buffers are added to it.
        assert re.search(r"v_sub\w* v\d+, 0, v\d+", code.disasm()) and "offen offset:" in code.disasm()
    result = lt.Device(target).load(code).run("kept", grid=64, block=64, args=[values, out, np.uint32(64)], strict=True)
    np.testing.assert_array_equal(out, _by_numpy(values))
    assert not result.findings
