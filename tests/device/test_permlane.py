"""Lanes that read other lanes: gfx1250's groups, against what HIP's headers compute for other processors; and moves between
registers that M0 chooses, with DPP and SDWA."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch
from conformance.targets import TARGETS, Target

from luthier.device.launching import Launch

GFX1250 = TARGETS["gfx1250"]
LANES = np.arange(32)


def _record(exec_mask: int = 0xFFFFFFFF, m0: int = 0, s0: int = 0, s1: int = 0) -> np.ndarray:
    record = np.zeros((1, 16), np.uint32)
    for name, value in {"EXEC": exec_mask, "M0": m0, "S0": s0, "S1": s1, "MODE": 0xF0}.items():
        record[0, SCALARS[name]] = value
    return record


def _broadcast(by: int, width: int) -> np.ndarray:
    return (by & 63 & (width - 1)) + (LANES & ~(width - 1))


def _up(by: int, width: int) -> np.ndarray:
    index = LANES - min(by, 1 << 20)
    return np.where(index < (LANES & ~(width - 1)), LANES, index)


def _down(by: int, width: int) -> np.ndarray:
    return np.where((LANES & (width - 1)) + by >= width, LANES, (LANES + by) & 31)


def _xor(by: int, width: int) -> np.ndarray:
    index = LANES ^ min(by, 1 << 20)
    return np.where(index >= ((LANES + width) & ~(width - 1)), LANES, index)


GROUPS: dict[str, Callable[[int, int], np.ndarray]] = {"bcast": _broadcast, "up": _up, "down": _down, "xor": _xor}


@pytest.mark.parametrize("exec_mask", [0xFFFFFFFF, 0x5A0FF3C1])
@pytest.mark.parametrize("name", GROUPS)
def test_groups(name: str, exec_mask: int) -> None:
    """Whatever EXEC says of the lane that is read; beyond the group the lane's own value. (Counts from 32 on lead out of
    every group: of a broadcast only the bits within the group count.)"""
    trial = Trial(name, [f"v_permlane_{name}_b32 v8, v4, s{sgpr('S0')}, s{sgpr('S1')}"], [4, 8], [8])
    batch = Batch(GFX1250, [trial])
    rng = np.random.default_rng(5)
    for width in (1, 2, 4, 8, 16, 32):
        for by in (0, 1, 2, 3, 7, 8, 15, 16, 21, 31, 32, 40, 63, 0xFFFFFFFF):
            rows = rng.integers(0, 1 << 32, (1, 2, 32), np.uint32)
            _, got = batch.run(trial, _record(exec_mask, s0=by, s1=width), rows)
            source = GROUPS[name](by, width)
            want = np.where(exec_mask >> LANES & 1, rows[0, 0][source], rows[0, 1])
            np.testing.assert_array_equal(got[0, 0], want, f"{name} by {by} in groups of {width}")


def test_constants_and_widths() -> None:
    trial = Trial("constants", ["v_permlane_up_b32 v8, v4, 3, 8"], [4, 8], [8])
    rows = np.arange(64, dtype=np.uint32).reshape(1, 2, 32)
    _, got = Batch(GFX1250, [trial]).run(trial, _record(), rows)
    np.testing.assert_array_equal(got[0, 0], _up(3, 8))
    for width in (0, 3, 24, 64):
        odd = Trial("odd", [f"v_permlane_down_b32 v8, v4, 1, s{sgpr('S1')}"], [4, 8], [8])
        with pytest.raises(Exception, match="not documented"):
            Batch(GFX1250, [odd]).run(odd, _record(s1=width), rows)


@pytest.mark.parametrize("width", [1, 2, 8, 32])
def test_addresses_of_lanes(width: int) -> None:
    """For ds_bpermute, which then brings the lane of the group."""
    lines = [f"v_permlane_idx_gen_b32 v8, v4, {width}", "ds_bpermute_b32 v9, v8, v5", "s_wait_dscnt 0x0"]
    trial = Trial("addresses", lines, [4, 5, 8, 9], [8, 9])
    rows = np.random.default_rng(width).integers(0, 1 << 32, (1, 4, 32), np.uint32)
    _, got = Batch(GFX1250, [trial]).run(trial, _record(), rows)
    lane = (rows[0, 0] & np.uint32(width - 1)) | (LANES & ~(width - 1)).astype(np.uint32)
    np.testing.assert_array_equal(got[0, 0], 4 * lane)
    np.testing.assert_array_equal(got[0, 1], rows[0, 1][lane])


RELATIVE = [Target("gfx1030", "", 32, 10), TARGETS["gfx1100"], TARGETS["gfx1201"], GFX1250]
#: Which bits of M0 lead to the source, and which to the destination.
INDICES = {
    "v_movrels_b32": (lambda m0: m0, lambda m0: 0),
    "v_movreld_b32": (lambda m0: 0, lambda m0: m0),
    "v_movrelsd_b32": (lambda m0: m0, lambda m0: m0),
    "v_movrelsd_2_b32": (lambda m0: m0 & 0x3FF, lambda m0: m0 >> 16 & 0x3FF),
}
#: What a lane reads, if there is such a lane.
DPP = {
    "quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf": lambda i: i & ~3 | [3, 1, 0, 2][i & 3],
    "row_shr:3 row_mask:0xf bank_mask:0xf": lambda i: i - 3 if i & 15 >= 3 else None,
    "row_share:5 row_mask:0xf bank_mask:0xf": lambda i: i & ~15 | 5,
    "dpp8:[7,6,0,1,2,2,4,3]": lambda i: i & ~7 | [7, 6, 0, 1, 2, 2, 4, 3][i & 7],
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("target", RELATIVE, ids=lambda t: t.processor)
def test_relative_moves_with_dpp(target: Target, name: str) -> None:
    registers = list(range(4, 16))
    trials = [Trial(f"dpp{n}", [f"{name}_dpp v10, v5 {text}"], registers, registers) for n, text in enumerate(DPP)]
    batch = Batch(target, trials)
    rng = np.random.default_rng(len(name))
    for m0 in (0, 1, 3 | (2 << 16 if "_2_" in name else 0)):
        source, destination = (lead(m0) for lead in INDICES[name])
        for trial, moved in zip(trials, DPP.values()):
            for exec_mask in (0xFFFFFFFF, 0xFFFF0FF7):
                rows = rng.integers(0, 1 << 32, (1, 12, 32), np.uint32)
                _, got = batch.run(trial, _record(exec_mask, m0), rows)
                want = rows[0].copy()
                for lane in range(32):
                    from_lane = moved(lane)
                    active = from_lane is not None and exec_mask >> from_lane & 1
                    if exec_mask >> lane & 1 and (active or "dpp8" in trial.lines[0]):
                        want[6 + destination, lane] = rows[0, 1 + source, from_lane] if active else 0
                np.testing.assert_array_equal(got[0], want, f"{trial.lines[0]} with {m0:#x}")


@pytest.mark.parametrize("name", INDICES)
def test_relative_moves_with_sdwa(name: str) -> None:
    registers = list(range(4, 16))
    line = f"{name}_sdwa v10, sext(v5) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2"
    part = f"{name}_sdwa v10, v5 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_2"
    trials = [Trial("whole", [line], registers, registers), Trial("part", [part], registers, registers)]
    batch = Batch(RELATIVE[0], trials)
    rows = np.random.default_rng(3).integers(0, 1 << 32, (1, 12, 32), np.uint32)
    m0 = 3 | (2 << 16 if "_2_" in name else 0)
    _, got = batch.run(trials[0], _record(0xFFF0FFFF, m0), rows)
    source, destination = (lead(m0) for lead in INDICES[name])
    want = rows[0].copy()
    byte = (rows[0, 1 + source] >> np.uint32(16)).astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
    want[6 + destination] = np.where(0xFFF0FFFF >> LANES & 1, byte, want[6 + destination])
    np.testing.assert_array_equal(got[0], want)
    with pytest.raises(Exception, match="does not implement these modifiers"):
        batch.run(trials[1], _record(m0=m0), rows)


@pytest.mark.parametrize("target", RELATIVE, ids=lambda t: t.processor)
def test_scalars_into_a_register_that_m0_chooses(target: Target) -> None:
    trial = Trial("scalar", [f"v_movreld_b32 v4, s{sgpr('S0')}"], [4, 5, 6], [4, 5, 6])
    rows = np.zeros((1, 3, 32), np.uint32)
    _, got = Batch(target, [trial]).run(trial, _record(m0=2, s0=77), rows)
    np.testing.assert_array_equal(got[0, :, 0], [0, 0, 77])


#: The lower half of the wave has v30, the upper one has nothing.
HALF = ["s_mov_b32 exec_lo, 0xffff", "v_mov_b32 v30, 1.0", "s_mov_b32 exec_lo, -1", "v_mov_b32 v31, 0"]


@pytest.mark.parametrize(
    ("line", "stores", "found"),
    [
        ("v_permlane_bcast_b32 v8, v30, 3, 32", 1, False),
        ("v_permlane_bcast_b32 v8, v30, 20, 32", 1, True),
        ("v_permlane_up_b32 v8, v30, 16, 32", 1, False),
        ("v_permlane_up_b32 v8, v30, 1, 32", 1, True),
        ("v_permlane_down_b32 v8, v30, 1, 16", 1, True),
        ("v_permlane_xor_b32 v8, v31, 16, 32", 1, False),
        ("v_cvt_scale_pk8_f16_fp4 v[8:11], v31, v30", 4, False),
        ("v_cvt_scale_pk8_f16_fp4 v[8:11], v31, v30 scale_sel:1", 4, True),
        ("v_cvt_scale_pk8_f16_fp4 v[8:11], v30, v30", 4, True),
    ],
)
def test_strict_mode_knows_the_lanes(line: str, stores: int, found: bool) -> None:
    trial = Trial("strict", [line], [], list(range(8, 8 + stores)), before=HALF)
    batch = Batch(GFX1250, [trial])
    buffers = [batch.buffer(a) for a in (_record(), np.zeros(32, np.uint32), np.zeros(16, np.uint32), np.zeros(128, np.uint32))]
    result = batch.device.core.launch(
        batch.module,
        Launch(trial.symbol, (32, 1, 1), (32, 1, 1), strict=["undefined-register"]),
        np.array(buffers, np.uint64).tobytes(),
    )
    # (Of the scalars that are stored besides, some have nothing.)
    texts = [finding["text"] for finding in result["findings"] if "global_store_b64" not in finding["text"]]
    assert bool(texts) == found, texts
