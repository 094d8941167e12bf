//! A watched launch's observer hears of each access to memory before it is made, as do strict mode and caches.

use super::Action;
use super::access::{Addresses, Rows};
use super::pieces::Pieces;
use crate::observe;
use crate::strict::memory as strict;
use crate::wave::Wave;
use crate::weak;

/// An access to LDS, one offset a lane.
#[inline(always)]
pub fn lds(w: &mut Wave, action: Action, rows: Rows, offsets: &[u32; 64], mask: u64) {
    if w.is_watched {
        strict::lds(w, action, rows, offsets, mask);
        observe::lds(w, action, rows, offsets, mask);
    }
}

/// An access to whole words of LDS by lanes that lie regularly: `offset` bytes behind `base`.
pub fn lds_words(w: &mut Wave, action: Action, rows: Rows, base: &[u32; 64], offset: u32, pieces: &Pieces) {
    let mask = w.exec();
    let checked = w.strict.as_mut().is_some_and(|strict| strict.lds_words(action, rows, pieces, offset, mask));
    if checked && w.observer.is_none() {
        return;
    }
    let offsets = base.map(|at| at.wrapping_add(offset));
    if !checked {
        strict::lds(w, action, rows, &offsets, mask);
    }
    observe::lds(w, action, rows, &offsets, mask);
}

/// An access to device memory: global or scratch, which is to be made while what this gives lives.
#[inline(always)]
pub fn device(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> strict::Passage {
    if !w.is_watched {
        return strict::Passage::default();
    }
    let passage = strict::device(w, action, rows, at);
    observe::device(w, action, rows, at);
    weak::device(w, action, rows, at);
    passage
}

/// The same of an instruction whose registers nothing looks at before they are waited for, and whether it is put off.
#[inline(always)]
pub fn issue(w: &mut Wave, action: Action, rows: Rows, at: &Addresses) -> (strict::Passage, bool) {
    if !w.is_watched {
        return (strict::Passage::default(), false);
    }
    let passage = strict::device(w, action, rows, at);
    observe::device(w, action, rows, at);
    (passage, weak::issue(w, action, rows, at))
}

/// Registers are about to be written at once, as if they had been loaded.
pub fn fill(w: &mut Wave, rows: Rows) {
    if w.is_watched {
        weak::overwrites(w, rows);
    }
}

/// An access whose bytes lie apart: `place` gives each one's address.
pub fn bytes(w: &mut Wave, action: Action, rows: Rows, mask: u64, place: &dyn Fn(usize, u32) -> u64) {
    if w.is_watched {
        strict::bytes(w, action, rows, mask, false, place);
        observe::bytes(w, action, rows, mask, place);
        weak::bytes(w, action, rows, mask, place);
    }
}

/// The same, of elements that are converted on their way.
pub fn elements(w: &mut Wave, action: Action, rows: Rows, mask: u64, place: &dyn Fn(usize, u32) -> u64) {
    if w.is_watched {
        strict::bytes(w, action, rows, mask, true, place);
        observe::bytes(w, action, rows, mask, place);
        weak::bytes(w, action, rows, mask, place);
    }
}

/// An access of the whole wave to some bytes.
pub fn scalar(w: &mut Wave, action: Action, address: u64, size: u64) {
    if w.is_watched {
        strict::scalar(w, action, address, size);
        observe::scalar(w, !matches!(action, Action::Load(_)), address, size);
        weak::scalar(w, action, address, size);
    }
}

/// Scalars are loaded from these words of device memory.
#[inline(always)]
pub fn scalars(w: &mut Wave, first: u8, address: u64, words: u64) {
    if w.is_watched {
        strict::scalars(w, first, address, words);
    }
}

/// A scalar is loaded from a byte or two.
pub fn scalar_part(w: &mut Wave, code: u8, address: u64, bytes: u64, signed: bool) {
    if w.is_watched {
        strict::scalar_part(w, code, address, bytes, signed);
    }
}

/// Some bytes of device memory are about to be stored, or changed, by the whole wave.
pub fn scalar_store(w: &mut Wave, action: Action, address: u64, size: u64) {
    if w.is_watched {
        strict::scalar_store(w, action, address, size);
    }
}
