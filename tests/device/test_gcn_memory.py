"""Memory operations that only GCN5 and RDNA1 have, and that no table of pseudocode holds: atomics with both operands in
LDS, scalar scratch, stores from LDS, formatted loads into it. The formulas are those of AMD's manuals (Vega; CDNA4 for
scalar scratch) and of CLRX's reference, written down here."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.memory import WAIT
from conformance.targets import Target

import luthier

GFX906, GFX900 = Target("gfx906", "cdna", 64, 9), Target("gfx900", "cdna", 64, 9)
GFX1010 = Target("gfx1010", "rdna3", 32, 10)
RNG = np.random.default_rng(11)
LDS = 4096


def _scalars() -> np.ndarray:
    scalars = np.zeros((1, 16), np.uint32)
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    scalars[:, SCALARS["MODE"]] = 0x3F0
    return scalars


def _address(scalars: np.ndarray, name: str, address: int) -> None:
    scalars[0, SCALARS[name] : SCALARS[name] + 2] = np.array([address], np.uint64).view(np.uint32)


def _apply(name: str, old: np.ndarray, data: np.ndarray) -> np.ndarray:
    """What ``name`` (``add_u32``) makes of what is at A and at B, both of the type that the name says."""
    with np.errstate(all="ignore"):
        match name.split("_")[0]:
            case "add":
                return old + data
            case "sub":
                return old - data
            case "rsub":
                return data - old
            case "inc":
                return np.where(old >= data, 0, old + 1).astype(old.dtype)
            case "dec":
                return np.where((old == 0) | (old > data), data, old - 1).astype(old.dtype)
            case "min":
                return np.where(data < old, data, old)
            case "max":
                return np.where(data > old, data, old)
            case "and":
                return old & data
            case "or":
                return old | data
            case "xor":
                return old ^ data
            case "write":
                return data
    raise AssertionError(name)


INTEGERS = ("add_u", "sub_u", "rsub_u", "inc_u", "dec_u", "min_i", "max_i", "min_u", "max_u", "and_b", "or_b", "xor_b", "write_b")
SRC2 = [f"{name}{bits}" for bits in (32, 64) for name in INTEGERS]
SRC2 += ["min_f32", "max_f32", "add_f32", "min_f64", "max_f64"]
TYPES = {"u": "u", "i": "i", "b": "u", "f": "f"}


@pytest.mark.parametrize("target", (GFX906, GFX1010), ids=lambda t: t.processor)
def test_both_operands_in_lds(target: Target) -> None:
    """DS[A] = op(DS[A], DS[B]), B some words behind A or before it, both in lanes of their own."""
    fill = ["v_lshlrev_b32_e32 v3, 1, v1"]
    fill += [f"ds_write_b32 v3, v{8 + k} offset:{2048 * (k // 2) + 4 * (k % 2)}" for k in range(4)] + [WAIT[0]]
    get = ["v_lshlrev_b32_e32 v3, 1, v1"]
    get += [f"ds_read_b32 v{8 + k}, v3 offset:{2048 * (k // 2) + 4 * (k % 2)}" for k in range(4)] + [WAIT[0]]
    # The offset as the field has it: 512 words on or back, or in the address register.
    ways = {"on": 0x200, "back": 0x7E00, "by register": 0x8000}
    trials = {}
    for name in SRC2:
        stem, kind = name.split("_")
        for way, offset in ways.items():
            lines = [f"ds_{stem}_src2_{kind} v4 offset:{offset}", WAIT[0]]
            trials[name, way] = Trial(f"{name} {way}", lines, [4, 8, 9, 10, 11], [8, 9, 10, 11], LDS, before=fill, after=get)
    batch = Batch(target, list(trials.values()))
    lanes = np.arange(target.lanes)
    for (name, way), trial in trials.items():
        kind = np.dtype(f"{TYPES[name.split('_')[1][0]]}{int(name[-2:]) // 8}")
        # Eight bytes at 8 * lane, and as many 2048 bytes further on: half of the lanes see numbers that are close.
        low, high = RNG.integers(0, 1 << 32, (2, target.lanes, 2), np.uint32)
        if kind.kind == "f":
            low, high = (RNG.normal(size=(target.lanes, 8 // kind.itemsize)).astype(kind).view(np.uint32) for _ in "ab")
        high[::4] = low[::4]
        low[1::8] = 0
        a, b = (high, low) if way == "back" else (low, high)
        at = 8 * lanes + (2048 if way == "back" else 0)
        address = at | (512 << 17 if way == "by register" else 0)
        scalars = _scalars()
        scalars[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xF0F0FF35
        active = (0xF0F0FF35 >> (lanes % 32) & 1).astype(bool)
        rows = np.stack([address, low[:, 0], low[:, 1], high[:, 0], high[:, 1]]).astype(np.uint32)[None]
        _, got = batch.run(trial, scalars, rows)
        want = a.copy()
        made = _apply(name, np.ascontiguousarray(a).view(kind)[:, 0], np.ascontiguousarray(b).view(kind)[:, 0])
        made = np.ascontiguousarray(made).view(np.uint32).reshape(target.lanes, -1)
        want[active, : made.shape[1]] = made[active]
        want = (low, want) if way == "back" else (want, high)
        np.testing.assert_array_equal(got[0].T, np.concatenate(want, axis=1), f"{name} {way}")


def test_lanes_act_one_after_the_other() -> None:
    """Every lane adds what the lane before it has left: a running sum."""
    fill = ["v_mov_b32_e32 v3, v1", "v_add_u32_e32 v3, 4, v3", "ds_write_b32 v3, v5", "v_mov_b32_e32 v6, 0"]
    fill += ["v_mov_b32_e32 v7, 0", "ds_write_b32 v6, v7", WAIT[0]]
    trial = Trial("sums", ["ds_add_src2_u32 v4 offset:0x7fff", WAIT[0]], [4, 5], [8], LDS, before=fill, after=())
    trial.after = ["v_mov_b32_e32 v3, v1", "ds_read_b32 v8, v3 offset:4", WAIT[0]]
    numbers = RNG.integers(0, 1 << 32, 64, np.uint32)
    rows = np.stack([4 * np.arange(64) + 4, numbers]).astype(np.uint32)[None]
    _, got = Batch(GFX906, [trial]).run(trial, _scalars(), rows)
    np.testing.assert_array_equal(got[0, 0], np.cumsum(numbers, dtype=np.uint32))


def test_an_operand_that_is_not_aligned_is_refused() -> None:
    trial = Trial("outside", ["ds_add_src2_u32 v4", WAIT[0]], [4], [4], LDS)
    with pytest.raises(luthier.errors.LuthierError, match="not aligned"):
        Batch(GFX906, [trial]).run(trial, _scalars(), np.full((1, 1, 64), 6, np.uint32))


@pytest.mark.parametrize("offset,address,is_second", [(0x200, LDS - 4, True), (0x7FFF, 0, True), (0x7FFF, LDS, False)])
def test_an_operand_beyond_lds_is_zero(offset: int, address: int, is_second: bool) -> None:
    """The operation is a write: of the zero that the second operand is, or of the one in LDS to nowhere."""
    place = LDS - 4 if not is_second else address
    lines = [
        f"v_mov_b32_e32 v5, {place:#x}",
        "v_mov_b32_e32 v6, 7",
        "ds_write_b32 v5, v6",
        f"ds_write_src2_b32 v4 offset:{offset}",
    ]
    trial = Trial("outside", [*lines, "ds_read_b32 v4, v5", WAIT[0]], [4], [4], LDS)
    _, got = Batch(GFX906, [trial]).run(trial, _scalars(), np.full((1, 1, 64), address, np.uint32))
    assert set(got[0, 0].tolist()) == {0 if is_second else 7}


@pytest.mark.parametrize("target", (GFX900, GFX1010, Target("gfx942", "cdna", 64, 9)), ids=lambda t: t.processor)
def test_scalar_scratch(target: Target) -> None:
    """The base and the immediate count bytes, of which the lowest two bits are left out; the register blocks of 64 bytes."""
    base, register = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]", f"s{sgpr('S1')}"
    trials, words = [], (1, 2, 4)
    for count in words:
        size = "" if count == 1 else f"x{count}"
        to = f"s[64:{63 + count}]" if count > 1 else "s64"
        for where, at in (("0x16", 0x14), (register, 3 * 64), (f"{register} offset:0x16", 3 * 64 + 0x14)):
            lines = [f"s_scratch_load_dword{size} {to}, {base}, {where}", WAIT[0]]
            move = [f"v_mov_b32_e32 v{8 + k}, s{64 + k}" for k in range(4)]
            trials.append((at, count, True, Trial(f"load {size} {where}", lines, [8], range(8, 12), sgprs=96, after=move)))
            lines = [f"s_scratch_store_dword{size} {to}, {base}, {where}", "s_dcache_wb"]
            set_ = [f"v_readfirstlane_b32 s{64 + k}, v{8 + k}" for k in range(4)]
            trials.append((at, count, False, Trial(f"store {size} {where}", lines, range(8, 12), [8], sgprs=96, before=set_)))
    batch = Batch(target, [trial for *_, trial in trials])
    memory = RNG.integers(0, 1 << 32, 128, np.uint32)
    for at, count, loads, trial in trials:
        address = batch.buffer(memory)
        scalars = _scalars()
        _address(scalars, "S0", address | 3)
        scalars[0, SCALARS["S1"]] = 3
        data = RNG.integers(0, 1 << 32, 4, np.uint32)
        rows = np.repeat(data[: len(trial.loads), None], target.lanes, axis=1)[None]
        _, got = batch.run(trial, scalars, rows)
        after = np.frombuffer(batch.device.core.read(address, memory.nbytes), np.uint32)
        want = memory.copy()
        if loads:
            np.testing.assert_array_equal(got[0, :count, 0], memory[at // 4 : at // 4 + count], trial.name)
        else:
            want[at // 4 : at // 4 + count] = data[:count]
        np.testing.assert_array_equal(after, want, trial.name)


BASE = f"s_mov_b64 s[52:53], s[{sgpr('S0')}:{sgpr('S0') + 1}]"


@pytest.mark.parametrize("processor", ("gfx900", "gfx90a"))
def test_stores_from_lds(processor: str) -> None:
    """LDS address: M0[15:0] + the instruction's offset + 4 * lane; in memory the buffer's, with the lane's number where the
    resource adds it. What is outside of the buffer is not stored."""
    # Records of 16 bytes, 60 of them, by the lane's number (ADD_TID).
    resource = [BASE, "s_or_b32 s53, s53, 0x100000", "s_mov_b32 s54, 60", "s_mov_b32 s55, 0x00800000"]
    fill = ["ds_write_b32 v1, v5 offset:136", WAIT[0], *resource]
    line = f"buffer_store_lds_dword s[52:55], s{sgpr('S1')} offset:8 lds"
    trial = Trial("store", [line, WAIT[0]], [5], [5], LDS, before=fill)
    batch = Batch(Target(processor, "cdna", 64, 9), [trial])
    memory = RNG.integers(0, 1 << 32, 512, np.uint32)
    address = batch.buffer(memory)
    data = RNG.integers(0, 1 << 32, 64, np.uint32)
    scalars = _scalars()
    scalars[0, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFF0F
    scalars[0, SCALARS["M0"]] = 0xABCD0080
    scalars[0, SCALARS["S1"]] = 64
    _address(scalars, "S0", address)
    batch.run(trial, scalars, data[None, None])
    lanes = np.arange(64)
    stored = (0xFFFFFF0F >> (lanes % 32) & 1).astype(bool) & (lanes < 60)
    want = memory.copy()
    want[(64 + 8 + 16 * lanes[stored]) // 4] = data[stored]
    np.testing.assert_array_equal(np.frombuffer(batch.device.core.read(address, memory.nbytes), np.uint32), want)


@pytest.mark.parametrize("processor", ("gfx900", "gfx90a", "gfx950"))
def test_formatted_loads_into_lds(processor: str) -> None:
    """The first component of the resource's format, as a register would get it, at M0 + offset + 4 * lane; what is outside
    of the buffer is zero there."""
    sint, unorm = 5 << 15 | 5 << 12, 10 << 15 | 0 << 12  # 16_16 SINT, 8_8_8_8 UNORM
    trials = []
    for name, code in (("16_16", sint), ("8_8_8_8", unorm)):
        resource = [BASE, "s_mov_b32 s54, 248", f"s_mov_b32 s55, {0xFAC | code:#x}"]
        line = "buffer_load_format_x v4, s[52:55], 0 offen offset:8 lds"
        get = ["ds_read_b32 v8, v1 offset:136", WAIT[0]]
        trials.append(Trial(name, [line, WAIT[0]], [4], [8], LDS, before=resource, after=get))
    batch = Batch(Target(processor, "cdna", 64, 9), trials)
    memory = RNG.integers(0, 256, 512, np.uint8)
    address = batch.buffer(memory)
    offset = RNG.permutation(64) * 4
    scalars = _scalars()
    scalars[0, SCALARS["M0"]] = 0x80
    _address(scalars, "S0", address)
    for trial in trials:
        _, got = batch.run(trial, scalars, offset.astype(np.uint32)[None, None])
        at = offset + 8
        if trial.name == "16_16":
            want = memory.view(np.int16)[at // 2].astype(np.int32).view(np.uint32)
        else:
            want = (memory[at].astype(np.float64) / 255).astype(np.float32).view(np.uint32)
        np.testing.assert_array_equal(got[0, 0], np.where(at + 4 <= 248, want, 0), trial.name)


def test_a_waves_number_in_its_workgroup() -> None:
    trial = Trial("number", ["s_get_waveid_in_workgroup s40", WAIT[0]], [4], [4], after=["v_mov_b32_e32 v4, s40"])
    _, got = Batch(GFX1010, [trial]).run(trial, _scalars(), np.full((1, 1, 32), 7, np.uint32))
    assert (got == 0).all()


def test_shader_engines_of_a_rectangle() -> None:
    """v_screen_partition_4se_b32: the Vega manual's table, a row of sixteen for each upper-left corner."""
    table = (
        "137f5fff7fffffff f26efafffbffffff df4cff5fffdfffff 9bf8fffafffeffff"
        "ffff4cdf6fffefff fffff89bf99ffdff ffff7f13ff9fffbf ffff6ef26ff6fff7"
        "bfffffff23bfafff f7fffffff19df5ff ffefffffef8cffaf fffdffff67f4fff5"
        "9fffdfffffff8cef f66ffefffffff467 ff6fff7fffffbf23 9ff9fffbffff9df1"
    ).replace(" ", "")
    trial = Trial("partition", ["v_screen_partition_4se_b32 v5, v4"], [4, 5], [5])
    batch = Batch(GFX900, [trial])
    for first in range(0, 256, 64):
        rows = np.stack([np.arange(first, first + 64) | 0xABCD00, np.zeros(64)]).astype(np.uint32)[None]
        _, got = batch.run(trial, _scalars(), rows)
        assert "".join(f"{mask:x}" for mask in got[0, 0]) == table[first : first + 64]
