//! Which accesses of a workgroup's waves are ordered, and which are not.
//!
//! There is a vector clock for each *actor*: each wave, and each of the engines that move bytes for it while it goes
//! on. A barrier joins the clocks of all waves; an atomic that returns joins those of the waves that meet at its
//! address. A wave's access counts as done from the moment that a wait of its wave guarantees it, so one that is
//! issued before a barrier and not waited for is not ordered by it. An engine begins with what its wave knows; its wave
//! knows what it has done after a wait for it, others after that or by a barrier in LDS, at which engines arrive
//! themselves.

use std::collections::HashMap;

use crate::mem::engine::Engine;

/// A wave of the workgroup, or an engine of one.
pub type Actor = u16;

/// An access of a wave.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub pc: u64,
    pub wave: u16,
    pub actor: Actor,
    pub atomic: bool,
    /// Asynchronous loads of one wave write LDS in any order: what counts is what the wave had waited for.
    any_order: bool,
    /// The wave's own clock when it was issued.
    issued: u32,
    /// The actor's when it was sure to be done: of an engine's access, its own time.
    done: u32,
}

/// Not done yet.
const NEVER: u32 = u32::MAX;
/// Accesses that are remembered; a kernel without barriers may make more.
const MOST: usize = 1 << 20;
/// Numbers of accesses of earlier workgroups.
const MOST_SETTLED: AccessId = 1 << 31;
/// A wave and its engines: loads into LDS of either kind (no processor has both), asynchronous stores, tensors.
const ACTORS: usize = 4;

/// Accesses from which on it pays to look for those that everything is ordered behind.
const MANY: usize = 1 << 10;

/// Number of an access; zero for none.
pub type AccessId = u32;

/// How an access relates to an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    Ordered,
    /// They would be ordered if the earlier one had been waited for.
    NotWaitedFor,
    Unordered,
}

pub type Clock = Box<[u32]>;

/// A barrier in LDS: what those knew who have arrived, and who had when the last phase ended.
#[derive(Debug)]
struct Object {
    arrived: Clock,
    ended: Clock,
}

/// A barrier with a number: what those who have come to the round under way had done, and those of the last that was
/// complete, and how many they were.
#[derive(Debug)]
struct Round {
    barrier: u32,
    gathering: Clock,
    arrived: u32,
    complete: Clock,
    /// Who have not waited for that round yet.
    to_pass: u32,
}

#[derive(Debug)]
pub struct Order {
    waves: usize,
    clocks: Vec<Clock>,
    /// What atomics have released, by address.
    released: HashMap<u64, Clock>,
    /// Of barriers with numbers.
    rounds: Vec<Round>,
    objects: HashMap<u32, Object>,
    accesses: Vec<Access>,
    /// The number of the first of them.
    first: AccessId,
    outstanding: usize,
    /// Room for a clock.
    spare: Clock,
}

