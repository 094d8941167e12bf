//! A step of RDNA3's sums for two rows at once, in the numbers of [`super::chain`]: two products each.
//!
//! Instructions of both rows take turns, in an order in which few wait for one just before: the processor's queues are short
//! of what a row takes from its first instruction to its last. (Row by row, with the same instructions, a row took a cycle and
//! a half longer.)
//!
//! Functions are for a processor that has what their `L` is named for.

use super::chain::vectors::{LOWEST_OF_HALVES, PLACE, place, units};
use super::held::Held;
use super::lanes::Lanes;
use super::numbers::MAGNITUDE;
use super::wmma::SIZE;

/// The place of a sum whose unit is zero.
const LOWEST: i32 = 26;

/// Two elements of A in each row.
#[repr(C, align(64))]
pub struct Left {
    pub value: [[f32; SIZE]; 2],
    /// Upper halves of their places: for each pair of rows a word of the first element's and one of the second's.
    pub place: [[u32; 2]; SIZE / 2],
    /// By row: where the negative products of its two elements are counted.
    pub counted: [u32; SIZE],
}

/// Two elements of B in each of some columns, for each of the two rows.
pub struct Right<L: Lanes> {
    pub value: [[L::Float; 2]; 2],
    /// Upper halves of their places, as A's.
    pub place: [L::Int; 2],
}

/// By which of two elements of A are negative, how many of a step's products are, with a minus; then those of the next part
/// of the wave.
pub type Counts = [[i32; SIZE]; 8];

/// Adds them to some columns of `sums`, where two rows follow each other. `row`: the first one's place in `left`; `counts`:
/// those of the columns. Gives the largest magnitude of the sums, if those are f16.
#[inline(always)]
pub unsafe fn add<L: Lanes, R: Held>(
    left: *const Left,
    row: usize,
    right: &Right<L>,
    counts: *const i32,
    sums: *mut u32,
) -> L::Int {
    // SAFETY: as the caller says; `row` and `row + 1` are rows.
    unsafe {
        let places = (&raw const (*left).place).cast::<i32>().add(row);
        let (c0, c1) = (L::load(sums.cast()), L::load(sums.add(SIZE).cast()));
        let both = |j: usize| L::add_halves(L::all_int(places.add(j).read()), right.place[j]);
        let (first, second) = (both(0), both(1));
        let place1 = place::<L>(c1);
        let products = L::max_signed_halves(first, second);
        let negative = |r: usize| {
            let counted = (&raw const (*left).counted).cast::<u32>().add(row + r).read();
            L::load_int(counts.add(counted as usize))
        };
        let product = |r: usize, j: usize| {
            let a = (&raw const (*left).value[j]).cast::<f32>().add(row + r);
            L::multiply(L::all(a.read()), right.value[r][j])
        };
        let (n0, n1) = (negative(0), negative(1));
        let up = L::up(products, 16);
        let (p00, p11) = (product(0, 0), product(1, 1));
        let place0 = place::<L>(c0);
        let p10 = product(1, 0);
        let (mut last0, mut last1) = (L::max(up, place0), L::max_upper_halves(products, place1));
        if R::IS_HALF {
            let least = L::all_int(LOWEST_OF_HALVES << PLACE);
            (last0, last1) = (L::max(last0, least), L::max(last1, least));
        }
        let (units0, units1) = (units::<L>(last0), units::<L>(last1));
        let p01 = product(0, 1);
        let (c0_units, c1_units) = (L::multiply(c0, units0), L::multiply(c1, units1));
        let n0 = L::add_two_where_negative(n0, c0);
        let (p10, p00) = (L::multiply(p10, units1), L::multiply(p00, units0));
        let n1 = L::add_two_where_negative(n1, c1);
        let p01 = L::multiply(p01, units0);
        let (own0, own1) = (L::whole(c0_units), L::whole(c1_units));
        let p11 = L::multiply(p11, units1);
        let (p10, p00, p01, p11) = (L::whole(p10), L::whole(p00), L::whole(p01), L::whole(p11));
        let (own0, own1) = (L::add(own0, n0), L::add(own1, n1));
        let (both0, both1) = (L::add(p00, p01), L::add(p10, p11));
        let (sum0, sum1) = (L::add(both0, own0), L::add(both1, own1));
        let unit = |last| L::as_float(L::sub_down_to_zero(last, L::all_int(LOWEST << PLACE)));
        let (unit0, unit1) = (unit(last0), unit(last1));
        let (sum0, sum1) = (R::rounded::<L>(sum0, unit0), R::rounded::<L>(sum1, unit1));
        L::store(sums.add(SIZE), sum1);
        L::store(sums, sum0);
        if !R::IS_HALF {
            return L::all_int(0);
        }
        let magnitude = |x| L::and(L::as_int(x), L::all_int(MAGNITUDE));
        L::max(magnitude(sum0), magnitude(sum1))
    }
}
