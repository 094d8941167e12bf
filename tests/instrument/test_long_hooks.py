"""Hooks of more instructions than hazards that end by themselves reach over: scalars stay unwaited for until waited for."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import W64, instrumented

import luthier as lt

#: What the kernel reads as masks: to write another one of these, and to read that, takes a wait on RDNA3.
MASKS = [*range(4, 32, 2), *range(34, 104, 2)]

#: v6 holds the work-item id at the ``s_nop 1``, VCC a number.
SOURCE = f"""
KERNEL plain(u32 *out) {{
    u32 i = local_x(), v = i;
    asm volatile("v_mov_b32 v6, %0\\ns_mov_b32 vcc_lo, 0x1234\\ns_nop 1\\nv_add_nc_u32 %0, v6, 1"
                 : "+v"(v) :: "v6", "vcc");
    asm volatile("{"".join(f"s_mov_b64 s[{n}:{n + 1}], 0{chr(92)}nv_cndmask_b32 v6, v6, v6, s[{n}:{n + 1}]{chr(92)}n" for n in MASKS)}"
                 ::: "v6", {", ".join(f'"s{n}", "s{n + 1}"' for n in MASKS)});
    out[i] = v;
}}
"""
LANES = np.arange(64, dtype=np.uint32)


class Long(lt.Tool):
    """Reads what was moved to where its arguments are behind many other instructions, with branches or without."""

    seen = lt.DeviceArray(lt.u32, 64)

    def __init__(self, hook):
        self.hook = getattr(self, hook)

    @lt.hook
    def straight(seen: lt.ptr[lt.u32], vcc: lt.u32, a: lt.u32, b: lt.u32):
        x: lt.u32 = a
        for _ in range(12):
            x = (x ^ 0x5BD1) * 77 + b
        seen[lt.lane_id()] = x ^ vcc

    @lt.hook
    def branching(seen: lt.ptr[lt.u32], vcc: lt.u32, a: lt.u32, b: lt.u32):
        x: lt.u32 = a
        if a & 1:
            for _ in range(12):
                x = (x ^ 0x5BD1) * 77 + b
        if x & 4:
            x = x // (b + 3)
        seen[lt.lane_id()] = x ^ vcc

    def on_kernel(self, kernel):
        (nop,) = [i for i in kernel.instructions if i.text.strip() == "s_nop 1"]
        registers = [lt.Reg(name) for name in ("vcc_lo", "v6", "v6")]
        kernel.insert_before(nop, self.hook, self.seen, *registers)


def _mixed(x):
    for _ in range(12):
        x = (x ^ 0x5BD1) * 77 + LANES
    return x


EXPECTED = {"straight": _mixed(LANES)}
_half = np.where(LANES & 1, EXPECTED["straight"], LANES)
EXPECTED["branching"] = np.where(_half & 4, _half // (LANES + 3), _half)


@pytest.mark.parametrize("target", ["gfx1030", "gfx1100", "gfx1151", "gfx1201"])
@pytest.mark.parametrize("hook", EXPECTED)
def test_scalars_that_a_hook_reads_late_are_waited_for(target, hook):
    code, tool, out = lt.CodeObject.open(compiled.build(SOURCE, target, W64)), Long(hook), np.zeros(64, np.uint32)
    module = instrumented(code, (target, W64), [tool])
    result = module.run("plain", grid=64, block=64, args=[out], strict=True)
    assert not result.findings, result.findings
    np.testing.assert_array_equal(out, LANES + 1)
    np.testing.assert_array_equal(tool.seen.read(), EXPECTED[hook] ^ 0x1234)
