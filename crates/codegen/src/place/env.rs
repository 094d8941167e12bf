//! What all points of a call-graph component have in common.

use std::collections::HashMap;

use luthier_isa::{Reg, RegSet};
use luthier_lifter::Program;

use super::chunk::Place;
use super::ops::Ops;
use super::pool::Limits;
use super::prepared::Prepared;
use crate::Plan;

pub struct Env<'a> {
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub ops: Ops,
    /// The plan's templates, each once.
    pub templates: &'a [Prepared],
    /// For each insertion, its template.
    pub template_of: &'a [u32],
    /// Symbols that templates may refer to.
    pub symbols: &'a HashMap<String, Place>,
    /// The SGPR pair of each of the plan's counters; `None` for those that this component does not use.
    pub counters: Vec<Option<Reg>>,
    /// Where no pair is left: the VGPR and the first of the two lanes that hold a counter.
    pub counter_lanes: Vec<Option<(Reg, u8)>>,
    /// Why counters have no registers here.
    pub no_counter: Option<String>,
    /// Registers that hold values between points: the counters.
    pub reserved: RegSet,
    /// Registers that no instruction of the component touches. They are free everywhere, whatever liveness says of
    /// callers and callees that it does not know.
    pub never_used: RegSet,
    pub limits: Limits,
    /// All kernels start with rounding to nearest and all denormals kept, and nothing changes that.
    pub default_fp_mode: bool,
    /// Memory instructions in a row may be replayed after a page fault (XNACK).
    pub replays: bool,
}

impl Env<'_> {
    pub fn has_counter(&self, c: usize) -> bool {
        let pair = self.counters.get(c).copied().flatten();
        pair.is_some() || self.counter_lanes.get(c).copied().flatten().is_some()
    }
    pub fn prepared(&self, insertion: u32) -> &Prepared {
        &self.templates[self.template_of[insertion as usize] as usize]
    }
}
