//! Giving chunks their addresses, and making every branch reach.
//!
//! A branch reaches 32768 words either way. Where that is not enough it aims at an *island*, an `s_branch` that goes
//! the rest of the way or to the next island; islands need no register and change no state. They stand together in
//! pools, at labels some 64 KB apart; code that would fall into a pool jumps over it. Adding an island moves the code
//! behind it, so the layout is repeated until nothing is added any more.

use std::collections::HashMap;

pub mod chunk;
mod emit;

use luthier_isa::EncodeError;

use crate::machine::Operations;
use chunk::{Chunk, ChunkId, Fixup, Place};

/// All segments start on a page of their own, as lld lays them out.
pub const PAGE: u64 = 0x1000;

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

    /// Where the hooks' constants begin: on the next page.
    pub fn constants(&self) -> u64 {
        self.end.next_multiple_of(PAGE)
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

    /// The same of many of a chunk's words, which ascend.
    pub fn addresses(&self, chunk: usize) -> impl FnMut(u32) -> u64 + '_ {
        let (first, last) = self.sites_of[chunk];
        let mut sites = self.sites[first..last].iter().peekable();
        // The address that the chunk's first word would have if nothing stood behind the last site.
        let mut base = self.bases[chunk];
        move |word| {
            while let Some(site) = sites.next_if(|site| site.word <= word) {
                base = site.address + site.size() - u64::from(site.word) * 4;
            }
            base + u64::from(word) * 4
        }
    }

    pub fn place(&self, chunks: &[Chunk], place: Place, variables: &[u64]) -> u64 {
        match place {
            Place::Label { chunk: ChunkId(c), label } => {
                let word = chunks[c as usize].labels[label as usize].word;
                self.address(c as usize, word)
            }
            Place::Original(vaddr) => vaddr,
            Place::Constant { offset } => self.constants() + offset,
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
}

#[cfg(test)]
mod tests;
