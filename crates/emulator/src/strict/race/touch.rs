//! What an access to device memory touches, and which earlier one it races with.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use super::cells::{LINE_BYTES, Page, Part, ROLES, Role, Stamp, page_of, word_of};
use super::coherence::Scope;
use super::group::Watched;
use super::known::{Done, Told};
use super::{Chain, Chains, Shard};
use crate::strict::order::Order;

/// An access to device memory that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub wave: u16,
    pub pc: u64,
    pub writes: bool,
    /// A read-modify-write, and whether the old value comes back.
    pub atomic: Option<bool>,
    pub scope: Scope,
    /// Bytes of a lane.
    pub size: u64,
    /// Whether a store of this processor says whether it is atomic.
    pub marked: bool,
    /// As [`Watched::issue`] gave it, and where the wave's waits count it.
    pub seq: u32,
    pub stream: usize,
}

impl Access {
    fn stamp(&self, who: u32) -> Stamp {
        let scope = match self.scope {
            Scope::Plain => 0,
            Scope::Group => Stamp::GROUP,
            Scope::Device => Stamp::GROUP | Stamp::DEVICE,
        };
        let small = match (self.size <= 8, self.writes) {
            (true, true) if !self.marked => Stamp::SMALL,
            (true, false) if self.scope == Scope::Plain => Stamp::SMALL_READ,
            _ => 0,
        };
        let atomic = if self.atomic.is_some() { Stamp::ATOMIC } else { 0 };
        let learns = match self.atomic {
            Some(returns) => returns,
            None => !self.writes && self.scope != Scope::Plain,
        };
        let learns = if learns { Stamp::LEARNS } else { 0 };
        let bits = atomic | scope | small | learns | (self.stream as u32) << Stamp::STREAM;
        Stamp { who, seq: self.seq, pc: self.pc as u32, bits }
    }
    fn reads(&self) -> bool {
        !self.writes || self.atomic == Some(true)
    }
    /// What it reads may come from a cache of its compute unit.
    pub fn is_cached(&self) -> bool {
        !self.writes && self.scope == Scope::Plain
    }
}

/// An access that races with the one under way.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    pub lane: usize,
    pub address: u64,
    pub pc: u64,
    pub wrote: bool,
    /// This access may be the first load of a loop that compares and swaps, which compilers make a plain one.
    pub may_compare: bool,
    pub lack: Lack,
    pub group: [u32; 3],
    pub wave: u32,
}

/// What would have ordered two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    Order,
    /// The earlier one was begun before a barrier and not waited for.
    Wait,
    /// The reader has not invalidated its caches since.
    Invalidation,
}

/// Where lanes access memory: each one's number and address.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    /// The wave's first lanes up to a number; each accesses what lies behind the lane before it.
    Row {
        start: u64,
        count: usize,
    },
    List(&'a [(usize, u64)]),
}

impl Places<'_> {
    fn len(&self) -> usize {
        match self {
            Places::Row { count, .. } => *count,
            Places::List(list) => list.len(),
        }
    }

    /// The address of the first.
    pub fn first(&self) -> Option<u64> {
        match self {
            Places::Row { start, .. } => Some(*start),
            Places::List(list) => list.first().map(|&(_, at)| at),
        }
    }

    fn lane(&self, place: usize) -> usize {
        match self {
            Places::Row { .. } => place,
            Places::List(list) => list[place].0,
        }
    }
}

/// Bytes in a row that lanes touch, which stand in a row among the access's places.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The first of the places, and how many they are.
    place: usize,
    count: usize,
    start: u64,
    end: u64,
}

impl Run {
    fn words(&self) -> impl Iterator<Item = u64> {
        self.start >> 2..self.end.div_ceil(4)
    }
}

