//! `v_mfma_f32_*_f8f6f4`, `v_mfma_scale_f32_*_f8f6f4`: A and B of any of five formats (CBSZ and BLGP say which), and of
//! the latter blocks of 32 elements along K that share a power of two.
//!
//! A lane holds 32 elements of a row: those of 4 and 6 bits one after the other, those of 8 bits in two pieces of
//! sixteen, so that the first registers hold the first half of K. The lanes of a row hold its scales in the order of its
//! blocks, each in the byte of its register that OP_SEL (low bit) and OP_SEL_HI (high bit) select.

use super::codes::Codes;
use super::dense::{Product, add_aligned, result_registers, result_row, rows, suits};
use super::once::{Long, once};
use super::side::{Parts, View};
use super::sum::{NAN, Rule, Span, TwoSums};
use super::types::{Bf6, Bf8, Element, Fp4, Fp6, Fp8};
use crate::error::FaultKind;
use crate::fp::small::shared_exponent;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

use std::ops::Range;

/// Elements of each operand that a lane holds.
const PER_LANE: usize = 32;
type Side = super::side::Side<PER_LANE>;

/// Elements of eight bits and fewer stay exact as f32 if they are multiplied by 2 to the power of this, or divided.
const MOST_SCALED: i32 = 34;

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

/// The powers of two that an operand's blocks of 32 elements along K share, by block, then row (or column).
struct Scales<const M: usize> {
    powers: [[i32; M]; 4],
    /// The least and the largest.
    range: (i32, i32),
    /// The rows (or columns) that have a NaN among them.
    nans: u64,
}

impl<const M: usize> Scales<M> {
    #[inline(always)]
    fn none() -> Scales<M> {
        Scales { powers: [[0; M]; 4], range: (0, 0), nans: 0 }
    }

    #[inline(always)]
    fn of(scales: &Row, byte: u32) -> Scales<M> {
        let mut out = Scales::none();
        for (block, powers) in out.powers.iter_mut().enumerate().take(64 / M) {
            for i in 0..M {
                match shared_exponent(scales.0[block * M + i] >> (8 * byte)) {
                    None => out.nans |= 1 << i,
                    Some(exponent) => powers[i] = exponent,
                }
                out.range = (out.range.0.min(powers[i]), out.range.1.max(powers[i]));
            }
        }
        out
    }

    #[inline(always)]
    fn are_near(&self) -> bool {
        self.range.0 >= -MOST_SCALED && self.range.1 <= MOST_SCALED
    }

    /// Multiplies values, if these stay exact; `exponents` is told the powers of each block, and which k it has.
    #[inline(always)]
    fn multiply(&self, side: &mut Side, mut exponents: impl FnMut(Range<usize>, &[i32; M])) {
        for (block, powers) in self.powers.iter().enumerate().take(64 / M) {
            let ks = 32 * block..32 * (block + 1);
            exponents(ks.clone(), powers);
            if self.are_near() {
                side.scale(ks, powers);
            }
        }
    }
}

impl<const M: usize, const SCALED: bool> Semantics for Mixed<M, SCALED> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        once::<Self>(w, op)
    }
}

/// Registers of an operand.
fn registers(format: u32) -> usize {
    PER_LANE / 32 * [8, 8, 6, 6, 4].get(format as usize).copied().unwrap_or(0)
}

impl<const M: usize, const SCALED: bool> Long for Mixed<M, SCALED> {
    #[inline(always)]
    fn results(_: &Wave) -> usize {
        result_registers(M, 1)
    }

    #[inline(always)]
    fn take(w: &mut Wave, op: &Op) -> bool {
        let (mods, [a, b, c]) = (RawMods(op.imm), op.src);
        let scales = [op.imm2 as u16, (op.imm2 >> 16) as u16].map(|row| (row, 1));
        let factors = [(a, registers(mods.cbsz())), (b, registers(mods.blgp()))];
        let operands = [factors[0], factors[1], (c, Self::results(w)), scales[0], scales[1]];
        let operands = if SCALED { &operands[..] } else { &operands[..3] };
        let results = (op.dst, Self::results(w));
        w.repeated.take(&mut w.rows[..], 64, op, operands, results)
    }

    #[inline(always)]
    fn make(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let (mut a, mut b) = (Side::new(), Side::new());
        if !load::<M>(&mut a, mods.cbsz(), op, &w.rows[usize::from(op.src[0])..])
            || !load::<M>(&mut b, mods.blgp(), op, &w.rows[usize::from(op.src[1])..])
        {
            return w.fault(FaultKind::Unsupported, "a matrix operation on a format that does not exist".to_string());
        }
        let (mut a_scales, mut b_scales) = (Scales::<M>::none(), Scales::<M>::none());
        if SCALED {
            let byte = |k| u32::from(mods.op_sel(k)) | u32::from(mods.op_sel_hi(k)) << 1;
            a_scales = Scales::of(w.row(op.imm2 as u16), byte(0));
            b_scales = Scales::of(w.row((op.imm2 >> 16) as u16), byte(1));
        }
        let mut codes = (Codes::of::<M>(&a), Codes::of::<M>(&b));
        codes.0.note_scales(a_scales.range);
        codes.1.note_scales(b_scales.range);
        let are_near = a_scales.are_near() && b_scales.are_near();
        if are_near && suits::<M, 1>(w, op, &codes.0.factors(&a), &codes.1.factors(&b)) {
            if SCALED {
                a_scales.multiply(&mut a, |ks, powers| codes.0.scale(ks, powers));
                b_scales.multiply(&mut b, |ks, powers| codes.1.scale(ks, powers));
            }
            add_aligned::<TwoSums, M, 1>(w, op, codes.0.factors(&a), codes.1.factors(&b), 2048 / M);
            set_nans(w, op, &a_scales, &b_scales);
            return Flow::Next;
        }
        let (mut a_parts, mut b_parts) = (Parts::new(), Parts::new());
        a_parts.take(&a);
        b_parts.take(&b);
        a_scales.multiply(&mut a, |ks, powers| a_parts.scale(ks, powers));
        b_scales.multiply(&mut b, |ks, powers| b_parts.scale(ks, powers));
        let mut product = Exact { op: *op, a: a_parts.view(&a), b: b_parts.view(&b) };
        rows::<M, 1>(w, op.dst, op.src[2], &mut product);
        set_nans(w, op, &a_scales, &b_scales);
        Flow::Next
    }
}

/// NaNs in the rows and columns of those scales that are.
#[inline(always)]
fn set_nans<const M: usize>(w: &mut Wave, op: &Op, a: &Scales<M>, b: &Scales<M>) {
    if a.nans | b.nans == 0 {
        return;
    }
    for row in 0..M {
        let (register, lane) = result_row(M, 0, row);
        for (j, c) in w.rows[usize::from(op.dst) + register].0[lane..lane + M].iter_mut().enumerate() {
            if a.nans >> row & 1 != 0 || b.nans >> j & 1 != 0 {
                *c = NAN;
            }
        }
    }
}

struct Exact<'a> {
    op: Op,
    a: View<'a>,
    b: View<'a>,
}

impl<const M: usize> Product<M> for Exact<'_> {
    #[inline(always)]
    fn add(&mut self, _block: usize, row: usize, c: &mut [u32; M]) {
        let at = Span { a: row, b: 0, k: 2048 / M, step: M };
        TwoSums::add(&self.op, self.a, self.b, at, c);
    }
}
