//! Products of full matrices whose sums follow a rule ([`super::sum`]).

use std::marker::PhantomData;

use super::accumulate::a_block;
use super::sum::{Rule, Span};
use super::types::{Element, Side};
use crate::op::{Flow, Op, OpFlags, RawMods, Semantics};
use crate::wave::{Row, Wave};

/// `BLOCKS` products of M x K and K x M elements; a lane holds `PER_LANE`.
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

/// What makes a row of a result from the accumulator's. (A closure would be compiled once, for the baseline processor.)
pub trait Product<const M: usize> {
    /// `add` is to be inlined, always.
    fn add(&mut self, block: usize, row: usize, c: &mut [u32; M]);
}

/// Computes each row of the result.
#[inline(always)]
pub fn rows<const M: usize, const BLOCKS: usize>(
    w: &mut Wave,
    dst: u16,
    accumulator: u16,
    product: &mut impl Product<M>,
) {
    match const { result_registers(M, BLOCKS) } {
        4 => rows_in::<M, BLOCKS, 4>(w, dst, accumulator, product),
        16 => rows_in::<M, BLOCKS, 16>(w, dst, accumulator, product),
        _ => rows_in::<M, BLOCKS, 32>(w, dst, accumulator, product),
    }
}

/// The same with the number of registers that the result has.
#[inline(always)]
fn rows_in<const M: usize, const BLOCKS: usize, const REGISTERS: usize>(
    w: &mut Wave,
    dst: u16,
    accumulator: u16,
    product: &mut impl Product<M>,
) {
    if REGISTERS != const { result_registers(M, BLOCKS) } {
        return;
    }
    let mut results = [Row::ZERO; REGISTERS];
    results.copy_from_slice(&w.rows[usize::from(accumulator)..][..REGISTERS]);
    for block in 0..BLOCKS {
        for row in 0..M {
            let (register, lane) = result_row(M, block, row);
            let mut c = [0; M];
            c.copy_from_slice(&results[register].0[lane..lane + M]);
            product.add(block, row, &mut c);
            results[register].0[lane..lane + M].copy_from_slice(&c);
        }
    }
    w.rows[usize::from(dst)..][..REGISTERS].copy_from_slice(&results);
}

impl<A: Element, B: Element, R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Semantics
    for Dense<A, B, R, M, BLOCKS, PER_LANE>
{
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let k = PER_LANE * 64 / (M * BLOCKS);
        // By block, then k, then row or column.
        let place = |lane: usize, e: usize| {
            let (block, slice) = (lane / M % BLOCKS, lane / (M * BLOCKS));
            (block * k + slice * PER_LANE + e) * M
        };
        let mut a = Side::<PER_LANE>::new();
        let mut b = Side::<PER_LANE>::new();
        a.load::<A, M>(op, &w.rows[usize::from(op.src[0])..], 0, place);
        b.load::<B, M>(op, &w.rows[usize::from(op.src[1])..], mods.blgp(), place);
        if R::IN_PARTS {
            a.split::<A>(op);
            b.split::<B>(op);
        } else if !op.flags.contains(OpFlags::CDNA1) {
            a.flush();
            b.flush();
        }
        let mut product =
            Full::<R, M, BLOCKS, PER_LANE> { op: *op, sides: Sides { a: &mut a, b: &mut b }, k, rule: PhantomData };
        rows::<M, BLOCKS>(w, op.dst, op.src[2], &mut product);
        Flow::Next
    }
}

/// Both operands, whose significands are found when the first row needs them.
pub struct Sides<'a, const PER_LANE: usize> {
    pub a: &'a mut Side<PER_LANE>,
    pub b: &'a mut Side<PER_LANE>,
}

impl<const PER_LANE: usize> Sides<'_, PER_LANE> {
    /// Adds products to accumulators, by vectors where that is possible.
    #[inline(always)]
    pub fn add<R: Rule, const M: usize>(&mut self, op: &Op, at: Span, c: &mut [u32; M]) {
        if R::add_fast(self.a.view(), self.b.view(), at, c) {
            return;
        }
        if R::IN_PARTS {
            self.a.significands();
            self.b.significands();
        }
        R::add(op, self.a.view(), self.b.view(), at, c);
    }
}

struct Full<'a, R, const M: usize, const BLOCKS: usize, const PER_LANE: usize> {
    op: Op,
    sides: Sides<'a, PER_LANE>,
    k: usize,
    rule: PhantomData<R>,
}

impl<R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Product<M>
    for Full<'_, R, M, BLOCKS, PER_LANE>
{
    #[inline(always)]
    fn add(&mut self, block: usize, row: usize, c: &mut [u32; M]) {
        let from = a_block(RawMods(self.op.imm), BLOCKS, block);
        let at = Span { a: from * self.k * M + row, b: block * self.k * M, k: self.k, step: M };
        self.sides.add::<R, M>(&self.op, at, c);
    }
}
