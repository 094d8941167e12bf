//! What strict mode knows of a wave's scratch memory.

use std::collections::HashMap;
use std::ops::Range;

use super::origin::Origin;
use crate::masks::lanes;
use crate::mem::access::Addresses;

/// Undefined bits of a wave's scratch memory, by device address.
#[derive(Default)]
pub struct Scratch {
    range: Range<u64>,
    /// 1 KiB each; what is not there was never written.
    pages: HashMap<u64, Box<[u32; 256]>>,
    /// What brought the undefined bits of some words, if that was a read of LDS; by address.
    origins: HashMap<u64, Origin>,
}

impl Scratch {
    pub fn new(range: Range<u64>) -> Scratch {
        Scratch { range, ..Scratch::default() }
    }

    /// As for a wave that begins.
    pub fn restart(&mut self, range: Range<u64>) {
        self.range = range;
        self.pages.clear();
        self.origins.clear();
    }

    pub fn origin(&self, address: u64) -> Option<Origin> {
        if self.origins.is_empty() { None } else { self.origins.get(&(address / 4)).copied() }
    }

    pub fn set_origin(&mut self, address: u64, origin: Option<Origin>) {
        match origin {
            Some(origin) => self.origins.insert(address / 4, origin),
            None if self.origins.is_empty() => None,
            None => self.origins.remove(&(address / 4)),
        };
    }

    pub fn holds(&self, address: u64) -> bool {
        self.range.contains(&address)
    }

    /// The lanes whose addresses are in it.
    pub fn lanes(&self, at: &Addresses) -> u64 {
        if self.range.is_empty() {
            return 0;
        }
        lanes(at.mask).filter(|&lane| self.holds(at.lane[lane])).fold(0, |mask, lane| mask | 1 << lane)
    }

    fn word(&self, address: u64) -> u32 {
        self.pages.get(&(address >> 10)).map_or(!0, |page| page[(address >> 2 & 255) as usize])
    }

    fn word_mut(&mut self, address: u64) -> &mut u32 {
        let page = self.pages.entry(address >> 10).or_insert_with(|| Box::new([!0; 256]));
        &mut page[(address >> 2 & 255) as usize]
    }

    /// Undefined bits of up to four bytes.
    pub fn load(&self, address: u64, bytes: u32) -> u32 {
        if bytes == 4 && address.is_multiple_of(4) {
            return self.word(address);
        }
        (0..bytes).fold(0, |bits, i| {
            let a = address.wrapping_add(i.into());
            bits | (self.word(a) >> (a % 4 * 8) & 0xff) << (8 * i)
        })
    }

    pub fn store(&mut self, address: u64, bytes: u32, undefined: u32) {
        for i in 0..bytes {
            let a = address.wrapping_add(i.into());
            let shift = a % 4 * 8;
            let word = self.word_mut(a);
            *word = *word & !(0xff << shift) | (undefined >> (8 * i) & 0xff) << shift;
        }
    }
}
