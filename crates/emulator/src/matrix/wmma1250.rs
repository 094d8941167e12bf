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
use std::mem::MaybeUninit;

use super::fields;
use super::sum::NAN;
use super::types;
use super::wmma::{Bf8, Bf16, Element, F16, Fp8, Half, SIZE, Sums, addend};
use crate::fp::small::packed;
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

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

/// The codes of a matrix's elements, which the rows from `first` on hold; of even and of odd elements bits are inverted.
#[inline(always)]
pub(super) fn codes<const BITS: usize, const K: usize>(
    w: &Wave,
    first: u16,
    turn: usize,
    inverted: [u32; 2],
) -> [[u32; SIZE]; K] {
    let mut codes = [[0; SIZE]; K];
    for part in 0..2 {
        for at in 0..K / 2 {
            let k = at / turn * 2 * turn + part * turn + at % turn;
            let (word, shift) = (at * BITS / 32, at * BITS % 32);
            if BITS == 6 {
                for (i, code) in codes[k].iter_mut().enumerate() {
                    *code = packed(|word| half(w.row(first + word as u16), part)[i], 6, at);
                }
            } else {
                let mask = ((1u64 << BITS) - 1) as u32;
                let words = half(w.row(first + word as u16), part);
                fields::take(words, shift as u32, mask, inverted[k % 2], &mut codes[k]);
            }
        }
    }
    codes
}

/// What codes mean.
#[inline(always)]
pub(super) fn factors<const K: usize>(codes: &[[u32; SIZE]; K], value: impl Fn(u32) -> f32) -> Factors<K> {
    let mut factors = [[0.0; SIZE]; K];
    for (factor, code) in factors.as_flattened_mut().iter_mut().zip(codes.as_flattened()) {
        *factor = value(*code);
    }
    factors
}

/// Floating-point elements, with their signs as NEG (of even k) and NEG_HI (of odd k) have them.
#[inline(always)]
pub(super) fn floats<'a, E: Element, const K: usize>(
    w: &Wave,
    op: &Op,
    source: usize,
    turn: usize,
    room: &'a mut MaybeUninit<Factors<K>>,
) -> &'a Factors<K> {
    let mods = RawMods(op.imm);
    let inverted = [mods.neg(source as u32), mods.abs(source as u32)].map(|flip| u32::from(flip) << (E::BITS - 1));
    let first = op.src[source];
    let rows = &w.rows[usize::from(first)..];
    // SAFETY: an array of what may not be there is the same as an array that may not be there.
    let out = unsafe { &mut *std::ptr::from_mut(room).cast::<[MaybeUninit<[f32; SIZE]>; K]>() };
    let taken = match turn {
        8 => E::take::<8>(rows, inverted, out),
        16 => E::take::<16>(rows, inverted, out),
        32 => E::take::<32>(rows, inverted, out),
        _ => false,
    };
    if taken {
        // SAFETY: every k has been written.
        return unsafe { room.assume_init_ref() };
    }
    floats_by_lanes::<E, K>(w, first, turn, inverted, room)
}

/// The same without vectors: once for all operations.
#[inline(never)]
fn floats_by_lanes<'a, E: Element, const K: usize>(
    w: &Wave,
    first: u16,
    turn: usize,
    inverted: [u32; 2],
    room: &'a mut MaybeUninit<Factors<K>>,
) -> &'a Factors<K> {
    // The match is for the compiler: a number of bits that is a constant.
    room.write(match E::BITS {
        8 => factors(&codes::<8, K>(w, first, turn, inverted), E::widen),
        16 => factors(&codes::<16, K>(w, first, turn, inverted), E::widen),
        _ => factors(&codes::<32, K>(w, first, turn, inverted), E::widen),
    })
}

/// Bytes, signed if the source's NEG says so. Sums of up to 128 of their products are exact as f32.
#[inline(always)]
pub(super) fn bytes<const K: usize>(w: &Wave, op: &Op, source: usize, turn: usize) -> Factors<K> {
    // The bit that is a sign, if there is one.
    let sign = i32::from(RawMods(op.imm).neg(source as u32)) << 7;
    factors(&codes::<8, K>(w, op.src[source], turn, [0; 2]), |code| ((code as i32 ^ sign) - sign) as f32)
}

/// A * B, added to what `sums` has, by row and column.
#[inline(always)]
pub(super) fn multiply<const K: usize>(sums: &mut Sums, a: &Factors<K>, b: &Factors<K>) {
    #[cfg(target_arch = "x86_64")]
    if super::lanes::by_widest_apart(super::steps::Steps { a, b, sums }).is_some() {
        return;
    }
    multiply_by_lanes(sums, a, b);
}

/// The same without vectors: once for all operations.
#[inline(never)]
fn multiply_by_lanes<const K: usize>(sums: &mut Sums, a: &Factors<K>, b: &Factors<K>) {
    multiply_met(sums, a, b, |_, k| k);
}

