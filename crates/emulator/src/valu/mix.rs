//! `v_fma_mix`: f32 fused multiply-add whose sources are f32 or a half of a register, by op_sel_hi and op_sel.

use super::op;
use super::packed::clamp01;
use crate::fp::{self, half, soft};
use crate::op::{Flow, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

/// Source `k` as f32 bits, absolute value and sign applied.
#[inline(always)]
fn source(w: &Wave, op: &Op, k: u32) -> Row {
    let mods = RawMods(op.imm);
    let row = w.row(op.src[k as usize]);
    let (keep, flip) = (if mods.abs(k) { !fp::SIGN32 } else { !0 }, if mods.neg(k) { fp::SIGN32 } else { 0 });
    let mut out = Row::ZERO;
    if mods.op_sel_hi(k) {
        let m = w.mode;
        let shift = if mods.op_sel(k) { 16 } else { 0 };
        for i in 0..64 {
            let value = half::f16_to_f32(fp::in16(m, row.0[i] >> shift)).to_bits();
            out.0[i] = (value & keep) ^ flip;
        }
    } else {
        for i in 0..64 {
            out.0[i] = (row.0[i] & keep) ^ flip;
        }
    }
    out
}

#[inline(always)]
fn fma(w: &Wave, op: &Op) -> Row {
    let m = w.mode;
    let (a, b, c) = (source(w, op, 0), source(w, op, 1), source(w, op, 2));
    let mut out = Row::ZERO;
    let mut nan = !m.host32();
    for i in 0..64 {
        let r = f32::from_bits(a.0[i]).mul_add(f32::from_bits(b.0[i]), f32::from_bits(c.0[i]));
        nan |= r.is_nan();
        out.0[i] = r.to_bits();
    }
    if nan {
        for i in 0..64 {
            out.0[i] = soft::fma32(m, a.0[i], b.0[i], c.0[i]);
        }
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
fn to_half(w: &mut Wave, op: &Op, shift: u32) -> Flow {
    let m = w.mode;
    let mut out = fma(w, op);
    let old = w.row(op.dst);
    for i in 0..64 {
        let h = half::round_f16(m, f32::from_bits(out.0[i]));
        out.0[i] = old.0[i] & !(0xffff << shift) | h << shift;
    }
    w.write(op.dst, &out);
    Flow::Next
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    Some(match base {
        "v_fma_mix_f32" => op!(w, o => { let out = fma(w, o); w.write(o.dst, &out); Flow::Next }).raw_mods(),
        "v_fma_mixlo_f16" => op!(w, o => to_half(w, o, 0)).raw_mods(),
        "v_fma_mixhi_f16" => op!(w, o => to_half(w, o, 16)).raw_mods(),
        _ => return None,
    })
}
