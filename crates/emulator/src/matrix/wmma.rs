//! WMMA: 16 x 16 matrices.
//!
//! Where the elements are: [`layout`]. `v_swmmac`, whose A has half of its elements, is in [`swmmac`].
//!
//! # What the arithmetic is
//!
//! EXEC is ignored. NEG negates the even elements of A and B, NEG_HI the odd ones; C is negated by NEG's third bit, its
//! sign dropped by that of NEG_HI. Of integers NEG says whether A's and B's are signed.
//!
//! Products are added to C one after the other, k ascending, each step an f32 fused multiply-add; a 16-bit result is
//! rounded once, at the end. AMD does not document the order. Source: "Wave Matrix Multiply Accumulate" in AMD's RDNA3
//! and RDNA4 ISA manuals, and AMD's matrix instruction calculator.

use std::marker::PhantomData;
use std::sync::LazyLock;

use super::layout::{self, is_rdna3, places};
use super::swmmac;
use crate::fp::{half, small, small::Small};
use crate::op::{Flow, Kernel, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

pub(super) const SIZE: usize = 16;

/// A type of A's or B's elements.
pub(super) trait Element {
    const BITS: usize;
    fn widen(bits: u32) -> f32;
    /// What the codes mean, by code, where that is faster.
    fn table() -> Option<&'static [f32; 256]> {
        None
    }
}
/// One that results may have.
pub(super) trait Half: Element {
    fn narrow(value: f32) -> u32;
}

pub(super) struct F16;
pub(super) struct Bf16;
pub(super) struct Fp8;
pub(super) struct Bf8;

impl Element for F16 {
    const BITS: usize = 16;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        half::f16_to_f32(bits)
    }
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
        small::FP8.to_f32(bits)
    }
    fn table() -> Option<&'static [f32; 256]> {
        static TABLE: LazyLock<[f32; 256]> = LazyLock::new(|| table_of(small::FP8));
        Some(&TABLE)
    }
}
impl Element for Bf8 {
    const BITS: usize = 8;
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        small::BF8.to_f32(bits)
    }
    fn table() -> Option<&'static [f32; 256]> {
        static TABLE: LazyLock<[f32; 256]> = LazyLock::new(|| table_of(small::BF8));
        Some(&TABLE)
    }
}

/// The number of each code, of formats with fewer than eight bits over and over.
pub(super) fn table_of(format: Small) -> [f32; 256] {
    std::array::from_fn(|code| format.to_f32(code as u32 & ((1 << format.bits()) - 1)))
}

#[inline(always)]
fn flipped(value: f32, flip: bool) -> f32 {
    if flip { -value } else { value }
}

#[inline(always)]
fn element<T: Element>(w: &Wave, op: &Op, source: usize, k: usize, row: usize) -> f32 {
    signed::<T>(op, source, k, layout::code(w, op, source, layout::dense(w, T::BITS, SIZE, k), T::BITS, row))
}

/// Element `k` along K, with its sign as NEG and NEG_HI have it.
#[inline(always)]
pub(super) fn signed<T: Element>(op: &Op, source: usize, k: usize, code: u32) -> f32 {
    let (mods, number) = (RawMods(op.imm), source as u32);
    flipped(T::widen(code), if k.is_multiple_of(2) { mods.neg(number) } else { mods.abs(number) })
}

pub(super) type Sums = [[f32; SIZE]; SIZE];

/// What is added to C. (A closure would be compiled once, for the baseline processor.)
pub(super) trait Product {
    /// Adds it to what `sums` has, by row and column. To be inlined, always.
    fn add(w: &Wave, op: &Op, sums: &mut Sums);
}

/// A * B
struct Dense<A, B>(PhantomData<(A, B)>);
impl<A: Element, B: Element> Product for Dense<A, B> {
    #[inline(always)]
    fn add(w: &Wave, op: &Op, sums: &mut Sums) {
        let (mut a, mut b) = ([[0f32; SIZE]; SIZE], [[0f32; SIZE]; SIZE]);
        for k in 0..SIZE {
            for row in 0..SIZE {
                a[k][row] = element::<A>(w, op, 0, k, row);
            }
            for column in 0..SIZE {
                b[k][column] = element::<B>(w, op, 1, k, column);
            }
        }
        for (row, sums) in sums.iter_mut().enumerate() {
            for k in 0..SIZE {
                for column in 0..SIZE {
                    sums[column] = a[k][row].mul_add(b[k][column], sums[column]);
                }
            }
        }
    }
}

/// C with its sign as NEG and NEG_HI have it.
#[inline(always)]
pub(super) fn addend(mods: RawMods, value: f32) -> f32 {
    flipped(if mods.abs(2) { value.abs() } else { value }, mods.neg(2))
}

/// `c`, an f32 matrix, with a product added to it.
#[inline(always)]
pub(super) fn single<P: Product>(w: &mut Wave, op: &Op, c: u16) -> Flow {
    let mods = RawMods(op.imm);
    let mut sums: Sums = [[0.0; SIZE]; SIZE];
    places(w, |register, lane, row, column| {
        sums[row][column] = addend(mods, f32::from_bits(w.row(c + register as u16).0[lane]));
    });
    P::add(w, op, &mut sums);
    let mut out = [Row::ZERO; SIZE];
    places(w, |register, lane, row, column| out[register].0[lane] = sums[row][column].to_bits());
    store(w, op, &out, !0);
    Flow::Next
}

