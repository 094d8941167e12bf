//! Waves wait at barriers, and pass.

use std::cell::Cell;

use super::count::Count;
use super::{Barriers, CLUSTER, NO_KEY, WORKGROUP, Waits};
use crate::gws::Ticket;

impl Barriers {
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

    /// Whether no wave has signalled the workgroup's barrier, or has still to pass it, and all are its members. A round in which
    /// all signal it, wait and pass leaves it so.
    pub fn is_even(&self) -> bool {
        let rounds = self.own.rounds.get();
        let are_members = self.own.members.get() as usize == self.waves.len() && self.own.signals.get() == 0;
        are_members && self.waves.iter().all(|view| view.own.get() == rounds)
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

    /// Which barrier that is, as [`super::Arrival::key`] has it.
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
}
