//! Who touched each word of device memory last.
//!
//! A word remembers the last write and two reads. Of a word whose bytes different instructions touch, the last one of
//! each kind is remembered. The words of a line remember the same as a rule, which then stands there once.

use super::ByNumber;

/// An access as a word remembers it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
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
    /// Reads an atomic variable: a load that reaches beyond its wave, or an atomic that brings back what was there.
    pub const LEARNS: u32 = 1 << 11;
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
/// Words of a line.
pub const LINE: usize = 16;
/// Bytes of a line.
pub const LINE_BYTES: u64 = 4 * LINE as u64;

pub fn page_of(address: u64) -> u64 {
    address >> PAGE
}

/// Where a page begins.
pub fn page_address(number: u64) -> u64 {
    number << PAGE
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

/// How much of a page an access touches: a word, some in a row of one line, or the line that begins with it, all of whose
/// words remember the same.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    word: usize,
    count: usize,
    is_line: bool,
}

impl Part {
    pub fn word(word: usize) -> Part {
        Part::words(word, 1)
    }
    pub fn words(word: usize, count: usize) -> Part {
        Part { word, count, is_line: false }
    }
    pub fn line(word: usize) -> Part {
        Part { word, count: LINE, is_line: true }
    }
    pub fn is_several(&self) -> bool {
        self.count > 1
    }
}

/// What the words of a page remember in one role.
struct Records {
    /// By line. Where `who` is [`APART`], `seq` says which of `apart` has its words.
    lines: [Stamp; WORDS / LINE],
    apart: Vec<[Stamp; LINE]>,
    /// Those of `apart` that no line has any more.
    free: Vec<u32>,
}

/// More waves than any launch has.
const APART: u32 = u32::MAX;

impl Records {
    fn none() -> Box<Records> {
        Box::new(Records { lines: [Stamp::default(); WORDS / LINE], apart: Vec::new(), free: Vec::new() })
    }

    fn get(&self, word: usize) -> &Stamp {
        let line = &self.lines[word / LINE];
        if line.who == APART { &self.apart[line.seq as usize][word % LINE] } else { line }
    }

    /// The records of some words, or the one that they share.
    fn at(&mut self, part: Part) -> &mut [Stamp] {
        let line = &mut self.lines[part.word / LINE];
        if part.is_line {
            return std::slice::from_mut(line);
        }
        if line.who != APART {
            let words = [*line; LINE];
            let seq = match self.free.pop() {
                Some(free) => {
                    self.apart[free as usize] = words;
                    free
                }
                None => {
                    self.apart.push(words);
                    self.apart.len() as u32 - 1
                }
            };
            *line = Stamp { who: APART, seq, ..Stamp::default() };
        }
        let first = part.word % LINE;
        &mut self.apart[line.seq as usize][first..first + part.count]
    }

    /// Whether neighbouring words of a line remember the same access.
    fn is_alike(&self, word: usize, count: usize) -> bool {
        let line = &self.lines[word / LINE];
        if line.who != APART {
            return true;
        }
        let first = word % LINE;
        let words = &self.apart[line.seq as usize][first..first + count];
        words.iter().all(|stamp| stamp.is_access_of(&words[0]) && stamp.bits == words[0].bits)
    }

    fn unite(&mut self, line: usize) {
        let Stamp { who: APART, seq, .. } = self.lines[line] else { return };
        let words = &self.apart[seq as usize];
        if words.iter().all(|word| *word == words[0]) {
            self.lines[line] = words[0];
            self.free.push(seq);
        }
    }
}

/// The words of a page, by role; what has not been done takes no room.
#[derive(Default)]
pub struct Page([Option<Box<Records>>; 3]);

impl Page {
    pub fn get(&self, role: Role, word: usize) -> Option<&Stamp> {
        Some(self.0[role as usize].as_ref()?.get(word))
    }

    /// Whether the words of the line that a word is in all remember the same.
    pub fn is_line(&self, word: usize) -> bool {
        self.0.iter().flatten().all(|records| records.lines[word / LINE].who != APART)
    }

    /// Whether these words of one line all remember the same, in each role.
    pub fn is_alike(&self, word: usize, count: usize) -> bool {
        self.0.iter().flatten().all(|records| records.is_alike(word, count))
    }

    /// The words of a word's line were all touched by an access: what they remember may be the same again.
    pub fn unite(&mut self, word: usize) {
        self.0.iter_mut().flatten().for_each(|records| records.unite(word / LINE));
    }

    fn put(&mut self, role: Role, part: Part, by: Stamp) {
        let stamps = self.0[role as usize].get_or_insert_with(Records::none).at(part);
        stamps.iter_mut().for_each(|stamp| *stamp = stamp.followed_by(by));
    }

    pub fn write(&mut self, part: Part, by: Stamp) {
        self.put(Role::Writer, part, by);
    }

