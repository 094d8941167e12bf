//! Giving chunks their addresses, and making every branch reach.
//!
//! A branch reaches 32768 words either way. Where that is not enough it aims at an *island*, an `s_branch` that goes
//! the rest of the way or to the next island; islands need no register and change no state. They stand together in
//! pools, at labels some 64 KB apart; code that would fall into a pool jumps over it. Adding an island moves the code
//! behind it, so the layout is repeated until nothing is added any more.

use std::collections::HashMap;

pub mod chunk;

use luthier_isa::EncodeError;

use crate::machine::Operations;
use chunk::{Chunk, ChunkId, Fixup, Half, Place};

/// Bytes between pools.
const SITE_SPACING: u64 = 64 * 1024;
/// Farthest forward and backward a branch goes, in bytes from the following instruction.
const FORWARD: i64 = 32767 * 4;
const BACKWARD: i64 = -32768 * 4;
/// Kept free when a new link is made, since pools still grow.
const MARGIN: i64 = 16 * 1024;
/// Islands in a pool; the jump over it has to reach.
const POOL_LIMIT: usize = 16_000;

/// The instructions that the layout writes itself, with an immediate of zero.
#[derive(Clone, Copy, Debug)]
pub struct Filler {
    pub branch: u32,
    pub nop: u32,
}

impl Filler {
    /// # Errors
    /// They cannot be encoded.
    pub fn of(ops: &Operations) -> Result<Filler, EncodeError> {
        Ok(Filler { branch: ops.branch()?.words()[0], nop: ops.nop(1)?.words()[0] })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("{chunk}: the branch at word {word} of its copy reaches neither its target nor an island")]
    OutOfReach { chunk: String, word: u32 },
    #[error("the branches could not be laid out in {0} rounds")]
    NoFixpoint(usize),
}

/// A pool of islands in front of a label.
#[derive(Debug)]
struct Site {
    word: u32,
    jump_over: bool,
    islands: Vec<Place>,
    index: HashMap<Place, usize>,
    /// Of the pool's first byte.
    address: u64,
}

impl Site {
    fn size(&self) -> u64 {
        if self.islands.is_empty() { 0 } else { (self.islands.len() as u64 + u64::from(self.jump_over)) * 4 }
    }
    fn island_address(&self, i: usize) -> u64 {
        self.address + (i as u64 + u64::from(self.jump_over)) * 4
    }
}

/// Addresses for all chunks.
#[derive(Debug)]
pub struct Layout {
    bases: Vec<u64>,
    end: u64,
    sites: Vec<Site>,
    /// For each chunk, its sites: first and one past the last.
    sites_of: Vec<(usize, usize)>,
    /// Targets of branches that go through islands, by chunk and word of the branch.
    first_hop: HashMap<(usize, u32), (usize, usize)>,
    /// Where each island goes: to another island or (absent) to its place.
    next_hop: HashMap<(usize, usize), (usize, usize)>,
    start: u64,
    filler: Filler,
}

