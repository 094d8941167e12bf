//! Who touched each word of device memory last.
//!
//! A word remembers the last write and two reads. Of a word whose bytes different instructions touch, the last one of
//! each kind is remembered.

use std::collections::HashMap;

/// An access as a word remembers it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stamp {
    /// The wave, from 1; 0 for no access.
    pub who: u32,
    /// The number of the access among those of its wave.
    pub seq: u32,
    /// The lower half of the instruction's address.
    pub pc: u32,
    /// Which bytes of the word, and [`Stamp`]'s other constants.
    pub bits: u32,
}

impl Stamp {
    pub const BYTES: u32 = 0xf;
    /// A read-modify-write.
    pub const ATOMIC: u32 = 1 << 4;
    /// Reaches as far as the workgroup, and other ones.
    pub const GROUP: u32 = 1 << 5;
    pub const DEVICE: u32 = 1 << 6;
    /// A write of what may be one atomic variable: on some processors, stores do not say whether they are atomic.
    pub const SMALL: u32 = 1 << 7;
    /// A plain read of what may be one variable.
    pub const SMALL_READ: u32 = 1 << 10;
    /// Which of a wave's streams of accesses it is in, each completing in order.
    pub const STREAM: u32 = 8;

    pub fn stream(&self) -> usize {
        (self.bits >> Stamp::STREAM & 3) as usize
    }
    pub fn has(&self, bits: u32) -> bool {
        self.bits & bits != 0
    }
    fn is_access_of(&self, other: &Stamp) -> bool {
        self.who == other.who && self.seq == other.seq
    }
    /// What remains remembered when `next` comes.
    fn followed_by(&self, next: Stamp) -> Stamp {
        if self.is_access_of(&next) { Stamp { bits: next.bits | self.bits & Stamp::BYTES, ..next } } else { next }
    }
}

/// Words of a page.
pub const WORDS: usize = 1 << 10;
/// Bits of an address within a page.
const PAGE: u32 = WORDS.trailing_zeros() + 2;

pub fn page_of(address: u64) -> u64 {
    address >> PAGE
}

/// Which of its page's words an address is in.
pub fn word_of(address: u64) -> usize {
    (address >> 2) as usize % WORDS
}

/// What a word remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Writer,
    Reader,
    Another,
}
pub const ROLES: [Role; 3] = [Role::Writer, Role::Reader, Role::Another];

/// The words of a page, by role; what nobody has done takes no room.
#[derive(Default)]
pub struct Page([Option<Box<[Stamp]>>; 3]);

impl Page {
    pub fn get(&self, role: Role, word: usize) -> Option<&Stamp> {
        self.0[role as usize].as_ref()?.get(word)
    }

    fn at(&mut self, role: Role, word: usize) -> &mut Stamp {
        let stamps = self.0[role as usize].get_or_insert_with(|| vec![Stamp::default(); WORDS].into_boxed_slice());
        &mut stamps[word % WORDS]
    }

    fn put(&mut self, role: Role, word: usize, by: Stamp) {
        let stamp = self.at(role, word);
        *stamp = stamp.followed_by(by);
    }

    pub fn write(&mut self, word: usize, by: Stamp) {
        self.put(Role::Writer, word, by);
    }

    /// `is_ordered`: whether the reader that is remembered comes before this one anyway.
    pub fn read(&mut self, word: usize, by: Stamp, mut is_ordered: impl FnMut(&Stamp) -> bool) {
        let own = |reader: &Stamp| reader.who == by.who || reader.who == 0;
        let first = *self.at(Role::Reader, word);
        let role = match () {
            () if own(&first) => Role::Reader,
            () if self.get(Role::Another, word).is_some_and(own) => Role::Another,
            () if is_ordered(&first) => Role::Reader,
            () => Role::Another,
        };
        self.put(role, word, by);
    }
}

/// The memory that was touched, by page.
#[derive(Default)]
pub struct Pages(HashMap<u64, Page>);

impl Pages {
    pub fn page(&mut self, number: u64) -> &mut Page {
        self.0.entry(number).or_default()
    }
    pub fn writer(&self, address: u64) -> Option<Stamp> {
        self.0.get(&page_of(address))?.get(Role::Writer, word_of(address)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(who: u32, seq: u32, bytes: u32) -> Stamp {
        Stamp { who, seq, pc: 0, bits: bytes }
    }

    #[test]
    fn lanes_of_one_access_share_a_word() {
        let mut page = Page::default();
        let bytes = |page: &Page| page.get(Role::Writer, 7).unwrap().bits & Stamp::BYTES;
        page.write(7, read(1, 5, 0b0011));
        page.write(7, read(1, 5, 0b1100));
        assert_eq!(bytes(&page), 0b1111);
        page.write(7, read(1, 6, 0b0001));
        assert_eq!(bytes(&page), 0b0001);
    }

    #[test]
    fn two_readers_are_remembered_and_an_ordered_one_makes_room() {
        let mut page = Page::default();
        let whos = |page: &Page| [Role::Reader, Role::Another].map(|role| page.get(role, 7).unwrap().who);
        page.read(7, read(1, 1, 15), |_| false);
        page.read(7, read(2, 1, 15), |_| false);
        page.read(7, read(1, 2, 15), |_| false);
        assert_eq!((whos(&page), page.get(Role::Reader, 7).unwrap().seq), ([1, 2], 2));
        page.read(7, read(3, 1, 15), |_| false);
        assert_eq!(whos(&page), [1, 3]);
        page.read(7, read(4, 1, 15), |_| true);
        assert_eq!(whos(&page), [4, 3]);
        assert!(page.get(Role::Writer, 7).is_none());
    }
}
