//! WMMA of gfx1250: 16 x 16 results, longer along K, waves of 32 lanes.
//!
//! # Where the elements are
//!
//! Along K the two halves of the wave have turns of sixteen bytes each: 8 elements of 16 bits, 16 of 8 bits; and of 32
//! elements of six or four bits. Elements of 32 bits: the first two, the last two. A half's own lie side by side in its
//! registers. Register `r` of the result holds row `8 * (lane / 16) + r`; results of 16 bits are two to a register.
//!
//! The turns make no difference as long as A and B have the same, but for the order of additions. That they are these
//! follows from the factors of unequal width, and from which of them share a scale, as AMD has probed them on the hardware
//! (rocm-systems, the tests of fpsan named wmma_16x16x128_f8f6f4_gfx1250 and wmma_scale_f8f6f4_gfx1250), and from how
//! kernels that run there load them (FlyDSL's gemm_mxscale_gfx1250; Tensile's LraTileAssignment).
//!
//! Formats that an instruction chooses, and scales, are in [`super::scaled1250`]; sparse operations in
//! [`super::swmmac1250`].
//!
//! # What the arithmetic is
//!
//! As [`super::wmma`]'s: EXEC and MODE are ignored (AMD's rocjitsu heeds FP16_OVFL), products are added to C one after the
//! other, k ascending, each step an f32 fused multiply-add; denormals are kept; a 16-bit result is rounded once, to nearest
//! even. NaNs are 0x7fc00000, or that in 16 bits. AMD does not document the order.
//!
//! MATRIX_A_REUSE and MATRIX_B_REUSE say that the next operation has the same A or B, and change nothing.

use luthier_isa::op::Op as IsaOp;

use std::marker::PhantomData;

use super::sum::NAN;
use super::wmma::{Bf8, Bf16, Element, F16, Fp8, Half, SIZE, Sums, addend};
use crate::fp::small::packed;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

/// A matrix A by k, then row, or B by k, then column.
pub(super) type Factors<const K: usize> = [[f32; SIZE]; K];

/// How many elements along K, of `size`, a half of the wave has before the other has as many.
pub(super) const fn turn(bits: usize, size: usize) -> usize {
    let turn = match bits {
        4 | 6 => 32,
        bits => 128 / bits,
    };
    if turn > size / 2 { size / 2 } else { turn }
}

/// Reads a matrix from the rows from `first` on; `value` gives what element k's code means.
#[inline(always)]
pub(super) fn load<const BITS: usize, const K: usize>(
    w: &Wave,
    first: u16,
    turn: usize,
    value: impl Fn(usize, u32) -> f32,
) -> Factors<K> {
    let mut factors = [[0.0; SIZE]; K];
    for half in 0..2 {
        for at in 0..K / 2 {
            let k = at / turn * 2 * turn + half * turn + at % turn;
            let (word, shift) = (at * BITS / 32, at * BITS % 32);
            let row = w.row(first + word as u16);
            for (i, factor) in factors[k].iter_mut().enumerate() {
                let lane = SIZE * half + i;
                let code = match BITS {
                    32 => row.0[lane],
                    6 => packed(|word| w.row(first + word as u16).0[lane], 6, at),
                    _ => row.0[lane] >> shift & ((1u64 << BITS) - 1) as u32,
                };
                *factor = value(k, code);
            }
        }
    }
    factors
}

/// Floating-point elements, with their signs as NEG (of even k) and NEG_HI (of odd k) have them.
#[inline(always)]
pub(super) fn floats<E: Element, const K: usize>(w: &Wave, op: &Op, source: usize, turn: usize) -> Factors<K> {
    let mods = RawMods(op.imm);
    let signs = [mods.neg(source as u32), mods.abs(source as u32)].map(|flip| u32::from(flip) << 31);
    // The match is for the compiler: a number of bits that is a constant.
    macro_rules! of {
        ($bits:literal) => {
            match E::table() {
                Some(table) => load::<$bits, K>(w, op.src[source], turn, |_, code| table[code as usize & 255]),
                None => load::<$bits, K>(w, op.src[source], turn, |k, code| {
                    f32::from_bits(E::widen(code).to_bits() ^ signs[k % 2])
                }),
            }
        };
    }
    match E::BITS {
        8 => of!(8),
        16 => of!(16),
        _ => of!(32),
    }
}

