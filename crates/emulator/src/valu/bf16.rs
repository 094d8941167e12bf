//! Arithmetic on bf16: gfx1250. Rounding and denormals are those that MODE has for f16.
//!
//! Sums and products are rounded once. Transcendentals are the nearest bf16, which the hardware's differ from by one
//! unit in the last place at most.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::packed::clamp01;
use super::unit32::{cos_all, exp2_all, log2_all, sin_all};
use crate::error::FaultKind;
use crate::fp::minmax::Rules;
use crate::fp::{half, minmax, soft};
use crate::lanes::{map1, map2, map3};
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// A bf16 as MODE has it read or written.
#[inline(always)]
fn flush(x: u32, keep: bool) -> u32 {
    if !keep && x & 0x7f80 == 0 { x & 0x8000 } else { x & 0xffff }
}

/// What FP16_OVFL does to results that are too large for bf16 is not known.
fn saturates(w: &mut Wave) -> Option<Flow> {
    w.mode.fp16_ovfl().then(|| w.fault(FaultKind::Unsupported, "bf16 with FP16_OVFL is not modelled".into()))
}

fn fma(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let read = |x| u64::from(flush(x, m.denorm_in16_64()));
    flush(soft::fma(soft::BF16, m.round16_64(), read(a), read(b), read(c)) as u32, m.denorm_out16_64())
}
fn multiply(m: Mode, a: u32, b: u32, _: u32) -> u32 {
    let read = |x| u64::from(flush(x, m.denorm_in16_64()));
    flush(soft::mul(soft::BF16, m.round16_64(), read(a), read(b)) as u32, m.denorm_out16_64())
}
fn add(m: Mode, a: u32, b: u32, _: u32) -> u32 {
    let read = |x| u64::from(flush(x, m.denorm_in16_64()));
    flush(soft::add(soft::BF16, m.round16_64(), read(a), read(b)) as u32, m.denorm_out16_64())
}

/// f in both halves.
fn packed(w: &mut Wave, op: &Op, sources: usize, f: fn(Mode, u32, u32, u32) -> u32) -> Flow {
    if let Some(flow) = saturates(w) {
        return flow;
    }
    let m = w.mode;
    let both =
        |a: u32, b: u32, c: u32| f(m, a & 0xffff, b & 0xffff, c & 0xffff) | f(m, a >> 16, b >> 16, c >> 16) << 16;
    if sources == 3 { map3(w, op, both) } else { map2(w, op, |a, b| both(a, b, 0)) }
}

/// Minimum or maximum, which bf16 has as f32 has it: it is f32's upper half.
fn select(w: &mut Wave, op: &Op, f: fn(Rules, u32, u32) -> u32) -> Flow {
    let (m, rules) = (w.mode, Rules::of(w.mode, w.generation));
    let keep = rules.keeps16_64(m) == [true; 2];
    let one = |a: u32, b: u32| f(rules, flush(a, keep) << 16, flush(b, keep) << 16) >> 16;
    map2(w, op, |a, b| one(a & 0xffff, b & 0xffff) | one(a >> 16, b >> 16) << 16)
}

/// One number, by a function of f64.
fn approximate(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64) -> Flow {
    if let Some(flow) = saturates(w) {
        return flow;
    }
    let m = w.mode;
    map1(w, op, |x| {
        let x = flush(x, m.denorm_in16_64());
        let wide = half::bf16_to_f32(x);
        if wide.is_nan() {
            return x | 0x40;
        }
        let r = f(wide.into());
        let r = if r.is_nan() { 0xffc0 } else { half::f32_to_bf16(half::f64_to_f32_odd(r)) };
        flush(r, m.denorm_out16_64())
    })
}

/// Source `k` of a mixed operation as f32 bits: a bf16 where OP_SEL_HI says so.
fn mixed_source(w: &Wave, op: &Op, k: u32) -> Row {
    let mods = RawMods(op.imm);
    let keep = w.mode.denorm_in16_64();
    let shift = if mods.op_sel(k) { 16 } else { 0 };
    Row(w.row(op.src[k as usize]).0.map(|x| {
        let x = if mods.op_sel_hi(k) { flush(x >> shift & 0xffff, keep) << 16 } else { x };
        let x = if mods.abs(k) { x & 0x7fff_ffff } else { x };
        if mods.neg(k) { x ^ 0x8000_0000 } else { x }
    }))
}

fn mixed(w: &Wave, op: &Op) -> Row {
    let m = w.mode;
    let sources: [Row; 3] = std::array::from_fn(|k| mixed_source(w, op, k as u32));
    Row(std::array::from_fn(|i| {
        let x = soft::fma32(m, sources[0].0[i], sources[1].0[i], sources[2].0[i]);
        if RawMods(op.imm).clamp() { clamp01(m, x) } else { x }
    }))
}

/// The f32 result, rounded again, into one half of the destination.
fn mixed_half(w: &mut Wave, op: &Op, shift: u32) -> Flow {
    if let Some(flow) = saturates(w) {
        return flow;
    }
    let m = w.mode;
    let (result, old) = (mixed(w, op), *w.row(op.dst));
    let narrow = |x: u32| match m.round16_64() {
        Round::NearestEven => half::f32_to_bf16(f32::from_bits(x)),
        round => soft::convert(soft::F32, soft::BF16, round, x.into()) as u32,
    };
    let out = Row(std::array::from_fn(|i| {
        let h = flush(narrow(result.0[i]), m.denorm_out16_64());
        old.0[i] & !(0xffff << shift) | h << shift
    }));
    w.write(op.dst, &out);
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VPkFmaBf16 => op!(scalar w, o => packed(w, o, 3, fma)),
        IsaOp::VPkMulBf16 => op!(scalar w, o => packed(w, o, 2, multiply)),
        IsaOp::VPkAddBf16 => op!(scalar w, o => packed(w, o, 2, add)),
        IsaOp::VPkMinNumBf16 => op!(scalar w, o => select(w, o, minmax::min32)),
        IsaOp::VPkMaxNumBf16 => op!(scalar w, o => select(w, o, minmax::max32)),
        IsaOp::VExpBf16 => op!(scalar w, o => approximate(w, o, exp2_all)).keep_high(),
        IsaOp::VLogBf16 => op!(scalar w, o => approximate(w, o, log2_all)).keep_high(),
        IsaOp::VRcpBf16 => op!(scalar w, o => approximate(w, o, |x| 1.0 / x)).keep_high(),
        IsaOp::VRsqBf16 => op!(scalar w, o => approximate(w, o, |x| 1.0 / x.sqrt())).keep_high(),
        IsaOp::VSqrtBf16 => op!(scalar w, o => approximate(w, o, f64::sqrt)).keep_high(),
        IsaOp::VSinBf16 => op!(scalar w, o => approximate(w, o, sin_all)).keep_high(),
        IsaOp::VCosBf16 => op!(scalar w, o => approximate(w, o, cos_all)).keep_high(),
        IsaOp::VTanhBf16 => op!(scalar w, o => approximate(w, o, f64::tanh)).keep_high(),
        IsaOp::VFmaMixF32Bf16 => op!(scalar w, o => { let x = mixed(w, o); w.write(o.dst, &x); Flow::Next }).raw_mods(),
        IsaOp::VFmaMixloBf16 => op!(scalar w, o => mixed_half(w, o, 0)).raw_mods(),
        IsaOp::VFmaMixhiBf16 => op!(scalar w, o => mixed_half(w, o, 16)).raw_mods(),
        _ => return None,
    })
}
