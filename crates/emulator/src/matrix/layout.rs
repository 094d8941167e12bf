//! Where matrix elements sit in lanes and registers.

use crate::op::RawMods;

/// An operand gathered by block, k and row (of A) or column (of B): `values[(block * K + k) * M + i]`. K * M * BLOCKS
/// is at most 64 lanes of 4 elements.
pub struct Gathered<T>(pub [T; 256]);

/// The lane that B's lane `l` reads instead, by blgp.
#[inline(always)]
pub fn b_lane(mods: RawMods, l: usize) -> usize {
    match mods.blgp() {
        0 => l,
        1 => l & 31,                         // the first half to both
        2 => l & 31 | 32,                    // the second half to both
        3 => (l + 16) & 63,                  // turned by 16 lanes
        n => l & 15 | (n as usize - 4) << 4, // one group of 16 to all
    }
}

/// The block whose A block `b` uses, by cbsz and abid.
#[inline(always)]
pub fn a_block(mods: RawMods, b: usize, blocks: usize) -> usize {
    let group = (1 << mods.cbsz()).min(blocks);
    b & !(group - 1) | mods.abid() as usize & (group - 1)
}

/// Gathers an operand of which `read(lane, element)` is each lane's `per_lane` elements.
#[inline(always)]
pub fn gather<T: Copy + Default, const M: usize, const K: usize, const BLOCKS: usize>(
    per_lane: usize,
    read: impl Fn(usize, usize) -> T,
) -> Gathered<T> {
    let mut out = Gathered([T::default(); 256]);
    for l in 0..64 {
        let (i, group) = (l % M, l / M);
        for e in 0..per_lane {
            let (block, k) = if BLOCKS > 1 { (group, e) } else { (0, group * per_lane + e) };
            out.0[(block * K + k) * M + i] = read(l, e);
        }
    }
    out
}

/// Row of block `b` and column that register `r` (within the operation) of lane `l` holds: (block, row, column).
#[inline(always)]
pub fn result_place<const M: usize>(r: usize, l: usize) -> (usize, usize, usize) {
    if M == 4 {
        return (l / 4, r, l % 4);
    }
    let per_block = M * M / 64;
    let (block, r) = (r / per_block, r % per_block);
    (block, 4 * (l / M) + r % 4 + 4 * (64 / M) * (r / 4), l % M)
}

/// Registers of C and D.
pub const fn result_registers(m: usize, blocks: usize) -> usize {
    m * m * blocks / 64
}
