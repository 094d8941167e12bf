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

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::gws::{self, Ticket};

/// The workgroup's own.
pub const WORKGROUP: i32 = -1;
/// The cluster's.
pub const CLUSTER: i32 = -3;

/// As strict mode calls the barrier of a cluster.
pub const CLUSTER_KEY: u32 = 17;
/// The key of no barrier.
const NO_KEY: u32 = 18;

/// One barrier.
#[derive(Clone, Debug, Default)]
struct Count {
    members: Cell<u32>,
    signals: Cell<u32>,
    /// How often it was complete.
    rounds: Cell<u32>,
}

impl Count {
    fn new(members: u32) -> Count {
        Count { members: Cell::new(members), ..Count::default() }
    }
    fn begin_again(&self, members: u32) {
        self.members.set(members);
        self.signals.set(0);
        self.rounds.set(0);
    }
    /// One more signal; whether it was the first of its round.
    fn signal(&self) -> bool {
        let first = self.signals.get() == 0;
        self.signals.set(self.signals.get() + 1);
        self.settle();
        first
    }
    /// One member less.
    fn leave(&self) {
        self.members.set(self.members.get().saturating_sub(1));
        self.settle();
    }
    fn settle(&self) {
        if self.members.get() != 0 && self.signals.get() >= self.members.get() {
            self.signals.set(0);
            self.rounds.set(self.rounds.get().wrapping_add(1));
        }
    }
    /// Signals \[22:16\], members \[10:4\], valid 0.
    fn state(&self) -> u32 {
        (self.signals.get() & 0x7f) << 16 | (self.members.get() & 0x7f) << 4 | 1
    }
    fn seen_by(&self, wave: &Cell<u32>) {
        wave.set(self.rounds.get());
    }
    /// A wave that has seen this many rounds passes, if there was one since.
    fn pass(&self, seen: &Cell<u32>) -> bool {
        let passes = seen.get() != self.rounds.get();
        self.seen_by(seen);
        passes
    }
}

/// The barrier of a cluster's workgroups, which all run on one worker.
#[derive(Debug)]
pub struct Cluster {
    count: Count,
    /// The round in which each workgroup has signalled last; rounds count from one here.
    signalled: Vec<Cell<u32>>,
}

impl Cluster {
    pub fn new(workgroups: u32) -> Rc<Cluster> {
        let signalled = (0..workgroups).map(|_| Cell::new(0)).collect();
        Rc::new(Cluster { count: Count::new(workgroups), signalled })
    }
}

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waits {
    /// All the others: `s_barrier`.
    #[default]
    ForAll,
    /// A barrier with a number; a named one is the one that it has joined.
    For(i32),
    /// A resource of global wave sync.
    Globally(Ticket),
}

/// A wave's view of its barriers.
#[derive(Clone, Debug, Default)]
struct View {
    /// The named barrier that it has joined; 0 for none.
    joined: Cell<u32>,
    waits: Cell<Waits>,
    /// Rounds that it has seen of the workgroup's barrier, the named one that it has joined, and the cluster's.
    own: Cell<u32>,
    named: Cell<u32>,
    cluster: Cell<u32>,
    /// Rounds of the workgroup's barrier that it has signalled for.
    signalled: Cell<u32>,
    /// Where it has ended.
    ended: Cell<Option<u64>>,
}

