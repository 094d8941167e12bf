//! `v_wmma_f32_16x16x128_f8f6f4`, `v_wmma_f32_32x16x128_f4` of gfx1250, and both with scales: A and B of any of five
//! formats, and blocks of 32 or 16 elements along K that share a factor.
//!
//! # Where the elements and the scales are
//!
//! The elements: [`super::wmma1250`]; of a format of fewer bits a matrix has fewer registers. The 32 rows of A of the
//! operations on FP4 are two times sixteen, in eight registers each, and so are those of C and of the result.
//!
//! A byte for each block, the first block's lowest, in one register (`v_wmma_scale`) or two (`v_wmma_scale16`), in the lane
//! of the row of A or the column of B. MATRIX_A_SCALE and MATRIX_B_SCALE say which half of the wave has them. Thirty-two
//! rows take all lanes; with them MATRIX_A_SCALE has no meaning, and is refused. An SGPR or a constant holds the scales of
//! all rows.
//!
//! All of this AMD has probed on the hardware (rocm-systems, the tests of fpsan named wmma_scale_f8f6f4_gfx1250 and
//! wmma_32x16x128_f4_gfx1250, once one sees that they number rows and k in an order of their own); the half of the wave is
//! from FlyDSL's kernels, and from how AMD's rocjitsu splits an operation of 32 rows into two of 16.
//!
//! # What the scales mean
//!
//! * E8M0: 2 to the power of the byte less 127; 255 is a NaN. Zero is 2^-127.
//! * E5M3: no sign, a bias of 15, denormals, no infinity; 255 is a NaN.
//! * E4M3: as the element format FP8, sign and NaN included.
//!
//! The latter two go with elements of FP4; with others they are refused, as LLVM's verifier of MLIR (amdgpu.scaled_wmma)
//! and fpsan say they are not legal. What FP4 may have is from composable_kernel's tests on the hardware. E5M3's values are
//! from rocjitsu.
//!
//! # What the arithmetic is
//!
//! As without scales: products are added to C one after the other, k ascending. Each is exact, scales included, whatever
//! its exponent, and each sum is rounded once, to f32. So scales of one change nothing. An infinity times zero is a NaN,
//! and so is what a NaN scale touches. The formats of six and four bits have neither infinities nor NaNs; denormals of all
//! formats count. AMD does not document the order.

use luthier_isa::op::Op as IsaOp;

use std::sync::LazyLock;

use luthier_isa::{Field, Inst};

use super::wmma::{SIZE, Sums};
use super::wmma1250::{Factors, SIGNS, Single, addends, codes, factors, multiply, results, turn};
use crate::fp::small::{BF6, BF8, FP4, FP6, FP8, shared_exponent};
use crate::op::{Flow, Op, Semantics};
use crate::registry::ValuOp;
use crate::wave::Wave;

const K: usize = 128;
type Matrix = Factors<K>;

/// What an instruction says of A (`side` 0) and B (1), in the micro-op's second immediate:
/// the rows that hold the scales \[15:0\], \[31:16\]; whether lanes 16 to 31 do 32, 33; the formats of the scales \[35:34\],
/// \[37:36\]; the formats of the matrices \[42:40\], \[45:43\]; how many elements share a scale \[55:48\], zero if there is none.
#[derive(Clone, Copy)]
struct Controls(u64);

impl Controls {
    fn scales(self, side: usize) -> u16 {
        (self.0 >> (16 * side)) as u16
    }
    fn upper(self, side: usize) -> bool {
        self.0 >> (32 + side) & 1 != 0
    }
    fn scale_format(self, side: usize) -> usize {
        (self.0 >> (34 + 2 * side) & 3) as usize
    }
    fn format(self, side: usize) -> usize {
        (self.0 >> (40 + 3 * side) & 7) as usize
    }
    fn block(self) -> usize {
        (self.0 >> 48 & 255) as usize
    }
}

