"""Addresses on RDNA2, RDNA3 and RDNA4 that the pseudocode tables leave to other chapters of the manuals: blocks of registers
and addresses by lane number. The manuals' formulas are written down here."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.targets import TARGETS, Target

RDNA = [Target("gfx1030", "", 32, 10), TARGETS["gfx1100"], TARGETS["gfx1201"]]
RNG = np.random.default_rng(5)


def scalars(target: Target, m0: int = 0, exec_: int = 0xFFFFFFFF) -> np.ndarray:
    record = np.zeros((1, 16), np.uint32)
    record[0, SCALARS["EXEC"]] = exec_
    record[0, SCALARS["MODE"]] = 0x3F0
    record[0, SCALARS["M0"]] = m0
    return record


def pointer(record: np.ndarray, name: str, address: int) -> None:
    at = SCALARS[name]
    record[0, at : at + 2] = np.array([address], np.uint64).view(np.uint32)


def bytes_of(batch: Batch, address: int, size: int) -> np.ndarray:
    return np.frombuffer(batch.device.core.read(address, size), np.uint8)


@pytest.mark.parametrize("target", RDNA, ids=lambda t: t.processor)
def test_addresses_by_lane_number(target: Target) -> None:
    """A scalar base, the offset, and four bytes for each lane before."""
    load, store = (
        ("global_load_dword_addtid", "global_store_dword_addtid")
        if target.major == 10
        else ("global_load_addtid_b32", "global_store_addtid_b32")
    )
    base = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]"
    batch = Batch(target, [Trial("addtid", [f"{load} v5, {base} offset:16", f"{store} v4, {base} offset:256"], [4, 5], [5])])
    memory = RNG.integers(0, 1 << 32, 128, np.uint32)
    address = batch.buffer(memory)
    record = scalars(target, exec_=0x0FF0F0F1)
    pointer(record, "S0", address)
    rows = RNG.integers(0, 1 << 32, (1, 2, 32), np.uint32)
    _, got = batch.run(Trial("addtid", [], [4, 5], [5]), record, rows)
    active = 0x0FF0F0F1 >> np.arange(32) & 1 == 1
    np.testing.assert_array_equal(got[0, 0], np.where(active, memory[4:36], rows[0, 1]))
    memory[64:96] = np.where(active, rows[0, 0], memory[64:96])
    np.testing.assert_array_equal(bytes_of(batch, address, 512).view(np.uint32), memory)


@pytest.mark.parametrize("space", ("global", "global saddr", "scratch"))
def test_blocks_of_registers(space: str) -> None:
    """Register k of 32 is moved if M0 has bit k, to or from the address and 4 * k."""
    target, block, m0 = TARGETS["gfx1201"], list(range(20, 52)), 0x8F00F0A5
    saddr = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]" if "saddr" in space else "off"
    address = "v4" if space != "global" else "v[4:5]"
    name = space.split()[0]
    trials = [
        Trial("load", [f"{name}_load_block v[20:51], {address}, {saddr} offset:8"], [4, 5, *block], block),
        Trial("store", [f"{name}_store_block {address}, v[20:51], {saddr} offset:8"], [4, 5, *block], []),
    ]
    if name == "scratch":
        # All of a lane's scratch is written first, with what is in v[60:91]; or read at the end.
        held = list(range(60, 92))
        lines = [f"scratch_{{0}}_b32 {{1}} offset:{32 + 4 * k}" for k in range(32)]
        put = [x.format("store", f"off, v{r}, off") for x, r in zip(lines, held)] + ["s_wait_storecnt 0x0"]
        get = [x.format("load", f"v{r}, off, off") for x, r in zip(lines, held)] + ["s_wait_loadcnt 0x0"]
        for trial in trials:
            trial.before, trial.after, trial.scratch = put, get, 256
            trial.loads = [*trial.loads, *held]
            trial.stores = [*trial.stores, *held]
    batch = Batch(target, trials)
    chosen = m0 >> np.arange(32) & 1 == 1
    for trial in trials:
        memory = RNG.integers(0, 1 << 32, (32, 32), np.uint32)  # lanes, words
        values = RNG.integers(0, 1 << 32, (32, 32), np.uint32)
        record = scalars(target, m0)
        base = 0
        if name == "global":
            base = batch.buffer(memory)
            lane = np.arange(32) * 128 + (0 if "saddr" in space else base) - (0 if "saddr" in space else 8)
            pointer(record, "S0", base - 8)
            places = np.ascontiguousarray(lane.astype(np.int64)).view(np.uint32).reshape(32, 2)
        else:
            places = np.full((32, 2), 24, np.uint32)
        columns = [places, values] + ([memory] if name == "scratch" else [])
        rows = np.concatenate(columns, axis=1).T[None].copy()
        _, got = batch.run(trial, record, rows)
        registers = np.where(chosen, memory, values) if trial.name == "load" else values
        want = np.where(chosen, values, memory) if trial.name == "store" else memory
        if trial.name == "load":
            np.testing.assert_array_equal(got[0, :32].T, registers)
        if name == "global":
            np.testing.assert_array_equal(bytes_of(batch, base, memory.nbytes).view(np.uint32).reshape(32, 32), want)
        else:
            np.testing.assert_array_equal(got[0, -32:].T, want)


def _swizzled(index: np.ndarray, offset: np.ndarray, stride: int, element: int, index_stride: int) -> np.ndarray:
    """``element`` bytes of each of ``index_stride`` structures lie side by side."""
    high = index // index_stride * stride + offset // element * element
    return high * index_stride + index % index_stride * element + offset % element


def _outside(mode: int, index, offset, size: int, records: int, stride: int, soffset: int, swizzled: bool) -> np.ndarray:
    """OOB_SELECT's conditions."""
    beyond = offset + size > stride
    if mode == 0 or (mode == 3 and swizzled and stride):
        return (index >= records) | beyond
    if mode == 1:
        return index >= records
    if mode == 2:
        return np.full(index.shape, records == 0)
    return offset + size > records - soffset


