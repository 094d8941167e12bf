//! Where the instructions of instrumented code came from.
//!
//! An instrumented object holds copies of original code with inserted instructions among them. For each original
//! instruction exactly one new instruction stands for it; the map has that pair of addresses. Code outside every
//! instrumented range is the application's own, unmoved.
//!
//! Some stand-ins are another operation than the original: a hint that does not hold any more is an `s_nop`, a call through
//! a register an `s_call_b64`. Of these the map has the original's words as well, so that it can be counted as itself.
//!
//! Encoding (section `.luthier.origin`): the bytes `LORG`, a version byte 2, then LEB128 numbers. The count of ranges;
//! for each range its start less the last range's end, its length, and its count of pairs; for each pair the new
//! address less the last new one (the range's start at first), shifted left by one. The low bit is 0 when the original
//! address went on by just as much, else 1 and a zigzag number follows: how much the original went on. Where nothing is
//! inserted an instruction takes one byte. Behind the ranges the count of stand-ins of another operation; for each its
//! address less the last one's, the count of the original's words (1 to 5), and the words.

use std::ops::Range;

use crate::LoadError;
use crate::leb::{Bad, Input, put};

const MAGIC: &[u8; 5] = b"LORG\x02";

/// Instrumented code, `new` addresses, and the pairs that lie in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginRange {
    pub start: u64,
    pub end: u64,
    /// Index range into [`OriginMap::pairs`].
    pairs: Range<usize>,
}

/// New address to original address, for the instructions of the instrumented ranges that stand for original ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OriginMap {
    ranges: Vec<OriginRange>,
    pairs: Vec<(u64, u64)>,
    others: Vec<(u64, Vec<u32>)>,
}

/// An instruction has no more words.
const MOST_WORDS: u64 = 5;

impl OriginMap {
    /// The name of the section that holds it.
    pub const SECTION: &'static str = ".luthier.origin";

    pub fn builder() -> OriginMapBuilder {
        OriginMapBuilder::default()
    }

    /// The original address of the instruction at `vaddr`; `None` for an inserted instruction, and for any address
    /// outside of the instrumented ranges.
    pub fn origin(&self, vaddr: u64) -> Option<u64> {
        self.pairs.binary_search_by_key(&vaddr, |pair| pair.0).ok().map(|index| self.pairs[index].1)
    }

    /// The words of the original instruction, where the one at `vaddr` stands for it and is another operation.
    pub fn original_words(&self, vaddr: u64) -> Option<&[u32]> {
        self.others.binary_search_by_key(&vaddr, |other| other.0).ok().map(|index| &*self.others[index].1)
    }

    /// Whether `vaddr` lies in instrumented code.
    pub fn covers(&self, vaddr: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= vaddr);
        after != 0 && vaddr < self.ranges[after - 1].end
    }

    /// Whether the instruction at `vaddr` is the application's: a copy of one of its instructions, or one outside of
    /// all instrumented code.
    pub fn is_application(&self, vaddr: u64) -> bool {
        !self.covers(vaddr) || self.origin(vaddr).is_some()
    }

    /// By address.
    pub fn ranges(&self) -> &[OriginRange] {
        &self.ranges
    }

    /// `(new, original)`, by new address.
    pub fn pairs(&self) -> &[(u64, u64)] {
        &self.pairs
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pairs.iter().copied()
    }

    pub fn encode(&self) -> Vec<u8> {
        // Where nothing is inserted an instruction takes one byte, elsewhere two or three.
        let mut out = Vec::with_capacity(MAGIC.len() + 2 * self.pairs.len());
        out.extend_from_slice(MAGIC);
        put(&mut out, self.ranges.len() as u64);
        let (mut end, mut original) = (0, 0u64);
        for range in &self.ranges {
            put(&mut out, range.start - end);
            put(&mut out, range.end - range.start);
            put(&mut out, range.pairs.len() as u64);
            end = range.end;
            let mut new = range.start;
            for &(next_new, next_original) in &self.pairs[range.pairs.clone()] {
                let step = next_new - new;
                let original_step = next_original.wrapping_sub(original);
                // The shift must not lose the step's highest bit, which no code address has: `finish` sees to it.
                put(&mut out, step << 1 | u64::from(original_step != step));
                if original_step != step {
                    let signed = original_step as i64;
                    put(&mut out, ((signed << 1) ^ (signed >> 63)) as u64);
                }
                (new, original) = (next_new, next_original);
            }
        }
        put(&mut out, self.others.len() as u64);
        let mut last = 0;
        for (address, words) in &self.others {
            put(&mut out, address - last);
            put(&mut out, words.len() as u64);
            words.iter().for_each(|word| put(&mut out, u64::from(*word)));
            last = *address;
        }
        out
    }

    /// Refuses whatever `encode` does not write. Memory is bounded by 32 times the input.
    pub fn decode(bytes: &[u8]) -> Result<OriginMap, LoadError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(LoadError::BadOriginMap {
            offset: 0,
            reason: "it does not start with LORG and version 2; it was written by another version",
        })?;
        let bad = |(offset, reason)| LoadError::BadOriginMap { offset: offset + MAGIC.len(), reason };
        OriginMap::read(&mut Input::new(body)).map_err(bad)
    }

    fn read(input: &mut Input<'_>) -> Result<OriginMap, Bad> {
        let mut map = OriginMap::default();
        let (mut end, mut original) = (0u64, 0u64);
        let count = input.count()?;
        for _ in 0..count {
            let start = input.step(end, "the start of a range overflows")?;
            let range_end = input.step(start, "the end of a range overflows")?;
            let pairs = input.count()?;
            let first_pair = map.pairs.len();
            let mut new = start;
            for index in 0..pairs {
                let step = input.number()?;
                let (step, moved) = (step >> 1, step & 1 != 0);
                if step == 0 && index != 0 {
                    return Err(input.bad("two originals for one address"));
                }
                new = new
                    .checked_add(step)
                    .filter(|&new| new < range_end)
                    .ok_or_else(|| input.bad("an address beyond its range"))?;
                let original_step = if moved {
                    let zigzag = input.number()?;
                    (zigzag >> 1) ^ (zigzag & 1).wrapping_neg()
                } else {
                    step
                };
                original = original.wrapping_add(original_step);
                map.pairs.push((new, original));
            }
            map.ranges.push(OriginRange { start, end: range_end, pairs: first_pair..map.pairs.len() });
            end = range_end;
        }
        let mut last = 0;
        for index in 0..input.count()? {
            let address = input.step(last, "the address of a stand-in overflows")?;
            if index != 0 && address == last || map.origin(address).is_none() {
                return Err(input.bad("a stand-in of another operation that stands for nothing, or comes twice"));
            }
            let count = input.number()?;
            if !(1..=MOST_WORDS).contains(&count) {
                return Err(input.bad("an instruction of no words, or of too many"));
            }
            let mut words = Vec::with_capacity(count as usize);
            for _ in 0..count {
                words.push(input.small()?);
            }
            map.others.push((address, words));
            last = address;
        }
        if !input.is_empty() {
            return Err(input.bad("bytes after the end"));
        }
        Ok(map)
    }
}

