//! Loads that were given an older value than there was: which, and what they have missed.

use std::collections::HashSet;

use super::history::By;

/// Why a load has missed a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// A cache of vector loads still held what was there before.
    Cache,
    /// The scalar cache did.
    ScalarCache,
    /// It was done before a load that its wave issued earlier, and had not waited for.
    Passed,
    /// The load was done late: behind a store of its own wave that follows it. (That one is the store that is told.)
    Late,
    /// The store had not arrived: its wave had not waited for it, or not written it back.
    UnderWay,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Why::Cache => "cache",
            Why::ScalarCache => "scalar-cache",
            Why::Passed => "passed",
            Why::Late => "late",
            Why::UnderWay => "under-way",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Stale {
    pub load: By,
    pub store: By,
    pub address: u64,
    pub why: Why,
}

/// Of a launch, each pair of instructions once.
#[derive(Default)]
pub struct Told {
    known: HashSet<(u64, u64, Why)>,
    pub all: Vec<Stale>,
}

/// Pairs that are told.
const MOST: usize = 100;

impl Told {
    pub fn note(&mut self, load: By, store: By, address: u64, why: Why) {
        if self.all.len() < MOST && self.known.insert((load.pc, store.pc, why)) {
            self.all.push(Stale { load, store, address, why });
        }
    }
}
