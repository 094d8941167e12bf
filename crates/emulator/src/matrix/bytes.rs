//! CDNA's products of bytes in 32 x 32 and 16 x 16 blocks. Sums are exact, modulo 2^32, so their order says nothing.
//!
//! By the host's vectors: [`super::fours`].

use super::accumulate::{a_block, b_lane};
use super::dense::{result_registers, result_row};
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::wave::Wave;

/// Registers that A or B has at most.
pub const MOST: usize = 4;

/// M x M results in `BLOCKS` blocks, M 32 or 16; a lane holds four bytes of A and of B in each of `REGISTERS`.
pub struct Bytes<const M: usize, const BLOCKS: usize, const REGISTERS: usize>;

impl<const M: usize, const BLOCKS: usize, const REGISTERS: usize> Semantics for Bytes<M, BLOCKS, REGISTERS> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        multiply::<M>(Products { w, op, blocks: BLOCKS, registers: REGISTERS });
        Flow::Next
    }
}

/// What an operation multiplies.
pub struct Products<'a, const M: usize> {
    pub w: &'a mut Wave,
    pub op: &'a Op,
    pub blocks: usize,
    /// Of A, and of B.
    pub registers: usize,
}

impl<const M: usize> Products<'_, M> {
    /// Where the elements of A or B are.
    #[inline(always)]
    pub fn factor(&self, source: usize) -> &[Row] {
        &self.w.rows[usize::from(self.op.src[source])..][..self.registers]
    }

    /// Gives each block's results, which are the accumulators yet, and the block of A. What is left of A and B may be none.
    #[inline(always)]
    pub fn for_each_block(self, mut add: impl FnMut(usize, usize, &mut [Row])) {
        let Products { w, op, blocks, .. } = self;
        let (registers, from, to) = (result_registers(M, blocks), usize::from(op.src[2]), usize::from(op.dst));
        if from != to {
            w.rows.copy_within(from..from + registers, to);
        }
        for (block, results) in w.rows[to..][..registers].chunks_exact_mut(registers / blocks).enumerate() {
            add(a_block(RawMods(op.imm), blocks, block), block, results);
        }
    }
}

/// A function of its own, which the operations of a size share.
#[inline(never)]
fn multiply<const M: usize>(products: Products<M>) {
    #[cfg(target_arch = "x86_64")]
    let Some(products) = super::fours::multiply(products) else { return };
    multiply_by_lanes(products);
}

/// On any host. Products of two bytes have 16 bits at most.
pub fn multiply_by_lanes<const M: usize>(products: Products<M>) {
    let (blgp, blocks, registers) = (RawMods(products.op.imm).blgp(), products.blocks, products.registers);
    let byte = |word: u32, k: usize| i16::from((word >> (8 * k)) as i8);
    let (mut a, mut b) = ([Row::ZERO; MOST], [[[0; 64]; 4]; MOST]);
    a[..registers].copy_from_slice(products.factor(0));
    for (b, straight) in b.iter_mut().zip(products.factor(1)) {
        let words: [u32; 64] = std::array::from_fn(|lane| straight.0[b_lane(blgp, lane)]);
        for (k, b) in b.iter_mut().enumerate() {
            *b = words.map(|word| byte(word, k));
        }
    }
    products.for_each_block(|a_block, block, results| {
        for row in 0..M {
            let (register, lane) = result_row(M, 0, row);
            let sums: &mut [u32; M] = results[register].0[lane..].first_chunk_mut().expect("a row");
            for (a, b) in a.iter().zip(&b).take(registers) {
                for first in (0..64).step_by(M * blocks) {
                    let a: [i16; 4] = std::array::from_fn(|k| byte(a.0[first + a_block * M + row], k));
                    let b: [&[i16; M]; 4] =
                        b.each_ref().map(|b| b[first + block * M..].first_chunk().expect("a slice of k"));
                    for column in 0..M {
                        let product = |k: usize| i32::from(a[k] * b[k][column]);
                        let four = product(0) + product(1) + product(2) + product(3);
                        sums[column] = sums[column].wrapping_add(four as u32);
                    }
                }
            }
        }
    });
}
