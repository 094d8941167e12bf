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
//! CDNA4's operations on 8, 6 and 4 bits are in [`scaled`], sparse ones in [`sparse`].
//!
//! # What the arithmetic is
//!
//! f32, f64: products are added to the accumulator one after the other, k ascending, each step a fused multiply-add
//! rounded to nearest even; denormals are kept; NaNs are 0x7fc00000 and 0x7ff8000000000000, as which the processors give has
//! not been published. Bytes: exact, wrapping. The other types: [`sum`]. MODE is ignored.
//! Sources: "Matrix Arithmetic Instructions" in AMD's CDNA ISA manuals; AMD's matrix instruction calculator.

use luthier_isa::Generation;
use luthier_isa::op::Op as IsaOp;

mod accumulate;
mod aligned;
mod bytes;
mod chain;
mod codes;
mod dense;
mod double;
mod elements;
mod exact;
mod fields;
#[cfg(target_arch = "x86_64")]
mod fours;
#[cfg(target_arch = "x86_64")]
mod from_registers;
#[cfg(target_arch = "x86_64")]
mod group;
#[cfg(target_arch = "x86_64")]
mod half_sums;
#[cfg(target_arch = "x86_64")]
mod halves;
mod held;
#[cfg(target_arch = "x86_64")]
mod integer_sums;
mod integers;
#[cfg(target_arch = "x86_64")]
mod known;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod layout;
mod moves;
#[cfg(target_arch = "x86_64")]
mod numbers;
mod once;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod rdna;
mod rdna3;
pub mod scaled;
mod scaled1250;
mod side;
pub mod sparse;
#[cfg(target_arch = "x86_64")]
mod steps;
pub mod sum;
mod swmmac;
mod swmmac1250;
#[cfg(target_arch = "x86_64")]
mod two_rows;
mod types;
#[cfg(target_arch = "x86_64")]
mod whole;
mod wmma;
mod wmma1250;
#[cfg(target_arch = "x86_64")]
mod words;

use accumulate::{Mfma, Mfma4};
use bytes::Bytes;
use dense::Dense;
use double::{Double4, Double16};
use elements::{F32, I8};
use scaled::Mixed;
use sparse::{Local, Pieces, Sparse, Spread};
use sum::{Aligned, Integers, Pairs, TwoSums};
use types::{Bf8, Bf16, F16, Fp8, Xf32};

pub(crate) use scaled1250::controls;

use crate::registry::ValuOp;

/// A WMMA of gfx1250.
fn of_gfx1250(op: IsaOp) -> Option<ValuOp> {
    wmma1250::lookup(op).or_else(|| scaled1250::lookup(op)).or_else(|| swmmac1250::lookup(op))
}

/// Whether a WMMA is one that gfx1250 has.
pub(crate) fn is_of_gfx1250(op: IsaOp) -> bool {
    of_gfx1250(op).is_some()
}

