//! Results made by the host's vectors, of elements that suit them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::super::accumulate::{a_block, b_lane};
use super::super::halves::{self, Halves, OfColumns, OfRows};
use super::super::lanes::{by_widest, by_widest_apart};
use super::super::sum::Rule;
use super::super::types::Element;
use super::super::whole::{self, Whole};
use super::super::{aligned, half_sums, pairs};
use super::{for_each_block, result_registers};
use crate::op::{Op, OpFlags, RawMods};
use crate::registers::Row;
use crate::wave::Wave;

/// Makes the result of small whole numbers by vectors, if all are such.
#[inline(always)]
pub fn of_whole<E: Element, const M: usize, const BLOCKS: usize, const PER_LANE: usize>(w: &mut Wave, op: &Op) -> bool {
    if RawMods(op.imm).blgp() != 0 {
        return false;
    }
    let k = PER_LANE * 64 / (M * BLOCKS);
    let (mut a, mut b) = (MaybeUninit::<Whole<PER_LANE>>::uninit(), MaybeUninit::<Whole<PER_LANE>>::uninit());
    for (source, room) in [(0, &mut a), (1, &mut b)] {
        let rows = &w.rows[usize::from(op.src[source])..];
        let take = whole::Take::<E, M, BLOCKS, PER_LANE> { rows, room, element: PhantomData };
        if by_widest_apart(take) != Some(true) {
            return false;
        }
    }
    // SAFETY: all words of both have been stored.
    let (a, b) = unsafe { (a.assume_init_ref().words(), b.assume_init_ref().words()) };
    let registers = result_registers(M, BLOCKS);
    let mut results = [MaybeUninit::<Row>::uninit(); 32];
    let results = &mut results[..registers];
    let accumulators = &w.rows[usize::from(op.src[2])..][..registers];
    let blocks = accumulators.chunks_exact(registers / BLOCKS).zip(results.chunks_exact_mut(registers / BLOCKS));
    for (block, (c, sums)) in blocks.enumerate() {
        let a = &a[a_block(RawMods(op.imm), BLOCKS, block) * k / 2 * M..][..k / 2 * M];
        let b = &b[block * k / 2 * M..][..k / 2 * M];
        if by_widest_apart(whole::Block::<M> { a, b, k, c, sums }) != Some(true) {
            return false;
        }
    }
    for (to, result) in w.rows[usize::from(op.dst)..].iter_mut().zip(results) {
        // SAFETY: every row of every block has been stored.
        *to = unsafe { result.assume_init() };
    }
    true
}

/// Makes the result of f16 operands by vectors, if these can.
#[inline(always)]
pub fn of_halves<R: Rule, const M: usize, const BLOCKS: usize, const PER_LANE: usize>(w: &mut Wave, op: &Op) -> bool {
    let (blgp, k) = (RawMods(op.imm).blgp(), PER_LANE * 64 / (M * BLOCKS));
    let (a_rows, mut b_rows) = (&w.rows[usize::from(op.src[0])..], &w.rows[usize::from(op.src[1])..]);
    let mut permuted;
    if blgp != 0 {
        permuted = [Row::ZERO; PER_LANE];
        for (row, straight) in permuted.iter_mut().zip(&b_rows[..PER_LANE / 2]) {
            for lane in 0..64 {
                row.0[lane] = straight.0[b_lane(blgp, lane)];
            }
        }
        b_rows = &permuted;
    }
    let (mut a_room, mut b_room) = (MaybeUninit::<Halves<PER_LANE>>::uninit(), MaybeUninit::uninit());
    if R::IS_ALIGNED {
        // (The other rules that are aligned are not for f16.)
        let of_a = by_widest(halves::Take::<OfRows, M, BLOCKS, PER_LANE>::new(a_rows, &mut a_room));
        let of_b = by_widest(halves::Take::<OfColumns, M, BLOCKS, PER_LANE>::new(b_rows, &mut b_room));
        let (Some(of_a), Some(of_b)) = (of_a, of_b) else { return false };
        let c = &w.rows[usize::from(op.src[2])..][..result_registers(M, BLOCKS)];
        let are_usual = of_a.are_usual && of_b.are_usual;
        if !of_a.are_numbers || !of_b.are_numbers || !are_usual && !aligned::are_moderate_accumulators(c) {
            return false;
        }
        // SAFETY: both have been taken so.
        let (a, b) = unsafe { (Halves::left(&a_room), Halves::right(&b_room)) };
        for_each_block::<M, BLOCKS>(w, op, |a_block, block, c| {
            let (a, b) = (a.block::<M>(k, a_block), b.block::<M>(k, block));
            by_widest_apart(half_sums::Block::<M> { a, b, k, c });
        });
        return true;
    }
    if op.flags.contains(OpFlags::CDNA1) {
        return false;
    }
    let Some(a) = Halves::take_flushed::<M, BLOCKS>(a_rows, &mut a_room) else { return false };
    let Some(b) = Halves::<PER_LANE>::take_flushed::<M, BLOCKS>(b_rows, &mut b_room) else { return false };
    for_each_block::<M, BLOCKS>(w, op, |a_block, block, results| {
        let (a, b) = (&a[a_block * k * M..][..k * M], &b[block * k * M..][..k * M]);
        match const { PER_LANE * 64 / (M * BLOCKS) } {
            4 => by_widest_apart(pairs::Block::<M, 4> { a, b, c: results }),
            8 => by_widest_apart(pairs::Block::<M, 8> { a, b, c: results }),
            _ => by_widest_apart(pairs::Block::<M, 16> { a, b, c: results }),
        };
    });
    true
}
