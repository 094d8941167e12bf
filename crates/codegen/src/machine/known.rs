//! What was worked out lately: code repeats itself, a place is looked back from as often as something is inserted near it,
//! and placement writes the same few instructions again and again.

use std::cell::RefCell;
use std::rc::Rc;

use luthier_isa::hazard::Facts;
use luthier_isa::{EncodeError, Inst, OpcodeInfo, Operand};
use smallvec::SmallVec;

/// By a hash of the instruction. A newer one takes the place of an older one.
type Instructions = Vec<Option<(Inst, Rc<Facts>)>>;

/// The same by opcode and operands.
type Built = Vec<Option<(&'static OpcodeInfo, SmallVec<[Operand; 3]>, Inst)>>;

/// A power of two.
const SLOTS: usize = 4096;

thread_local! {
    static INSTRUCTIONS: RefCell<Instructions> = RefCell::new(vec![None; SLOTS]);
    static BUILT: RefCell<Built> = RefCell::new(vec![None; SLOTS]);
}

/// [`Facts::of`] an instruction.
pub fn facts(inst: &Inst) -> Rc<Facts> {
    INSTRUCTIONS.with_borrow_mut(|known| {
        // Fibonacci hashing of the first two words, which tell most instructions apart.
        let hash = inst.pair().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut known[(hash >> 32) as usize % SLOTS];
        if let Some((_, facts)) = slot.as_ref().filter(|(known, _)| known == inst) {
            return facts.clone();
        }
        let facts = Rc::new(Facts::of(inst));
        *slot = Some((*inst, facts.clone()));
        facts
    })
}

/// [`Inst::build`].
pub fn build(info: &'static OpcodeInfo, operands: &[Operand]) -> Result<Inst, EncodeError> {
    let Some(hash) =
        operands.iter().try_fold(usize::from(info.id.0), |hash, operand| Some(hash * 31 + number(operand)?))
    else {
        return Inst::build(info, operands);
    };
    BUILT.with_borrow_mut(|built| {
        let slot = &mut built[hash % SLOTS];
        if let Some((_, _, inst)) = slot.as_ref().filter(|(of, with, _)| *of == info && with[..] == *operands) {
            return Ok(*inst);
        }
        let inst = Inst::build(info, operands)?;
        *slot = Some((info, SmallVec::from_slice(operands), inst));
        Ok(inst)
    })
}

/// What tells most operands apart; nothing for kinds with too many.
fn number(operand: &Operand) -> Option<usize> {
    match operand {
        Operand::Reg(range) => Some(range.first.index()),
        Operand::Inline(code) | Operand::Special(code) => Some(usize::from(*code)),
        Operand::Imm(n) => Some(*n as usize % SLOTS),
        _ => None,
    }
}
