//! Accesses of a wave's lanes to LDS: undefined bits go out with stores and come back with loads, and what other waves have
//! touched must be ordered before it.

use super::cells::{Touch, Toucher};
use super::memory::{merge, pieces};
use super::origin::{Origin, Space};
use super::runs::Runs;
use super::{Group, Looks, Strict};
use crate::masks::lanes;
use crate::mem::access::Rows;
use crate::mem::atomic::Atomic;
use crate::mem::pieces::Pieces;
use crate::mem::{Action, Transfer};
use crate::report::FindingKind;
use crate::wave::Wave;

impl Strict {
    /// An access of some lanes to LDS.
    pub(super) fn lds(&mut self, w: &Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) {
        let shared = self.group.clone();
        let (transfer, touch) = match action {
            Action::Load(t) => (t, Touch::Read),
            Action::Store(t) => (t, Touch::Write),
            Action::Atomic(..) => (Transfer::Words, Touch::Atomic),
        };
        let (words, each) = pieces(transfer, rows);
        let size = u32::from(words) * each;
        if transfer == Transfer::Words
            && touch != Touch::Atomic
            && let Some(runs) = Runs::of(offsets, mask, words.into())
            && runs.end() <= shared.borrow().words()
            && self.lds_reaches(action, rows, mask, || runs.iter())
        {
            return;
        }
        let mut group = shared.borrow_mut();
        let mask = group.holding(offsets, mask, size);
        let reads = !matches!(action, Action::Store(_) | Action::Atomic(Atomic::Swap, _));
        let undefined = self.shadow.undefined_lanes(rows.data, words);
        let plain = !self.looks.contains(Looks::VALUES)
            || matches!(action, Action::Load(_)) && group.all_defined(offsets, mask, size);
        let carries = self.log.wanted.contains(FindingKind::UndefinedLds.into());
        for lane in lanes(if plain { 0 } else { mask }) {
            let at = offsets[lane];
            if let Some(byte) = reads.then(|| group.unwritten(at, size)).flatten() {
                // What a load brings may not matter; an atomic changes LDS by it.
                let kind = if touch == Touch::Read { FindingKind::UndefinedLdsRead } else { FindingKind::UndefinedLds };
                let message = format!("a read of LDS at {byte:#x}, which nothing has written");
                self.log.report(kind, Some(lane as u32), Some(byte.into()), message);
            }
            for k in 0..words {
                let piece = at + u32::from(k) * 4;
                let raw = group.undefined(piece, each, carries);
                let origin = |group: &Group| match group.unwritten(piece, each).filter(|_| carries) {
                    Some(address) => {
                        let (pc, wave) = (self.log.pc, self.wave);
                        Some(Origin { pc, wave, space: Space::Lds, address: address.into() })
                    }
                    None => group.origin(piece),
                };
                match action {
                    // What it leaves alone and what it defines is settled before.
                    Action::Load(t) if raw != 0 => {
                        let origin = origin(&group);
                        self.shadow.bring(rows.dst + k, lane, origin, |old| merge(t, old, raw));
                    }
                    Action::Load(_) => {}
                    Action::Store(t) if undefined >> lane & 1 != 0 => {
                        let bits = t.extract(self.shadow.row(rows.data + k, lane));
                        group.define(piece, each, bits);
                        if bits != 0 {
                            group.set_origin(piece, self.shadow.row_origin(rows.data + k, lane));
                        }
                    }
                    Action::Store(_) => group.define(piece, each, 0),
                    Action::Atomic(kind, returns) => {
                        let origin = if raw != 0 { origin(&group) } else { None };
                        if matches!(kind, Atomic::Swap) && returns && raw != 0 {
                            self.shadow.bring(rows.dst + k, lane, origin, |_| raw);
                        } else if let Some(origin) = origin.filter(|_| group.unwritten(piece, each).is_none()) {
                            let found = [(Some(lane as u32), None, Some(origin))];
                            self.log.undefined("what an atomic operation changes in LDS", found.into_iter());
                        }
                        group.define(piece, each, 0);
                    }
                }
            }
        }
        if !group.is_watched() || !self.looks.contains(Looks::ORDER) {
            return;
        }
        // Barriers in LDS are looked at as they are arrived at: at any time.
        let looking = if touch == Touch::Read && group.has_objects() {
            let looks = |lane: &usize| group.look(self.wave, offsets[*lane], size);
            lanes(mask).filter(looks).fold(0, |all, lane| all | 1 << lane)
        } else {
            0
        };
        drop(group);
        let touches = self.looks.contains(Looks::TOUCHES);
        let by = Toucher { id: self.access(touch == Touch::Atomic || looking != 0), actor: self.wave, touch };
        let same = |lane: usize, byte: u32| {
            let Action::Store(t) = action else { return false };
            let word = t.extract(w.rows[usize::from(rows.data) + byte as usize / 4].0[lane]);
            w.lds.load::<1>(offsets[lane] + byte) == Some([(word >> (byte % 4 * 8)) as u8])
        };
        let touched = |mask: u64| lanes(mask).map(|lane| (lane, offsets[lane]));
        let mut found = |lane: usize, conflict| self.collide(conflict, "LDS", Some(lane as u32), offsets[lane].into());
        let mut group = shared.borrow_mut();
        if touches {
            group.touch(by, touched(mask & !looking), size, &same, &mut found);
            group.touch(Toucher { touch: Touch::Meet, ..by }, touched(looking), size, &same, &mut found);
        }
        if let Action::Atomic(_, returns) = action
            && (returns || mask.is_power_of_two())
        {
            lanes(mask).for_each(|lane| group.atomic(by.actor, offsets[lane].into(), returns));
        }
    }