#: SWIZZLE_EN's values, and the bytes of an element that they mean.
SWIZZLES = {10: {0: 0, 1: 4}, 11: {0: 0, 1: 4, 3: 16}, 12: {0: 0, 1: 4, 3: 16}}
ADDRESSING = {"offen": "v4, ", "idxen": "v4, ", "idxen offen": "v[4:5], ", "": "off, "}


@pytest.mark.parametrize("oob", range(4), ids=lambda k: f"oob{k}")
@pytest.mark.parametrize("target", RDNA, ids=lambda t: t.processor)
def test_buffers(target: Target, oob: int) -> None:
    """Structured, raw, and swizzled with and without the lane's number; inside and outside.

    The scalar offset belongs to the base, on RDNA4 to what is swizzled; RDNA4 has a factor for the stride as well. Each
    word of an access is in or out by itself.
    """
    cases = [
        (swizzle, width, add_tid, mode, scale)
        for swizzle in SWIZZLES[target.major]
        for width in (0, 2)
        for add_tid in (False, True)
        for mode in ADDRESSING
        for scale in ((0, 1) if target.major == 12 else (0,))
    ]
    word, short, byte = ("dword", "ushort", "byte") if target.major == 10 else ("b32", "u16", "b8")
    wide = "dwordx2" if target.major == 10 else "b64"
    wait = "s_wait_loadcnt 0x0" if target.major == 12 else "s_waitcnt vmcnt(0)"
    soffset, immediate, records = 32, 4, 40 if oob != 3 else 1100
    trials = []
    for swizzle, width, add_tid, mode, scale in cases:
        stride = 32 >> (2 * scale)
        resource = [
            f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
            f"s_or_b32 s53, s53, {stride << 16 | swizzle << (31 if target.major == 10 else 30):#x}",
            f"s_mov_b32 s54, {records}",
            f"s_mov_b32 s55, {oob << 28 | width << 21 | int(add_tid) << 23 | scale << 18 | 0xFAC:#x}",
        ]
        tail = f"{ADDRESSING[mode]}s[52:55], s{sgpr('S1')} {mode} offset:{immediate}"
        lines = [f"buffer_load_{word} v8, {tail}", f"buffer_load_{short} v9, {tail}", f"buffer_load_{wide} v[10:11], {tail}"]
        lines += [wait, f"buffer_store_{byte} v6, {tail}"]
        name = f"{swizzle} {width} {add_tid} {mode} {scale}"
        trials.append(Trial(name, lines, [4, 5, 6, 8, 9, 10, 11], [8, 9, 10, 11], before=resource))
    batch = Batch(target, trials)
    lanes = np.arange(32)
    for trial, (swizzle, width, add_tid, mode, _) in zip(trials, cases):
        element, stride = SWIZZLES[target.major][swizzle], 32
        memory = RNG.integers(0, 256, 8192, np.uint8)
        base = batch.buffer(memory)
        given = RNG.permutation(48)[:32] if "idxen" in mode else np.zeros(32, int)
        vector = RNG.integers(0, 10, 32) * 4 if "offen" in mode else np.zeros(32, int)
        data = RNG.integers(0, 1 << 32, 32, np.uint32)
        old = RNG.integers(0, 1 << 32, (4, 32), np.uint32)
        first = given if "idxen" in mode else vector
        rows = np.concatenate([np.stack([first, vector, data]).astype(np.uint32), old])[None]
        record = scalars(target)
        pointer(record, "S0", base)
        record[0, SCALARS["S1"]] = soffset
        _, got = batch.run(trial, record, rows)
        after = bytes_of(batch, base, memory.size)
        index, offset = given + lanes * add_tid, vector + immediate
        outside = [
            _outside(oob, index, offset + 4 * k, size, records, stride, soffset, element != 0)
            for k, size in ((0, 4), (0, 2), (0, 4), (1, 4), (0, 1))
        ]

        if element == 0:
            places = [soffset + index * stride + offset + k for k in range(8)]
        elif target.major == 12:
            places = [_swizzled(index, offset + soffset + k, stride, element, 8 << width) for k in range(8)]
        else:
            places = [soffset + _swizzled(index, offset + k, stride, element, 8 << width) for k in range(8)]
        each = [memory[place].astype(np.uint32) << np.uint32(8 * (k % 4)) for k, place in enumerate(places)]
        pieces = (sum(each[:4]), sum(each[:2]), sum(each[:4]), sum(each[4:]))
        want = [np.where(out, 0, piece) for out, piece in zip(outside, pieces)]
        where = f"{trial.name}: index {index}, offset {offset}"
        np.testing.assert_array_equal(got[0, :2], want[:2], where)
        # Across elements of sixteen bytes the manual has no word on the second half.
        whole = np.ones(32, bool) if element != 16 else (offset + (soffset if target.major == 12 else 0)) % 16 <= 8
        np.testing.assert_array_equal(got[0, 2:][:, whole], np.array(want[2:])[:, whole], where)
        for lane in np.flatnonzero(~outside[4]):
            memory[places[0][lane]] = data[lane] & 255
        np.testing.assert_array_equal(after, memory, where)


