//! Bytes to instructions: a whole range in a row, or only what is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use luthier_isa::{DecodeError, Decoder, Inst};

use crate::class::{Classes, Kind, Role};

/// Instructions of a stretch of code, one after the other: the functions in it share the tables, and those of the whole
/// program come to be without each function having had its own.
#[derive(Default)]
pub(crate) struct Pool {
    pub insts: Vec<Inst>,
    /// Distances from the base address of the code.
    pub offsets: Vec<u32>,
    pub roles: Vec<Role>,
}

impl Pool {
    pub fn len(&self) -> usize {
        self.insts.len()
    }
    pub fn reserve(&mut self, more: usize) {
        self.insts.reserve_exact(more);
        self.offsets.reserve_exact(more);
        self.roles.reserve_exact(more);
    }
    fn truncate(&mut self, to: usize) {
        self.insts.truncate(to);
        self.offsets.truncate(to);
        self.roles.truncate(to);
    }
    fn push(&mut self, inst: Inst, offset: u32, classes: &Classes) {
        self.roles.push(classes.role(&inst));
        self.insts.push(inst);
        self.offsets.push(offset);
    }
    pub fn extend(&mut self, other: &Pool, range: Range<usize>) {
        self.insts.extend_from_slice(&other.insts[range.clone()]);
        self.offsets.extend_from_slice(&other.offsets[range.clone()]);
        self.roles.extend_from_slice(&other.roles[range]);
    }
    pub fn view(&self, base: u64, range: Range<usize>) -> View<'_> {
        View {
            base,
            insts: &self.insts[range.clone()],
            offsets: &self.offsets[range.clone()],
            roles: &self.roles[range],
        }
    }
}

/// A function's part of a pool.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub base: u64,
    pub insts: &'a [Inst],
    pub offsets: &'a [u32],
    pub roles: &'a [Role],
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
pub(crate) fn sweep(classes: &Classes, bytes: &[u8], offset: u32, pool: &mut Pool) -> Result<(), usize> {
    let before = pool.len();
    if let Err((at, _)) = Decoder::new(classes.mode).decode_all(bytes, &mut pool.insts) {
        pool.truncate(before);
        return Err(at);
    }
    let mut next = offset;
    pool.offsets.extend(pool.insts[before..].iter().map(|inst| {
        let at = next;
        next += inst.size() as u32;
        at
    }));
    pool.roles.extend(pool.insts[before..].iter().map(|inst| classes.role(inst)));
    Ok(())
}

/// Decodes what direct control flow reaches from `entries` without leaving `range`, whose bytes these are. Addresses
/// in `stops` belong to another function.
pub(crate) fn traverse(
    classes: &Classes,
    base: u64,
    bytes: &[u8],
    range: Range<u64>,
    entries: impl IntoIterator<Item = u64>,
    stops: impl Fn(u64) -> bool,
) -> Decoded {
    let decoder = Decoder::new(classes.mode);
    let mut found: BTreeMap<u64, Inst> = BTreeMap::new();
    let mut bad: BTreeMap<u64, DecodeError> = BTreeMap::new();
    let mut work: Vec<u64> = entries.into_iter().collect();
    let firsts: BTreeSet<u64> = work.iter().copied().collect();
    while let Some(mut at) = work.pop() {
        while range.contains(&at) && !found.contains_key(&at) && (firsts.contains(&at) || !stops(at)) {
            let inst = match decoder.decode(&bytes[(at - range.start) as usize..]) {
                Ok(inst) => inst,
                Err(error) => {
                    bad.insert(at, error);
                    break;
                }
            };
            found.insert(at, inst);
            let kind = classes.role(&inst).kind;
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
    let mut pool = Pool::default();
    found.into_iter().for_each(|(vaddr, inst)| pool.push(inst, (vaddr - base) as u32, classes));
    Decoded { pool, bad: bad.into_iter().collect(), overlaps }
}

/// `s_nop`, `s_code_end` or zero: what assemblers and linkers fill code with.
pub(crate) fn is_padding(word: u32) -> bool {
    word == 0 || word & 0xffff_0000 == 0xbf80_0000 || word == 0xbf9f_0000
}