/// What a matrix operation does on processors of a generation, if it is one of ours.
pub fn lookup(op: IsaOp, generation: Generation) -> Option<ValuOp> {
    if let Some(op) = moves::lookup(op).or_else(|| wmma::lookup(op)).or_else(|| of_gfx1250(op)) {
        return Some(op);
    }
    let op = match op {
        IsaOp::VMfmaF32_32x32x1f32 => ValuOp::of::<Mfma<F32, 32, 2>>(),
        IsaOp::VMfmaF32_32x32x2f32 => ValuOp::of::<Mfma<F32, 32, 1>>(),
        IsaOp::VMfmaF32_16x16x1f32 => ValuOp::of::<Mfma<F32, 16, 4>>(),
        IsaOp::VMfmaF32_16x16x4f32 => ValuOp::of::<Mfma<F32, 16, 1>>(),
        IsaOp::VMfmaF32_4x4x1f32 => ValuOp::of::<Mfma4<F32>>(),
        IsaOp::VMfmaI32_32x32x4i8 => ValuOp::shared::<Bytes<32, 2, 1>>(),
        IsaOp::VMfmaI32_32x32x8i8 => ValuOp::shared::<Bytes<32, 1, 1>>(),
        IsaOp::VMfmaI32_16x16x4i8 => ValuOp::shared::<Bytes<16, 4, 1>>(),
        IsaOp::VMfmaI32_16x16x16i8 => ValuOp::shared::<Bytes<16, 1, 1>>(),
        IsaOp::VMfmaI32_4x4x4i8 => ValuOp::of::<Mfma4<I8>>(),
        IsaOp::VMfmaF64_16x16x4f64 => ValuOp::of::<Double16>(),
        IsaOp::VMfmaF64_4x4x4f64 => ValuOp::of::<Double4>(),
        IsaOp::VMfmaI32_32x32x16I8 => ValuOp::shared::<Bytes<32, 1, 2>>(),
        IsaOp::VMfmaI32_16x16x32I8 => ValuOp::shared::<Bytes<16, 1, 2>>(),
        IsaOp::VMfmaI32_32x32x32I8 => ValuOp::shared::<Bytes<32, 1, 4>>(),
        IsaOp::VMfmaI32_16x16x64I8 => ValuOp::shared::<Bytes<16, 1, 4>>(),
        _ => {
            let cdna3 = if generation == Generation::Gfx940 { halves_of_cdna3(op) } else { None };
            let found = cdna3.or_else(|| halves(op)).or_else(|| bytes(op)).or_else(|| sparse_operations(op));
            return found.map(ValuOp::raw_mods);
        }
    };
    Some(op.raw_mods())
}

/// Products of one type of element.
macro_rules! dense {
    ($element:ty, $rule:ty, $m:literal, $blocks:literal, $per_lane:literal) => {
        Some(ValuOp::of::<Dense<$element, $element, $rule, $m, $blocks, $per_lane>>())
    };
}

/// f16 and bf16, and xf32.
fn halves(op: IsaOp) -> Option<ValuOp> {
    match op {
        IsaOp::VMfmaF32_32x32x4f16 => dense!(F16, Pairs<4>, 32, 2, 4),
        IsaOp::VMfmaF32_32x32x8f16 => dense!(F16, Pairs<4>, 32, 1, 4),
        IsaOp::VMfmaF32_16x16x4f16 => dense!(F16, Pairs<4>, 16, 4, 4),
        IsaOp::VMfmaF32_16x16x16f16 => dense!(F16, Pairs<4>, 16, 1, 4),
        IsaOp::VMfmaF32_4x4x4f16 => dense!(F16, Pairs<4>, 4, 16, 4),
        IsaOp::VMfmaF32_32x32x2bf16 => dense!(Bf16, Pairs<2>, 32, 2, 2),
        IsaOp::VMfmaF32_32x32x4bf16 => dense!(Bf16, Pairs<2>, 32, 1, 2),
        IsaOp::VMfmaF32_16x16x2bf16 => dense!(Bf16, Pairs<2>, 16, 4, 2),
        IsaOp::VMfmaF32_16x16x8bf16 => dense!(Bf16, Pairs<2>, 16, 1, 2),
        IsaOp::VMfmaF32_4x4x2bf16 => dense!(Bf16, Pairs<2>, 4, 16, 2),
        IsaOp::VMfmaF32_32x32x4bf16_1k => dense!(Bf16, Pairs<4>, 32, 2, 4),
        IsaOp::VMfmaF32_32x32x8bf16_1k => dense!(Bf16, Pairs<4>, 32, 1, 4),
        IsaOp::VMfmaF32_16x16x4bf16_1k => dense!(Bf16, Pairs<4>, 16, 4, 4),
        IsaOp::VMfmaF32_16x16x16bf16_1k => dense!(Bf16, Pairs<4>, 16, 1, 4),
        IsaOp::VMfmaF32_4x4x4bf16_1k => dense!(Bf16, Pairs<4>, 4, 16, 4),
        IsaOp::VMfmaF32_16x16x8Xf32 => dense!(Xf32, Aligned<4>, 16, 1, 2),
        IsaOp::VMfmaF32_32x32x4Xf32 => dense!(Xf32, Aligned<4>, 32, 1, 2),
        // CDNA4.
        IsaOp::VMfmaF32_32x32x16F16 => dense!(F16, Aligned<8>, 32, 1, 8),
        IsaOp::VMfmaF32_16x16x32F16 => dense!(F16, Aligned<8>, 16, 1, 8),
        IsaOp::VMfmaF32_32x32x16Bf16 => dense!(Bf16, Aligned<8>, 32, 1, 8),
        IsaOp::VMfmaF32_16x16x32Bf16 => dense!(Bf16, Aligned<8>, 16, 1, 8),
        _ => None,
    }
}

