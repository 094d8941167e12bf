//! The barriers of a workgroup: which there are, who has come to each, and who may go on.
//!
//! Up to RDNA3 there is one, and `s_barrier` is all that there is to it: who comes waits until all have come, which
//! [`crate::workgroup`] sees to. RDNA4 tells arriving (*signal*) from waiting and numbers its barriers; gfx1250 has
//! named ones (a kernel's descriptor says how many it uses: `NAMED_BAR_CNT`, in fours), and those of a cluster
//! of workgroups:
//!
//! | number | barrier | its members |
//! |---:|---|---|
//! | -4, -2 | the trap handler's | |
//! | -3 | the cluster's | workgroups that are under way |
//! | -1 | the workgroup's own | waves that are under way |
//! | 0 | none: signals and waits do nothing | |
//! | 1 to 16 | named ones | as many as `s_barrier_init` says, or a signal by M0 |
//!
//! A barrier counts signals. When there are as many as members, it is *complete*: the count begins anew, and each wave
//! may pass one wait for it. A wave has one named barrier at a time, the one that it joined last; waits for named
//! barriers, whatever their number, are for that one, and only rounds count that were completed since it was joined. A
//! workgroup of one wave has no barriers: signals do nothing, waits are passed.
//!
//! Sources: LLVM's "AMDGPU Execution Synchronization"; the RDNA4 manual's pseudocode of signal, wait and state (whose
//! fields Linux's trap handler reads as well). That `s_barrier_leave` tells in SCC whether no wave is left, and what
//! becomes of barriers that a kernel does not have or may not touch, only AMD's emulator (rocjitsu) says: the former is
//! done here, the latter refused.

mod arrive;
mod count;
mod wait;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

pub use count::{Cluster, Waits};
use count::{Count, View};

use crate::gws;

/// The workgroup's own.
pub const WORKGROUP: i32 = -1;
/// The cluster's.
pub const CLUSTER: i32 = -3;

/// As strict mode calls the barrier of a cluster.
pub const CLUSTER_KEY: u32 = 17;
/// The key of no barrier.
const NO_KEY: u32 = 18;

/// What becomes of the barrier when a wave signals, leaves or ends: which one it is, and whether it is complete by that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// As strict mode numbers barriers; see [`Barriers::key`].
    pub key: u32,
    pub first: bool,
    pub completes: bool,
}

/// The barriers of one workgroup.
#[derive(Debug, Default)]
pub struct Barriers {
    own: Count,
    named: Vec<Count>,
    waves: Vec<View>,
    /// The cluster, and which of its workgroups this is.
    cluster: Option<(Rc<Cluster>, u32)>,
    /// Global wave sync, as its launch sees it.
    global: Option<Arc<gws::View>>,
    /// A wave that would pass the workgroup's at once stops there, too, until the others have had their turns.
    pauses: Cell<bool>,
}

impl Barriers {
    /// Those of a workgroup of `waves` waves; `named` is how many named ones the kernel uses.
    pub fn new(waves: u32, named: u32, cluster: Option<(Rc<Cluster>, u32)>) -> Barriers {
        Barriers {
            own: Count::new(waves),
            named: (0..named).map(|_| Count::default()).collect(),
            waves: (0..waves).map(|_| View::default()).collect(),
            cluster,
            global: None,
            pauses: Cell::new(false),
        }
    }

    /// The same in a launch with global wave sync.
    pub fn with_global(self, global: Arc<gws::View>) -> Barriers {
        Barriers { global: Some(global), ..self }
    }

    /// Makes them those of a workgroup that begins, with as many waves in the same surroundings.
    pub fn begin_again(&self) {
        self.own.begin_again(self.waves.len() as u32);
        self.named.iter().for_each(|barrier| barrier.begin_again(0));
        self.waves.iter().for_each(View::begin_again);
        self.pauses.set(false);
    }

    /// Whether the workgroup is one of several in a cluster.
    pub fn has_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The state of another workgroup's, or of this one's at another time, with this one's surroundings.
    pub fn as_of(&self, other: &Barriers) -> Barriers {
        Barriers {
            own: other.own.clone(),
            named: other.named.clone(),
            waves: other.waves.clone(),
            cluster: self.cluster.clone(),
            global: self.global.clone(),
            pauses: self.pauses.clone(),
        }
    }

    /// Has waves that would pass the workgroup's barrier at once stop there, too: so they go on together.
    pub fn pause(&self) {
        self.pauses.set(true);
    }

    pub fn global(&self) -> Option<&gws::View> {
        self.global.as_deref()
    }

    /// Whether there is one wave only, and so no barrier.
    pub fn is_single(&self) -> bool {
        self.waves.len() <= 1
    }

    /// A named barrier, from 1 on.
    fn named(&self, number: i32) -> Result<&Count, String> {
        let at = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        at.and_then(|at| self.named.get(at)).ok_or_else(|| match self.named.len() {
            _ if number < 0 => format!("barrier {number} is the trap handler's, or none that there is"),
            0 => format!("named barrier {number}: the workgroup has none, as its kernel's descriptor says"),
            most => format!("named barrier {number}: the kernel's descriptor says that it uses {most}"),
        })
    }

    /// 0 is the workgroup's barrier, 1 to 16 are the named ones, 17 is the cluster's.
    fn key(number: i32) -> u32 {
        match number {
            WORKGROUP => 0,
            CLUSTER => CLUSTER_KEY,
            named => named as u32,
        }
    }

    /// Whether a wave signals the workgroup's barrier again, not having waited for the round that it signalled last.
    pub fn signals_again(&self, wave: u32) -> bool {
        let view = &self.waves[wave as usize];
        view.signalled.get() != view.own.get()
    }

    /// Whether a wave has signalled the workgroup's barrier for a round that is not complete.
    pub fn is_committed(&self, wave: u32) -> bool {
        self.waves[wave as usize].signalled.get() > self.own.rounds.get()
    }

    /// A wave that has ended before it signalled the last complete round of the workgroup's barrier, and where it has.
    pub fn absent(&self) -> Option<(u32, u64)> {
        let rounds = self.own.rounds.get();
        let mut waves = (0..).zip(&self.waves);
        waves.find_map(|(wave, view)| view.ended.get().filter(|_| view.signalled.get() < rounds).map(|pc| (wave, pc)))
    }

    /// The last round of the workgroup's barrier that a wave has waited for.
    pub fn round(&self, wave: u32) -> u32 {
        self.waves[wave as usize].own.get()
    }

    /// Which of the cluster's workgroups this is, and how many there are.
    pub fn rank(&self) -> (u32, u32) {
        self.cluster.as_ref().map_or((0, 1), |(cluster, rank)| (*rank, cluster.signalled.len() as u32))
    }
}

#[cfg(test)]
mod tests;
