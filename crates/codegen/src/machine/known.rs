//! What was worked out lately: code repeats itself, a place is looked back from as often as something is inserted near it,
//! and placement writes the same few instructions again and again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use luthier_isa::hazard::Facts;
use luthier_isa::{EncodeError, Inst, Mode, OpcodeId, OpcodeInfo, Operand};
use smallvec::SmallVec;

/// By a hash of the instruction. A newer one takes the place of an older one.
type Instructions = Vec<Option<(Inst, Rc<Facts>)>>;

/// By opcode and operands.
type Built = HashMap<(OpcodeId, Mode, SmallVec<[Operand; 3]>), Inst>;

/// A power of two.
const SLOTS: usize = 1024;

thread_local! {
    static INSTRUCTIONS: RefCell<Instructions> = RefCell::new(vec![None; SLOTS]);
    static BUILT: RefCell<Built> = RefCell::default();
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
    if operands.iter().any(|operand| matches!(operand, Operand::Literal(_))) {
        return Inst::build(info, operands); // of which there are too many to keep
    }
    let key = (info.id, info.mode, SmallVec::from_slice(operands));
    BUILT.with_borrow_mut(|built| match built.get(&key) {
        Some(inst) => Ok(*inst),
        None => Inst::build(info, operands).inspect(|inst| {
            built.insert(key, *inst);
        }),
    })
}
