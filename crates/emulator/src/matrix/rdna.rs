//! Floating-point WMMA of RDNA3 and RDNA4: sums of the kind that [`crate::fp::dot`] describes, one after the other.
//!
//! An element of the result is C, to which the products are added in steps, k ascending. A step of RDNA3 has two of
//! them, and one of RDNA4 those of two registers: four of 16 bits in groups of two, eight of 8 bits in groups of four.
//! What a step gives, in the format of the result, is C to the next. On RDNA3 each part of a wave computes its rows of the
//! result from its own copies of A and B.
//!
//! Steps and groups of 16-bit elements have been measured, in waves of 32 and of 64 lanes ([`crate::fp::dot`] says by
//! whom); so has, on gfx1151, that lanes 0 to 15 feed their rows of the result and lanes 16 to 31 theirs. Those of 8-bit
//! elements have not: that a group is a register is what `v_dot4_f32_*` has, and that a step is two registers is what
//! 16-bit elements have, and what integers of 8 bits have (see [`super::wmma`]). Nor have the sums of `v_swmmac`, which are
//! taken for those of WMMA with other rows of B.

use super::layout::{self, is_rdna3};
use super::wmma::SIZE;
use crate::fp::dot::{Factor, Parts, Rdna3, Rdna4, Result, Unit, exact, product, take};
use crate::op::Op;
use crate::wave::Wave;

/// The bits of C and of the result, by row and column.
pub(super) type Bits = [[u32; SIZE]; SIZE];

/// Where an element is: the part of the wave, and the place in its lanes.
pub(super) type Place = (usize, usize);

/// Rows of A, or columns of B: `K` elements of each, by k.
struct Taken<const K: usize> {
    significand: [[i32; SIZE]; K],
    exponent: [[i32; SIZE]; K],
    negative: [[i32; SIZE]; K],
    code: [[u16; SIZE]; K],
    /// Rows or columns that have an infinity or a NaN.
    special: [bool; SIZE],
}

/// The elements at their places, some of them with the other sign.
#[inline(always)]
fn elements<U: Unit, F: Factor, const K: usize>(
    w: &Wave,
    op: &Op,
    source: usize,
    place: impl Fn(usize) -> Place,
    flipped: impl Fn(usize) -> bool,
) -> Taken<K> {
    let mut out = Taken {
        significand: [[0; SIZE]; K],
        exponent: [[0; SIZE]; K],
        negative: [[0; SIZE]; K],
        code: [[0; SIZE]; K],
        special: [false; SIZE],
    };
    let per_word = 32 / F::BITS as usize;
    for k in 0..K {
        let (part, at) = place(k);
        let sign = if flipped(k) { F::MAGNITUDE + 1 } else { 0 };
        let shift = F::BITS * (at % per_word) as u32;
        let words = &w.row(op.src[source] + (at / per_word) as u16).0[SIZE * part..][..SIZE];
        for i in 0..SIZE {
            let code = (words[i] >> shift & (F::MAGNITUDE << 1 | 1)) ^ sign;
            let parts = take::<U, F>(code);
            out.significand[k][i] = parts.significand;
            out.exponent[k][i] = parts.exponent;
            out.negative[k][i] = parts.negative;
            out.code[k][i] = code as u16;
            out.special[i] |= F::is_special(code);
        }
    }
    out
}

impl<const K: usize> Taken<K> {
    #[inline(always)]
    fn parts(&self, k: usize, i: usize) -> Parts {
        Parts { significand: self.significand[k][i], exponent: self.exponent[k][i], negative: self.negative[k][i] }
    }
}

/// One row: the products of a row of A with the rows of B that `met` names are added to `c`, `N` in a step.
#[inline(always)]
fn row_of<
    U: Unit,
    A: Factor,
    B: Factor,
    R: Result,
    const KA: usize,
    const KB: usize,
    const GROUP: usize,
    const N: usize,
