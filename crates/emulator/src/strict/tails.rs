//! Bytes behind the end of what was asked for, in the last word of an allocation or the last page of a host's.
//!
//! Compilers widen atomics of 8 and 16 bits to the word around them: they load the word, and give its other bytes back as
//! they were. An atomic that changes no byte behind the end is fine, and so is the load of a word that the wave has such an
//! atomic on later. All other accesses there are findings.

use super::memory::with;
use super::{Looks, Strict};
use crate::masks::lanes;
use crate::mem::Action;
use crate::mem::access::{Addresses, Rows, in_a_row};
use crate::mem::atomic::Atomic;
use crate::memory::Edge;
use crate::report::FindingKind;
use crate::wave::Wave;

/// A load that reached behind an end.
struct Suspect {
    word: u64,
    pc: u64,
    lane: Option<u32>,
    message: String,
}

/// Loads of the wave that no atomic on the same word has explained yet.
#[derive(Default)]
pub struct Tails(Vec<Suspect>);

/// Whether there are such bytes, and findings about them are wanted.
pub fn are_wanted(w: &Wave) -> bool {
    w.memory.has_tails() && w.strict.as_ref().is_some_and(|strict| strict.looks.contains(Looks::BOUNDS))
}

/// Before an access of `size` bytes at each lane's address.
pub fn lanes_at(w: &mut Wave, action: Action, rows: Rows, at: &Addresses, size: u64) {
    if are_wanted(w) {
        if in_a_row(&at.lane, at.mask, size).is_some_and(|(start, len)| w.memory.is_clear(start, start + len)) {
            return;
        }
        let (mut first, mut last) = (u64::MAX, 0);
        for (lane, &address) in at.lane.iter().enumerate() {
            let on = (at.mask >> lane & 1).wrapping_neg();
            (first, last) = (first.min(address | !on), last.max(address & on));
        }
        if w.memory.is_clear(first, last.saturating_add(size)) {
            return;
        }
        with(w, |strict, w| {
            for lane in lanes(at.mask) {
                let address = at.lane[lane];
                if let Some(edge) = w.memory.tail(address, size) {
                    strict.reach(w, action, rows, Some(lane), address, size, edge);
                }
            }
        });
    }
}

/// Before an access that no lane makes, or each for itself, without registers.
pub fn plain(w: &mut Wave, stores: bool, lane: Option<usize>, address: u64, size: u64) {
    if are_wanted(w)
        && let Some(edge) = w.memory.tail(address, size)
    {
        let transfer = crate::mem::Transfer::Words;
        let action = if stores { Action::Store(transfer) } else { Action::Load(transfer) };
        let rows = Rows { dst: 0, data: 0, words: 0 };
        with(w, |strict, w| strict.reach(w, action, rows, lane, address, size, edge));
    }
}

impl Tails {
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Strict {
    #[expect(clippy::too_many_arguments, reason = "they are an access and where it went too far")]
    fn reach(
        &mut self,
        w: &Wave,
        action: Action,
        rows: Rows,
        lane: Option<usize>,
        address: u64,
        size: u64,
        edge: Edge,
    ) {
        let word = address & !3;
        let (Edge::Start(end) | Edge::End(end)) = edge;
        let is_word = size == 4 && address == word && end > word && matches!(edge, Edge::End(_));
        let verb = match action {
            Action::Load(_) => "a load from",
            Action::Store(_) => "a store to",
            Action::Atomic(..) => "an atomic on",
        };
        let message = match w.memory.red_zone(address, size) {
            Some(_) => format!("{verb} {address:#x} of {size} bytes, outside of the tool's variables"),
            None => {
                let edge = if matches!(edge, Edge::Start(_)) { "begins" } else { "ends" };
                format!("{verb} {address:#x} of {size} bytes, of an allocation that {edge} at {end:#x}")
            }
        };
        let lane_number = lane.map(|lane| lane as u32);
        match (action, lane) {
            (Action::Load(_), _) if is_word => {
                let (known, pc) = (self.tails.0.iter(), self.log.pc);
                if !known.clone().any(|suspect| (suspect.word, suspect.pc) == (word, pc)) {
                    self.tails.0.push(Suspect { word, pc, lane: lane_number, message });
                }
            }
            (Action::Atomic(atomic, _), Some(lane)) if is_word && leaves_alone(w, atomic, rows, lane, word, end) => {
                self.tails.0.retain(|suspect| suspect.word != word);
            }
            _ => self.log.report(FindingKind::OutOfBounds, lane_number, Some(address), message),
        }
    }

    /// The wave has ended: loads that nothing has explained are findings.
    pub(super) fn report_tails(&mut self) {
        let now = self.log.pc;
        for Suspect { word, pc, lane, message } in std::mem::take(&mut self.tails.0) {
            self.log.pc = pc;
            self.log.report(FindingKind::OutOfBounds, lane, Some(word), message);
        }
        self.log.pc = now;
    }
}

/// Whether an atomic gives back the bytes of a word from `end` on as they are.
fn leaves_alone(w: &Wave, atomic: Atomic, rows: Rows, lane: usize, word: u64, end: u64) -> bool {
    let mut bytes = [0; 4];
    if rows.words != 1 || w.memory.read(word, &mut bytes).is_err() {
        return false;
    }
    let data = w.row(rows.data).0[lane];
    let compare = if atomic.two_operands() { w.row(rows.data + 1).0[lane] } else { 0 };
    // What is swapped for something else stays as it is if that fails.
    let old = if atomic == Atomic::CmpSwap { compare } else { u32::from_le_bytes(bytes) };
    let changed = old ^ atomic.apply32(old, data, compare);
    changed >> (8 * (end - word)) == 0
}
