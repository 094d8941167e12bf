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

use super::order::AccessId;
use super::race::known::Done;
use super::{Checked, Log};
use crate::report::FindingKind;

/// Counters, one bit each.
pub type Counters = u8;
/// vmcnt, or loadcnt.
pub const LOADS: Counters = 1;
/// lgkmcnt, or dscnt.
pub const LDS: Counters = 2;
/// vscnt, or storecnt.
pub const STORES: Counters = 4;
/// kmcnt.
pub const SCALAR: Counters = 8;
/// asynccnt.
pub const ASYNC: Counters = 16;
/// tensorcnt.
pub const TENSOR: Counters = 32;
/// samplecnt.
pub const SAMPLES: Counters = 64;
/// bvhcnt.
pub const BVH: Counters = 128;
const COUNTERS: usize = 8;

/// The most that each counter of a processor can stand at, by the counter's bit.
pub type Most = [u8; COUNTERS];
/// As many operations in flight as all counters have room for: none has more than six bits.
const MANY: usize = COUNTERS * 63;

/// Asynchronous stores complete in order among themselves, but not with asynchronous loads.
pub const OWN_ORDER: u8 = 1;
const ORDERS: u8 = 2;

/// What an instruction lets remain of each counter's operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    pub counters: Counters,
    /// By the counter's bit.
    pub limits: [u16; COUNTERS],
    /// The counters of which nothing remains.
    none_left: Counters,
}

impl Wait {
    /// At most this many of one counter's.
    pub fn of(counter: Counters, limit: u32) -> Wait {
        let mut wait = Wait { counters: counter, ..Wait::default() };
        wait.limits[counter.trailing_zeros() as usize % COUNTERS] = limit.min(0xffff) as u16;
        wait.none_left = if limit == 0 { counter } else { 0 };
        wait
    }
    pub fn and(self, other: Wait) -> Wait {
        let limit = |k: usize| if other.counters >> k & 1 != 0 { other.limits[k] } else { self.limits[k] };
        Wait {
            counters: self.counters | other.counters,
            limits: std::array::from_fn(limit),
            none_left: self.none_left & !other.counters | other.none_left,
        }
    }
}

/// The units that a load fills: a few runs of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Loaded([(u16, u16); 4]);

impl Loaded {
    /// Adds neighbouring units. No instruction has more results than there is room for.
    pub fn add(&mut self, first: Reg, count: u8) {
        let free = self.0.iter_mut().find(|(_, count)| *count == 0);
        debug_assert!(free.is_some());
        if let Some(free) = free {
            *free = (first.index() as u16, count.into());
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }
    fn contains(&self, unit: u16) -> bool {
        self.0.iter().any(|&(first, count)| unit.wrapping_sub(first) < count)
    }
    #[inline(always)]
    pub fn for_each(&self, mut f: impl FnMut(usize)) {
        for &(first, count) in &self.0 {
            if count == 0 {
                break;
            }
            (first..first + count).for_each(|unit| f(unit.into()));
        }
    }
    pub fn units(self) -> impl Iterator<Item = usize> {
        let some = self.0.into_iter().take_while(|(_, count)| *count != 0);
        some.flat_map(|(first, count)| usize::from(first)..usize::from(first) + usize::from(count))
    }
}

struct InFlight {
    loaded: Loaded,
    /// Bits of each of them.
    filled: u32,
    /// The counters that still count it.
    counters: Counters,
    /// Those of them that guarantee that it is done.
    needs: Counters,
    /// Completes in any order.
    unordered: bool,
    /// Those of one order complete in it.
    order: u8,
    /// The access to memory shared with other waves that it makes; zero for none.
    access: AccessId,
    /// Its number among the wave's accesses to device memory; zero for none, or if it is done.
    seq: u32,
    /// Which of the wave's streams of accesses that is in.
    stream: u8,
}

impl InFlight {
    fn stream(&self) -> u8 {
        match () {
            () if self.unordered => 2,
            () if self.counters & STORES != 0 => 1,
            () => 0,
        }
    }
}

pub(super) struct Waits {
    in_flight: VecDeque<InFlight>,
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
        Waits { in_flight: VecDeque::new(), pending, any: false, finished: Vec::new(), some_done: false, room: MANY }
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
        for item in &mut self.in_flight {
            item.counters &= !over;
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
        if !self.in_flight.is_empty() {
            self.wait_for(wait);
        }
    }

    fn wait_for(&mut self, wait: &Wait) {
        let mut some = wait.none_left != 0;
        let mut counters = wait.counters & !wait.none_left;
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
mod tests {
    use super::*;

    fn load(waits: &mut Waits, reg: Reg, counters: Counters, unordered: bool) {
        waits.pending[reg.index()] += 1;
        waits.any = true;
        let mut loaded = Loaded::default();
        loaded.add(reg, 1);
        let needs = counters;
        waits.in_flight.push_back(InFlight {
            loaded,
            filled: !0,
            counters,
            needs,
            unordered,
            order: 0,
            access: 0,
            seq: 0,
            stream: 0,
        });
    }

    fn both(loads: u32, lds: u32) -> Wait {
        Wait::of(LOADS, loads).and(Wait::of(LDS, lds))
    }

    #[test]
    fn vector_memory_completes_in_order() {
        let mut w = Waits::default();
        load(&mut w, Reg::vgpr(1), LOADS, false);
        load(&mut w, Reg::vgpr(2), LOADS, false);
        w.wait(&both(1, 15));
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::vgpr(2).index()]), (0, 1));
        w.wait(&both(0, 15));
        assert!(!w.any);
    }

