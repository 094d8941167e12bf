//! Sets of register units, as wide as a processor's registers go.
//!
//! A [`RegSet`] has room for the 1024 VGPRs that gfx1250 alone has. Liveness keeps several sets for every block, and makes
//! them half as wide for all others.

use luthier_isa::{Reg, RegRange, RegSet, Target};

use super::Live;

/// Words that hold all units but v256 and up.
pub(crate) const NARROW: usize = Reg::vgpr(256).index() / 64;
/// Words that hold every unit.
pub(crate) const WIDE: usize = Reg::COUNT / 64;

/// Do the processor's registers fit [`NARROW`] sets?
pub(crate) fn is_narrow(target: Target) -> bool {
    target.vgprs() <= 256
}

/// Units by number, one bit each. Ranges are of 1 to 64 units that are numbered in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Units<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Units<WORDS> {
    pub const EMPTY: Self = Units([0; WORDS]);

    #[inline(always)]
    pub fn insert(&mut self, range: RegRange) {
        each_word(range, |at, bits| self.0[at] |= bits);
    }
    #[inline(always)]
    pub fn remove(&mut self, range: RegRange) {
        each_word(range, |at, bits| self.0[at] &= !bits);
    }
    pub fn union_with(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    pub fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }
    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |missing, (a, b)| missing | b & !a) == 0
    }
}

/// The bits of a range, word by word.
#[inline(always)]
fn each_word(range: RegRange, mut f: impl FnMut(usize, u64)) {
    let (at, shift) = (range.first.index() / 64, range.first.index() % 64);
    let bits = u64::MAX >> (64 - u32::from(range.count));
    f(at, bits << shift);
    let rest = bits >> 1 >> (63 - shift);
    if rest != 0 {
        f(at + 1, rest);
    }
}

impl<const WORDS: usize> From<&RegSet> for Units<WORDS> {
    /// Units that there is no room for are dropped: the processor does not have them.
    fn from(set: &RegSet) -> Self {
        let mut units = Units::EMPTY;
        units.0.copy_from_slice(&set.words()[..WORDS]);
        units
    }
}

impl<const WORDS: usize> From<&Units<WORDS>> for RegSet {
    fn from(units: &Units<WORDS>) -> RegSet {
        RegSet::from_words(&units.0)
    }
}

/// As [`Live`]: units of lanes that are on, and of lanes that are off. Scalar units are on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sides<const WORDS: usize> {
    pub active: Units<WORDS>,
    pub inactive: Units<WORDS>,
}

impl<const WORDS: usize> Sides<WORDS> {
    pub const NONE: Self = Self::both(Units::EMPTY);

    pub const fn both(units: Units<WORDS>) -> Self {
        Sides { active: units, inactive: units }
    }
    #[inline(always)]
    pub fn insert(&mut self, range: RegRange) {
        self.active.insert(range);
        self.inactive.insert(range);
    }
    #[inline(always)]
    pub fn remove(&mut self, range: RegRange) {
        self.active.remove(range);
        self.inactive.remove(range);
    }
    pub fn union_with(&mut self, other: &Self) {
        self.active.union_with(&other.active);
        self.inactive.union_with(&other.inactive);
    }
    pub fn subtract(&mut self, other: &Self) {
        self.active.subtract(&other.active);
        self.inactive.subtract(&other.inactive);
    }
    pub fn contains_all(&self, other: &Self) -> bool {
        self.active.contains_all(&other.active) && self.inactive.contains_all(&other.inactive)
    }
}

impl<const WORDS: usize> From<&Live> for Sides<WORDS> {
    fn from(live: &Live) -> Self {
        Sides { active: Units::from(&live.active), inactive: Units::from(&live.inactive) }
    }
}

impl<const WORDS: usize> From<&Sides<WORDS>> for Live {
    fn from(sides: &Sides<WORDS>) -> Live {
        Live { active: RegSet::from(&sides.active), inactive: RegSet::from(&sides.inactive) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_their_units() {
        for first in (0..Reg::COUNT).filter_map(Reg::from_index) {
            for count in [1, 2, 3, 4, 8, 16, 31, 32, 64] {
                let range = RegRange::new(first, count);
                let last = range.first.index() + usize::from(count) - 1;
                // v256 does not follow v255.
                if last >= Reg::COUNT || range.units().last() != Reg::from_index(last) {
                    continue;
                }
                let expected: RegSet = range.units().collect();
                let mut units = Units::<WIDE>::EMPTY;
                units.insert(range);
                assert_eq!(RegSet::from(&units), expected, "{first} {count}");
                units.remove(range);
                assert_eq!(units, Units::EMPTY);
            }
        }
    }
}
