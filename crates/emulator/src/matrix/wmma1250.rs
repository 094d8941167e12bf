//! WMMA of gfx1250: 16 x 16 results, longer along K, waves of 32 lanes.
//!
//! # Where the elements are
//!
//! Along K the two halves of the wave have turns of sixteen bytes each: 8 elements of 16 bits, 16 of 8 bits, and 32 of six
//! or four bits. Elements of 32 bits: the first two, the last two. A half's own lie side by side in its registers. Register
//! `r` of the result holds row `8 * (lane / 16) + r`; results of 16 bits are two to a register.
//!
//! The turns make no difference as long as A and B have the same, but for the order of additions. That they are these
//! follows from the factors of unequal width, and from which of them share a scale, as AMD has probed them on the hardware
//! (rocm-systems, the tests of fpsan named wmma_16x16x128_f8f6f4_gfx1250 and wmma_scale_f8f6f4_gfx1250).
//!
//! # What the arithmetic is
//!
//! As [`super::wmma`]'s: EXEC is ignored, products are added to C one after the other, k ascending, each step an f32 fused
//! multiply-add; a 16-bit result is rounded once. AMD does not document the order.

use std::marker::PhantomData;

use super::wmma::{Bf8, Bf16, Element, F16, Fp8, Half, SIZE, Sums, addend, signed};
use crate::op::{Flow, Kernel, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

/// Which half of the wave has element `k` of `size`, and where among its own.
#[inline(always)]
pub(super) fn place(bits: usize, size: usize, k: usize) -> (usize, usize) {
    let turn = match bits {
        4 | 6 => 32,
        bits => 128 / bits,
    };
    let turn = if turn > size / 2 { size / 2 } else { turn };
    (k / turn % 2, k / (2 * turn) * turn + k % turn)
}

/// Element `k` of a row of A, or of a column of B.
#[inline(always)]
fn code(w: &Wave, first: u16, bits: usize, size: usize, k: usize, row: usize) -> u32 {
    let (half, at) = place(bits, size, k);
    let per_word = 32 / bits;
    let word = w.row(first + (at / per_word) as u16).0[row + SIZE * half];
    word >> (bits * (at % per_word)) & ((1u64 << bits) - 1) as u32
}

/// A * B, added to what `sums` has, by row and column.
#[inline(always)]
pub(super) fn multiply<const K: usize>(
    sums: &mut Sums,
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
) {
    let mut factors = [[0f32; SIZE]; K];
    for (k, row) in factors.iter_mut().enumerate() {
        for (column, factor) in row.iter_mut().enumerate() {
            *factor = b(k, column);
        }
    }
    for (row, sums) in sums.iter_mut().enumerate() {
        for (k, factors) in factors.iter().enumerate() {
            let a = a(k, row);
            for column in 0..SIZE {
                sums[column] = a.mul_add(factors[column], sums[column]);
            }
        }
    }
}

/// Calls `f` with each place of a 32-bit result: register, lane, row and column.
#[inline(always)]
pub(super) fn places(mut f: impl FnMut(usize, usize, usize, usize)) {
    for register in 0..8 {
        for lane in 0..32 {
            f(register, lane, 8 * (lane / SIZE) + register, lane % SIZE);
        }
    }
}

/// Writes rows in all lanes of the wave.
#[inline(always)]
pub(super) fn store(w: &mut Wave, first: u16, out: &[Row]) {
    for (k, out) in out.iter().enumerate() {
        w.row_mut(first + k as u16).0[..32].copy_from_slice(&out.0[..32]);
    }
}

/// f32, which no other WMMA multiplies.
struct F32;
impl Element for F32 {
    const BITS: usize = 32;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
}

/// How C and the result are held.
trait Holds {
    fn read(w: &Wave, first: u16, register: usize, lane: usize) -> f32;
    /// Registers, and what goes into them.
    const REGISTERS: usize;
    fn write(out: &mut [Row; 8], register: usize, lane: usize, value: f32);
}

struct Single;
impl Holds for Single {
    const REGISTERS: usize = 8;
    #[inline(always)]
    fn read(w: &Wave, first: u16, register: usize, lane: usize) -> f32 {
        f32::from_bits(w.row(first + register as u16).0[lane])
    }
    #[inline(always)]
    fn write(out: &mut [Row; 8], register: usize, lane: usize, value: f32) {
        out[register].0[lane] = value.to_bits();
    }
}

struct Packed<T>(PhantomData<T>);
impl<T: Half> Holds for Packed<T> {
    const REGISTERS: usize = 4;
    #[inline(always)]
    fn read(w: &Wave, first: u16, register: usize, lane: usize) -> f32 {
        T::widen(w.row(first + register as u16 / 2).0[lane] >> (16 * (register % 2)) & 0xffff)
    }
    #[inline(always)]
    fn write(out: &mut [Row; 8], register: usize, lane: usize, value: f32) {
        out[register / 2].0[lane] |= T::narrow(value) << (16 * (register % 2));
    }
}

/// The result (as `D` holds it) = A * B + C (as `C` holds it), `K` elements along K.
struct Dense<A, B, C, D, const K: usize>(PhantomData<(A, B, C, D)>);
impl<A: Element, B: Element, C: Holds, D: Holds, const K: usize> Kernel for Dense<A, B, C, D, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mods = RawMods(op.imm);
        let mut sums: Sums = [[0.0; SIZE]; SIZE];
        places(|register, lane, row, column| {
            sums[row][column] = addend(mods, C::read(w, op.src[2], register, lane));
        });
        let a = |k: usize, row: usize| signed::<A>(op, 0, k, code(w, op.src[0], A::BITS, K, k, row));
        let b = |k: usize, column: usize| signed::<B>(op, 1, k, code(w, op.src[1], B::BITS, K, k, column));
        multiply::<K>(&mut sums, a, b);
        let mut out = [Row::ZERO; 8];
        places(|register, lane, row, column| D::write(&mut out, register, lane, sums[row][column]));
        store(w, op.dst, &out[..D::REGISTERS]);
        Flow::Next
    }
}

