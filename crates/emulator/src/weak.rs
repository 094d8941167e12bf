//! Memory that answers as weakly as caches and stores under way let it, for schedules that ask for it
//! ([`Schedule::Weak`](crate::Schedule::Weak)).
//!
//! The device's memory is what all share (L2, or beyond it where a processor has several); one wave at a time goes on
//! ([`crate::interleave`]). Before it:
//!
//! * **Caches**, those of each workgroup: of vector loads ([`lines`]) and of scalar loads. A line says since when it is held;
//!   what it held then follows from what was written since ([`history`]). A load that may hit is given the old bytes: they are
//!   put into memory while its instruction runs, and taken out again, so that each form of load reads them in its own way.
//! * **Stores under way** ([`stores`]). What an instruction has stored is taken out of memory again, and arrives there when its
//!   wave has waited for it, or earlier, not in the order of the program but for the same bytes. The workgroup's own
//!   loads see it at once.
//! * **Loads that pass one another**: one that passes the caches has what memory held at some time since its wave last waited.
//! * **Late loads and atomics** ([`late`]): they are done later, perhaps behind stores of their wave that follow, and what they
//!   bring is in registers when the wave has waited for it.
//!
//! When lines are filled and dropped, stores arrive and late loads and atomics are done, a seed says ([`chance`]). Which instructions do
//! what is in [`mark`]. Nothing of this is there for other schedules: no instruction has a mark, and waves have no [`Part`].
//!
//! Source: LLVM "User Guide for AMDGPU Backend", the memory models of each generation, which say what the hardware has and
//! what code has to do; so nothing is seen that the models forbid. A workgroup has caches of its own, as if it were alone
//! on its compute unit: what others there would fill or invalidate earlier or later, the seed decides.

pub(crate) mod chance;
mod history;
mod late;
mod lines;
pub mod mark;
mod put_off;
mod state;
mod stores;
mod told;
mod view;

use std::iter::once;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::choose::WaveId;
use crate::masks::lanes;
use crate::mem::Action;
use crate::mem::access::{Addresses, Rows};
use crate::memory::Memory;
use crate::wave::Wave;

pub use history::By;
use late::Issued;
pub use lines::Caching;
use mark::Mark;
use state::State;
pub use told::{Stale, Why};

/// Numbers what happens in a launch.
type Time = u64;

/// The caches of a launch, and its stores under way.
pub struct Caches {
    state: Mutex<State>,
    memory: Arc<Memory>,
    /// Scratch, which no two waves share.
    private: Range<u64>,
}

/// A wave's part in them.
pub struct Part {
    caches: Arc<Caches>,
    wave: WaveId,
}

impl Caches {
    pub fn new(seed: u64, caching: Caching, memory: Arc<Memory>, private: Range<u64>) -> Caches {
        let state = State::new(seed, caching);
        Caches { state: Mutex::new(state), memory, private }
    }

    pub fn part(self: &Arc<Caches>, wave: WaveId) -> Part {
        Part { caches: Arc::clone(self), wave }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instruction that was under way is done: memory is what all share again.
    pub fn settle(&self) {
        self.lock().settle(&self.memory);
    }

    /// All stores arrive.
    pub fn flush(&self) {
        self.lock().flush(&self.memory);
    }

    /// Loads that were given an older value than there was.
    pub fn told(&self) -> Vec<Stale> {
        self.lock().told.all.clone()
    }

    /// Before the instruction under way accesses some places. With `issued` it may be put off; whether it is.
    fn access(&self, places: impl Iterator<Item = Range<u64>>, writes: bool, issued: Option<Issued>) -> bool {
        let mut places: Vec<_> = places.collect();
        let all = places.len();
        places.retain(|place| !self.private.contains(&place.start));
        let is_shared = places.len() == all;
        merge(&mut places);
        let mut state = self.lock();
        state.settle(&self.memory);
        let Some(under_way) = state.current else { return false };
        if let Some(issued) = issued.filter(|_| is_shared)
            && state.puts_off(&self.memory, under_way, &places, issued)
        {
            return true;
        }
        state.make_way(&self.memory, under_way.0, &places, writes);
        places.into_iter().for_each(|place| state.access(&self.memory, under_way, place, writes));
        false
    }
}

/// Neighbouring and overlapping places become one.
fn merge(places: &mut Vec<Range<u64>>) {
    places.sort_unstable_by_key(|place| place.start);
    places.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        last.end = if meets { last.end.max(next.end) } else { last.end };
        meets
    });
}

