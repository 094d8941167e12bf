//! Free registers at a point, and taking tuples of them.

use luthier_isa::{Reg, RegRange, RegSet};

use crate::machine::registers::Counts;
use crate::register_file::File;

/// One register file's free registers: bit n is register n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free([u64; 4]);

impl Free {
    /// Registers `0..limit` of the file that starts at unit `first`, those in `taken` left out.
    pub fn outside(taken: &RegSet, first: usize, limit: u16) -> Free {
        let words = taken.words();
        let mut free = [0; 4];
        for (i, word) in free.iter_mut().enumerate() {
            let at = first / 64 + i; // register files start at multiples of 64
            let limit = usize::from(limit).saturating_sub(i * 64).min(64);
            let mask = if limit == 64 { u64::MAX } else { (1 << limit) - 1 };
            *word = !words.get(at).copied().unwrap_or(u64::MAX) & mask;
        }
        Free(free)
    }
    pub fn contains(&self, n: u16) -> bool {
        self.0.get(usize::from(n / 64)).is_some_and(|w| w >> (n % 64) & 1 != 0)
    }
    pub fn remove(&mut self, n: u16) {
        if let Some(w) = self.0.get_mut(usize::from(n / 64)) {
            *w &= !(1 << (n % 64));
        }
    }
    pub fn add(&mut self, n: u16) {
        if let Some(w) = self.0.get_mut(usize::from(n / 64)) {
            *w |= 1 << (n % 64);
        }
    }
    pub fn intersect(&self, other: &Free) -> Free {
        Free(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }
    /// The lowest `count` neighbours whose first number is `remainder` modulo `align` (1, 2 or 4).
    pub fn find(&self, count: u8, align: u8, remainder: u16) -> Option<u16> {
        self.find_below(count, align, remainder, 256)
    }
    /// The same, all of them below `limit`.
    pub fn find_below(&self, count: u8, align: u8, remainder: u16, limit: u16) -> Option<u16> {
        let pattern: u64 = match align {
            1 => u64::MAX,
            2 => 0x5555_5555_5555_5555,
            _ => 0x1111_1111_1111_1111,
        } << (remainder % u16::from(align.max(1)));
        for word in 0..4u16 {
            let mut starts = self.0[usize::from(word)] & pattern;
            while starts != 0 {
                let n = word * 64 + starts.trailing_zeros() as u16;
                if n + u16::from(count) > limit {
                    return None;
                }
                if (1..u16::from(count)).all(|i| self.contains(n + i)) {
                    return Some(n);
                }
                starts &= starts - 1;
            }
        }
        None
    }
}

/// Neighbouring registers that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    pub file: File,
    pub count: u8,
    /// The first's number modulo `align` is `remainder`.
    pub align: u8,
    pub remainder: u16,
    /// All lanes will be written.
    pub whole: bool,
    /// No number from this one on.
    pub limit: u16,
}

impl Want {
    /// This many, aligned to their count.
    pub fn of(file: File, count: u8) -> Want {
        Want { file, count, align: count.next_power_of_two().min(4), remainder: 0, whole: false, limit: 256 }
    }
    /// One register, all of whose lanes will be written.
    pub fn whole(file: File) -> Want {
        Want { whole: true, ..Want::of(file, 1) }
    }
}

/// Free registers of all files.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    sgprs: Free,
    /// SGPRs to take first, if they are free.
    first: Free,
    vgprs: Free,
    /// Free in the lanes that EXEC turns off as well.
    whole_vgprs: Free,
    agprs: Free,
}

impl Pool {
    /// `taken` holds values that are needed; `taken_inactive` those needed in lanes that EXEC turns off.
    pub fn new(taken: &RegSet, taken_inactive: &RegSet, limits: Counts) -> Pool {
        let vgprs = Free::outside(taken, File::Vgpr.first_unit(), limits.vgprs);
        let inactive = Free::outside(taken_inactive, File::Vgpr.first_unit(), limits.vgprs);
        Pool {
            sgprs: Free::outside(taken, File::Sgpr.first_unit(), limits.sgprs),
            first: Free::default(),
            vgprs,
            whole_vgprs: vgprs.intersect(&inactive),
            agprs: Free::outside(taken, File::Agpr.first_unit(), limits.agprs).intersect(&Free::outside(
                taken_inactive,
                File::Agpr.first_unit(),
                limits.agprs,
            )),
        }
    }
    /// These SGPRs are taken before others.
    pub fn prefer(&mut self, sgprs: &RegSet, limits: Counts) {
        let mut others: RegSet = (0..limits.sgprs).map(Reg::sgpr).collect();
        others.subtract(sgprs);
        self.first = Free::outside(&others, File::Sgpr.first_unit(), limits.sgprs);
    }

