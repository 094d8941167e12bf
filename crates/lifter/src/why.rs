//! Why the target of a call or jump is not known: where the register pair got its value, as far as that can be seen.

use std::collections::BTreeSet;
use std::fmt;

use luthier_isa::{Field, Flags, Operand, Reg};
use serde::Serialize;

use crate::class::Kind;
use crate::{BlockId, InstrId, Program, Terminator};

/// What is known of an address that is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Unresolved {
    /// The function was given it, in this register.
    Given { register: String },
    /// It is loaded, from memory that may change or at an address that is not known.
    Loaded { at: u64 },
    /// A call left it there, or may have.
    Returned { at: u64 },
    /// An instruction makes it in a way that is not followed.
    Computed { at: u64, mnemonic: String },
    /// Different ways bring different values.
    Different { places: usize },
    /// It is not seen where it comes from.
    Lost,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::Given { register } => write!(f, "{register} is what the function was given"),
            Unresolved::Loaded { at } => write!(f, "it is loaded at {at:#x}"),
            Unresolved::Returned { at } => write!(f, "it comes out of the call at {at:#x}"),
            Unresolved::Computed { at, mnemonic } => write!(f, "{mnemonic} at {at:#x} makes it"),
            Unresolved::Different { places } => write!(f, "it comes from {places} places"),
            Unresolved::Lost => f.write_str("where it comes from is not seen"),
        }
    }
}

/// Instructions that are looked at for one address, so that the cost stays linear.
const MANY: usize = 512;
/// Copies that are followed.
const COPIES: usize = 16;

enum Source {
    Entry,
    Instr(InstrId),
}

/// Where the unit that the last instruction of a block reads comes from.
pub(crate) fn unresolved(program: &Program, block: BlockId) -> Unresolved {
    let Some(last) = program.block(block).instrs.last() else { return Unresolved::Lost };
    // `s_swappc_b64` has its target second, `s_setpc_b64` alone.
    let Some(Operand::Reg(pair)) = program.inst(last).operand_in(Field::Ssrc0) else { return Unresolved::Lost };
    let (mut unit, mut from) = (pair.first, last);
    let mut budget = MANY;
    for _ in 0..COPIES {
        let sources = definitions(program, from, unit, &mut budget);
        let at = match sources.as_deref() {
            Some([Source::Entry]) => return Unresolved::Given { register: unit.to_string() },
            Some([Source::Instr(at)]) => *at,
            Some([]) | None => return Unresolved::Lost,
            Some(many) => return Unresolved::Different { places: many.len() },
        };
        let (inst, vaddr, kind) = (program.inst(at), program.vaddr(at), program.kind(at));
        let flags = inst.info().flags;
        match kind {
            Kind::CallDirect | Kind::Swappc => return Unresolved::Returned { at: vaddr },
            Kind::MovB32 | Kind::MovB64 | Kind::VectorMov | Kind::Readfirstlane | Kind::Readlane => {
                let (to, source) = (inst.operands().next(), inst.operands().nth(1));
                if let (Some((_, Operand::Reg(to))), Some((_, Operand::Reg(source)))) = (to, source) {
                    unit = source.first.offset(unit.number().saturating_sub(to.first.number()));
                    from = at;
                    continue;
                }
            }
            _ if flags.intersects(Flags::LOAD | Flags::ATOMIC) => return Unresolved::Loaded { at: vaddr },
            _ => {}
        }
        return Unresolved::Computed { at: vaddr, mnemonic: inst.info().mnemonic.to_owned() };
    }
    Unresolved::Lost
}

/// What may have written a unit last before an instruction, in the same function. `None` if that is too far to see.
fn definitions(program: &Program, from: InstrId, unit: Reg, budget: &mut usize) -> Option<Vec<Source>> {
    let func = program.func_of(from);
    let entry = program.function(func).entry;
    let start = program.block_of(from);
    let (mut entered, mut found) = (false, BTreeSet::new());
    let mut seen = BTreeSet::new();
    let mut work = vec![(start, Some(from))];
    while let Some((block, before)) = work.pop() {
        let instrs = program.block(block).instrs;
        let end = before.unwrap_or(instrs.end);
        let mut writer = None;
        for i in (instrs.first.0..end.0).rev().map(InstrId) {
            *budget = budget.checked_sub(1)?;
            if writes(program, block, i, unit) {
                writer = Some(i);
                break;
            }
        }
        if let Some(i) = writer {
            found.insert(i);
            continue;
        }
        entered |= block == entry;
        for &pred in program.preds(block) {
            if seen.insert(pred) {
                work.push((pred, None));
            }
        }
    }
    let entry = entered.then_some(Source::Entry);
    Some(entry.into_iter().chain(found.into_iter().map(Source::Instr)).collect())
}

fn writes(program: &Program, block: BlockId, instr: InstrId, unit: Reg) -> bool {
    let mut writes = false;
    program.classes.for_each_access(program.inst(instr), |a| writes |= a.access.writes() && a.reg == unit);
    let call = Some(instr) == program.block(block).instrs.last() && program.block(block).terminator == Terminator::Call;
    // Of an unknown callee, it is as good to say that the value is the callee's as that it came through.
    writes || call && program.call(block).is_none_or(|c| c.callee.is_none_or(|f| program.overwrites(f, unit)))
}
