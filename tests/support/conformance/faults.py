"""Where the tables' text is wrong.

A *fault* is a place where the table cannot be what the hardware does. Each has a reason, and a source that is neither
the table nor the device; the text is then edited, or replaced by what the source says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .pcode import floats
from .pcode.evaluate import Machine
from .pcode.values import make, retyped
from .targets import Entry


@dataclass(frozen=True)
class Fault:
    """Which entries, why, and who says so."""

    names: str
    reason: str
    source: str
    #: Corrections to the text.
    edits: tuple[tuple[str, str], ...] = ()
    #: What to do instead of the text.
    instead: Callable[[Machine, Entry], None] | None = None
    #: The first generation that it is known of.
    since: int = 0


def _type(entry: Entry) -> tuple[str, int]:
    kind = re.search(r"_F(\d+)$", entry.name)
    assert kind
    return "F", int(kind[1])


def source(m: Machine, entry: Entry) -> Any:
    return retyped(m.variables["S0"], *_type(entry))


def write(m: Machine, bits: list[int] | np.ndarray, kind: str, width: int) -> None:
    from .pcode.syntax import Node

    m.write(Node("member", (Node("name", ("D0",)), f"{kind.lower()}{width}")), make(kind, width, bits))


def _to_even(m: Machine, entry: Entry) -> None:
    x = source(m, entry)
    m.watched(x)
    write(m, [floats.integral(x.format, int(b), floats.NEAREST) for b in x.bits], x.kind, x.width)


def _fraction(m: Machine, entry: Entry) -> None:
    x = source(m, entry)
    f, mode = x.format, m.rounding(x)
    below_one = floats.one(f) - 1

    def fraction(bits: int) -> int:
        if f.is_nan(bits):
            return floats.quieted(f, bits)
        if f.is_infinite(bits):
            return f.nan
        return min(floats.add(f, mode, bits, floats.integral(f, bits, floats.DOWN) ^ f.sign) & (f.sign - 1), below_one)

    write(m, m.watched(make(x.kind, x.width, [fraction(int(b)) for b in x.bits])).bits, x.kind, x.width)


def _order(f: floats.Format, x: int) -> int:
    """-0 is less than +0."""
    magnitude = x & (f.sign - 1)
    return -magnitude - 1 if x & f.sign else magnitude


def _pick(f: floats.Format, high: bool, number: bool, a: int, b: int) -> int:
    """The larger or the smaller; a NaN, of several the first, loses or wins."""
    if f.is_nan(a) or f.is_nan(b):
        if number and not (f.is_nan(a) and f.is_nan(b)):
            return b if f.is_nan(a) else a
        return floats.quieted(f, a if f.is_nan(a) else b)
    return (max if high else min)(a, b, key=lambda x: _order(f, x))


def _select(m: Machine, entry: Entry) -> None:
    """MINIMUM, MAXIMUM and what is made of them, also of both halves."""
    kind, width = _type(entry)
    name = re.sub(r"^[VS]_(PK_)?", "", entry.name).rsplit("_", 1)[0]
    steps = {"MINIMUM": "l", "MAXIMUM": "h", "MINIMUM3": "ll", "MAXIMUM3": "hh", "MINIMUMMAXIMUM": "lh", "MAXIMUMMINIMUM": "hl"}
    halves = (0, 16) if "_PK_" in entry.name else (0,)
    total = [0] * m.count
    for at in halves:
        sources = [m.variables[f"S{k}"].bits for k in range(len(steps[name]) + 1)]
        x = retyped(m.variables["S0"], kind, width)
        rows = [[int(b) >> at & (1 << width) - 1 for b in np.broadcast_to(s, m.count)] for s in sources]
        made = rows[0]
        for step, other in zip(steps[name], rows[1:]):
            made = [_pick(x.format, step == "h", False, a, b) for a, b in zip(made, other)]
        total = [t | b << at for t, b in zip(total, made)]
    write(m, total, "B" if len(halves) > 1 else kind, 32 if len(halves) > 1 else width)


def _median(m: Machine, entry: Entry) -> None:
    kind, width = _type(entry)
    sources = [retyped(m.variables[f"S{k}"], kind, width) for k in range(3)]
    f = sources[0].format

    def median(a: int, b: int, c: int) -> int:
        if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
            return _pick(f, False, True, _pick(f, False, True, a, b), c)
        return sorted((a, b, c), key=lambda x: _order(f, x))[1]

    rows = zip(*(np.broadcast_to(s.bits, m.count) for s in sources))
    write(m, [median(*(int(x) for x in row)) for row in rows], kind, width)


def _to_whole(nans: bool) -> Callable[[Machine, Entry], None]:
    """To the integer below, or below the sum with 1/2, which is exact; ``nans``: they saturate by their sign."""

    def instead(m: Machine, entry: Entry) -> None:
        x = source(m, entry)
        half = 0.5 if "NEAREST" in entry.name else 0.0

        def integer(bits: int) -> int:
            if x.format.is_nan(bits):
                return (0x80000000 if bits & x.format.sign else 0x7FFFFFFF) if nans else 0
            value = floats.to_python(x.format, bits)
            if math.isinf(value):
                return 0x7FFFFFFF if value > 0 else 0x80000000
            return max(-(1 << 31), min((1 << 31) - 1, math.floor(value + half))) & 0xFFFFFFFF

        write(m, [integer(int(b)) for b in x.bits], "I", 32)

    return instead


def _scale_by_exponents(m: Machine, entry: Entry) -> None:
    kind, width = _type(entry)
    far, by, tiny, top = (96, 64, 24, 253) if width == 32 else (768, 128, 53, 2045)
    s = [f"S{k}.f{width}" for k in range(3)]
    up, down = f"D0.f{width} = ldexp({s[0]}, {by})", f"D0.f{width} = ldexp({s[0]}, -{by})"
    apart = f"exponent({s[2]}) - exponent({s[1]})"
    m.run(f"""VCC = 0x0LL;
