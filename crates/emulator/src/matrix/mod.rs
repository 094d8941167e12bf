//! Matrix operations: the MFMA instructions of CDNA 2, `D = A * B + C` on one or several blocks.
//!
//! # Layout
//!
//! An M x N x K operation on B blocks holds, in 64 lanes:
//! * A (M x K): lane `l` has row `l mod M`. The lanes of one such group of M belong, with several blocks, to block
//!   `l / M`; with one block, to the next columns: `k = e + E * (l / M)` for element `e` of the E that a lane holds.
//!   B (K x N) likewise, with columns for rows.
//! * C and D, M = 32 or 16: lane `l` has column `l mod N`, register `r` of a block has row
//!   `4 * (l / N) + (r mod 4) + 4 * (64 / N) * (r / 4)`; a block's registers follow the previous block's.
//!   M = 4: lane `l` has column `l mod 4` of block `l / 4`, register `r` row `r`.
//! * f64: a register is a pair. 16x16x4: row `l / 16 + 4 * r`. 4x4x4: lane `l` has column (or A's row) `l mod 4` of
//!   block `l / 4 mod 4`, and row (or k) `l / 16`.
//!
//! `cbsz` and `abid` give the A of block `abid` of each group of `2^cbsz` blocks to the whole group; `blgp` permutes
//! B's lanes. EXEC is ignored.
//!
//! # Arithmetic
//!
//! Products are added one by one, k ascending, each sum rounded once to nearest even (fused multiply-add). f16 and
//! bf16 operations flush denormals of A, B, C and D to zero, as AMD documents for MI200; f32 and f64 keep them. The
//! order in which the hardware adds is not documented: last bits of f16, bf16 and f32 results may differ from it.

mod element;
mod float;
mod integer;
mod layout;

use crate::registry::ValuOp;
use crate::valu::op;
use element::{Bf16, F16, F32};

/// The operation of an isa `base` mnemonic (`v_mfma_f32_32x32x8f16`), if it is one of ours.
pub fn lookup(base: &str) -> Option<ValuOp> {
    let op = match base {
        "v_mfma_f32_32x32x1f32" => op!(w, o => float::run::<F32<1>, 32, 1, 2>(w, o)),
        "v_mfma_f32_16x16x1f32" => op!(w, o => float::run::<F32<1>, 16, 1, 4>(w, o)),
        "v_mfma_f32_4x4x1f32" => op!(w, o => float::run::<F32<1>, 4, 1, 16>(w, o)),
        "v_mfma_f32_32x32x2f32" => op!(w, o => float::run::<F32<1>, 32, 2, 1>(w, o)),
        "v_mfma_f32_16x16x4f32" => op!(w, o => float::run::<F32<1>, 16, 4, 1>(w, o)),
        "v_mfma_f32_32x32x4f16" => op!(w, o => float::run::<F16, 32, 4, 2>(w, o)),
        "v_mfma_f32_16x16x4f16" => op!(w, o => float::run::<F16, 16, 4, 4>(w, o)),
        "v_mfma_f32_4x4x4f16" => op!(w, o => float::run::<F16, 4, 4, 16>(w, o)),
        "v_mfma_f32_32x32x8f16" => op!(w, o => float::run::<F16, 32, 8, 1>(w, o)),
        "v_mfma_f32_16x16x16f16" => op!(w, o => float::run::<F16, 16, 16, 1>(w, o)),
        "v_mfma_f32_32x32x2bf16" => op!(w, o => float::run::<Bf16<2>, 32, 2, 2>(w, o)),
        "v_mfma_f32_16x16x2bf16" => op!(w, o => float::run::<Bf16<2>, 16, 2, 4>(w, o)),
        "v_mfma_f32_4x4x2bf16" => op!(w, o => float::run::<Bf16<2>, 4, 2, 16>(w, o)),
        "v_mfma_f32_32x32x4bf16" => op!(w, o => float::run::<Bf16<2>, 32, 4, 1>(w, o)),
        "v_mfma_f32_16x16x8bf16" => op!(w, o => float::run::<Bf16<2>, 16, 8, 1>(w, o)),
        "v_mfma_f32_32x32x4bf16_1k" => op!(w, o => float::run::<Bf16<4>, 32, 4, 2>(w, o)),
        "v_mfma_f32_16x16x4bf16_1k" => op!(w, o => float::run::<Bf16<4>, 16, 4, 4>(w, o)),
        "v_mfma_f32_4x4x4bf16_1k" => op!(w, o => float::run::<Bf16<4>, 4, 4, 16>(w, o)),
        "v_mfma_f32_32x32x8bf16_1k" => op!(w, o => float::run::<Bf16<4>, 32, 8, 1>(w, o)),
        "v_mfma_f32_16x16x16bf16_1k" => op!(w, o => float::run::<Bf16<4>, 16, 16, 1>(w, o)),
        "v_mfma_i32_32x32x4i8" => op!(w, o => integer::run::<32, 4, 2>(w, o)),
        "v_mfma_i32_16x16x4i8" => op!(w, o => integer::run::<16, 4, 4>(w, o)),
        "v_mfma_i32_4x4x4i8" => op!(w, o => integer::run::<4, 4, 16>(w, o)),
        "v_mfma_i32_32x32x8i8" => op!(w, o => integer::run::<32, 8, 1>(w, o)),
        "v_mfma_i32_16x16x16i8" => op!(w, o => integer::run::<16, 16, 1>(w, o)),
        "v_mfma_f64_16x16x4f64" => op!(w, o => float::run_f64_16(w, o)),
        "v_mfma_f64_4x4x4f64" => op!(w, o => float::run_f64_4(w, o)),
        _ => return None,
    };
    Some(op.raw_mods())
}
