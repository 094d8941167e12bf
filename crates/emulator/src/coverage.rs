//! Which opcodes the device implements.

use std::collections::BTreeMap;

use luthier_isa::{Inst, OpcodeInfo, Operand, Reg, RegRange, Target};

use crate::lower::{Builder, Limits};

/// An operation by its base mnemonic, and why it is refused if it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub base: &'static str,
    pub refusal: Option<String>,
}

/// Every operation of a target, by name. One is implemented if all of its encodings are.
pub fn coverage(target: Target) -> Vec<Coverage> {
    let mut all: BTreeMap<&'static str, Option<String>> = BTreeMap::new();
    for info in target.opcodes() {
        let mut builder = Builder::new(Limits::WHOLE, 0);
        let refusal = builder.instruction(&sample(info), 0, 0).err();
        let known = all.entry(info.base).or_default();
        if known.is_none() {
            *known = refusal;
        }
    }
    all.into_iter().map(|(base, refusal)| Coverage { base, refusal }).collect()
}

/// An instruction as compilers write it: with registers where the emptiest encoding names nothing at all.
fn sample(info: &'static OpcodeInfo) -> Inst {
    const NULL: u16 = 125;
    let mut inst = Inst::new(info);
    for (index, operand) in info.operands.iter().enumerate() {
        if inst.operand(operand) == Operand::Special(NULL) {
            let registers = [Reg::vgpr(0), Reg::agpr(0), Reg::sgpr(0)];
            // One of them suits, or the null stays and is refused for what it is.
            let _ = registers
                .iter()
                .find(|&&r| inst.set_operand(index, Operand::Reg(RegRange::new(r, operand.units))).is_ok());
        }
    }
    inst
}
