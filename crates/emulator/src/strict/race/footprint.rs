//! What a launch has touched of device memory, for those who compare it with another launch or a copy.

use std::ops::Range;

use super::cells::{LINE, Page, Role, Stamp, WORDS, page_address};
use super::{Races, lock};

/// The most pieces that are remembered; a launch that touches more of them apart has an incomplete footprint.
const MOST: usize = 1 << 20;

/// Bytes of the longest atomic variable.
const LONGEST_ATOMIC: u64 = 8;

/// Bytes in a row that one instruction has touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    pub bytes: Range<u64>,
    /// The instruction's address; 0 of a copy.
    pub pc: u64,
    /// The first of its waves.
    pub workgroup: [u32; 3],
    pub wave: u32,
    /// Of the device's scope, and what a store or load may be.
    bits: u32,
}

/// All that it has touched: pieces by address, apart from each other.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Footprint {
    pub writes: Vec<Touched>,
    pub reads: Vec<Touched>,
    /// There were more pieces than are remembered.
    pub is_incomplete: bool,
}

/// Two that touch the same bytes, one of them writing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub earlier: Touched,
    pub later: Touched,
    pub earlier_writes: bool,
    pub later_writes: bool,
    /// The first byte that both touch, the last, and how many there are, of all instructions.
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
}

impl Touched {
    /// By a copy, or a fill.
    pub fn by_copy(bytes: Range<u64>) -> Touched {
        Touched { bytes, pc: 0, workgroup: [0; 3], wave: 0, bits: 0 }
    }

    fn stamp(&self) -> Stamp {
        Stamp { bits: self.bits, ..Stamp::default() }
    }

    fn may_be_atomic(&self) -> bool {
        let is_alone = self.bytes.end - self.bytes.start <= LONGEST_ATOMIC;
        self.stamp().has(Stamp::DEVICE | Stamp::ATOMIC) || is_alone && self.stamp().has(Stamp::SMALL)
    }

    /// Reads what an atomic variable holds.
    fn looks(&self) -> bool {
        self.stamp().has(Stamp::LEARNS)
    }
}

/// Whether two accesses of different launches are both of an atomic variable.
fn are_atomic(a: &Stamp, b: &Stamp) -> bool {
    let is_atomic = |one: &Stamp| one.has(Stamp::DEVICE | Stamp::ATOMIC);
    let may_be = |one: &Stamp| is_atomic(one) || one.has(Stamp::SMALL);
    is_atomic(a) && may_be(b)
        || is_atomic(b) && may_be(a)
        || a.has(Stamp::SMALL_READ) && b.has(Stamp::ATOMIC)
        || b.has(Stamp::SMALL_READ) && a.has(Stamp::ATOMIC)
}

impl Footprint {
    /// What a copy reads and writes, or a fill.
    pub fn of_copy(read: Option<Range<u64>>, written: Range<u64>) -> Footprint {
        let reads = read.into_iter().map(Touched::by_copy).collect();
        Footprint { writes: vec![Touched::by_copy(written)], reads, is_incomplete: false }
    }

