"""Kernels that name VGPRs behind ACCUM_OFFSET, where the numbers mean AGPRs: hooks leave them alone, or are refused."""

from __future__ import annotations

from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx950")
WORDS = 128


def assembly(target: str, body: str) -> str:
    """A kernel of 16 registers; its descriptor says that 8 of them are VGPRs. Each lane stores v[6:9]."""
    text = f"""
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v1, 4, v0
  v_mov_b32 v6, v0
  v_add_u32 v7, 1, v0
  v_add_u32 v8, 2, v0
  {body}
  s_waitcnt lgkmcnt(0)
  s_nop 1
  v_add_u32 v8, v8, v9
  global_store_dwordx4 v1, v[6:9], s[2:3]
  s_endpgm
"""
    return compiled.kernel_in_assembly(target, text, 16, 16, ".amdhsa_accum_offset 8", most=256)


class Sums(lt.Tool):
    """What v8 and v9 hold, summed over all lanes at two places, and a count that lives in a register of its own."""

    total = lt.DeviceArray(lt.u64, 1)
    count = lt.Counter()

    @lt.hook
    def add(total: lt.ptr[lt.u64], a: lt.u32, b: lt.u32, count: lt.counter):
        c = (a * 3 + b) ^ (b * 7 + a) ^ (a * b)
        lt.atomic_add(total, lt.u64(c & 0xFFFF) + lt.u64(a) + lt.u64(b))
        count += 1

    def on_kernel(self, kernel):
        for text in ("s_nop 1", "global_store"):
            place = next(i for i in kernel.instructions if i.text.startswith(text))
            kernel.insert_before(place, self.add, self.total, lt.Reg("v8"), lt.Reg("v9"), self.count)


def run(path: Path, target: str, tools=(), **how):
    out = np.zeros(4 * WORDS, np.uint32)
    module = lt.Device(target, threads=1).load(path, tools=list(tools), check=True, **how)
    return out, module, module.run("k", grid=WORDS, block=128, args=[out], strict=True)


@pytest.mark.parametrize("target", TARGETS)
def test_hooks_read_them_and_use_other_registers(target, tmp_path):
    path = compiled.assembled(assembly(target, "v_add_u32 v9, 3, v0"), target, tmp_path / "k.hsaco")
    plain, _, reference = run(path, target)
    lanes = np.arange(WORDS, dtype=np.uint32)
    np.testing.assert_array_equal(plain.reshape(WORDS, 4), np.stack([lanes, lanes + 1, 2 * lanes + 5, lanes + 3], 1))
    made = Sums()
    out, _, result = run(path, target, [made])
    np.testing.assert_array_equal(out, plain)
    assert not reference.findings and not result.findings
    assert result.app_histogram == reference.histogram
    pairs = [(lanes + 2, lanes + 3), (2 * lanes + 5, lanes + 3)]
    sums = ((((a * 3 + b) ^ (b * 7 + a) ^ (a * b)) & 0xFFFF) + a + b for a, b in pairs)
    assert int(made.total[0]) == sum(int(each.astype(np.uint64).sum()) for each in sums)


@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_that_names_them_both_ways_is_refused_and_runs_as_it_is(target, tmp_path):
    path = compiled.assembled(assembly(target, "v_accvgpr_write_b32 a1, 7"), target, tmp_path / "k.hsaco")
    plain, _, _ = run(path, target)
    made = Sums()
    out, module, _ = run(path, target, [made], on_rejected="report")
    np.testing.assert_array_equal(out, plain)
    assert plain.reshape(WORDS, 4)[:, 3].tolist() == [7] * WORDS
    rejected = module.instrumentation["rejected"]
    assert [r["kind"] for r in rejected] == ["component"] * 2
    assert all("names AGPRs, and as VGPRs from v8 on also by another name" in r["reason"] for r in rejected), rejected
