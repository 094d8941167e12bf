//! Matrix operations: MFMA, and the moves between VGPRs and accumulation VGPRs.
//!
//! # Where the elements are
//!
//! An operation multiplies `BLOCKS` pairs of matrices, M x K and K x M. A lane holds `PER_LANE` neighbouring elements
//! along K of one row of A (or one column of B):
//!
//! ```text
//! lane = (k / PER_LANE * BLOCKS + block) * M + row          element within the lane = k % PER_LANE
//! ```
//!
//! The result has one column a lane, `lane % M`. With M = 32 a register holds rows `8 * (r / 4) + 4 * (lane / 32) + r % 4`
//! of its block, with M = 16 rows `4 * (lane / 16) + r`, blocks one after the other; with M = 4 the lane says the block
//! (`lane / 4`) and the register the row. The f64 forms differ, see [`double`].
//!
//! CBSZ, ABID: groups of `1 << cbsz` blocks all use the A of block ABID of their group. BLGP permutes the lanes of B.
//! EXEC is ignored.
//!
//! # What the arithmetic is
//!
//! Products are added to the accumulator one after the other, k ascending, each step a fused multiply-add rounded to
//! nearest even. AMD does not document the order; where sums are exact the order does not show. Denormals: the f32 and
//! f64 forms keep them; the f16 and bf16 forms of gfx90a flush those of the operands, of the accumulator and of the
//! result. MODE is ignored. Sources: "Matrix Arithmetic Instructions" in AMD's CDNA2 ISA manual; AMD's matrix
//! instruction calculator; the MI200 numerics notes in the ROCm documentation.

mod accumulate;
mod double;
mod elements;
mod moves;

use accumulate::{Mfma, Mfma4};
use double::{Double4, Double16};
use elements::{Bf16, Bf16Double, Bf16Exact, Bf16Wide, F16, F16Double, F16Exact, F32, I8, I8Double, I8Quad};

use crate::registry::ValuOp;

