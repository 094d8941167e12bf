//! Inserted instructions on their way into a chunk, with the literals that are known only when everything has an address.

use std::ops::Range;

use luthier_isa::op::Op;
use luthier_isa::{Flags, Inst, Operand, Reg};

use super::Refusal;
use crate::RelocKind;
use crate::layout::chunk::{Chunk, Fixup};
use crate::splice::{Env, Literal};

/// Puts some of these instructions into a chunk. `literals` are those of all of them, in order.
pub fn write(
    env: &Env,
    insts: &[Inst],
    range: Range<usize>,
    literals: &[Literal],
    chunk: &mut Chunk,
) -> Result<(), Refusal> {
    let mut literals = literals[literals.partition_point(|l| l.inst < range.start)..].iter().peekable();
    for n in range {
        let inst = &insts[n];
        if let Some(address) = literals.peek().filter(|l| l.inst == n).and_then(|l| env.plan.elsewhere(l.place)) {
            while let Some(literal) = literals.next_if(|l| l.inst == n) {
                let number = sum_half(&insts[..=n], address, literal).ok_or_else(|| {
                    Refusal::Reason(format!("{inst} of a hook makes an address, but not of s_getpc_b64 and one half"))
                })?;
                chunk.push(&env.machine.ops.mov32(number.0, Operand::Literal(number.1))?);
            }
            continue;
        }
        chunk.push(inst);
        while let Some(literal) = literals.next_if(|l| l.inst == n) {
            let at = chunk.here() - 1;
            chunk.fixups.push(Fixup::relative(at, literal.place, literal.addend, literal.kind));
        }
    }
    Ok(())
}

/// The register that the last of `insts` writes, half of a sum of `s_getpc_b64` and its literal, and what that comes to
/// where the literal's place is at `address`.
fn sum_half(insts: &[Inst], address: u64, literal: &Literal) -> Option<(Reg, u32)> {
    let (inst, before) = insts.split_last()?;
    let (op, high) = match literal.kind {
        RelocKind::Rel32Lo => (Op::SAddU32, false),
        RelocKind::Rel32Hi => (Op::SAddcU32, true),
        _ => return None,
    };
    let to = inst.operands().next().and_then(|(_, v)| v.reg()).filter(|_| inst.info().op() == op)?;
    let getpc = before.iter().rposition(|i| i.info().flags.contains(Flags::GETPC))?;
    let pair = before[getpc].operands().next().and_then(|(_, v)| v.reg())?;
    if pair.first.offset(u16::from(high)) != to.first || inst.operands().nth(1)?.1 != Operand::Reg(to) {
        return None;
    }
    // The literal, the instruction's last word, measures from itself.
    let bytes: usize = insts[getpc + 1..].iter().map(|i| i.size()).sum();
    let sum = address.wrapping_add_signed(literal.addend).wrapping_sub(bytes as u64 - 4);
    Some((to.first, if high { (sum >> 32) as u32 } else { sum as u32 }))
}
