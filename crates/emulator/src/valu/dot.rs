//! Dot products of 2 halves, 4 bytes or 8 nibbles, added to a 32-bit accumulator.
//!
//! Floating-point ones of RDNA3 and RDNA4: [`crate::fp::dot`]. Those with 16-bit results read and write the halves that
//! OP_SEL's last two bits say; abs and neg are those of both halves of a source. (Measured on an RX 9070, gfx1201,
//! by the makers of bjacob/goc, whose tests compare with it.) OP_SEL's first two bits LLVM
//! does not assemble, and they are refused. RDNA1 and RDNA2 compute as GCN and CDNA do here, which is the manual's order.

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::fp::dot::{Bf8, Bf16, F16, Factor, Fp8, Rdna3, Rdna4, Result, Single, Unit, exact, left, product, take};
use crate::fp::{self, flush16, flush32, half, soft};
use crate::lanes::{fill1, map3};
use crate::mode::Round;
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;
use luthier_isa::Generation;

/// Element `k` of `32 / N` bits, sign-extended or not.
#[inline(always)]
fn element<const N: u32, const SIGNED: bool>(x: u32, k: u32) -> i64 {
    let bits = 32 / N;
    let top = x << (32 - bits * (k + 1));
    if SIGNED { i64::from(top as i32 >> (32 - bits)) } else { i64::from(top >> (32 - bits)) }
}

#[inline(always)]
fn integer<const N: u32, const SIGNED: bool>(w: &mut Wave, op: &Op) -> Flow {
    let clamp = op.flags.contains(OpFlags::CLAMP);
    map3(w, op, |a, b, c| {
        let start = if SIGNED { i64::from(c as i32) } else { i64::from(c) };
        let sum = (0..N).fold(start, |s, k| s + element::<N, SIGNED>(a, k) * element::<N, SIGNED>(b, k));
        let (low, high) = if SIGNED { (i32::MIN.into(), i32::MAX.into()) } else { (0, u32::MAX.into()) };
        if clamp { sum.clamp(low, high) as u32 } else { sum as u32 }
    })
}

/// A rounding after each of the two (exact) products is added; denormals of 32 bits are flushed, those of halves on CDNA 2
/// alone (measured: llvm/llvm-project#205101).
#[inline(always)]
fn halves(w: &mut Wave, op: &Op) -> Flow {
    let keeps = w.generation != Generation::Gfx90a;
    let read = |h: u32| half::f16_to_f32(flush16(h & 0xffff, keeps));
    let round = w.mode.round32();
    if round != Round::NearestEven {
        let bits = |h: u32| u64::from(read(h).to_bits());
        return map3(w, op, |a, b, c| {
            let c = flush32(c, false).into();
            let sum = soft::fma(soft::F32, round, bits(a), bits(b), c);
            flush32(soft::fma(soft::F32, round, bits(a >> 16), bits(b >> 16), sum) as u32, false)
        });
    }
    map3(w, op, |a, b, c| {
        let c = f32::from_bits(flush32(c, false));
        let sum = read(a).mul_add(read(b), c);
        let sum = read(a >> 16).mul_add(read(b >> 16), sum);
        flush32(if sum.is_nan() { sum.to_bits() | 0x0040_0000 } else { sum.to_bits() }, false)
    })
}

/// As [`halves`], bf16, whose products are rounded themselves. CDNA4's three-source form adds the accumulator last.
#[inline(always)]
fn bhalves<const ACCUMULATES: bool>(w: &mut Wave, op: &Op) -> Flow {
    let read = |h: u32| flush32(h << 16, false);
    let round = w.mode.round32();
    let multiply = |a: u32, b: u32| soft::mul(soft::F32, round, read(a).into(), read(b).into());
    let add = |a: u64, b: u64| soft::add(soft::F32, round, a, b);
    map3(w, op, |a, b, c| {
        let (c, low, high) = (flush32(c, false).into(), multiply(a, b), multiply(a >> 16, b >> 16));
        let sum = if ACCUMULATES { add(add(c, low), high) } else { add(add(low, high), c) };
        flush32(sum as u32, false)
    })
}

