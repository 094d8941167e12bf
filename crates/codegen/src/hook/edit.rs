//! Putting instructions into a part, or others in the place of its own: what measures distances is measured anew.

use luthier_isa::{Field, Flags, Inst};

use super::code::Code;
use crate::template::RelocKind;

/// What becomes of one instruction.
#[derive(Clone, Debug)]
pub struct Change {
    /// Run before it, whichever way control comes.
    pub before: Vec<Inst>,
    /// In its place; the same one if nothing is to change.
    pub inst: Inst,
}

impl Change {
    pub fn none(inst: Inst) -> Change {
        Change { before: Vec::new(), inst }
    }
}

/// Makes the changes, one for each instruction. An error is a sentence about the hook.
pub fn apply(code: &mut Code, changes: Vec<Change>) -> Result<(), String> {
    let old = std::mem::take(&mut code.offsets);
    let old_end = code.insts.last().map_or(0, |last| old[old.len() - 1] + last.size() as u32);
    // Where control comes in, where the instruction itself is, and its number.
    let (mut starts, mut places, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut insts, mut offsets, mut rows) = (0, Vec::new(), Vec::new(), Vec::new());
    for (change, row) in changes.into_iter().zip(&code.rows) {
        starts.push(at);
        for inst in change.before.into_iter().chain([change.inst]) {
            offsets.push(at);
            at += inst.size() as u32;
            insts.push(inst);
            rows.push(*row);
        }
        places.push(offsets[offsets.len() - 1]);
        numbers.push(insts.len() - 1);
    }
    starts.push(at);

    for (index, inst) in code.insts.iter().enumerate() {
        let Some(to) = inst.branch_target(u64::from(old[index])) else { continue };
        let to = if to == u64::from(old_end) { old.len() } else { old.partition_point(|o| u64::from(*o) < to) };
        let words = (i64::from(starts[to]) - i64::from(places[index]) - 4) / 4;
        let words = i16::try_from(words).map_err(|_| "the hook is too long for a branch".to_owned())?;
        let raw = u32::from(words.cast_unsigned());
        insts[numbers[index]].set_field(Field::Simm16, raw).map_err(|e| e.to_string())?;
    }
    for reloc in &mut code.relocs {
        if matches!(reloc.kind, RelocKind::Rel32Lo | RelocKind::Rel32Hi | RelocKind::Rel64) {
            // The addend has the distance from the PC that was taken to the literal.
            let taken = code.insts[..reloc.inst].iter().rposition(|i| i.info().flags.contains(Flags::GETPC));
            let taken = taken.ok_or("a relocation relative to the PC has no PC to be relative to")?;
            let literal = |inst: &Inst, at: u32| i64::from(at) + inst.size() as i64;
            let was = literal(&code.insts[reloc.inst], old[reloc.inst]) - i64::from(old[taken]);
            let number = numbers[reloc.inst];
            let now = literal(&insts[number], places[reloc.inst]) - i64::from(places[taken]);
            reloc.addend += now - was;
        }
        reloc.inst = numbers[reloc.inst];
    }
    (code.insts, code.offsets, code.rows) = (insts, offsets, rows);
    Ok(())
}