impl View {
    fn begin_again(&self) {
        self.joined.set(0);
        self.waits.set(Waits::default());
        [&self.own, &self.named, &self.cluster, &self.signalled].into_iter().for_each(|rounds| rounds.set(0));
        self.ended.set(None);
    }
}

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

    /// `s_barrier_init`.
    pub fn init(&self, number: i32, members: u32) -> Result<(), String> {
        let barrier = self.named(number)?;
        if members == 0 {
            return Err(format!("named barrier {number} is given no members: what that does is not documented"));
        }
        barrier.members.set(members);
        barrier.signals.set(0);
        Ok(())
    }

    /// `s_barrier_join`; 0 leaves the wave without a named barrier.
    pub fn join(&self, wave: u32, number: i32) -> Result<(), String> {
        let view = &self.waves[wave as usize];
        if number != 0 {
            self.named(number)?.seen_by(&view.named);
        }
        view.joined.set(number as u32);
        Ok(())
    }

    /// `s_barrier_signal`; `members`, unless 0, is what the barrier's count is set to before. `None` where a signal does
    /// nothing.
    pub fn signal(&self, wave: u32, number: i32, members: u32) -> Result<Option<Arrival>, String> {
        let barrier = match number {
            0 | -2 | -4 => return Ok(None),
            CLUSTER => return self.signal_cluster(),
            WORKGROUP => &self.own,
            _ => self.named(number)?,
        };
        if self.is_single() {
            return Ok(None);
        }
        if number > 0 {
            if members != 0 {
                barrier.members.set(members);
            }
            let (members, signals) = (barrier.members.get(), barrier.signals.get());
            if members == 0 {
                return Err(format!(
                    "named barrier {number} is signalled and has no members: s_barrier_init gives it some"
                ));
            }
            if signals >= members {
                return Err(format!("named barrier {number} gets {members} members after {signals} signals"));
            }
        } else {
            let view = &self.waves[wave as usize];
            view.signalled.set(view.signalled.get().wrapping_add(1));
        }
        let before = barrier.rounds.get();
        let first = barrier.signal();
        Ok(Some(Arrival { key: Self::key(number), first, completes: barrier.rounds.get() != before }))
    }

    fn signal_cluster(&self) -> Result<Option<Arrival>, String> {
        // Without a cluster of several there is no such barrier.
        let Some((cluster, rank)) = &self.cluster else { return Ok(None) };
        let round = cluster.count.rounds.get().wrapping_add(1);
        if cluster.signalled[*rank as usize].replace(round) == round {
            return Err("the workgroup signals its cluster's barrier twice in one round: one wave may, for all".into());
        }
        let first = cluster.count.signal();
        let completes = cluster.count.rounds.get().wrapping_add(1) != round;
        Ok(Some(Arrival { key: Self::key(CLUSTER), first, completes }))
    }

    /// `s_barrier_leave`: whether no wave is left, and what becomes of the barrier.
    pub fn leave(&self, wave: u32) -> Result<(bool, Option<Arrival>), String> {
        let number = self.waves[wave as usize].joined.replace(0);
        if number == 0 || self.is_single() {
            return Ok((number == 0 && !self.is_single(), None));
        }
        let barrier = self.named(number as i32)?;
        if barrier.members.get() == 0 {
            return Err(format!("named barrier {number} is left and has no members"));
        }
        let before = barrier.rounds.get();
        barrier.leave();
        let completes = barrier.rounds.get() != before;
        Ok((barrier.members.get() == 0, Some(Arrival { key: number, first: false, completes })))
    }

    /// `s_get_barrier_state`.
    pub fn state(&self, number: i32) -> Result<u32, String> {
        match number {
            0 => Ok(0),
            CLUSTER => Ok(self.cluster.as_ref().map_or(0, |(cluster, _)| cluster.count.state())),
            -4..0 if number != WORKGROUP => Err(format!("the state of barrier {number} is the trap handler's")),
            WORKGROUP if self.is_single() => Ok(0),
            WORKGROUP => Ok(self.own.state()),
            _ => self.named(number).map(Count::state),
        }
    }

    /// `s_barrier_wait`: whether the wave passes. If not, it waits.
    pub fn wait(&self, wave: u32, number: i32) -> Result<bool, String> {
        let passes = match number {
            -2 | -4 => {
                return Err(format!("barrier {number} is the trap handler's, and there is none that would signal it"));
            }
            CLUSTER if self.cluster.is_none() => true,
            WORKGROUP | CLUSTER => self.is_single() && number == WORKGROUP,
            0.. => self.is_single() || self.joined(wave) == 0,
            _ => return Err(format!("there is no barrier {number}")),
        };
        self.waves[wave as usize].waits.set(Waits::For(number));
        let pauses = number == WORKGROUP && self.pauses.get();
        Ok(passes || !pauses && self.pass(wave))
    }

    /// A wave signals the workgroup's barrier, and waits for it: whether it passes at once. As [`Barriers::signal`] and
    /// [`Barriers::wait`], where nothing else is asked of them.
    #[inline(always)]
    pub fn meet(&self, wave: u32) -> bool {
        let view = &self.waves[wave as usize];
        view.waits.set(Waits::For(WORKGROUP));
        if self.is_single() {
            return true;
        }
        view.signalled.set(view.signalled.get().wrapping_add(1));
        self.own.signal();
        !self.pauses.get() && self.own.pass(&view.own)
    }

    /// Whether a wave that waits for the workgroup's barrier, having signalled it, would pass.
    #[inline(always)]
    pub fn would_pass_own(&self, wave: u32) -> bool {
        let view = &self.waves[wave as usize];
        view.waits.get() == Waits::For(WORKGROUP) && view.own.get() != self.own.rounds.get()
    }

    /// It does.
    #[inline(always)]
    pub fn pass_own(&self, wave: u32) {
        self.own.seen_by(&self.waves[wave as usize].own);
    }

    /// The wave waits at a resource of global wave sync.
    pub fn wait_globally(&self, wave: u32, ticket: Ticket) {
        if let Some(view) = self.waves.get(wave as usize) {
            view.waits.set(Waits::Globally(ticket));
        }
    }

    /// `s_barrier`: the wave waits for all others.
    pub fn wait_for_all(&self, wave: u32) {
        if let Some(view) = self.waves.get(wave as usize) {
            view.waits.set(Waits::ForAll);
        }
    }

    /// What a wave that waits waits for.
    pub fn waits(&self, wave: u32) -> Waits {
        self.waves[wave as usize].waits.get()
    }

    /// Which barrier that is, as [`Arrival::key`] has it.
    pub fn waits_key(&self, wave: u32) -> u32 {
        match self.waits(wave) {
            Waits::For(CLUSTER) => Self::key(CLUSTER),
            Waits::For(0..) if self.joined(wave) == 0 => NO_KEY,
            Waits::For(0..) => self.joined(wave),
            _ => Self::key(WORKGROUP),
        }
    }

    /// The named barrier that a wave has joined; 0 for none.
    pub fn joined(&self, wave: u32) -> u32 {
        self.waves[wave as usize].joined.get()
    }

    fn waited_for(&self, wave: u32) -> Option<(&Count, &Cell<u32>)> {
        let view = &self.waves[wave as usize];
        match view.waits.get() {
            Waits::ForAll | Waits::Globally(_) => None,
            Waits::For(WORKGROUP) => Some((&self.own, &view.own)),
            Waits::For(CLUSTER) => self.cluster.as_ref().map(|(cluster, _)| (&cluster.count, &view.cluster)),
            Waits::For(_) => Some((self.named(view.joined.get() as i32).ok()?, &view.named)),
        }
    }

    /// Whether a wave that waits for a barrier with a number, or globally, passes; it has then.
    pub fn pass(&self, wave: u32) -> bool {
        if let Waits::Globally(ticket) = self.waits(wave) {
            return self.is_released(ticket);
        }
        self.waited_for(wave).is_some_and(|(barrier, seen)| barrier.pass(seen))
    }

    /// Whether it would.
    pub fn would_pass(&self, wave: u32) -> bool {
        if let Waits::Globally(ticket) = self.waits(wave) {
            return self.is_released(ticket);
        }
        self.waited_for(wave).is_some_and(|(barrier, seen)| barrier.rounds.get() != seen.get())
    }

    fn is_released(&self, ticket: Ticket) -> bool {
        self.global.as_ref().is_none_or(|global| global.releases(ticket))
    }

    /// What a wave waits for, and what is missing, for people.
    pub fn missing(&self, wave: u32) -> String {
        let of = |barrier: &Count, who| {
            format!("which has {} of {} signals{who}", barrier.signals.get(), barrier.members.get())
        };
        match (self.waits(wave), self.waited_for(wave)) {
            (Waits::For(WORKGROUP), Some((barrier, _))) => format!("the workgroup's barrier, {}", of(barrier, "")),
            (Waits::For(CLUSTER), Some((barrier, _))) => {
                format!("its cluster's barrier, {}", of(barrier, ", one for each workgroup"))
            }
            (Waits::Globally(ticket), _) => {
                self.global.as_ref().map_or_else(String::new, |global| global.missing(ticket))
            }
            (_, Some((barrier, _))) => {
                format!("named barrier {}, {}", self.joined(wave), of(barrier, " since it was joined"))
            }
            _ => "the other waves".into(),
        }
    }

    /// A wave has ended, at an address: it no longer takes part in the workgroup's barrier. (Named ones still count it.)
    pub fn end(&self, wave: u32, pc: u64) -> Option<Arrival> {
        self.waves[wave as usize].ended.set(Some(pc));
        let before = self.own.rounds.get();
        self.own.leave();
        let completes = self.own.rounds.get() != before;
        (!self.is_single()).then_some(Arrival { key: Self::key(WORKGROUP), first: false, completes })
    }

    /// The workgroup has ended: it no longer takes part in its cluster's barrier.
    pub fn end_workgroup(&self) {
        if let Some((cluster, _)) = &self.cluster {
            cluster.count.leave();
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
