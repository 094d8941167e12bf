//! What memory instructions mean to strict mode: undefined bits go out with stores and come back with loads, and
//! accesses of different waves must be ordered.
//!
//! The handlers of memory instructions call these before they access anything.

use luthier_isa::Reg;

use super::cells::Conflict;
pub use super::engine::{arrived, barrier, defer, landed, transfer};
use super::order::Relation;
use super::origin::{Origin, Space};
pub use super::race::Passage;
use super::race::wave as races;
pub use super::unwritten::{component, element, scalar_part, scalar_store, scalars};
use super::{Looks, Party, Strict, tails};
use crate::masks::lanes;
use crate::mem::access::{Addresses, Rows};
use crate::mem::{Action, Transfer};
use crate::memory::Memory;
use crate::report::FindingKind;
use crate::wave::Wave;

/// The undefined bits of a destination that had `old` ones and gets `raw` ones from memory.
pub(super) fn merge(transfer: Transfer, old: u32, raw: u32) -> u32 {
    let sign = |from: u32, to: u32| if raw >> from & 1 != 0 { to } else { 0 };
    match transfer {
        Transfer::Words | Transfer::U8 | Transfer::U16 => raw,
        Transfer::I8 => raw | sign(7, 0xffff_ff00),
        Transfer::I16 => raw | sign(15, 0xffff_0000),
        Transfer::U8Lo | Transfer::B16Lo => old & 0xffff_0000 | raw,
        Transfer::I8Lo => old & 0xffff_0000 | raw | sign(7, 0xff00),
        Transfer::U8Hi | Transfer::B16Hi => old & 0xffff | raw << 16,
        Transfer::I8Hi => old & 0xffff | (raw | sign(7, 0xff00)) << 16,
    }
}

/// Words, and bytes of each, that a transfer moves.
pub(super) fn pieces(transfer: Transfer, rows: Rows) -> (u16, u32) {
    match transfer {
        Transfer::Words => (rows.words.into(), 4),
        other => (1, other.bytes(1) as u32),
    }
}

pub(super) fn with(w: &mut Wave, f: impl FnOnce(&mut Strict, &Wave)) {
    if let Some(mut strict) = w.strict.take() {
        f(&mut strict, w);
        w.strict = Some(strict);
    }
}

/// Before an access to LDS, one offset a lane.
pub fn lds(w: &mut Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) {
    with(w, |strict, w| strict.lds(w, action, rows, offsets, mask));
}

