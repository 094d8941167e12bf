//! What the table of all memory has in it, and what a GPU sees of that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use luthier_emulator::memory::Span;

use super::map::{Mapping, span};
use super::pieces::Apart;
use super::{FREED, PAGE};

/// Something that was allocated here, or imported.
pub(super) struct Block {
    pub(super) mapping: Arc<Mapping>,
    pub(super) len: u64,
    /// Bytes that the program asked its runtime for, which gives out whole pages.
    pub(super) asked: u64,
    pub(super) node: u32,
    pub(super) flags: u32,
    pub(super) kind: u32,
    /// Nodes whose GPU has it in its page tables.
    pub(super) mapped: u64,
    pub(super) nodes: Box<[u32]>,
    pub(super) user_data: usize,
    /// Whether it counts as used memory of its node.
    pub(super) counted: bool,
}

/// The host's own memory that GPUs may see, registered this many times.
pub(super) struct Registered {
    pub(super) len: u64,
    /// Where GPUs find its pages: addresses that nothing else has.
    pub(super) pages: Mapping,
    pub(super) flags: u32,
    pub(super) mapped: u64,
    /// How often it was mapped; the last who takes that back ends it.
    pub(super) maps: u32,
    pub(super) nodes: Box<[u32]>,
    pub(super) user_data: usize,
    pub(super) count: u32,
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) blocks: BTreeMap<u64, Block>,
    pub(super) apart: Apart,
    pub(super) registered: BTreeMap<u64, Registered>,
    pub(super) freed: VecDeque<(u64, u64)>,
    pub(super) used: BTreeMap<u32, u64>,
    /// What each node's GPU sees, until something changes.
    pub(super) spans: BTreeMap<u32, Arc<[Span]>>,
    /// Work under way, by the number that it got.
    pub(super) under_way: BTreeSet<u64>,
    pub(super) next: u64,
    /// What was freed when the next work would have had this number.
    pub(super) graveyard: VecDeque<(u64, Arc<Mapping>)>,
    /// The addresses of what was freed, so that a stale pointer stays wild for a while.
    pub(super) stale: VecDeque<Mapping>,
}

impl Block {
    pub(super) fn span(&self, start: u64) -> Span {
        span(start, self.mapping.inner(), self.len, self.flags).asked(start..start + self.asked)
    }
}

impl Registered {
    /// Where GPUs find what the host has at `start`.
    pub(super) fn gpu_address(&self, start: u64) -> u64 {
        self.pages.start() + start % PAGE
    }

    pub(super) fn unmap(&mut self) {
        self.maps = self.maps.saturating_sub(1);
        if self.maps == 0 {
            (self.mapped, self.nodes) = (0, Box::default());
        }
    }

    pub(super) fn span(&self, start: u64) -> Span {
        let first = start & !(PAGE - 1);
        let whole = span(self.pages.start(), first, (start + self.len).next_multiple_of(PAGE) - first, self.flags);
        let begin = self.gpu_address(start);
        whole.asked(begin..begin + self.len)
    }
}

impl Table {
    pub(super) fn block_at(&self, address: u64) -> Option<(u64, &Block)> {
        self.blocks.range(..=address).next_back().filter(|(start, b)| address - **start < b.len).map(|(s, b)| (*s, b))
    }

    /// By the host's address or a GPU's.
    pub(super) fn registered_at(&self, address: u64) -> Option<(u64, &Registered)> {
        let holds = |&(&start, r): &(&u64, &Registered)| address.wrapping_sub(start) < r.len;
        let here = self.registered.range(..=address).rev().find(holds);
        let there = || self.registered.iter().find(|(start, r)| address.wrapping_sub(r.gpu_address(**start)) < r.len);
        here.or_else(there).map(|(start, r)| (*start, r))
    }

    /// What a node sees, by address.
    pub(super) fn spans_of(&mut self, node: u32) -> Arc<[Span]> {
        if let Some(spans) = self.spans.get(&node) {
            return Arc::clone(spans);
        }
        let bit = 1u64 << node;
        let blocks = self.blocks.iter().filter(|(_, b)| b.mapped & bit != 0).map(|(start, b)| b.span(*start));
        let registered = self.registered.iter().filter(|(_, r)| r.mapped & bit != 0).map(|(start, r)| r.span(*start));
        let placed = self.apart.placed.iter().filter(|(_, p)| p.mapped & bit != 0).map(|(start, p)| p.span(*start));
        let mut spans: Vec<Span> = blocks.chain(registered).chain(placed).collect();
        spans.sort_unstable_by_key(Span::start);
        let spans: Arc<[Span]> = spans.into();
        self.spans.insert(node, Arc::clone(&spans));
        spans
    }

    pub(super) fn bury(&mut self) {
        let oldest = self.under_way.first().copied().unwrap_or(u64::MAX);
        while self.graveyard.front().is_some_and(|(since, _)| *since <= oldest) {
            let Some((_, mapping)) = self.graveyard.pop_front() else { return };
            // A queue that was not destroyed may have it still.
            if let Ok(mut mapping) = Arc::try_unwrap(mapping)
                && mapping.empty()
            {
                self.stale.push_back(mapping);
            }
            if self.stale.len() > FREED {
                self.stale.pop_front();
            }
        }
    }
}

pub(super) fn node_list(set: u64) -> Box<[u32]> {
    (0..64).filter(|node| set >> node & 1 != 0).collect()
}
