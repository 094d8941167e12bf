//! Is placed code the template with its registers renamed, and nothing else?

use luthier_isa::{Inst, Operand, Reg, RegRange, RegSet};

use super::wrong::Wrong;
use crate::template::prepared::Prepared;

/// Where each of the template's groups went; `None` for those that no instruction names.
#[derive(Debug)]
pub struct Renaming {
    first: Vec<Option<Reg>>,
}

/// The three files that can be renamed, and how many registers each has.
fn file(reg: Reg) -> Option<(u8, u16)> {
    match reg {
        r if r.is_sgpr() => Some((0, 102)),
        r if r.is_agpr() => Some((1, 256)),
        r if r.is_vgpr() && r.number() < 256 => Some((2, 256)),
        _ => None,
    }
}

impl Renaming {
    /// Compares instruction by instruction.
    pub fn between(prepared: &Prepared, placed: &[Inst]) -> Result<Renaming, Wrong> {
        let hook = || prepared.name.clone();
        if prepared.insts.len() != placed.len() {
            return Err(Wrong::Length { hook: hook(), wanted: prepared.insts.len(), placed: placed.len() });
        }
        let mut renaming = Renaming { first: vec![None; prepared.groups.len()] };
        let mut relocs = prepared.relocs.iter().peekable();
        for (index, (old, new)) in prepared.insts.iter().zip(placed).enumerate() {
            let mut relocated = false;
            while relocs.next_if(|r| r.inst == index).is_some() {
                relocated = true;
            }
            let differs = || Wrong::Differs { hook: hook(), index, old: Box::new(*old), new: Box::new(*new) };
            if old.info() != new.info() || old.size() != new.size() || old.msb() != new.msb() {
                return Err(differs());
            }
            for ((info, a), (_, b)) in old.operands().zip(new.operands()) {
                match (a, b) {
                    (Operand::Reg(a), Operand::Reg(b)) if a.count == b.count && a.part == b.part => {
                        if info.fixed.is_some() || file(a.first).is_none() {
                            if a != b {
                                return Err(differs());
                            }
                            continue;
                        }
                        renaming.note(prepared, a, b.first)?;
                    }
                    (Operand::Literal(_), Operand::Literal(_)) | (Operand::Literal64(_), Operand::Literal64(_))
                        if relocated => {}
                    (a, b) if a == b => {}
                    _ => return Err(differs()),
                }
            }
            if old.words() != new.words() && !same_otherwise(old, new, relocated) {
                return Err(differs());
            }
        }
        renaming.settle(prepared)?;
        Ok(renaming)
    }

    fn note(&mut self, prepared: &Prepared, from: RegRange, to: Reg) -> Result<(), Wrong> {
        let wrong = |why| Wrong::Renaming { hook: prepared.name.clone(), old: from.first, new: to, why };
        let inside = |g: &RegRange| {
            let (low, high) = (g.first.index(), g.first.index() + usize::from(g.count));
            low <= from.first.index() && from.first.index() + usize::from(from.count) <= high
        };
        let Some(group) = prepared.groups.iter().position(|g| inside(&g.range)) else {
            return Err(wrong("it is in no group"));
        };
        let (Some((old_file, _)), Some((new_file, _))) = (file(from.first), file(to)) else {
            return Err(wrong("it is in no register file"));
        };
        if old_file != new_file {
            return Err(wrong("it is in another register file"));
        }
        let delta = from.first.index() - prepared.groups[group].range.first.index();
        let first = (usize::from(to.number()) >= delta).then(|| to.index() - delta).and_then(Reg::from_index);
        let Some(first) = first else { return Err(wrong("its group would begin before the first register")) };
        match self.first[group] {
            None => self.first[group] = Some(first),
            Some(known) if known == first => {}
            Some(_) => return Err(wrong("it became another register elsewhere, or a neighbour did")),
        }
        Ok(())
    }

    /// No two groups share a register that the template changes in either, each is aligned and within its limits.
    fn settle(&self, prepared: &Prepared) -> Result<(), Wrong> {
        let (mut taken, mut changed) = (RegSet::EMPTY, RegSet::EMPTY);
        let mut written = RegSet::EMPTY;
        for inst in &prepared.insts {
            inst.for_each_access(|a| {
                if a.access.writes() {
                    written.insert(a.reg);
                }
            });
        }
        for (group, first) in prepared.groups.iter().zip(&self.first) {
            let Some(first) = *first else { continue };
            let wrong = |why| Wrong::Renaming { hook: prepared.name.clone(), old: group.range.first, new: first, why };
            let range = RegRange::new(first, group.range.count);
            let end = first.number() + u16::from(group.range.count);
            let most = file(first).map_or(0, |(_, count)| count);
            if end > most.min(group.limit) {
                return Err(wrong("it is past the highest number that it may have"));
            }
            let align = u16::from(group.align);
            if first.number() % align != group.range.first.number() % align {
                return Err(wrong("its alignment is another"));
            }
            let changes = group.range.units().any(|unit| written.contains(unit));
            for unit in range.units() {
                if changed.contains(unit) || changes && taken.contains(unit) {
                    return Err(wrong("another group is there"));
                }
                taken.insert(unit);
                if changes {
                    changed.insert(unit);
                }
            }
        }
        Ok(())
    }

    /// Where a unit of a group is; `None` if no instruction names the group.
    pub fn placed(&self, group: usize, delta: u16) -> Option<Reg> {
        self.first.get(group).copied().flatten().map(|first| first.offset(delta))
    }
}

/// All that is no renamed register is the same.
fn same_otherwise(old: &Inst, new: &Inst, relocated: bool) -> bool {
    let renamed = |field| {
        let mut mine = old.operands().filter(|(info, _)| info.field == field && info.fixed.is_none());
        mine.any(|(_, value)| value.reg().is_some_and(|r| file(r.first).is_some()))
    };
    let fields = old.info().layout().iter().map(|(field, ..)| *field);
    let mut differing = fields.filter(|field| old.field(*field) != new.field(*field));
    let opcode = usize::from(old.info().size) / 4;
    differing.all(renamed) && (relocated || old.words()[opcode..] == new.words()[opcode..])
}
