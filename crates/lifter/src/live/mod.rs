//! Which register units hold a value that may still be read.
//!
//! A vector register is 64 lanes, and a vector instruction touches those that EXEC turns on. So two questions are
//! kept apart, for the lanes that are on at a point and for those that are off:
//!
//! - *active*: some lane that is on here may have its value read later. A register that is not active-live may be
//!   overwritten by an instruction that obeys EXEC.
//! - *inactive*: some lane that is off here may have its value read later. A register that is neither active-live nor
//!   inactive-live may be overwritten in all lanes.
//!
//! A write under EXEC covers all lanes that are on, so it ends the active life of the old value, and ends the inactive
//! life only where EXEC is known to be full. Where EXEC changes, lanes change sides: if it can only grow
//! (`s_or_b64 exec, exec, x`), a lane that is on stays on, and one that is off may have come from either side; if it
//! can only shrink, the other way round; otherwise both sides become the union.
//!
//! Scalar units have no lanes: for them both sets are the same.

mod analysis;
mod effects;
mod summary;
mod transfer;
mod units;

pub use analysis::{Liveness, Point, Points};
pub(crate) use summary::{Models, Summaries};
pub(crate) use units::{NARROW, WIDE, is_narrow};

use luthier_isa::{Reg, RegSet, Target};

/// The live units at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Live {
    pub active: RegSet,
    pub inactive: RegSet,
}

impl Live {
    pub const NONE: Live = Live { active: RegSet::EMPTY, inactive: RegSet::EMPTY };

    /// Live in any lane.
    pub fn any(&self) -> RegSet {
        let mut any = self.active;
        any.union_with(&self.inactive);
        any
    }
    pub(crate) fn union_with(&mut self, other: &Live) {
        self.active.union_with(&other.active);
        self.inactive.union_with(&other.inactive);
    }
    pub(crate) fn both(set: RegSet) -> Live {
        Live { active: set, inactive: set }
    }
}

/// Every register unit that a program can name: SGPRs, VCC, M0, EXEC, SCC, VGPRs, AGPRs, MODE and the like. What the
/// processor has not, nothing names.
pub(crate) fn all_units(target: Target) -> &'static RegSet {
    static ALL: [std::sync::OnceLock<RegSet>; 2] = [const { std::sync::OnceLock::new() }; 2];
    ALL[usize::from(target.vgprs() > 256)].get_or_init(|| {
        let upper = (256..target.vgprs()).map(Reg::vgpr);
        let scalars = (0..128).chain([Reg::SCC.index()]);
        let state = Reg::MODE.index()..=Reg::TRAPSTS.index();
        let vectors = Reg::vgpr(0).index()..=Reg::agpr(255).index();
        scalars
            .chain(state)
            .chain(vectors)
            .filter_map(Reg::from_index)
            .filter(|r| *r != Reg::M0.offset(1))
            .chain(upper)
            .collect()
    })
}