    /// Another piece of the same copy.
    pub fn add(&mut self, other: Footprint) {
        for (all, more) in [(&mut self.writes, other.writes), (&mut self.reads, other.reads)] {
            let in_order = all.last().zip(more.first()).is_none_or(|(last, next)| last.bytes.end <= next.bytes.start);
            all.extend(more);
            if !in_order {
                *all = apart(std::mem::take(all));
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty()
    }

    /// What this one and a later one do to the same bytes. Nothing, if one looks at an atomic variable that the other
    /// writes: that may be what orders them.
    pub fn conflict(&self, later: &Footprint) -> Option<Conflict> {
        let mut found: Option<Conflict> = None;
        let sides = [
            (&self.writes, &later.writes, true, true),
            (&self.writes, &later.reads, true, false),
            (&self.reads, &later.writes, false, true),
        ];
        for (earlier, later, earlier_writes, later_writes) in sides {
            let (mut i, mut j) = (0, 0);
            while let (Some(a), Some(b)) = (earlier.get(i), later.get(j)) {
                let (start, end) = (a.bytes.start.max(b.bytes.start), a.bytes.end.min(b.bytes.end));
                if start < end {
                    if !are_atomic(&a.stamp(), &b.stamp()) {
                        let conflict = found.get_or_insert_with(|| Conflict {
                            earlier: a.clone(),
                            later: b.clone(),
                            earlier_writes,
                            later_writes,
                            first: start,
                            last: end - 1,
                            bytes: 0,
                        });
                        conflict.bytes += end - start;
                        conflict.last = conflict.last.max(end - 1);
                    } else if earlier_writes && b.looks() || later_writes && a.looks() {
                        return None;
                    }
                }
                if a.bytes.end <= b.bytes.end { i += 1 } else { j += 1 }
            }
        }
        found
    }

    /// The piece with a byte that something else touches meanwhile, and whether the piece writes it. Nothing if neither of
    /// them writes.
    pub fn touches(&self, address: u64, other_writes: bool) -> Option<(&Touched, bool)> {
        let read = || piece_at(&self.reads, address).filter(|_| other_writes).map(|piece| (piece, false));
        piece_at(&self.writes, address).map(|piece| (piece, true)).or_else(read)
    }

    /// Whether some of these bytes may be an atomic variable's: what touches it, too, may be ordered by it. Where stores do
    /// not say whether they are atomic, a word that is stored alone may be one.
    pub fn has_atomic(&self, bytes: &Range<u64>) -> bool {
        [&self.writes, &self.reads].into_iter().any(|pieces| {
            let first = pieces.partition_point(|piece| piece.bytes.end <= bytes.start);
            let mut meeting = pieces[first..].iter().take_while(|piece| piece.bytes.start < bytes.end);
            meeting.any(Touched::may_be_atomic)
        })
    }
}

fn piece_at(pieces: &[Touched], address: u64) -> Option<&Touched> {
    let first = pieces.partition_point(|piece| piece.bytes.end <= address);
    pieces.get(first).filter(|piece| piece.bytes.start <= address)
}

/// Pieces in order of their addresses; what several of them touch, the first has.
fn apart(mut pieces: Vec<Touched>) -> Vec<Touched> {
    pieces.sort_by_key(|piece| piece.bytes.start);
    let mut all: Vec<Touched> = Vec::with_capacity(pieces.len());
    for mut piece in pieces {
        if let Some(last) = all.last() {
            piece.bytes.start = piece.bytes.start.max(last.bytes.end);
        }
        if !piece.bytes.is_empty() {
            all.push(piece);
        }
    }
    all
}

/// Pieces that are put together in order.
#[derive(Default)]
struct Pieces(Vec<Touched>);

impl Pieces {
    fn add(&mut self, races: &Races, code: u64, bytes: Range<u64>, by: &Stamp) {
        const KIND: u32 = Stamp::ATOMIC | Stamp::DEVICE | Stamp::SMALL | Stamp::SMALL_READ | Stamp::LEARNS;
        let (pc, bits) = (code & !0xffff_ffff | u64::from(by.pc), by.bits & KIND);
        match self.0.last_mut() {
            Some(last) if (last.bytes.end, last.pc, last.bits) == (bytes.start, pc, bits) => last.bytes.end = bytes.end,
            _ => {
                let (workgroup, wave) = races.place_of(by.who);
                self.0.push(Touched { bytes, pc, workgroup, wave, bits });
            }
        }
    }
}

/// The bytes of a word, or of a line's words, which all have the same of them.
fn bytes_of(start: u64, words: usize, mask: u32) -> impl Iterator<Item = Range<u64>> {
    let (count, step, mut left) = if mask == Stamp::BYTES { (1, 4 * words as u64, 1) } else { (words, 4, mask) };
    let mut pieces = Vec::new();
    while left != 0 {
        let (skip, len) = (left.trailing_zeros(), (left >> left.trailing_zeros()).trailing_ones());
        left &= !(((1 << len) - 1) << skip);
        let len = if mask == Stamp::BYTES { step } else { len.into() };
        pieces.push((u64::from(skip), len));
    }
    (0..count as u64).flat_map(move |word| {
        pieces.clone().into_iter().map(move |(skip, len)| start + step * word + skip..start + step * word + skip + len)
    })
}

impl Races {
    /// What the launch has touched, whose code is near an address. Of a word whose bytes several instructions have
    /// touched, it has those of the last one.
    pub fn footprint(&self, code: u64) -> Footprint {
        let mut shards: Vec<_> = self.shards.iter().map(lock).collect();
        let mut pages: Vec<(u64, &Page)> = shards.iter_mut().flat_map(|shard| shard.pages.all()).collect();
        pages.sort_unstable_by_key(|(number, _)| *number);
        let (mut writes, mut reads) = (Pieces::default(), Pieces::default());
        for (number, page) in pages {
            let mut word = 0;
            while word < WORDS {
                let words = if page.is_line(word) { LINE } else { 1 };
                let address = page_address(number) + 4 * word as u64;
                let by = |role: Role| page.get(role, word).filter(|stamp| stamp.who != 0);
                if let Some(writer) = by(Role::Writer) {
                    let bytes = bytes_of(address, words, writer.bits & Stamp::BYTES);
                    bytes.for_each(|bytes| writes.add(self, code, bytes, writer));
                }
                let (reader, another) = (by(Role::Reader), by(Role::Another));
                if let Some(first) = reader.or(another) {
                    let mask = [reader, another].into_iter().flatten().fold(0, |all, one| all | one.bits);
                    bytes_of(address, words, mask & Stamp::BYTES).for_each(|bytes| reads.add(self, code, bytes, first));
                }
                word += words;
            }
            if writes.0.len() + reads.0.len() > MOST {
                return Footprint { writes: writes.0, reads: reads.0, is_incomplete: true };
            }
        }
        Footprint { writes: writes.0, reads: reads.0, is_incomplete: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: Range<u64>, bits: u32) -> Touched {
        Touched { bits, ..Touched::by_copy(bytes) }
    }

    fn footprint(writes: &[(Range<u64>, u32)], reads: &[(Range<u64>, u32)]) -> Footprint {
        let all = |pieces: &[(Range<u64>, u32)]| pieces.iter().map(|(bytes, bits)| one(bytes.clone(), *bits)).collect();
        Footprint { writes: all(writes), reads: all(reads), is_incomplete: false }
    }

    #[test]
    fn footprints_conflict_where_both_touch_a_byte_and_one_writes_it() {
        let fill = footprint(&[(0..40, 0), (100..140, 0)], &[]);
        let reads = |bytes: Range<u64>| footprint(&[], &[(bytes, 0)]);
        assert_eq!(fill.conflict(&reads(40..100)), None);
        assert_eq!(reads(0..200).conflict(&reads(0..200)), None);
        let found = fill.conflict(&reads(39..102)).expect("three bytes");
        assert_eq!((found.first, found.last, found.bytes), (39, 101, 3));
        assert_eq!((found.earlier_writes, found.later_writes), (true, false));
        let found = reads(130..150).conflict(&fill).expect("ten bytes");
        assert_eq!((found.first, found.bytes, found.earlier_writes), (130, 10, false));
        assert_eq!(fill.conflict(&fill).expect("all").bytes, 80);
    }

    #[test]
    fn atomics_do_not_conflict_and_one_that_is_looked_at_may_order_the_rest() {
        let counts = footprint(&[(0..4, Stamp::ATOMIC), (64..68, 0)], &[]);
        assert_eq!(counts.conflict(&footprint(&[(0..4, Stamp::ATOMIC)], &[])), None);
        assert!(counts.conflict(&footprint(&[(0..4, Stamp::ATOMIC)], &[(64..68, 0)])).is_some());
        let waits = Stamp::DEVICE | Stamp::LEARNS;
        assert_eq!(counts.conflict(&footprint(&[], &[(0..4, waits), (64..68, 0)])), None);
        assert!(counts.conflict(&footprint(&[], &[(0..4, 0), (64..68, 0)])).is_some());
    }

    #[test]
    fn a_byte_is_found_in_the_piece_that_has_it_and_a_read_of_it_only_by_what_writes() {
        let all = footprint(&[(0..4, 0), (64..68, 0)], &[(16..32, 0), (66..80, 0)]);
        let found = |address, writes| all.touches(address, writes).map(|(piece, writes)| (piece.bytes.start, writes));
        assert_eq!(
            [0, 3, 4, 64, 67, 68].map(|at| found(at, false)),
            [Some((0, true)), Some((0, true)), None, Some((64, true)), Some((64, true)), None]
        );
        assert_eq!(
            [15, 16, 31, 32, 67, 68].map(|at| found(at, true)),
            [None, Some((16, false)), Some((16, false)), None, Some((64, true)), Some((66, false))]
        );
    }

    #[test]
    fn atomic_variables_are_seen_among_bytes_that_meet_them() {
        let writes = [(0..4, 0), (64..68, Stamp::ATOMIC), (100..108, Stamp::SMALL), (200..212, Stamp::SMALL)];
        let all = footprint(&writes, &[(16..20, Stamp::DEVICE), (32..80, 0)]);
        let seen = [0..16, 0..17, 20..64, 67..100, 68..100, 107..108, 108..300].map(|bytes| all.has_atomic(&bytes));
        assert_eq!(seen, [false, true, false, true, false, true, false]);
    }

    #[test]
    fn words_and_lines_have_the_bytes_of_their_masks() {
        let all = |words, mask| bytes_of(64, words, mask).map(|bytes| (bytes.start, bytes.end)).collect::<Vec<_>>();
        assert_eq!(all(1, 0b1111), [(64, 68)]);
        assert_eq!(all(16, 0b1111), [(64, 128)]);
        assert_eq!(all(1, 0b1101), [(64, 65), (66, 68)]);
        assert_eq!(all(2, 0b0110), [(65, 67), (69, 71)]);
    }

    #[test]
    fn pieces_of_a_copy_that_overlap_are_put_apart() {
        let mut copy = Footprint::of_copy(Some(100..110), 0..10);
        copy.add(Footprint::of_copy(Some(105..120), 20..30));
        copy.add(Footprint::of_copy(None, 5..22));
        let bytes = |pieces: &[Touched]| pieces.iter().map(|piece| piece.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(bytes(&copy.writes), [0..10, 10..22, 22..30]);
        assert_eq!(bytes(&copy.reads), [100..110, 110..120]);
    }
}
