"""What silicon was measured to do, where no manual says it or a manual says something else.

Operands and results are those that were published: by AMD's rocjitsu (ROCm/rocm-systems, emulation/rocjitsu/tests, 2026) and
bjacob/goc, both captured on gfx1201 unless a case says otherwise. Digests of whole captures of the transcendental
functions are in crates/emulator/src/fp/unit/tests.rs.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial
from conformance.device import Batch
from conformance.targets import TARGETS

KEEPS, FLUSHES = 0xF0, 0
#: MODE.FP16_OVFL
SATURATES = 1 << 23


@functools.cache
def assembled(target: str) -> tuple[Batch, dict[str, Trial]]:
    """All instructions of the target that a test below has, with as many sources and words as it says."""
    if target == "gfx1201":
        shapes = {f"{name}_e64 v10, v2 {factor}": (1, 1) for name, _, _ in FACTORS for factor in ("", *FACTOR_NAMES)}
        shapes |= {text: (len(sources), len(want)) for text, _, sources, want in CASES}
    elif target == "gfx1100":
        shapes = {}
    else:
        shapes = {MIXED: (3, 1), DOT: (3, 1)}
    if target in ("gfx1100", "gfx1201"):
        shapes |= {text: (1, 1) for text in ON_BOTH}
    trials = {}
    for text, (sources, words) in shapes.items():
        results = [10 + k for k in range(words)]
        trials[text] = Trial(text, [text], [2 + k for k in range(2 * sources)] + results, results)
    return Batch(TARGETS[target], list(trials.values())), trials


def run(target: str, text: str, sources: list[int], mode: int = KEEPS) -> list[int]:
    """The destination, v10 and on, of an instruction with v2, v4 and v6 (pairs: v[2:3] ...) as its sources."""
    batch, trials = assembled(target)
    trial = trials[text]
    scalars = np.zeros((1, 16), np.uint32)
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    scalars[:, SCALARS["MODE"]] = mode
    values = [w for s in sources for w in (s & 0xFFFFFFFF, s >> 32)] + [0xCAFEBEEF] * len(trial.stores)
    filled = np.broadcast_to(np.array(values, np.uint32)[None, :, None], (1, len(values), TARGETS[target].lanes)).copy()
    _, got = batch.run(trial, scalars, filled)
    assert (got == got[:, :, :1]).all(), text
    return [int(x) for x in got[0, :, 0]]


#: Instructions that were captured on gfx1100 too.
ON_BOTH = ["v_cvt_nearest_i32_f32 v10, v2", "v_sin_f32 v10, v2", "v_cos_f32 v10, v2"]
DOT = "v_dot2_f32_f16 v10, v2, v4, v6"
MIXED = "v_fma_mix_f32 v10, v2, v4, v6 op_sel_hi:[1,1,0]"
FACTOR_NAMES = ("mul:2", "mul:4", "div:2")

# Instruction, operand, results with no factor, mul:2, mul:4, div:2.
FACTORS = [
    ("v_exp_f32", 0x00000001, (0x3F800000, 0x40000000, 0x40800000, 0x3F000000)),
    ("v_exp_f32", 0x3F7FFFFF, (0x3FFFFFFF, 0x407FFFFF, 0x40FFFFFF, 0x3F7FFFFF)),
    ("v_exp_f32", 0x7FA00001, (0x7FE00001,) * 4),
    ("v_exp_f32", 0xBF800002, (0x3EFFFFFD, 0x3F7FFFFD, 0x3FFFFFFD, 0x3E7FFFFD)),
    ("v_exp_f32", 0x42115895, (0x51A19FFB, 0x52219FFB, 0x52A19FFB, 0x51219FFB)),
    ("v_exp_f32", 0xC12C9EBE, (0x3A142F12, 0x3A942F12, 0x3B142F12, 0x39942F12)),
    ("v_log_f32", 0x00800001, (0xC2FC0000, 0xC37C0000, 0xC3FC0000, 0xC27C0000)),
    ("v_log_f32", 0x3F7FFFFF, (0xB3B8AA3C, 0xB438AA3C, 0xB4B8AA3C, 0xB338AA3C)),
    ("v_log_f32", 0x3F800001, (0x3438AA3B, 0x34B8AA3B, 0x3538AA3B, 0x33B8AA3B)),
    ("v_log_f32", 0x807FFFFF, (0xFF800000,) * 4),
    ("v_log_f32", 0x4300FFFF, (0x40E05BF8, 0x41605BF8, 0x41E05BF8, 0x40605BF8)),
    ("v_log_f32", 0x04C86267, (0xC2EAB4EE, 0xC36AB4EE, 0xC3EAB4EE, 0xC26AB4EE)),
    ("v_rcp_f32", 0xFE5A6E5E, (None, None, None, 0x80000000)),
    ("v_rcp_f32", 0xFF800000, (0x80000000, 0, 0, 0)),
]


@pytest.mark.parametrize("name,value,results", FACTORS)
def test_transcendentals_with_factors(name: str, value: int, results: tuple[int | None, ...]) -> None:
    for factor, want in zip(("", *FACTOR_NAMES), results):
        # Whatever MODE says of rounding and denormals.
        for mode in (KEEPS, FLUSHES, KEEPS | 1, FLUSHES | 2, 3):
            if want is not None:
                assert run("gfx1201", f"{name}_e64 v10, v2 {factor}", [value], mode) == [want], (factor, mode)


# Instruction, MODE, operands, result.
CASES: list[tuple[str, int, list[int], list[int]]] = [
    # The first NaN, quieted, not a signalling one before it.
    ("v_minimum_f32 v10, v2, v4", KEEPS, [0x7FC00001, 0x7F800002], [0x7FC00001]),
    ("v_maximum_f32 v10, v2, v4", KEEPS, [0x3F800000, 0xFF800002], [0xFFC00002]),
    ("v_minimum3_f32 v10, v2, v4, v6", KEEPS, [0x3F800000, 0x7FC00001, 0x7F800003], [0x7FC00001]),
    ("v_maximum_f64 v[10:11], v[2:3], v[4:5]", KEEPS, [0x7FF8000000000001, 0x7FF0000000000002], [1, 0x7FF80000]),
    # A number wins even against a signalling NaN; of two NaNs the first, quieted.
    ("v_min_num_f32 v10, v2, v4", KEEPS, [0x7F800001, 0x3F800000], [0x3F800000]),
    ("v_max_num_f32 v10, v2, v4", KEEPS, [0x7F800001, 0xFFC00000], [0x7FC00001]),
    # Zeros of both signs are apart in medians.
    ("v_med3_num_f32 v10, v2, v4, v6", KEEPS, [0x80000000, 0, 0x80000000], [0x80000000]),
    ("v_med3_num_f32 v10, v2, v4, v6", KEEPS, [0, 0x80000000, 0], [0]),
    # Sources are flushed where MODE says so, results never.
    ("v_min_num_f32 v10, v2, v4", 0xD0, [0x00000001, 0x3F800000], [0x00000001]),
    ("v_max_num_f32 v10, v2, v4", 0xE0, [0x80000001, 0xBF800000], [0x80000000]),
    # NaNs become the largest and the least integer of these, zero of the others.
    ("v_cvt_floor_i32_f32 v10, v2", KEEPS, [0x7FC00000], [0x7FFFFFFF]),
    ("v_cvt_nearest_i32_f32 v10, v2", KEEPS, [0xFFC12345], [0x80000000]),
    ("v_cvt_i32_f32 v10, v2", KEEPS, [0xFFC12345], [0]),
    # 1.5 becomes 2 in a byte.
    ("v_cvt_pk_u8_f32 v10, v2, v4, v6", KEEPS, [0x3FC00000, 1, 0], [0x200]),
    # A zero product is a positive zero; denormals are zeros.
    ("v_fma_dx9_zero_f32 v10, v2, v4, v6", KEEPS, [0x80000000, 0x7F800000, 0x80000000], [0]),
    ("v_fma_dx9_zero_f32 v10, v2, v4, v6", KEEPS, [0, 0x3F800000, 0x7F800001], [0x7FC00001]),
    ("v_fma_dx9_zero_f32 v10, v2, v4, v6", KEEPS, [0x3F800000, 0x3F800000, 0x00000001], [0x3F800000]),
    ("v_fma_dx9_zero_f32 v10, v2, v4, v6", KEEPS, [0x00800000, 0x3F000000, 0], [0]),
    ("v_mullit_f32 v10, v2, v4, v6", KEEPS, [0x80000000, 0x3F800000, 0x3F800000], [0]),
    ("v_mullit_f32 v10, v2, v4, v6", KEEPS, [0, 0x7F800000, 0x3F800000], [0]),
    ("v_mullit_f32 v10, v2, v4, v6", KEEPS, [0x3F800000, 0x3F800000, 0], [0xFF7FFFFF]),
    # 1 - |x| rounded as MODE says; never -0; NaNs of infinities are negative.
    ("v_fract_f32 v10, v2", KEEPS | 1, [0xB0000000], [0x3F7FFFFF]),
    ("v_fract_f32 v10, v2", KEEPS | 2, [0xB3C00000], [0x3F7FFFFE]),
    ("v_fract_f32 v10, v2", KEEPS | 2, [0x80000000], [0]),
    ("v_fract_f32 v10, v2", KEEPS, [0x7F800000], [0xFFC00000]),
    # Every NaN is the negative one; infinities are not numbers that are too large.
    ("v_cvt_pk_fp8_f32 v10, v2, v4", KEEPS, [0x7FC00000, 0xFFC00000], [0xCAFEFFFF]),
    ("v_cvt_pk_bf8_f32 v10, v2, v4", KEEPS, [0x7FC00000, 0xFFC00000], [0xCAFEFEFE]),
    ("v_cvt_pk_fp8_f32 v10, v2, v4", KEEPS, [0x47000000, 0xFF800000], [0xCAFEFF7F]),
    ("v_cvt_pk_fp8_f32 v10, v2, v4", KEEPS | SATURATES, [0x47000000, 0xFF800000], [0xCAFEFF7E]),
    ("v_cvt_pk_bf8_f32 v10, v2, v4", KEEPS | SATURATES, [0xC8000000, 0x7F800000], [0xCAFE7CFB]),
    # Factors apply although denormals are kept: the result, then its exponent.
    ("v_mul_f32_e64 v10, v2, v4 div:2", KEEPS, [0x80FFFFFF, 0x3F800000], [0x80000000]),
    ("v_mul_f32_e64 v10, v2, v4 mul:2", KEEPS, [0x80000001, 0x3F800000], [0]),
    ("v_add_f16_e64 v10, v2, v4 mul:2", KEEPS | 8, [0x7BFF, 0], [0xCAFE7BFF]),
    ("v_cvt_pk_rtz_f16_f32_e64 v10, v2, v4 clamp", KEEPS, [0x40000000, 0xBF800000], [0xBC004000]),
    # A negative sum's carry is its sign.
    ("v_mad_co_i64_i32 v[10:11], s20, v2, v4, v[6:7]", KEEPS, [0, 0, (1 << 64) - 1], [0xFFFFFFFF, 0xFFFFFFFF]),
    # 2/pi ends 1184 bits after its point.
    ("v_trig_preop_f64 v[10:11], v[2:3], v4", KEEPS, [0x7FE0000000000000, 5], [0, 0]),
    # A zero makes a NaN; the exponents decide all the same.
    ("v_div_scale_f32 v10, s20, v2, v4, v6", KEEPS, [0, 0, 0x3F800000], [0xFFC00000]),
    ("v_div_scale_f32 v10, s20, v2, v4, v6", KEEPS, [0x0D800000, 0x3F800000, 0x0D800000], [0x2D800000]),
]


@pytest.mark.parametrize("text,mode,sources,want", CASES)
def test_gfx1201(text: str, mode: int, sources: list[int], want: list[int]) -> None:
    assert run("gfx1201", text, sources, mode) == want


#: gfx1100 and gfx1201: ties and their neighbours.
NEAREST = [
    (0xC0200001, -3),
    (0xC0200000, -2),
    (0xC01FFFFF, -2),
    (0xBFC00001, -2),
    (0xBFC00000, -1),
    (0xBFBFFFFF, -1),
    (0xBF000001, -1),
    (0xBF000000, 0),
    (0xBEFFFFFF, 0),
    (0x3EFFFFFF, 0),
    (0x3F000000, 1),
]


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_to_the_nearest_integer(target: str) -> None:
    for value, want in NEAREST:
        assert run(target, ON_BOTH[0], [value]) == [want & 0xFFFFFFFF], hex(value)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_sine_takes_whole_turns_off(target: str) -> None:
    """The cases with denormals kept that were captured on both."""
    for value, sine, cosine in (
        (0x007FFFFF, 0x01C90FD3, 0x3F800000),
        (0x39BFFFFF, 0x3B16CBDF, 0x3F7FFFD3),
        (0x3E000000, 0x3F3504F4, 0x3F3504F3),
        (0x7F7FFFFF, 0x00000000, 0x3F800000),
        (0x3F7FFE94, 0xB90EF149, 0x3F800000),
    ):
        assert run(target, "v_sin_f32 v10, v2", [value]) == [sine], hex(value)
        assert run(target, "v_cos_f32 v10, v2", [value]) == [cosine], hex(value)


@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
def test_mixed_products_have_denormals_as_mode_says(target: str) -> None:
    """-2^-24 times 2^-14, both halves: measured on both (llvm/llvm-project#205101)."""
    assert run(target, MIXED, [0x8001, 0x0400, 0]) == [0xAC800000]
    assert run(target, MIXED, [0x8001, 0x0400, 0], FLUSHES) == [0]


@pytest.mark.parametrize(("target", "product"), [("gfx90a", 0), ("gfx906", 0xAC800000), ("gfx950", 0xAC800000)])
def test_dot_products_flush_denormal_halves_on_cdna2_alone(target: str, product: int) -> None:
    """The same factors; whatever MODE says (llvm/llvm-project#205101)."""
    for mode in (KEEPS, FLUSHES):
        assert run(target, DOT, [0x8001, 0x0400, 0], mode) == [product]
