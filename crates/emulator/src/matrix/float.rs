//! MFMA with f32 and f64 accumulators.

use super::element::Element;
use super::layout::{Gathered, a_block, b_lane, gather, result_place, result_registers};
use crate::fp::{flush32, quiet32, quiet64};
use crate::op::{Flow, Op, RawMods};
use crate::wave::{Row, Wave};

/// One register of D: every lane's dot product of a row of A and its column of B, added to C.
#[inline(always)]
fn register<const M: usize, const K: usize, const BLOCKS: usize>(
    r: usize,
    mods: RawMods,
    flush: bool,
    a: &Gathered<f32>,
    b: &Gathered<f32>,
    c: &Row,
    out: &mut Row,
) {
    let mut sum = [0f32; 64];
    for l in 0..64 {
        sum[l] = f32::from_bits(if flush { flush32(c.0[l], false) } else { c.0[l] });
    }
    // A run of lanes has one row of A and consecutive columns of B.
    for run in 0..64 / M {
        let (block, row, _) = result_place::<M>(r, run * M);
        let from = a_block(mods, block, BLOCKS);
        for k in 0..K {
            let x = a.0[(from * K + k) * M + row];
            for j in 0..M {
                let y = b.0[(block * K + k) * M + j];
                sum[run * M + j] = x.mul_add(y, sum[run * M + j]);
            }
        }
    }
    for l in 0..64 {
        let bits = quiet32(sum[l].to_bits());
        out.0[l] = if flush { flush32(bits, false) } else { bits };
    }
}

#[inline(always)]
pub fn run<E: Element, const M: usize, const K: usize, const BLOCKS: usize>(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let a = gather::<f32, M, K, BLOCKS>(E::PER_LANE, |l, e| E::read(w, op.src[0], l, e));
    let b = gather::<f32, M, K, BLOCKS>(E::PER_LANE, |l, e| E::read(w, op.src[1], b_lane(mods, l), e));
    // C may overlap D only in whole (the assembler's rule), so that register by register is right.
    for r in 0..result_registers(M, BLOCKS) {
        let mut out = Row::ZERO;
        register::<M, K, BLOCKS>(r, mods, E::FLUSH, &a, &b, w.row(op.src[2] + r as u16), &mut out);
        *w.row_mut(op.dst + r as u16) = out;
    }
    Flow::Next
}

#[inline(always)]
fn f64_at(w: &Wave, row: u16, l: usize) -> f64 {
    let (lo, hi) = w.pair(row);
    f64::from_bits(u64::from(lo.0[l]) | u64::from(hi.0[l]) << 32)
}

#[inline(always)]
fn set_f64(w: &mut Wave, row: u16, values: &[f64; 64]) {
    for (l, value) in values.iter().enumerate() {
        let bits = quiet64(value.to_bits());
        w.row_mut(row).0[l] = bits as u32;
        w.row_mut(row + 1).0[l] = (bits >> 32) as u32;
    }
}

/// 16 x 16 x 4, one block: A and B have k = l / 16, register pair r of D has row l / 16 + 4 r.
#[inline(always)]
pub fn run_f64_16(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let a: [f64; 64] = std::array::from_fn(|l| f64_at(w, op.src[0], l));
    let b: [f64; 64] = std::array::from_fn(|l| f64_at(w, op.src[1], b_lane(mods, l)));
    let c: [[f64; 64]; 4] = std::array::from_fn(|r| std::array::from_fn(|l| f64_at(w, op.src[2] + 2 * r as u16, l)));
    for (r, c) in c.iter().enumerate() {
        let mut out = *c;
        for (l, sum) in out.iter_mut().enumerate() {
            let (row, column) = (l / 16 + 4 * r, l % 16);
            for k in 0..4 {
                *sum = a[k * 16 + row].mul_add(b[k * 16 + column], *sum);
            }
        }
        set_f64(w, op.dst + 2 * r as u16, &out);
    }
    Flow::Next
}

/// 4 x 4 x 4, four blocks: lane = row (column) + 4 * block + 16 * k; D's lane = column + 4 * block + 16 * row.
#[inline(always)]
pub fn run_f64_4(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let a: [f64; 64] = std::array::from_fn(|l| f64_at(w, op.src[0], l));
    let b: [f64; 64] = std::array::from_fn(|l| f64_at(w, op.src[1], b_lane(mods, l)));
    let mut out: [f64; 64] = std::array::from_fn(|l| f64_at(w, op.src[2], l));
    for (l, sum) in out.iter_mut().enumerate() {
        let (column, block, row) = (l % 4, l / 4 % 4, l / 16);
        let from = a_block(mods, block, 4);
        for k in 0..4 {
            *sum = a[k * 16 + from * 4 + row].mul_add(b[k * 16 + block * 4 + column], *sum);
        }
    }
    set_f64(w, op.dst, &out);
    Flow::Next
}