/// Operations that CDNA3 shares with its predecessors, and sums otherwise.
fn halves_of_cdna3(op: IsaOp) -> Option<ValuOp> {
    match op {
        IsaOp::VMfmaF32_32x32x4f16 => dense!(F16, Aligned<8>, 32, 2, 4),
        IsaOp::VMfmaF32_32x32x8f16 => dense!(F16, Aligned<8>, 32, 1, 4),
        IsaOp::VMfmaF32_16x16x4f16 => dense!(F16, Aligned<8>, 16, 4, 4),
        IsaOp::VMfmaF32_16x16x16f16 => dense!(F16, Aligned<8>, 16, 1, 4),
        IsaOp::VMfmaF32_4x4x4f16 => dense!(F16, Aligned<8>, 4, 16, 4),
        IsaOp::VMfmaF32_32x32x4bf16_1k => dense!(Bf16, Aligned<8>, 32, 2, 4),
        IsaOp::VMfmaF32_32x32x8bf16_1k => dense!(Bf16, Aligned<8>, 32, 1, 4),
        IsaOp::VMfmaF32_16x16x4bf16_1k => dense!(Bf16, Aligned<8>, 16, 4, 4),
        IsaOp::VMfmaF32_16x16x16bf16_1k => dense!(Bf16, Aligned<8>, 16, 1, 4),
        IsaOp::VMfmaF32_4x4x4bf16_1k => dense!(Bf16, Aligned<8>, 4, 16, 4),
        _ => None,
    }
}

/// Operations on two kinds of eight-bit floats: how they are compiled, the names of A's and of B's, then what depends on them.
macro_rules! by_kinds {
    ($compiled:ident, $kinds:expr, $operation:ident $(, $parameter:ty)* ; $($number:literal),*) => {
        match $kinds {
            "fp8_fp8" => Some(ValuOp::$compiled::<$operation<Fp8, Fp8, TwoSums, $($parameter,)* $($number),*>>()),
            "fp8_bf8" => Some(ValuOp::$compiled::<$operation<Fp8, Bf8, TwoSums, $($parameter,)* $($number),*>>()),
            "bf8_fp8" => Some(ValuOp::$compiled::<$operation<Bf8, Fp8, TwoSums, $($parameter,)* $($number),*>>()),
            "bf8_bf8" => Some(ValuOp::$compiled::<$operation<Bf8, Bf8, TwoSums, $($parameter,)* $($number),*>>()),
            _ => None,
        }
    };
}

/// Eight bits and fewer.
fn bytes(op: IsaOp) -> Option<ValuOp> {
    match op {
        IsaOp::VMfmaF32_16x16x128F8f6f4 => return Some(ValuOp::of::<Mixed<16, false>>()),
        IsaOp::VMfmaF32_32x32x64F8f6f4 => return Some(ValuOp::of::<Mixed<32, false>>()),
        IsaOp::VMfmaScaleF32_16x16x128F8f6f4 => return Some(ValuOp::of::<Mixed<16, true>>()),
        IsaOp::VMfmaScaleF32_32x32x64F8f6f4 => return Some(ValuOp::of::<Mixed<32, true>>()),
        _ => {}
    }
    let (shape, kinds) = op.name().strip_prefix("v_mfma_f32_")?.split_once('_')?;
    match shape {
        "16x16x32" => by_kinds!(of, kinds, Dense; 16, 1, 8),
        "32x32x16" => by_kinds!(of, kinds, Dense; 32, 1, 8),
        _ => None,
    }
}