>(
    (a, row): (&Taken<KA>, usize),
    b: &Taken<KB>,
    met: impl Fn(usize) -> usize,
    saturates: bool,
    c: &mut [u32; SIZE],
) {
    let before = *c;
    let mut rare = [false; SIZE];
    for i in 0..SIZE {
        rare[i] = a.special[row] | b.special[i] | R::is_special(c[i]);
    }
    for first in (0..KA).step_by(N) {
        let left: [Parts; N] = std::array::from_fn(|j| a.parts(first + j, row));
        let rows: [usize; N] = std::array::from_fn(|j| met(first + j) % KB);
        for i in 0..SIZE {
            let products: [Parts; N] = std::array::from_fn(|j| product(left[j], b.parts(rows[j], i)));
            let (sum, last) = U::sum::<A, B, R, GROUP, N>(products, R::addend::<U>(c[i]));
            let (bits, needs) = R::fast::<U>(sum, last);
            c[i] = bits;
            rare[i] |= needs;
        }
    }
    if rare == [false; SIZE] {
        return;
    }
    for i in 0..SIZE {
        if rare[i] {
            c[i] = before[i];
            for first in (0..KA).step_by(N) {
                let x = std::array::from_fn(|j| a.code[first + j][row].into());
                let y = std::array::from_fn(|j| b.code[met(first + j) % KB][i].into());
                c[i] = exact::<U, A, B, R, GROUP, N>(x, y, c[i], saturates);
            }
        }
    }
}

/// A * B + `c` of RDNA3.
#[inline(always)]
fn rdna3<T: Factor, R: Result>(w: &Wave, op: &Op, flipped: impl Fn(usize, usize) -> bool, c: &mut Bits) {
    let parts = w.lanes() as usize / SIZE;
    for part in 0..parts {
        let a = elements::<Rdna3, T, SIZE>(w, op, 0, |k| (part, k), |k| flipped(0, k));
        let b = elements::<Rdna3, T, SIZE>(w, op, 1, |k| (part, k), |k| flipped(1, k));
        for (row, c) in c.iter_mut().enumerate().skip(part).step_by(parts) {
            row_of::<Rdna3, T, T, R, SIZE, SIZE, 2, 2>((&a, row), &b, |k| k, w.mode.fp16_ovfl(), c);
        }
    }
}

/// A * B + `c`, of 16-bit elements.
#[inline(always)]
pub(super) fn halves<T: Factor, R: Result>(w: &Wave, op: &Op, flipped: impl Fn(usize, usize) -> bool, c: &mut Bits) {
    if is_rdna3(w) {
        return rdna3::<T, R>(w, op, flipped, c);
    }
    let place = |k| layout::dense(w, 16, SIZE, k);
    let a = elements::<Rdna4, T, SIZE>(w, op, 0, place, |k| flipped(0, k));
    let b = elements::<Rdna4, T, SIZE>(w, op, 1, place, |k| flipped(1, k));
    for (row, c) in c.iter_mut().enumerate() {
        row_of::<Rdna4, T, T, R, SIZE, SIZE, 2, 4>((&a, row), &b, |k| k, w.mode.fp16_ovfl(), c);
    }
}

/// A * B + `c`, of 8-bit elements.
#[inline(always)]
pub(super) fn bytes<A: Factor, B: Factor, R: Result>(
    w: &Wave,
    op: &Op,
    flipped: impl Fn(usize, usize) -> bool,
    c: &mut Bits,
) {
    let place = |k| layout::dense(w, 8, SIZE, k);
    let a = elements::<Rdna4, A, SIZE>(w, op, 0, place, |k| flipped(0, k));
    let b = elements::<Rdna4, B, SIZE>(w, op, 1, place, |k| flipped(1, k));
    for (row, c) in c.iter_mut().enumerate() {
        row_of::<Rdna4, A, B, R, SIZE, SIZE, 4, 8>((&a, row), &b, |k| k, w.mode.fp16_ovfl(), c);
    }
}

/// Rows of a sparse operation's B.
pub(super) const ROWS: usize = 2 * SIZE;

/// A * B + `c` of a sparse operation, whose stored elements of A meet rows of B, by row of A.
#[inline(always)]
pub(super) fn sparse<A: Factor, B: Factor, R: Result, const GROUP: usize, const N: usize>(
    w: &Wave,
    op: &Op,
    met: impl Fn(usize, usize) -> usize,
    flipped: impl Fn(usize) -> bool,
    c: &mut Bits,
) {
    let bits = A::BITS as usize;
    let a = elements::<Rdna4, A, SIZE>(w, op, 0, |k| layout::dense(w, bits, SIZE, k), flipped);
    let b = elements::<Rdna4, B, ROWS>(w, op, 1, |k| layout::sparse(w, bits, ROWS, k), |_| false);
    for (row, c) in c.iter_mut().enumerate() {
        row_of::<Rdna4, A, B, R, SIZE, ROWS, GROUP, N>((&a, row), &b, |s| met(row, s), w.mode.fp16_ovfl(), c);
    }
}
