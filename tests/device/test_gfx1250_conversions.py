"""gfx1250's conversions from and to formats of 4, 6 and 8 bits, alone and in blocks that share a scale, against NumPy.

Every code is unpacked; edges and random numbers are packed, to nearest and stochastically, with and without FP16_OVFL.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial, tuple_of
from conformance.device import Batch, Refused
from conformance.targets import TARGETS
from formats import SMALL, meant, narrowed, widened

TARGET = TARGETS["gfx1250"]
LANES = 32
WAVES = 24
FRACTION = {"f32": 23, "f16": 10, "bf16": 7}
BITS = {"fp8": 8, "bf8": 8, "e5m3": 8, "fp6": 6, "bf6": 6, "fp4": 4}
OVFL = ["s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"]
DESTINATION = 40


def _record(exec_mask: int = 0xFFFFFFFF) -> np.ndarray:
    record = np.zeros((WAVES, 16), np.uint32)
    record[:, SCALARS["EXEC"]] = exec_mask
    record[:, SCALARS["MODE"]] = 0xF0
    return record


def _run_all(
    lines: list[str], rows: np.ndarray, first: list[int], stores: int, saturates: bool, exec_mask: int = 0xFFFFFFFF
) -> tuple[list[np.ndarray], np.ndarray]:
    """What each instruction leaves in the destination, and what was there. ``rows`` are (waves, registers, lanes), for the
    registers of ``first``."""
    registers = list(range(DESTINATION, DESTINATION + stores))
    old = np.random.default_rng(1).integers(0, 1 << 32, (len(rows), stores, LANES), np.uint32)
    loads = [*first, *registers]
    trials = [Trial(f"line{n}", [x], loads, registers, before=OVFL if saturates else []) for n, x in enumerate(lines)]
    batch = Batch(TARGET, trials)
    inputs = np.concatenate([rows, old], axis=1)
    return [batch.run(trial, _record(exec_mask)[: len(rows)], inputs)[1] for trial in trials], old


def _run(line: str, rows: np.ndarray, first: list[int], stores: int, saturates: bool, exec_mask: int = 0xFFFFFFFF):
    (got,), old = _run_all([line], rows, first, stores, saturates, exec_mask)
    return got, old


def _same(got: np.ndarray, want: np.ndarray, kind: str) -> None:
    """Codes; -1 and NaNs stand for any NaN."""
    with np.errstate(invalid="ignore"):
        both = np.isnan(meant(got, kind)) & ((want < 0) | np.isnan(meant(np.maximum(want, 0), kind)))
    wrong = ~(both | (got == want))
    assert not wrong.any(), [(int(k), hex(got.flat[k]), hex(want.flat[k])) for k in np.flatnonzero(wrong)[:6]]


def _edges(small: str, wide: str) -> np.ndarray:
    """Bits of numbers at which codes change, beside them, and special values."""
    values = SMALL[small][0]
    finite = np.unique(values[np.isfinite(values)])
    halves = [(a + b) / 2 for a, b in pairwise(finite)]
    top = finite[-1]
    numbers = np.array([*finite, *halves, top * 1.03, top * 1.1, -top * 1.2, top * 8, 2.0**-30, -(2.0**-40), 0.0, -0.0])
    bits = widened(numbers, wide, False).astype(np.int64)
    around = np.concatenate([bits, bits + 1, np.maximum(bits - 1, 0)])
    special = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 1, 0x80000001, 0x7FFFFF], np.int64)
    return np.concatenate([around, special if wide == "f32" else special >> 16 if wide == "bf16" else special >> 13 & 0xFFFF])


def _sources(rng: np.random.Generator, small: str, wide: str, shape: tuple[int, ...], positive: bool = False) -> np.ndarray:
    """Bits of sources: edges first, then numbers in and around the range, and any bits."""
    width = 32 if wide == "f32" else 16
    count = int(np.prod(shape))
    finite = SMALL[small][0][np.isfinite(SMALL[small][0])]
    span = np.log2(np.abs(finite[finite != 0]))
    with np.errstate(over="ignore"):
        numbers = rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(span.min() - 3, span.max() + 2, count)
    bits = widened(numbers, wide, False).astype(np.int64)
    anything = rng.random(count) < 0.1
    bits[anything] = rng.integers(0, 1 << width, anything.sum())
    edges = _edges(small, wide)
    bits[: min(len(edges), count)] = edges[:count]
    if positive:
        bits &= (1 << (width - 1)) - 1
    return rng.permutation(bits).astype(np.uint32).reshape(shape)


@pytest.mark.parametrize("small", ["fp8", "bf8", "e5m3"])
def test_one_byte_and_two(small: str) -> None:
    """All bytes, from each place, into whole registers and both halves."""
    name = "fp8" if small == "e5m3" else small
    clamp = " clamp" if small == "e5m3" else ""
    data = (np.arange(256)[:, None] * 0x01010101 ^ np.array([0x00FF3355])).astype(np.uint32).reshape(8, 1, LANES)
    for byte in range(4):
        codes = data[:, 0] >> np.uint32(8 * byte) & 255
        got, _ = _run(f"v_cvt_f32_{name}_e64 v40, v4 byte_sel:{byte}{clamp}", data, [4], 1, False)
        _same(got[:, 0], widened(meant(codes, small), "f32", False).astype(np.int64), "f32")
        if clamp:
            continue
        for high in (0, 1):
            got, old = _run(f"v_cvt_f16_{name}_e64 v40, v4 op_sel:[0,{high}] byte_sel:{byte}", data, [4], 1, False)
            _same(got[:, 0] >> np.uint32(16 * high) & 0xFFFF, widened(meant(codes, small), "f16", False).astype(np.int64), "f16")
            np.testing.assert_array_equal(
                got[:, 0] >> np.uint32(16 - 16 * high) & 0xFFFF, old[:, 0] >> np.uint32(16 - 16 * high) & 0xFFFF
            )
    if clamp:
        return
    for half in (0, 1):
        got, _ = _run(f"v_cvt_pk_f16_{name} v40, v4 op_sel:[{half},0]", data, [4], 1, False)
        for k in range(2):
            codes = data[:, 0] >> np.uint32(16 * half + 8 * k) & 255
            _same(got[:, 0] >> np.uint32(16 * k) & 0xFFFF, widened(meant(codes, small), "f16", False).astype(np.int64), "f16")


@pytest.mark.parametrize("saturates", [False, True], ids=["", "ovfl"])
@pytest.mark.parametrize("small", ["fp8", "bf8", "e5m3"])
def test_two_numbers_into_a_half(small: str, saturates: bool) -> None:
    rng = np.random.default_rng(len(small))
    name, clamp = ("fp8", " clamp") if small == "e5m3" else (small, "")
    for wide, text in (("f32", "v4, v5 op_sel:[0,0,{}]"), ("f16", "v4 op_sel:[0,{}]")):
        a, b = (_sources(rng, small, wide, (WAVES, LANES), bool(clamp)) for _ in range(2))
        rows = np.stack([a, b], axis=1) if wide == "f32" else (a | b << 16)[:, None]
        for high in (0, 1):
            line = f"v_cvt_pk_{name}_{wide} v40, {text.format(high)}{clamp}"
            got, old = _run(line, rows, [4, 5][: rows.shape[1]], 1, saturates, 0xF7FFFF0F)
            for k, source in enumerate((a, b)):
                want = narrowed(meant(source, wide), small, saturates, FRACTION[wide])
                at = np.uint32(16 * high + 8 * k)
                inactive = 0xF7FFFF0F >> np.arange(LANES) & 1 == 0
                want = np.where(inactive, old[:, 0] >> at & 255, want)
                _same(got[:, 0] >> at & 255, want, small)
            keep = np.uint32(16 - 16 * high)
            np.testing.assert_array_equal(got[:, 0] >> keep & 0xFFFF, old[:, 0] >> keep & 0xFFFF)


@pytest.mark.parametrize("saturates", [False, True], ids=["", "ovfl"])
@pytest.mark.parametrize("small", ["fp8", "bf8", "e5m3"])
def test_one_number_at_random(small: str, saturates: bool) -> None:
    rng = np.random.default_rng(len(small) + 9)
    name, clamp = ("fp8", " clamp") if small == "e5m3" else (small, "")
    for wide in ("f32",) if clamp else ("f32", "f16"):
        x, random = _sources(rng, small, wide, (WAVES, LANES), bool(clamp)), rng.integers(0, 1 << 32, (WAVES, LANES), np.uint32)
        random[0] = 0, *[0xFFFFFFFF] * 31
        for byte in range(4):
            sign, flip = ("-|v4|", True) if byte == 3 and not clamp else ("v4", False)
            line = f"v_cvt_sr_{name}_{wide} v40, {sign}, v5 byte_sel:{byte}{clamp}"
            got, old = _run(line, np.stack([x, random], axis=1), [4, 5], 1, saturates)
            number = meant(x, wide)
            number = np.copysign(number, -1.0) if flip else number
            at = np.uint32(8 * byte)
            _same(got[:, 0] >> at & 255, narrowed(number, small, saturates, FRACTION[wide], random), small)
            rest = np.uint32(~(255 << 8 * byte) & 0xFFFFFFFF)
            np.testing.assert_array_equal(got[:, 0] & rest, old[:, 0] & rest)


def _next(random: np.ndarray) -> np.ndarray:
    """The generator: v_prng_b32 of CDNA4's manual."""
    return random << np.uint32(1) ^ np.where(random >> 31, 197, 0).astype(np.uint32)


