"""Hooks around gfx1250's matrix and transcendental instructions keep away from what these still read and write."""

from __future__ import annotations

import hazard_oracle
import numpy as np
import pytest

import luthier as lt

#: All that llc puts between them stands there, and not a VALU instruction more.
NOP = "v_nop"
BODY = [
    "s_load_b64 s[8:9], s[0:1], 0x0",
    "s_wait_kmcnt 0x0",
    "v_lshlrev_b32 v1, 2, v0",
    *(f"v_mov_b32 v{n}, 0x3c003c00" for n in range(24, 40)),
    *(f"v_mov_b32 v{n}, 0" for n in range(16, 24)),
    *[NOP] * 8,
    "v_wmma_f32_16x16x32_f16 v[16:23], v[24:31], v[32:39], v[16:23]",
    *[NOP] * 4,
    "v_exp_f32 v2, v16",
    NOP,
    "v_add_f32 v2, v2, v17",
    "v_wmma_i32_16x16x64_iu8 v[40:47], v[24:31], v[32:39], 0",
    *[NOP] * 8,
    "v_xor_b32 v2, v2, v40",
    "global_store_b32 v1, v2, s[8:9]",
]


class Everywhere(lt.Tool):
    """Before and behind each instruction, with a register that a matrix instruction has to do with."""

    out = lt.DeviceArray(lt.u32, 64)

    @lt.hook
    def mix(out: lt.ptr[lt.u32], value: lt.u32):
        lt.atomic_add(out + lt.lane_id(), value * 3 + 1)

    def on_kernel(self, kernel):
        for n, instr in enumerate(kernel.instructions):
            register = lt.Reg(f"v{(16, 24, 32, 40, 2)[n % 5]}")
            kernel.insert_before(instr, self.mix, self.out, register)
            if not instr.is_end:
                kernel.insert_after(instr, self.mix, self.out, register)


@pytest.mark.parametrize("target", ["gfx1250", "gfx1251"])
@pytest.mark.parametrize("how", [{}, {"bodies": "called"}, {"calling_convention": True}], ids=str)
def test_hooks_everywhere_bring_no_hazard_and_change_nothing(target, how, tmp_path):
    path = hazard_oracle.assemble({"k": BODY}, target, 32, tmp_path)
    plain = np.zeros(4096, np.uint32)
    result = lt.Device(target).load(lt.CodeObject.open(path)).run("k", grid=32, block=32, args=[plain], strict=["hazard"])
    assert result.findings == [] and plain[:32].any()
    out = np.zeros(4096, np.uint32)
    module = lt.Device(target).load(lt.CodeObject.open(path), tools=[Everywhere()], check=True, **how)
    result = module.run("k", grid=32, block=32, args=[out], strict=["hazard"])
    assert result.findings == [], result.findings[:3]
    assert module.instrumentation["rejected"] == []
    np.testing.assert_array_equal(out, plain)
