//! Products of full matrices whose sums follow a rule ([`super::sum`]).

use std::marker::PhantomData;

use super::accumulate::{a_block, b_lane};
use super::sum::{Rule, Span};
use super::types::{Element, Side};
use crate::op::{Flow, Kernel, Op, OpFlags, RawMods};
use crate::wave::{Row, Wave};

/// `BLOCKS` products of M x K and K x M elements, of which a lane holds `PER_LANE`.
pub struct Dense<A, B, R, const M: usize, const BLOCKS: usize, const PER_LANE: usize>(PhantomData<(A, B, R)>);

/// Where a row of a block's result lies: the register, and the lane of its first column.
#[inline(always)]
pub fn result_row(m: usize, block: usize, row: usize) -> (usize, usize) {
    match m {
        32 => (16 * block + row / 8 * 4 + row % 4, 32 * (row / 4 % 2)),
        16 => (4 * block + row % 4, 16 * (row / 4)),
        _ => (row, 4 * block),
    }
}

/// Registers of a result.
pub const fn result_registers(m: usize, blocks: usize) -> usize {
    m * m * blocks / 64
}

/// Computes each row of the result from the accumulator's.
#[inline(always)]
pub fn rows<const M: usize, const BLOCKS: usize>(
    w: &mut Wave,
    dst: u16,
    accumulator: u16,
    mut row_of: impl FnMut(usize, usize, &mut [u32; M]),
) {
    let mut results = [Row::ZERO; 32];
    let n = result_registers(M, BLOCKS);
    for (k, result) in results.iter_mut().enumerate().take(n) {
        *result = *w.row(accumulator + k as u16);
    }
    for block in 0..BLOCKS {
        for row in 0..M {
            let (register, lane) = result_row(M, block, row);
            let mut c = [0; M];
            c.copy_from_slice(&results[register].0[lane..lane + M]);
            row_of(block, row, &mut c);
            results[register].0[lane..lane + M].copy_from_slice(&c);
        }
    }
    for (k, result) in results.iter().enumerate().take(n) {
        *w.row_mut(dst + k as u16) = *result;
    }
}

impl<A: Element, B: Element, R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Kernel
    for Dense<A, B, R, M, BLOCKS, PER_LANE>
{
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let k = PER_LANE * 64 / (M * BLOCKS);
        // By block, then k, then row or column.
        let place = |lane: usize, e: usize| {
            let (block, slice) = (lane / M % BLOCKS, lane / (M * BLOCKS));
            (block * k + slice * PER_LANE + e) * M + lane % M
        };
        let (mut a, mut b) = (Side::<PER_LANE>::new(), Side::<PER_LANE>::new());
        a.load::<A>(op, &w.rows[usize::from(op.src[0])..], |lane| lane, place);
        b.load::<B>(op, &w.rows[usize::from(op.src[1])..], |lane| b_lane(mods.blgp(), lane), place);
        if R::IN_PARTS {
            a.split::<A>(op);
            b.split::<B>(op);
        } else if !op.flags.contains(OpFlags::CDNA1) {
            a.flush();
            b.flush();
        }
        let (a, b) = (a.view(), b.view());
        rows::<M, BLOCKS>(w, op.dst, op.src[2], |block, row, c| {
            let from = a_block(mods, BLOCKS, block);
            R::add(op, a, b, Span { a: from * k * M + row, b: block * k * M, k, step: M }, c);
        });
        Flow::Next
    }
}
