//! 32x32, 16x16 and 4x4 blocks of f32, and 4x4 ones of bytes. The hardware adds each of their products to the accumulator by
//! itself. Larger blocks of bytes, whose sums have no order: [`mod@super::bytes`].

use std::marker::PhantomData;

use super::elements::Chained;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

/// M x M results in `BLOCKS` blocks, M 32 or 16.
pub struct Mfma<E, const M: usize, const BLOCKS: usize>(PhantomData<E>);

/// 4 x 4 results in sixteen blocks.
pub struct Mfma4<E>(PhantomData<E>);

/// Where lane `lane` of B comes from (BLGP).
#[inline(always)]
pub fn b_lane(blgp: u32, lane: usize) -> usize {
    match blgp {
        1 => lane % 32,
        2 => 32 + lane % 32,
        3 => (lane + 16) % 64,
        4..=7 => 16 * (blgp as usize - 4) + lane % 16,
        _ => lane,
    }
}

/// The block whose A block `block` uses (CBSZ and ABID), of `blocks`.
#[inline(always)]
pub fn a_block(mods: RawMods, blocks: usize, block: usize) -> usize {
    let group = (1usize << mods.cbsz()).min(blocks);
    block / group * group + mods.abid() as usize % group
}

/// A's and B's elements. (Into arrays that are there: to return them would copy kilobytes.)
#[inline(always)]
fn load<E: Chained>(w: &Wave, op: &Op, blgp: u32, a: &mut E::Side, b: &mut E::Side) {
    for (e, (a, b)) in a.as_mut().iter_mut().zip(b.as_mut()).enumerate() {
        E::load(&w.rows[usize::from(op.src[0])..], e, a);
        E::load(&w.rows[usize::from(op.src[1])..], e, b);
        if blgp != 0 {
            let straight = *b;
            for lane in 0..64 {
                b[lane] = straight[b_lane(blgp, lane)];
            }
        }
    }
}

/// The accumulator's registers.
#[inline(always)]
fn accumulator<E: Chained>(w: &Wave, op: &Op, sums: &mut [[E::Sum; 64]]) {
    for (r, sum) in sums.iter_mut().enumerate() {
        let row = &w.rows[usize::from(op.src[2]) + r].0;
        for i in 0..64 {
            sum[i] = E::from_bits(row[i]);
        }
    }
}

#[inline(always)]
fn store<E: Chained>(w: &mut Wave, op: &Op, sums: &[[E::Sum; 64]]) {
    for (r, sum) in sums.iter().enumerate() {
        let mut row = Row::ZERO;
        for i in 0..64 {
            row.0[i] = E::to_bits(sum[i]);
        }
        w.rows[usize::from(op.dst) + r] = row;
    }
}

impl<E: Chained, const M: usize, const BLOCKS: usize> Semantics for Mfma<E, M, BLOCKS> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        match const { M * M / 64 * BLOCKS } {
            4 => multiply::<E, M, BLOCKS, 4>(w, op),
            16 => multiply::<E, M, BLOCKS, 16>(w, op),
            _ => multiply::<E, M, BLOCKS, 32>(w, op),
        }
    }
}

/// With the number of registers that the result has.
#[inline(always)]
fn multiply<E: Chained, const M: usize, const BLOCKS: usize, const REGISTERS: usize>(w: &mut Wave, op: &Op) -> Flow {
    if REGISTERS != const { M * M / 64 * BLOCKS } {
        return Flow::Next;
    }
    let mods = RawMods(op.imm);
    let (mut all_a, mut all_b) = (E::NOTHING, E::NOTHING);
    load::<E>(w, op, mods.blgp(), &mut all_a, &mut all_b);
    let mut sums = [[E::Sum::default(); 64]; REGISTERS];
    accumulator::<E>(w, op, &mut sums);
    let registers_a_block = REGISTERS / BLOCKS;
    for block in 0..BLOCKS {
        let a_block = a_block(mods, BLOCKS, block);
        for slice in 0..64 / (M * BLOCKS) {
            let (a_first, b_first) = ((slice * BLOCKS + a_block) * M, (slice * BLOCKS + block) * M);
            for (all_a, all_b) in all_a.as_mut().iter().zip(all_b.as_mut()) {
                // M lanes make a row of the result; the next M lanes hold the row 4 further down. All 64 are one loop:
                // M lanes by themselves would be done for several rows at a time, by gathers.
                let mut b = [E::Sum::default(); 64];
                for part in b.chunks_exact_mut(M) {
                    part.copy_from_slice(&all_b[b_first..b_first + M]);
                }
                for r in 0..registers_a_block {
                    let mut a = [E::Sum::default(); 64];
                    for (part, a) in a.chunks_exact_mut(M).enumerate() {
                        a.fill(all_a[a_first + 8 * (r / 4) + 4 * part + r % 4]);
                    }
                    let sum = &mut sums[block * registers_a_block + r];
                    for i in 0..64 {
                        sum[i] = E::multiply_add(a[i], b[i], sum[i]);
                    }
                }
            }
        }
    }
    store::<E>(w, op, &sums);
    Flow::Next
}

impl<E: Chained> Semantics for Mfma4<E> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let (mut a, mut b) = (E::NOTHING, E::NOTHING);
        load::<E>(w, op, mods.blgp(), &mut a, &mut b);
        let mut sums = [[E::Sum::default(); 64]; 4];
        accumulator::<E>(w, op, &mut sums);
        for (a, b) in a.as_mut().iter().zip(b.as_mut()) {
            for (r, sum) in sums.iter_mut().enumerate() {
                for lane in 0..64 {
                    sum[lane] = E::multiply_add(a[a_block(mods, 16, lane / 4) * 4 + r], b[lane], sum[lane]);
                }
            }
        }
        store::<E>(w, op, &sums);
        Flow::Next
    }
}
