//! VOP3P: two 16-bit operations in a register, or two f32 operations in a pair.
//!
//! The 32-bit pairs read their modifiers themselves: selecting a word of a pair is selecting a row, which is free.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::shapes::{any_nan32, fma_f16, packed16};
use crate::fp::minmax::Rules;
use crate::fp::{self, half, minmax, soft};
use crate::lanes::{each_lane, fill3, map2, map3};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

#[inline(always)]
fn both(lo: u32, hi: u32) -> u32 {
    lo & 0xffff | hi << 16
}
/// Each half as a signed or unsigned number; `clamp` limits the result.
#[inline(always)]
fn unsigned(w: &mut Wave, op: &Op, f: impl Fn(i64, i64, i64) -> i64) -> Flow {
    if op.flags.contains(OpFlags::CLAMP) {
        let g = |a: u32, b: u32, c: u32| f(a.into(), b.into(), c.into()).clamp(0, 0xffff) as u32;
        map3(w, op, |a, b, c| both(g(a & 0xffff, b & 0xffff, c & 0xffff), g(a >> 16, b >> 16, c >> 16)))
    } else {
        let g = |a: u32, b: u32, c: u32| f(a.into(), b.into(), c.into()) as u32;
        map3(w, op, |a, b, c| both(g(a & 0xffff, b & 0xffff, c & 0xffff), g(a >> 16, b >> 16, c >> 16)))
    }
}
#[inline(always)]
fn signed(w: &mut Wave, op: &Op, f: impl Fn(i64, i64, i64) -> i64) -> Flow {
    let wide = |x: u32| i64::from(x as i16);
    if op.flags.contains(OpFlags::CLAMP) {
        let g = |a: u32, b: u32, c: u32| f(wide(a), wide(b), wide(c)).clamp(-32768, 32767) as u32;
        map3(w, op, |a, b, c| both(g(a, b, c), g(a >> 16, b >> 16, c >> 16)))
    } else {
        let g = |a: u32, b: u32, c: u32| f(wide(a), wide(b), wide(c)) as u32;
        map3(w, op, |a, b, c| both(g(a, b, c), g(a >> 16, b >> 16, c >> 16)))
    }
}
#[inline(always)]
fn shifts(w: &mut Wave, op: &Op, f: impl Fn(u16, u32) -> u16) -> Flow {
    map2(w, op, |a, b| both(f(b as u16, a & 15).into(), f((b >> 16) as u16, a >> 16 & 15).into()))
}
/// An operation of two sources on both halves.
macro_rules! minmax2 {
    ($f:path) => {
        op!(w, o => {
            let rules = Rules::of(w.mode, w.generation);
            let keep = rules.keeps16_64(w.mode) == [true; 2];
            let read = |x: u32| fp::flush16(x & 0xffff, keep);
            each_lane!(w, o, |a, b| both($f(rules, read(a), read(b)), $f(rules, read(a >> 16), read(b >> 16))))
        })
    };
}

#[inline(always)]
fn minmax3(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let (m, keep) = (w.mode, Rules::of(w.mode, w.generation).keeps16_64(w.mode)[1]);
    let g = |a: u32, b: u32, c: u32| fp::flush16(f(f(fp::in16(m, a), fp::in16(m, b)), fp::in16(m, c)), keep);
    map3(w, op, |a, b, c| both(g(a, b, c), g(a >> 16, b >> 16, c >> 16)))
}

/// [0, 1]; NaN becomes zero where MODE.dx10_clamp says so.
#[inline(always)]
pub(super) fn clamp01(m: Mode, x: u32) -> u32 {
    let v = f32::from_bits(x);
    let r = if v < 1.0 { v } else { 1.0 };
    let r = if r > 0.0 { r } else { 0.0 };
    let nan = if m.dx10_clamp() { 0 } else { x };
    if v.is_nan() { nan } else { r.to_bits() }
}

/// The row of a source word of a pair, and the sign to flip where asked.
#[inline(always)]
fn word<'w>(w: &'w Wave, op: &Op, k: u32, high: bool) -> (&'w Row, u32) {
    let mods = RawMods(op.imm);
    let (select, negate) = if high { (mods.op_sel_hi(k), mods.abs(k)) } else { (mods.op_sel(k), mods.neg(k)) };
    (w.row(op.src[k as usize] + u16::from(select)), if negate { fp::SIGN32 } else { 0 })
}

/// Both words; operations of two sources ignore the third.
#[inline(always)]
fn pair(
    w: &mut Wave,
    op: &Op,
    sources: u32,
    host: impl Fn(f32, f32, f32) -> f32,
    exact: fn(Mode, u32, u32, u32) -> u32,
) -> Flow {
    let low = one(w, op, sources, false, &host, exact);
    let high = one(w, op, sources, true, &host, exact);
    w.write(op.dst, &low);
    w.write(op.dst + 1, &high);
    Flow::Next
}

