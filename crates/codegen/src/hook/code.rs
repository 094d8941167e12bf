//! A part's code, before its registers are looked at.

use luthier_isa::{Flags, Inst};
use luthier_loader::HookLine;

use crate::template::{Blob, RelocKind, TemplateReloc};

/// Instructions, and what they refer to.
pub struct Code {
    pub insts: Vec<Inst>,
    /// The byte offset of each instruction.
    pub offsets: Vec<u32>,
    pub relocs: Vec<TemplateReloc>,
    /// What it refers to besides.
    pub data: Vec<Blob>,
    /// Bytes of its stack.
    pub stack: u32,
    /// For each instruction the number of its line, from 1; 0 for none.
    pub rows: Vec<u32>,
    /// The lines.
    pub lines: Vec<HookLine>,
}

impl Code {
    /// Takes the first instruction out.
    pub fn drop_first(&mut self) {
        let bytes = self.insts.remove(0).size() as u32;
        self.offsets.remove(0);
        self.rows.remove(0);
        self.offsets.iter_mut().for_each(|o| *o -= bytes);
        self.relocs.iter_mut().for_each(|r| r.inst -= 1);
    }
}

/// The instructions that may run after the `index`th; one past the last stands for the end.
pub fn successors(insts: &[Inst], offsets: &[u32], index: usize) -> [Option<usize>; 2] {
    let flags = insts[index].info().flags;
    let target = insts[index].branch_target(u64::from(offsets[index]));
    let target = target.map(|t| offsets.partition_point(|o| u64::from(*o) < t));
    let falls = !flags.contains(Flags::BRANCH) || flags.contains(Flags::COND_BRANCH);
    [falls.then_some(index + 1), target.filter(|_| flags.intersects(Flags::BRANCH | Flags::COND_BRANCH))]
}

/// What a relocation type means, and the bytes that it fills in.
pub fn kind(r_type: u32) -> Option<(RelocKind, usize)> {
    Some(match r_type {
        1 | 6 => (RelocKind::Abs32Lo, 4),
        2 => (RelocKind::Abs32Hi, 4),
        3 => (RelocKind::Abs64, 8),
        4 | 10 => (RelocKind::Rel32Lo, 4),
        5 => (RelocKind::Rel64, 8),
        11 => (RelocKind::Rel32Hi, 4),
        _ => return None,
    })
}
