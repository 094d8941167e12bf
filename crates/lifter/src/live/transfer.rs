//! What blocks do to liveness, from their ends to their starts.

use luthier_isa::{RegRange, RegSet};

use super::units::{Sides, Units};
use crate::class::ExecEffect;

/// Receives the effects of instructions, last one first; within an instruction its writes, then its effect on EXEC,
/// then its reads.
pub(crate) trait Sink {
    /// All lanes that are on get a new value.
    fn kill_active(&mut self, range: RegRange);
    /// All lanes, or all of scalar units, get a new value.
    fn kill(&mut self, range: RegRange);
    fn read_active(&mut self, range: RegRange);
    /// Lanes that are off may be read as well, or the units are scalar.
    fn read(&mut self, range: RegRange);
    fn read_set(&mut self, set: &RegSet);
    /// EXEC changes, in a way that is not [`ExecEffect::None`].
    fn exec(&mut self, effect: ExecEffect);
}

impl<const WORDS: usize> Sink for Sides<WORDS> {
    fn kill_active(&mut self, range: RegRange) {
        self.active.remove(range);
    }
    fn kill(&mut self, range: RegRange) {
        self.remove(range);
    }
    fn read_active(&mut self, range: RegRange) {
        self.active.insert(range);
    }
    fn read(&mut self, range: RegRange) {
        self.insert(range);
    }
    fn read_set(&mut self, set: &RegSet) {
        self.union_with(&Sides::both(Units::from(set)));
    }
    fn exec(&mut self, effect: ExecEffect) {
        match effect {
            ExecEffect::None => {}
            // Behind, there are no inactive lanes.
            ExecEffect::Full => self.inactive = self.active,
            ExecEffect::Grow => self.inactive.union_with(&self.active),
            ExecEffect::Shrink => self.active.union_with(&self.inactive),
            ExecEffect::Unknown => {
                self.active.union_with(&self.inactive);
                self.inactive = self.active;
            }
        }
    }
}

/// What instructions between two changes of EXEC do: lanes stay on their side.
struct Stretch<const WORDS: usize> {
    /// How EXEC changes in front of it.
    exec: ExecEffect,
    /// Read before it is written.
    reads: Sides<WORDS>,
    /// Gets a new value.
    written: Sides<WORDS>,
}

/// What each block of a function does.
pub(crate) struct Transfers<const WORDS: usize> {
    /// From the function's end to its start.
    stretches: Vec<Stretch<WORDS>>,
    /// Where each block's begin, and the number of all: the last block's first.
    starts: Vec<u32>,
}

impl<const WORDS: usize> Transfers<WORDS> {
    pub fn with_capacity(blocks: usize) -> Self {
        let mut starts = Vec::with_capacity(blocks + 1);
        starts.push(0);
        Transfers { stretches: Vec::with_capacity(2 * blocks), starts }
    }

    /// Adds the block in front of those that there are, whose effects `feed` gives.
    pub fn add(&mut self, feed: impl FnOnce(&mut Block<'_, WORDS>)) {
        let mut block = Block { stretches: &mut self.stretches };
        block.stretches.push(Stretch::new());
        feed(&mut block);
        self.starts.push(self.stretches.len() as u32);
    }

    /// Turns liveness at the end of a block into that at its start. Without `with_reads`, what comes through.
    pub fn apply(&self, block: usize, live: &mut Sides<WORDS>, with_reads: bool) {
        let at = self.starts.len() - 2 - block;
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        for stretch in &self.stretches[range] {
            live.subtract(&stretch.written);
            if with_reads {
                live.union_with(&stretch.reads);
            }
            live.exec(stretch.exec);
        }
    }
}

impl<const WORDS: usize> Stretch<WORDS> {
    fn new() -> Self {
        Stretch { exec: ExecEffect::None, reads: Sides::NONE, written: Sides::NONE }
    }
}

/// A block whose effects are being collected.
pub(crate) struct Block<'a, const WORDS: usize> {
    /// Those of earlier blocks too; its own are never none.
    stretches: &'a mut Vec<Stretch<WORDS>>,
}

impl<const WORDS: usize> Block<'_, WORDS> {
    /// The stretch that the next effect belongs to.
    #[inline(always)]
    fn now(&mut self) -> &mut Stretch<WORDS> {
        let last = self.stretches.len() - 1;
        &mut self.stretches[last]
    }
}

impl<const WORDS: usize> Sink for Block<'_, WORDS> {
    #[inline(always)]
    fn kill_active(&mut self, range: RegRange) {
        let now = self.now();
        now.reads.active.remove(range);
        now.written.active.insert(range);
    }
    #[inline(always)]
    fn kill(&mut self, range: RegRange) {
        let now = self.now();
        now.reads.remove(range);
        now.written.insert(range);
    }
    #[inline(always)]
    fn read_active(&mut self, range: RegRange) {
        self.now().reads.read_active(range);
    }
    #[inline(always)]
    fn read(&mut self, range: RegRange) {
        self.now().reads.read(range);
    }
    fn read_set(&mut self, set: &RegSet) {
        self.now().reads.read_set(set);
    }
    fn exec(&mut self, effect: ExecEffect) {
        self.now().exec = effect;
        self.stretches.push(Stretch::new());
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::NARROW;
    use super::*;
    use luthier_isa::Reg;

    /// A small generator of effects, so that the composed function can be compared with step-by-step application.
    fn effect(sink: &mut impl Sink, n: u64) {
        let range = RegRange::new(Reg::vgpr((n >> 8) as u16 % 4), 1 + (n >> 16) as u8 % 2);
        match n % 8 {
            0 => sink.kill_active(range),
            1 => sink.kill(range),
            2 => sink.read_active(range),
            3 => sink.read(range),
            4 => sink.exec(ExecEffect::Grow),
            5 => sink.exec(ExecEffect::Shrink),
            6 => sink.exec(ExecEffect::Unknown),
            _ => sink.exec(ExecEffect::Full),
        }
    }

    #[test]
    fn composition_equals_steps() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut transfers = Transfers::<NARROW>::with_capacity(0);
        for _ in 0..5000 {
            let effects: Vec<u64> = (0..next() % 12).map(|_| next()).collect();
            transfers.add(|block| effects.iter().for_each(|&n| effect(block, n)));
            let mut live = Sides::NONE;
            for v in 0..5 {
                let (bits, range) = (next(), RegRange::new(Reg::vgpr(v), 1));
                if bits & 1 != 0 {
                    live.active.insert(range);
                }
                if bits & 2 != 0 {
                    live.inactive.insert(range);
                }
            }
            let (mut composed, mut stepped) = (live, live);
            transfers.apply(0, &mut composed, true);
            effects.iter().for_each(|&n| effect(&mut stepped, n));
            assert_eq!(composed, stepped, "{effects:x?} on {live:?}");
            // Without reads, each bit that is there at the start has come from one at the end.
            transfers.apply(0, &mut live, false);
            assert!(stepped.contains_all(&live), "{effects:x?} on {live:?}");
        }
    }
}
