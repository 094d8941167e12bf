//! What was written to memory when, and what was there before.

use std::collections::HashMap;
use std::ops::Range;

use super::Time;
use crate::choose::WaveId;

/// Bytes of memory whose writes are kept together.
const LINE: u64 = 64;
/// Bytes that are kept at most; what is older then cannot be seen any more.
const MOST: usize = 256 << 20;

/// An instruction of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct By {
    pub wave: WaveId,
    pub pc: u64,
}

/// One write, within a line.
struct Written {
    start: u64,
    before: Box<[u8]>,
    by: By,
    issued: Time,
    arrived: Time,
    scalar: bool,
}

/// What has arrived in memory, by line, in order.
#[derive(Default)]
pub struct History {
    lines: HashMap<u64, Vec<Written>>,
    bytes: usize,
}

/// Whether a load sees what a wave has written: issued when, arrived when, by a scalar instruction.
pub type IsVisible<'a> = dyn Fn(WaveId, Time, Option<Time>, bool) -> bool + 'a;

/// A place by lines.
pub fn lines_of(place: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (mut start, end) = (place.start, place.end);
    std::iter::from_fn(move || {
        let next = (start / LINE + 1).saturating_mul(LINE).min(end);
        let part = (start < end).then_some(start..next);
        start = next;
        part
    })
}

impl History {
    /// Some bytes, within a line, have become others.
    pub fn note(
        &mut self,
        start: u64,
        before: &[u8],
        after: &[u8],
        by: By,
        (issued, arrived): (Time, Time),
        scalar: bool,
    ) {
        if before == after {
            return;
        }
        self.bytes += before.len() + size_of::<Written>();
        if self.bytes > MOST {
            // Younger values are seen then: that is always possible.
            self.lines.clear();
            self.bytes = 0;
        }
        let written = Written { start, before: before.into(), by, issued, arrived, scalar };
        self.lines.entry(start / LINE).or_default().push(written);
    }

    /// Whether something was written to the line of a place.
    pub fn holds(&self, place: &Range<u64>) -> bool {
        self.lines.contains_key(&(place.start / LINE))
    }

    /// When something arrived among some bytes after a time, in order.
    pub fn times(&self, bytes: Range<u64>, after: Time) -> Vec<Time> {
        let lines = (bytes.start / LINE..bytes.end.div_ceil(LINE)).filter_map(|line| self.lines.get(&line));
        let mut times: Vec<Time> = lines.flatten().map(|written| written.arrived).filter(|at| *at > after).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Makes of what is in memory what a load sees that does not see all. The last write that it misses by that, and where.
    pub fn undo(&self, place: &Range<u64>, bytes: &mut [u8], is_visible: &IsVisible<'_>) -> Option<(By, u64)> {
        let there = bytes.to_vec();
        let mut is_settled = vec![false; bytes.len()];
        let mut undone: Vec<Option<By>> = vec![None; bytes.len()];
        for written in self.lines.get(&(place.start / LINE))?.iter().rev() {
            let is_seen = is_visible(written.by.wave, written.issued, Some(written.arrived), written.scalar);
            for (at, before) in (written.start..).zip(&written.before).filter(|(at, _)| place.contains(at)) {
                let at = (at - place.start) as usize;
                if is_settled[at] {
                    continue;
                }
                if is_seen {
                    is_settled[at] = true;
                } else {
                    bytes[at] = *before;
                    undone[at].get_or_insert(written.by);
                }
            }
        }
        let differs = |at: &usize| bytes[*at] != there[*at];
        let at = (0..bytes.len()).find(differs)?;
        Some((undone[at]?, place.start + at as u64))
    }

    /// The words that were at a place before each write to it.
    #[cfg(test)]
    pub fn values_before(&self, start: u64) -> Vec<u32> {
        let all = self.lines.get(&(start / LINE)).map(|line| line.iter()).unwrap_or_default();
        all.map(|written| written.before.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect()
    }
}
