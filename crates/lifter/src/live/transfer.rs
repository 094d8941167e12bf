//! What a block does to liveness, as one function from its end to its start.

use luthier_isa::{Reg, RegSet, Target};

use super::{Live, all_units};

/// Receives the effects of instructions, last one first; within an instruction its writes, then its effect on EXEC,
/// then its reads.
pub(crate) trait Sink {
    /// All lanes that are on get a new value.
    fn kill_active(&mut self, reg: Reg);
    /// All lanes, or all of a scalar unit, get a new value.
    fn kill(&mut self, reg: Reg);
    fn read_active(&mut self, reg: Reg);
    /// Lanes that are off may be read as well, or the unit is scalar.
    fn read(&mut self, reg: Reg);
    fn read_set(&mut self, set: &RegSet);
    fn exec_grows(&mut self);
    fn exec_shrinks(&mut self);
    /// EXEC changes to what nobody knows.
    fn exec_changes(&mut self) {
        self.exec_grows();
        self.exec_shrinks();
    }
    /// EXEC is full from here on: there are no inactive lanes behind this point.
    fn exec_full(&mut self);
}

impl Sink for Live {
    fn kill_active(&mut self, reg: Reg) {
        self.active.remove(reg);
    }
    fn kill(&mut self, reg: Reg) {
        self.active.remove(reg);
        self.inactive.remove(reg);
    }
    fn read_active(&mut self, reg: Reg) {
        self.active.insert(reg);
    }
    fn read(&mut self, reg: Reg) {
        self.active.insert(reg);
        self.inactive.insert(reg);
    }
    fn read_set(&mut self, set: &RegSet) {
        self.active.union_with(set);
        self.inactive.union_with(set);
    }
    fn exec_grows(&mut self) {
        self.inactive.union_with(&self.active);
    }
    fn exec_shrinks(&mut self) {
        self.active.union_with(&self.inactive);
    }
    fn exec_changes(&mut self) {
        *self = Live::both(self.any());
    }
    fn exec_full(&mut self) {
        self.inactive = self.active;
    }
}

/// What a block does.
#[expect(clippy::large_enum_variant, reason = "the large one is the common one")]
pub(crate) enum Transfer {
    /// EXEC does not change: lanes stay on their side.
    Sides(Sides),
    Crossing(Box<Crossing>),
}

impl Transfer {
    /// Liveness at the start, given that at the end. Without `with_reads`, what comes through.
    pub fn apply(&self, end: &Live, with_reads: bool) -> Live {
        match self {
            Transfer::Sides(sides) => sides.apply(end, with_reads),
            Transfer::Crossing(crossing) => crossing.apply(end, with_reads),
        }
    }
}

/// What is read before it is written, and what gets a new value, on each side.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    reads: Live,
    written: Live,
}

impl Sides {
    fn apply(&self, end: &Live, with_reads: bool) -> Live {
        let mut start = *end;
        start.active.subtract(&self.written.active);
        start.inactive.subtract(&self.written.inactive);
        if with_reads {
            start.active.union_with(&self.reads.active);
            start.inactive.union_with(&self.reads.inactive);
        }
        start
    }
}

impl Sink for Sides {
    fn kill_active(&mut self, reg: Reg) {
        self.reads.active.remove(reg);
        self.written.active.insert(reg);
    }
    fn kill(&mut self, reg: Reg) {
        self.reads.kill(reg);
        self.written.read(reg);
    }
    fn read_active(&mut self, reg: Reg) {
        self.reads.active.insert(reg);
    }
    fn read(&mut self, reg: Reg) {
        self.reads.read(reg);
    }
    fn read_set(&mut self, set: &RegSet) {
        self.reads.read_set(set);
    }
    // Not called: a block whose EXEC changes is a `Crossing`. What is read here may be read on either side then.
    fn exec_grows(&mut self) {
        self.reads.exec_changes();
    }
    fn exec_shrinks(&mut self) {
        self.reads.exec_changes();
    }
    fn exec_full(&mut self) {
        self.reads.exec_changes();
    }
}

/// A function of (active, inactive) at a block's end, bit by bit:
/// `active' = reads.active | (active - from_active.active) | (inactive - from_inactive.active)`, and the same for
/// `inactive'`. The `from` sets hold the bits that do *not* come through.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub reads: Live,
    pub not_from_active: Live,
    pub not_from_inactive: Live,
}

