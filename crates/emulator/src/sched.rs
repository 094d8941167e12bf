//! Running a launch: workers, workgroups and time slices.
//!
//! Each worker takes clusters of workgroups (as a rule, of one) from a common counter and runs one at a time, its waves in
//! turns. A workgroup that is
//! still not done after many turns may be waiting for another one (a lock, a producer), so the worker then takes a
//! further workgroup in and runs all that it has in turns: every workgroup that was started keeps making progress,
//! and those that were not get started as long as there is room. Where all wait for global wave sync ([`gws`]), a worker
//! begins further ones as far as a device would have room for them, and then waits for the other workers' waves.

#[cfg(target_arch = "x86_64")]
mod kernel;

use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::attention::Attention;
use crate::barrier::Cluster;
use crate::gws;
use crate::outcome::{Outcome, Trouble};
use crate::program::Program;
use crate::schedule::{self, Turns};
use crate::shared::Shared;
use crate::wave::Wave;
use crate::workgroup::{Progress, Round, Workgroup};

/// Instructions of a wave before the next one's turn, and turns of a workgroup's waves before the next workgroup's. Turns
/// that all waves end at a barrier do not count, as long as there are no more instructions: so registers stay in the cache.
const ALONE: (u64, u32) = (20_000, 16);
/// The same while several workgroups are under way, which then mostly spin until another one gets somewhere.
const TOGETHER: (u64, u32) = (1_000, 1);
/// Rounds that the waves of a workgroup begin with, and go on with behind a barrier, in which each goes no further than to its
/// next branch. On hardware they are side by side there: kernels in which all waves read what one of them writes a little
/// later, with no barrier in between, are right on it (rocSOLVER's factors of small matrices).
const SIDE_BY_SIDE: u32 = 4;
/// Instructions that a workgroup may still retire before a limit where two of these rounds may be one: more than all its waves
/// do in a block.
const FAR: u64 = 1 << 15;
/// Instructions after which a worker looks whether the launch is to go on.
const BETWEEN_QUESTIONS: u64 = 5_000;

/// One worker: takes workgroups until none is left. `slot0` is its first scratch slot. `attention` is asked now and then, by
/// a worker on the thread that launches.
pub fn work(shared: &Shared, program: &mut Program, slot0: usize, attention: Option<&Attention<'_>>) -> Outcome {
    let mut worker = Worker {
        shared,
        program,
        slot0,
        free_waves: Vec::new(),
        ended: None,
        free_slots: (0..shared.resident).rev().collect(),
        outcome: Outcome::default(),
        turns: Turns::new(shared.schedule.clone()),
        attention,
        unasked: 0,
        untold: 0,
    };
    let _presence = shared.global.meeting.enter();
    #[allow(clippy::vec_box)] // a workgroup is large, and moves between lists
    let mut resident: Vec<Box<Workgroup>> = Vec::new();
    loop {
        if shared.stop.load(Relaxed) {
            break;
        }
        #[cfg(target_arch = "x86_64")]
        if resident.is_empty()
            && let Err(trouble) = worker.run_by_kernel(&mut resident)
        {
            shared.stop.store(true, Relaxed);
            worker.outcome.trouble = Some(trouble);
            return worker.outcome;
        }
        if resident.is_empty() && !worker.admit(&mut resident) {
            break;
        }
        while (shared.cooperative || !worker.turns.are_usual() && resident.len() < schedule::TOGETHER)
            && worker.admit(&mut resident)
        {}
        let (mut all_finished, mut moved) = (true, false);
        let mut at = 0;
        let patience = if resident.len() == 1 && worker.turns.are_usual() { ALONE } else { TOGETHER };
        while at < resident.len() {
            let mut trouble = None;
            match worker.turns(&mut resident[at], patience) {
                Ok(Progress::Ended) => {
                    let group = resident.swap_remove(at);
                    // Those that are given up count as nothing done.
                    worker.untold += 1;
                    worker.retire(group);
                    moved = true;
                    continue;
                }
                Ok(Progress::Running) => moved = true,
                Ok(Progress::Stuck) if resident[at].waits_globally() => {}
                Ok(Progress::Stuck) => {
                    let cluster = resident[at].cluster;
                    let mates = || resident.iter().filter(|group| group.cluster == cluster);
                    if mates().all(|group| group.is_stuck()) {
                        trouble = Some(resident[at].deadlock(worker.program));
                    }
                }
                Err(found) => trouble = Some(found),
            }
            if trouble.is_some() {
                shared.stop.store(true, Relaxed);
                worker.outcome.trouble = trouble;
                // What strict mode found up to here still counts.
                resident.into_iter().for_each(|group| worker.retire(group));
                return worker.outcome;
            }
            all_finished = false;
            at += 1;
        }
        if !all_finished && resident.len() < shared.resident {
            moved |= worker.admit(&mut resident);
        }
        if moved || all_finished || worker.admit_more(&mut resident) {
            continue;
        }
        // All that is under way here waits for global wave sync.
        let to_come = shared.clusters.saturating_sub(shared.next_cluster.load(Relaxed));
        let released = || !resident.iter().all(|group| group.is_stuck());
        if !shared.global.meeting.wait(&shared.stop, released, to_come == 0) {
            shared.stop.store(true, Relaxed);
            let mut trouble = resident.iter().min_by_key(|group| group.number).map(|g| g.deadlock(worker.program));
            if let Some(Trouble::Deadlock { to_come: missing, .. }) = &mut trouble {
                *missing = to_come;
            }
            worker.outcome.trouble = trouble;
            resident.into_iter().for_each(|group| worker.retire(group));
            return worker.outcome;
        }
    }
    worker.tell();
    let last = worker.ended.into_iter().flat_map(|group| group.waves).map(|running| running.wave);
    shared.spare.give(worker.free_waves.into_iter().chain(last));
    worker.outcome
}