impl Layout {
    pub fn new(chunks: &[Chunk], start: u64, filler: Filler) -> Result<Layout, LayoutError> {
        let mut layout = Layout {
            bases: Vec::new(),
            end: start,
            sites: Vec::new(),
            sites_of: vec![(0, 0); chunks.len()],
            first_hop: HashMap::new(),
            next_hop: HashMap::new(),
            start,
            filler,
        };
        layout.assign(chunks);
        if layout.end - start <= FORWARD as u64 {
            return Ok(layout);
        }
        layout.choose_sites(chunks);
        const ROUNDS: usize = 40;
        for _ in 0..ROUNDS {
            layout.assign(chunks);
            if !layout.link(chunks)? {
                return Ok(layout);
            }
        }
        Err(LayoutError::NoFixpoint(ROUNDS))
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Addresses from sizes.
    fn assign(&mut self, chunks: &[Chunk]) {
        let mut at = self.start;
        self.bases.clear();
        for (i, chunk) in chunks.iter().enumerate() {
            at = at.next_multiple_of(chunk.align.max(4));
            self.bases.push(at);
            let (first, last) = self.sites_of[i];
            let mut pools = 0;
            for site in &mut self.sites[first..last] {
                site.address = at + u64::from(site.word) * 4 + pools;
                pools += site.size();
            }
            at += chunk.size() + pools;
        }
        self.end = at;
    }

    fn choose_sites(&mut self, chunks: &[Chunk]) {
        let mut last = self.start;
        for (i, chunk) in chunks.iter().enumerate() {
            let first = self.sites.len();
            for label in chunk.labels.iter().filter(|label| label.word >= chunk.fixed) {
                let address = self.bases[i] + u64::from(label.word) * 4;
                // The label of a function's entry comes behind those of its instructions.
                let Some(since) = address.checked_sub(last) else { continue };
                // A place that nothing falls into costs no jump: take it somewhat earlier.
                if since >= SITE_SPACING || !label.falls_in && since >= SITE_SPACING * 3 / 4 {
                    last = address;
                    self.sites.push(Site {
                        word: label.word,
                        jump_over: label.falls_in,
                        islands: Vec::new(),
                        index: HashMap::new(),
                        address: 0,
                    });
                }
            }
            self.sites_of[i] = (first, self.sites.len());
        }
    }

    /// The address of a word: of the first word behind the pools that stand in front of it.
    pub fn address(&self, chunk: usize, word: u32) -> u64 {
        let (first, last) = self.sites_of[chunk];
        let sites = &self.sites[first..last];
        let before = sites.partition_point(|s| s.word <= word);
        let plain = self.bases[chunk] + u64::from(word) * 4;
        match before.checked_sub(1).map(|i| &sites[i]) {
            Some(site) => site.address + site.size() + u64::from(word - site.word) * 4,
            None => plain,
        }
    }

    pub fn place(&self, chunks: &[Chunk], place: Place, variables: &[u64]) -> u64 {
        match place {
            Place::Label { chunk: ChunkId(c), label } => {
                let word = chunks[c as usize].labels[label as usize].word;
                self.address(c as usize, word)
            }
            Place::Original(vaddr) => vaddr,
            Place::Variable { index, offset } => variables[index as usize].wrapping_add_signed(offset),
        }
    }

    fn reaches(from: u64, to: u64, margin: i64) -> bool {
        let distance = to.wrapping_sub(from + 4) as i64;
        distance <= FORWARD - margin && distance >= BACKWARD + margin
    }

    /// Finds a way for every branch. True if the layout changed and has to be done again.
    fn link(&mut self, chunks: &[Chunk]) -> Result<bool, LayoutError> {
        self.first_hop.clear();
        self.next_hop.clear();
        let mut added = false;
        for (i, chunk) in chunks.iter().enumerate() {
            for fixup in &chunk.fixups {
                let Fixup::Branch { at, to } = *fixup else { continue };
                let from = self.address(i, at);
                let target = self.place(chunks, to, &[]);
                if Layout::reaches(from, target, 0) {
                    continue;
                }
                let stuck = || LayoutError::OutOfReach { chunk: chunk.name.clone(), word: at };
                added |= self.chain((i, at), from, to, target, stuck)?;
            }
        }
        Ok(added)
    }

    /// Leads one branch to its target by islands. True if one was added.
    fn chain(
        &mut self,
        branch: (usize, u32),
        mut from: u64,
        to: Place,
        target: u64,
        stuck: impl Fn() -> LayoutError,
    ) -> Result<bool, LayoutError> {
        let mut added = false;
        let mut previous: Option<(usize, usize)> = None;
        while !Layout::reaches(from, target, 0) {
            let (site, reach) = self.farthest(from, target, to).ok_or_else(&stuck)?;
            let pool = &mut self.sites[site];
            let island = match pool.index.get(&to) {
                Some(i) => *i,
                None if pool.islands.len() >= POOL_LIMIT => return Err(stuck()),
                None => {
                    added = true;
                    pool.islands.push(to);
                    pool.index.insert(to, pool.islands.len() - 1);
                    pool.islands.len() - 1
                }
            };
            match previous {
                None => self.first_hop.insert(branch, (site, island)),
                Some(hop) => self.next_hop.insert(hop, (site, island)),
            };
            previous = Some((site, island));
            from = reach;
        }
        Ok(added)
    }

    /// The site nearest to the target that is still within reach, with the address of the island there.
    fn farthest(&self, from: u64, target: u64, to: Place) -> Option<(usize, u64)> {
        let island = |i: usize| {
            let site = &self.sites[i];
            match site.index.get(&to) {
                Some(n) => (site.island_address(*n), 0),
                None => (site.island_address(site.islands.len()), MARGIN),
            }
        };
        let usable = |i: &usize| {
            let (address, margin) = island(*i);
            let progress = if target > from { address > from } else { address < from };
            progress && Layout::reaches(from, address, margin)
        };
        let here = self.sites.partition_point(|s| s.address <= from);
        let found = if target > from {
            // Addresses ascend, so the candidates are a run that begins at `here`.
            (here..self.sites.len())
                .take_while(|i| self.sites[*i].address < from + FORWARD as u64)
                .filter(usable)
                .last()
        } else {
            (0..here).rev().take_while(|i| self.sites[*i].address + 2 * FORWARD as u64 > from).filter(usable).last()
        };
        found.map(|i| (i, island(i).0))
    }

    /// The finished bytes, from the layout's start to its end. Padding is `s_nop 0`.
    pub fn emit(&self, chunks: &[Chunk], variables: &[u64]) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::with_capacity((self.end - self.start) as usize);
        for (i, chunk) in chunks.iter().enumerate() {
            while self.start + (out.len() as u64) < self.bases[i] {
                out.extend_from_slice(&self.filler.nop.to_le_bytes());
            }
            let words = self.fixed(chunks, i, variables);
            let mut done = 0;
            let (first, last) = self.sites_of[i];
            for s in first..last {
                let until = self.sites[s].word as usize;
                words[done..until].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
                done = until;
                self.emit_pool(chunks, s, variables, &mut out);
            }
            words[done..].iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
            debug_assert_eq!(chunk.words.len(), words.len());
        }
        out
    }