@pytest.mark.parametrize("target", [Target("gfx900", "", 64, 9), *RDNA], ids=lambda t: t.processor)
def test_the_word_after_is_written_by_failures_only(target: Target) -> None:
    """TFE: where a load finds no memory behind an address, the register after its result says so. It finds it here."""
    resource = [
        f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]",
        "s_mov_b32 s54, 1024",
        f"s_mov_b32 s55, {0x27FAC if target.major == 9 else 0x31014FAC:#x}",
    ]
    name = "buffer_load_b64" if target.major >= 11 else "buffer_load_dwordx2"
    trial = Trial("tfe", [f"{name} v[8:10], v4, s[52:55], 0 offen tfe"], [4, 8, 9, 10], [8, 9, 10], before=resource)
    if target.major == 12:
        trial.lines = [f"{name} v[8:10], v4, s[52:55], null offen tfe"]
    batch = Batch(target, [trial])
    memory = RNG.integers(0, 1 << 32, 256, np.uint32)
    record = scalars(target)
    record[0, SCALARS["EXEC"] + 1] = 0xFFFFFFFF
    pointer(record, "S0", batch.buffer(memory))
    place = RNG.permutation(64)[: target.lanes] * 4
    rows = RNG.integers(0, 1 << 32, (1, 4, target.lanes), np.uint32)
    rows[0, 0] = place
    _, got = batch.run(trial, record, rows)
    np.testing.assert_array_equal(got[0], [memory[place // 4], memory[place // 4 + 1], rows[0, 3]])
