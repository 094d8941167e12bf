"""Buffer accesses beyond a buffer of unknown size: what is a mistake, and what a masked-out lane."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

#: The descriptor's last word: raw buffers of 32-bit elements.
FLAGS = {"gfx908": 0x27000, "gfx90a": 0x27000, "gfx942": 0x27000, "gfx1030": 0x31027000, "gfx1100": 0x31027000,
         "gfx1201": 0x31027000}  # fmt: skip
SOURCE = """
KERNEL access(u32 *buffer, const u32 *offsets, u32 *out, u32 records) {
    u32 at = offsets[local_x()];
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(buffer, 0, (int)records, FLAGS);
    if (HOW == 0) out[local_x()] = __builtin_amdgcn_raw_buffer_load_b32(r, at, 0, 0);
    if (HOW == 1) __builtin_amdgcn_raw_buffer_store_b32(local_x(), r, at, 0, 0);
    if (HOW == 2) __builtin_amdgcn_raw_ptr_buffer_atomic_add_i32(1, r, at, 0, 0);
    if (HOW == 3) {
        auto four = __builtin_amdgcn_raw_buffer_load_b128(r, at, 0, 0);
        out[local_x()] = four[0] + four[3];
    }
    if (HOW == 4) out[local_x()] = __builtin_amdgcn_raw_buffer_load_b8(r, at, 0, 0);
}
"""
LOAD, STORE, ATOMIC, WIDE, BYTE = range(5)
TRITON, ALL = 0x7FFFFFFE, 0xFFFFFFFF


def run(target: str, how: int, offset: int, records: int, strict=True):
    """The findings of an access in which lane 5 has an offset of its own, and what came out for it."""
    flags = (f"-DHOW={how}", f"-DFLAGS={FLAGS[target]}")
    code = compiled.build(SOURCE, target, flags)
    offsets, out = np.arange(64, dtype=np.uint32) * 4, np.full(64, 9, np.uint32)
    offsets[5] = offset & 0xFFFFFFFF
    buffer = np.arange(100, 180, dtype=np.uint32)
    args = [buffer, offsets, out, np.uint32(records)]
    result = lt.Device(target).run(code, "access", grid=64, block=64, args=args, strict=strict)
    return result.findings, out[5], buffer


@pytest.mark.parametrize("target", FLAGS)
@pytest.mark.parametrize("offset", [-4, -4000, 4_000_000_000, 0x7FFFFFFC, 0x80000004], ids=hex)
def test_an_offset_beyond_a_buffer_of_unknown_size_is_a_finding(target, offset):
    findings, loaded, _ = run(target, LOAD, offset, TRITON)
    (finding,) = findings
    assert (finding["kind"], finding["lane"], finding["count"], loaded) == ("buffer-range", 5, 1, 0)
    assert f"a buffer load at offset {offset & 0xFFFFFFFF:#x}, beyond the 0x7ffffffe bytes" in finding["message"]


@pytest.mark.parametrize("how, verb", [(STORE, "store"), (ATOMIC, "atomic"), (WIDE, "load"), (BYTE, "load")])
def test_every_width_and_direction_is_judged(how, verb):
    findings, _, buffer = run("gfx942", how, -16, TRITON)
    assert [(f["kind"], f["count"]) for f in findings] == [("buffer-range", 1)] and f"a buffer {verb}" in findings[0]["message"]
    if how == STORE:
        assert buffer[5] == 105 and buffer[4] == 4


@pytest.mark.parametrize("target", FLAGS)
@pytest.mark.parametrize("how", [LOAD, STORE, WIDE])
def test_a_lane_that_is_masked_out_is_none(target, how):
    assert run(target, how, 0x80000000, TRITON)[0] == []
    assert run(target, how, -1, ALL)[0] == []  # the mask of those who allow for all offsets


def test_a_program_that_says_the_size_asks_the_hardware_to_clip():
    for offset in (-4, 320, 4096, 0x7FFFFFFC):
        findings, loaded, _ = run("gfx942", LOAD, offset, 320)
        assert (findings, loaded) == ([], 0), hex(offset)


def test_within_the_buffer_allocations_decide():
    findings, _, _ = run("gfx942", LOAD, 4_000_000, TRITON)
    assert [f["kind"] for f in findings] == ["out-of-bounds"]


def test_the_kind_can_be_left_out_and_asked_for_alone():
    others = [kind for kind in lt.finding_kinds() if kind != "buffer-range"]
    assert run("gfx942", LOAD, -4, TRITON, others)[0] == []
    assert len(run("gfx942", LOAD, -4, TRITON, ["buffer-range"])[0]) == 1
    assert run("gfx942", LOAD, -4, TRITON, False)[1] == 0  # a plain run does as the hardware
