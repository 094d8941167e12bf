//! Global wave sync: barriers and semaphores between all waves of the device.
//!
//! There are 64 resources, each a counter of twelve bits. They keep what they hold from launch to launch, so that a kernel
//! of one work-item may set one up for the next kernel, as AMD's runtimes have it.
//!
//! | instruction | what it does |
//! |---|---|
//! | `ds_gws_init v` | the counter is v |
//! | `ds_gws_barrier v` | waits until counter + 1 waves have come; the last of them sets the counter to v, for the next time |
//! | `ds_gws_sema_v` | counter + 1 |
//! | `ds_gws_sema_br v` | counter + v |
//! | `ds_gws_sema_p` | waits until the counter is not zero, in the order of coming, and takes one |
//! | `ds_gws_sema_release_all` | as many are added as wait |
//!
//! A resource's number is (M0\[21:16\] + offset0) modulo 64, v that of the first active lane. What no source says is
//! refused, never guessed: a resource that was not initialised, a value of more than twelve bits, a counter that runs
//! over, a resource used as a barrier while waves wait at it as a semaphore, or initialised while any wait.
//!
//! *What a cooperative launch brings along.* AMD's runtime (ROCclr, `submitKernel`) runs `ds_gws_init` on resource 0 before
//! each cooperative launch, with the number of workgroups less one; the device library (`__ockl_grid_sync`) has one lane of
//! each workgroup come to `ds_gws_barrier` with the same number. (The runtime counted waves at first, as LLVM's text on the
//! intrinsics does; no library that has every wave come was found, but by hand it can be written.) So resource 0 of a
//! cooperative launch holds workgroups less one, unless the first to come to its barrier says waves less one: then that.
//! Only where the launch just before has itself initialised resource 0, that counts.
//!
//! *Sources.* The RDNA3 and RDNA3.5 manuals, "Global Wave Sync" (state, numbers, EXEC of zero), the CDNA3 manual, 11.4 and
//! 12.12, LLVM (`emitGWSMemViolTestLoop`; the operand's alignment), ROCclr, ROCm's device libraries, the KFD's tests. The
//! manuals differ on the barrier: RDNA3.5's pseudocode counts down before it looks whether zero is reached, and has `init`
//! take the number of waves, not less one, which contradicts its own text on the value of the barrier; Vega's and CDNA's
//! look first. The latter is what the runtime's and the library's numbers, the same on both families, need to work at all,
//! and what rocjitsu does, AMD's emulator. (ROCclr on Windows gives `init` the number of workgroups itself, which fits
//! neither.)

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::meeting::Meeting;

/// Resources of a device.
pub const RESOURCES: usize = 64;
/// The largest value of a counter.
const MOST: u32 = 0xfff;

/// What an instruction asks of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    Init,
    Barrier,
    /// `ds_gws_sema_v` and `ds_gws_sema_br`.
    Give,
    Take,
    ReleaseAll,
}

/// A place among those who wait at a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ticket {
    /// For the end of this round of the barrier.
    Barrier(u8, u64),
    /// For this one of all that were ever given.
    Semaphore(u8, u64),
}

/// What becomes of a wave that has asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Which round of the barrier the wave takes part in.
    pub round: u64,
    /// Where it has to wait.
    pub waits: Option<Ticket>,
    /// Whether others may go on by it.
    pub releases: bool,
}

/// The counter of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Counter {
    #[default]
    Unknown,
    /// What a cooperative launch brings: workgroups and waves of its grid, less one.
    Offered {
        groups: u32,
        waves: u32,
    },
    Is(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    counter: Counter,
    /// The launch that initialised it last.
    initialised: u64,
    /// Waves that wait at the barrier.
    at_barrier: u32,
    /// Waves that have ever come to wait at the semaphore.
    came: u64,
    /// The launch whose wave waited last.
    waited: u64,
}

/// What waves look at while they wait.
#[derive(Debug, Default)]
struct Passed {
    /// Rounds of the barrier that are complete.
    rounds: AtomicU64,
    /// Waves that a semaphore has let pass after they waited.
    served: AtomicU64,
}

#[derive(Debug)]
struct State {
    resources: [Resource; RESOURCES],
    launches: u64,
    /// The last of them that was a cooperative one.
    cooperative: u64,
}

