//! Loads in flight: what they will still write, and what a wait guarantees.
//!
//! vmcnt counts in order. Of lgkmcnt's, DS operations complete in order among themselves, scalar loads in any order;
//! so a wait for more than zero guarantees only those DS operations that must be done however the rest went. RDNA counts
//! stores apart, RDNA4 scalar loads too. gfx1250's asynccnt counts loads and stores; each kind completes in
//! order, its tensorcnt tensors, in order all of them.
//!
//! A counter has room for [`luthier_isa::Counter::most`] operations. The hardware issues no further one before
//! an older one is done, which is as good as a wait for one less than that: of what completes in order, the oldest is
//! done. Of scalar loads nothing is known, as any of them may have been the one that made room.

use std::collections::{HashSet, VecDeque};

use luthier_isa::Reg;

use super::operations::{COUNTERS, Counters, InFlight, LDS, LOADS, Loaded, Most, ORDERS, STORES, Wait};
use super::order::AccessId;
use super::race::known::Done;
use super::{Checked, Log};
use crate::report::FindingKind;

/// As many operations in flight as all counters have room for: none has more than six bits.
const MANY: usize = COUNTERS * 63;

pub(super) struct Waits {
    in_flight: VecDeque<InFlight>,
    /// No other counters count anything.
    counting: Counters,
    /// How many loads in flight write each unit.
    pending: Box<[u8; Reg::COUNT]>,
    any: bool,
    /// Accesses that have turned out to be done.
    finished: Vec<AccessId>,
    /// An access to device memory has, since that was asked last.
    some_done: bool,
    /// Operations in flight up to which there is no need to look for any that can be forgotten.
    room: usize,
}

impl Default for Waits {
    fn default() -> Waits {
        let pending = Box::new([0; Reg::COUNT]);
        Waits {
            in_flight: VecDeque::new(),
            counting: 0,
            pending,
            any: false,
            finished: Vec::new(),
            some_done: false,
            room: MANY,
        }
    }
}

impl Waits {
    /// `clean`: the instructions of the block up to here have found nothing pending; false if this one does.
    #[inline]
    pub fn check(&mut self, inst: &Checked, clean: bool, m0: u32, log: &mut Log) -> bool {
        if let Some(wait) = &inst.wait {
            self.wait(wait);
            return true;
        }
        // It reads its registers once it is issued.
        self.see_to_room(inst);
        let free = match clean {
            true => self.are_free(&inst.fresh),
            false => self.has_arrived(inst),
        };
        if !free {
            self.check_pending(inst, m0, log);
        }
        if inst.counters != 0 {
            self.issue(inst);
        }
        free
    }

    /// An instruction is issued that is counted.
    #[inline]
    pub fn issue(&mut self, inst: &Checked) {
        let loaded = inst.loaded;
        loaded.for_each(|unit| self.pending[unit] = self.pending[unit].saturating_add(1));
        self.any |= !loaded.is_empty();
        self.counting |= inst.counters;
        let (counters, unordered, order, filled) = (inst.counters, inst.unordered, inst.order, inst.filled);
        let needs = counters;
        self.in_flight.push_back(InFlight {
            loaded,
            filled,
            counters,
            needs,
            unordered,
            order,
            access: 0,
            seq: 0,
            stream: 0,
        });
        if self.in_flight.len() > self.room {
            self.forget_repeats();
        }
    }

    /// Whether none of the counters that an instruction raises can be full.
    #[inline(always)]
    pub fn has_room(&self, inst: &Checked) -> bool {
        self.in_flight.len() < inst.room.into()
    }

    /// Before an operation is issued: its counters have room for it.
    #[inline(always)]
    pub fn see_to_room(&mut self, inst: &Checked) {
        if inst.counters != 0 && !self.has_room(inst) {
            self.make_room(inst.counters, &inst.most);
        }
    }

    /// An operation is about to be issued that raises these counters: none of them is full.
    #[cold]
    fn make_room(&mut self, counters: Counters, most: &Most) {
        for (k, &most) in most.iter().enumerate().filter(|(k, _)| counters >> k & 1 != 0) {
            // A wider scalar load counts twice, says AMD's manual of GCN5; that it is one at least is enough.
            let left = u32::from(most).saturating_sub(1);
            if self.in_flight.len() > left as usize && left != 0 {
                self.wait(&Wait::of(1 << k, left));
            }
        }
    }

