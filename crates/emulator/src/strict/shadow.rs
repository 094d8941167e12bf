//! Which bits of a wave's registers are undefined.
//!
//! All is defined as a rule, and what is not is mostly a register that nothing has written, in every lane. Both are
//! told by a word or two: a row has a mask of the lanes with undefined bits, and while those of all these lanes are the
//! same, it has them once.

use super::origin::Origins;
use super::terms::{Place, Source};
use crate::masks::lanes;
use crate::wave::Wave;

/// The rows that are registers, from v0 on.
pub(super) const ROWS: usize = crate::registers::rows::TEMP as usize;

/// Codes of scalars.
pub(super) const CODES: usize = 256;

pub(super) struct Shadow {
    /// One set bit for each undefined bit.
    pub(super) scalars: [u32; CODES],
    /// The lanes with undefined bits.
    pub(super) lanes: [u64; ROWS],
    /// The undefined bits of each of these lanes, unless the row is in `mixed`.
    same: [u32; ROWS],
    mixed: [u64; ROWS / 64],
    /// The undefined bits of rows in `mixed`, meaningful in the lanes above. Empty until there is such a row.
    each: Vec<[u32; 64]>,
    /// Which blocks of rows are not as for a wave that begins, one bit each.
    touched: u16,
    pub(super) origins: Origins,
}

/// Rows that [`Shadow::restart`] fills at once.
const BLOCK: usize = 64;

/// The bit of the block of rows that a row is in.
pub(super) fn block_of(row: usize) -> u16 {
    1 << (row % ROWS / BLOCK)
}

impl Default for Shadow {
    fn default() -> Shadow {
        let mut scalars = [0; CODES];
        scalars[..SCALARS].fill(!0);
        Shadow {
            scalars,
            lanes: [!0; ROWS],
            same: [!0; ROWS],
            mixed: [0; ROWS / 64],
            each: Vec::new(),
            touched: 0,
            origins: Origins::default(),
        }
    }
}

/// The scalars that nothing has written are these codes.
const SCALARS: usize = 124;

fn row_of(first: u16, k: u8) -> usize {
    (usize::from(first) + usize::from(k)) % ROWS
}

impl Shadow {
    /// As for a wave that begins.
    pub fn restart(&mut self) {
        self.scalars = [0; CODES];
        self.scalars[..SCALARS].fill(!0);
        // A wave has few of all the registers.
        for block in lanes(std::mem::take(&mut self.touched).into()) {
            let rows = block * BLOCK..(block + 1) * BLOCK;
            self.lanes[rows.clone()].fill(!0);
            self.same[rows].fill(!0);
        }
        self.mixed.fill(0);
        self.origins.clear();
    }
    /// Rows of these blocks are about to change.
    #[inline(always)]
    pub(super) fn touch(&mut self, blocks: u16) {
        self.touched |= blocks;
    }
    pub fn define_scalar(&mut self, code: u8) {
        self.scalars[usize::from(code)] = 0;
    }
    pub fn define_lanes(&mut self, row: usize, mask: u64) {
        self.touch(block_of(row));
        self.lanes[row % ROWS] &= !mask;
    }

    /// Nothing is known of this VGPR.
    pub fn undefine_lanes(&mut self, n: usize) {
        (self.lanes[n % ROWS], self.same[n % ROWS]) = (!0, !0);
        self.mixed[n % ROWS / 64] &= !(1 << (n % 64));
        self.origins.forget_row((n % ROWS) as u16);
    }

    fn is_mixed(&self, row: usize) -> bool {
        self.mixed[row / 64] >> (row % 64) & 1 != 0
    }

    /// Undefined bits of a row in a lane; rows that are no registers are defined.
    pub fn row(&self, row: u16, lane: usize) -> u32 {
        let row = usize::from(row);
        match self.lanes.get(row) {
            Some(lanes) if lanes >> lane & 1 == 0 => 0,
            Some(_) if self.is_mixed(row) => self.each[row][lane],
            Some(_) => self.same[row],
            None => 0,
        }
    }