impl Crossing {
    pub fn identity(target: Target) -> Crossing {
        let all = *all_units(target);
        Crossing {
            reads: Live::NONE,
            not_from_active: Live { active: RegSet::EMPTY, inactive: all },
            not_from_inactive: Live { active: all, inactive: RegSet::EMPTY },
        }
    }
    fn apply(&self, end: &Live, with_reads: bool) -> Live {
        let mut start = if with_reads { self.reads } else { Live::NONE };
        let pass = |to: &mut RegSet, from: RegSet, stopped: &RegSet| {
            let mut rest = from;
            rest.subtract(stopped);
            to.union_with(&rest);
        };
        pass(&mut start.active, end.active, &self.not_from_active.active);
        pass(&mut start.active, end.inactive, &self.not_from_inactive.active);
        pass(&mut start.inactive, end.active, &self.not_from_active.inactive);
        pass(&mut start.inactive, end.inactive, &self.not_from_inactive.inactive);
        start
    }
}

fn intersect(a: &RegSet, b: &RegSet) -> RegSet {
    let (mut kept, mut only_a) = (*a, *a);
    only_a.subtract(b);
    kept.subtract(&only_a);
    kept
}

impl Sink for Crossing {
    fn kill_active(&mut self, reg: Reg) {
        self.reads.active.remove(reg);
        self.not_from_active.active.insert(reg);
        self.not_from_inactive.active.insert(reg);
    }
    fn kill(&mut self, reg: Reg) {
        self.kill_active(reg);
        self.reads.inactive.remove(reg);
        self.not_from_active.inactive.insert(reg);
        self.not_from_inactive.inactive.insert(reg);
    }
    fn read_active(&mut self, reg: Reg) {
        self.reads.active.insert(reg);
    }
    fn read(&mut self, reg: Reg) {
        self.reads.active.insert(reg);
        self.reads.inactive.insert(reg);
    }
    fn read_set(&mut self, set: &RegSet) {
        self.reads.active.union_with(set);
        self.reads.inactive.union_with(set);
    }
    fn exec_grows(&mut self) {
        self.reads.inactive.union_with(&self.reads.active);
        for side in [&mut self.not_from_active, &mut self.not_from_inactive] {
            side.inactive = intersect(&side.inactive, &side.active);
        }
    }
    fn exec_shrinks(&mut self) {
        self.reads.active.union_with(&self.reads.inactive);
        for side in [&mut self.not_from_active, &mut self.not_from_inactive] {
            side.active = intersect(&side.inactive, &side.active);
        }
    }
    fn exec_full(&mut self) {
        self.reads.inactive = self.reads.active;
        self.not_from_active.inactive = self.not_from_active.active;
        self.not_from_inactive.inactive = self.not_from_inactive.active;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of effects, so that the composed function can be compared with step-by-step application.
    fn effect(sink: &mut impl Sink, n: u64) {
        let reg = Reg::vgpr((n >> 8) as u16 % 4);
        match n % 8 {
            0 => sink.kill_active(reg),
            1 => sink.kill(reg),
            2 => sink.read_active(reg),
            3 => sink.read(reg),
            4 => sink.exec_grows(),
            5 => sink.exec_shrinks(),
            6 => sink.exec_changes(),
            _ => sink.exec_full(),
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
        for _ in 0..5000 {
            let effects: Vec<u64> = (0..next() % 12).map(|_| next()).collect();
            let mut transfer = Crossing::identity(Target::Gfx90a);
            effects.iter().for_each(|&n| effect(&mut transfer, n));
            let mut live = Live::NONE;
            for v in 0..4 {
                let bits = next();
                if bits & 1 != 0 {
                    live.active.insert(Reg::vgpr(v));
                }
                if bits & 2 != 0 {
                    live.inactive.insert(Reg::vgpr(v));
                }
            }
            let composed = transfer.apply(&live, true);
            let mut stepped = live;
            effects.iter().for_each(|&n| effect(&mut stepped, n));
            assert_eq!(composed, stepped, "{effects:x?} on {live:?}");
            if effects.iter().all(|n| n % 8 < 4) {
                let mut sides = Sides::default();
                effects.iter().for_each(|&n| effect(&mut sides, n));
                assert_eq!(sides.apply(&live, true), stepped, "{effects:x?} on {live:?}");
            }
        }
    }
}