    fn emit_pool(&self, chunks: &[Chunk], s: usize, variables: &[u64], out: &mut Vec<u8>) {
        let site = &self.sites[s];
        if site.islands.is_empty() {
            return;
        }
        if site.jump_over {
            out.extend_from_slice(&(self.filler.branch | site.islands.len() as u32).to_le_bytes());
        }
        for (i, place) in site.islands.iter().enumerate() {
            let to = match self.next_hop.get(&(s, i)) {
                Some((site, island)) => self.sites[*site].island_address(*island),
                None => self.place(chunks, *place, variables),
            };
            let from = site.island_address(i);
            // An island that an earlier round wanted and the last one no longer uses may be too far from its place.
            let word = if Layout::reaches(from, to, 0) {
                self.filler.branch | offset_field(from, to)
            } else {
                self.filler.nop
            };
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// A chunk's words with all fixups done.
    fn fixed(&self, chunks: &[Chunk], i: usize, variables: &[u64]) -> Vec<u32> {
        let mut words = chunks[i].words.clone();
        for fixup in &chunks[i].fixups {
            match *fixup {
                Fixup::Branch { at, to } => {
                    let to = match self.first_hop.get(&(i, at)) {
                        Some((site, island)) => self.sites[*site].island_address(*island),
                        None => self.place(chunks, to, variables),
                    };
                    let word = &mut words[at as usize];
                    *word = *word & 0xffff_0000 | offset_field(self.address(i, at), to);
                }
                Fixup::PcPair { getpc, low, high, to } => {
                    let pc = self.address(i, getpc) + 4;
                    let delta = self.place(chunks, to, variables).wrapping_sub(pc);
                    words[low as usize] = delta as u32;
                    words[high as usize] = (delta >> 32) as u32;
                }
                Fixup::Relative { at, to, addend, part } => {
                    let place = self.place(chunks, to, variables).wrapping_add_signed(addend);
                    let delta = place.wrapping_sub(self.address(i, at));
                    if part != Half::High {
                        words[at as usize] = delta as u32;
                    }
                    match part {
                        Half::Low => {}
                        Half::High => words[at as usize] = (delta >> 32) as u32,
                        Half::Whole => words[at as usize + 1] = (delta >> 32) as u32,
                    }
                }
            }
        }
        words
    }
}

/// The SOPP offset field of a branch at `from` to `to`, which is in reach.
fn offset_field(from: u64, to: u64) -> u32 {
    let words = to.wrapping_sub(from + 4) as i64 / 4;
    debug_assert!((-32768..=32767).contains(&words), "a branch from {from:#x} to {to:#x} was left out of reach");
    words as u32 & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use chunk::Label;

    const S_BRANCH: u32 = 0xbf82_0000;
    const FILLER: Filler = Filler { branch: S_BRANCH, nop: 0xbf80_0000 };

    /// Follows branches from a word until something that is no `s_branch`.
    fn follow(bytes: &[u8], start: u64, mut at: u64) -> u64 {
        for _ in 0..100 {
            let i = (at - start) as usize;
            let word = u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
            if word & 0xffff_0000 != S_BRANCH {
                return at;
            }
            at = (at + 4).wrapping_add_signed(i64::from(word as u16 as i16) * 4);
        }
        panic!("branches in a circle");
    }

    /// `count` chunks of `words` words with a label every 10 words, and a branch at each 100th word to some label
    /// anywhere.
    fn web(count: u32, words: u32) -> (Vec<Chunk>, Vec<(usize, u32, Place)>) {
        let mut seed = 1u32;
        let mut random = move |n: u32| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) % n
        };
        let labels = words / 10;
        let mut branches = Vec::new();
        let chunks = (0..count)
            .map(|c| {
                let mut chunk =
                    Chunk { align: 64, words: (0..words).map(|w| 0x1000_0000 + w).collect(), ..Chunk::default() };
                chunk.labels = (0..labels).map(|l| Label { word: l * 10, falls_in: l % 7 != 0 }).collect();
                for at in (5..words).step_by(100) {
                    let to = Place::Label { chunk: ChunkId(random(count)), label: random(labels) };
                    chunk.words[at as usize] = S_BRANCH;
                    chunk.fixups.push(Fixup::Branch { at, to });
                    branches.push((c as usize, at, to));
                }
                chunk
            })
            .collect();
        (chunks, branches)
    }

