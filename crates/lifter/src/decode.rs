//! Bytes to instructions: a whole range in a row, or only what is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use luthier_isa::{DecodeError, Inst, Mode};

use crate::class::{Classes, Kind};

/// Instructions of a stretch of code, one after the other: the functions in it share the two tables, and those of the
/// whole program come to be without each function having had its own.
#[derive(Default)]
pub(crate) struct Pool {
    pub insts: Vec<Inst>,
    /// Distances from the base address of the code.
    pub offsets: Vec<u32>,
}

/// A function's part of a pool.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub base: u64,
    pub insts: &'a [Inst],
    pub offsets: &'a [u32],
}

impl View<'_> {
    pub fn vaddr(&self, instr: usize) -> u64 {
        self.base + u64::from(self.offsets[instr])
    }
    pub fn end_of(&self, instr: usize) -> u64 {
        self.vaddr(instr) + self.insts[instr].size() as u64
    }
    /// The instruction that starts at an address.
    pub fn instr_at(&self, vaddr: u64) -> Option<u32> {
        let offset = u32::try_from(vaddr.checked_sub(self.base)?).ok()?;
        self.offsets.binary_search(&offset).ok().map(|i| i as u32)
    }
    /// How many instructions start at an address or before.
    pub fn upto(&self, vaddr: u64) -> usize {
        self.offsets.partition_point(|&o| self.base + u64::from(o) <= vaddr)
    }
    /// From the first instruction to the end of the last one.
    pub fn extent(&self) -> Option<Range<u64>> {
        let last = self.insts.len().checked_sub(1)?;
        Some(self.vaddr(0)..self.end_of(last))
    }
}

/// Instructions by address, and the bytes that are none.
#[derive(Default)]
pub(crate) struct Decoded {
    pub pool: Pool,
    pub bad: Vec<(u64, DecodeError)>,
    /// Pairs of instructions (later, earlier) that share bytes.
    pub overlaps: Vec<(u64, u64)>,
}

/// Decodes one instruction after the other into the pool. At the first bytes that are none, leaves the pool as it was,
/// and gives their place.
pub(crate) fn sweep(mode: Mode, bytes: &[u8], offset: u32, pool: &mut Pool) -> Result<(), usize> {
    let before = pool.insts.len();
    let mut at = 0;
    while at < bytes.len() {
        match Inst::decode(mode, &bytes[at..]) {
            // A literal cut off by the end of the bytes is an error of `decode`; this is for a decoder that pads.
            Ok(inst) if at + inst.size() <= bytes.len() => {
                pool.insts.push(inst);
                pool.offsets.push(offset + at as u32);
                at += inst.size();
            }
            _ => {
                pool.insts.truncate(before);
                pool.offsets.truncate(before);
                return Err(at);
            }
        }
    }
    Ok(())
}

/// Decodes what direct control flow reaches from `entries` without leaving `range`, whose bytes these are. Addresses
/// in `stops` belong to somebody else.
pub(crate) fn traverse(
    mode: Mode,
    base: u64,
    bytes: &[u8],
    range: Range<u64>,
    entries: impl IntoIterator<Item = u64>,
    stops: impl Fn(u64) -> bool,
) -> Decoded {
    let classes = Classes::of_mode(mode);
    let mut found: BTreeMap<u64, Inst> = BTreeMap::new();
    let mut bad: BTreeMap<u64, DecodeError> = BTreeMap::new();
    let mut work: Vec<u64> = entries.into_iter().collect();
    let firsts: BTreeSet<u64> = work.iter().copied().collect();
    while let Some(mut at) = work.pop() {
        while range.contains(&at) && !found.contains_key(&at) && (firsts.contains(&at) || !stops(at)) {
            let inst = match Inst::decode(mode, &bytes[(at - range.start) as usize..]) {
                Ok(inst) => inst,
                Err(error) => {
                    bad.insert(at, error);
                    break;
                }
            };
            found.insert(at, inst);
            let kind = classes.of(&inst);
            if matches!(kind, Kind::Branch | Kind::CondBranch) {
                work.extend(inst.branch_target(at));
            }
            if matches!(kind, Kind::Branch | Kind::Setpc | Kind::End | Kind::Unsupported) {
                break;
            }
            at += inst.size() as u64;
        }
    }
    let mut overlaps = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for (&vaddr, inst) in &found {
        if let Some((earlier, end)) = before
            && vaddr < end
        {
            overlaps.push((vaddr, earlier));
        }
        before = Some((vaddr, vaddr + inst.size() as u64));
    }
    let (offsets, insts) = found.into_iter().map(|(vaddr, inst)| ((vaddr - base) as u32, inst)).unzip();
    Decoded { pool: Pool { insts, offsets }, bad: bad.into_iter().collect(), overlaps }
}

/// `s_nop`, `s_code_end` or zero: what assemblers and linkers fill code with.
pub(crate) fn is_padding(word: u32) -> bool {
    word == 0 || word & 0xffff_0000 == 0xbf80_0000 || word == 0xbf9f_0000
}
