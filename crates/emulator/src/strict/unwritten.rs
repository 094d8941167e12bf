//! Device memory that nothing has written, as accesses of a wave find it ([`crate::memory::unwritten`]).

use super::origin::{Origin, Space};
use super::{Looks, Strict, memory::with};
use crate::masks::lanes;
use crate::mem::access::{Addresses, Rows, in_a_row};
use crate::mem::atomic::Atomic;
use crate::mem::{Action, Transfer};
use crate::memory::Memory;
use crate::wave::Wave;

/// The wave is about to load scalars from these words of device memory.
pub fn scalars(w: &mut Wave, first: u8, address: u64, words: u64) {
    with(w, |strict, w| {
        for k in 0..if strict.looks.contains(Looks::MEMORY) { words } else { 0 } {
            let at = address.wrapping_add(4 * k);
            let raw = strict.fresh.read(&w.memory, at, 4);
            strict.bring_scalar(first.wrapping_add(k as u8), at, raw, raw);
        }
    });
}

/// The same of a byte or two, extended.
pub fn scalar_part(w: &mut Wave, code: u8, address: u64, bytes: u64, signed: bool) {
    with(w, |strict, w| {
        if strict.looks.contains(Looks::MEMORY) {
            let raw = strict.fresh.read(&w.memory, address, bytes as u32);
            let sign = if signed && raw >> (8 * bytes - 1) != 0 { !0 << (8 * bytes) } else { 0 };
            strict.bring_scalar(code, address, raw, raw | sign);
        }
    });
}

/// The wave is about to store or to change some bytes of device memory.
pub fn scalar_store(w: &mut Wave, action: Action, address: u64, size: u64) {
    with(w, |strict, w| {
        if strict.looks.contains(Looks::MEMORY) {
            if let Action::Atomic(kind, _) = action
                && kind != Atomic::Swap
            {
                strict.demand_memory(&w.memory, None, address, size);
            }
            strict.fresh.write(&w.memory, address, size);
        }
    });
}

/// The bits of a lane's element, up to sixteen bytes, that nothing has written; `place` gives the bytes' addresses.
pub fn element(w: &mut Wave, bytes: u32, place: impl Fn(u32) -> u64) -> u128 {
    let mut bits = 0;
    with(w, |strict, w| {
        let bytes = if strict.looks.contains(Looks::MEMORY) { bytes } else { 0 };
        let byte = |(i, fresh): (u32, u32)| u128::from(fresh) << (8 * i);
        bits = (0..bytes).map(|i| (i, strict.fresh.read(&w.memory, place(i), 1))).map(byte).fold(0, |all, b| all | b);
    });
    bits
}

/// A lane gets something that depends on bits of such an element, which is at an address, in these bits of a row.
pub fn component(w: &mut Wave, row: u16, lane: usize, bits: u32, address: u64) {
    with(w, |strict, _| {
        let origin = strict.memory_origin(address);
        strict.shadow.bring(row, lane, Some(origin), |old| old | bits);
    });
}

impl Strict {
    fn memory_origin(&self, address: u64) -> Origin {
        Origin { pc: self.log.pc, wave: self.wave, space: Space::Memory, address }
    }

    fn bring_scalar(&mut self, code: u8, address: u64, raw: u32, undefined: u32) {
        if raw != 0 {
            let origin = self.memory_origin(address + u64::from(raw.trailing_zeros() / 8));
            self.shadow.bring_scalar(code, origin, undefined);
        }
    }

    /// What an atomic operation changes decides something.
    fn demand_memory(&mut self, memory: &Memory, lane: Option<u32>, address: u64, size: u64) {
        for at in (address..address.saturating_add(size)).step_by(4) {
            let raw = self.fresh.read(memory, at, 4);
            if raw != 0 {
                let origin = self.memory_origin(at + u64::from(raw.trailing_zeros() / 8));
                self.log
                    .undefined("what an atomic operation changes in memory", [(lane, None, Some(origin))].into_iter());
                return;
            }
        }
    }

    /// Before these lanes access whole words of device memory, or a part of one.
    pub(super) fn words_of_memory(
        &mut self,
        memory: &Memory,
        action: Action,
        rows: Rows,
        at: &Addresses,
        mask: u64,
        (words, each): (u16, u32),
    ) {
        let size = u64::from(words) * u64::from(each);
        match action {
            Action::Load(transfer) => {
                for lane in lanes(mask) {
                    for k in 0..words {
                        let address = at.lane[lane].wrapping_add(at.stride.wrapping_mul(k.into()));
                        let raw = self.fresh.read(memory, address, each);
                        self.bring(rows.dst + k, lane, transfer, address, raw);
                    }
                }
                return;
            }
            Action::Atomic(Atomic::Swap, returns) => {
                for (lane, k) in
                    lanes(if returns { mask } else { 0 }).flat_map(|lane| (0..words).map(move |k| (lane, k)))
                {
                    let address = at.lane[lane].wrapping_add(4 * u64::from(k));
                    let raw = self.fresh.read(memory, address, 4);
                    self.bring(rows.dst + k, lane, Transfer::Words, address, raw);
                }
            }
            Action::Atomic(..) => {
                lanes(mask).for_each(|lane| self.demand_memory(memory, Some(lane as u32), at.lane[lane], size));
            }
            Action::Store(_) => {}
        }
        match in_a_row(&at.lane, mask, size).filter(|_| at.stride == 4) {
            Some((start, len)) => self.fresh.write(memory, start, len),
            None => {
                for (lane, k) in lanes(mask).flat_map(|lane| (0..words).map(move |k| (lane, k))) {
                    let address = at.lane[lane].wrapping_add(at.stride.wrapping_mul(k.into()));
                    self.fresh.write(memory, address, each.into());
                }
            }
        }
    }

    fn bring(&mut self, row: u16, lane: usize, transfer: Transfer, address: u64, raw: u32) {
        if raw != 0 {
            let origin = self.memory_origin(address + u64::from(raw.trailing_zeros() / 8));
            self.shadow.bring(row, lane, Some(origin), |old| super::memory::merge(transfer, old, raw));
        }
    }

    /// An engine brings LDS what memory has.
    pub(super) fn memory_to_lds(&mut self, memory: &Memory, lds: u32, address: u64, len: u64) {
        if !self.looks.contains(Looks::MEMORY) {
            return;
        }
        let group = self.group.clone();
        for i in 0..len {
            if self.fresh.read(memory, address + i, 1) != 0 {
                let origin = self.memory_origin(address + i);
                let mut group = group.borrow_mut();
                group.define(lds + i as u32, 1, 0xff);
                group.set_origin(lds + i as u32, Some(origin));
            }
        }
    }

    /// An engine stores to memory.
    pub(super) fn memory_from_lds(&mut self, memory: &Memory, address: u64, len: u64) {
        if self.looks.contains(Looks::MEMORY) {
            self.fresh.write(memory, address, len);
        }
    }
}
