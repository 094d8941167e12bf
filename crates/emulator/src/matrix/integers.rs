//! WMMA and SWMMAC of integers on RDNA3 and RDNA4.
//!
//! NEG says whether A's and B's elements are signed. CLAMP limits the sum of C and the products, on RDNA4 first that of C
//! and half of the products, every other eight along K.
//!
//! Of WMMA by the host's vectors: [`super::integer_sums`]. This is for hosts without such, and for SWMMAC.

use super::layout::{self, Place, is_rdna3};
use super::wmma::SIZE;
use crate::op::{Flow, Op, RawMods};
use crate::wave::Wave;

/// Rows of the result that are summed side by side: as one long row, which is summed in the host's vectors.
const ROWS: usize = 4;
const LONG: usize = ROWS * SIZE;

/// Rows of A, or columns of B, by k: elements of `BITS` bits, at their places.
#[inline(always)]
fn elements<const BITS: usize, const K: usize>(
    w: &Wave,
    op: &Op,
    source: usize,
    place: impl Fn(usize) -> Place,
) -> [[i32; SIZE]; K] {
    let is_signed = RawMods(op.imm).neg(source as u32);
    let per_word = 32 / BITS;
    let mut out = [[0; SIZE]; K];
    for (k, out) in out.iter_mut().enumerate() {
        let (part, at) = place(k);
        let above = 32 - BITS - BITS * (at % per_word);
        let words = &w.row(op.src[source] + (at / per_word) as u16).0[SIZE * part..][..SIZE];
        for i in 0..SIZE {
            let top = words[i] << above;
            out[i] = if is_signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 };
        }
    }
    out
}

/// The sums of products of rows of A with the rows of B that `met` names: those of every other eight elements by
/// themselves if they are kept `apart`.
#[inline(always)]
fn products<const KA: usize, const KB: usize>(
    a: &[[i32; SIZE]; KA],
    b: &[[i32; SIZE]; KB],
    rows: [usize; ROWS],
    met: impl Fn(usize, usize) -> usize,
    apart: bool,
) -> [[i32; LONG]; 2] {
    let mut sums = [[0; LONG]; 2];
    for k in 0..KA {
        let (mut x, mut y) = ([0; LONG], [0; LONG]);
        for ((row, x), y) in rows.iter().zip(x.chunks_exact_mut(SIZE)).zip(y.chunks_exact_mut(SIZE)) {
            x.fill(a[k][row % SIZE]);
            y.copy_from_slice(&b[met(row % SIZE, k) % KB]);
        }
        let sums = &mut sums[usize::from(apart) & (k / 8)];
        for i in 0..LONG {
            sums[i] += x[i] * y[i];
        }
    }
    sums
}

/// C, from the register `c` on, with the products added to it. `met`: which row of B a stored element of A meets; `spread`
/// says where the elements of B are.
#[inline(always)]
pub fn run<const BITS: usize, const KA: usize, const KB: usize>(
    w: &mut Wave,
    op: &Op,
    c: u16,
    met: impl Fn(usize, usize) -> usize,
    spread: impl Fn(&Wave, usize) -> Place,
) -> Flow {
    let clamps = RawMods(op.imm).clamp();
    let apart = !is_rdna3(w);
    // On RDNA3 each part of the wave makes its rows of the result from its own copies of A and B.
    let parts = if apart { 1 } else { w.lanes() as usize / SIZE };
    let mut results = [[0u32; SIZE]; SIZE];
    for part in 0..parts {
        let here = |(other, at): Place| if apart { (other, at) } else { (part, at) };
        let a = elements::<BITS, KA>(w, op, 0, |k| here(layout::dense(w, BITS, KA, k)));
        let b = elements::<BITS, KB>(w, op, 1, |k| here(spread(w, k)));
        for row in (part..SIZE).step_by(ROWS * parts) {
            let rows = std::array::from_fn(|r| row + r * parts);
            let sums = products::<KA, KB>(&a, &b, rows, &met, apart);
            for (r, row) in rows.into_iter().enumerate() {
                let (register, lanes) = layout::of_row(w, row % SIZE);
                let words = &w.row(c + register as u16).0[SIZE * lanes..][..SIZE];
                for i in 0..SIZE {
                    let [first, second] = [0, 1].map(|half| sums[half][SIZE * r + i]);
                    let sum = words[i] as i32;
                    results[row % SIZE][i] = if clamps {
                        sum.saturating_add(first).saturating_add(second)
                    } else {
                        sum.wrapping_add(first).wrapping_add(second)
                    } as u32;
                }
            }
        }
    }
    for (row, words) in results.iter().enumerate() {
        let (register, part) = layout::of_row(w, row);
        w.row_mut(op.dst + register as u16).0[SIZE * part..][..SIZE].copy_from_slice(words);
    }
    Flow::Next
}