/// The same where not all elements meet: `met` says, for a row of A and one of its elements, which row of B
/// that one meets.
#[inline(always)]
pub(super) fn multiply_met<const A: usize, const B: usize>(
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

/// Register and half of the wave of a row of a 32-bit result.
#[inline(always)]
fn place(row: usize) -> (usize, usize) {
    (row % 8, row / 8)
}

/// The lanes of one half of the wave.
#[inline(always)]
fn half(row: &Row, half: usize) -> &[u32; SIZE] {
    &row.0.as_chunks().0[half]
}
#[inline(always)]
fn half_mut(row: &mut Row, half: usize) -> &mut [u32; SIZE] {
    &mut row.0.as_chunks_mut().0[half]
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
    /// Two to a register.
    const IS_PACKED: bool;
    fn value(bits: u32) -> f32;
    fn bits(value: f32) -> u32;
}

pub(super) struct Single;
impl Holds for Single {
    const IS_PACKED: bool = false;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
    #[inline(always)]
    fn bits(value: f32) -> u32 {
        value.to_bits()
    }
}

pub(super) struct Packed<T>(PhantomData<T>);
impl<T: Half> Holds for Packed<T> {
    const IS_PACKED: bool = true;
    #[inline(always)]
    fn value(bits: u32) -> f32 {
        T::widen(bits)
    }
    #[inline(always)]
    fn bits(value: f32) -> u32 {
        T::narrow(value)
    }
}

/// C, with its sign as the modifiers have it, by row and column.
#[inline(always)]
pub(super) fn addends<C: Holds>(w: &Wave, op: &Op, first: u16) -> Sums {
    let mods = RawMods(op.imm);
    let mut bits = [[0; SIZE]; SIZE];
    for (row, bits) in bits.iter_mut().enumerate() {
        let (register, lanes) = place(row);
        if C::IS_PACKED {
            let words = half(w.row(first + register as u16 / 2), lanes);
            fields::take(words, 16 * (register % 2) as u32, 0xffff, 0, bits);
        } else {
            *bits = *half(w.row(first + register as u16), lanes);
        }
    }
    factors(&bits, |bits| addend(mods, C::value(bits)))
}

/// Writes a result.
#[inline(always)]
pub(super) fn results<D: Holds>(w: &mut Wave, first: u16, sums: &Sums) {
    let mut bits = [[0; SIZE]; SIZE];
    for (bits, &sum) in bits.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        *bits = D::bits(if sum.is_nan() { f32::from_bits(NAN) } else { sum });
    }
    let mut out = [Row::ZERO; 8];
    for (row, bits) in bits.iter().enumerate() {
        let (register, lanes) = place(row);
        if D::IS_PACKED {
            fields::put(bits, 16 * (register % 2) as u32, 0xffff, half_mut(&mut out[register / 2], lanes));
        } else {
            *half_mut(&mut out[register], lanes) = *bits;
        }
    }
    store(w, first, &out[..if D::IS_PACKED { 4 } else { 8 }]);
}

/// Writes a result of 32-bit integers: C from `c` on with `dot` added, which is whole numbers.
#[inline(always)]
pub(super) fn integers(w: &mut Wave, op: &Op, c: u16, dot: &Sums) {
    let clamp = RawMods(op.imm).clamp();
    let mut sums = [[0; SIZE]; SIZE];
    for (row, sums) in sums.iter_mut().enumerate() {
        let (register, lanes) = place(row);
        *sums = *half(w.row(c + register as u16), lanes);
    }
    for (sum, &dot) in sums.as_flattened_mut().iter_mut().zip(dot.as_flattened()) {
        let (c, dot) = (*sum as i32, dot as i32);
        *sum = if clamp { c.saturating_add(dot) } else { c.wrapping_add(dot) } as u32;
    }
    let mut out = [Row::ZERO; 8];
    for (row, sums) in sums.iter().enumerate() {
        let (register, lanes) = place(row);
        *half_mut(&mut out[register], lanes) = *sums;
    }
    store(w, op.dst, &out);
}

/// The result (as `D` holds it) = A * B + C (as `C` holds it), `K` elements along K.
struct Dense<A, B, C, D, const K: usize>(PhantomData<(A, B, C, D)>);
impl<A: Element, B: Element, C: Holds, D: Holds, const K: usize> Semantics for Dense<A, B, C, D, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let mut sums = addends::<C>(w, op, op.src[2]);
        let (mut a, mut b) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let a = floats::<A, K>(w, op, 0, turn(A::BITS, K), &mut a);
        let b = floats::<B, K>(w, op, 1, turn(B::BITS, K), &mut b);
        multiply(&mut sums, a, b);
        results::<D>(w, op.dst, &sums);
        Flow::Next
    }
}

/// The same of 16-bit elements and f32 results, where vectors can take all from registers, and put it back.
struct FromRegisters<E, T>(PhantomData<(E, T)>);
impl<E: Element, T: types::Element> Semantics for FromRegisters<E, T> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        #[cfg(target_arch = "x86_64")]
        {
            let job = super::from_registers::FromRegisters::<T> { wave: w, op, element: PhantomData };
            if super::lanes::by_widest_apart(job) == Some(true) {
                return Flow::Next;
            }
        }
        Dense::<E, E, Single, Single, 32>::run(w, op)
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
        multiply(&mut dot, &a, &b);
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
        "f32_16x16x32_f16" => ValuOp::of::<FromRegisters<F16, types::F16>>(),
        "f32_16x16x32_bf16" => ValuOp::of::<FromRegisters<Bf16, types::Bf16>>(),
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