/// Bytes, to 32 bits. NEG says whether A's and B's are signed.
struct Integers;
impl Kernel for Integers {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        const K: usize = 64;
        let mods = RawMods(op.imm);
        let value = |source: usize, k: usize, row: usize| {
            let code = code(w, op.src[source], 8, K, k, row);
            if mods.neg(source as u32) { i64::from(code as i8) } else { i64::from(code) }
        };
        let mut out = [Row::ZERO; 8];
        places(|register, lane, row, column| {
            let c = w.row(op.src[2] + register as u16).0[lane] as i32;
            let sum = (0..K).fold(i64::from(c), |sum, k| sum + value(0, k, row) * value(1, k, column));
            let limited = if mods.clamp() { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
            out[register].0[lane] = limited as u32;
        });
        store(w, op.dst, &out);
        Flow::Next
    }
}

/// The modifiers that change the signs of A's and B's elements.
const SIGNS: u64 = 0o33;

pub fn lookup(base: &str) -> Option<ValuOp> {
    /// Eight-bit floats: what holds the result, and the length along K.
    macro_rules! bytes {
        ($kinds:expr, $held:ty, $k:literal) => {
            match $kinds {
                "fp8_fp8" => ValuOp::of::<Dense<Fp8, Fp8, $held, $held, $k>>(),
                "fp8_bf8" => ValuOp::of::<Dense<Fp8, Bf8, $held, $held, $k>>(),
                "bf8_fp8" => ValuOp::of::<Dense<Bf8, Fp8, $held, $held, $k>>(),
                "bf8_bf8" => ValuOp::of::<Dense<Bf8, Bf8, $held, $held, $k>>(),
                _ => return None,
            }
            .refuses(SIGNS)
        };
    }
    type Halves = Packed<F16>;
    type Brains = Packed<Bf16>;
    let op = match base.strip_prefix("v_wmma_")? {
        // What NEG_HI would mean for elements that are words is not known.
        "f32_16x16x4_f32" => ValuOp::of::<Dense<F32, F32, Single, Single, 4>>().refuses(SIGNS),
        "f32_16x16x32_f16" => ValuOp::of::<Dense<F16, F16, Single, Single, 32>>(),
        "f32_16x16x32_bf16" => ValuOp::of::<Dense<Bf16, Bf16, Single, Single, 32>>(),
        "f16_16x16x32_f16" => ValuOp::of::<Dense<F16, F16, Halves, Halves, 32>>(),
        "bf16_16x16x32_bf16" => ValuOp::of::<Dense<Bf16, Bf16, Brains, Brains, 32>>(),
        "bf16f32_16x16x32_bf16" => ValuOp::of::<Dense<Bf16, Bf16, Single, Brains, 32>>(),
        "i32_16x16x64_iu8" => ValuOp::of::<Integers>(),
        name => {
            let (result, kinds) = name.split_once('_')?;
            let (shape, kinds) = kinds.split_once('_')?;
            match (result, shape) {
                ("f32", "16x16x64") => bytes!(kinds, Single, 64),
                ("f32", "16x16x128") => bytes!(kinds, Single, 128),
                ("f16", "16x16x64") => bytes!(kinds, Halves, 64),
                ("f16", "16x16x128") => bytes!(kinds, Halves, 128),
                _ => return None,
            }
        }
    };
    Some(op.raw_mods().places_halves())
}
