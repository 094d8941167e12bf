"""Addresses that the pseudocode tables leave to other chapters of the manual: buffers with strides and swizzling, loads
straight into LDS, LDS counters, and VGPRs indexed by M0. Formulas are the CDNA 2 manual's, written down here."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.memory import WAIT
from conformance.targets import TARGETS

from luthier import _core

SUPPORTED = [t for t in TARGETS.values() if t.processor in _core.TARGETS and t.major == 9]
LANES = np.arange(64)
DST_SEL = 0x00000FAC | 4 << 15  # a 32-bit format
RNG = np.random.default_rng(3)


def _scalars(waves: int = 1) -> np.ndarray:
    scalars = np.zeros((waves, 16), np.uint32)
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    scalars[:, SCALARS["MODE"]] = 0x3F0
    return scalars


def _place(index: np.ndarray, offset: np.ndarray, stride: int, swizzle: bool, index_stride: int) -> np.ndarray:
    """Where a byte of a structured buffer is: 4-byte elements of ``index_stride`` structures lie side by side."""
    if not swizzle:
        return index * stride + offset
    return (index // index_stride * stride + offset // 4 * 4) * index_stride + index % index_stride * 4 + offset % 4


BUFFERS = list(itertools.product((False, True), (0, 3), (False, True), ("offen", "idxen", "idxen offen", "")))


@pytest.mark.parametrize("target", SUPPORTED, ids=lambda t: t.processor)
def test_buffers_with_strides(target) -> None:
    stride, soffset, immediate, records = 16, 64, 4, 128
    trials = []
    for swizzle, width, add_tid, mode in BUFFERS:
        resource = [
            f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
            f"s_or_b32 s53, s53, {stride << 16 | int(swizzle) << 31:#x}",
            f"s_mov_b32 s54, {records}",
            # With ADD_TID_ENABLE the data format's bits are more of the stride: none here.
            f"s_mov_b32 s55, {width << 21 | (1 << 23 if add_tid else DST_SEL):#x}",
        ]
        address = {"offen": "v4, ", "idxen": "v4, ", "idxen offen": "v[4:5], ", "": "off, "}[mode]
        tail = f"s[52:55], s{sgpr('S1')} {mode} offset:{immediate}"
        lines = [f"buffer_load_dword v8, {address}{tail}", f"buffer_load_ushort v9, {address}{tail}", *WAIT[:1]]
        lines += [f"buffer_store_byte v6, {address}{tail}"]
        trials.append(Trial(f"{swizzle} {width} {add_tid} {mode}", lines, [4, 5, 6], [8, 9], before=resource))
    batch = Batch(target, trials)
    for trial, (swizzle, width, add_tid, mode) in zip(trials, BUFFERS):
        memory = RNG.integers(0, 256, 8192, np.uint8)
        base = batch.buffer(memory)
        index = RNG.permutation(64) if "idxen" in mode else np.zeros(64, int)
        offset = RNG.integers(0, 3, 64) * 4 if "offen" in mode else np.zeros(64, int)
        if mode == "offen" and not add_tid:
            offset = RNG.permutation(64) * 4 % 12 + 0 * LANES
        data = RNG.integers(0, 1 << 32, 64, np.uint32)
        first = index if "idxen" in mode else offset
        rows = np.stack([first, offset, data]).astype(np.uint32)[None]
        scalars = _scalars()
        scalars[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([base], np.uint64).view(np.uint32)
        scalars[0, SCALARS["S1"]] = soffset
        _, got = batch.run(trial, scalars, rows)
        after = np.frombuffer(batch.device.core.read(base, memory.size), np.uint8)
        number = index + LANES * add_tid
        start = soffset + _place(number, offset + immediate, stride, swizzle, 8 << width)
        words = np.stack([memory[start + k].astype(np.uint32) << 8 * k for k in range(4)]).sum(0)
        # The lowest lanes' stores are overwritten by later lanes' at the same place.
        want = memory.copy()
        for lane in range(64):
            want[start[lane]] = data[lane] & 255
        np.testing.assert_array_equal(got[0, 0], words, trial.name)
        np.testing.assert_array_equal(got[0, 1], words & 0xFFFF, trial.name)
        np.testing.assert_array_equal(after, want, trial.name)


@pytest.mark.parametrize("target", [t for t in SUPPORTED if t.processor == "gfx90a"], ids=lambda t: t.processor)
def test_loads_into_lds(target) -> None:
    """LDS address: M0[15:0] + the instruction's offset + 4 * lane. Global address: as without ``lds``, offset included."""
    kinds = {"dword": 4, "ushort": 2, "ubyte": 1, "sshort": -2, "sbyte": -1}
    resource = [
        f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
        "s_mov_b32 s54, 4096",
        f"s_mov_b32 s55, {DST_SEL:#x}",
    ]
    get = ["v_mov_b32_e32 v3, v1", "ds_read_b32 v8, v3 offset:136", WAIT[0]]
    trials = [
        Trial(
            kind, [f"buffer_load_{kind} v4, s[52:55], 0 offen offset:8 lds", WAIT[0]], [4], [8], 4096, before=resource, after=get
        )
        for kind in kinds
    ]
    batch = Batch(target, trials)
    memory = RNG.integers(0, 256, 4096, np.uint8)
    base = batch.buffer(memory)
    offset = RNG.permutation(64) * 4
    scalars = _scalars()
    scalars[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([base], np.uint64).view(np.uint32)
    scalars[0, SCALARS["M0"]] = 0xABCD0080
    for trial, (kind, size) in zip(trials, kinds.items()):
        _, got = batch.run(trial, scalars, offset.astype(np.uint32)[None, None])
        at = offset + 8
        value = sum(memory[at + k].astype(np.int64) << 8 * k for k in range(abs(size)))
        if size < 0:
            value = np.where(value >> (8 * -size - 1) & 1, value - (1 << 8 * -size), value)
        np.testing.assert_array_equal(got[0, 0], (value & 0xFFFFFFFF).astype(np.uint32), kind)


@pytest.mark.parametrize("target", SUPPORTED, ids=lambda t: t.processor)
def test_lds_counters(target) -> None:
    """One word, at M0 + the offset, goes up or down by the number of active lanes; every active lane gets the old one."""
    put = ["v_mov_b32_e32 v3, 0x60", "v_mov_b32_e32 v2, 0x3e8", "ds_write_b32 v3, v2", WAIT[0]]
    get = ["v_mov_b32_e32 v3, 0x60", "ds_read_b32 v9, v3", WAIT[0]]
    trials = [
        Trial(name, [f"ds_{name} v8 offset:32", WAIT[0]], [8], [8, 9], 4096, before=put, after=get)
        for name in ("append", "consume")
    ]
    batch = Batch(target, trials)
    scalars = _scalars()
    scalars[0, SCALARS["M0"]] = 0x40
    scalars[0, SCALARS["EXEC"]] = 0x0000F0F1
    active = np.array([int(scalars[0, SCALARS["EXEC"] + lane // 32]) >> lane % 32 & 1 for lane in LANES], bool)
    old = RNG.integers(0, 1 << 32, 64, np.uint32)
    for trial, sign in zip(trials, (1, -1)):
        _, got = batch.run(trial, scalars, old[None, None])
        np.testing.assert_array_equal(got[0, 0], np.where(active, np.uint32(1000), old), trial.name)
        np.testing.assert_array_equal(got[0, 1], np.uint32(1000 + sign * int(active.sum())), trial.name)


@pytest.mark.parametrize("target", SUPPORTED, ids=lambda t: t.processor)
def test_registers_indexed_by_m0(target) -> None:
    """M0[7:0] is added to the VGPRs of the operands that s_set_gpr_idx_on names: src0, src1, src2, the destination."""
    trials = []
    for bits in range(16):
        names = [n for k, n in enumerate(("SRC0", "SRC1", "SRC2", "DST")) if bits >> k & 1]
        lines = [
            f"s_set_gpr_idx_on s{sgpr('S1')}, gpr_idx({','.join(names)})",
            "v_mad_u32_u24 v20, v16, v24, v28",
            "s_set_gpr_idx_off",
        ]
        trials.append(Trial(f"{bits}", lines, list(range(16, 32)), list(range(16, 32))))
    batch = Batch(target, trials)
    rows = RNG.integers(0, 1 << 24, (3, 16, 64)).astype(np.uint32)
    scalars = _scalars(3)
    scalars[:, SCALARS["S1"]] = (0, 1, 3)
    for trial in trials:
        bits = int(trial.name)
        _, got = batch.run(trial, scalars, rows)
        want = rows.copy()
        for wave, index in enumerate((0, 1, 3)):
            a, b, c, d = (first + index * (bits >> k & 1) - 16 for k, first in enumerate((16, 24, 28, 20)))
            want[wave, d] = rows[wave, a] * rows[wave, b] + rows[wave, c]
        np.testing.assert_array_equal(got, want, f"mode {bits}")