/// Before an access to device memory: global or scratch. Other threads' stores there wait for what it gives.
pub fn device(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> Passage {
    let (words, each) = match action {
        Action::Load(t) | Action::Store(t) => pieces(t, rows),
        Action::Atomic(..) => (rows.words.into(), 4),
    };
    let mut passage = Passage::default();
    if at.stride == 4 {
        let size = u64::from(words) * u64::from(each);
        passage = races::enter(w, action, at, size);
        races::lanes_at(w, action, rows, at, size);
    }
    with(w, |strict, w| strict.device(action, rows, at, &w.memory));
    if at.stride == 4 {
        tails::lanes_at(w, action, rows, at, u64::from(words) * u64::from(each));
    }
    passage
}

/// Before a scalar access.
pub fn scalar(w: &mut Wave, action: Action, address: u64, size: u64) {
    races::scalar(w, action, address, size);
    tails::plain(w, !matches!(action, Action::Load(_)), None, address, size);
}

/// Before an access whose bytes lie apart: `place` gives each one's address. `converts`: [`element`] and [`component`] say
/// what it loads.
pub fn bytes(w: &mut Wave, action: Action, rows: Rows, mask: u64, converts: bool, place: &dyn Fn(usize, u32) -> u64) {
    let (Action::Load(transfer) | Action::Store(transfer)) = action else { return };
    let (words, each) = pieces(transfer, rows);
    races::bytes(w, action, mask, u32::from(words) * each, place);
    with(w, |strict, w| {
        strict.bytes(action, rows, mask, (!converts || matches!(action, Action::Store(_))).then_some(&w.memory), place)
    });
    if tails::are_wanted(w) {
        for (lane, byte) in lanes(mask).flat_map(|lane| (0..u32::from(words) * each).map(move |byte| (lane, byte))) {
            tails::plain(w, matches!(action, Action::Store(_)), Some(lane), place(lane, byte), 1);
        }
    }
}

/// Before texels are read or written, each in one piece.
pub fn texels(w: &mut Wave, action: Action, at: &Addresses, bytes: u64) {
    let writes = matches!(action, Action::Store(_));
    races::lanes_at(w, action, Rows { dst: 0, data: 0, words: 0 }, at, bytes);
    with(w, |strict, w| {
        if writes && strict.looks.contains(Looks::MEMORY) {
            lanes(at.mask).for_each(|lane| strict.fresh.write(&w.memory, at.lane[lane], bytes));
        }
        strict.device_order(action, writes, at.mask, at, bytes);
    });
    tails::lanes_at(w, action, Rows { dst: 0, data: 0, words: 0 }, at, bytes);
}

/// Bits of a row are about to be stored in all lanes that access memory.
pub fn stored_bits(w: &mut Wave, row: u16, used: u32, at: &Addresses) {
    with(w, |strict, _| {
        let some = at.mask & strict.shadow.undefined_lanes(row, 1);
        let shadow = &strict.shadow;
        let those = lanes(some).filter(|&lane| shadow.row(row, lane) & used != 0);
        strict.log.undefined(
            STORED,
            those.map(|lane| (Some(lane as u32), Some(at.lane[lane]), shadow.row_origin(row, lane))),
        );
    });
}

/// A load has left the upper half of a row to chance.
pub fn upper_half(w: &mut Wave, row: u16, mask: u64) {
    with(w, |strict, _| lanes(mask).for_each(|lane| strict.shadow.update(row, lane, |old| old | 0xffff_0000)));
}

/// A VGPR is part of an address that the instruction does not name.
pub fn address_register(w: &mut Wave, row: u16, mask: u64) {
    with(w, |strict, _| {
        let unit = Reg::vgpr(row).index() as u16;
        if strict.waits.was_pending(unit) {
            let message = format!("v{row} is read while a load may still write it: no s_waitcnt guarantees the load");
            strict.log.report(FindingKind::MissingWait, None, None, message);
        }
        let some = mask & strict.shadow.undefined_lanes(row, 1);
        let shadow = &strict.shadow;
        let found = lanes(some).map(|lane| (Some(lane as u32), None, shadow.row_origin(row, lane)));
        strict.log.undefined(&format!("v{row} decides an address, and its value"), found);
    });
}

/// What a store of undefined bits leaves undefined.
const STORED: &str = "what memory gets";

impl Strict {
    /// The number of the access that the instruction under way makes.
    pub(super) fn access(&mut self, atomic: bool) -> u32 {
        if self.access == 0 {
            self.access = self.group.borrow_mut().begin(self.wave, self.log.pc, atomic);
            self.waits.attach(self.access);
        }
        self.access
    }

    /// Reports that the access under way collides with another one, in LDS or in memory.
    pub(super) fn collide(&mut self, conflict: Conflict, place: &str, lane: Option<u32>, address: u64) {
        let earlier = conflict.earlier;
        let (kind, message) = if conflict.relation == Relation::NotWaitedFor {
            let what = if earlier.wave == self.wave {
                "that the wave itself began and did not wait for"
            } else {
                "that another wave began before a barrier and did not wait for"
            };
            (FindingKind::MissingWait, format!("this collides with an access to {place} {what}"))
        } else {
            let message = format!("another wave accesses the same bytes of {place}, with no barrier in between");
            (FindingKind::LdsRace, message)
        };
        let party = Party { pc: earlier.pc, wave: earlier.wave.into() };
        self.log.report_pair(kind, lane, Some(address), message, Some(party));
    }

    fn device(&mut self, action: Action, rows: Rows, at: &Addresses, memory: &Memory) {
        let (transfer, writes) = match action {
            Action::Load(t) => (t, false),
            Action::Store(t) => (t, true),
            Action::Atomic(..) => (Transfer::Words, true),
        };
        let (words, each) = pieces(transfer, rows);
        let inside = self.scratch.lanes(at);
        let outside = at.mask & !inside;
        let values = self.looks.contains(Looks::VALUES);
        for lane in lanes(if values { inside } else { 0 }) {
            for k in 0..words {
                let address = at.lane[lane].wrapping_add(at.stride.wrapping_mul(k.into()));
                match action {
                    Action::Load(t) => {
                        let raw = self.scratch.load(address, each);
                        let origin = self.scratch.origin(address);
                        self.shadow.bring(rows.dst + k, lane, origin, |old| merge(t, old, raw));
                    }
                    Action::Store(t) => {
                        let undefined = t.extract(self.shadow.row(rows.data + k, lane));
                        self.scratch.store(address, each, undefined);
                        if undefined != 0 {
                            self.scratch.set_origin(address, self.shadow.row_origin(rows.data + k, lane));
                        }
                    }
                    Action::Atomic(..) => self.scratch.store(address, each, 0),
                }
            }
        }
        if let Action::Store(t) = action
            && values
        {
            let used = if each == 4 { !0 } else { (1u32 << (8 * each)) - 1 };
            let mut some = outside & self.shadow.undefined_lanes(rows.data, words);
            if let Some(calls) = memory.calls() {
                // The device library fills a packet whole, whatever of it the service reads.
                some = lanes(some).filter(|&lane| !calls.holds(at.lane[lane])).fold(0, |some, lane| some | 1 << lane);
            }
            for k in 0..words {
                let shadow = &self.shadow;
                let undefined = |lane: &usize| t.extract(shadow.row(rows.data + k, *lane)) & used != 0;
                let origin = |lane: usize| shadow.row_origin(rows.data + k, lane);
                let found = lanes(some).filter(undefined);
                self.log.undefined(STORED, found.map(|lane| (Some(lane as u32), Some(at.lane[lane]), origin(lane))));
            }
        }
        if outside != 0 && self.looks.contains(Looks::MEMORY) {
            self.words_of_memory(memory, action, rows, at, outside, (words, each));
        }
        self.device_order(action, writes, outside, at, u64::from(words) * u64::from(each));
    }

    fn device_order(&mut self, action: Action, writes: bool, mask: u64, at: &Addresses, size: u64) {
        let group = self.group.clone();
        if mask == 0 {
            return;
        }
        if let Action::Atomic(_, returns) = action
            && group.borrow().has_waves()
            && (returns || mask.is_power_of_two())
        {
            lanes(mask).for_each(|lane| group.borrow_mut().atomic(self.wave, at.lane[lane], returns));
        }
        if !self.looks.contains(Looks::TOUCHES) || !group.borrow().wants(writes) || matches!(action, Action::Atomic(..))
        {
            return;
        }
        let id = self.access(false);
        let found = group.borrow_mut().touch_device(id, writes, &at.lane, mask, size);
        if let Some((conflict, lane)) = found {
            self.collide(conflict, "memory", Some(lane as u32), at.lane[lane]);
        }
    }

    fn bytes(
        &mut self,
        action: Action,
        rows: Rows,
        mask: u64,
        memory: Option<&Memory>,
        place: &dyn Fn(usize, u32) -> u64,
    ) {
        let memory = memory.filter(|_| self.looks.contains(Looks::MEMORY));
        let (Action::Load(transfer) | Action::Store(transfer)) = action else { return };
        if !self.looks.contains(Looks::VALUES) {
            return;
        }
        let (words, each) = pieces(transfer, rows);
        for lane in lanes(mask) {
            for k in 0..words {
                let stored = transfer.extract(self.shadow.row(rows.data + k, lane));
                let (mut raw, mut origin) = (0, None);
                for byte in 0..each {
                    let address = place(lane, u32::from(k) * 4 + byte);
                    if !self.scratch.holds(address) {
                        let Some(memory) = memory else { continue };
                        if matches!(action, Action::Store(_)) {
                            self.fresh.write(memory, address, 1);
                        } else if self.fresh.read(memory, address, 1) != 0 {
                            raw |= 0xff << (8 * byte);
                            let (pc, wave, space) = (self.log.pc, self.wave, Space::Memory);
                            origin = origin.or(Some(Origin { pc, wave, space, address }));
                        }
                        continue;
                    }
                    match action {
                        Action::Store(_) => {
                            self.scratch.store(address, 1, stored >> (8 * byte));
                            if stored >> (8 * byte) & 0xff != 0 {
                                self.scratch.set_origin(address, self.shadow.row_origin(rows.data + k, lane));
                            }
                        }
                        _ => {
                            raw |= self.scratch.load(address, 1) << (8 * byte);
                            origin = origin.or(self.scratch.origin(address));
                        }
                    }
                }
                if let Action::Load(t) = action {
                    self.shadow.bring(rows.dst + k, lane, origin, |old| merge(t, old, raw));
                }
            }
        }
    }
}