fn join(into: &mut Clock, from: &Clock) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Order {
    pub fn new(waves: usize, engines: bool) -> Order {
        let actors = if engines { ACTORS * waves } else { waves };
        let clock = |actor| (0..actors).map(|other| u32::from(other == actor && actor < waves)).collect();
        Order {
            waves,
            clocks: (0..actors).map(clock).collect(),
            released: HashMap::new(),
            rounds: Vec::new(),
            objects: HashMap::new(),
            accesses: Vec::new(),
            first: 1,
            outstanding: 0,
            spare: vec![0; actors].into(),
        }
    }

    /// As for a workgroup that begins, but for the numbers of accesses: those that there were are settled. False if there
    /// are too few numbers left for that.
    pub fn begin_again(&mut self) -> bool {
        self.forget();
        let has_room = self.first < MOST_SETTLED;
        if !has_room {
            self.first = 1;
        }
        for (actor, clock) in self.clocks.iter_mut().enumerate() {
            clock.fill(0);
            clock[actor] = u32::from(actor < self.waves);
        }
        self.released.clear();
        self.rounds.clear();
        self.objects.clear();
        has_room
    }

    /// A wave issues an access.
    pub fn begin(&mut self, wave: u16, pc: u64, atomic: bool) -> AccessId {
        let issued = self.clocks[usize::from(wave)][usize::from(wave)];
        self.outstanding += 1;
        self.note(Access { pc, wave, actor: wave, atomic, any_order: false, issued, done: NEVER })
    }

    /// A wave issues an access that an engine of its makes. Its wait will be heard of only for one access of an
    /// instruction, the `main` one.
    pub fn begin_engine(&mut self, wave: u16, engine: Engine, pc: u64, atomic: bool, main: bool) -> AccessId {
        let actor = self.actor(wave, engine);
        let known = self.clocks[usize::from(wave)].clone();
        let issued = known[usize::from(wave)];
        let clock = &mut self.clocks[usize::from(actor)];
        join(clock, &known);
        clock[usize::from(actor)] += u32::from(main);
        let done = clock[usize::from(actor)];
        self.outstanding += usize::from(main);
        self.note(Access { pc, wave, actor, atomic, any_order: engine == Engine::Loads, issued, done })
    }

    fn note(&mut self, access: Access) -> AccessId {
        if self.accesses.len() >= MOST {
            self.forget();
            self.outstanding += 1;
        }
        self.accesses.push(access);
        self.first + (self.accesses.len() - 1) as u32
    }

    /// What a wave has seen of another one's clock.
    pub fn seen(&self, wave: u16, other: u16) -> u32 {
        self.clocks[usize::from(wave)][usize::from(other)]
    }

    /// What a wave has seen of the clocks of all.
    pub fn clock(&self, wave: u16) -> &[u32] {
        &self.clocks[usize::from(wave)][..self.waves]
    }

    pub fn actor(&self, wave: u16, engine: Engine) -> Actor {
        let which = match engine {
            Engine::Direct | Engine::Loads => 1,
            Engine::Stores => 2,
            Engine::Tensor => 3,
        };
        wave + (which * self.waves) as u16
    }

    /// A wave has waited for one of its accesses.
    pub fn finish(&mut self, id: AccessId) {
        let Some(at) = id.checked_sub(self.first) else { return };
        if let Some(access) = self.accesses.get_mut(at as usize) {
            let clock = &mut self.clocks[usize::from(access.wave)];
            if access.actor == access.wave {
                // It may have been told by other means.
                if access.done != NEVER {
                    return;
                }
                access.done = clock[usize::from(access.wave)];
            } else {
                let seen = &mut clock[usize::from(access.actor)];
                *seen = (*seen).max(access.done);
            }
            self.outstanding = self.outstanding.saturating_sub(1);
            if self.outstanding == 0 && self.waves == 1 {
                self.forget();
            }
        }
    }

    /// The access with this number, unless everything is ordered behind it.
    pub fn get(&self, id: AccessId) -> Option<&Access> {
        self.accesses.get(id.checked_sub(self.first)? as usize)
    }

    /// Whether everything is ordered behind the access with this number; so it is for no access at all.
    #[inline(always)]
    pub fn is_settled(&self, id: AccessId) -> bool {
        id < self.first
    }

    /// The first access that something may not be ordered behind.
    pub fn first_unsettled(&self) -> AccessId {
        self.first
    }

    /// How an access relates to an earlier one.
    pub fn relation(&self, earlier: &Access, later: &Access) -> Relation {
        let is_own = earlier.actor == later.actor;
        if is_own && !later.any_order {
            return Relation::Ordered;
        }
        let judge = if is_own { later.wave } else { later.actor };
        let seen = &self.clocks[usize::from(judge)];
        match () {
            () if earlier.done <= seen[usize::from(earlier.actor)] => Relation::Ordered,
            () if earlier.wave == later.wave || earlier.issued <= seen[usize::from(earlier.wave)] => {
                Relation::NotWaitedFor
            }
            () => Relation::Unordered,
        }
    }

    /// Whether an atomic would hide a plain access of the same wave that others cannot know to be done yet.
    pub fn hides(&self, earlier: AccessId, later: AccessId) -> bool {
        let (Some(earlier), Some(later)) = (self.get(earlier), self.get(later)) else { return false };
        let own = usize::from(earlier.actor);
        !earlier.atomic && earlier.wave == later.wave && earlier.done >= self.clocks[own][own]
    }

    /// All waves of the workgroup have come to a barrier, or ended.
    pub fn barrier(&mut self) {
        let (waves, all) = (&mut self.clocks[..self.waves], &mut self.spare);
        all.copy_from_slice(&waves[0]);
        waves[1..].iter().for_each(|clock| join(all, clock));
        for (wave, clock) in waves.iter_mut().enumerate() {
            clock.copy_from_slice(all);
            clock[wave] += 1;
        }
        if self.outstanding == 0 {
            self.forget();
        }
    }

    /// Which of `rounds` is this barrier's.
    fn round(&mut self, barrier: u32) -> usize {
        self.rounds.iter().position(|round| round.barrier == barrier).unwrap_or_else(|| {
            let nothing = || vec![0; self.clocks.len()].into_boxed_slice();
            let (gathering, complete) = (nothing(), nothing());
            self.rounds.push(Round { barrier, gathering, arrived: 0, complete, to_pass: 0 });
            self.rounds.len() - 1
        })
    }

    /// A wave signals a barrier with a number, or leaves it; that may complete its round.
    pub fn arrive(&mut self, wave: u16, barrier: u32, completes: bool) {
        let at = self.round(barrier);
        let (round, own) = (&mut self.rounds[at], &mut self.clocks[usize::from(wave)]);
        join(&mut round.gathering, own);
        round.arrived += 1;
        own[usize::from(wave)] += 1;
        if completes {
            round.complete.copy_from_slice(&round.gathering);
            round.gathering.fill(0);
            round.to_pass = std::mem::take(&mut round.arrived);
        }
    }

    /// As [`Order::arrive`] at something that needs no others to be complete; `old` names such a thing that is over.
    pub fn signal(&mut self, wave: u16, key: u32, old: Option<u32>) {
        self.rounds.retain(|round| Some(round.barrier) != old);
        let at = self.round(key);
        let own = &mut self.clocks[usize::from(wave)];
        join(&mut self.rounds[at].complete, own);
        own[usize::from(wave)] += 1;
    }

    /// A wave has waited for a complete round of a barrier with a number.
    pub fn pass(&mut self, wave: u16, barrier: u32) {
        let Some(round) = self.rounds.iter_mut().find(|round| round.barrier == barrier) else { return };
        join(&mut self.clocks[usize::from(wave)], &round.complete);
        let is_last = round.to_pass == 1;
        round.to_pass = round.to_pass.saturating_sub(1);
        if is_last || self.accesses.len() >= MANY {
            self.forget_ordered();
        }
    }

    /// Forgets the accesses before the first that something may not be ordered behind.
    fn forget_ordered(&mut self) {
        let (waves, seen) = (&self.clocks[..self.waves], &mut self.spare);
        seen.copy_from_slice(&waves[0]);
        for clock in &waves[1..] {
            seen.iter_mut().zip(clock).for_each(|(a, b)| *a = (*a).min(*b));
        }
        let open = |a: &Access| a.done > seen[usize::from(a.actor)];
        let ordered = self.accesses.iter().position(open).unwrap_or(self.accesses.len());
        self.accesses.drain(..ordered);
        self.first += ordered as u32;
    }

    /// A wave's atomic at an address releases what the wave has done, and acquires what others have released there if
    /// it brings something back.
    pub fn atomic(&mut self, wave: u16, address: u64, returns: bool) {
        let own = &mut self.clocks[usize::from(wave)];
        let released = self.released.entry(address).or_insert_with(|| own.clone());
        join(released, own);
        if returns {
            join(own, released);
        }
        own[usize::from(wave)] += 1;
    }

    /// What a wave, or an engine of its, knows now.
    pub fn knowledge(&self, wave: u16, engine: Option<Engine>) -> Clock {
        self.clocks[usize::from(engine.map_or(wave, |engine| self.actor(wave, engine)))].clone()
    }

    /// There is a barrier here.
    pub fn meet(&mut self, address: u32) {
        let nothing = || vec![0; self.clocks.len()].into_boxed_slice();
        self.objects.entry(address).or_insert_with(|| Object { arrived: nothing(), ended: nothing() });
    }

    /// A wave that knows this arrives at a barrier in LDS.
    pub fn arrive_in_lds(&mut self, address: u32, knows: &Clock, ends: bool) {
        self.meet(address);
        let Some(object) = self.objects.get_mut(&address) else { return };
        join(&mut object.arrived, knows);
        if ends {
            join(&mut object.ended, &object.arrived);
        }
    }

    /// A wave looks at some bytes of LDS: a barrier there tells it what those knew who ended its last phase. False if
    /// there is none.
    pub fn look(&mut self, wave: u16, first: u32, len: u32) -> bool {
        let own = &mut self.clocks[usize::from(wave)];
        let there = |at: u32| at < first.saturating_add(len) && first < at.saturating_add(8);
        let mut some = false;
        for (_, object) in self.objects.iter().filter(|(at, _)| there(**at)) {
            join(own, &object.ended);
            some = true;
        }
        some
    }

    /// A new moment for a wave, after it has told others what it knew.
    pub fn tick(&mut self, wave: u16) {
        self.clocks[usize::from(wave)][usize::from(wave)] += 1;
    }

    /// Whether an access to these bytes of LDS touches a barrier.
    pub fn has_object(&self, first: u32, len: u32) -> bool {
        let end = first.saturating_add(len);
        self.has_objects() && self.objects.keys().any(|&at| at < end && first < at.saturating_add(8))
    }

    /// Whether there are barriers in LDS.
    pub fn has_objects(&self) -> bool {
        !self.objects.is_empty()
    }

    fn forget(&mut self) {
        self.first += self.accesses.len() as u32;
        self.accesses.clear();
        self.outstanding = 0;
    }
}

#[cfg(test)]
mod tests;
