//! WMMA: 16 x 16 matrices.
//!
//! Where the elements are: [`layout`]. `v_swmmac`, whose A has half of its elements, is in [`swmmac`].
//!
//! # What the arithmetic is
//!
//! EXEC is ignored. NEG negates the even elements of A and B, NEG_HI the odd ones; C is negated by NEG's third bit, its
//! sign dropped by that of NEG_HI. Of integers NEG says whether A's and B's are signed. OP_SEL's other bits, OP_SEL_HI, and
//! CLAMP where the result is a float, say nothing (measured, see [`crate::fp::dot`]).
//!
//! Floats: [`rdna`]. Integers: [`integers`], after "Wave Matrix Multiply Accumulate" in AMD's RDNA3 and RDNA4 ISA manuals and
//! measurements on gfx1201 (bjacob/goc).

use luthier_isa::op::Op as IsaOp;

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::held::Held;
use super::layout::{self, is_rdna3};
use super::once::{Long, once};
use super::rdna::{self, Bits};
use super::rdna3;
use super::swmmac;
use super::{fields, integers};
pub(super) use crate::fp::dot::{Bf8, Bf16, F16, Fp8};
use crate::fp::dot::{Factor, Result, Single};
use crate::fp::{half, small};
use crate::op::{Flow, Op, RawMods, Semantics};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

pub(super) const SIZE: usize = 16;

/// A type of A's or B's elements, as gfx1250 has them.
pub(super) trait Element {
    const BITS: usize;
    fn widen(bits: u32) -> f32;
    /// Takes elements by vectors, as [`super::steps`] says; false where there is no such way.
    #[inline(always)]
    fn take<const TURN: usize>(_rows: &[Row], _inverted: [u32; 2], _out: &mut [MaybeUninit<[f32; SIZE]>]) -> bool {
        false
    }
}
/// The same of a factor.
macro_rules! taken {
    () => {
        #[cfg(target_arch = "x86_64")]
        #[inline(always)]
        fn take<const TURN: usize>(rows: &[Row], inverted: [u32; 2], out: &mut [MaybeUninit<[f32; SIZE]>]) -> bool {
            let job = super::steps::Take::<Self, TURN> { rows, inverted, out, element: PhantomData };
            super::lanes::by_widest_apart(job).is_some()
        }
    };
}
/// One that results may have.
pub(super) trait Half: Element {
    fn narrow(value: f32) -> u32;
}

impl Element for F16 {
    const BITS: usize = 16;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        half::f16_to_f32(bits)
    }
    taken!();
}
impl Half for F16 {
    #[inline(always)]
    fn narrow(value: f32) -> u32 {
        half::f32_to_f16(value)
    }
}
impl Element for Bf16 {
    const BITS: usize = 16;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        half::bf16_to_f32(bits)
    }
    taken!();
}
impl Half for Bf16 {
    #[inline(always)]
    fn narrow(value: f32) -> u32 {
        half::f32_to_bf16(value)
    }
}
impl Element for Fp8 {
    const BITS: usize = 8;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        small::FP8.number(bits)
    }
    taken!();
}
impl Element for Bf8 {
    const BITS: usize = 8;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        small::BF8.number(bits)
    }
    taken!();
}

pub(super) type Sums = [[f32; SIZE]; SIZE];

/// What is added to C. (A closure would be compiled once, for the baseline processor.)
pub(super) trait Product {
    /// Bits of A's and of B's elements.
    const BITS: [usize; 2];
    /// Adds it to `c`, whose elements, and those of the result, are `R`s. To be inlined, always.
    fn add<R: Held>(w: &Wave, op: &Op, c: &mut Bits);
    /// Adds it to f32 numbers that begin in register `c`, if it can without a copy of them. To be inlined, always.
    fn add_in_place(_w: &mut Wave, _op: &Op, _c: u16) -> bool {
        false
    }
}

