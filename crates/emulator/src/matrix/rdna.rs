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
//! 16-bit elements have, and bytes (see [`super::wmma`]). Nor have the sums of `v_swmmac`, which are
//! taken for those of WMMA with other rows of B.

use super::chain::{self, Held};
use super::layout::{self, Place, is_rdna3};
use super::rdna3;
use super::wmma::SIZE;
use crate::fp::dot::{Factor, Parts, Rdna3, Rdna4, Result, Unit, exact, left, product, take};
use crate::op::Op;
use crate::wave::Wave;

/// The bits of C and of the result, by row and column.
pub(super) type Bits = [[u32; SIZE]; SIZE];

/// Rows of A, or columns of B: `K` elements of each, by k, where they are in registers.
pub(super) struct Elements<'a, const K: usize> {
    pub words: [&'a [u32; SIZE]; K],
    /// How far up in their words they are.
    pub shift: [u32; K],
    /// The sign bit where an element's sign is to be changed.
    pub sign: [u32; K],
}

/// The elements at their places, some of them with the other sign.
#[inline(always)]
fn elements<'a, F: Factor, const K: usize>(
    w: &'a Wave,
    op: &Op,
    source: usize,
    place: impl Fn(usize) -> Place,
    flipped: impl Fn(usize) -> bool,
) -> Elements<'a, K> {
    let mut out = Elements { words: [&[0; SIZE]; K], shift: [0; K], sign: [0; K] };
    let per_word = 32 / F::BITS as usize;
    for k in 0..K {
        let (part, at) = place(k);
        out.words[k] = w.row(op.src[source] + (at / per_word) as u16).0[SIZE * part..].first_chunk().expect("a part");
        out.shift[k] = F::BITS * (at % per_word) as u32;
        out.sign[k] = if flipped(k) { F::MAGNITUDE + 1 } else { 0 };
    }
    out
}

/// The same taken apart.
struct Taken<const K: usize> {
    significand: [[i32; SIZE]; K],
    exponent: [[i32; SIZE]; K],
    negative: [[i32; SIZE]; K],
    code: [[u32; SIZE]; K],
    /// Not 0 for rows or columns that have an infinity or a NaN.
    special: [u32; SIZE],
}