const E8M0: u64 = 0;
const FORMATS: u64 = 5;
const SCALE_FORMATS: u64 = 3;
/// Among the matrices' formats.
const FP4_CODE: u64 = 4;

/// The bits for an instruction, but for the rows of its scales; an error if AMD gives what it says no meaning.
pub(crate) fn controls(inst: &Inst) -> Result<u64, String> {
    let (info, field) = (inst.info(), |field| u64::from(inst.field(field).unwrap_or(0)));
    let refused = |what: &str| Err(format!("{}: {what}", info.mnemonic));
    let tall = info.base.ends_with("_f4");
    let formats = if tall { [FP4_CODE; 2] } else { [field(Field::OpSel), field(Field::OpSelHi)] };
    let scale_formats = [field(Field::ScaleFormatA), field(Field::ScaleFormatB)];
    if formats.iter().any(|&format| format >= FORMATS) {
        return refused("there is no such format of a matrix");
    }
    if scale_formats.iter().any(|&format| format >= SCALE_FORMATS) {
        return refused("there is no such format of scales");
    }
    if formats.iter().zip(scale_formats).any(|(&format, scale)| scale != E8M0 && format != FP4_CODE) {
        return refused("only scales of FP4 may have another format than E8M0");
    }
    let upper = [field(Field::ScaleA), field(Field::ScaleB)];
    if tall && upper[0] != 0 {
        return refused("the scales of 32 rows take both halves of the wave");
    }
    let block: u64 = match info.base {
        base if base.starts_with("v_wmma_scale16_") => 16,
        base if base.starts_with("v_wmma_scale_") => 32,
        _ => 0,
    };
    Ok(upper[0] << 32
        | upper[1] << 33
        | scale_formats[0] << 34
        | scale_formats[1] << 36
        | formats[0] << 40
        | formats[1] << 43
        | block << 48)
}

/// The elements of a matrix.
#[inline(always)]
fn elements(w: &Wave, first: u16, format: usize) -> Matrix {
    match format {
        0 => factors(&codes::<8, K>(w, first, turn(8, K), [0; 2]), |code| FP8.number(code)),
        1 => factors(&codes::<8, K>(w, first, turn(8, K), [0; 2]), |code| BF8.number(code)),
        2 => factors(&codes::<6, K>(w, first, turn(6, K), [0; 2]), |code| FP6.number(code)),
        3 => factors(&codes::<6, K>(w, first, turn(6, K), [0; 2]), |code| BF6.number(code)),
        _ => factors(&codes::<4, K>(w, first, turn(4, K), [0; 2]), |code| FP4.number(code)),
    }
}

/// The numbers of the codes of E8M0, E5M3 and E4M3.
fn scale_tables() -> &'static [[f32; 256]; SCALE_FORMATS as usize] {
    static TABLES: LazyLock<[[f32; 256]; SCALE_FORMATS as usize]> = LazyLock::new(|| {
        let power = |n: i32| 2f64.powi(n);
        let e8m0 = |code: usize| shared_exponent(code as u32).map_or(f32::NAN, |n| power(n) as f32);
        let e5m3 = |code: usize| match (code >> 3, (code & 7) as f64) {
            (31, 7.0) => f32::NAN,
            (0, fraction) => (fraction * power(-17)) as f32,
            (exponent, fraction) => ((8.0 + fraction) * power(exponent as i32 - 18)) as f32,
        };
        [std::array::from_fn(e8m0), std::array::from_fn(e5m3), std::array::from_fn(|code| FP8.to_f32(code as u32))]
    });
    &TABLES
}

/// The scales of a matrix, by block, then row or column; those of the `part`th sixteen rows.
type Scales = [[f32; SIZE]; K / 16];

