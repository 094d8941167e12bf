//! `v_fma_mix`, and the unfused `v_mad_mix` of the first processors: f32 multiply-add whose sources are f32 or a half of a register, by op_sel_hi and op_sel.

use luthier_isa::op::Op as IsaOp;

use super::packed::clamp01;
use super::shapes::any_nan32;
use super::{convert, float32, op};
use crate::fp::{self, half, soft};
use crate::lanes::{fill1, fill2, fill3};
use crate::op::{Flow, Op, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// Source `k` as f32 bits, absolute value and sign applied.
#[inline(always)]
fn source(w: &Wave, op: &Op, k: u32) -> Row {
    let mods = RawMods(op.imm);
    let row = w.row(op.src[k as usize]);
    let (keep, flip) = (if mods.abs(k) { !fp::SIGN32 } else { !0 }, if mods.neg(k) { fp::SIGN32 } else { 0 });
    let mut out = Row::ZERO;
    if mods.op_sel_hi(k) {
        let keep_denormals = if w.mode.denorm_in16_64() { !0 } else { 0x8000 };
        let shift = if mods.op_sel(k) { 16 } else { 0 };
        for i in 0..64 {
            let half = row.0[i] >> shift & 0xffff;
            let half = if half & 0x7c00 == 0 { half & keep_denormals } else { half };
            out.0[i] = (half::f16_to_f32(half).to_bits() & keep) ^ flip;
        }
    } else {
        fill1(&mut out, row, |x| (x & keep) ^ flip);
    }
    out
}

/// Loops, not closures: see [`super::shapes`].
#[inline(always)]
fn fma_rows(out: &mut Row, a: &Row, b: &Row, c: &Row) {
    for i in 0..64 {
        let (a, b, c) = (f32::from_bits(a.0[i]), f32::from_bits(b.0[i]), f32::from_bits(c.0[i]));
        out.0[i] = a.mul_add(b, c).to_bits();
    }
}

/// Rounds the product too, and flushes denormals, as `v_mad_f32` does.
#[inline(always)]
fn mad(w: &Wave, op: &Op) -> Row {
    let m = w.mode;
    let (a, b, c) = (source(w, op, 0), source(w, op, 1), source(w, op, 2));
    let mut out = Row::ZERO;
    fill3(&mut out, &a, &b, &c, |a, b, c| float32::mad(m, a, b, c));
    if RawMods(op.imm).clamp() {
        for x in &mut out.0 {
            *x = clamp01(m, *x);
        }
    }
    out
}

#[inline(always)]
fn fma(w: &Wave, op: &Op) -> Row {
    let m = w.mode;
    let (a, b, c) = (source(w, op, 0), source(w, op, 1), source(w, op, 2));
    let mut out = Row::ZERO;
    fma_rows(&mut out, &a, &b, &c);
    if !m.host32() || any_nan32(&out) {
        fill3(&mut out, &a, &b, &c, |a, b, c| soft::fma32(m, a, b, c));
    }
    if RawMods(op.imm).clamp() {
        for x in &mut out.0 {
            *x = clamp01(m, *x);
        }
    }
    out
}

/// The f32 result, rounded again, into one half of the destination; the other half stays.
#[inline(always)]
fn to_half(w: &mut Wave, op: &Op, shift: u32, result: &Row) -> Flow {
    let m = w.mode;
    let old = w.row(op.dst);
    let mut out = Row::ZERO;
    let merge = |old: u32, h: u32| old & !(0xffff << shift) | h << shift;
    if half::plain_f16(m) {
        let keep = m.denorm_out16_64();
        let mut rounded = Row::ZERO;
        convert::half_rows(&mut rounded, result, keep, f32::from_bits);
        fill2(&mut out, &rounded, old, |h, old| merge(old, h));
    } else {
        fill2(&mut out, result, old, |x, old| merge(old, half::round_f16(m, f32::from_bits(x))));
    }
    w.write(op.dst, &out);
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VFmaMixF32 => op!(w, o => { let out = fma(w, o); w.write(o.dst, &out); Flow::Next }).raw_mods(),
        IsaOp::VFmaMixloF16 => op!(w, o => { let x = fma(w, o); to_half(w, o, 0, &x) }).raw_mods(),
        IsaOp::VFmaMixhiF16 => op!(w, o => { let x = fma(w, o); to_half(w, o, 16, &x) }).raw_mods(),
        IsaOp::VMadMixF32 => op!(w, o => { let out = mad(w, o); w.write(o.dst, &out); Flow::Next }).raw_mods(),
        IsaOp::VMadMixloF16 => op!(w, o => { let x = mad(w, o); to_half(w, o, 0, &x) }).raw_mods(),
        IsaOp::VMadMixhiF16 => op!(w, o => { let x = mad(w, o); to_half(w, o, 16, &x) }).raw_mods(),
        _ => return None,
    })
}