    #[test]
    fn every_branch_ends_where_it_should() {
        for (count, words) in [(1, 1000), (1, 60_000), (3, 100_000), (20, 20_000), (1, 400_000)] {
            let (chunks, branches) = web(count, words);
            let start = 0x10000;
            let layout = Layout::new(&chunks, start, FILLER).unwrap();
            let bytes = layout.emit(&chunks, &[]);
            assert_eq!(start + bytes.len() as u64, layout.end());
            for (chunk, at, to) in branches {
                let reached = follow(&bytes, start, layout.address(chunk, at));
                // A label at a pool that nothing falls into stands behind it, and one that is fallen into as well.
                let wanted = follow(&bytes, start, layout.place(&chunks, to, &[]));
                assert_eq!(reached, wanted, "{count} x {words}, chunk {chunk} word {at}");
            }
            // Nothing else has changed, and all of it is there once.
            let kept = bytes.chunks_exact(4).filter(|w| w[3] == 0x10).count() as u32;
            assert_eq!(kept, count * words - count * ((words - 5).div_ceil(100)));
        }
    }

    #[test]
    fn a_pc_pair_gives_the_place_from_wherever_it_stands() {
        let mut chunk = Chunk { align: 256, words: vec![0; 8], ..Chunk::default() };
        chunk.fixups.push(Fixup::PcPair { getpc: 1, low: 3, high: 5, to: Place::Original(0x100) });
        let layout = Layout::new(&[chunk.clone()], 0x2000, FILLER).unwrap();
        let bytes = layout.emit(&[chunk], &[]);
        let word = |i: usize| u32::from_le_bytes(bytes[i * 4..i * 4 + 4].try_into().unwrap());
        let sum = (u64::from(word(5)) << 32 | u64::from(word(3))).wrapping_add(0x2008);
        assert_eq!(sum, 0x100);
    }
}