#[inline(always)]
fn scales(w: &Wave, controls: Controls, side: usize, part: usize) -> Scales {
    let table = &scale_tables()[controls.scale_format(side)];
    let lanes = SIZE * (part | usize::from(controls.upper(side)));
    std::array::from_fn(|block| {
        let row = w.row(controls.scales(side) + (block / 4) as u16);
        std::array::from_fn(|i| table[(row.0[lanes + i] >> (8 * (block % 4)) & 255) as usize])
    })
}

/// The factors by which elements can be multiplied and stay finite: below 2^127 divided by the largest element.
const SAFE: f32 = (1u128 << 111) as f32;

fn are_safe(scales: &Scales, blocks: usize) -> bool {
    !scales[..blocks].as_flattened().iter().any(|scale| scale.abs() >= SAFE)
}

#[inline(always)]
fn scaled(matrix: &Matrix, scales: &Scales, block: usize) -> Matrix {
    let mut out = *matrix;
    for (k, factors) in out.iter_mut().enumerate() {
        for (factor, scale) in factors.iter_mut().zip(&scales[k / block % scales.len()]) {
            *factor *= scale;
        }
    }
    out
}

/// A * B added to `sums`, where some scaled element is no f32. A product has at most sixteen significant bits: where its
/// sum with an f32 is not exact in f64, it is nowhere near the middle between two f32, and rounding it twice does no harm.
#[cold]
#[inline(never)]
fn multiply_wide(sums: &mut Sums, a: &Matrix, b: &Matrix, scales: [&Scales; 2], block: usize) {
    let wide = |matrix: &Matrix, scales: &Scales, k: usize, i: usize| {
        f64::from(matrix[k][i]) * f64::from(scales[k / block][i])
    };
    for (row, sums) in sums.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            for k in 0..K {
                let product = wide(a, scales[0], k, row) * wide(b, scales[1], k, column);
                *sum = (f64::from(*sum) + product) as f32;
            }
        }
    }
}

/// `PARTS` times sixteen rows.
struct Mixed<const PARTS: usize>;
impl<const PARTS: usize> Semantics for Mixed<PARTS> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let controls = Controls(op.imm2);
        let block = controls.block();
        let b = elements(w, op.src[1], controls.format(1));
        let b_scales = if block == 0 { [[0.0; SIZE]; K / 16] } else { scales(w, controls, 1, 0) };
        let b_scaled = if block == 0 { b } else { scaled(&b, &b_scales, block) };
        // Nothing is written before all is read: the result may lie where anything else does.
        let mut sums = [[[0.0; SIZE]; SIZE]; PARTS];
        for (part, sums) in sums.iter_mut().enumerate() {
            *sums = addends::<Single>(w, op, op.src[2] + 8 * part as u16);
            let a = elements(w, op.src[0] + 8 * part as u16, controls.format(0));
            if block == 0 {
                multiply(sums, &a, &b);
                continue;
            }
            let a_scales = scales(w, controls, 0, part);
            let blocks = K / block;
            if are_safe(&a_scales, blocks) && are_safe(&b_scales, blocks) {
                multiply(sums, &scaled(&a, &a_scales, block), &b_scaled);
            } else {
                multiply_wide(sums, &a, &b, [&a_scales, &b_scales], block);
            }
        }
        for (part, sums) in sums.iter().enumerate() {
            results::<Single>(w, op.dst + 8 * part as u16, sums);
        }
        Flow::Next
    }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let base = op.name();
    let op = match base {
        "v_wmma_f32_16x16x128_f8f6f4" | "v_wmma_scale_f32_16x16x128_f8f6f4" | "v_wmma_scale16_f32_16x16x128_f8f6f4" => {
            ValuOp::of::<Mixed<1>>()
        }
        "v_wmma_f32_32x16x128_f4" | "v_wmma_scale_f32_32x16x128_f4" | "v_wmma_scale16_f32_32x16x128_f4" => {
            ValuOp::of::<Mixed<2>>()
        }
        _ => return None,
    };
    Some(op.raw_mods().places_halves().refuses(SIGNS))
}