/// Of workers that are all stuck in one launch, only the one with the first workgroup says so; none where another one has
/// ended the launch, as what they waited for might have come.
pub fn agree(outcomes: &mut [Outcome]) {
    let stuck = |outcome: &Outcome| match &outcome.trouble {
        Some(Trouble::Deadlock { workgroup: [x, y, z], .. }) => Some([*z, *y, *x]),
        _ => None,
    };
    let is_ended = outcomes.iter().any(|outcome| outcome.trouble.is_some() && stuck(outcome).is_none());
    let first = outcomes.iter().filter_map(stuck).min().filter(|_| !is_ended);
    for outcome in outcomes.iter_mut().filter(|outcome| stuck(outcome).is_some_and(|at| Some(at) != first)) {
        outcome.trouble = None;
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    program: &'a mut Program,
    slot0: usize,
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    free_waves: Vec<Box<Wave>>,
    /// A workgroup that has ended, in whose place the next one begins.
    ended: Option<Box<Workgroup>>,
    free_slots: Vec<usize>,
    outcome: Outcome,
    turns: Turns,
    attention: Option<&'a Attention<'a>>,
    /// Instructions since it was asked.
    unasked: u64,
    /// Workgroups that have ended, and are not yet counted in what the workers share.
    untold: u64,
}

impl Worker<'_> {
    /// Starts the workgroups of the next cluster; false if there is none, or no room.
    #[allow(clippy::vec_box)] // as in `work`
    fn admit(&mut self, resident: &mut Vec<Box<Workgroup>>) -> bool {
        let size = self.shared.dispatch.cluster_size();
        if self.free_slots.len() < size as usize {
            return false;
        }
        let Some(number) = self.claim(size.into()) else { return false };
        let cluster = (size > 1).then(|| Cluster::new(size));
        for (rank, slot) in self.free_slots.split_off(self.free_slots.len() - size as usize).into_iter().enumerate() {
            let id = self.shared.dispatch.group_in_cluster(number, rank as u32);
            let cluster = (number, cluster.as_ref().map(|cluster| (Rc::clone(cluster), rank as u32)));
            resident.push(self.start(id, cluster, self.slot0 + slot));
        }
        true
    }

    /// Starts one more workgroup, beyond those that a worker has room for as a rule.
    #[allow(clippy::vec_box)] // as in `work`
    fn admit_more(&mut self, resident: &mut Vec<Box<Workgroup>>) -> bool {
        let shared = self.shared;
        let Some(slot) = gws::lock(&shared.more_slots).take() else { return false };
        let Some(number) = self.claim(1) else {
            gws::lock(&shared.more_slots).give(slot);
            return false;
        };
        resident.push(self.start(shared.dispatch.group_in_cluster(number, 0), (number, None), slot));
        true
    }

    /// The next cluster, of `size` workgroups. Once waves wait for global wave sync, no more are under way than a device has
    /// room for, so that the same workgroups wait for one another on any number of threads.
    fn claim(&mut self, size: u64) -> Option<u64> {
        let shared = self.shared;
        if shared.next_cluster.load(Relaxed) >= shared.clusters {
            return None;
        }
        // What all workers write is written once a workgroup.
        if !shared.global.has_waited() {
            return Some(shared.next_cluster.fetch_add(1, Relaxed)).filter(|&number| number < shared.clusters);
        }
        shared.done.workgroups.fetch_add(std::mem::take(&mut self.untold), Relaxed);
        let has_room = |number: u64| (number + 1) * size - shared.done.workgroups.load(Relaxed) <= shared.most;
        let next = |number: u64| (number < shared.clusters && has_room(number)).then_some(number + 1);
        shared.next_cluster.fetch_update(Relaxed, Relaxed, next).ok()
    }

    /// What others are to know of this worker's progress.
    fn tell(&mut self) {
        let done = &self.shared.done;
        done.instructions.fetch_add(std::mem::take(&mut self.unasked), Relaxed);
        done.workgroups.fetch_add(std::mem::take(&mut self.untold), Relaxed);
    }

    fn start(&mut self, id: [u32; 3], cluster: (u64, Option<(Rc<Cluster>, u32)>), slot: usize) -> Box<Workgroup> {
        let d = &self.shared.dispatch;
        let group = match self.ended.take() {
            Some(mut group) if group.waves.len() as u32 == d.waves(d.group_size(id).iter().product()) => {
                group.begin_again(self.shared, id, cluster.0, slot);
                group
            }
            other => {
                self.free_waves.extend(other.into_iter().flat_map(|group| group.waves).map(|running| running.wave));
                let limits = self.program.limits();
                Box::new(Workgroup::start(self.shared, id, cluster, slot, limits, &mut self.free_waves))
            }
        };
        self.outcome.groups += 1;
        self.outcome.waves += group.waves.len() as u64;
        group
    }

    /// Gives a workgroup some turns, as long as it runs.
    fn turns(&mut self, group: &mut Workgroup, (slice, mut turns): (u64, u32)) -> Result<Progress, Trouble> {
        let most = group.instructions + slice * u64::from(turns) * group.waves.len() as u64;
        let usual = self.turns.are_usual();
        let keeps_together = usual && group.waves.len() > 1;
        let rounds = if keeps_together { SIDE_BY_SIDE } else { 0 };
        let mut together = if group.instructions == 0 { rounds } else { 0 };
        let mut begins = false;
        if keeps_together {
            group.pause_at_barriers();
            begins = group.instructions == 0 && group.begin_together(self.program, self.shared);
        }
        while turns > 0 && group.instructions < most {
            let slice = if together > 0 { 1 } else { slice };
            // Where no wave does anything that others see, each may go on into its next round at once: what comes of the two
            // rounds is the same.
            let limit = most.min(self.shared.watchdog.instructions);
            let pairs = together > 1
                && limit.saturating_sub(group.instructions) > FAR
                && (std::mem::take(&mut begins) || group.are_private(self.program));
            if !usual {
                self.turns.begin(group.waves.len());
            }
            let mut passed = false;
            if pairs {
                let before = group.instructions;
                // Rounds go on from barrier to barrier until the worker has to ask whether the launch is to go on.
                let far = before.saturating_add(BETWEEN_QUESTIONS).min(limit - FAR);
                loop {
                    let round = group.advance_by_two(self.program, far)?;
                    passed = round != Round::Apart;
                    if round != (Round::Passed { private: true }) || group.instructions >= far {
                        break;
                    }
                }
                self.unasked += group.instructions - before;
                if !self.may_go_on(group)? {
                    return Ok(Progress::Running);
                }
            }
            let waves = if pairs { 0 } else { group.waves.len() };
            for n in 0..waves {
                let next = if usual { Some((n, slice)) } else { self.turns.next(n, slice) };
                let Some((number, slice)) = next else { continue };
                let before = group.instructions;
                let left = self.shared.watchdog.instructions.saturating_sub(before).max(1);
                if together > 0 {
                    // What engines have still to do need not be done so soon.
                    group.advance_within(self.program, number, slice.min(left), u64::MAX)?;
                } else {
                    group.advance(self.program, number, slice.min(left))?;
                }
                self.unasked += group.instructions - before;
                if !self.may_go_on(group)? {
                    return Ok(Progress::Running);
                }
            }
            let all_wait = passed || !group.has_ready_waves();
            turns -= u32::from(together == 0 && !all_wait);
            together = if all_wait { rounds } else { together.saturating_sub(1 + u32::from(pairs)) };
            match group.settle() {
                Progress::Running if group.instructions > self.shared.watchdog.instructions => {
                    return Err(self.give_up(group, None));
                }
                Progress::Running if self.shared.stop.load(Relaxed) => return Ok(Progress::Running),
                Progress::Running => {}
                stopped => return Ok(stopped),
            }
        }
        Ok(Progress::Running)
    }

    fn give_up(&self, group: &Workgroup, time: Option<Duration>) -> Trouble {
        Trouble::Watchdog { instructions: group.instructions, time, places: group.places(self.program) }
    }

    /// Whether the launch is to go on, if it is time to ask.
    #[inline(always)]
    fn may_go_on(&mut self, group: &Workgroup) -> Result<bool, Trouble> {
        if self.unasked < BETWEEN_QUESTIONS {
            return Ok(true);
        }
        match self.shared.watchdog.is_late() {
            Some(time) => Err(self.give_up(group, Some(time))),
            None => Ok(self.goes_on()),
        }
    }

    /// Whether the launch is to go on.
    fn goes_on(&mut self) -> bool {
        self.tell();
        if let Some(attention) = self.attention {
            attention.ask(&self.shared.stop);
        }
        !self.shared.stop.load(Relaxed)
    }

    fn retire(&mut self, group: Box<Workgroup>) {
        match group.slot.checked_sub(self.slot0) {
            Some(own) if own < self.shared.resident => self.free_slots.push(own),
            _ => gws::lock(&self.shared.more_slots).give(group.slot),
        }
        let written = self.program.written();
        if self.ended.is_none() && group.can_begin_again() {
            let group = self.ended.insert(group);
            group.hand_in(&mut self.outcome);
            return group.waves.iter_mut().for_each(|running| running.wave.note_written(written));
        }
        let waves = group.retire(self.shared, &mut self.outcome).into_iter();
        self.free_waves.extend(waves.map(|mut wave| {
            wave.note_written(written);
            wave
        }));
    }
}