    #[test]
    fn scalar_loads_are_only_done_at_zero() {
        let mut w = Waits::default();
        load(&mut w, Reg::vgpr(1), LDS, false);
        load(&mut w, Reg::sgpr(1), LDS, true);
        w.wait(&both(63, 1));
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 1));
        w.wait(&both(63, 0));
        assert!(!w.any);
    }

    #[test]
    fn an_access_to_lds_counts_where_it_went_nowhere_too() {
        let flat = |w: &mut Waits, in_order| {
            load(w, Reg::vgpr(1), LOADS, false);
            load(w, Reg::vgpr(2), LOADS | LDS, false);
            w.flat_lanes(false, true, in_order);
            load(w, Reg::vgpr(3), LOADS, false);
        };
        for (in_order, left) in [(true, [0, 1, 1]), (false, [1, 1, 1])] {
            let mut w = Waits::default();
            flat(&mut w, in_order);
            w.wait(&Wait::of(LOADS, 2));
            assert_eq!([1, 2, 3].map(|n| w.pending[Reg::vgpr(n).index()]), left, "in order: {in_order}");
            w.wait(&Wait::of(LDS, 0));
            assert_eq!(w.pending[Reg::vgpr(2).index()], 0);
            w.wait(&Wait::of(LOADS, 0));
            assert!(w.in_flight.is_empty() && !w.any);
        }
    }

    /// Of two loads and two stores, one may remain: the adversary keeps the last of either kind, whichever is asked for.
    #[test]
    fn asynchronous_loads_and_stores_have_an_order_each() {
        let mut w = Waits::default();
        for (n, order) in [(1, 0), (2, OWN_ORDER), (3, 0), (4, OWN_ORDER)] {
            load(&mut w, Reg::vgpr(n), ASYNC, false);
            w.in_flight.back_mut().unwrap().order = order;
        }
        let pending = |w: &Waits| [1, 2, 3, 4].map(|n| w.pending[Reg::vgpr(n).index()]);
        w.wait(&Wait::of(ASYNC, 2));
        assert_eq!(pending(&w), [1, 1, 1, 1]);
        w.wait(&Wait::of(ASYNC, 1));
        assert_eq!(pending(&w), [0, 0, 1, 1]);
        w.wait(&Wait::of(TENSOR, 0));
        assert_eq!(pending(&w), [0, 0, 1, 1]);
        w.wait(&Wait::of(ASYNC, 0));
        assert!(!w.any);
    }

    /// They complete in any order, so that only a wait for zero ends any: but the same registers need no second record.
    #[test]
    fn scalar_loads_without_end_are_remembered_once_for_each_register() {
        let mut w = Waits::default();
        for n in 0..100_000u32 {
            w.make_room(LDS, &[63; COUNTERS]);
            load(&mut w, Reg::sgpr((n % 90) as u16), LDS, true);
            if w.in_flight.len() > w.room {
                w.forget_repeats();
            }
        }
        assert!(w.in_flight.len() <= 2 * MANY, "{}", w.in_flight.len());
        assert!((0..90).all(|n| w.pending[Reg::sgpr(n).index()] > 0));
        w.wait(&Wait::of(LDS, 0));
        assert!(!w.any && w.pending.iter().all(|&n| n == 0));
    }

    /// The oldest operation of each order is done when one more is issued than there is room for, whatever that is; what
    /// has no order never is.
    #[test]
    fn a_full_counter_lets_the_oldest_be_done_first() {
        const MOST: u16 = 15;
        let (first, scalar) = (Reg::vgpr(200).index(), Reg::sgpr(9).index());
        // How many DS operations follow the first, the number behind which a scalar load comes, and whether the first is there.
        for (behind, with_scalar, left) in [
            (MOST - 1, None, 1),
            (MOST, None, 0),
            (MOST - 2, Some(MOST - 2), 1),
            (MOST - 1, Some(MOST - 1), 0),
            (MOST - 1, Some(3), 1),
            (MOST, Some(3), 0),
        ] {
            let mut w = Waits::default();
            let mut issue = |reg, unordered| {
                w.make_room(LDS, &[MOST as u8; COUNTERS]);
                load(&mut w, reg, LDS, unordered);
            };
            issue(Reg::vgpr(200), false);
            for n in 0..=behind {
                if with_scalar == Some(n) {
                    issue(Reg::sgpr(9), true);
                }
                if n < behind {
                    issue(Reg::vgpr(n), false);
                }
            }
            let found = (w.pending[first], w.pending[scalar]);
            assert_eq!(found, (left, u8::from(with_scalar.is_some())), "{behind} behind, {with_scalar:?}");
        }
        // Asynchronous stores make room for loads, but say nothing of them.
        let mut w = Waits::default();
        for order in [0].into_iter().chain([OWN_ORDER; 62]) {
            w.make_room(ASYNC, &[63; COUNTERS]);
            load(&mut w, Reg::vgpr(7), ASYNC, false);
            w.in_flight.back_mut().unwrap().order = order;
        }
        w.make_room(ASYNC, &[63; COUNTERS]);
        assert_eq!(w.pending[Reg::vgpr(7).index()], 63);
    }

    #[test]
    fn a_wait_for_one_counter_leaves_the_others() {
        let mut w = Waits::default();
        load(&mut w, Reg::vgpr(1), LOADS, false);
        load(&mut w, Reg::sgpr(1), SCALAR, true);
        w.wait(&Wait::of(STORES, 0));
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 1));
        w.wait(&Wait::of(SCALAR, 0));
        assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 0));
    }
}