    /// Nothing in flight writes what it touches.
    fn has_arrived(&self, inst: &Checked) -> bool {
        !self.any || inst.touched.iter().all(|&(unit, _)| self.pending[usize::from(unit)] == 0)
    }

    /// What completes in any order stays until a wait for all, but what would be done with the same registers at the same
    /// time needs no second record.
    #[cold]
    fn forget_repeats(&mut self) {
        let mut known = HashSet::new();
        self.in_flight.retain(|item| {
            let repeats = item.unordered && item.access == 0;
            !repeats || known.insert((item.loaded, item.counters, item.needs))
        });
        self.pending.fill(0);
        for unit in self.in_flight.iter().flat_map(|item| item.loaded.units()) {
            self.pending[unit] = self.pending[unit].saturating_add(1);
        }
        self.room = MANY.max(2 * self.in_flight.len());
    }

    /// Whether no load in flight writes any of these.
    #[inline(always)]
    pub fn are_free(&self, units: &[u16]) -> bool {
        !self.any || units.iter().all(|&unit| self.pending[usize::from(unit)] == 0)
    }

    /// Whether a load in flight writes a unit, apart from the one issued last.
    pub fn was_pending(&self, unit: u16) -> bool {
        let own = self.in_flight.back().is_some_and(|last| last.loaded.contains(unit));
        self.pending[usize::from(unit)] > u8::from(own)
    }

    /// As for a wave that begins.
    pub fn restart(&mut self) {
        // No others are pending.
        for item in &self.in_flight {
            item.loaded.for_each(|unit| self.pending[unit] = 0);
        }
        self.in_flight.clear();
        self.counting = 0;
        self.any = false;
        self.finished.clear();
        self.some_done = false;
        self.room = MANY;
    }

    #[cold]
    fn check_pending(&mut self, inst: &Checked, m0: u32, log: &mut Log) {
        for &(unit, written) in &inst.touched {
            if self.pending[usize::from(unit)] == 0 {
                continue;
            }
            let bits = inst.bits_of(unit);
            if !self.in_flight.iter().any(|i| i.loaded.contains(unit) && i.filled & bits != 0) {
                continue;
            }
            // A later load of the same counter returns after the earlier one.
            if written && inst.loaded.contains(unit) && !inst.unordered {
                let same = |i: &InFlight| !i.loaded.contains(unit) || i.counters == inst.counters;
                if self.in_flight.iter().all(same) {
                    continue;
                }
            }
            let Some(reg) = Reg::from_index(unit.into()) else { continue };
            // Of all that it may reach, M0 has chosen one.
            let reached = |(from, other): (u16, Option<u16>)| {
                !reg.is_vgpr() || u32::from(unit) == u32::from(from).wrapping_add(m0) || other == Some(unit)
            };
            if !inst.relative.is_none_or(reached) {
                continue;
            }
            let what = if written { "written" } else { "read" };
            let message = format!("{reg} is {what} while a load may still write it: no s_waitcnt guarantees the load");
            log.report(FindingKind::MissingWait, None, None, message);
        }
    }

    /// `in_order`: the counters of what the operation does not touch go down in their turn (RDNA: LLVM's
    /// hasFlatLgkmVMemCountInOrder), not at once.
    pub fn flat_lanes(&mut self, memory: bool, lds: bool, in_order: bool) {
        if let Some(last) = self.in_flight.back_mut() {
            let touched = if memory { LOADS | STORES } else { 0 } | if lds { LDS } else { 0 };
            last.needs &= touched;
            if !in_order {
                last.counters &= touched;
            }
            if last.needs == 0 {
                self.retire(0);
            }
        }
    }

    /// The operation issued last makes this access.
    pub fn attach(&mut self, access: AccessId) {
        if let Some(last) = self.in_flight.back_mut() {
            last.access = access;
        }
    }

