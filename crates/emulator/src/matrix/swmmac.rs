//! `v_swmmac_*` of RDNA4: of every four elements along K of a row of A two are stored, and an index says which.
//!
//! The stored elements lie as those of an operation of half of K do. The index register has four bits for each pair of
//! elements that the lane holds: the place of the first within its four, two bits, then that of the second. Where a lane
//! does not fill the register, OP_SEL says which part of it counts. D is C as well. NEG and NEG_HI of B are those of the
//! stored elements that B's meet: of even and odd ones. Everything else is as in [`super::wmma`].
//!
//! Sources: AMD's matrix instruction calculator; for the signs, captures of gfx1201 in the tests of bjacob/goc, which
//! `tests/measured_wmma.rs` compares with.

use luthier_isa::op::Op as IsaOp;

use std::marker::PhantomData;

use super::held::Held;
use super::rdna::{self, Bits};
use super::wmma::{Bf8, Bf16, F16, Fp8, Product, SIZE, flipped, halves, single};
use super::{integers, layout};
use crate::fp::dot::Factor;
use crate::op::{Flow, Op, RawMods, Semantics};
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

/// A * B, summed in steps of `N` products in groups of `GROUP`.
struct Sparse<A, B, const GROUP: usize, const N: usize>(PhantomData<(A, B)>);
impl<A: Factor, B: Factor, const GROUP: usize, const N: usize> Product for Sparse<A, B, GROUP, N> {
    const BITS: [usize; 2] = [A::BITS as usize, B::BITS as usize];
    #[inline(always)]
    fn add<R: Held>(w: &Wave, op: &Op, c: &mut Bits) {
        let met = met(w, op, A::BITS as usize, rdna::SPARSE_ROWS);
        let negative = |s: usize| flipped(op, 0, s) != flipped(op, 1, s);
        rdna::sparse::<A, B, R, GROUP, N>(w, op, |row, s| met[row][s], negative, c);
    }
}

/// f32 += A * B.
struct ToSingle<P>(PhantomData<P>);
impl<P: Product> Semantics for ToSingle<P> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        single::<P>(w, op, op.dst)
    }
}

/// 16-bit floats += A * B.
struct ToHalf<T>(PhantomData<T>);
impl<T: Factor + Held> Semantics for ToHalf<T> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        halves::<T, Sparse<T, T, 2, 4>>(w, op, op.dst)
    }
}

/// Integers of `BITS` bits, `K` of them in a row of A and `KB` rows of B, to 32 bits.
struct ToInteger<const BITS: usize, const K: usize, const KB: usize>;
impl<const BITS: usize, const K: usize, const KB: usize> Semantics for ToInteger<BITS, K, KB> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let met = met(w, op, BITS, KB);
        integers::run::<BITS, K, KB>(w, op, op.dst, |row, s| met[row][s], |w, k| layout::sparse(w, BITS, KB, k))
    }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VSwmmacF32_16x16x32F16 => ValuOp::of::<ToSingle<Sparse<F16, F16, 2, 4>>>(),
        IsaOp::VSwmmacF32_16x16x32Bf16 => ValuOp::of::<ToSingle<Sparse<Bf16, Bf16, 2, 4>>>(),
        IsaOp::VSwmmacF32_16x16x32Fp8Fp8 => ValuOp::of::<ToSingle<Sparse<Fp8, Fp8, 4, 8>>>(),
        IsaOp::VSwmmacF32_16x16x32Fp8Bf8 => ValuOp::of::<ToSingle<Sparse<Fp8, Bf8, 4, 8>>>(),
        IsaOp::VSwmmacF32_16x16x32Bf8Fp8 => ValuOp::of::<ToSingle<Sparse<Bf8, Fp8, 4, 8>>>(),
        IsaOp::VSwmmacF32_16x16x32Bf8Bf8 => ValuOp::of::<ToSingle<Sparse<Bf8, Bf8, 4, 8>>>(),
        IsaOp::VSwmmacF16_16x16x32F16 => ValuOp::of::<ToHalf<F16>>().places_halves(),
        IsaOp::VSwmmacBf16_16x16x32Bf16 => ValuOp::of::<ToHalf<Bf16>>().places_halves(),
        IsaOp::VSwmmacI32_16x16x32Iu8 => ValuOp::of::<ToInteger<8, 16, 32>>(),
        IsaOp::VSwmmacI32_16x16x32Iu4 => ValuOp::of::<ToInteger<4, 16, 32>>(),
        IsaOp::VSwmmacI32_16x16x64Iu4 => ValuOp::of::<ToInteger<4, 32, 64>>(),
        _ => return None,
    })
}