/// Whether NEG and NEG_HI negate a source's element `k`.
#[inline(always)]
pub(super) fn flipped(op: &Op, source: usize, k: usize) -> bool {
    let mods = RawMods(op.imm);
    if k.is_multiple_of(2) { mods.neg(source as u32) } else { mods.abs(source as u32) }
}

/// A * B, of 16 bits and of 8.
struct Halves<T>(PhantomData<T>);
impl<T: Factor> Product for Halves<T> {
    const BITS: [usize; 2] = [T::BITS as usize; 2];
    #[inline(always)]
    fn add<R: Held>(w: &Wave, op: &Op, c: &mut Bits) {
        rdna::halves::<T, R>(w, op, |source, k| flipped(op, source, k), c);
    }
    #[inline(always)]
    fn add_in_place(w: &mut Wave, op: &Op, c: u16) -> bool {
        is_rdna3(w) && rdna3::add_in_place::<T>(w, op, c)
    }
}
struct Bytes<A, B>(PhantomData<(A, B)>);
impl<A: Factor, B: Factor> Product for Bytes<A, B> {
    const BITS: [usize; 2] = [A::BITS as usize, B::BITS as usize];
    #[inline(always)]
    fn add<R: Held>(w: &Wave, op: &Op, c: &mut Bits) {
        rdna::bytes::<A, B, R>(w, op, |source, k| flipped(op, source, k), c);
    }
}

/// C with its sign as NEG and NEG_HI have it.
#[inline(always)]
pub(super) fn addend(mods: RawMods, value: f32) -> f32 {
    f32::from_bits(signed::<Single>(mods, value.to_bits()))
}

#[inline(always)]
fn signed<R: Result>(mods: RawMods, c: u32) -> u32 {
    let and = if mods.abs(2) { R::SIGN } else { 0 };
    c & !and ^ if mods.neg(2) { R::SIGN } else { 0 }
}

/// The 16 lanes of a register that have a row of a 32-bit result.
#[inline(always)]
fn lanes_of(row: &Row, part: usize) -> &[u32; SIZE] {
    row.0[SIZE * part..].first_chunk().expect("a part")
}

/// `c`, an f32 matrix, with a product added to it.
#[inline(always)]
pub(super) fn single<P: Product>(w: &mut Wave, op: &Op, c: u16) -> Flow {
    if P::add_in_place(w, op, c) {
        return Flow::Next;
    }
    let mods = RawMods(op.imm);
    let mut bits: Bits = [[0; SIZE]; SIZE];
    // A loop of copies: with arithmetic in it, it would be done for all rows at a time, by gathers and scatters.
    for (row, bits) in bits.iter_mut().enumerate() {
        let (register, part) = layout::of_row(w, row);
        bits.copy_from_slice(lanes_of(w.row(c + register as u16), part));
    }
    for bits in bits.as_flattened_mut() {
        *bits = signed::<Single>(mods, *bits);
    }
    P::add::<Single>(w, op, &mut bits);
    for (row, bits) in bits.iter().enumerate() {
        let (register, part) = layout::of_row(w, row);
        w.row_mut(op.dst + register as u16).0[SIZE * part..][..SIZE].copy_from_slice(bits);
    }
    Flow::Next
}

/// The same of 16-bit floats.
#[inline(always)]
pub(super) fn halves<R: Held, P: Product>(w: &mut Wave, op: &Op, c: u16) -> Flow {
    let mods = RawMods(op.imm);
    let packed = !is_rdna3(w);
    let half = u32::from(mods.op_sel(2)) * 16;
    // Register and shift of what would be register `r` of a 32-bit result.
    let place = |r: usize| if packed { (r / 2, 16 * (r % 2) as u32) } else { (r, half) };
    let mut bits: Bits = [[0; SIZE]; SIZE];
    for (row, bits) in bits.iter_mut().enumerate() {
        let (r, part) = layout::of_row(w, row);
        let (register, shift) = place(r);
        fields::take(lanes_of(w.row(c + register as u16), part), shift, 0xffff, 0, bits);
    }
    for bits in bits.as_flattened_mut() {
        *bits = signed::<R>(mods, *bits);
    }
    P::add::<R>(w, op, &mut bits);
    for (row, bits) in bits.iter().enumerate() {
        let (r, part) = layout::of_row(w, row);
        let (register, shift) = place(r);
        let words = w.row_mut(op.dst + register as u16).0[SIZE * part..].first_chunk_mut().expect("a part");
        fields::put(bits, shift, 0xffff, words);
    }
    Flow::Next
}