    fn set_row(&mut self, row: usize, lane: usize, undefined: u32) {
        self.touch(block_of(row));
        let bit = 1 << lane;
        if undefined == 0 {
            self.lanes[row] &= !bit;
        } else if self.lanes[row] & !bit == 0 {
            self.set_lanes(row, bit, undefined);
        } else {
            if !self.is_mixed(row) && self.same[row] != undefined {
                if self.each.len() <= row {
                    self.each.resize((row + 1).next_multiple_of(64), [0; 64]);
                }
                self.each[row] = [self.same[row]; 64];
                self.mixed[row / 64] |= 1 << (row % 64);
            }
            if self.is_mixed(row) {
                self.each[row][lane] = undefined;
            }
            self.lanes[row] |= bit;
        }
    }

    /// Gives the same undefined bits to all lanes of a mask.
    fn set_lanes(&mut self, row: usize, mask: u64, undefined: u32) {
        self.touch(block_of(row));
        if undefined == 0 {
            self.lanes[row] &= !mask;
        } else if self.lanes[row] & !mask == 0 {
            self.lanes[row] = mask;
            self.same[row] = undefined;
            self.mixed[row / 64] &= !(1 << (row % 64));
        } else if !self.is_mixed(row) && self.same[row] == undefined {
            self.lanes[row] |= mask;
        } else {
            lanes(mask).for_each(|lane| self.set_row(row, lane, undefined));
        }
    }

    /// A load changes the undefined bits of a row in a lane.
    pub fn update(&mut self, row: u16, lane: usize, change: impl FnOnce(u32) -> u32) {
        let undefined = change(self.row(row, lane));
        if usize::from(row) < ROWS {
            self.set_row(row.into(), lane, undefined);
        }
    }

    /// The lanes in which one of some rows has undefined bits.
    pub fn undefined_lanes(&self, first: u16, rows: u16) -> u64 {
        (first..first + rows).fold(0, |lanes, row| lanes | self.lanes.get(usize::from(row)).copied().unwrap_or(0))
    }

    /// Undefined bits of word `k` of a place, in a lane.
    pub fn word(&self, place: Place, k: u8, lane: usize) -> u32 {
        match place {
            Place::Rows(row, units) => self.row(row_of(row, k.min(units - 1)) as u16, lane),
            Place::Scalars(code, units) => self.scalars[usize::from(code.saturating_add(k.min(units - 1)))],
            Place::Constant(_) => 0,
        }
    }

    /// As [`Shadow::word`], if all lanes of a mask agree.
    pub fn common_word(&self, place: Place, k: u8, mask: u64) -> Option<u32> {
        let Place::Rows(row, units) = place else { return Some(self.word(place, k, 0)) };
        let row = row_of(row, k.min(units - 1));
        match self.lanes[row] & mask {
            0 => Some(0),
            lanes if lanes == mask && !self.is_mixed(row) => Some(self.same[row]),
            _ => None,
        }
    }

    pub fn set(&mut self, place: Place, k: u8, lane: usize, undefined: u32) {
        match place {
            Place::Rows(row, _) => self.set_row(row_of(row, k), lane, undefined),
            Place::Scalars(code, _) => self.scalars[usize::from(code.saturating_add(k))] = undefined,
            Place::Constant(_) => {}
        }
    }

    /// Gives the same undefined bits to all lanes of a mask.
    pub fn set_common(&mut self, place: Place, k: u8, mask: u64, undefined: u32) {
        match place {
            Place::Rows(row, _) => self.set_lanes(row_of(row, k), mask, undefined),
            _ => self.set(place, k, 0, undefined),
        }
    }

