//! Homes for everything at one place: what a decision comes to, and what is emitted.

use luthier_isa::Reg;
use smallvec::SmallVec;

use super::slots::Cell;
use crate::machine::registers::Counts;
use crate::machine::special::Special;
use crate::plan::Rejection;

/// A VGPR put away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loan {
    pub reg: Reg,
    pub home: Cell,
    /// All lanes of it, not only the active ones.
    pub whole: bool,
}

/// By the groups of a template; there are few.
pub type Groups<T> = SmallVec<[T; 8]>;

/// One hook's registers.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// Index into the demands.
    pub demand: usize,
    /// Where each of the template's groups goes.
    pub groups: Groups<Reg>,
    /// By feed: the value is where the template looks for it already.
    pub in_place: SmallVec<[bool; 8]>,
    /// The hook is called: the first of two SGPRs that hold where it returns to.
    pub link: Option<Reg>,
}

/// Homes for everything at one place.
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    pub vgprs: Vec<Loan>,
    /// Keeps EXEC while all lanes of VGPRs are put away or fetched.
    pub exec: Option<Reg>,
    /// Holds where our scratch begins, where an access needs that.
    pub address: Option<Reg>,
    /// The VGPR that cells are fetched into whose lanes hooks are given.
    pub fetched: Option<Reg>,
    /// The VGPRs whose lanes hold the SGPRs put away, in their order.
    pub lanes: Vec<Reg>,
    pub sgprs: Vec<Reg>,
    /// Special state that is kept, with the first SGPR of its home.
    pub specials: Vec<(Special, Reg)>,
    /// All loads in flight are waited for, whatever they are for.
    pub settles: bool,
    /// Rounding and denormal modes are set to what templates expect.
    pub default_modes: bool,
    pub hooks: SmallVec<[Assigned; 1]>,
    /// Hooks that found no registers, by index into the demands.
    pub rejected: Vec<(usize, Rejection)>,
    /// One more than the highest register taken.
    pub highest: Counts,
    /// Bytes of our own scratch of each lane that the place needs: what is carried, and behind that loans.
    pub scratch: u32,
}

impl Allocation {
    /// The first SGPR of the home of a piece of state.
    pub fn home(&self, special: Special) -> Option<Reg> {
        self.specials.iter().find(|(s, _)| *s == special).map(|(_, home)| *home)
    }

    /// Something is done with VGPRs around the hooks.
    pub fn takes_vgprs(&self) -> bool {
        !self.lanes.is_empty() || !self.vgprs.is_empty() || self.fetched.is_some()
    }

    /// The SGPRs put away, each with the VGPR and the lane that hold it.
    pub fn sgprs_in_lanes(&self, lanes: u8) -> impl Iterator<Item = (Reg, Reg, u8)> + '_ {
        let homes = self.lanes.iter().flat_map(move |vgpr| (0..lanes).map(move |lane| (*vgpr, lane)));
        self.sgprs.iter().zip(homes).map(|(reg, (vgpr, lane))| (*reg, vgpr, lane))
    }
}
