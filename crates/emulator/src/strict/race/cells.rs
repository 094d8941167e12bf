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
    /// An atomic read-modify-write.
    pub const ATOMIC: u32 = 1 << 4;
    /// Reaches as far as the workgroup, and other ones.
    pub const GROUP: u32 = 1 << 5;
    pub const DEVICE: u32 = 1 << 6;
    /// A write of what may be one atomic variable: on some processors, stores do not say whether they are atomic.
    pub const SMALL: u32 = 1 << 7;
    /// A compare and swap: compilers begin a loop of them with a plain load of the old value.
    pub const COMPARES: u32 = 1 << 10;
    /// A read of what may be one variable.
    pub const SMALL_READ: u32 = 1 << 11;
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

#[derive(Clone, Copy, Default)]
pub struct Cell {
    pub writer: Stamp,
    pub readers: [Stamp; 2],
}

impl Cell {
    pub fn write(&mut self, by: Stamp) {
        self.writer = self.writer.followed_by(by);
    }
    /// `is_ordered`: whether the reader that is remembered comes before this one anyway.
    pub fn read(&mut self, by: Stamp, mut is_ordered: impl FnMut(&Stamp) -> bool) {
        let own = |reader: &Stamp| reader.who == by.who || reader.who == 0;
        let place = match &self.readers {
            [first, _] if own(first) => 0,
            [_, second] if own(second) => 1,
            [first, _] if is_ordered(first) => 0,
            _ => 1,
        };
        self.readers[place] = self.readers[place].followed_by(by);
    }
}

/// Words of a page.
pub const WORDS: usize = 1 << 10;
/// Bits of an address within a page.
const PAGE: u32 = WORDS.trailing_zeros() + 2;

/// The cells of some of the memory, by page.
#[derive(Default)]
pub struct Pages(HashMap<u64, Box<[Cell; WORDS]>>);

pub fn page_of(address: u64) -> u64 {
    address >> PAGE
}

/// Which of its page's words an address is in.
pub fn word_of(address: u64) -> usize {
    (address >> 2) as usize % WORDS
}

impl Pages {
    pub fn page(&mut self, number: u64) -> &mut [Cell; WORDS] {
        self.0.entry(number).or_insert_with(|| {
            let cells = vec![Cell::default(); WORDS].into_boxed_slice();
            // It has that length.
            cells.try_into().unwrap_or_else(|_| Box::new([Cell::default(); WORDS]))
        })
    }
    pub fn get(&self, address: u64) -> Option<&Cell> {
        Some(&self.0.get(&page_of(address))?[word_of(address)])
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
        let mut cell = Cell::default();
        cell.write(read(1, 5, 0b0011));
        cell.write(read(1, 5, 0b1100));
        assert_eq!(cell.writer.bits & Stamp::BYTES, 0b1111);
        cell.write(read(1, 6, 0b0001));
        assert_eq!(cell.writer.bits & Stamp::BYTES, 0b0001);
    }

    #[test]
    fn two_readers_are_remembered_and_an_ordered_one_makes_room() {
        let mut cell = Cell::default();
        let whos = |cell: &Cell| cell.readers.map(|reader| reader.who);
        cell.read(read(1, 1, 15), |_| false);
        cell.read(read(2, 1, 15), |_| false);
        cell.read(read(1, 2, 15), |_| false);
        assert_eq!((whos(&cell), cell.readers[0].seq), ([1, 2], 2));
        cell.read(read(3, 1, 15), |_| false);
        assert_eq!(whos(&cell), [1, 3]);
        cell.read(read(4, 1, 15), |_| true);
        assert_eq!(whos(&cell), [4, 3]);
    }
}
