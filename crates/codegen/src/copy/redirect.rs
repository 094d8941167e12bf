//! Leading whoever calls an original function to its copy.
//!
//! Function pointers, sums that were not recognised and pointers in memory all hold the original's address. So its
//! first instruction becomes a branch to the copy: a short one where that reaches, else a long one through a register
//! pair that no code of the component uses. Where a function is too small for the long one, a short branch leads to a
//! long one in other code that is no longer run.

use luthier_isa::{EncodeError, Inst, Operand, Reg};

use crate::machine::operations::{Operations, one, pair};

/// An original function of which there is a copy.
#[derive(Clone, Debug)]
pub struct Original {
    pub name: String,
    pub vaddr: u64,
    /// Bytes that may be overwritten: the function, and padding behind it.
    pub size: u64,
    /// Of the copy; `None` for a kernel, which is entered by its descriptor. Its old code is room for long branches.
    pub copy: Option<u64>,
    /// The first address behind the start where code elsewhere may enter.
    pub entered_inside: Option<u64>,
    /// SCC holds something at the entry.
    pub scc_live: bool,
}

/// Bytes to overwrite in the original code.
#[derive(Clone, Debug)]
pub struct Patch {
    pub vaddr: u64,
    pub bytes: Vec<u8>,
    /// The original that needs it, and the register pair that it goes through.
    pub via: Option<(usize, Reg)>,
}

const LONG: u64 = 24;

fn reaches(from: u64, to: u64) -> bool {
    let distance = to.wrapping_sub(from + 4) as i64;
    (-0x20000..=0x1fffc).contains(&distance)
}

fn short(ops: &Operations, from: u64, to: u64) -> Result<Patch, EncodeError> {
    let words = to.wrapping_sub(from + 4) as i64 / 4;
    let mut bytes = Vec::new();
    Inst::build(ops.s_branch, &[Operand::Imm(words)])?.encode_into(&mut bytes);
    Ok(Patch { vaddr: from, bytes, via: None })
}

fn long(ops: &Operations, from: u64, to: u64, original: usize, via: Reg) -> Result<Patch, EncodeError> {
    let delta = to.wrapping_sub(from + 4);
    let (low, high) = (via, via.offset(1));
    let code = [
        Inst::build(ops.s_getpc_b64, &[pair(via)])?,
        Inst::build(ops.s_add_u32, &[one(low), one(low), literal(delta as u32)])?,
        Inst::build(ops.s_addc_u32, &[one(high), one(high), literal((delta >> 32) as u32)])?,
        Inst::build(ops.s_setpc_b64, &[pair(via)])?,
    ];
    let mut bytes = Vec::new();
    code.iter().for_each(|i| i.encode_into(&mut bytes));
    Ok(Patch { vaddr: from, bytes, via: Some((original, via)) })
}

fn literal(n: u32) -> Operand {
    Operand::Literal(n)
}

/// Why there are no patches.
pub enum Failure {
    /// One function cannot be redirected, by its index.
    Original {
        original: usize,
        reason: String,
    },
    Encode(EncodeError),
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Failure {
        Failure::Encode(error)
    }
}

/// The patches for all `originals` (by address). `via` is the register pair for each one's component.
pub fn patches(
    ops: &Operations,
    originals: &[Original],
    via: impl Fn(usize) -> Option<Reg>,
) -> Result<Vec<Patch>, Failure> {
    let mut all = Vec::new();
    // Free bytes of dead code: next free address and end, by original.
    let end = |o: &Original| o.entered_inside.unwrap_or(o.vaddr + o.size);
    let mut free: Vec<(u64, u64)> = originals.iter().map(|o| (o.vaddr, end(o))).collect();
    let mut too_small = Vec::new();
    for (i, original) in originals.iter().enumerate() {
        let Some(copy) = original.copy else { continue };
        if reaches(original.vaddr, copy) {
            all.push(short(ops, original.vaddr, copy)?);
            free[i].0 += 4;
            continue;
        }
        let fail = |reason: String| Err(Failure::Original { original: i, reason });
        if original.scc_live {
            return fail(format!("{} expects a value in SCC, which a long branch changes", original.name));
        }
        let Some(via) = via(i) else {
            return fail(format!(
                "no SGPR pair is unused, and the copy of {} is out of a short branch's reach",
                original.name
            ));
        };
        if end(original) - original.vaddr >= LONG {
            all.push(long(ops, original.vaddr, copy, i, via)?);
            free[i].0 += LONG;
        } else {
            free[i].0 += 4;
            too_small.push((i, copy, via));
        }
    }
    for (i, copy, via) in too_small {
        let from = originals[i].vaddr;
        let fits = |f: &&mut (u64, u64)| f.1.saturating_sub(f.0) >= LONG && reaches(from, f.0);
        // The nearest room: search outwards from the function itself.
        let (before, behind) = free.split_at_mut(i);
        let room = behind.iter_mut().take(4096).find(fits).or_else(|| before.iter_mut().rev().take(4096).find(fits));
        let Some(room) = room else {
            let reason = format!("{} is too small for a long branch, and there is no room near it", originals[i].name);
            return Err(Failure::Original { original: i, reason });
        };
        all.push(short(ops, from, room.0)?);
        all.push(long(ops, room.0, copy, i, via)?);
        room.0 += LONG;
    }
    Ok(all)
}
