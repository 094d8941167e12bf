//! `v_swmmac_*` of RDNA4: of every four elements along K of a row of A two are stored, and an index says which.
//!
//! The stored elements lie as those of an operation of half of K do. The index register has four bits for each pair of
//! elements that the lane holds: the place of the first within its four, two bits, then that of the second. Where a lane
//! does not fill the register, OP_SEL says which part of it counts. D is C as well. Everything else is as in
//! [`super::wmma`].
//!
//! Source: AMD's matrix instruction calculator.

use std::marker::PhantomData;

use super::layout;
use super::wmma::{Bf8, Bf16, Element, F16, Fp8, Half, Product, SIZE, Sums, halves, integer, integers, signed, single};
use crate::op::{Flow, Kernel, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// For each row of A and each of its stored elements: which row of B it meets. `K` is B's.
#[inline(always)]
fn met(w: &Wave, op: &Op, bits: usize, size: usize) -> [[usize; 32]; SIZE] {
    let mods = RawMods(op.imm);
    let stored = size / 2;
    let used = 2 * layout::per_lane(w, bits, stored);
    let part = (usize::from(mods.op_sel(0)) | usize::from(mods.op_sel(1)) << 1) % (32 / used);
    let mut out = [[0; 32]; SIZE];
    for (row, out) in out.iter_mut().enumerate() {
        for (s, out) in out[..stored].iter_mut().enumerate() {
            let (lanes, at) = layout::dense(w, bits, stored, s);
            let index = w.row(op.src[2]).0[row + SIZE * lanes] >> (part * used + 2 * at);
            *out = s / 2 * 4 + (index & 3) as usize;
        }
    }
    out
}

/// A * B
struct Sparse<A, B>(PhantomData<(A, B)>);
impl<A: Element, B: Element> Product for Sparse<A, B> {
    #[inline(always)]
    fn add(w: &Wave, op: &Op, sums: &mut Sums) {
        const K: usize = 32;
        let mut b = [[0f32; SIZE]; K];
        for (k, row) in b.iter_mut().enumerate() {
            let place = layout::sparse(w, B::BITS, K, k);
            for (column, b) in row.iter_mut().enumerate() {
                *b = signed::<B>(op, 1, k, layout::code(w, op, 1, place, B::BITS, column));
            }
        }
        let met = met(w, op, A::BITS, K);
        for (row, sums) in sums.iter_mut().enumerate() {
            for s in 0..K / 2 {
                let place = layout::dense(w, A::BITS, K / 2, s);
                let a = signed::<A>(op, 0, s, layout::code(w, op, 0, place, A::BITS, row));
                let b = &b[met[row][s]];
                for column in 0..SIZE {
                    sums[column] = a.mul_add(b[column], sums[column]);
                }
            }
        }
    }
}

/// f32 += A * B.
struct ToSingle<A, B>(PhantomData<(A, B)>);
impl<A: Element, B: Element> Kernel for ToSingle<A, B> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        single::<Sparse<A, B>>(w, op, op.dst)
    }
}

/// 16-bit floats += A * B.
struct ToHalf<T>(PhantomData<T>);
impl<T: Half> Kernel for ToHalf<T> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        halves::<T, Sparse<T, T>>(w, op, op.dst)
    }
}

/// Integers of `BITS` bits, `K` of them in a column of B, to 32 bits.
struct ToInteger<const BITS: usize, const K: usize>;
impl<const BITS: usize, const K: usize> Kernel for ToInteger<BITS, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let met = met(w, op, BITS, K);
        integers(w, op, op.dst, |w, row, column| {
            (0..K / 2)
                .map(|s| {
                    let (a, b) = (layout::dense(w, BITS, K / 2, s), layout::sparse(w, BITS, K, met[row][s]));
                    let a = integer(op, 0, BITS, layout::code(w, op, 0, a, BITS, row));
                    a * integer(op, 1, BITS, layout::code(w, op, 1, b, BITS, column))
                })
                .sum()
        })
    }
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    Some(match base {
        "v_swmmac_f32_16x16x32_f16" => ValuOp::of::<ToSingle<F16, F16>>(),
        "v_swmmac_f32_16x16x32_bf16" => ValuOp::of::<ToSingle<Bf16, Bf16>>(),
        "v_swmmac_f32_16x16x32_fp8_fp8" => ValuOp::of::<ToSingle<Fp8, Fp8>>(),
        "v_swmmac_f32_16x16x32_fp8_bf8" => ValuOp::of::<ToSingle<Fp8, Bf8>>(),
        "v_swmmac_f32_16x16x32_bf8_fp8" => ValuOp::of::<ToSingle<Bf8, Fp8>>(),
        "v_swmmac_f32_16x16x32_bf8_bf8" => ValuOp::of::<ToSingle<Bf8, Bf8>>(),
        "v_swmmac_f16_16x16x32_f16" => ValuOp::of::<ToHalf<F16>>().places_halves(),
        "v_swmmac_bf16_16x16x32_bf16" => ValuOp::of::<ToHalf<Bf16>>().places_halves(),
        "v_swmmac_i32_16x16x32_iu8" => ValuOp::of::<ToInteger<8, 32>>(),
        "v_swmmac_i32_16x16x32_iu4" => ValuOp::of::<ToInteger<4, 32>>(),
        "v_swmmac_i32_16x16x64_iu4" => ValuOp::of::<ToInteger<4, 64>>(),
        _ => return None,
    })
}