/// What lanes touch, `size` bytes each. `once`: what the lane before has touched as well does not count.
fn runs(places: Places<'_>, size: u64, once: bool, runs: &mut Vec<Run>) {
    runs.clear();
    let places = match places {
        Places::Row { start, count } => {
            return runs.push(Run { place: 0, count, start, end: start.saturating_add(size * count as u64) });
        }
        Places::List(list) => list,
    };
    let (Some(&(_, start)), Some(&(_, last)), true) = (places.first(), places.last(), size != 0) else { return };
    let end = last.saturating_add(size);
    // Whether all lie in a row, their ends say if they do not; and no branch in the loop does.
    let next = |(odd, next): (u64, u64), &(_, at): &(usize, u64)| (odd | at ^ next, next.wrapping_add(size));
    if end.checked_sub(start) == Some(size.wrapping_mul(places.len() as u64))
        && places.iter().fold((0, start), next).0 == 0
    {
        return runs.push(Run { place: 0, count: places.len(), start, end });
    }
    let mut open = Run { place: 0, count: 1, start, end: start.saturating_add(size) };
    for (place, &(_, start)) in places.iter().enumerate().skip(1) {
        let end = start.saturating_add(size);
        if once && open.start <= start && end <= open.end {
            continue;
        }
        if open.end == start && open.place + open.count == place {
            (open.count, open.end) = (open.count + 1, end);
        } else {
            runs.push(std::mem::replace(&mut open, Run { place, count: 1, start, end }));
        }
    }
    runs.push(open);
}

/// How far an access has come.
struct Progress<'a> {
    access: &'a Access,
    by: Stamp,
    /// What a write tells.
    told: Option<&'a Told>,
    /// Of an atomic: what others told on the word is told on.
    joins: bool,
    /// The run, and the address in it.
    run: usize,
    at: u64,
    /// Up to here, words are looked at one by one.
    apart: u64,
    /// Whether the word there has been judged, and whether it gets what it holds.
    judged: Option<bool>,
    /// Nothing orders the word's last writer and this store, both of an atomic variable.
    beside: bool,
    writers: Judge,
    readers: Judge,
    /// The access that was asked about last, and whether the wave has learned of it.
    learned: Option<(u32, u32, bool)>,
    /// Those that it has: a word's last writer and its reader may both be among them.
    cleared: SmallVec<[(u32, u32); 4]>,
}

impl Progress<'_> {
    /// The lane that touches the byte there, as a place of the access, and where what it touches ends.
    fn lane(&self, run: &Run) -> (usize, u64) {
        if run.count == 1 {
            return (run.place, run.end);
        }
        let before = (self.at - run.start) / self.access.size;
        (run.place + before as usize, run.start.saturating_add((before + 1) * self.access.size))
    }

    /// How many words from there on a read touches as one: whole words of a line that remember the same.
    fn words_alike(&self, page: &Page, run: &Run) -> usize {
        let at = self.at;
        let is_plain = !self.access.writes && self.judged.is_none() && self.apart <= at;
        if !is_plain || !(at | self.access.size).is_multiple_of(4) {
            return 0;
        }
        let end = run.end.min((at | (LINE_BYTES - 1)).saturating_add(1));
        let count = ((end - at) / 4) as usize;
        if count > 1 && page.is_alike(word_of(at), count) { count } else { 0 }
    }

    fn advance(&mut self, next: u64, touched: &[Run]) {
        self.at = next;
        if next == touched[self.run].end {
            self.run += 1;
            self.at = touched.get(self.run).map_or(0, |run| run.start);
        }
    }
}

