//! Products of full matrices whose sums follow a rule ([`super::sum`]).

use std::marker::PhantomData;

use super::accumulate::a_block;
use super::aligned;
use super::codes::{Codes, Factors};
use super::once::{Long, once};
use super::side::{Parts, Reach, Side, View};
use super::sum::{Rule, Span};
use super::types::Element;
use crate::level::{Work, at_best};
use crate::op::{Flow, Op, OpFlags, RawMods, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

#[cfg(target_arch = "x86_64")]
mod by_vectors;
#[cfg(target_arch = "x86_64")]
use by_vectors::{of_halves, of_whole};

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

/// Where rows `4 * n` to `4 * n + 3` of a block's result lie, M 32 or 16: words from its first register to the first of them; the
/// others are a register apart.
#[inline(always)]
pub const fn four_rows<const M: usize>(n: usize) -> usize {
    if M == 32 { n / 2 * 4 * 64 + n % 2 * 32 } else { n * 16 }
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
        // The sums of others take little longer than to look.
        if R::IS_ALIGNED { once::<Self>(w, op) } else { Self::make(w, op) }
    }
}

impl<A: Element, B: Element, R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Long
    for Dense<A, B, R, M, BLOCKS, PER_LANE>
{
    #[inline(always)]
    fn results(_: &Wave) -> usize {
        result_registers(M, BLOCKS)
    }

    #[inline(always)]
    fn take(w: &mut Wave, op: &Op) -> bool {
        let [a, b, c] = op.src;
        let operands = [(a, PER_LANE * A::BITS / 32), (b, PER_LANE * B::BITS / 32), (c, Self::results(w))];
        let results = (op.dst, Self::results(w));
        w.repeated.take(&mut w.rows[..], 64, op, &operands, results)
    }

    #[inline(always)]
    fn make(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let k = PER_LANE * 64 / (M * BLOCKS);
        #[cfg(target_arch = "x86_64")]
        if A::IS_WIDENED && R::IS_ALIGNED && M >= 16 && of_whole::<A, M, BLOCKS, PER_LANE>(w, op) {
            return Flow::Next;
        }
        #[cfg(target_arch = "x86_64")]
        if A::IS_HALF && B::IS_HALF && M >= 16 && of_halves::<R, M, BLOCKS, PER_LANE>(w, op) {
            return Flow::Next;
        }
        // By block, then k, then row or column.
        let place = |lane: usize, e: usize| {
            let (block, slice) = (lane / M % BLOCKS, lane / (M * BLOCKS));
            (block * k + slice * PER_LANE + e) * M
        };
        let mut a = Side::<PER_LANE>::new();
        let mut b = Side::<PER_LANE>::new();
        a.load::<A, M>(op, &w.rows[usize::from(op.src[0])..], 0, place);
        b.load::<B, M>(op, &w.rows[usize::from(op.src[1])..], mods.blgp(), place);
        if R::IS_ALIGNED && !(A::IS_HALF && B::IS_HALF) && M >= 16 {
            let codes = (Codes::of::<M>(&a), Codes::of::<M>(&b));
            let (a, b) = (codes.0.factors(&a), codes.1.factors(&b));
            if suits::<M, BLOCKS>(w, op, &a, &b) {
                add_aligned::<R, M, BLOCKS>(w, op, a, b, k);
                return Flow::Next;
            }
        }
        if R::IS_WIDE && op.flags.contains(OpFlags::CDNA1) {
            // By itself: other processors would have its f64 on their stack.
            at_best(Wide::<R, M, BLOCKS, PER_LANE> { w, op, a: &a, b: &b, k, rule: PhantomData });
            return Flow::Next;
        }
        let (mut a_parts, mut b_parts) = (Parts::new(), Parts::new());
        if R::IN_PARTS {
            a_parts.take(&a);
            b_parts.take(&b);
        } else {
            a.flush();
            b.flush();
        }
        let (a, b) = if R::IN_PARTS { (a_parts.view(&a), b_parts.view(&b)) } else { (a.view(), b.view()) };
        let mut product = Full::<R, M, BLOCKS> { op: *op, a, b, k, rule: PhantomData };
        rows::<M, BLOCKS>(w, op.dst, op.src[2], &mut product);
        Flow::Next
    }
}

/// CDNA1's way.
struct Wide<'a, R, const M: usize, const BLOCKS: usize, const PER_LANE: usize> {
    w: &'a mut Wave,
    op: &'a Op,
    a: &'a Side<PER_LANE>,
    b: &'a Side<PER_LANE>,
    k: usize,
    rule: PhantomData<R>,
}

impl<R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Work for Wide<'_, R, M, BLOCKS, PER_LANE> {
    type Result = ();
    #[inline(always)]
    fn run(self) {
        let Wide { w, op, a, b, k, .. } = self;
        let (wide_a, wide_b) = (a.wide(), b.wide());
        let a = View { wide: wide_a.as_flattened(), reach: Reach::of(&a.value), ..a.view() };
        let b = View { wide: wide_b.as_flattened(), reach: Reach::of(&b.value), ..b.view() };
        let mut product = Full::<R, M, BLOCKS> { op: *op, a, b, k, rule: PhantomData };
        rows::<M, BLOCKS>(w, op.dst, op.src[2], &mut product);
    }
}

/// Whether vectors can make the result.
#[inline(always)]
pub fn suits<const M: usize, const BLOCKS: usize>(w: &Wave, op: &Op, a: &Factors, b: &Factors) -> bool {
    aligned::suits(a, b, &w.rows[usize::from(op.src[2])..][..result_registers(M, BLOCKS)])
}

/// Makes the result by vectors. `k`: products of each.
#[inline(always)]
pub fn add_aligned<R: Rule, const M: usize, const BLOCKS: usize>(
    w: &mut Wave,
    op: &Op,
    a: Factors,
    b: Factors,
    k: usize,
) {
    for_each_block::<M, BLOCKS>(w, op, |a_block, block, results| {
        R::add_aligned::<M>(a.block::<M>(k, a_block), b.block::<M>(k, block), k, results);
    });
}

/// Calls `add` with the block of A, that of B, and the accumulators of each block, which become results.
#[inline(always)]
fn for_each_block<const M: usize, const BLOCKS: usize>(
    w: &mut Wave,
    op: &Op,
    mut add: impl FnMut(usize, usize, &mut [Row]),
) {
    let (registers, from, to) = (result_registers(M, BLOCKS), usize::from(op.src[2]), usize::from(op.dst));
    if from != to {
        w.rows.copy_within(from..from + registers, to);
    }
    let results = &mut w.rows[to..][..registers];
    for (block, results) in results.chunks_exact_mut(registers / BLOCKS).enumerate() {
        add(a_block(RawMods(op.imm), BLOCKS, block), block, results);
    }
}

struct Full<'a, R, const M: usize, const BLOCKS: usize> {
    op: Op,
    a: View<'a>,
    b: View<'a>,
    k: usize,
    rule: PhantomData<R>,
}

impl<R: Rule, const M: usize, const BLOCKS: usize> Product<M> for Full<'_, R, M, BLOCKS> {
    #[inline(always)]
    fn add(&mut self, block: usize, row: usize, c: &mut [u32; M]) {
        let from = a_block(RawMods(self.op.imm), BLOCKS, block);
        let at = Span { a: from * self.k * M + row, b: block * self.k * M, k: self.k, step: M };
        R::add(&self.op, self.a, self.b, at, c);
    }
}