/// Collects ranges and pairs in any order.
#[derive(Clone, Debug, Default)]
pub struct OriginMapBuilder {
    ranges: Vec<(u64, u64)>,
    pairs: Vec<(u64, u64)>,
    others: Vec<(u64, Vec<u32>)>,
}

impl OriginMapBuilder {
    /// `start..end` is instrumented code.
    pub fn range(&mut self, start: u64, end: u64) -> &mut Self {
        self.ranges.push((start, end));
        self
    }

    /// Instructions with what they stand for: `(new, original)`.
    pub fn pairs(&mut self, pairs: Vec<(u64, u64)>) -> &mut Self {
        if self.pairs.is_empty() {
            self.pairs = pairs;
        } else {
            self.pairs.extend(pairs);
        }
        self
    }

    /// The instruction at `new` stands for the one at `original`.
    pub fn push(&mut self, new: u64, original: u64) -> &mut Self {
        self.pairs.push((new, original));
        self
    }

    /// The instruction at `new`, which stands for another, is not of its operation: the original has these words.
    pub fn other(&mut self, new: u64, words: &[u32]) -> &mut Self {
        self.others.push((new, words.to_vec()));
        self
    }

    /// Fails on overlapping or empty ranges, pairs outside of all ranges, and two originals for one new address.
    pub fn finish(mut self) -> Result<OriginMap, LoadError> {
        let bad = |reason| LoadError::BadOriginMap { offset: 0, reason };
        self.ranges.sort_unstable();
        self.pairs.sort_unstable();
        if self.ranges.iter().any(|r| r.0 >= r.1 || r.1 > i64::MAX as u64) {
            return Err(bad("an instrumented range is empty, reversed or beyond 2^63"));
        }
        if self.ranges.windows(2).any(|w| w[0].1 > w[1].0) {
            return Err(bad("instrumented ranges overlap"));
        }
        if self.pairs.windows(2).any(|w| w[0].0 == w[1].0) {
            return Err(bad("two originals for one address"));
        }
        let mut ranges = Vec::with_capacity(self.ranges.len());
        let mut next = 0;
        for (start, end) in self.ranges {
            let first = next;
            if self.pairs.get(next).is_some_and(|pair| pair.0 < start) {
                return Err(bad("an address outside of every instrumented range"));
            }
            while self.pairs.get(next).is_some_and(|pair| pair.0 < end) {
                next += 1;
            }
            ranges.push(OriginRange { start, end, pairs: first..next });
        }
        if next != self.pairs.len() {
            return Err(bad("an address outside of every instrumented range"));
        }
        self.others.sort_unstable();
        let map = OriginMap { ranges, pairs: self.pairs, others: self.others };
        let stands = |(address, words): &(u64, Vec<u32>)| {
            map.origin(*address).is_some() && (1..=MOST_WORDS).contains(&(words.len() as u64))
        };
        if !map.others.iter().all(stands) || map.others.windows(2).any(|w| w[0].0 == w[1].0) {
            return Err(bad("a stand-in of another operation that stands for nothing, or comes twice"));
        }
        Ok(map)
    }
}
