//! The counters of outstanding operations, what counts on them, and the instructions that wait for them.
//!
//! | generation | counters |
//! |---|---|
//! | GCN5, CDNA | vmcnt, lgkmcnt, expcnt |
//! | RDNA1 to RDNA3 | the same, and vscnt for what only writes |
//! | RDNA4 | loadcnt and storecnt for vmcnt and vscnt; samplecnt and bvhcnt out of vmcnt; dscnt and kmcnt for lgkmcnt |
//! | gfx1250 | loadcnt, storecnt, dscnt, kmcnt; xcnt for addresses to be translated, asynccnt and tensorcnt for engines |
//!
//! Sources: "Manually Inserted Wait States" of AMD's ISA manuals, and LLVM's SIInsertWaitcnts, whose waits the tests of
//! the lifter and of strict mode see in compiled code. The counters' widths are LLVM's (AMDGPUBaseInfo). An operation for
//! which a counter has no room is not issued before an older one is done (ROCm/rocm-systems 10926 and 11202 say so of
//! CDNA); placement and strict mode both rely on it.

mod counted;
mod encoding;

pub use counted::{Counted, Kind, concerns, counted};

use crate::Generation;

/// A counter. RDNA4's loadcnt and storecnt are [`Counter::Vm`] and [`Counter::Vs`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(usize)]
pub enum Counter {
    Vm,
    Lgkm,
    Exp,
    Vs,
    Sample,
    Bvh,
    Ds,
    Km,
    X,
    Async,
    Tensor,
}

impl Counter {
    pub const COUNT: usize = 11;

    pub const ALL: [Counter; Counter::COUNT] = {
        use Counter::*;
        [Vm, Lgkm, Exp, Vs, Sample, Bvh, Ds, Km, X, Async, Tensor]
    };

    /// Its name on a generation; `None` if that does not have it.
    pub const fn name(self, generation: Generation) -> Option<&'static str> {
        use Generation::{Gfx12, Gfx1250};
        let (gfx9, split) = (generation.is_gfx9_family(), matches!(generation, Gfx12 | Gfx1250));
        let images = matches!(generation, Gfx12);
        let engines = matches!(generation, Gfx1250);
        Some(match self {
            Counter::Vm if split => "loadcnt",
            Counter::Vm => "vmcnt",
            Counter::Exp if !engines => "expcnt",
            Counter::Lgkm if !split => "lgkmcnt",
            Counter::Vs if split => "storecnt",
            Counter::Vs if !gfx9 => "vscnt",
            Counter::Sample if images => "samplecnt",
            Counter::Bvh if images => "bvhcnt",
            Counter::Ds if split => "dscnt",
            Counter::Km if split => "kmcnt",
            Counter::X if engines => "xcnt",
            Counter::Async if engines => "asynccnt",
            Counter::Tensor if engines => "tensorcnt",
            _ => return None,
        })
    }

    /// The most that it can stand at on a generation; one more operation has to wait until another one is done. Zero if
    /// the generation does not have it.
    pub const fn most(self, generation: Generation) -> u8 {
        use Generation::{Gfx10, Gfx11};
        if self.name(generation).is_none() {
            return 0;
        }
        match self {
            Counter::Exp | Counter::Bvh => 7,
            Counter::Lgkm if matches!(generation, Gfx10 | Gfx11) => 63,
            Counter::Lgkm => 15,
            Counter::Km => 31,
            _ => 63,
        }
    }
}

/// For each counter, the value that it may have at most; `None` where that counter need not be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    pub vmcnt: Option<u8>,
    pub lgkmcnt: Option<u8>,
    pub expcnt: Option<u8>,
    /// Stores, from RDNA1 on.
    pub vscnt: Option<u8>,
    // RDNA4's own.
    pub samplecnt: Option<u8>,
    pub bvhcnt: Option<u8>,
    pub dscnt: Option<u8>,
    pub kmcnt: Option<u8>,
    // gfx1250's own.
    pub xcnt: Option<u8>,
    pub asynccnt: Option<u8>,
    pub tensorcnt: Option<u8>,
}

impl Wait {
    pub const NONE: Wait = Wait {
        vmcnt: None,
        lgkmcnt: None,
        expcnt: None,
        vscnt: None,
        samplecnt: None,
        bvhcnt: None,
        dscnt: None,
        kmcnt: None,
        xcnt: None,
        asynccnt: None,
        tensorcnt: None,
    };

    /// Waits for nothing.
    pub fn is_none(&self) -> bool {
        *self == Wait::NONE
    }

    /// For all operations of every counter that the generation has.
    pub fn all(generation: Generation) -> Wait {
        let there = Counter::ALL.into_iter().filter(|counter| counter.name(generation).is_some());
        there.fold(Wait::NONE, |wait, counter| wait.and(counter, 0))
    }

    pub fn get(&self, counter: Counter) -> Option<u8> {
        let mut copy = *self;
        *copy.of(counter)
    }

    /// The same, and for one more counter; the lower value of two counts.
    #[must_use]
    pub fn and(mut self, counter: Counter, value: u8) -> Wait {
        let place = self.of(counter);
        *place = Some(place.map_or(value, |old| old.min(value)));
        self
    }

    /// All that either of them waits for.
    #[must_use]
    pub fn union(self, other: Wait) -> Wait {
        other.bounds().fold(self, |wait, (counter, value)| wait.and(counter, value))
    }

    /// The counters that are waited for, and their values.
    pub fn bounds(self) -> impl Iterator<Item = (Counter, u8)> {
        Counter::ALL.into_iter().filter_map(move |counter| Some((counter, self.get(counter)?)))
    }

    pub fn of(&mut self, counter: Counter) -> &mut Option<u8> {
        match counter {
            Counter::Vm => &mut self.vmcnt,
            Counter::Lgkm => &mut self.lgkmcnt,
            Counter::Exp => &mut self.expcnt,
            Counter::Vs => &mut self.vscnt,
            Counter::Sample => &mut self.samplecnt,
            Counter::Bvh => &mut self.bvhcnt,
            Counter::Ds => &mut self.dscnt,
            Counter::Km => &mut self.kmcnt,
            Counter::X => &mut self.xcnt,
            Counter::Async => &mut self.asynccnt,
            Counter::Tensor => &mut self.tensorcnt,
        }
    }
}
