//! VOP3P: two 16-bit operations in a register, or two f32 operations in a pair.
//!
//! The 32-bit pairs read their modifiers themselves: selecting a word of a pair is selecting a row, which is free.

use super::float16::negated;
use super::op;
use super::shapes::{fma_f16, packed16};
use crate::fp::minmax::Rules;
use crate::fp::{self, half, minmax, soft};
use crate::lanes::{map2, map3};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op, OpFlags, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

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
#[inline(always)]
fn minmax2(w: &mut Wave, op: &Op, f: impl Fn(Rules, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let (rules, keep) = (Rules::of(w), m.denorm_in16_64() && m.denorm_out16_64());
    let read = |x: u32| fp::flush16(x & 0xffff, keep);
    map2(w, op, |a, b| both(f(rules, read(a), read(b)), f(rules, read(a >> 16), read(b >> 16))))
}

#[inline(always)]
fn minmax3(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let g = |a: u32, b: u32, c: u32| fp::out16(m, f(f(fp::in16(m, a), fp::in16(m, b)), fp::in16(m, c)));
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

/// A source word of a pair with its sign flipped where asked.
#[inline(always)]
fn word(w: &Wave, op: &Op, k: u32, high: bool, sources: u32) -> Row {
    let mods = RawMods(op.imm);
    let mut out = Row::ZERO;
    if k >= sources {
        return out;
    }
    let (select, negate) = if high { (mods.op_sel_hi(k), mods.abs(k)) } else { (mods.op_sel(k), mods.neg(k)) };
    let row = w.row(op.src[k as usize] + u16::from(select));
    let flip = if negate { fp::SIGN32 } else { 0 };
    for i in 0..64 {
        out.0[i] = row.0[i] ^ flip;
    }
    out
}

#[inline(always)]
fn pair(
    w: &mut Wave,
    op: &Op,
    sources: u32,
    host: impl Fn(f32, f32, f32) -> f32,
    exact: fn(Mode, u32, u32, u32) -> u32,
) -> Flow {
    let m = w.mode;
    let mods = RawMods(op.imm);
    let mut out = [Row::ZERO; 2];
    for (k, out) in out.iter_mut().enumerate() {
        let high = k == 1;
        let (a, b, c) = (word(w, op, 0, high, sources), word(w, op, 1, high, sources), word(w, op, 2, high, sources));
        let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
        let mut nan = 0;
        let nearest = m.round32() == Round::NearestEven;
        if m.host32() {
            for i in 0..64 {
                let r = host(f32::from_bits(a.0[i]), f32::from_bits(b.0[i]), f32::from_bits(c.0[i]));
                nan |= u32::from(r.is_nan());
                out.0[i] = r.to_bits();
            }
        } else if nearest {
            let read = |x: u32| f32::from_bits(fp::flush32(x, ki));
            for i in 0..64 {
                let r = host(read(a.0[i]), read(b.0[i]), read(c.0[i]));
                nan |= u32::from(r.is_nan());
                out.0[i] = fp::flush32(r.to_bits(), ko);
            }
        }
        if nan != 0 || !nearest {
            for i in 0..64 {
                out.0[i] = exact(m, a.0[i], b.0[i], c.0[i]);
            }
        }
        if mods.clamp() {
            for x in &mut out.0 {
                *x = clamp01(m, *x);
            }
        }
    }
    w.write(op.dst, &out[0]);
    w.write(op.dst + 1, &out[1]);
    Flow::Next
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

pub fn lookup(base: &str) -> Option<ValuOp> {
    use half::f32_to_f16 as to;
    Some(match base {
        "v_pk_fma_f32" => op!(w, o => pair(w, o, 3, f32::mul_add, soft::fma32)).raw_mods(),
        "v_pk_mul_f32" => op!(w, o => pair(w, o, 2, |a, b, _| a * b, |m, a, b, _| soft::mul32(m, a, b))).raw_mods(),
        "v_pk_add_f32" => op!(w, o => pair(w, o, 2, |a, b, _| a + b, |m, a, b, _| soft::add32(m, a, b))).raw_mods(),
        "v_pk_mov_b32" => op!(w, o => mov(w, o)).raw_mods(),
        "v_pk_fma_f16" => op!(w, o => packed16(w, o, fma_f16, soft::fma16)),
        "v_pk_fmac_f16" => op!(w, o => packed16(w, o, fma_f16, soft::fma16)).accumulates(),
        "v_pk_add_f16" => op!(w, o => packed16(w, o, |a, b, _| to(a + b), |m, a, b, _| soft::add16(m, a, b))),
        "v_pk_sub_f16" => {
            op!(w, o => packed16(w, o, |a, b, _| to(a - b), |m, a, b, _| soft::add16(m, a, negated(b))))
        }
        "v_pk_mul_f16" => op!(w, o => packed16(w, o, |a, b, _| to(a * b), |m, a, b, _| soft::mul16(m, a, b))),
        "v_pk_min_f16" => op!(w, o => minmax2(w, o, minmax::min16)),
        "v_pk_max_f16" => op!(w, o => minmax2(w, o, minmax::max16)),
        "v_pk_minimum3_f16" => op!(w, o => minmax3(w, o, minmax::minimum16)),
        "v_pk_maximum3_f16" => op!(w, o => minmax3(w, o, minmax::maximum16)),
        "v_pk_add_u16" => op!(w, o => unsigned(w, o, |a, b, _| a + b)),
        "v_pk_sub_u16" => op!(w, o => unsigned(w, o, |a, b, _| a - b)),
        "v_pk_mul_lo_u16" => op!(w, o => map2(w, o, |a, b| {
            both((a & 0xffff).wrapping_mul(b & 0xffff), (a >> 16).wrapping_mul(b >> 16))
        })),
        "v_pk_mad_u16" => op!(w, o => unsigned(w, o, |a, b, c| a * b + c)),
        "v_pk_min_u16" => op!(w, o => unsigned(w, o, |a, b, _| a.min(b))),
        "v_pk_max_u16" => op!(w, o => unsigned(w, o, |a, b, _| a.max(b))),
        "v_pk_add_i16" => op!(w, o => signed(w, o, |a, b, _| a + b)),
        "v_pk_sub_i16" => op!(w, o => signed(w, o, |a, b, _| a - b)),
        "v_pk_mad_i16" => op!(w, o => signed(w, o, |a, b, c| a * b + c)),
        "v_pk_min_i16" => op!(w, o => signed(w, o, |a, b, _| a.min(b))),
        "v_pk_max_i16" => op!(w, o => signed(w, o, |a, b, _| a.max(b))),
        "v_pk_lshlrev_b16" => op!(w, o => shifts(w, o, |x, n| x << n)),
        "v_pk_lshrrev_b16" => op!(w, o => shifts(w, o, |x, n| x >> n)),
        "v_pk_ashrrev_i16" => op!(w, o => shifts(w, o, |x, n| (x as i16 >> n) as u16)),
        _ => return None,
    })
}
