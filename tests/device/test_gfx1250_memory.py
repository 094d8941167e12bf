"""gfx1250's transposing loads of four bits, which must give what a matrix operation reads, and its minimum and maximum of
f64 in memory."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, sgpr
from conformance.device import Batch, Refused
from conformance.memory import resource
from conformance.targets import TARGETS
from formats import FP4

TARGET = TARGETS["gfx1250"]
LANES = np.arange(32)
ROWS, COLUMNS = 128, 16


def _record(base: int = 0) -> np.ndarray:
    record = np.zeros((1, 16), np.uint32)
    record[0, SCALARS["EXEC"]] = 0xFFFFFFFF
    record[0, SCALARS["MODE"]] = 0xF0
    record[0, SCALARS["S0"] : SCALARS["S0"] + 2] = np.array([base], np.uint64).view(np.uint32)
    return record


def _row(lane: np.ndarray) -> np.ndarray:
    """Which row along K a lane has the address of: as hipBLASLt's kernels have it (tensilelite, `_b64_base_addrs_fp4`)."""
    return lane // 16 * 8 + lane % 16 // 8 * 32 + lane % 8


def _operand(matrix: np.ndarray) -> np.ndarray:
    """The registers (8, lanes) of a factor with 128 elements of four bits: halves of the wave in turns of 32."""
    out = np.zeros((8, 32), np.uint64)
    for lane in LANES:
        for k in range(64):
            element = matrix[k // 32 * 64 + lane // 16 * 32 + k % 32, lane % 16]
            out[k // 8, lane] |= np.uint64(element) << np.uint64(4 * (k % 8))
    return out.astype(np.uint32)


@pytest.mark.parametrize("exec_mask", [0xFFFFFFFF, 0x00010000])
@pytest.mark.parametrize("space", ["global", "ds"])
def test_loads_of_four_bits(space: str, exec_mask: int) -> None:
    """A matrix with K running slowest becomes a factor; all lanes take part as soon as one is active."""
    rng = np.random.default_rng(4)
    matrix = rng.integers(0, 16, (ROWS, COLUMNS))
    memory = (matrix.reshape(ROWS, 2, 8).astype(np.uint64) << (4 * np.arange(8, dtype=np.uint64))).sum(axis=2).astype(np.uint32)
    at = (_row(LANES) * 8).astype(np.uint32)
    loads = [(2 * k + 4 * outer, 16 * k + 64 * outer) for outer in range(2) for k in range(2)]
    if space == "global":
        lines = [f"global_load_tr4_b64 v[{8 + r}:{9 + r}], v4, s[{sgpr('S0')}:{sgpr('S0') + 1}] offset:{8 * k}" for r, k in loads]
        before, inputs = [], []
    else:
        lines = [f"ds_load_tr4_b64 v[{8 + r}:{9 + r}], v4 offset:{8 * k}" for r, k in loads]
        inputs = list(range(20, 28))
        before = [f"ds_store_b32 v5, v{r} offset:{128 * n}" for n, r in enumerate(inputs)] + ["s_wait_dscnt 0x0"]
    trial = Trial(
        "load", [*lines, "s_wait_loadcnt 0x0", "s_wait_dscnt 0x0"], [4, 5, *inputs], list(range(8, 16)), lds=1024, before=before
    )
    batch = Batch(TARGET, [trial])
    record = _record(batch.buffer(memory) if space == "global" else 0)
    record[0, SCALARS["EXEC"]] = exec_mask
    rows = [at, (4 * LANES).astype(np.uint32), *(memory.reshape(8, 32) if inputs else [])]
    _, got = batch.run(trial, record, np.stack(rows)[None])
    np.testing.assert_array_equal(got[0], _operand(matrix))


def test_a_factor_of_a_product() -> None:
    """One factor comes by transposing loads, the other lies in registers as a matrix operation wants it."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 16, (2, ROWS, COLUMNS))
    memory = (a.reshape(ROWS, 2, 8).astype(np.uint64) << (4 * np.arange(8, dtype=np.uint64))).sum(axis=2).astype(np.uint32)
    base = f"s[{sgpr('S0')}:{sgpr('S0') + 1}]"
    lines = [
        *(f"global_load_tr4_b64 v[{8 + 2 * n}:{9 + 2 * n}], v4, {base} offset:{8 * k}" for n, k in enumerate((0, 16, 64, 80))),
        "s_wait_loadcnt 0x0",
        "v_wmma_f32_16x16x128_f8f6f4 v[24:31], v[8:15], v[16:23], 0 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
    ]
    trial = Trial("product", lines, [4, *range(16, 24)], list(range(24, 32)))
    batch = Batch(TARGET, [trial])
    rows = np.concatenate([(_row(LANES) * 8).astype(np.uint32)[None], _operand(b)])
    _, got = batch.run(trial, _record(batch.buffer(memory)), rows[None])
    product = got[0].view(np.float32).reshape(8, 2, 16).transpose(1, 0, 2).reshape(16, 16)
    np.testing.assert_array_equal(product, FP4[a].T @ FP4[b])


@pytest.mark.parametrize("line", ["global_load_tr6_b96 v[8:10], v4, s[16:17]", "ds_load_tr6_b96 v[8:10], v4"])
def test_loads_of_six_bits_are_refused(line: str) -> None:
    trial = Trial("six", [line], [4], [8])
    with pytest.raises(Refused, match="six-bit"):
        Batch(TARGET, [trial]).run(trial, _record(), np.zeros((1, 1, 32), np.uint32))


SPECIAL = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e308, -1e-300])


def _extreme(old: np.ndarray, data: np.ndarray, sign: float) -> np.ndarray:
    """A NaN loses against a number; -0 is less than 0."""
    larger = (sign * data > sign * old) | ((data == old) & (np.signbit(old) if sign > 0 else np.signbit(data)))
    return np.where(np.isnan(data), old, np.where(np.isnan(old) | larger, data, old))


def _doubles(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.T).view(np.float64)[:, 0]


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("space", ["global", "flat", "flat in LDS", "buffer", "ds"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_f64(name: str, space: str, returns: bool) -> None:
    rng = np.random.default_rng(6)
    tail = " th:TH_ATOMIC_RETURN" if returns else ""
    result = "v[8:9], " if returns else ""
    operation = f"{space.split()[0]}_atomic_{name}_num_f64"
    before = resource(TARGET, 256)
    in_lds = space in ("ds", "flat in LDS")
    put = ["ds_store_b64 v14, v[12:13]", "s_wait_dscnt 0x0"] if in_lds else []
    get = ["ds_load_b64 v[12:13], v14", "s_wait_dscnt 0x0"] if in_lds else []
    line = {
        "global": f"{operation} {result}v4, v[10:11], s[{sgpr('S0')}:{sgpr('S0') + 1}]{tail}",
        "flat": f"{operation} {result}v[4:5], v[10:11]{tail}",
        "flat in LDS": f"{operation} {result}v[4:5], v[10:11]{tail}",
        "buffer": f"{operation} v[10:11], v4, s[52:55], null offen{tail}",
        "ds": f"ds_{name}_num_{'rtn_' if returns else ''}f64 {result}v14, v[10:11]",
    }[space]
    lines = ["s_mov_b64 s[56:57], src_shared_base", "v_mov_b32 v5, s57"] if space == "flat in LDS" else []
    after = [line, "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0"]
    trial = Trial(
        "extreme",
        [*lines, *after],
        [4, 5, 8, 9, 10, 11, 12, 13, 14],
        [8, 9, 10, 11, 12, 13],
        lds=256,
        before=before + put,
        after=get,
    )
    batch = Batch(TARGET, [trial])
    for pair in range(4):
        old, data = (rng.choice(SPECIAL, 32) if pair else rng.standard_normal(32) for _ in range(2))
        base = batch.buffer(old)
        place = 8 * LANES.astype(np.uint64)
        address = place + np.uint64(base) if space == "flat" else place
        words = [a.view(np.uint32).reshape(32, 2).T for a in (address, np.full(32, 7, np.uint64), data, old)]
        rows = np.concatenate([*words, place.astype(np.uint32)[None]])
        _, got = batch.run(trial, _record(base), rows[None])
        after_ = _doubles(got[0, 4:6]) if in_lds else np.frombuffer(batch.device.core.read(base, 256), np.float64)
        want = _extreme(old, data, 1.0 if name == "max" else -1.0)
        np.testing.assert_array_equal(after_, want)
        np.testing.assert_array_equal(np.signbit(after_[want == 0]), np.signbit(want[want == 0]))
        if returns:
            np.testing.assert_array_equal(
                _doubles(got[0, 2:4] if space == "buffer" else got[0, :2]).view(np.uint64), old.view(np.uint64)
            )
