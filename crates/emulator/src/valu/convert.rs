//! Conversions between formats.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::shapes::{read64, write64};
use crate::fp::{self, half, soft};
use crate::lanes::{map1, map2, map3};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

use luthier_isa::Generation;

/// dst:32 = f(src0:64)
#[inline(always)]
fn narrow(w: &mut Wave, op: &Op, f: impl Fn(u64) -> u32) -> Flow {
    let a = read64(w, op.src[0]);
    let mut out = Row::ZERO;
    for i in 0..64 {
        out.0[i] = f(a[i]);
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// dst:64 = f(src0:32)
#[inline(always)]
fn widen(w: &mut Wave, op: &Op, f: impl Fn(u32) -> u64) -> Flow {
    let mut out = [0; 64];
    let a = w.row(op.src[0]);
    for i in 0..64 {
        out[i] = f(a.0[i]);
    }
    write64(w, op.dst, &out);
    Flow::Next
}

/// f32 from integers: the host rounds to nearest.
#[inline(always)]
fn from_int(w: &mut Wave, op: &Op, host: impl Fn(u32) -> f32, wide: fn(u32) -> i64) -> Flow {
    let round = w.mode.round32();
    if round == Round::NearestEven {
        map1(w, op, |x| host(x).to_bits())
    } else {
        map1(w, op, |x| soft::from_int(soft::F32, round, wide(x)) as u32)
    }
}

/// The host keeps the leading payload bits of a NaN and quiets it, as we want.
#[inline(always)]
fn f32_from_f64(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let (ki, ko, round) = (m.denorm_in16_64(), m.denorm_out32(), m.round32());
    if round == Round::NearestEven {
        narrow(w, op, |x| fp::flush32((f64::from_bits(fp::flush64(x, ki)) as f32).to_bits(), ko))
    } else {
        narrow(w, op, |x| fp::flush32(soft::convert(soft::F64, soft::F32, round, fp::flush64(x, ki)) as u32, ko))
    }
}

#[inline(always)]
fn f64_from_f32(m: Mode, x: u32) -> u64 {
    (f32::from_bits(fp::in32(m, x)) as f64).to_bits()
}

#[inline(always)]
fn f32_from_f16(m: Mode, x: u32) -> u32 {
    let h = fp::in16(m, x);
    fp::out32(m, fp::quiet32(half::f16_to_f32(h).to_bits()))
}

/// out = f16 of `f(source)`, to nearest even.
#[inline(always)]
pub(super) fn half_rows(out: &mut Row, source: &Row, keep: bool, f: impl Fn(u32) -> f32) {
    let mask = if keep { !0 } else { 0x8000 };
    for i in 0..64 {
        let h = half::f32_to_f16(f(source.0[i]));
        out.0[i] = if h & 0x7c00 == 0 { h & mask } else { h };
    }
}

/// dst = f16 of `f(src0)`, rounded by MODE.
#[inline(always)]
fn to_f16(w: &mut Wave, op: &Op, f: impl Fn(u32) -> f32) -> Flow {
    let m = w.mode;
    if half::plain_f16(m) {
        let mut out = Row::ZERO;
        half_rows(&mut out, w.row(op.src[0]), m.denorm_out16_64(), f);
        w.write(op.dst, &out);
        Flow::Next
    } else {
        map1(w, op, |x| half::round_f16(m, f(x)))
    }
}

/// f16 by truncation, whatever MODE says: a number that is too large becomes the largest.
#[inline(always)]
fn f16_toward_zero(x: u32) -> u32 {
    let a = x & 0x7fff_ffff;
    let normal = a.wrapping_sub(112 << 23) >> 13;
    let shift = 126u32.saturating_sub(a >> 23);
    let denormal = (a & 0x7f_ffff | 0x80_0000) >> shift.min(31);
    let h = if a < 113 << 23 { denormal } else { normal };
    let h = if a >= 0x4780_0000 { 0x7bff } else { h };
    let h = if a == 0x7f80_0000 { 0x7c00 } else { h };
    let h = if a > 0x7f80_0000 { 0x7e00 | a >> 13 & 0x3ff } else { h };
    h | x >> 16 & 0x8000
}

#[inline(always)]
fn pkrtz(w: &mut Wave, op: &Op) -> Flow {
    let mut out = Row::ZERO;
    let keep_in = if w.mode.denorm_in32() { !0 } else { fp::SIGN32 };
    let keep_out = if w.mode.denorm_out16_64() { !0 } else { 0x8000 };
    for (k, shift) in [(0, 0), (1, 16)] {
        let source = w.row(op.src[k]);
        for i in 0..64 {
            let x = source.0[i];
            let x = if x & 0x7f80_0000 == 0 { x & keep_in } else { x };
            let h = f16_toward_zero(x);
            let h = if h & 0x7c00 == 0 { h & keep_out } else { h };
            out.0[i] |= h << shift;
        }
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// Rounds to an integral value by MODE.
#[inline(always)]
fn rounded(round: Round, x: f32) -> f32 {
    match round {
        Round::NearestEven => x.round_ties_even(),
        Round::Up => x.ceil(),
        Round::Down => x.floor(),
        Round::Zero => x.trunc(),
    }
}

#[inline(always)]
fn u8_from_f32(m: Mode, x: u32) -> u32 {
    rounded(m.round32(), f32::from_bits(fp::in32(m, x))) as u8 as u32
}
#[inline(always)]
fn pack_byte(m: Mode, x: u32, byte: u32, old: u32) -> u32 {
    let shift = (byte & 3) * 8;
    old & !(255 << shift) | u8_from_f32(m, x) << shift
}

/// What is known of the conversions to the nearest integer and to that below, beyond the manuals' `floor(x + 0.5)`: gfx1100
/// and gfx1201 do not round that sum, and gfx1201 makes the largest integer of a NaN, the least one of a negative NaN
/// (rocjitsu's captures: tests of VOP3 conversions, shared/conversion.h). gfx1250 is taken to do as RDNA4.
#[derive(Clone, Copy)]
struct Nearest {
    exact: bool,
    saturates: bool,
}

impl Nearest {
    #[inline(always)]
    fn of(w: &Wave) -> Nearest {
        let saturates = matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250);
        Nearest { exact: saturates || w.generation == Generation::Gfx11, saturates }
    }
    /// `x + 0.5`: exact, or rounded as MODE says.
    #[inline(always)]
    fn plus_half(self, m: Mode, x: u32) -> f64 {
        let read = f32::from_bits(fp::in32(m, x));
        if self.exact {
            f64::from(read) + 0.5
        } else if m.round32() == Round::NearestEven {
            (read + 0.5).into()
        } else {
            f32::from_bits(fp::soft::add32(m, x, 0.5f32.to_bits())).into()
        }
    }
    #[inline(always)]
    fn integer(self, x: u32, whole: f64) -> u32 {
        let r = whole as i32 as u32;
        if self.saturates & fp::is_nan32(x) { i32::MAX as u32 ^ (x as i32 >> 31) as u32 } else { r }
    }
}

/// CDNA4's packed conversions round to nearest and keep denormals, whatever MODE says (LLVM's `ReadsModeReg = 0`), but
/// for FP16_OVFL, which the CDNA4 manual's chapter on conversions has apply to both.
#[inline(always)]
fn nearest_f16(m: Mode, x: u32) -> u32 {
    let h = half::f32_to_f16(f32::from_bits(x));
    let finite = x & 0x7fff_ffff < 0x7f80_0000;
    if m.fp16_ovfl() && finite && h & 0x7fff == 0x7c00 { h - 1 } else { h }
}
#[inline(always)]
fn nearest_bf16(m: Mode, x: u32) -> u32 {
    let h = half::f32_to_bf16(f32::from_bits(x));
    let finite = x & 0x7fff_ffff < 0x7f80_0000;
    if m.fp16_ovfl() && finite && h & 0x7fff == 0x7f80 { h - 1 } else { h }
}

/// [-1, 1] to 16-bit signed, [0, 1] to unsigned; saturating, to nearest even. NaN is zero.
#[inline(always)]
fn snorm(x: f32) -> u32 {
    let r = (f64::from(x) * 32767.0).round_ties_even().clamp(-32767.0, 32767.0);
    r as i32 as u32 & 0xffff
}
#[inline(always)]
fn unorm(x: f32) -> u32 {
    (f64::from(x) * 65535.0).round_ties_even().clamp(0.0, 65535.0) as u32
}

/// Applies a function of f32 to both sources' values and packs the 16-bit results.
#[inline(always)]
fn pack32(w: &mut Wave, op: &Op, f: impl Fn(f32) -> u32) -> Flow {
    let m = w.mode;
    let read = |x: u32| f32::from_bits(fp::in32(m, x));
    map2(w, op, |a, b| f(read(a)) | f(read(b)) << 16)
}
#[inline(always)]
fn pack16(w: &mut Wave, op: &Op, f: impl Fn(f32) -> u32) -> Flow {
    let m = w.mode;
    let read = |x: u32| half::f16_to_f32(fp::in16(m, x));
    map2(w, op, |a, b| f(read(a)) | f(read(b)) << 16)
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VCvtF32I32 => op!(w, o => from_int(w, o, |x| x as i32 as f32, |x| (x as i32).into())),
        IsaOp::VCvtF32U32 => op!(w, o => from_int(w, o, |x| x as f32, i64::from)),
        IsaOp::VCvtF32Ubyte0 => op!(w, o => map1(w, o, |x| ((x & 255) as f32).to_bits())),
        IsaOp::VCvtF32Ubyte1 => op!(w, o => map1(w, o, |x| ((x >> 8 & 255) as f32).to_bits())),
        IsaOp::VCvtF32Ubyte2 => op!(w, o => map1(w, o, |x| ((x >> 16 & 255) as f32).to_bits())),
        IsaOp::VCvtF32Ubyte3 => op!(w, o => map1(w, o, |x| ((x >> 24) as f32).to_bits())),
        IsaOp::VCvtOffF32I4 => op!(w, o => map1(w, o, |x| (((x << 28) as i32 >> 28) as f32 * 0.0625).to_bits())),
        IsaOp::VCvtI32F32 => op!(w, o => map1(w, o, |x| f32::from_bits(x) as i32 as u32)),
        IsaOp::VCvtU32F32 => op!(w, o => map1(w, o, |x| f32::from_bits(x) as u32)),
        IsaOp::VCvtFlrI32F32 => op!(w, o => {
            let (m, known) = (w.mode, Nearest::of(w));
            map1(w, o, |x| known.integer(x, f32::from_bits(fp::in32(m, x)).floor().into()))
        }),
        IsaOp::VCvtRpiI32F32 => op!(w, o => {
            let (m, known) = (w.mode, Nearest::of(w));
            map1(w, o, |x| known.integer(x, known.plus_half(m, x).floor()))
        }),
        IsaOp::VCvtF32F16 => op!(w, o => { let m = w.mode; map1(w, o, |x| f32_from_f16(m, x)) }),
        IsaOp::VCvtF16F32 => op!(w, o => {
            let keep = w.mode.denorm_in32();
            to_f16(w, o, |x| f32::from_bits(fp::flush32(x, keep)))
        }),
        IsaOp::VCvtF32F64 => op!(w, o => f32_from_f64(w, o)),
        IsaOp::VCvtF64F32 => op!(w, o => { let m = w.mode; widen(w, o, |x| f64_from_f32(m, x)) }),
        IsaOp::VCvtI32F64 => op!(w, o => narrow(w, o, |x| f64::from_bits(x) as i32 as u32)),
        IsaOp::VCvtU32F64 => op!(w, o => narrow(w, o, |x| f64::from_bits(x) as u32)),
        IsaOp::VCvtF64I32 => op!(w, o => widen(w, o, |x| f64::from(x as i32).to_bits())),
        IsaOp::VCvtF64U32 => op!(w, o => widen(w, o, |x| f64::from(x).to_bits())),
        IsaOp::VCvtF16U16 => op!(w, o => to_f16(w, o, |x| (x & 0xffff) as f32)),
        IsaOp::VCvtF16I16 => {
            op!(w, o => to_f16(w, o, |x| f32::from(x as i16)))
        }
        IsaOp::VCvtU16F16 => op!(w, o => map1(w, o, |x| (half::f16_to_f32(x & 0xffff) as u16).into())),
        IsaOp::VCvtI16F16 => op!(w, o => map1(w, o, |x| half::f16_to_f32(x & 0xffff) as i16 as u16 as u32)),
        IsaOp::VCvtNormI16F16 => op!(w, o => {
            let m = w.mode;
            map1(w, o, |x| snorm(half::f16_to_f32(fp::in16(m, x))))
        }),
        IsaOp::VCvtNormU16F16 => op!(w, o => {
            let m = w.mode;
            map1(w, o, |x| unorm(half::f16_to_f32(fp::in16(m, x))))
        }),
        IsaOp::VCvtPknormI16F32 => op!(w, o => pack32(w, o, snorm)),
        IsaOp::VCvtPknormU16F32 => op!(w, o => pack32(w, o, unorm)),
        IsaOp::VCvtPknormI16F16 => op!(w, o => pack16(w, o, snorm)),
        IsaOp::VCvtPknormU16F16 => op!(w, o => pack16(w, o, unorm)),
        IsaOp::VCvtPkrtzF16F32 => op!(w, o => pkrtz(w, o)),
        IsaOp::VCvtPkF16F32 => {
            op!(w, o => { let m = w.mode; map2(w, o, |a, b| nearest_f16(m, a) | nearest_f16(m, b) << 16) })
        }
        IsaOp::VCvtPkBf16F32 => op!(w, o => {
            let m = w.mode;
            map2(w, o, |a, b| nearest_bf16(m, a) | nearest_bf16(m, b) << 16)
        }),
        IsaOp::VCvtF32Bf16 => op!(w, o => map1(w, o, |x| x << 16)),
        IsaOp::VCvtPkU16U32 => op!(w, o => map2(w, o, |a, b| a.min(0xffff) | b.min(0xffff) << 16)),
        IsaOp::VCvtPkI16I32 => op!(w, o => map2(w, o, |a, b| {
            let half = |x: u32| (x as i32).clamp(-32768, 32767) as u32 & 0xffff;
            half(a) | half(b) << 16
        })),
        IsaOp::VCvtPkU8F32 => op!(w, o => { let m = w.mode; map3(w, o, |a, b, c| pack_byte(m, a, b, c)) }),
        // The other bytes are the destination's.
        IsaOp::VCvtPkaccumU8F32 => {
            op!(w, o => { let m = w.mode; map3(w, o, |a, b, c| pack_byte(m, a, b, c)) }).accumulates()
        }
        _ => return None,
    })
}
