//! Where the elements of WMMA's matrices are. A *part* is sixteen lanes, one for each row of A, or each column of B.
//!
//! *RDNA3.* A lane holds all elements along K, the low ones in the low registers; each part holds the same, and is what its
//! own elements of the result are made of. The result has one column a lane, `lane % 16`: register `r` holds row `r * N + lane / 16`, N being the number of parts. Results
//! of 16 bits lie in the half of each register that OP_SEL's third bit says; the other half stays.
//!
//! *RDNA4.* Nothing is held twice. Elements of 16 bits go to the parts in turns, four by four (eight by eight the B of a
//! sparse operation); of narrower ones each part has all of its at once, and if there are four parts, the second has the
//! third quarter of K, the third the second. Where a quarter would not fill a register, only two parts have any. Register
//! `r` of the result holds row `8 * (lane / 16) + r`, in waves of 64 lanes `8 * (lane / 16 % 2) + 4 * (lane / 32) + r`;
//! results of 16 bits are two to a register.
//!
//! Source: AMD's matrix instruction calculator.

use luthier_isa::Generation;

use super::wmma::SIZE;
use crate::wave::Wave;

#[inline(always)]
pub fn is_rdna3(w: &Wave) -> bool {
    w.generation == Generation::Gfx11
}

/// Where an element is: the part of the wave, and the place in its lanes.
pub type Place = (usize, usize);

/// How many of a source's `size` elements along K, of `bits` bits, a lane has.
#[inline(always)]
pub fn per_lane(w: &Wave, bits: usize, size: usize) -> usize {
    if is_rdna3(w) { size } else { (size * SIZE / w.lanes() as usize).max(32 / bits) }
}

/// Part and element within the lane of element `k` of `size`, handed out in turns of `turn` if they have 16 bits.
#[inline(always)]
fn place(w: &Wave, bits: usize, size: usize, turn: usize, k: usize) -> Place {
    if is_rdna3(w) {
        return (0, k);
    }
    let parts = w.lanes() as usize / SIZE;
    if bits == 16 {
        return (k / turn % parts, k / (turn * parts) * turn + k % turn);
    }
    let each = per_lane(w, bits, size);
    let quarter = k >> each.trailing_zeros();
    (if size == 4 * each { quarter % 2 * 2 + quarter / 2 } else { quarter }, k & (each - 1))
}

/// Part and element within the lane of element `k` of `size` along K.
#[inline(always)]
pub fn dense(w: &Wave, bits: usize, size: usize, k: usize) -> Place {
    place(w, bits, size, 4, k)
}

/// The same for the B of a sparse operation.
#[inline(always)]
pub fn sparse(w: &Wave, bits: usize, size: usize, k: usize) -> Place {
    place(w, bits, size, 8, k)
}

/// Register and part of a row of a 32-bit result.
#[inline(always)]
pub fn of_row(w: &Wave, row: usize) -> (usize, usize) {
    let parts = w.lanes() as usize / SIZE;
    if is_rdna3(w) {
        // Divisions, which the compiler would make of these, take ten times as long.
        (row >> parts.trailing_zeros(), row & (parts - 1))
    } else if parts == 2 {
        (row % 8, row / 8)
    } else {
        (row % 4, row / 8 + 2 * (row % 8 / 4))
    }
}
