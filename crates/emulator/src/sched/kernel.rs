//! Workgroups whose waves native code does whole, one after the other ([`crate::program::Kernel`]).
//!
//! Such a wave is no more than its registers at its beginning and a call, so one wave is all of them in turns.

use std::sync::atomic::Ordering::Relaxed;

use super::{FAR, Worker};
use crate::code::Place;
use crate::dispatch::{number_of, place_of};
use crate::native::{Apart, Run};
use crate::op::Flow;
use crate::outcome::Trouble;
use crate::program::Tally;
use crate::start::{Again, Group};
use crate::wave::Wave;
use crate::workgroup::Workgroup;

impl Worker<'_> {
    /// Runs workgroups as long as there is such code and they have as many waves as the one that has ended. The first one that
    /// has not is begun as others are.
    #[allow(clippy::vec_box)] // as in `work`
    pub(super) fn run_by_kernel(&mut self, resident: &mut Vec<Box<Workgroup>>) -> Result<(), Trouble> {
        let shared = self.shared;
        let is_usual = self.turns.are_usual()
            && !shared.cooperative
            && shared.strict.is_none()
            && shared.watchdog.instructions > FAR;
        let Some(mut group) = self.ended.take_if(|_| is_usual) else { return Ok(()) };
        let left = shared.clusters.saturating_sub(shared.next_cluster.load(Relaxed));
        let begin = Place { pc: shared.dispatch.entry, mode: 0 };
        let waves_left = left * group.waves.len() as u64;
        let workgroups = self.program.next_by_kernel(self.outcome.groups, waves_left, begin);
        if workgroups > 0 {
            self.run_some(&mut group, (workgroups, begin), resident)?;
        }
        self.free_waves.extend(self.ended.replace(group).into_iter().flat_map(|group| group.waves).map(|r| r.wave));
        Ok(())
    }

    #[allow(clippy::vec_box)] // as in `work`
    fn run_some(
        &mut self,
        group: &mut Workgroup,
        (most, begin): (u64, Place),
        resident: &mut Vec<Box<Workgroup>>,
    ) -> Result<(), Trouble> {
        let shared = self.shared;
        let d = &shared.dispatch;
        let count = group.waves.len() as u32;
        let (Some(first), Some(&slot)) = (group.waves.first_mut(), self.free_slots.last()) else { return Ok(()) };
        let Some(mut kernel) = self.program.kernel(&first.wave, begin, &shared.start.constants) else { return Ok(()) };
        let Some(run) = kernel.code.run() else { return Ok(()) };
        let slot = self.slot0 + slot;
        let beginning = group.take_place(shared, (group.id, group.number), group.cluster, slot);
        shared.start.put(d, &mut group.waves[0].wave, &beginning, 0);
        let w = &group.waves[0].wave;
        let again = Again::of(&shared.start, d, w, &kernel.scalars, kernel.code.zeros());
        let differing = shared.start.differing(d);
        let apart = run.apart.as_ref().filter(|apart| count > 1 && apart.suits(shared.start.set(), &differing));
        let mut waves = Waves { run, again, apart };
        let mut done = 0;
        let (mut trouble, mut result) = (None, Ok(()));
        let groups = d.groups();
        // The workgroup that has ended may have been one at an edge.
        let of_whole = d.waves(d.workgroup.iter().product());
        let waves_of = |size: [u32; 3]| if size == d.workgroup { of_whole } else { d.waves(size.iter().product()) };
        while done < most && run.is_for(&group.waves[0].wave) {
            let Some(number) = self.claim(1) else { break };
            let id = next_to(group.id, number, groups);
            if waves_of(d.group_size(id)) != count {
                let slot = self.free_slots.pop().unwrap_or_default();
                resident.push(self.start(id, (number, None), self.slot0 + slot));
                break;
            }
            let beginning = group.take_place(shared, (id, number), number, slot);
            done += 1;
            self.outcome.groups += 1;
            self.outcome.waves += u64::from(count);
            match waves.run(&mut group.waves[0].wave, &beginning, count, &mut kernel.tally) {
                Ok(instructions) => group.instructions += instructions,
                Err(stopped) => {
                    trouble = Some(stopped);
                    break;
                }
            }
            self.untold += 1;
            self.unasked += group.instructions;
            match self.may_go_on(group) {
                Ok(true) => {}
                Ok(false) => break,
                Err(late) => {
                    result = Err(late);
                    break;
                }
            }
        }
        if let Some(apart) = apart {
            apart.clear(&mut group.waves[0].wave);
        }
        self.program.count_kernel(&mut kernel);
        let Some((wave, flow)) = trouble else {
            group.waves[0].wave.note_written(self.program.written());
            return result;
        };
        let wave = wave as usize;
        group.waves.swap(0, wave);
        let running = &mut group.waves[wave];
        let (stop, _) = self.program.stopped_in(&kernel, &mut running.wave, &mut running.cursor, flow);
        group.stopped(self.program, wave, stop).map(drop)
    }
}

/// How waves of a workgroup begin and end, one after the other.
struct Waves<'a> {
    run: &'a Run,
    again: Again<'a>,
    /// If what they have alike is to be done once.
    apart: Option<&'a Apart>,
}

impl Waves<'_> {
    /// Has those of a workgroup begin and end, and counts them; `w` is each of them in turns. Gives their instructions, or
    /// which one has not ended as it should, and how.
    #[inline(always)]
    fn run(&mut self, w: &mut Wave, group: &Group, count: u32, tally: &mut Tally) -> Result<u64, (u32, Flow)> {
        let (mut number, mut instructions) = self.run_apart(w, group, count, tally)?;
        while number < count {
            self.again.put(w, group, number);
            match self.run.go(w) {
                Flow::Next => instructions += tally.count(w),
                flow => return Err((number, flow)),
            }
            number += 1;
        }
        Ok(instructions)
    }

    /// Those that can be done by one call: how many have ended, and their instructions. What is done once is not tried again if it
    /// was not possible.
    #[inline(always)]
    fn run_apart(
        &mut self,
        w: &mut Wave,
        group: &Group,
        count: u32,
        tally: &mut Tally,
    ) -> Result<(u32, u64), (u32, Flow)> {
        let Some((apart, batch)) = self.apart.zip(self.again.batch(group, count)) else { return Ok((0, 0)) };
        self.again.put_scalars(w, group, 0);
        if !apart.once(self.run, w) {
            self.apart = None;
            return Ok((0, 0));
        }
        let left_in_its_middle = apart.waves(self.run, w, batch);
        let ended = count - w.batch.left;
        let instructions = tally.count_several(ended, w.batch.skips);
        match left_in_its_middle {
            None => Ok((ended, instructions)),
            Some(Flow::Next) => Ok((ended + 1, instructions + tally.count(w))),
            Some(flow) => Err((ended, flow)),
        }
    }
}

/// The workgroup with a number, where waves have been of another one, which as a rule is the one before it.
fn next_to(id: [u32; 3], number: u64, groups: [u32; 3]) -> [u32; 3] {
    let next = [id[0] + 1, id[1], id[2]];
    if next[0] < groups[0] && number_of(next, groups) == number { next } else { place_of(number, groups) }
}
