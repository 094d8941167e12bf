"""Scalar code of short kernels, whose waves are alike in some of it: what native code does once for a workgroup, each wave must find, and
what a wave has changed the next one must not. In the middle of launches, which a worker goes over to native code in."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = {"gfx90a": 64, "gfx1100": 32}
#: Workgroups of 256 work-items: native code does most of them.
GROUPS = 3000
ITEMS = 256 * GROUPS

#: Where v2, what is stored in the end, comes from: s2 is the workgroup's number, v0 the work-item's in it, s[8:9] another array.
BODIES = {
    # Registers as waves begin with them, which each changes.
    "begun": "v_cmp_gt_u32 VCC, 16, v0; s_add_u32 s2, s2, vcc_lo; v_mov_b32 v2, s2",
    "scc": "v_cmp_gt_u32 VCC, 300, v0; s_addc_u32 s7, vcc_lo, 3; s_cmp_eq_u32 vcc_lo, vcc_lo; v_mov_b32 v2, s7",
    # What the register holds then is read once more.
    "zeros": "v_add_u32 v3, 1, v3; v_cmp_gt_u32 VCC, 16, v0; s_add_u32 s15, vcc_lo, 0; v_add_u32 v2, s15, v3",
    # A scalar that the first wave has stored, for each.
    "stored": """s_lshl_b32 s10, s2, 10; v_mov_b32 v5, s2; v_add_u32 v5, 7, v5; global_store_dword v1, v5, s[8:9]; s_waitcnt vmcnt(0);
        STORED; s_add_u32 s12, s8, s10; s_addc_u32 s13, s9, 0; s_load_dword s11, s[12:13], 0x0; s_waitcnt lgkmcnt(0);
        v_mov_b32 v2, s11""",
    # Written on one of two ways alone.
    "lands": """v_mov_b32 v2, 1; s_mov_b32 s14, 3; v_cmp_gt_u32 VCC, 16, v0; s_and_saveexec_bLANES SAVED, VCC; s_cbranch_execz 1f;
        s_mov_b32 s14, 7; v_mov_b32 v2, s14; 1:; s_mov_bLANES EXEC, SAVED; v_add_u32 v2, s14, v2""",
    # Halves of a pair of different origin: alike and not; as waves begin with it and computed.
    "halves": """v_cmp_gt_u32 VCC, 16, v0; s_mov_b32 s14, 0x80000005; s_add_u32 s15, vcc_lo, 0; s_lshl_b64 s[16:17], s[14:15], 1;
        v_mov_b32 v2, s17""",
    "number": "s_mov_b32 s3, 9; s_lshl_b64 s[18:19], s[2:3], 4; s_add_u32 s18, s18, s19; v_mov_b32 v2, s18",
    # The same register again: before and behind what waves do by themselves.
    "again": """s_mov_b32 s14, 3; v_mov_b32 v2, s14; v_cmp_gt_u32 VCC, 16, v0; s_add_u32 s15, vcc_lo, s14; s_mov_b32 s14, 40;
        s_add_u32 s15, s15, s14; v_add_u32 v2, s15, v2""",
    # SCC of what is alike, for what is not.
    # A register like others in waves of 32 lanes.
    "exec_hi": "v_cmp_gt_u32 VCC, 16, v0; s_add_u32 exec_hi, exec_hi, vcc_lo; v_mov_b32 v2, exec_hi",
    "carry": "v_cmp_gt_u32 VCC, 16, v0; s_add_u32 s14, s2, -5; s_addc_u32 s15, vcc_lo, 0; v_mov_b32 v2, s15",
}


def expected(name: str, lanes: int) -> np.ndarray:
    group, at = np.divmod(np.arange(ITEMS, dtype=np.int64), 256)
    # The lower half of VCC of what is asked for below 16: of the first wave alone.
    below = np.where(at < lanes, 0xFFFF, 0)
    known = {
        "begun": group + below,
        "scc": 2,
        "zeros": below + 1,
        "lands": np.where(at < 16, 14, np.where(at < lanes, 8, 4)),
        "exec_hi": below,
        "stored": group + 7,
        "halves": 2 * below + 1,
        "number": (group << 4) + (9 << 4),
        "again": below + 3 + 40 + 3,
        "carry": below + (group >= 5),
    }
    return (np.zeros(ITEMS, np.int64) + known[name]).astype(np.uint32)


@functools.cache
def folder() -> Path:
    return Path(tempfile.mkdtemp())


def kernel(target: str, name: str, lines: list[str]) -> Path:
    rdna = TARGETS[target] == 32
    names = {"VCC": ("vcc", "vcc_lo"), "EXEC": ("exec", "exec_lo"), "SAVED": ("s[22:23]", "s22"), "LANES": ("64", "32")}
    text = "\n".join([*lines, "s_endpgm"])
    for name_of, words in (names | {"STORED": ("s_nop 0", "s_waitcnt_vscnt null, 0x0")}).items():
        text = text.replace(name_of, words[rdna])
    if rdna:
        text = text.replace("v_add_u32", "v_add_nc_u32")
    settings = [] if rdna else [".amdhsa_accum_offset 32"]
    text = compiled.kernel_in_assembly(target, text, 32, 32, *settings, wave=TARGETS[target], pointers=3)
    return compiled.assembled(text, target, folder() / f"{name}_{target}.hsaco")


BEGINNING = ["s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_load_dwordx2 s[8:9], s[0:1], 0x8", "s_waitcnt lgkmcnt(0)"]
INDEX = ["s_lshl_b32 s6, s2, 8", "v_add_u32 v1, s6, v0", "v_lshlrev_b32 v1, 2, v1"]
STORE = ["global_store_dword v1, v2, s[4:5]"]


@pytest.mark.parametrize(
    ("target", "name"), [(t, name) for t in TARGETS for name in BODIES if t != "gfx90a" or name != "exec_hi"]
)
def test_each_wave_has_what_it_would_have_alone(target: str, name: str) -> None:
    # No SCC is written before.
    index = ["s_mul_i32 s6, s2, 0x100", *INDEX[1:]]
    lines = [*BEGINNING, *index, *(line.strip() for line in BODIES[name].split(";")), *STORE]
    module = lt.Device(target, threads=1).load(kernel(target, name, lines))
    out, other = np.zeros(ITEMS, np.uint32), np.zeros(ITEMS, np.uint32)
    module.run("k", grid=ITEMS, block=256, args=[out, other, out])
    np.testing.assert_array_equal(out, expected(name, TARGETS[target]))


#: Behind a guard: the workgroup's word of the array that its pointer leads to.
GUARDED = [
    *BEGINNING,
    *INDEX,
    "s_load_dword s20, s[0:1], 0x10",
    "s_waitcnt lgkmcnt(0)",
    "v_cmp_gt_u32 VCC, s20, v1",
    "s_and_saveexec_bLANES SAVED, VCC",
    "s_cbranch_execz 1f",
    "s_lshl_b32 s10, s2, 3",
    "s_add_u32 s12, s8, s10",
    "s_addc_u32 s13, s9, 0",
    "s_load_dwordx2 s[14:15], s[12:13], 0x0",
    "s_waitcnt lgkmcnt(0)",
    "s_load_dword s16, s[14:15], 0x0",
    "s_waitcnt lgkmcnt(0)",
    "v_mov_b32 v2, s16",
    *STORE,
    "1:",
]


def guarded(target: str, pointers: int) -> tuple[lt.Module, np.ndarray, np.ndarray, np.ndarray]:
    """The kernel and its arrays; the first ``pointers`` workgroups have a pointer."""
    device = lt.Device(target, threads=1)
    module = device.load(kernel(target, "guarded", GUARDED))
    words = device.array(np.arange(100, 100 + GROUPS, dtype=np.uint32))
    table = np.zeros(GROUPS, np.uint64)
    table[:pointers] = words.ctypes.data + 4 * np.arange(pointers)
    return module, table, words, np.zeros(ITEMS, np.uint32)


@pytest.mark.parametrize("target", TARGETS)
def test_what_no_wave_comes_to_is_not_refused(target: str) -> None:
    """Workgroups behind the last one that has something to do have no pointer either; the last one ends in the middle."""
    items = 256 * 2500 + 200
    module, table, _, out = guarded(target, 2501)
    result = module.run("k", grid=ITEMS, block=256, args=[out, table, 4 * items])
    wanted = np.where(np.arange(ITEMS) < items, 100 + np.arange(ITEMS) // 256, 0)
    np.testing.assert_array_equal(out, wanted)
    # A wave that takes the branch does not do what is behind it.
    waves = -(-items // TARGETS[target])
    behind = len(GUARDED) - GUARDED.index("s_cbranch_execz 1f") - 2
    # The label is none, and the end is one.
    through, over = len(GUARDED), len(GUARDED) - behind
    assert result.instructions == waves * through + (ITEMS // TARGETS[target] - waves) * over


@pytest.mark.parametrize("target", TARGETS)
def test_a_pointer_that_leads_nowhere_is_refused_where_a_wave_needs_it(target: str) -> None:
    module, table, _, out = guarded(target, 2700)
    with pytest.raises(lt.DeviceError, match=r"a scalar load of 4 bytes from 0x0, .*\(workgroup \[2700, 0, 0\], wave 0\)"):
        module.run("k", grid=ITEMS, block=256, args=[out, table, 4 * ITEMS])
    np.testing.assert_array_equal(out[: 256 * 2700], 100 + np.arange(256 * 2700) // 256)
    assert not out[256 * 2700 :].any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_fault_names_the_wave_that_has_come_to_it(target: str) -> None:
    """The wave is one in the middle of its workgroup."""
    lines = [*BEGINNING, *INDEX, "global_load_dword v2, v1, s[8:9]", "s_waitcnt vmcnt(0)", *STORE]
    device = lt.Device(target, threads=1)
    module = device.load(kernel(target, "loads", lines))
    bad = 256 * 2000 + 2 * TARGETS[target] + 5
    short, out = device.array(np.arange(bad, dtype=np.uint32)), np.zeros(ITEMS, np.uint32)
    with pytest.raises(lt.DeviceError, match=r"\(workgroup \[2000, 0, 0\], wave 2, lane 5\)"):
        module.run("k", grid=ITEMS, block=256, args=[out, short.ctypes.data, out])
    np.testing.assert_array_equal(out[: bad - 5], np.arange(bad - 5))
    assert not out[bad:].any()