/// f32 = A * B + C.
struct ToSingle<P>(PhantomData<P>);
impl<P: Product> Semantics for ToSingle<P> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        once::<Self>(w, op)
    }
}

impl<P: Product> Long for ToSingle<P> {
    #[inline(always)]
    fn results(w: &Wave) -> usize {
        SIZE * SIZE / w.lanes() as usize
    }

    #[inline(always)]
    fn take(w: &mut Wave, op: &Op) -> bool {
        let [a, b] = P::BITS.map(|bits| layout::per_lane(w, bits, SIZE) * bits / 32);
        let count = Self::results(w);
        let operands = [(op.src[0], a), (op.src[1], b), (op.src[2], count)];
        let lanes = w.lanes();
        w.repeated.take(&mut w.rows[..], lanes, op, &operands, (op.dst, count))
    }

    #[inline(always)]
    fn make(w: &mut Wave, op: &Op) -> Flow {
        single::<P>(w, op, op.src[2])
    }
}

/// 16-bit floats = A * B + C.
struct ToHalf<T>(PhantomData<T>);
impl<T: Factor + Held> Semantics for ToHalf<T> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        halves::<T, Halves<T>>(w, op, op.src[2])
    }
}

/// Integers of `BITS` bits, `K` of them in a row, to 32 bits.
struct ToInteger<const BITS: usize, const K: usize>;
impl<const BITS: usize, const K: usize> Semantics for ToInteger<BITS, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        #[cfg(target_arch = "x86_64")]
        if super::lanes::by_widest_apart(super::integer_sums::Sums::<BITS> { w, op, k: K }).is_some() {
            return Flow::Next;
        }
        integers::run::<BITS, K, K>(w, op, op.src[2], |_, k| k, |w, k| layout::dense(w, BITS, K, k))
    }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let op = match op {
        IsaOp::VWmmaF32_16x16x16F16 => ValuOp::of::<ToSingle<Halves<F16>>>(),
        IsaOp::VWmmaF32_16x16x16Bf16 => ValuOp::of::<ToSingle<Halves<Bf16>>>(),
        IsaOp::VWmmaF32_16x16x16Fp8Fp8 => ValuOp::of::<ToSingle<Bytes<Fp8, Fp8>>>(),
        IsaOp::VWmmaF32_16x16x16Fp8Bf8 => ValuOp::of::<ToSingle<Bytes<Fp8, Bf8>>>(),
        IsaOp::VWmmaF32_16x16x16Bf8Fp8 => ValuOp::of::<ToSingle<Bytes<Bf8, Fp8>>>(),
        IsaOp::VWmmaF32_16x16x16Bf8Bf8 => ValuOp::of::<ToSingle<Bytes<Bf8, Bf8>>>(),
        IsaOp::VWmmaF16_16x16x16F16 => ValuOp::of::<ToHalf<F16>>().places_halves(),
        IsaOp::VWmmaBf16_16x16x16Bf16 => ValuOp::of::<ToHalf<Bf16>>().places_halves(),
        IsaOp::VWmmaI32_16x16x16Iu8 => ValuOp::shared::<ToInteger<8, 16>>(),
        IsaOp::VWmmaI32_16x16x16Iu4 => ValuOp::shared::<ToInteger<4, 16>>(),
        IsaOp::VWmmaI32_16x16x32Iu4 => ValuOp::shared::<ToInteger<4, 32>>(),
        _ => swmmac::lookup(op)?,
    };
    Some(op.raw_mods())
}