def _halves_at_random(x: np.ndarray, wide: str, random: np.ndarray, saturates: bool) -> np.ndarray:
    """f16 and bf16 from f32 with random bits: in units of what the f32 has more."""
    fraction, least, largest = {"f16": (10, -14, 65504.0), "bf16": (7, -126, 2.0**127 * (2 - 2.0**-7))}[wide]
    size = np.abs(np.where(np.isfinite(x), x, 0))
    exponent = np.maximum(np.frexp(size)[1] - 1, least)
    cut = 23 - fraction
    whole = np.floor(np.ldexp(size, 23 - exponent))
    near = np.ldexp(np.floor((whole + (random >> np.uint32(32 - cut)).astype(float)) / 2.0**cut), exponent - fraction)
    near = np.where(near > largest, largest if saturates else np.inf, near)
    return widened(np.where(np.isfinite(x), np.copysign(near, x), x), wide, False)


@pytest.mark.parametrize("saturates", [False, True], ids=["", "ovfl"])
@pytest.mark.parametrize("wide", ["f16", "bf16"])
def test_two_halves_at_random(wide: str, saturates: bool) -> None:
    rng = np.random.default_rng(len(wide))
    x = rng.integers(0, 1 << 32, (2, WAVES, LANES), np.uint32)
    near = (rng.standard_normal(x.shape) * 2.0 ** rng.integers(-26, 18, x.shape)).astype(np.float32).view(np.uint32)
    x = np.where(rng.random(x.shape) < 0.7, near, x)
    x[:, 0, :4] = 0x7F800000, 0xFF800000, 0x477FFFFF, 0x7F7FFFFF
    random = rng.integers(0, 1 << 32, (WAVES, LANES), np.uint32)
    random[0, :8] = 0xFFFFFFFF
    rows = np.concatenate([x, random[None]]).transpose(1, 0, 2)
    got, _ = _run(f"v_cvt_sr_pk_{wide}_f32 v40, -v4, |v5|, v6", rows, [4, 5, 6], 1, saturates)
    first, second = -meant(x[0], "f32"), np.abs(meant(x[1], "f32"))
    _same(got[:, 0] & 0xFFFF, _halves_at_random(first, wide, random, saturates).astype(np.int64), wide)
    _same(got[:, 0] >> 16, _halves_at_random(second, wide, _next(random), saturates).astype(np.int64), wide)