/// The same of 16-bit floats.
#[inline(always)]
pub(super) fn halves<T: Half, P: Product>(w: &mut Wave, op: &Op, c: u16) -> Flow {
    let mods = RawMods(op.imm);
    let packed = !is_rdna3(w);
    let half = u32::from(mods.op_sel(2)) * 16;
    // Register and shift of what would be register `r` of a 32-bit result.
    let place = |r: usize| if packed { (r / 2, 16 * (r % 2) as u32) } else { (r, half) };
    let mut sums: Sums = [[0.0; SIZE]; SIZE];
    places(w, |r, lane, row, column| {
        let (register, shift) = place(r);
        let word = w.row(c + register as u16).0[lane];
        sums[row][column] = addend(mods, T::widen(word >> shift & 0xffff));
    });
    P::add(w, op, &mut sums);
    let mut out = [Row::ZERO; SIZE];
    places(w, |r, lane, row, column| {
        let (register, shift) = place(r);
        out[register].0[lane] |= T::narrow(sums[row][column]) << shift;
    });
    if packed {
        store(w, op, &out[..SIZE * SIZE / 2 / w.lanes() as usize], !0);
    } else {
        store(w, op, &out, 0xffff << half);
    }
    Flow::Next
}

/// The same of 32-bit integers: `f` gives what is added at a row and column.
#[inline(always)]
pub(super) fn integers(w: &mut Wave, op: &Op, c: u16, f: impl Fn(&Wave, usize, usize) -> i64) -> Flow {
    let clamp = RawMods(op.imm).clamp();
    let mut out = [Row::ZERO; SIZE];
    places(w, |register, lane, row, column| {
        let sum = i64::from(w.row(c + register as u16).0[lane] as i32) + f(w, row, column);
        let limited = if clamp { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        out[register].0[lane] = limited as u32;
    });
    store(w, op, &out, !0);
    Flow::Next
}

/// An integer of `bits` bits, signed if the source's NEG says so.
#[inline(always)]
pub(super) fn integer(op: &Op, source: usize, bits: usize, code: u32) -> i64 {
    let top = code << (32 - bits);
    if RawMods(op.imm).neg(source as u32) { i64::from(top as i32 >> (32 - bits)) } else { i64::from(code) }
}

/// f32 = A * B + C.
struct ToSingle<A, B>(PhantomData<(A, B)>);
impl<A: Element, B: Element> Kernel for ToSingle<A, B> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        single::<Dense<A, B>>(w, op, op.src[2])
    }
}

/// 16-bit floats = A * B + C.
struct ToHalf<T>(PhantomData<T>);
impl<T: Half> Kernel for ToHalf<T> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        halves::<T, Dense<T, T>>(w, op, op.src[2])
    }
}

/// Integers of `BITS` bits, `K` of them in a row, to 32 bits.
struct ToInteger<const BITS: usize, const K: usize>;
impl<const BITS: usize, const K: usize> Kernel for ToInteger<BITS, K> {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let value = |w: &Wave, source, k, row| {
            integer(op, source, BITS, layout::code(w, op, source, layout::dense(w, BITS, K, k), BITS, row))
        };
        integers(w, op, op.src[2], |w, row, column| (0..K).map(|k| value(w, 0, k, row) * value(w, 1, k, column)).sum())
    }
}

/// The bits of `bits` in all lanes of the wave.
#[inline(always)]
fn store(w: &mut Wave, op: &Op, out: &[Row], bits: u32) {
    let lanes = w.lanes() as usize;
    for (register, out) in out.iter().take(SIZE * SIZE / lanes).enumerate() {
        let row = w.row_mut(op.dst + register as u16);
        for lane in 0..lanes {
            row.0[lane] = row.0[lane] & !bits | out.0[lane] & bits;
        }
    }
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    let op = match base {
        "v_wmma_f32_16x16x16_f16" => ValuOp::of::<ToSingle<F16, F16>>(),
        "v_wmma_f32_16x16x16_bf16" => ValuOp::of::<ToSingle<Bf16, Bf16>>(),
        "v_wmma_f32_16x16x16_fp8_fp8" => ValuOp::of::<ToSingle<Fp8, Fp8>>(),
        "v_wmma_f32_16x16x16_fp8_bf8" => ValuOp::of::<ToSingle<Fp8, Bf8>>(),
        "v_wmma_f32_16x16x16_bf8_fp8" => ValuOp::of::<ToSingle<Bf8, Fp8>>(),
        "v_wmma_f32_16x16x16_bf8_bf8" => ValuOp::of::<ToSingle<Bf8, Bf8>>(),
        "v_wmma_f16_16x16x16_f16" => ValuOp::of::<ToHalf<F16>>().places_halves(),
        "v_wmma_bf16_16x16x16_bf16" => ValuOp::of::<ToHalf<Bf16>>().places_halves(),
        "v_wmma_i32_16x16x16_iu8" => ValuOp::of::<ToInteger<8, 16>>(),
        "v_wmma_i32_16x16x16_iu4" => ValuOp::of::<ToInteger<4, 16>>(),
        "v_wmma_i32_16x16x32_iu4" => ValuOp::of::<ToInteger<4, 32>>(),
        _ => swmmac::lookup(base)?,
    };
    Some(op.raw_mods())
}