#[inline(always)]
fn one(
    w: &Wave,
    op: &Op,
    sources: u32,
    high: bool,
    host: &impl Fn(f32, f32, f32) -> f32,
    exact: fn(Mode, u32, u32, u32) -> u32,
) -> Row {
    let m = w.mode;
    let (a, flip_a) = word(w, op, 0, high);
    let (b, flip_b) = word(w, op, 1, high);
    let (c, flip_c) = word(w, op, if sources > 2 { 2 } else { 0 }, high);
    let nearest = m.round32() == Round::NearestEven;
    let mut out = Row::ZERO;
    if m.host32() {
        let read = f32::from_bits;
        fill3(&mut out, a, b, c, |a, b, c| host(read(a ^ flip_a), read(b ^ flip_b), read(c ^ flip_c)).to_bits());
    } else if nearest {
        let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
        let read = |x: u32| f32::from_bits(fp::flush32(x, ki));
        fill3(&mut out, a, b, c, |a, b, c| {
            fp::flush32(host(read(a ^ flip_a), read(b ^ flip_b), read(c ^ flip_c)).to_bits(), ko)
        });
    }
    if !nearest || any_nan32(&out) {
        for i in 0..64 {
            out.0[i] = exact(m, a.0[i] ^ flip_a, b.0[i] ^ flip_b, c.0[i] ^ flip_c);
        }
    }
    if RawMods(op.imm).clamp() {
        for x in &mut out.0 {
            *x = clamp01(m, *x);
        }
    }
    out
}

/// Low word from a word of source 0, high word from a word of source 1.
#[inline(always)]
fn mov(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let lo = *w.row(op.src[0] + u16::from(mods.op_sel(0)));
    let hi = *w.row(op.src[1] + u16::from(mods.op_sel(1)));
    w.write(op.dst, &lo);
    w.write(op.dst + 1, &hi);
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    use half::f32_to_f16 as to;
    Some(match op {
        IsaOp::VPkFmaF32 => op!(w, o => pair(w, o, 3, f32::mul_add, soft::fma32)).raw_mods(),
        IsaOp::VPkMulF32 => op!(w, o => pair(w, o, 2, |a, b, _| a * b, |m, a, b, _| soft::mul32(m, a, b))).raw_mods(),
        IsaOp::VPkAddF32 => op!(w, o => pair(w, o, 2, |a, b, _| a + b, |m, a, b, _| soft::add32(m, a, b))).raw_mods(),
        IsaOp::VPkMovB32 => op!(w, o => mov(w, o)).raw_mods(),
        IsaOp::VPkFmaF16 => op!(w, o => packed16(w, o, fma_f16, soft::fma16)),
        IsaOp::VPkFmacF16 => op!(w, o => packed16(w, o, fma_f16, soft::fma16)).accumulates(),
        IsaOp::VPkAddF16 => op!(w, o => packed16(w, o, |a, b, _| to(a + b), |m, a, b, _| soft::add16(m, a, b))),
        IsaOp::VPkMulF16 => op!(w, o => packed16(w, o, |a, b, _| to(a * b), |m, a, b, _| soft::mul16(m, a, b))),
        IsaOp::VPkMinF16 => minmax2!(minmax::min16),
        IsaOp::VPkMaxF16 => minmax2!(minmax::max16),
        IsaOp::VPkMinimum3F16 => op!(w, o => minmax3(w, o, minmax::minimum16)),
        IsaOp::VPkMaximum3F16 => op!(w, o => minmax3(w, o, minmax::maximum16)),
        IsaOp::VPkAddU16 => op!(w, o => unsigned(w, o, |a, b, _| a + b)),
        IsaOp::VPkSubU16 => op!(w, o => unsigned(w, o, |a, b, _| a - b)),
        IsaOp::VPkMulLoU16 => op!(w, o => map2(w, o, |a, b| {
            both((a & 0xffff).wrapping_mul(b & 0xffff), (a >> 16).wrapping_mul(b >> 16))
        })),
        IsaOp::VPkMadU16 => op!(w, o => unsigned(w, o, |a, b, c| a * b + c)),
        IsaOp::VPkMinU16 => op!(w, o => unsigned(w, o, |a, b, _| a.min(b))),
        IsaOp::VPkMaxU16 => op!(w, o => unsigned(w, o, |a, b, _| a.max(b))),
        IsaOp::VPkAddI16 => op!(w, o => signed(w, o, |a, b, _| a + b)),
        IsaOp::VPkSubI16 => op!(w, o => signed(w, o, |a, b, _| a - b)),
        IsaOp::VPkMadI16 => op!(w, o => signed(w, o, |a, b, c| a * b + c)),
        IsaOp::VPkMinI16 => op!(w, o => signed(w, o, |a, b, _| a.min(b))),
        IsaOp::VPkMaxI16 => op!(w, o => signed(w, o, |a, b, _| a.max(b))),
        IsaOp::VPkLshlrevB16 => op!(w, o => shifts(w, o, |x, n| x << n)),
        IsaOp::VPkLshrrevB16 => op!(w, o => shifts(w, o, |x, n| x >> n)),
        IsaOp::VPkAshrrevI16 => op!(w, o => shifts(w, o, |x, n| (x as i16 >> n) as u16)),
        _ => return None,
    })
}
