//! How the address of a memory access is put together from the instruction's operands.
//!
//! A shape is compiled into the hook; its inputs are bound where the template is placed.

use luthier_isa::{Inst, RegRange};

use crate::plan::Rejection;

/// One value that goes into an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AddressInput {
    /// A register of the instruction.
    Reg(RegRange),
    /// A number of the instruction, sign-extended.
    Number(i64),
}

impl AddressInput {
    pub fn reg(self) -> Option<RegRange> {
        match self {
            AddressInput::Reg(range) => Some(range),
            AddressInput::Number(_) => None,
        }
    }
}

/// What is computed from the inputs; two instructions of one shape share a template.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct AddressShape {
    pub parts: Vec<AddressPart>,
}

/// One input of a shape, and what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AddressPart {
    /// 32-bit units.
    pub units: u8,
    pub per_lane: bool,
    pub signed: bool,
    /// Shifted left by so many bits before it is added.
    pub shift: u8,
}

impl AddressShape {
    /// The shape of an instruction's address, and its inputs in the order of the parts.
    ///
    /// # Errors
    /// It accesses no memory, or in a way that no address describes.
    pub fn of(inst: &Inst) -> Result<(AddressShape, Vec<AddressInput>), Rejection> {
        Err(Rejection::NoAddress { mnemonic: inst.info().mnemonic })
    }
}
