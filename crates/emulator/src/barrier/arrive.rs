//! Waves and workgroups come to barriers, or take no part any more: what instructions other than waits do, and ends.

use super::count::Count;
use super::{Arrival, Barriers, CLUSTER, WORKGROUP};

impl Barriers {
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
}