fn sparse_operations(op: IsaOp) -> Option<ValuOp> {
    let base = op.name();
    let (shape, kinds) = base.strip_prefix("v_smfmac_f32_").or(base.strip_prefix("v_smfmac_i32_"))?.split_once('_')?;
    type Half<E, L, const M: usize, const N: usize, const T: usize> = Sparse<E, E, Aligned<8>, L, M, N, T>;
    type Byte<L, const M: usize, const N: usize, const T: usize> = Sparse<types::I8, types::I8, Integers, L, M, N, T>;
    Some(match (shape, kinds) {
        ("16x16x32", "f16") => ValuOp::up_to_avx2::<Half<F16, Local, 16, 4, 8>>(),
        ("32x32x16", "f16") => ValuOp::up_to_avx2::<Half<F16, Local, 32, 4, 8>>(),
        ("16x16x32", "bf16") => ValuOp::up_to_avx2::<Half<Bf16, Local, 16, 4, 8>>(),
        ("32x32x16", "bf16") => ValuOp::up_to_avx2::<Half<Bf16, Local, 32, 4, 8>>(),
        ("16x16x64", "i8") => ValuOp::up_to_avx2::<Byte<Local, 16, 8, 16>>(),
        ("32x32x32", "i8") => ValuOp::up_to_avx2::<Byte<Local, 32, 8, 16>>(),
        // CDNA4.
        ("16x16x64", "f16") => ValuOp::up_to_avx2::<Half<F16, Pieces, 16, 8, 16>>(),
        ("32x32x32", "f16") => ValuOp::up_to_avx2::<Half<F16, Pieces, 32, 8, 16>>(),
        ("16x16x64", "bf16") => ValuOp::up_to_avx2::<Half<Bf16, Pieces, 16, 8, 16>>(),
        ("32x32x32", "bf16") => ValuOp::up_to_avx2::<Half<Bf16, Pieces, 32, 8, 16>>(),
        ("16x16x128", "i8") => ValuOp::up_to_avx2::<Byte<Spread, 16, 16, 32>>(),
        ("32x32x64", "i8") => ValuOp::up_to_avx2::<Byte<Spread, 32, 16, 32>>(),
        ("16x16x64", _) => return by_kinds!(up_to_avx2, kinds, Sparse, Local; 16, 8, 16),
        ("32x32x32", _) => return by_kinds!(up_to_avx2, kinds, Sparse, Local; 32, 8, 16),
        ("16x16x128", _) => return by_kinds!(up_to_avx2, kinds, Sparse, Spread; 16, 16, 32),
        ("32x32x64", _) => return by_kinds!(up_to_avx2, kinds, Sparse, Spread; 32, 16, 32),
        _ => return None,
    })
}

/// What the operation is that some processor calls by this name, on the first such processor.
#[cfg(test)]
fn named(name: &str) -> ValuOp {
    let all = luthier_isa::Target::ALL.iter().flat_map(|target| target.opcodes());
    let mut of_that_name = all.filter(|info| info.base == name);
    of_that_name.find_map(crate::registry::vector).unwrap_or_else(|| panic!("{name} is no matrix operation"))
}

#[cfg(test)]
mod tests;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_aligned;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_bytes;
#[cfg(test)]
mod tests_exact;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_half_sums;
#[cfg(test)]
mod tests_once;
#[cfg(test)]
mod tests_rdna;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_steps;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests_whole;
