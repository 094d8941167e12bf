//! Leading callers of an original function to its copy.
//!
//! Function pointers, sums that were not recognised and pointers in memory all hold the original's address. So its
//! first instruction becomes a branch to the copy: a short one where that reaches, else a long one through registers
//! that no code of the component uses. Where a function is too small for the long one, a short branch leads to a
//! long one in other code that is no longer run.

use luthier_isa::hazard::{Facts, Hazards};
use luthier_isa::{EncodeError, Inst, Operand, RegRange, RegSet, VgprMsb};

use crate::machine::cures::Cures;
use crate::machine::operations::{LITERAL, Operations, one, pair};

/// An original function that has a copy.
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
    /// SCC may hold something at the entry.
    pub scc_live: bool,
}

/// Bytes to overwrite in the original code.
#[derive(Clone, Debug)]
pub struct Patch {
    pub vaddr: u64,
    pub bytes: Vec<u8>,
    /// The original that needs it, and the registers that it changes.
    pub via: Option<(usize, RegRange)>,
}

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

/// A long branch: through a register pair, and where SCC is kept one more behind it.
struct Long {
    insts: Vec<Inst>,
    /// Bytes in front of the `s_getpc_b64`.
    before: u64,
}

impl Long {
    /// Hooks may have taken these registers before; so their writes are waited for where that may matter.
    fn through(ops: &Operations, via: RegRange) -> Result<Long, EncodeError> {
        let (low, high) = (via.first, via.first.offset(1));
        let kept = (via.count > 2).then(|| via.first.offset(2));
        let mut code = vec![
            Inst::build(ops.s_getpc_b64, &[pair(low)])?,
            Inst::build(ops.s_add_u32, &[one(low), one(low), LITERAL])?,
            Inst::build(ops.s_addc_u32, &[one(high), one(high), LITERAL])?,
        ];
        if let Some(kept) = kept {
            code.insert(0, ops.save_scc(kept)?);
            code.push(ops.restore_scc(kept)?);
        }
        code.push(Inst::build(ops.s_setpc_b64, &[pair(low)])?);
        let cures = Cures { mode: ops.mode, idle: None, msb: VgprMsb::ZERO };
        let mut wave = Hazards::brief();
        wave.assume_read(&RegSet::EMPTY);
        let (mut insts, mut before) = (Vec::new(), 0);
        for inst in code {
            let facts = Facts::of(&inst);
            insts.extend(cures.waits(ops, &mut wave, &facts)?);
            wave.check(&facts, 0, |_| {});
            if inst.info() == ops.s_getpc_b64 {
                before = insts.iter().map(|i| i.size() as u64).sum();
            }
            insts.push(inst);
        }
        Ok(Long { insts, before })
    }

    fn size(&self) -> u64 {
        self.insts.iter().map(|inst| inst.size() as u64).sum()
    }

    fn patch(self, from: u64, to: u64, original: usize, via: RegRange) -> Result<Patch, EncodeError> {
        let delta = to.wrapping_sub(from + self.before + 4);
        let mut halves = [delta as u32, (delta >> 32) as u32].into_iter();
        let mut bytes = Vec::new();
        for mut inst in self.insts {
            if inst.operands().any(|(_, value)| value == LITERAL) {
                inst.set_operand(2, Operand::Literal(halves.next().unwrap_or_default()))?;
            }
            inst.encode_into(&mut bytes);
        }
        Ok(Patch { vaddr: from, bytes, via: Some((original, via)) })
    }
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

/// The patches for all `originals` (by address). `via` finds a number of registers for each one's component, from an even one on.
pub fn patches(
    ops: &Operations,
    originals: &[Original],
    via: impl Fn(usize, u8) -> Option<RegRange>,
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
        let count = if original.scc_live { 3 } else { 2 };
        let Some(via) = via(i, count) else {
            let reason = format!(
                "{count} SGPRs in a row are not unused, and the copy of {} is out of a short branch's reach",
                original.name
            );
            return Err(Failure::Original { original: i, reason });
        };
        let long = Long::through(ops, via)?;
        let size = long.size();
        if end(original) - original.vaddr >= size {
            all.push(long.patch(original.vaddr, copy, i, via)?);
            free[i].0 += size;
        } else {
            free[i].0 += 4;
            too_small.push((i, copy, via, long));
        }
    }
    for (i, copy, via, long) in too_small {
        let from = originals[i].vaddr;
        let size = long.size();
        let fits = |f: &&mut (u64, u64)| f.1.saturating_sub(f.0) >= size && reaches(from, f.0);
        // The nearest room: search outwards from the function itself.
        let (before, behind) = free.split_at_mut(i);
        let room = behind.iter_mut().take(4096).find(fits).or_else(|| before.iter_mut().rev().take(4096).find(fits));
        let Some(room) = room else {
            let reason = format!("{} is too small for a long branch, and there is no room near it", originals[i].name);
            return Err(Failure::Original { original: i, reason });
        };
        all.push(short(ops, from, room.0)?);
        all.push(long.patch(room.0, copy, i, via)?);
        room.0 += size;
    }
    Ok(all)
}