/// Bytes or nibbles; NEG says whether each source's are signed; the sum is.
#[inline(always)]
fn mixed<const N: u32>(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let (clamp, signed) = (mods.clamp(), [mods.neg(0), mods.neg(1)]);
    let pick = |x: u32, k: u32, signed: bool| {
        if signed { element::<N, true>(x, k) } else { element::<N, false>(x, k) }
    };
    map3(w, op, |a, b, c| {
        let start = i64::from(c as i32);
        let sum = (0..N).fold(start, |s, k| s + pick(a, k, signed[0]) * pick(b, k, signed[1]));
        if clamp { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum as u32 }
    })
}

/// gfx1250's form of [`bhalves`], with denormals as MODE has them. A product that is too large for f32 is infinite.
#[inline(always)]
fn bf16s(w: &mut Wave, op: &Op) -> Flow {
    let (m, round) = (w.mode, w.mode.round32());
    let read = |h: u32| u64::from(flush32(h << 16, m.denorm_in16_64()));
    let add =
        |sum: u64, a: u32, b: u32| soft::add(soft::F32, round, sum, soft::mul(soft::F32, round, read(a), read(b)));
    map3(w, op, |a, b, c| {
        let sum = add(fp::in32(m, c).into(), a, b);
        fp::out32(m, add(sum, a >> 16, b >> 16) as u32)
    })
}

/// `N` products a lane, as the dot product unit sums them: sources and C by lane.
#[inline(always)]
fn fixed<U: Unit, A: Factor, B: Factor, R: Result, const N: usize>(
    [a, b, c]: [&Row; 3],
    saturates: bool,
    out: &mut Row,
) {
    let codes = |word: u32, bits: u32| {
        let mut codes = [0; N];
        for (k, code) in codes.iter_mut().enumerate() {
            *code = word >> (k as u32 * bits) & ((1 << bits) - 1);
        }
        codes
    };
    let mut rare = [0u32; 64];
    for i in 0..64 {
        let (x, y) = (codes(a.0[i], A::BITS), codes(b.0[i], B::BITS));
        let special = (0..N).fold(R::is_special(c.0[i]), |s, k| s | A::is_special(x[k]) | B::is_special(y[k]));
        let products = std::array::from_fn(|k| product(left::<A, B>(take::<U, A>(x[k])), take::<U, B>(y[k])));
        let (sum, last) = U::sum::<R, N, N>(products, R::addend::<U, A>(c.0[i]));
        let (bits, size) = R::fast::<U>(sum, last);
        out.0[i] = bits;
        rare[i] = u32::from(special | (size > R::LIMIT));
    }
    if rare.iter().fold(0, |any, rare| any | rare) == 0 {
        return;
    }
    for i in 0..64 {
        if rare[i] != 0 {
            out.0[i] = exact::<U, A, B, R, N, N>(codes(a.0[i], A::BITS), codes(b.0[i], B::BITS), c.0[i], saturates);
        }
    }
}

/// A 32-bit result.
#[inline(always)]
fn single<U: Unit, A: Factor, B: Factor, const N: usize>(w: &mut Wave, op: &Op) -> Flow {
    let mut out = Row::ZERO;
    let sources = [w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2])];
    fixed::<U, A, B, Single, N>(sources, false, &mut out);
    w.write(op.dst, &out);
    Flow::Next
}

/// A 16-bit result and addend, in lower halves.
#[inline(always)]
fn narrow<U: Unit, T: Factor + Result>(w: &mut Wave, op: &Op) -> Flow {
    let (mut c, mut out) = (Row::ZERO, Row::ZERO);
    fill1(&mut c, w.row(op.src[2]), |c| c & 0xffff);
    fixed::<U, T, T, T, 2>([w.row(op.src[0]), w.row(op.src[1]), &c], w.mode.fp16_ovfl(), &mut out);
    w.write(op.dst, &out);
    Flow::Next
}