impl Watched {
    /// Notes an access, and gives one that it races with. `told` is what a write tells. `same`: whether what a lane stores
    /// is in memory already, which is no race.
    pub fn touch(
        &mut self,
        order: &Order,
        access: &Access,
        places: Places<'_>,
        told: Option<&Told>,
        done: Done,
        same: &dyn Fn(usize) -> bool,
    ) -> Option<Race> {
        let mut touched = std::mem::take(&mut self.touched);
        runs(places, access.size, !access.writes, &mut touched);
        let by = access.stamp(self.who(access.wave));
        self.has_stored |= access.writes && access.atomic.is_none();
        let joins = access.atomic.is_some_and(|returns| {
            returns
                || places.len() == 1
                || self.has_stored && told.is_some_and(|told| self.races.affords(told, places.len()))
        });
        let (writers, readers) = (Judge::default(), Judge::default());
        let at = touched.first().map_or(0, |run| run.start);
        let mut progress = Progress {
            access,
            by,
            told,
            joins,
            run: 0,
            at,
            apart: 0,
            judged: None,
            beside: false,
            writers,
            readers,
            learned: None,
            cleared: SmallVec::new(),
        };
        let (mut found, mut nearby) = (None, false);
        while progress.run < touched.len() {
            let page = page_of(progress.at);
            let obstacle = self.pass(order, &mut self.races.shard(page), page, &touched, &mut progress);
            let Some((earlier, wrote)) = obstacle else { continue };
            if !std::mem::replace(&mut nearby, true) && !self.races.within.invalidates {
                // Who waits for a wave of its own workgroup needs no caches invalidated.
                self.acquire_nearby(order, access.wave, done);
                progress.writers = Judge::default();
                continue;
            }
            if !access.is_cached() {
                let (who, seq) = (earlier.who, earlier.seq);
                let knows = match progress.learned {
                    Some((last, number, knows)) if (last, number) == (who, seq) => knows,
                    _ => self.has_learned(order, access.wave, &earlier, done),
                };
                progress.learned = Some((who, seq, knows));
                if knows {
                    progress.cleared.push((who, seq));
                    continue;
                }
            }
            let (lane, address) = (places.lane(progress.lane(&touched[progress.run]).0), progress.at);
            let silent = access.writes && access.atomic.is_none() && same(lane);
            progress.judged = Some(silent);
            if found.is_none() && !silent {
                let (group, wave) = self.races.place_of(earlier.who);
                let pc = access.pc & !0xffff_ffff | u64::from(earlier.pc);
                let may_compare = earlier.has(Stamp::ATOMIC) && by.has(Stamp::SMALL_READ);
                let lack = self.lack(order, access, &earlier);
                found = Some(Race { lane, address, pc, wrote, may_compare, lack, group, wave });
            }
        }
        if access.scope != Scope::Plain && access.reads() {
            let words = touched.iter().flat_map(Run::words);
            words.for_each(|word| self.look(access.wave, word, access.seq, access.stream));
        }
        self.touched = touched;
        found
    }

    /// Notes an access in the words of one page, up to one where another access is in its way; whether that writes.
    /// What a word remembers and what is told on it change together: other workgroups run meanwhile.
    fn pass(
        &self,
        order: &Order,
        shard: &mut Shard,
        number: u64,
        touched: &[Run],
        progress: &mut Progress<'_>,
    ) -> Option<(Stamp, bool)> {
        let writes = progress.access.writes;
        let Shard { pages, chains } = shard;
        let page = pages.page(number);
        while let Some(run) = touched.get(progress.run)
            && page_of(progress.at) == number
        {
            let at = progress.at;
            let word = word_of(at);
            let has_line = at.is_multiple_of(LINE_BYTES) && run.end - at >= LINE_BYTES;
            let is_line = has_line && progress.apart <= at && page.is_line(word);
            let alike = if is_line { 0 } else { progress.words_alike(page, run) };
            let (part, bytes, next) = if is_line {
                (Part::line(word), Stamp::BYTES, at + LINE_BYTES)
            } else if alike > 1 {
                (Part::words(word, alike), Stamp::BYTES, at + 4 * alike as u64)
            } else {
                let next = (at | 3).saturating_add(1).min(progress.lane(run).1);
                (Part::word(word), ((1u32 << (next - at)) - 1) << (at & 3), next)
            };
            let by = Stamp { bits: progress.by.bits | bytes, ..progress.by };
            let judged = progress.judged.take();
            if judged.is_none()
                && let Some(obstacle) = self.obstacle(order, page, word, &by, progress)
            {
                if part.is_several() {
                    progress.apart = next;
                    continue;
                }
                return Some(obstacle);
            }
            match writes {
                true if judged == Some(true) => {}
                true => {
                    if progress.joins || progress.beside || !chains.is_empty() {
                        self.tell_on(chains, at >> 2..next.div_ceil(4), page.get(Role::Writer, word), progress);
                    }
                    page.write(part, by);
                }
                false => page
                    .read(part, by, |reader| progress.readers.clears(self, order, progress.access.wave, false, reader)),
            }
            if !is_line && next.is_multiple_of(LINE_BYTES) && next - run.start >= LINE_BYTES {
                page.unite(word);
            }
            progress.advance(next, touched);
        }
        None
    }