D0.f{width} = isNAN({s[0]}) ? cvtToQuietNAN({s[0]}) : {s[0]};
if {apart} >= {far} then
VCC = 0x1LL;
if {s[0]} == {s[1]} then
{up}
endif
elsif exponent({s[1]}) == 0 then
{up}
elsif exponent({s[1]}) >= {top} then
if {apart} <= -{far} then
VCC = 0x1LL;
if {s[0]} == {s[1]} then
{down}
endif
else
{down}
endif
elsif {apart} <= -{far} then
VCC = 0x1LL;
if !({s[0]} == {s[1]}) then
{up}
endif
elsif exponent({s[2]}) <= {tiny} then
{up}
endif;
if (64'F({s[1]}) == 0.0) || (64'F({s[2]}) == 0.0) then
D0.f{width} = -NAN.f{width}
endif""")


def _exponent(m: Machine, entry: Entry) -> None:
    x = source(m, entry)
    f = x.format

    def exponent(bits: int) -> int:
        if f.is_nan(bits) or f.is_infinite(bits):
            return 0
        _, significand, power = f.split(bits)
        return significand.bit_length() + power if significand else 0

    to = 16 if "_I16_" in entry.name else 32
    write(m, [exponent(int(b)) for b in x.bits], "I", to)


_QUIET = (
    ("D0.f16 = S0.f16", "D0.f16 = isNAN(S0.f16) ? cvtToQuietNAN(S0.f16) : S0.f16"),
    ("D0.f32 = S0.f32", "D0.f32 = isNAN(S0.f32) ? cvtToQuietNAN(S0.f32) : S0.f32"),
    ("D0.f64 = S0.f64", "D0.f64 = isNAN(S0.f64) ? cvtToQuietNAN(S0.f64) : S0.f64"),
)

_SCALE_SOURCE = (
    "the division sequence that LLVM emits reads the result in every case, and divides wrongly (the device's own test of "
    "the whole sequence); tinygrad's emulator begins with the copy"
)
_BOTH = "D0.fTYPE = ldexp(S0.fTYPE, N)\nendif\nelsif 1.0"


def _stochastic(m: Machine, entry: Entry) -> None:
    to = "fp8" if "FP8" in entry.name else "bf8"
    m.run(f"at = OPSEL[3 : 2].i32 * 8; D0[at + 7 : at].{to} = f32_to_{to}_sr(S0.f32, S1.u32)")


_ROCJITSU = "captured on gfx1201 (AMD's rocjitsu, ROCm/rocm-systems, shared/{}.h and its tests)"
_GOC = "captured on gfx1201 (bjacob/goc)"

FAULTS: tuple[Fault, ...] = (
    Fault(
        r"V_(PK_)?(MINIMUM|MAXIMUM|MINIMUM3|MAXIMUM3|MINIMUMMAXIMUM|MAXIMUMMINIMUM)_F\d+",
        "a signalling NaN does not win against one that comes before it",
        _ROCJITSU.format("minmax"),
        instead=_select,
        since=12,
    ),
    Fault(
        r"V_MED3_NUM_F\d+",
        "zeros of both signs are not equal when the largest is looked for",
        _ROCJITSU.format("minmax"),
        instead=_median,
        since=12,
    ),
    Fault(
        r"V_CVT_(NEAREST|FLOOR)_I32_F32",
        "the sum with 1/2 is exact; NaNs saturate by their sign",
        _ROCJITSU.format("conversion"),
        instead=_to_whole(nans=True),
        since=12,
    ),
    Fault(
        r"V_CVT_NEAREST_I32_F32",
        "the sum with 1/2 is exact",
        "captured on gfx1100 and gfx1201 (AMD's rocjitsu, its tests of VOP3 conversions)",
        instead=_to_whole(nans=False),
        since=11,
    ),
    Fault(
        r"V_DIV_SCALE_F(32|64)",
        "what decides are exponents, not whether a quotient is denormal",
        "checked on gfx1100 and gfx1201 (AMD's rocjitsu, shared/division.h); the device's own test of the whole sequence",
        instead=_scale_by_exponents,
        since=11,
    ),
    Fault(
        r"V_FMA_DX9_ZERO_F32",
        "a product of zero is added as +0",
        _GOC,
        edits=(("D0.f32 = S2.f32", "D0.f32 = S2.f32 + 0.0F"),),
        since=12,
    ),
    Fault(
        r"V_MULLIT_F32",
        "a factor of zero makes the product +0",
        _GOC,
        edits=(("D0.f32 = S0.f32 * S1.f32", "D0.f32 = ((S0.f32 == 0.0F) || (S1.f32 == 0.0F)) ? 0.0F : S0.f32 * S1.f32"),),
        since=12,
    ),
    Fault(
        r"V_CVT_SR_(FP8|BF8)_F32",
        "the fraction wraps around, so that numbers become half as large, and what the random number did not round up is "
        "rounded to nearest once more",
        "AMD's model of stochastic rounding (HIP's amd_hip_ocp_host.hpp): a carry goes on into the exponent, the rest is cut off",
        instead=_stochastic,
    ),
    Fault(
        r"V_CVT_SCALEF32_F16_(FP8|BF8)",
        "the whole register is stored, where the comment has OPSEL select a half",
        "LLVM ties the old destination to the result (it has an operand vdst_in)",
        edits=(("D0 = tmp.b32", "at = OPSEL[3].i32 * 16; D0[at + 15 : at].b16 = tmp.b16"),),
    ),
    Fault(
        r"V_RNDNE_F\d+",
        "floor(x + 0.5), less one for ties, rounds twice: it is wrong for 0.49999997, for odd numbers of full precision, "
        "and for the sign of a zero",
        "LLVM selects v_rndne for llvm.roundeven and llvm.rint; constant folding of llvm.roundeven",
        instead=_to_even,
    ),
    Fault(
        r"V_FRACT_F\d+",
        "x - floor(x) is 1.0 for small negative numbers",
        "LLVM selects v_fract for min(x - floor(x), the largest number below one) (AMDGPUCodeGenPrepare, matchFractPat)",
        instead=_fraction,
    ),
    Fault(
        r"V_FREXP_EXP_I\d+_F\d+",
        "the exponent field of a zero or denormal is not its exponent (V_FREXP_MANT does normalise)",
        "LLVM selects it for llvm.frexp; constant folding of frexp(0.0) and of denormals",
        instead=_exponent,
    ),
    Fault(
        r"V_FREXP_MANT_F\d+",
        "a signalling NaN is returned as it is",
        "LLVM drops llvm.canonicalize of the result: it is canonical (SITargetLowering::isCanonicalized)",
        edits=_QUIET,
    ),
    Fault(
        r"V_DIV_FMAS_F32",
        "2^32 cannot undo the 2^64 of V_DIV_SCALE",
        "the division sequence that LLVM emits then divides wrongly; tinygrad's emulator, tested beside hardware, has 2^64 "
        "or 2^-64 by the size of S2",
        edits=(
            (
                "2.0F ** 32 * fma(S0.f32, S1.f32, S2.f32)",
                "fma_scaled(S0.f32, S1.f32, S2.f32, exponent(S2.f32) > 127 ? 64 : -64)",
            ),
        ),
    ),
    Fault(
        r"V_DIV_FMAS_F64",
        "2^64 cannot undo the 2^128 of V_DIV_SCALE",
        "as for V_DIV_FMAS_F32",
        edits=(
            (
                "2.0 ** 64 * fma(S0.f64, S1.f64, S2.f64)",
                "fma_scaled(S0.f64, S1.f64, S2.f64, exponent(S2.f64) > 1023 ? 128 : -128)",
            ),
        ),
    ),
    Fault(
        r"V_DIV_FIXUP_F(32|64)",
        "'exponent(S1) == 255' cannot hold where it is asked (infinities and NaNs are gone): it means a quotient that "
        "overflowed on the way and is a NaN",
        "tinygrad's emulator, tested beside hardware, asks isNAN(S0)",
        edits=(
            ("exponent(S1.f32) == 255", "isNAN(S0.f32)"),
            ("exponent(S1.f64) == 2047", "isNAN(S0.f64)"),
            ("sign_out ? -UNDERFLOW_F32 : UNDERFLOW_F32", "sign_out ? NEGATIVE_UNDERFLOW : UNDERFLOW"),
            ("sign_out ? -OVERFLOW_F32 : OVERFLOW_F32", "sign_out ? NEGATIVE_OVERFLOW : OVERFLOW"),
            ("sign_out ? -UNDERFLOW_F64 : UNDERFLOW_F64", "sign_out ? NEGATIVE_UNDERFLOW : UNDERFLOW"),
            ("sign_out ? -OVERFLOW_F64 : OVERFLOW_F64", "sign_out ? NEGATIVE_OVERFLOW : OVERFLOW"),
        ),
    ),
    Fault(
        r"V_DIV_SCALE_F32",
        "nothing is stored where nothing is scaled; the reciprocal of an f32 is never a denormal f64; and where both the "
        "reciprocal and the quotient are denormal, scaling the denominator up makes it overflow",
        _SCALE_SOURCE,
        edits=(
            ("VCC = 0x0LL;", "VCC = 0x0LL; D0.f32 = isNAN(S0.f32) ? cvtToQuietNAN(S0.f32) : S0.f32;"),
            ("1.0 / 64'F(S1.f32) == DENORM.f64", "1.0F / S1.f32 == DENORM.f32"),
            (_BOTH.replace("TYPE", "32").replace("N", "64"), _BOTH.replace("TYPE", "32").replace("N", "-64")),
        ),
    ),
    Fault(
        r"V_DIV_SCALE_F64",
        "nothing is stored where nothing is scaled; and where both the reciprocal and the quotient are denormal, scaling "
        "the denominator up makes it overflow",
        _SCALE_SOURCE,
        edits=(
            ("VCC = 0x0LL;", "VCC = 0x0LL; D0.f64 = isNAN(S0.f64) ? cvtToQuietNAN(S0.f64) : S0.f64;"),
            (_BOTH.replace("TYPE", "64").replace("N", "128"), _BOTH.replace("TYPE", "64").replace("N", "-128")),
        ),
    ),
    Fault(
        r"V_TRIG_PREOP_F64",
        "the mask takes bits of the fraction where, as the comments have it, those shifted into the whole part are meant",
        "the identity that the instruction is for (2/pi is the sum of its results, tested here); tinygrad's emulator",
        edits=(
            (
                "64'F((1201'B(2.0 / PI)[1200 : 0] << shift.u32) & 1201'0x1fffffffffffff)",
                "64'F(((1201'B(2.0 / PI)[1200 : 0] << shift.u32) >> 1148) & 1201'0x1fffffffffffff)",
            ),
        ),
    ),
    Fault(
        r"V_MAD_MIX(LO|HI)?_F(16|32)",
        "the name and the text are those of gfx900; from gfx906 on the opcode is v_fma_mix, which rounds once",
        "LLVM: FeatureFmaMixInsts of gfx906 and later, the same opcodes",
        edits=(("in[0] * in[1] + in[2]", "fma(in[0], in[1], in[2])"),),
    ),
    Fault(
        r"V_FMAC_DX9_ZERO_F32",
        "an instruction of two sources has no S2",
        "the entry's own last line, which adds to D0; V_FMA_DX9_ZERO_F32",
        edits=(("D0.f32 = S2.f32", "D0.f32 = D0.f32"),),
    ),
    Fault(
        r"V_CVT_PK_[IU]16_F32",
        "it calls conversions that are no entries",
        "V_CVT_I32_F32: towards zero, saturating",
        edits=(("v_cvt_i16_f32", "f32_to_i16_saturating"), ("v_cvt_u16_f32", "f32_to_u16_saturating")),
    ),
    Fault(
        r"V_CVT_PK(ACCUM)?_U8_F32",
        "how f32_to_u8() rounds is not said",
        "the CLRX reference of the GCN instructions, and rocjitsu: as MODE says",
        edits=(("f32_to_u8(S0.f32)", "f32_to_u8_by_mode(S0.f32)"),),
    ),
)
