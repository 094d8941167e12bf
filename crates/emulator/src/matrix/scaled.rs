//! `v_mfma_f32_*_f8f6f4`, `v_mfma_scale_f32_*_f8f6f4`: A and B of any of five formats (CBSZ and BLGP say which), and of
//! the latter blocks of 32 elements along K that share a power of two.
//!
//! A lane holds 32 elements of a row: those of 4 and 6 bits one after the other, those of 8 bits in two pieces of
//! sixteen, so that the first registers hold the first half of K. The lanes of a row hold its scales in the order of its
//! blocks, each in the byte of its register that OP_SEL (low bit) and OP_SEL_HI (high bit) select.

use super::dense::{Product, Sides, rows};
use super::sum::{NAN, Span, TwoSums};
use super::types::{Bf6, Bf8, Element, Fp4, Fp6, Fp8, MOST_SCALED};
use crate::error::FaultKind;
use crate::fp::small::shared_exponent;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::wave::{Row, Wave};

/// Elements of each operand that a lane holds.
const PER_LANE: usize = 32;
type Side = super::types::Side<PER_LANE>;

/// M x M results; `SCALED`: the scales are in the rows that `op.imm2` names, those of A in its lower half-word.
pub struct Mixed<const M: usize, const SCALED: bool>;

/// Reads one operand; false if there is no such format.
#[inline(always)]
fn load<const M: usize>(side: &mut Side, format: u32, op: &Op, registers: &[Row]) -> bool {
    #[inline(always)]
    fn of<E: Element, const M: usize>(side: &mut Side, op: &Op, registers: &[Row]) {
        let groups = 64 / M;
        side.load::<E, M>(op, registers, 0, |lane, e| {
            let group = lane / M;
            let k = if E::BITS == 8 { (e / 16 * groups + group) * 16 + e % 16 } else { group * PER_LANE + e };
            k * M
        });
        side.split::<E>(op);
    }
    match format {
        0 => of::<Fp8, M>(side, op, registers),
        1 => of::<Bf8, M>(side, op, registers),
        2 => of::<Fp6, M>(side, op, registers),
        3 => of::<Bf6, M>(side, op, registers),
        4 => of::<Fp4, M>(side, op, registers),
        _ => return false,
    }
    true
}

/// Multiplies an operand by its blocks' scales; gives the rows (or columns) that have a NaN among them.
#[inline(always)]
fn scale<const M: usize>(side: &mut Side, scales: &Row, byte: u32) -> u64 {
    let mut nans = 0;
    let mut powers = [[0; M]; 4];
    let mut furthest = 0;
    for (block, powers) in powers.iter_mut().enumerate().take(64 / M) {
        for i in 0..M {
            match shared_exponent(scales.0[block * M + i] >> (8 * byte)) {
                None => nans |= 1 << i,
                Some(exponent) => powers[i] = exponent,
            }
            furthest = furthest.max(powers[i].abs());
        }
    }
    let narrow = furthest <= MOST_SCALED;
    if !narrow {
        // By the exponents that they have now.
        side.significands();
    }
    for (block, powers) in powers.iter().enumerate().take(64 / M) {
        side.scale(32 * block..32 * (block + 1), powers, narrow);
    }
    nans
}

impl<const M: usize, const SCALED: bool> Semantics for Mixed<M, SCALED> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let (mut a, mut b) = (Side::new(), Side::new());
        if !load::<M>(&mut a, mods.cbsz(), op, &w.rows[usize::from(op.src[0])..])
            || !load::<M>(&mut b, mods.blgp(), op, &w.rows[usize::from(op.src[1])..])
        {
            return w.fault(FaultKind::Unsupported, "a matrix operation on a format that does not exist".to_string());
        }
        let (mut a_nans, mut b_nans) = (0, 0);
        if SCALED {
            let byte = |k| u32::from(mods.op_sel(k)) | u32::from(mods.op_sel_hi(k)) << 1;
            a_nans = scale::<M>(&mut a, w.row(op.imm2 as u16), byte(0));
            b_nans = scale::<M>(&mut b, w.row((op.imm2 >> 16) as u16), byte(1));
        }
        let sides = Sides { a: &mut a, b: &mut b };
        let mut product = Scaled { op: *op, sides, a_nans, b_nans };
        rows::<M, 1>(w, op.dst, op.src[2], &mut product);
        Flow::Next
    }
}

struct Scaled<'a> {
    op: Op,
    sides: Sides<'a, PER_LANE>,
    /// Rows and columns that are NaNs by their scales.
    a_nans: u64,
    b_nans: u64,
}

impl<const M: usize> Product<M> for Scaled<'_> {
    #[inline(always)]
    fn add(&mut self, _block: usize, row: usize, c: &mut [u32; M]) {
        let at = Span { a: row, b: 0, k: 2048 / M, step: M };
        self.sides.add::<TwoSums, M>(&self.op, at, c);
        for (j, c) in c.iter_mut().enumerate() {
            if self.a_nans >> row & 1 != 0 || self.b_nans >> j & 1 != 0 {
                *c = NAN;
            }
        }
    }
}