/// Before an instruction that has a mark.
pub fn before(w: &mut Wave, mark: Mark, pc: u64) {
    let Some(Part { caches, wave }) = w.weak.as_deref() else { return };
    let loaded = caches.lock().before(&caches.memory, *wave, mark, pc);
    loaded.iter().for_each(|late| late.land(w));
}

/// Before registers are written by something else: what was loaded into them earlier is there.
#[cold]
pub fn overwrites(w: &mut Wave, rows: Rows) {
    let Some(Part { caches, wave }) = w.weak.as_deref() else { return };
    let loaded = caches.lock().landing(&caches.memory, *wave, |late| late.is_for(rows));
    loaded.iter().for_each(|late| late.land(w));
}

/// What is on its way to some bytes arrives: strict mode compares with what is there.
pub fn arrive(w: &Wave, place: Range<u64>) {
    if let Some(Part { caches, .. }) = w.weak.as_deref() {
        caches.lock().arrive(&caches.memory, &place);
    }
}

/// Before lanes access device memory.
#[cold]
pub fn device(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) {
    access(w, action, rows, at, false);
}

/// The same of an instruction whose registers nothing looks at but what has waited for them: whether it is a load or an atomic
/// that is put off, and not to be done now.
#[cold]
pub fn issue(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> bool {
    access(w, action, rows, at, true)
}

fn access(w: &mut Wave, action: Action, rows: Rows, at: &Addresses, may_be_late: bool) -> bool {
    if matches!(action, Action::Load(_) | Action::Atomic(_, true)) {
        overwrites(w, rows);
    }
    let Some(part) = &w.weak else { return false };
    let (count, size) = if at.stride == 4 { (1, bytes_of(action, rows)) } else { (u64::from(rows.words), 4) };
    let of_lane = |lane: usize| (0..count).map(move |k| at.lane[lane].wrapping_add(k * at.stride));
    let places = lanes(at.mask).flat_map(of_lane).map(|start| start..start.wrapping_add(size));
    let may_be_late = may_be_late && !matches!(action, Action::Store(_));
    let issued = may_be_late.then(|| Issued::new(w, action, rows, at));
    part.caches.access(places, !matches!(action, Action::Load(_)), issued)
}

/// Before lanes access bytes that lie apart.
#[cold]
pub fn bytes(w: &mut Wave, action: Action, rows: Rows, mask: u64, place: &dyn Fn(usize, u32) -> u64) {
    if matches!(action, Action::Load(_) | Action::Atomic(_, true)) {
        overwrites(w, rows);
    }
    let Some(part) = &w.weak else { return };
    let size = bytes_of(action, rows) as u32;
    let each = lanes(mask).flat_map(|lane| (0..size).map(move |byte| place(lane, byte)));
    let places = each.map(|start| start..start.wrapping_add(1));
    part.caches.access(places, !matches!(action, Action::Load(_)), None);
}

/// Before the wave accesses some bytes.
#[cold]
pub fn scalar(w: &Wave, action: Action, address: u64, size: u64) {
    let Some(part) = &w.weak else { return };
    part.caches.access(once(address..address.wrapping_add(size)), !matches!(action, Action::Load(_)), None);
}

fn bytes_of(action: Action, rows: Rows) -> u64 {
    match action {
        Action::Load(transfer) | Action::Store(transfer) => transfer.bytes(rows.words),
        Action::Atomic(..) => 4 * u64::from(rows.words),
    }
}

#[cfg(test)]
mod tests;
