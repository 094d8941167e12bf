//! 32x32, 16x16 and 4x4 blocks. The hardware adds each of their products to the accumulator by itself.

use std::marker::PhantomData;

use super::elements::Chained;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::wave::{Row, Wave};

/// M x M results in `BLOCKS` blocks, M 32 or 16.
pub struct Mfma<E, const M: usize, const BLOCKS: usize>(PhantomData<E>);

/// 4 x 4 results in sixteen blocks.
pub struct Mfma4<E>(PhantomData<E>);

const MOST_PER_LANE: usize = 16;
const MOST_REGISTERS: usize = 32;

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

struct Operands<S> {
    a: [[S; 64]; MOST_PER_LANE],
    b: [[S; 64]; MOST_PER_LANE],
}

#[inline(always)]
fn load<E: Chained>(w: &Wave, op: &Op, blgp: u32) -> Operands<E::Sum> {
    let zero = [[E::Sum::default(); 64]; MOST_PER_LANE];
    let mut operands = Operands { a: zero, b: zero };
    for e in 0..E::PER_LANE {
        E::load(&w.rows[usize::from(op.src[0])..], e, &mut operands.a[e]);
        E::load(&w.rows[usize::from(op.src[1])..], e, &mut operands.b[e]);
        if blgp != 0 {
            let straight = operands.b[e];
            for lane in 0..64 {
                operands.b[e][lane] = straight[b_lane(blgp, lane)];
            }
        }
    }
    operands
}

#[inline(always)]
fn accumulator<E: Chained>(w: &Wave, op: &Op, registers: usize) -> [[E::Sum; 64]; MOST_REGISTERS] {
    let mut sums = [[E::Sum::default(); 64]; MOST_REGISTERS];
    for (r, sum) in sums.iter_mut().take(registers).enumerate() {
        let row = &w.rows[usize::from(op.src[2]) + r].0;
        for i in 0..64 {
            sum[i] = E::from_bits(row[i]);
        }
    }
    sums
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
        let mods = RawMods(op.imm);
        let registers_a_block = M * M / 64;
        let registers = registers_a_block * BLOCKS;
        let operands = load::<E>(w, op, mods.blgp());
        let mut sums = accumulator::<E>(w, op, registers);
        for block in 0..BLOCKS {
            let a_block = a_block(mods, BLOCKS, block);
            for slice in 0..64 / (M * BLOCKS) {
                for e in 0..E::PER_LANE {
                    let b_first = (slice * BLOCKS + block) * M;
                    let b: &[E::Sum] = &operands.b[e][b_first..b_first + M];
                    let a_first = (slice * BLOCKS + a_block) * M;
                    for r in 0..registers_a_block {
                        let sum = &mut sums[block * registers_a_block + r];
                        for (part, sum) in sum.chunks_exact_mut(M).enumerate() {
                            // M lanes make a row of the result; the next M lanes hold the row 4 further down.
                            let row = 8 * (r / 4) + 4 * part + r % 4;
                            let a = operands.a[e][a_first + row];
                            for (sum, b) in sum.iter_mut().zip(b) {
                                *sum = E::multiply_add(a, *b, *sum);
                            }
                        }
                    }
                }
            }
        }
        store::<E>(w, op, &sums[..registers]);
        Flow::Next
    }
}

impl<E: Chained> Semantics for Mfma4<E> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let operands = load::<E>(w, op, mods.blgp());
        let mut sums = accumulator::<E>(w, op, 4);
        for e in 0..E::PER_LANE {
            for (r, sum) in sums.iter_mut().take(4).enumerate() {
                for lane in 0..64 {
                    let a = operands.a[e][a_block(mods, 16, lane / 4) * 4 + r];
                    sum[lane] = E::multiply_add(a, operands.b[e][lane], sum[lane]);
                }
            }
        }
        store::<E>(w, op, &sums[..4]);
        Flow::Next
    }
}