    /// The operation issued last is the wave's access to device memory with this number; gives its stream.
    pub fn number(&mut self, seq: u32) -> usize {
        let Some(last) = self.in_flight.back_mut() else { return 0 };
        (last.seq, last.stream) = (seq, last.stream());
        last.stream.into()
    }

    /// The last access to device memory that is done, for each of the streams.
    pub fn done(&self, issued: u32) -> Done {
        let mut done = [issued; 3];
        for item in self.in_flight.iter().filter(|item| item.seq != 0 && item.needs != 0) {
            let own = &mut done[usize::from(item.stream)];
            *own = (*own).min(item.seq - 1);
        }
        done
    }

    /// Whether another access to device memory is done since the last time.
    #[inline]
    pub fn has_done(&mut self) -> bool {
        std::mem::take(&mut self.some_done)
    }

    /// Accesses to LDS that were issued and not waited for.
    pub fn in_lds(&self) -> impl Iterator<Item = AccessId> + '_ {
        self.in_flight.iter().filter(|item| item.needs == LDS && item.access != 0).map(|item| item.access)
    }

    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// The accesses that are done since the last time.
    pub fn finished(&mut self) -> impl Iterator<Item = AccessId> + '_ {
        self.finished.drain(..)
    }

    /// These counters count nothing any more, and what no counter holds is forgotten.
    fn retire(&mut self, over: Counters) {
        let (mut loads, mut gone) = (false, 0);
        self.counting = 0;
        for item in &mut self.in_flight {
            item.counters &= !over;
            self.counting |= item.counters;
            item.needs &= !over;
            if item.needs == 0 {
                self.some_done |= std::mem::take(&mut item.seq) != 0;
                self.finished.extend(Some(std::mem::take(&mut item.access)).filter(|&a| a != 0));
                item.loaded.for_each(|unit| self.pending[unit] = self.pending[unit].saturating_sub(1));
                item.loaded = Loaded::default();
            }
            loads |= !item.loaded.is_empty();
            gone += usize::from(item.counters == 0);
        }
        self.any = loads;
        // Mostly the oldest go, or the latest: what is asked for at once.
        let is_over = |item: Option<&InFlight>| item.is_some_and(|item| item.counters == 0);
        while gone > 0 && is_over(self.in_flight.front()) {
            self.in_flight.pop_front();
            gone -= 1;
        }
        while gone > 0 && is_over(self.in_flight.back()) {
            self.in_flight.pop_back();
            gone -= 1;
        }
        if gone > 0 {
            self.in_flight.retain(|item| item.counters != 0);
        }
    }

    /// No more operations than these remain.
    #[inline]
    pub fn wait(&mut self, wait: &Wait) {
        if wait.counters & self.counting != 0 {
            self.wait_for(wait);
        }
    }

    fn wait_for(&mut self, wait: &Wait) {
        let mut some = wait.none_left & self.counting != 0;
        let mut counters = wait.counters & self.counting & !wait.none_left;
        while counters != 0 {
            let k = counters.trailing_zeros() as usize;
            counters &= counters - 1;
            // So few cannot be too many.
            if self.in_flight.len() > wait.limits[k].into() {
                some |= self.leave(1 << k, wait.limits[k].into());
            }
        }
        if some {
            self.retire(wait.none_left);
        }
    }

    /// No more than `limit` operations, which is not zero, remain of those that a counter counts; whether one does not. The
    /// adversary picks which of the unordered ones remain, so only zero guarantees those; an ordered one is done once it and
    /// its successors of the same order are more than may remain.
    fn leave(&mut self, counter: Counters, limit: usize) -> bool {
        let mut some = false;
        let mut left = [0usize; ORDERS as usize];
        for item in self.in_flight.iter().filter(|i| i.counters & counter != 0 && !i.unordered) {
            left[usize::from(item.order % ORDERS)] += 1;
        }
        left.iter_mut().for_each(|left| *left = left.saturating_sub(limit));
        for item in self.in_flight.iter_mut().filter(|i| i.counters & counter != 0) {
            let left = &mut left[usize::from(item.order % ORDERS)];
            if item.unordered || *left == 0 {
                continue;
            }
            *left -= 1;
            item.counters &= !counter;
            item.needs &= !counter;
            some = true;
        }
        some
    }
}

#[cfg(test)]
mod tests;