    /// What a word remembers that is in an access's way; whether that writes.
    #[inline(always)]
    fn obstacle(
        &self,
        order: &Order,
        page: &Page,
        word: usize,
        by: &Stamp,
        progress: &mut Progress<'_>,
    ) -> Option<(Stamp, bool)> {
        progress.beside = false;
        let roles = if progress.access.writes { &ROLES[..] } else { &ROLES[..1] };
        roles.iter().find_map(|&role| {
            let earlier = page.get(role, word)?;
            let is_unordered = earlier.who != 0
                && earlier.who != by.who
                && earlier.has(by.bits & Stamp::BYTES)
                && !progress.writers.clears(self, order, progress.access.wave, progress.access.is_cached(), earlier)
                && !progress.cleared.contains(&(earlier.who, earlier.seq));
            if is_unordered && self.are_atomic(earlier, by) {
                progress.beside |= role == Role::Writer && progress.access.atomic.is_none();
                return None;
            }
            is_unordered.then_some((*earlier, role == Role::Writer))
        })
    }

    /// What is told on words that are about to be written: an atomic adds to what those before it told, a store begins
    /// anew, unless a reader may find either what it stores or what was there. `writer` is who wrote them last.
    #[cold]
    fn tell_on(&self, chains: &mut Chains, words: Range<u64>, writer: Option<&Stamp>, progress: &Progress<'_>) {
        let (access, Some(told)) = (progress.access, progress.told) else { return };
        for word in words {
            if progress.joins || progress.beside {
                let chain = chains.entry(word).or_insert_with(|| {
                    let mut chain = Chain::default();
                    if let Some(writer) = writer.filter(|writer| self.is_told_by(access.wave, writer))
                        && let Some(head) = self.races.told(writer.who, writer.seq)
                    {
                        head.join_into(&mut chain.known, writer.seq);
                        self.races.note(&chain.log, &head, writer.seq);
                    }
                    chain
                });
                told.join_into(&mut chain.known, access.seq);
                self.races.note(&chain.log, told, access.seq);
                chain.changed = self.races.changes.fetch_add(1, Relaxed);
            } else if access.atomic.is_none() {
                chains.remove(&word);
            }
        }
    }

    /// Whether two accesses are both of an atomic variable, as far as the waves are apart.
    fn are_atomic(&self, earlier: &Stamp, later: &Stamp) -> bool {
        let scope = self.scope_of(earlier.who);
        let (a, b) = (earlier.has(scope), later.has(scope));
        a && (b || later.has(Stamp::SMALL))
            || b && earlier.has(Stamp::SMALL)
            || earlier.has(Stamp::SMALL_READ) && later.has(Stamp::ATOMIC)
    }
}

/// Neighbours were mostly touched by the same access.
#[derive(Default)]
struct Judge {
    /// The last access that was judged, and whether it is ordered.
    verdict: (u32, u32, bool),
}

impl Judge {
    #[inline(always)]
    fn clears(&mut self, watched: &Watched, order: &Order, wave: u16, cached: bool, earlier: &Stamp) -> bool {
        if (self.verdict.0, self.verdict.1) != (earlier.who, earlier.seq) {
            self.verdict = (earlier.who, earlier.seq, watched.is_ordered(order, wave, earlier, cached));
        }
        self.verdict.2
    }
}
