//! The f64 forms. A and B have one element a lane, a register pair.
//!
//! 16x16x4: `lane = k * 16 + row`; register pair `r` of the result holds rows `4 * r + lane / 16`, column `lane % 16`.
//! 4x4x4, four blocks: `lane = k * 16 + block * 4 + row`; the result has row `lane / 16`, block `lane / 4 % 4`, column
//! `lane % 4`.

use crate::error::FaultKind;
use crate::op::{Flow, Op, OpFlags, RawMods, Semantics};
use crate::wave::Wave;

pub struct Double16;
pub struct Double4;

/// The NaN of results.
const NAN: u64 = 0x7ff8 << 48;

#[inline(always)]
fn load(w: &Wave, row: u16) -> [f64; 64] {
    let (low, high) = (&w.rows[usize::from(row)].0, &w.rows[usize::from(row) + 1].0);
    let mut out = [0.0; 64];
    for i in 0..64 {
        out[i] = f64::from_bits(u64::from(low[i]) | u64::from(high[i]) << 32);
    }
    out
}

#[inline(always)]
fn store(w: &mut Wave, row: u16, values: &[f64; 64]) {
    for i in 0..64 {
        let bits = if values[i].is_nan() { NAN } else { values[i].to_bits() };
        w.rows[usize::from(row)].0[i] = bits as u32;
        w.rows[usize::from(row) + 1].0[i] = (bits >> 32) as u32;
    }
}

/// gfx90a gives the broadcast fields no meaning for f64. CDNA3 negates A, B and C by BLGP's bits.
#[inline(always)]
fn refuse(w: &mut Wave, op: &Op) -> Option<Flow> {
    let mods = RawMods(op.imm);
    let negates = op.flags.contains(OpFlags::CDNA3);
    (mods.cbsz() != 0 || (mods.blgp() != 0 && !negates) || mods.abid() != 0)
        .then(|| w.fault(FaultKind::Unsupported, "an f64 matrix operation with cbsz, abid or blgp".to_string()))
}

/// Operand `k` with its sign as BLGP says.
#[inline(always)]
fn operand(w: &Wave, op: &Op, k: u32, row: u16) -> [f64; 64] {
    let mut values = load(w, row);
    if RawMods(op.imm).blgp() >> k & 1 != 0 {
        values.iter_mut().for_each(|value| *value = -*value);
    }
    values
}

impl Semantics for Double16 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        if let Some(flow) = refuse(w, op) {
            return flow;
        }
        let (a, b) = (operand(w, op, 0, op.src[0]), operand(w, op, 1, op.src[1]));
        let mut results = [[0.0; 64]; 4];
        for (r, result) in results.iter_mut().enumerate() {
            *result = operand(w, op, 2, op.src[2] + 2 * r as u16);
            for k in 0..4 {
                // All 64 lanes are one loop, see `accumulate`.
                let (mut x, mut y) = ([0.0; 64], [0.0; 64]);
                for (part, (x, y)) in x.chunks_exact_mut(16).zip(y.chunks_exact_mut(16)).enumerate() {
                    x.fill(a[k * 16 + 4 * r + part]);
                    y.copy_from_slice(&b[k * 16..][..16]);
                }
                for lane in 0..64 {
                    result[lane] = x[lane].mul_add(y[lane], result[lane]);
                }
            }
        }
        for (r, result) in results.iter().enumerate() {
            store(w, op.dst + 2 * r as u16, result);
        }
        Flow::Next
    }
}

impl Semantics for Double4 {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        if let Some(flow) = refuse(w, op) {
            return flow;
        }
        let (a, b) = (operand(w, op, 0, op.src[0]), operand(w, op, 1, op.src[1]));
        let mut result = operand(w, op, 2, op.src[2]);
        for k in 0..4 {
            for lane in 0..64 {
                let block = lane / 4 % 4 * 4;
                result[lane] = a[k * 16 + block + lane / 16].mul_add(b[k * 16 + block + lane % 4], result[lane]);
            }
        }
        store(w, op.dst, &result);
        Flow::Next
    }
}