/// The resources of a device.
#[derive(Debug)]
pub struct Gws {
    state: Mutex<State>,
    passed: [Passed; RESOURCES],
    /// Held by the cooperative launch that is under way: there is one queue for them.
    turn: Mutex<()>,
}

impl Default for Gws {
    fn default() -> Gws {
        let state = State { resources: [Resource::default(); RESOURCES], launches: 0, cooperative: 0 };
        Gws { state: Mutex::new(state), passed: std::array::from_fn(|_| Passed::default()), turn: Mutex::new(()) }
    }
}

/// Nothing that is locked here is left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gws {
    /// The resources as they are now, without waves that wait.
    pub fn copy(&self) -> Gws {
        let state = lock(&self.state);
        let (mut resources, launches, cooperative) = (state.resources, state.launches, state.cooperative);
        for (resource, passed) in resources.iter_mut().zip(&self.passed) {
            if resource.at_barrier != 0 || resource.came != passed.served.load(Acquire) {
                resource.counter = Counter::Unknown;
            }
            (resource.at_barrier, resource.came) = (0, 0);
        }
        Gws { state: Mutex::new(State { resources, launches, cooperative }), ..Gws::default() }
    }

    /// Cooperative launches come one after the other.
    pub fn take_turn(&self, mut wait: impl FnMut() -> bool) -> Option<MutexGuard<'_, ()>> {
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if wait() => {}
                Err(TryLockError::WouldBlock) => return None,
            }
        }
    }

    /// A launch begins; `cooperative` has the workgroups and the waves of its grid, if it is a cooperative one. Its number.
    pub fn begin(&self, cooperative: Option<(u64, u64)>) -> u64 {
        let mut state = lock(&self.state);
        let before = state.launches;
        state.launches += 1;
        let launch = state.launches;
        let Some((groups, waves)) = cooperative else { return launch };
        // A kernel of its own that has done what the runtime does; 0 is no launch.
        let prepared = before != 0 && before != state.cooperative;
        state.cooperative = launch;
        let first = &mut state.resources[0];
        let kept = prepared && first.initialised == before && first.counter != Counter::Unknown;
        if !kept && first.at_barrier == 0 {
            let less_one = |n: u64| n.saturating_sub(1).min(MOST.into()) as u32;
            first.counter = Counter::Offered { groups: less_one(groups), waves: less_one(waves) };
        }
        launch
    }

    /// A launch is over. Where waves of its still wait, the resource is as good as never initialised.
    pub fn end(&self, launch: u64) {
        let mut state = lock(&self.state);
        for (resource, passed) in state.resources.iter_mut().zip(&self.passed) {
            let waits = resource.at_barrier != 0 || resource.came != passed.served.load(Acquire);
            if waits && resource.waited == launch {
                passed.rounds.fetch_add(1, Release);
                passed.served.store(resource.came, Release);
                (resource.counter, resource.at_barrier) = (Counter::Unknown, 0);
            }
        }
    }

    /// A wave of a launch asks something of a resource; `value` is its operand's.
    ///
    /// # Errors
    /// In words, what no source says the outcome of.
    pub fn ask(&self, launch: u64, number: u8, ask: Ask, value: u32) -> Result<Answer, String> {
        let mut state = lock(&self.state);
        let (resource, passed) = (&mut state.resources[usize::from(number)], &self.passed[usize::from(number)]);
        let round = passed.rounds.load(Acquire);
        let queued = resource.came - passed.served.load(Acquire);
        let goes_on = Answer { round, waits: None, releases: false };
        if value > MOST {
            return Err(format!(
                "{value} is more than the twelve bits that a resource of global wave sync counts with"
            ));
        }
        if ask == Ask::Init {
            if resource.at_barrier != 0 || queued != 0 {
                return Err(format!("resource {number} of global wave sync is initialised while waves wait at it"));
            }
            (resource.counter, resource.initialised) = (Counter::Is(value), launch);
            return Ok(goes_on);
        }
        let counter = match resource.counter {
            Counter::Unknown => {
                return Err(format!("resource {number} of global wave sync is used and was never initialised"));
            }
            Counter::Offered { waves, .. } if ask == Ask::Barrier && value == waves => waves,
            Counter::Offered { groups, .. } => groups,
            Counter::Is(counter) => counter,
        };
        if ask == Ask::Barrier {
            if queued != 0 {
                return Err(format!(
                    "resource {number} of global wave sync is used as a barrier while {queued} waves wait at it as a semaphore"
                ));
            }
            if counter == 0 {
                (resource.counter, resource.at_barrier) = (Counter::Is(value), 0);
                passed.rounds.fetch_add(1, Release);
                return Ok(Answer { releases: true, ..goes_on });
            }
            resource.counter = Counter::Is(counter - 1);
            resource.at_barrier += 1;
            resource.waited = launch;
            return Ok(Answer { waits: Some(Ticket::Barrier(number, round)), ..goes_on });
        }
        if resource.at_barrier != 0 {
            let waiting = resource.at_barrier;
            return Err(format!(
                "resource {number} of global wave sync is used as a semaphore while {waiting} waves wait at it as a barrier"
            ));
        }
        if ask == Ask::Take {
            if counter != 0 {
                resource.counter = Counter::Is(counter - 1);
                return Ok(goes_on);
            }
            let ticket = Ticket::Semaphore(number, resource.came);
            resource.counter = Counter::Is(0);
            resource.came += 1;
            resource.waited = launch;
            return Ok(Answer { waits: Some(ticket), ..goes_on });
        }
        let given = if ask == Ask::Give { u64::from(value) } else { queued };
        // Those who wait take theirs at once.
        let taken = given.min(queued);
        let left = u64::from(counter) + given - taken;
        if left > MOST.into() {
            return Err(format!("resource {number} of global wave sync counts beyond {MOST}"));
        }
        resource.counter = Counter::Is(left as u32);
        passed.served.fetch_add(taken, Release);
        Ok(Answer { releases: taken != 0, ..goes_on })
    }

    /// Whether a wave that waits may go on.
    pub fn releases(&self, ticket: Ticket) -> bool {
        match ticket {
            Ticket::Barrier(number, round) => self.passed[usize::from(number)].rounds.load(Acquire) != round,
            Ticket::Semaphore(number, place) => self.passed[usize::from(number)].served.load(Acquire) > place,
        }
    }

    /// What a wave waits for, for people.
    pub fn missing(&self, ticket: Ticket) -> String {
        let (Ticket::Barrier(number, _) | Ticket::Semaphore(number, _)) = ticket;
        let resource = lock(&self.state).resources[usize::from(number)];
        match (ticket, resource.counter) {
            (Ticket::Barrier(..), Counter::Is(left)) => {
                let (here, more) = (resource.at_barrier, left + 1);
                let waves = |n: u32| if n == 1 { "1 wave".to_owned() } else { format!("{n} waves") };
                format!("the barrier of resource {number}, where {} wait for {} more", waves(here), waves(more))
            }
            (Ticket::Semaphore(..), _) => format!("the semaphore of resource {number}, which no wave gives anything"),
            _ => format!("resource {number}"),
        }
    }
}