/// f16 to f32, by generation.
#[inline(always)]
fn f16s(w: &mut Wave, op: &Op) -> Flow {
    match w.generation {
        Generation::Gfx11 => single::<Rdna3, F16, F16, 2>(w, op),
        Generation::Gfx12 => single::<Rdna4, F16, F16, 2>(w, op),
        _ => halves(w, op),
    }
}

/// bf16 to f32, by generation.
#[inline(always)]
fn brains(w: &mut Wave, op: &Op) -> Flow {
    match w.generation {
        Generation::Gfx11 => single::<Rdna3, Bf16, Bf16, 2>(w, op),
        Generation::Gfx12 => single::<Rdna4, Bf16, Bf16, 2>(w, op),
        g if g.is_gfx9_family() => bhalves::<false>(w, op),
        _ => bf16s(w, op),
    }
}

#[inline(always)]
fn halves16<T: Factor + Result>(w: &mut Wave, op: &Op) -> Flow {
    if w.generation == Generation::Gfx11 { narrow::<Rdna3, T>(w, op) } else { narrow::<Rdna4, T>(w, op) }
}

/// OP_SEL's bits of the two sources that are pairs.
const PAIRS_OP_SEL: u64 = 3 << 6;

/// A half of VOPD's, which no instruction of its own has.
pub fn dot2acc_f32_bf16() -> ValuOp {
    op!(w, o => brains(w, o)).accumulates()
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VDot2F32F16 => op!(w, o => f16s(w, o)),
        IsaOp::VDot2cF32F16 => op!(w, o => f16s(w, o)).accumulates(),
        IsaOp::VDot2F32Bf16 => op!(w, o => brains(w, o)),
        IsaOp::VDot2cF32Bf16 => op!(w, o => bhalves::<true>(w, o)).accumulates(),
        IsaOp::VDot2F16F16 => op!(w, o => halves16::<F16>(w, o)).keep_high().refuses(PAIRS_OP_SEL),
        IsaOp::VDot2Bf16Bf16 => op!(w, o => halves16::<Bf16>(w, o)).keep_high().refuses(PAIRS_OP_SEL),
        IsaOp::VDot4F32Fp8Fp8 => op!(w, o => single::<Rdna4, Fp8, Fp8, 4>(w, o)),
        IsaOp::VDot4F32Fp8Bf8 => op!(w, o => single::<Rdna4, Fp8, Bf8, 4>(w, o)),
        IsaOp::VDot4F32Bf8Fp8 => op!(w, o => single::<Rdna4, Bf8, Fp8, 4>(w, o)),
        IsaOp::VDot4F32Bf8Bf8 => op!(w, o => single::<Rdna4, Bf8, Bf8, 4>(w, o)),
        IsaOp::VDot4I32Iu8 => op!(w, o => mixed::<4>(w, o)).raw_mods(),
        IsaOp::VDot8I32Iu4 => op!(w, o => mixed::<8>(w, o)).raw_mods(),
        IsaOp::VDot2I32I16 => op!(w, o => integer::<2, true>(w, o)),
        IsaOp::VDot2cI32I16 => op!(w, o => integer::<2, true>(w, o)).accumulates(),
        IsaOp::VDot2U32U16 => op!(w, o => integer::<2, false>(w, o)),
        IsaOp::VDot4I32I8 => op!(w, o => integer::<4, true>(w, o)),
        IsaOp::VDot4cI32I8 => op!(w, o => integer::<4, true>(w, o)).accumulates(),
        IsaOp::VDot4U32U8 => op!(w, o => integer::<4, false>(w, o)),
        IsaOp::VDot8I32I4 => op!(w, o => integer::<8, true>(w, o)),
        IsaOp::VDot8cI32I4 => op!(w, o => integer::<8, true>(w, o)).accumulates(),
        IsaOp::VDot8U32U4 => op!(w, o => integer::<8, false>(w, o)),
        _ => return None,
    })
}