/// Bytes, signed if the source's NEG says so. Sums of up to 128 of their products are exact as f32.
#[inline(always)]
pub(super) fn bytes<const K: usize>(w: &Wave, op: &Op, source: usize, turn: usize) -> Factors<K> {
    // The bit that is a sign, if there is one.
    let sign = i32::from(RawMods(op.imm).neg(source as u32)) << 7;
    load::<8, K>(w, op.src[source], turn, |_, code| ((code as i32 ^ sign) - sign) as f32)
}

/// A * B, added to what `sums` has, by row and column: `met` says, for a row of A and one of its elements, which row of B
/// that one meets.
#[inline(always)]
pub(super) fn multiply<const A: usize, const B: usize>(
    sums: &mut Sums,
    a: &Factors<A>,
    b: &Factors<B>,
    met: impl Fn(usize, usize) -> usize,
) {
    // Rows at once, whose steps do not wait for each other; the sums of more the compiler does not keep in registers.
    const ROWS: usize = 4;
    for (part, sums) in sums.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
        let mut local = *sums;
        for (k, a) in a.iter().enumerate() {
            for (r, sums) in local.iter_mut().enumerate() {
                let row = ROWS * part + r;
                let factors = &b[met(row, k)];
                for column in 0..SIZE {
                    sums[column] = a[row].mul_add(factors[column], sums[column]);
                }
            }
        }
        *sums = local;
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
pub(super) trait Holds {
    fn read(w: &Wave, first: u16, register: usize, lane: usize) -> f32;
    /// Registers, and what goes into them.
    const REGISTERS: usize;
    fn write(out: &mut [Row; 8], register: usize, lane: usize, value: f32);
}

pub(super) struct Single;
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

pub(super) struct Packed<T>(PhantomData<T>);
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

/// C, with its sign as the modifiers have it, by row and column.
#[inline(always)]
pub(super) fn addends<C: Holds>(w: &Wave, op: &Op, first: u16) -> Sums {
    let mods = RawMods(op.imm);
    let mut sums: Sums = [[0.0; SIZE]; SIZE];
    places(|register, lane, row, column| sums[row][column] = addend(mods, C::read(w, first, register, lane)));
    sums
}

/// Writes a result.
#[inline(always)]
pub(super) fn results<D: Holds>(w: &mut Wave, first: u16, sums: &Sums) {
    let mut out = [Row::ZERO; 8];
    places(|register, lane, row, column| {
        let sum = sums[row][column];
        D::write(&mut out, register, lane, if sum.is_nan() { f32::from_bits(NAN) } else { sum });
    });
    store(w, first, &out[..D::REGISTERS]);
}

/// Writes a result of 32-bit integers: C from `c` on with `dot` added, which is whole numbers.
#[inline(always)]
pub(super) fn integers(w: &mut Wave, op: &Op, c: u16, dot: &Sums) {
    let clamp = RawMods(op.imm).clamp();
    let mut out = [Row::ZERO; 8];
    places(|register, lane, row, column| {
        let c = w.row(c + register as u16).0[lane] as i32;
        let sum = i64::from(c) + i64::from(dot[row][column] as i32);
        let limited = if clamp { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        out[register].0[lane] = limited as u32;
    });
    store(w, op.dst, &out);
}

/// The result (as `D` holds it) = A * B + C (as `C` holds it), `K` elements along K.
struct Dense<A, B, C, D, const K: usize>(PhantomData<(A, B, C, D)>);
impl<A: Element, B: Element, C: Holds, D: Holds, const K: usize> Semantics for Dense<A, B, C, D, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mut sums = addends::<C>(w, op, op.src[2]);
        let a = floats::<A, K>(w, op, 0, turn(A::BITS, K));
        let b = floats::<B, K>(w, op, 1, turn(B::BITS, K));
        multiply(&mut sums, &a, &b, |_, k| k);
        results::<D>(w, op.dst, &sums);
        Flow::Next
    }
}

/// Bytes, to 32 bits. NEG says whether A's and B's are signed.
struct Integers;
impl Semantics for Integers {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        const K: usize = 64;
        let (a, b) = (bytes::<K>(w, op, 0, turn(8, K)), bytes::<K>(w, op, 1, turn(8, K)));
        let mut dot = [[0.0; SIZE]; SIZE];
        multiply(&mut dot, &a, &b, |_, k| k);
        integers(w, op, op.src[2], &dot);
        Flow::Next
    }
}

/// The modifiers that change the signs of A's and B's elements.
pub(super) const SIGNS: u64 = 0o33;

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let base = op.name();
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