/// The resources as the waves of one launch see them.
#[derive(Debug)]
pub struct View {
    gws: Arc<Gws>,
    launch: u64,
    waited: AtomicBool,
    pub meeting: Meeting,
}

impl View {
    /// Of a launch that begins, on `workers` workers; see [`Gws::begin`].
    pub fn new(gws: Arc<Gws>, cooperative: Option<(u64, u64)>, workers: usize) -> View {
        let launch = gws.begin(cooperative);
        View { gws, launch, waited: AtomicBool::new(false), meeting: Meeting::new(workers) }
    }
    /// See [`Gws::ask`].
    pub fn ask(&self, number: u8, ask: Ask, value: u32) -> Result<Answer, String> {
        let answer = self.gws.ask(self.launch, number, ask, value)?;
        if answer.waits.is_some() {
            self.waited.store(true, Relaxed);
        }
        if answer.releases {
            self.meeting.wake();
        }
        Ok(answer)
    }
    /// Whether a wave of the launch has waited.
    pub fn has_waited(&self) -> bool {
        self.waited.load(Relaxed)
    }
    pub fn releases(&self, ticket: Ticket) -> bool {
        self.gws.releases(ticket)
    }
    pub fn missing(&self, ticket: Ticket) -> String {
        self.gws.missing(ticket)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.gws.end(self.launch);
    }
}

#[cfg(test)]
mod tests;
