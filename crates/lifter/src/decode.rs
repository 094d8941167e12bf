//! Bytes to instructions: a whole range in a row, or only what is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use luthier_isa::{DecodeError, Inst, Target};

use crate::class::{Classes, Kind};

/// Instructions by address, and the bytes that are none.
#[derive(Default)]
pub(crate) struct Decoded {
    pub insts: Vec<Inst>,
    pub vaddrs: Vec<u64>,
    pub bad: Vec<(u64, DecodeError)>,
    /// Pairs of instructions (later, earlier) that share bytes.
    pub overlaps: Vec<(u64, u64)>,
}

/// Decodes one instruction after the other. Stops with the address and the error at the first bytes that are none.
pub(crate) fn sweep(target: Target, bytes: &[u8], vaddr: u64) -> Result<Decoded, (u64, DecodeError)> {
    let mut out = Decoded::default();
    // Most instructions have eight bytes or four.
    out.insts.reserve(bytes.len() / 6);
    out.vaddrs.reserve(bytes.len() / 6);
    let mut at = 0;
    while at < bytes.len() {
        let inst = Inst::decode(target, &bytes[at..]).map_err(|e| (vaddr + at as u64, e))?;
        out.insts.push(inst);
        out.vaddrs.push(vaddr + at as u64);
        at += inst.size();
    }
    // A literal cut off by the end of the bytes is an error of `decode`; this is for a decoder that pads.
    if at > bytes.len() {
        let vaddr = out.vaddrs.last().copied().unwrap_or(vaddr);
        return Err((vaddr, DecodeError::Truncated { needed: at, available: bytes.len() }));
    }
    Ok(out)
}

/// Decodes what direct control flow reaches from `entries` without leaving `range`, whose bytes these are. Addresses
/// in `stops` belong to somebody else.
pub(crate) fn traverse(
    target: Target,
    bytes: &[u8],
    range: Range<u64>,
    entries: impl IntoIterator<Item = u64>,
    stops: impl Fn(u64) -> bool,
) -> Decoded {
    let classes = Classes::of_target(target);
    let mut found: BTreeMap<u64, Inst> = BTreeMap::new();
    let mut bad: BTreeMap<u64, DecodeError> = BTreeMap::new();
    let mut work: Vec<u64> = entries.into_iter().collect();
    let firsts: BTreeSet<u64> = work.iter().copied().collect();
    while let Some(mut at) = work.pop() {
        while range.contains(&at) && !found.contains_key(&at) && (firsts.contains(&at) || !stops(at)) {
            let inst = match Inst::decode(target, &bytes[(at - range.start) as usize..]) {
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
    let (vaddrs, insts) = found.into_iter().unzip();
    Decoded { insts, vaddrs, bad: bad.into_iter().collect(), overlaps }
}

/// `s_nop`, `s_code_end` or zero: what assemblers and linkers fill code with.
pub(crate) fn is_padding(word: u32) -> bool {
    word == 0 || word & 0xffff_0000 == 0xbf80_0000 || word == 0xbf9f_0000
}