/// What `parts` makes of the codes of `F`s.
#[inline(always)]
fn taken<F: Factor, const K: usize>(elements: &Elements<K>, parts: impl Fn(u32) -> Parts) -> Taken<K> {
    let mut out = Taken {
        significand: [[0; SIZE]; K],
        exponent: [[0; SIZE]; K],
        negative: [[0; SIZE]; K],
        code: [[0; SIZE]; K],
        special: [0; SIZE],
    };
    for k in 0..K {
        let (words, shift, sign) = (elements.words[k], elements.shift[k], elements.sign[k]);
        for i in 0..SIZE {
            let code = (words[i] >> shift & (F::MAGNITUDE << 1 | 1)) ^ sign;
            let parts = parts(code);
            out.significand[k][i] = parts.significand;
            out.exponent[k][i] = parts.exponent;
            out.negative[k][i] = parts.negative;
            out.code[k][i] = code;
            out.special[i] |= u32::from(F::is_special(code));
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

/// Rows that are computed side by side, so that the processor need not wait for one step to begin the next.
pub(super) const ROWS: usize = 4;

/// The products of rows of A with the rows of B that `met` names are added to those rows of `c`, `N` in a step.
#[inline(always)]
fn rows_of<
    U: Unit,
    A: Factor,
    B: Factor,
    R: Result,
    const KA: usize,
    const KB: usize,
    const GROUP: usize,
    const N: usize,
>(
    a: &Taken<KA>,
    b: &Taken<KB>,
    rows: [usize; ROWS],
    met: impl Fn(usize, usize) -> usize,
    saturates: bool,
    c: &mut Bits,
) {
    let before = rows.map(|row| c[row % SIZE]);
    let mut sums = before;
    let mut rare = [[0u32; SIZE]; ROWS];
    for first in (0..KA).step_by(N) {
        for (r, row) in rows.into_iter().enumerate() {
            let x: [Parts; N] = std::array::from_fn(|j| a.parts(first + j, row % SIZE));
            let at: [usize; N] = std::array::from_fn(|j| met(row, first + j) % KB);
            for i in 0..SIZE {
                let products: [Parts; N] = std::array::from_fn(|j| product(x[j], b.parts(at[j], i)));
                let (sum, last) = U::sum::<R, GROUP, N>(products, R::addend::<U, A>(sums[r][i]));
                let (bits, size) = R::fast::<U>(sum, last);
                sums[r][i] = bits;
                rare[r][i] = rare[r][i].max(size);
            }
        }
    }
    for (r, row) in rows.into_iter().enumerate() {
        for i in 0..SIZE {
            let special = a.special[row % SIZE] | b.special[i] | u32::from(R::is_special(before[r][i]));
            rare[r][i] = u32::from(rare[r][i] > R::LIMIT) | special;
        }
        if rare[r].iter().fold(0, |any, rare| any | rare) != 0 {
            for i in 0..SIZE {
                if rare[r][i] != 0 {
                    let mut sum = before[r][i];
                    for first in (0..KA).step_by(N) {
                        let x = std::array::from_fn(|j| a.code[first + j][row % SIZE]);
                        let y = std::array::from_fn(|j| b.code[met(row, first + j) % KB][i]);
                        sum = exact::<U, A, B, R, GROUP, N>(x, y, sum, saturates);
                    }
                    sums[r][i] = sum;
                }
            }
        }
        c[row % SIZE] = sums[r];
    }
}

/// Every `step`th row of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    first: usize,
    step: usize,
}

impl Rows {
    const ALL: Rows = Rows { first: 0, step: 1 };

    /// The first rows of those that are computed side by side.
    #[inline(always)]
    fn groups(self) -> impl Iterator<Item = usize> {
        (self.first..SIZE).step_by(ROWS * self.step)
    }
    #[inline(always)]
    fn group(self, first: usize) -> [usize; ROWS] {
        std::array::from_fn(|r| (first + r * self.step) % SIZE)
    }
}

/// The same for all rows that are asked for.
#[inline(always)]
fn one_by_one<
    U: Unit,
    A: Factor,
    B: Factor,
    R: Held,
    const KA: usize,
    const KB: usize,
    const GROUP: usize,
    const N: usize,
>(
    a: &Elements<KA>,
    b: &Elements<KB>,
    rows: Rows,
    met: impl Fn(usize, usize) -> usize,
    saturates: bool,
    c: &mut Bits,
) {
    let a = taken::<A, KA>(a, |code| left::<A, B>(take::<U, A>(code)));
    let b = taken::<B, KB>(b, take::<U, B>);
    for first in rows.groups() {
        rows_of::<U, A, B, R, KA, KB, GROUP, N>(&a, &b, rows.group(first), &met, saturates, c);
    }
}

/// The same for all rows of RDNA4, by vectors where that is possible.
#[inline(always)]
fn add<A: Factor, B: Factor, R: Held, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
    a: &Elements<KA>,
    b: &Elements<KB>,
    met: impl Fn(usize, usize) -> usize,
    saturates: bool,
    c: &mut Bits,
) {
    if !chain::add::<Rdna4, A, B, R, KA, KB, GROUP, N>(a, b, &met, c) {
        one_by_one::<Rdna4, A, B, R, KA, KB, GROUP, N>(a, b, Rows::ALL, met, saturates, c);
    }
}

/// Whether all parts of a wave of RDNA3 have the same A and B.
#[inline(always)]
fn parts_agree(w: &Wave, op: &Op, registers: u16) -> bool {
    let mut differences = 0;
    for first in [op.src[0], op.src[1]] {
        for register in first..first + registers {
            let words = &w.row(register).0;
            for part in 1..w.lanes() as usize / SIZE {
                for i in 0..SIZE {
                    differences |= words[i] ^ words[SIZE * part + i];
                }
            }
        }
    }
    differences == 0
}

/// A * B + `c` of RDNA3. What vectors add to where it is ([`rdna3::add_in_place`]) does not come here.
#[inline(always)]
fn rdna3<T: Factor, R: Held>(w: &Wave, op: &Op, flipped: impl Fn(usize, usize) -> bool, c: &mut Bits) {
    // As many products as there are different parts; each part has every n-th row. Vectors make those of two.
    let parts = if parts_agree(w, op, 8) { 1 } else { w.lanes() as usize / SIZE };
    // These were tried before.
    let tried = R::IS_SINGLE && parts <= 2;
    for first in (0..parts).step_by(2) {
        let done = !tried && rdna3::add::<T, R>(w, op, first, parts, c);
        chain::count(done);
        if done {
            continue;
        }
        for part in first..parts.min(first + 2) {
            let place = |k| (part, k);
            let a = elements::<T, SIZE>(w, op, 0, place, |k| flipped(0, k));
            let b = elements::<T, SIZE>(w, op, 1, place, |k| flipped(1, k));
            let rows = Rows { first: part, step: parts };
            one_by_one::<Rdna3, T, T, R, SIZE, SIZE, 2, 2>(&a, &b, rows, |_, k| k, w.mode.fp16_ovfl(), c);
        }
    }
}

/// A * B + `c` of RDNA4.
#[inline(always)]
fn rdna4<A: Factor, B: Factor, R: Held, const GROUP: usize, const N: usize>(
    w: &Wave,
    op: &Op,
    flipped: impl Fn(usize, usize) -> bool,
    c: &mut Bits,
) {
    let place = |k| layout::dense(w, A::BITS as usize, SIZE, k);
    let a = elements::<A, SIZE>(w, op, 0, place, |k| flipped(0, k));
    let b = elements::<B, SIZE>(w, op, 1, place, |k| flipped(1, k));
    add::<A, B, R, SIZE, SIZE, GROUP, N>(&a, &b, |_, k| k, w.mode.fp16_ovfl(), c);
}

/// A * B + `c`, of 16-bit elements.
#[inline(always)]
pub(super) fn halves<T: Factor, R: Held>(w: &Wave, op: &Op, flipped: impl Fn(usize, usize) -> bool, c: &mut Bits) {
    if is_rdna3(w) { rdna3::<T, R>(w, op, flipped, c) } else { rdna4::<T, T, R, 2, 4>(w, op, flipped, c) }
}

/// A * B + `c`, of 8-bit elements.
#[inline(always)]
pub(super) fn bytes<A: Factor, B: Factor, R: Held>(
    w: &Wave,
    op: &Op,
    flipped: impl Fn(usize, usize) -> bool,
    c: &mut Bits,
) {
    rdna4::<A, B, R, 4, 8>(w, op, flipped, c);
}

/// Rows of a sparse operation's B.
pub(super) const SPARSE_ROWS: usize = 2 * SIZE;

/// A * B + `c` of a sparse operation, whose stored elements of A meet rows of B, by row of A.
#[inline(always)]
pub(super) fn sparse<A: Factor, B: Factor, R: Held, const GROUP: usize, const N: usize>(
    w: &Wave,
    op: &Op,
    met: impl Fn(usize, usize) -> usize,
    flipped: impl Fn(usize) -> bool,
    c: &mut Bits,
) {
    let bits = A::BITS as usize;
    let dense = |k| layout::dense(w, bits, SIZE, k);
    let a = elements::<A, SIZE>(w, op, 0, dense, flipped);
    let spread = |k| layout::sparse(w, bits, SPARSE_ROWS, k);
    let b = elements::<B, SPARSE_ROWS>(w, op, 1, spread, |_| false);
    add::<A, B, R, SIZE, SPARSE_ROWS, GROUP, N>(&a, &b, met, w.mode.fp16_ovfl(), c);
}