/// The operation of an isa `base` mnemonic (`v_mfma_f32_32x32x8f16`), if it is one of ours.
pub fn lookup(base: &str) -> Option<ValuOp> {
    if let Some(op) = moves::lookup(base) {
        return Some(op);
    }
    let op = match base {
        "v_mfma_f32_32x32x1f32" => ValuOp::of::<Mfma<F32, 32, 2>>(),
        "v_mfma_f32_32x32x2f32" => ValuOp::of::<Mfma<F32, 32, 1>>(),
        "v_mfma_f32_16x16x1f32" => ValuOp::of::<Mfma<F32, 16, 4>>(),
        "v_mfma_f32_16x16x4f32" => ValuOp::of::<Mfma<F32, 16, 1>>(),
        "v_mfma_f32_4x4x1f32" => ValuOp::of::<Mfma4<F32>>(),
        "v_mfma_f32_32x32x4f16" => ValuOp::of::<Mfma<F16, 32, 2>>(),
        "v_mfma_f32_32x32x8f16" => ValuOp::of::<Mfma<F16, 32, 1>>(),
        "v_mfma_f32_16x16x4f16" => ValuOp::of::<Mfma<F16, 16, 4>>(),
        "v_mfma_f32_16x16x16f16" => ValuOp::of::<Mfma<F16, 16, 1>>(),
        "v_mfma_f32_4x4x4f16" => ValuOp::of::<Mfma4<F16>>(),
        "v_mfma_f32_32x32x2bf16" => ValuOp::of::<Mfma<Bf16, 32, 2>>(),
        "v_mfma_f32_32x32x4bf16" => ValuOp::of::<Mfma<Bf16, 32, 1>>(),
        "v_mfma_f32_16x16x2bf16" => ValuOp::of::<Mfma<Bf16, 16, 4>>(),
        "v_mfma_f32_16x16x8bf16" => ValuOp::of::<Mfma<Bf16, 16, 1>>(),
        "v_mfma_f32_4x4x2bf16" => ValuOp::of::<Mfma4<Bf16>>(),
        "v_mfma_f32_32x32x4bf16_1k" => ValuOp::of::<Mfma<Bf16Wide, 32, 2>>(),
        "v_mfma_f32_32x32x8bf16_1k" => ValuOp::of::<Mfma<Bf16Wide, 32, 1>>(),
        "v_mfma_f32_16x16x4bf16_1k" => ValuOp::of::<Mfma<Bf16Wide, 16, 4>>(),
        "v_mfma_f32_16x16x16bf16_1k" => ValuOp::of::<Mfma<Bf16Wide, 16, 1>>(),
        "v_mfma_f32_4x4x4bf16_1k" => ValuOp::of::<Mfma4<Bf16Wide>>(),
        "v_mfma_i32_32x32x4i8" => ValuOp::of::<Mfma<I8, 32, 2>>(),
        "v_mfma_i32_32x32x8i8" => ValuOp::of::<Mfma<I8, 32, 1>>(),
        "v_mfma_i32_16x16x4i8" => ValuOp::of::<Mfma<I8, 16, 4>>(),
        "v_mfma_i32_16x16x16i8" => ValuOp::of::<Mfma<I8, 16, 1>>(),
        "v_mfma_i32_4x4x4i8" => ValuOp::of::<Mfma4<I8>>(),
        "v_mfma_f64_16x16x4f64" | "v_mfma_f64_16x16x4_f64" => ValuOp::of::<Double16>(),
        "v_mfma_f64_4x4x4f64" | "v_mfma_f64_4x4x4_4b_f64" => ValuOp::of::<Double4>(),
        // CDNA3 spells them out, and keeps denormals.
        "v_mfma_f32_32x32x1_2b_f32" => ValuOp::of::<Mfma<F32, 32, 2>>(),
        "v_mfma_f32_32x32x2_f32" => ValuOp::of::<Mfma<F32, 32, 1>>(),
        "v_mfma_f32_16x16x1_4b_f32" => ValuOp::of::<Mfma<F32, 16, 4>>(),
        "v_mfma_f32_16x16x4_f32" => ValuOp::of::<Mfma<F32, 16, 1>>(),
        "v_mfma_f32_4x4x1_16b_f32" => ValuOp::of::<Mfma4<F32>>(),
        "v_mfma_f32_32x32x4_2b_f16" => ValuOp::of::<Mfma<F16Exact, 32, 2>>(),
        "v_mfma_f32_32x32x8_f16" => ValuOp::of::<Mfma<F16Exact, 32, 1>>(),
        "v_mfma_f32_16x16x4_4b_f16" => ValuOp::of::<Mfma<F16Exact, 16, 4>>(),
        "v_mfma_f32_16x16x16_f16" => ValuOp::of::<Mfma<F16Exact, 16, 1>>(),
        "v_mfma_f32_4x4x4_16b_f16" => ValuOp::of::<Mfma4<F16Exact>>(),
        "v_mfma_f32_32x32x4_2b_bf16" => ValuOp::of::<Mfma<Bf16Exact, 32, 2>>(),
        "v_mfma_f32_32x32x8_bf16" => ValuOp::of::<Mfma<Bf16Exact, 32, 1>>(),
        "v_mfma_f32_16x16x4_4b_bf16" => ValuOp::of::<Mfma<Bf16Exact, 16, 4>>(),
        "v_mfma_f32_16x16x16_bf16" => ValuOp::of::<Mfma<Bf16Exact, 16, 1>>(),
        "v_mfma_f32_4x4x4_16b_bf16" => ValuOp::of::<Mfma4<Bf16Exact>>(),
        "v_mfma_i32_32x32x4_2b_i8" => ValuOp::of::<Mfma<I8, 32, 2>>(),
        "v_mfma_i32_16x16x4_4b_i8" => ValuOp::of::<Mfma<I8, 16, 4>>(),
        "v_mfma_i32_4x4x4_16b_i8" => ValuOp::of::<Mfma4<I8>>(),
        "v_mfma_i32_32x32x16_i8" => ValuOp::of::<Mfma<I8Double, 32, 1>>(),
        "v_mfma_i32_16x16x32_i8" => ValuOp::of::<Mfma<I8Double, 16, 1>>(),
        // CDNA4: twice as many along K.
        "v_mfma_f32_32x32x16_f16" => ValuOp::of::<Mfma<F16Double, 32, 1>>(),
        "v_mfma_f32_16x16x32_f16" => ValuOp::of::<Mfma<F16Double, 16, 1>>(),
        "v_mfma_f32_32x32x16_bf16" => ValuOp::of::<Mfma<Bf16Double, 32, 1>>(),
        "v_mfma_f32_16x16x32_bf16" => ValuOp::of::<Mfma<Bf16Double, 16, 1>>(),
        "v_mfma_i32_32x32x32_i8" => ValuOp::of::<Mfma<I8Quad, 32, 1>>(),
        "v_mfma_i32_16x16x64_i8" => ValuOp::of::<Mfma<I8Quad, 16, 1>>(),
        _ => return None,
    };
    Some(op.raw_mods())
}

#[cfg(test)]
mod tests;