def test_clamped_halves() -> None:
    """Of f16 the output modifiers are served, of bf16 refused."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 2, LANES)).astype(np.float32).view(np.uint32)
    rows = np.concatenate([x, np.zeros((1, 1, LANES), np.uint32)], axis=1)
    got, _ = _run("v_cvt_sr_pk_f16_f32 v40, v4, v5, v6 clamp", rows, [4, 5, 6], 1, False)
    for k in range(2):
        whole = _halves_at_random(meant(x[0, k], "f32"), "f16", np.zeros(LANES, np.uint32), False)
        np.testing.assert_array_equal(meant(got[0, 0] >> np.uint32(16 * k) & 0xFFFF, "f16"), np.clip(meant(whole, "f16"), 0, 1))
    with pytest.raises(Refused, match="clamp and omod"):
        _run("v_cvt_sr_pk_bf16_f32 v40, v4, v5, v6 clamp", rows, [4, 5, 6], 1, False)


def _packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """(waves, numbers, lanes) side by side in words."""
    count = codes.shape[1]
    words = [np.zeros(codes[:, 0].shape, np.uint64) for _ in range(count * bits // 32 + 1)]
    for k in range(count):
        placed = codes[:, k].astype(np.uint64) << np.uint64(k * bits % 32)
        words[k * bits // 32] |= placed & np.uint64(0xFFFFFFFF)
        words[k * bits // 32 + 1] |= placed >> np.uint64(32)
    return np.stack(words[: count * bits // 32], axis=1).astype(np.uint32)


def _unpacked(words: np.ndarray, bits: int, count: int) -> np.ndarray:
    wide = np.concatenate([words, np.zeros_like(words[:, :1])], axis=1).astype(np.uint64)
    out = []
    for k in range(count):
        at = k * bits
        both = wide[:, at // 32] | wide[:, at // 32 + 1] << np.uint64(32)
        out.append(both >> np.uint64(at % 32) & np.uint64((1 << bits) - 1))
    return np.stack(out, axis=1).astype(np.int64)


BLOCKS = [("pk8", "fp8"), ("pk8", "bf8"), ("pk8", "fp4"), ("pk16", "fp6"), ("pk16", "bf6")]
WIDE = ["f32", "f16", "bf16"]


def _words(wide: np.ndarray, kind: str) -> np.ndarray:
    """Numbers as the registers have them: two halves to a word."""
    return wide if kind == "f32" else wide[:, ::2] | wide[:, 1::2] << np.uint32(16)


@pytest.mark.parametrize("saturates", [False, True], ids=["", "ovfl"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize(("shape", "small"), BLOCKS)
def test_blocks_are_packed(shape: str, small: str, wide: str, saturates: bool) -> None:
    """The exponent of an f32 counts, not its fraction or its sign; each number has the next random one."""
    rng = np.random.default_rng(len(small + wide))
    count, bits = int(shape[2:]), BITS[small]
    scale = rng.integers(118, 136, (WAVES, LANES), dtype=np.uint32)
    scale[-1, :3] = 0, 254, 255
    source = _sources(rng, small, wide, (WAVES, count, LANES))
    x = meant(source, wide)
    words = _words(source, wide)
    f32 = (
        scale << np.uint32(23)
        | rng.integers(0, 1 << 23, scale.shape, dtype=np.uint32)
        | rng.integers(0, 2, scale.shape, dtype=np.uint32) << np.uint32(31)
    )
    random = rng.integers(0, 1 << 32, (WAVES, LANES), np.uint32)
    first = list(range(8, 8 + words.shape[1]))
    operand, out = tuple_of("v", 8, words.shape[1]), count * bits // 32
    target = tuple_of("v", DESTINATION, out)
    rows = np.concatenate([words, f32[:, None], random[:, None]], axis=1)
    exponent = scale.astype(int)[:, None] - 127
    lost = np.broadcast_to(scale[:, None] == 255, x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        number = np.where(lost, np.nan, np.ldexp(x, -exponent))
        number = np.where(lost & np.signbit(x), np.copysign(np.nan, -1.0), number)
    for line, seeds in (
        (f"v_cvt_scalef32_{shape}_{small}_{wide} {target}, {operand}, v30", None),
        (f"v_cvt_scalef32_sr_{shape}_{small}_{wide} {target}, {operand}, v31, v30", random),
    ):
        got, _ = _run(line, rows, [*first, 30, 31], out, saturates)
        codes = _unpacked(got, bits, count)
        for k in range(count):
            want = narrowed(number[:, k], small, saturates, FRACTION[wide], seeds)
            _same(codes[:, k], want, small)
            seeds = None if seeds is None else _next(seeds)


def _scale_place(select: int, bits: int) -> tuple[int, list[int]]:
    """From composable_kernel's tests: the first lane of those that have the scales, and the byte for each half."""
    if bits == 8:
        same = {0: 0, 2: 2, 4: 1, 6: 3}
        pair = [same[select & 6]] * 2 if select < 8 else {8: [0, 1], 10: [2, 3]}[select & ~1]
    else:
        pair = {0: [0, 1], 2: [2, 3], 4: [0, 2], 6: [1, 3]}[select & ~1]
    return 16 * (select & 1), pair