    /// All words of a place are defined, those of rows in the lanes of a mask.
    #[inline]
    pub fn define(&mut self, place: Place, mask: u64) {
        match place {
            Place::Rows(row, units) => (0..units).for_each(|k| self.define_lanes(row_of(row, k), mask)),
            Place::Scalars(code, units) => (0..units).for_each(|k| self.define_scalar(code.saturating_add(k))),
            Place::Constant(_) => {}
        }
    }

    /// Whether any bit that is used is undefined in a lane.
    pub fn undefined(&self, source: &Source, lane: usize) -> bool {
        (0..source.place.words()).any(|k| self.word(source.place, k, lane) & source.used != 0)
    }

    /// Whether all bits that are used are defined in all lanes of a mask.
    #[inline]
    pub fn fully_defined(&self, source: &Source, mask: u64) -> bool {
        match source.place {
            Place::Rows(row, units) => {
                let some = self.undefined_lanes(row, units.into()) & mask;
                some == 0 || !lanes(some).any(|lane| self.undefined(source, lane))
            }
            Place::Scalars(..) => !self.undefined(source, 0),
            Place::Constant(_) => true,
        }
    }

    /// The first lane of a mask in which a source is undefined; scalars are in lane 0.
    pub fn first_undefined(&self, source: &Source, mask: u64) -> Option<usize> {
        match source.place {
            Place::Rows(row, units) => {
                let some = self.undefined_lanes(row, units.into()) & mask;
                lanes(some).find(|&lane| self.undefined(source, lane))
            }
            _ => Some(0).filter(|_| self.undefined(source, 0)),
        }
    }

    pub fn scalar64(&self, code: u8) -> u64 {
        u64::from(self.scalars[usize::from(code)]) | u64::from(self.scalars[usize::from(code.saturating_add(1))]) << 32
    }
    /// As many words as the place has, of a lane mask or another value of up to 64 bits.
    pub fn set_scalars(&mut self, code: u8, words: u8, undefined: u64) {
        self.scalars[usize::from(code)] = undefined as u32;
        if words > 1 {
            self.scalars[usize::from(code.saturating_add(1))] = (undefined >> 32) as u32;
        }
    }
}

/// The value of word `k` of a place, in a lane.
pub(super) fn value(w: &Wave, place: Place, k: u8, lane: usize) -> u32 {
    match place {
        Place::Rows(row, _) => w.rows[row_of(row, k)].0[lane],
        Place::Scalars(code, _) => w.s[usize::from(code.saturating_add(k))],
        Place::Constant(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_differ_once_they_are_written_apart() {
        let mut shadow = Shadow::default();
        let (v3, v4) = (Place::Rows(3, 1), Place::Rows(3, 2));
        assert_eq!(shadow.common_word(v3, 0, !0), Some(!0));
        shadow.define(v3, 0xf);
        assert_eq!((shadow.common_word(v3, 0, !0), shadow.common_word(v3, 0, 0xf)), (None, Some(0)));
        assert_eq!(shadow.common_word(v3, 0, 0xf0), Some(!0));
        shadow.set(v3, 0, 5, 0xff);
        assert_eq!((3..7).map(|lane| shadow.word(v3, 0, lane)).collect::<Vec<_>>(), [0, !0, 0xff, !0]);
        assert_eq!(shadow.common_word(v3, 0, 0xf0), None);
        // All lanes that had something get the same: one word is enough again.
        shadow.set_common(v3, 0, !0xf, 2);
        assert_eq!(shadow.common_word(v3, 0, !0xf), Some(2));
        shadow.set_common(v3, 0, 0xf, 4);
        assert_eq!([shadow.word(v3, 0, 0), shadow.word(v3, 0, 63)], [4, 2]);
        assert!(shadow.fully_defined(&Source { place: v3, used: 1, shift: 0 }, !0));
        assert_eq!(shadow.first_undefined(&Source { place: v3, used: 2, shift: 0 }, !0), Some(4));
        assert_eq!(shadow.first_undefined(&Source { place: v4, used: 1, shift: 0 }, !0), Some(0));
    }
}