    /// `is_ordered`: whether the reader that is remembered comes before this one anyway.
    pub fn read(&mut self, part: Part, by: Stamp, mut is_ordered: impl FnMut(&Stamp) -> bool) {
        let own = |reader: &Stamp| reader.who == by.who || reader.who == 0;
        let role = match self.get(Role::Reader, part.word) {
            None => Role::Reader,
            Some(first) if own(first) => Role::Reader,
            Some(_) if self.get(Role::Another, part.word).is_some_and(own) => Role::Another,
            Some(first) if is_ordered(first) => Role::Reader,
            Some(_) => Role::Another,
        };
        self.put(role, part, by);
    }
}

/// The memory that was touched, by page.
#[derive(Default)]
pub struct Pages(ByNumber<u64, Page>);

impl Pages {
    pub fn page(&mut self, number: u64) -> &mut Page {
        self.0.entry(number).or_default()
    }
    /// Each with its number.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.0.iter().map(|(number, page)| (*number, page))
    }
    pub fn writer(&self, address: u64) -> Option<Stamp> {
        self.0.get(&page_of(address))?.get(Role::Writer, word_of(address)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: usize = 7;

    fn access(who: u32, seq: u32, bytes: u32) -> Stamp {
        Stamp { who, seq, pc: 0, bits: bytes }
    }

    #[test]
    fn lanes_of_one_access_share_a_word() {
        let mut page = Page::default();
        let bytes = |page: &Page| page.get(Role::Writer, 7).unwrap().bits & Stamp::BYTES;
        page.write(Part::word(WORD), access(1, 5, 0b0011));
        page.write(Part::word(WORD), access(1, 5, 0b1100));
        assert_eq!(bytes(&page), 0b1111);
        page.write(Part::word(WORD), access(1, 6, 0b0001));
        assert_eq!(bytes(&page), 0b0001);
    }

    #[test]
    fn two_readers_are_remembered_and_an_ordered_one_makes_room() {
        let mut page = Page::default();
        let whos = |page: &Page| [Role::Reader, Role::Another].map(|role| page.get(role, 7).unwrap().who);
        page.read(Part::word(WORD), access(1, 1, 15), |_| false);
        page.read(Part::word(WORD), access(2, 1, 15), |_| false);
        page.read(Part::word(WORD), access(1, 2, 15), |_| false);
        assert_eq!((whos(&page), page.get(Role::Reader, 7).unwrap().seq), ([1, 2], 2));
        page.read(Part::word(WORD), access(3, 1, 15), |_| false);
        assert_eq!(whos(&page), [1, 3]);
        page.read(Part::word(WORD), access(4, 1, 15), |_| true);
        assert_eq!(whos(&page), [4, 3]);
        assert!(page.get(Role::Writer, 7).is_none());
    }

    #[test]
    fn words_that_remember_the_same_access_are_read_as_one() {
        let mut page = Page::default();
        let readers = |page: &Page| [2, 3, 4, 5].map(|word| page.get(Role::Reader, word).unwrap().who);
        assert!(page.is_alike(2, 4));
        page.read(Part::words(3, 2), access(1, 1, 15), |_| false);
        assert_eq!(readers(&page), [0, 1, 1, 0]);
        assert!(page.is_alike(3, 2) && !page.is_alike(2, 2) && !page.is_alike(4, 2));
        // The same access, but other bytes; and the other reader that a word remembers.
        page.read(Part::word(4), access(1, 1, 3), |_| false);
        assert!(page.is_alike(3, 2));
        page.read(Part::word(4), access(1, 2, 3), |_| false);
        assert!(!page.is_alike(3, 2));
        page.read(Part::words(3, 2), access(1, 3, 15), |_| false);
        assert!(page.is_alike(3, 2));
        page.read(Part::word(3), access(2, 1, 15), |_| false);
        assert!(!page.is_alike(3, 2));
    }

    #[test]
    fn a_line_is_one_record_until_its_words_differ_and_from_when_they_agree_again() {
        let mut page = Page::default();
        let writers = |page: &Page| [15, 16, 20, 31, 32].map(|word| page.get(Role::Writer, word).unwrap().who);
        page.write(Part::line(16), access(1, 1, 15));
        assert!(page.is_line(20));
        assert_eq!(writers(&page), [0, 1, 1, 1, 0]);
        page.write(Part::word(20), access(2, 1, 15));
        assert!(!page.is_line(16) && page.is_line(32));
        assert_eq!(writers(&page), [0, 1, 2, 1, 0]);
        page.unite(16);
        assert!(!page.is_line(16));
        for round in 0..3 {
            (16..32).for_each(|word| page.write(Part::word(word), access(3 + round, 1, 15)));
            page.unite(31);
            assert!(page.is_line(16));
            assert_eq!(writers(&page), [0, 3 + round, 3 + round, 3 + round, 0]);
        }
        // The room for words was used again.
        assert_eq!(page.0[0].as_ref().unwrap().apart.len(), 1);
    }
}