@pytest.mark.parametrize("saturates", [False, True], ids=["", "ovfl"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize(("shape", "small"), BLOCKS)
def test_blocks_are_unpacked(shape: str, small: str, wide: str, saturates: bool) -> None:
    rng = np.random.default_rng(len(small + wide) + 7)
    count, bits = int(shape[2:]), BITS[small]
    waves = max(4, -(-(1 << bits) // (count * LANES)) * 2)
    codes = np.resize(np.arange(1 << bits), (waves // 2, count, LANES))
    codes = np.concatenate([codes, rng.integers(0, 1 << bits, codes.shape)])
    words = _packed(codes, bits)
    scale = rng.integers(100, 150, (len(codes), LANES, 4))
    scale[0], scale[1, :, 0], scale[1, :, 1] = 127, 255, 254
    scale[2, :, 2], scale[2, :, 3] = 0, 1
    packed = (scale << np.array([0, 8, 16, 24])).sum(axis=2).astype(np.uint32)
    out = count if wide == "f32" else count // 2
    first = list(range(8, 8 + words.shape[1]))
    rows = np.concatenate([words, packed[:, None]], axis=1)
    x = meant(codes, small)
    line = f"v_cvt_scale_{shape}_{wide}_{small} {tuple_of('v', DESTINATION, out)}, {tuple_of('v', 8, len(first))}, v30"
    lines = [f"{line} scale_sel:{select}" for select in range(12 if bits == 8 else 8)]
    results, _ = _run_all(lines, rows, [*first, 30], out, saturates)
    for select, got in enumerate(results):
        got = got if wide == "f32" else np.stack([got & 0xFFFF, got >> 16], axis=2).reshape(len(got), count, LANES)
        base, bytes_ = _scale_place(select, bits)
        lanes = np.arange(LANES)
        exponent = scale[:, base + lanes % 16, np.array(bytes_)[lanes // 16]][:, None]
        number = np.where(exponent == 255, np.nan, np.ldexp(x, exponent - 127))
        _same(got, widened(number, wide, saturates).astype(np.int64), wide)


@pytest.mark.parametrize(
    ("line", "loads"),
    [
        ("v_cvt_scale_pk8_f32_fp8 v[40:47], v[8:9], v30 scale_sel:12", 8),
        ("v_cvt_scale_pk16_f16_fp6 v[40:47], v[8:10], v30 scale_sel:9", 8),
        ("v_cvt_scale_pk8_f16_fp4 v[40:43], v8, v30 scale_sel:15", 4),
        ("v_cvt_pk_bf8_f16 v40, v8 clamp", 1),
        ("v_cvt_pk_fp8_f16 v40, -v8", 1),
    ],
)
def test_what_is_not_known_is_refused(line: str, loads: int) -> None:
    with pytest.raises((Refused, Exception), match="not documented|does not implement"):
        _run(line, np.zeros((1, 4, LANES), np.uint32), [8, 9, 10, 30], loads, False)


@pytest.mark.parametrize(
    "line", ["v_cvt_pk_fp8_f32 v40, v4, v4 clamp", "v_cvt_sr_fp8_f32 v40, v4, v5 clamp", "v_cvt_pk_fp8_f16 v40, v4 clamp"]
)
def test_negative_numbers_without_a_sign(line: str) -> None:
    rows = np.zeros((1, 2, LANES), np.uint32)
    _run(line, rows | np.uint32(0x80000000), [4, 5], 1, False)  # zeros have one
    with pytest.raises(Exception, match="negative number becomes in E5M3"):
        _run(line, rows | np.uint32(0xBF80BC00), [4, 5], 1, False)