    /// Takes the lowest tuple out of the pool.
    pub fn take(&mut self, want: Want) -> Option<RegRange> {
        let free = match want.file {
            File::Sgpr => &self.sgprs,
            File::Vgpr if want.whole => &self.whole_vgprs,
            File::Vgpr => &self.vgprs,
            File::Agpr => &self.agprs,
        };
        let find = |free: &Free| free.find_below(want.count, want.align, want.remainder, want.limit);
        let preferred = if want.file == File::Sgpr { find(&free.intersect(&self.first)) } else { None };
        let first = preferred.or_else(|| find(free))?;
        let range = RegRange::new(want.file.reg(first), want.count);
        self.remove(range);
        Some(range)
    }
    pub fn remove(&mut self, range: RegRange) {
        for reg in range.units() {
            match File::of(reg) {
                Some(File::Sgpr) => self.sgprs.remove(reg.number()),
                Some(File::Vgpr) => {
                    self.vgprs.remove(reg.number());
                    self.whole_vgprs.remove(reg.number());
                }
                Some(File::Agpr) => self.agprs.remove(reg.number()),
                None => {}
            }
        }
    }
    /// Makes a register free, a VGPR in its active lanes only.
    pub fn add(&mut self, reg: Reg) {
        match File::of(reg) {
            Some(File::Sgpr) => self.sgprs.add(reg.number()),
            Some(File::Vgpr) => self.vgprs.add(reg.number()),
            _ => {}
        }
    }
    /// Makes a VGPR free in all lanes.
    pub fn add_whole(&mut self, reg: Reg) {
        if File::of(reg) == Some(File::Vgpr) {
            self.whole_vgprs.add(reg.number());
        }
    }
    /// Free in all lanes.
    pub fn is_whole(&self, reg: Reg) -> bool {
        match File::of(reg) {
            Some(File::Vgpr) => self.whole_vgprs.contains(reg.number()),
            _ => self.is_free(reg),
        }
    }
    /// Free AGPRs.
    pub fn agprs(&self) -> u32 {
        self.agprs.count()
    }
    pub fn is_free(&self, reg: Reg) -> bool {
        match File::of(reg) {
            Some(File::Sgpr) => self.sgprs.contains(reg.number()),
            Some(File::Vgpr) => self.vgprs.contains(reg.number()),
            Some(File::Agpr) => self.agprs.contains(reg.number()),
            None => false,
        }
    }
    /// Free SGPRs, and VGPRs.
    pub fn left(&self) -> (u32, u32) {
        (self.sgprs.count(), self.vgprs.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_aligned_and_free() {
        let mut taken: RegSet = [0, 1, 2, 5, 64, 70].map(Reg::sgpr).into_iter().collect();
        taken.insert(Reg::vgpr(0));
        let limits = Counts { sgprs: 102, vgprs: 8, agprs: 0 };
        let mut pool = Pool::new(&taken, &RegSet::EMPTY, limits);
        let want = |file, count, align, remainder, whole| Want { file, count, align, remainder, whole, limit: 256 };
        let mut take = |count, align, remainder| {
            pool.take(want(File::Sgpr, count, align, remainder, false)).map(|r| r.first.number())
        };
        assert_eq!(take(2, 2, 0), Some(6));
        assert_eq!(take(1, 1, 0), Some(3));
        assert_eq!(take(4, 4, 0), Some(8));
        assert_eq!(take(2, 4, 2), Some(14));
        assert_eq!(take(60, 1, 0), None);
        let mut pool = Pool::new(&taken, &RegSet::EMPTY, limits);
        assert_eq!(pool.take(want(File::Vgpr, 7, 1, 0, false)), Some(RegRange::new(Reg::vgpr(1), 7)));
        assert_eq!(pool.take(Want::of(File::Vgpr, 1)), None);
        assert_eq!(pool.take(Want::of(File::Agpr, 1)), None);
    }

    #[test]
    fn a_register_needed_in_inactive_lanes_is_not_written_whole() {
        let inactive: RegSet = [Reg::vgpr(0)].into_iter().collect();
        let limits = Counts { sgprs: 0, vgprs: 4, agprs: 0 };
        let mut pool = Pool::new(&RegSet::EMPTY, &inactive, limits);
        assert_eq!(pool.take(Want::whole(File::Vgpr)), Some(RegRange::new(Reg::vgpr(1), 1)));
        assert_eq!(pool.take(Want::of(File::Vgpr, 1)), Some(RegRange::new(Reg::vgpr(0), 1)));
    }
}