    /// An access to whole words of LDS by lanes that lie regularly, `offset` bytes behind these pieces and all inside, if
    /// there is nothing to say about it: what is read or stored is defined, and what touched it before is settled. Else
    /// false, and [`Strict::lds`] has to look.
    pub fn lds_words(&mut self, action: Action, rows: Rows, pieces: &Pieces, offset: u32, mask: u64) -> bool {
        self.lds_reaches(action, rows, mask, || pieces.reaches(offset, rows.words))
    }

    /// The same of some words, each reach being the first and how many.
    #[inline(always)]
    fn lds_reaches<I: Iterator<Item = (usize, usize)>>(
        &mut self,
        action: Action,
        rows: Rows,
        mask: u64,
        reaches: impl Fn() -> I,
    ) -> bool {
        let stores = match action {
            Action::Load(Transfer::Words) => false,
            Action::Store(Transfer::Words) => true,
            _ => return false,
        };
        let values = self.looks.contains(Looks::VALUES);
        if values && stores && self.shadow.undefined_lanes(rows.data, rows.words.into()) & mask != 0 {
            return false;
        }
        let mut group = self.group.borrow_mut();
        if values
            && !stores
            && !group.is_defined()
            && !reaches().all(|(first, count)| group.words_defined(first, count))
        {
            return false;
        }
        if !stores
            && group.has_objects()
            && reaches().any(|(first, count)| group.has_object(4 * first as u32, 4 * count as u32))
        {
            return false;
        }
        if group.is_watched() && self.looks.contains(Looks::TOUCHES) {
            if self.access == 0 {
                self.access = group.begin(self.wave, self.log.pc, false);
                self.waits.attach(self.access);
            }
            let touch = if stores { Touch::Write } else { Touch::Read };
            let by = Toucher { id: self.access, actor: self.wave, touch };
            if !group.touch_words(by, reaches()) {
                return false;
            }
        }
        if values && stores && !group.is_defined() {
            reaches().for_each(|(first, count)| group.define_words(first, count));
        }
        true
    }
}
