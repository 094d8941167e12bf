//! Whether an access to a buffer is made: hardware drops what lies outside, and loads zero for it.
//!
//! As an address ([`super::AddressShape`]), the rule is compiled into the hook, and its inputs are bound where the template
//! is placed. Which resources are bounded in which way is in the hook compiler's table of processors.

use luthier_isa::{Flags, Inst, RegRange, Space};

use super::address::{AddressInput, AddressPart, AddressRole, Parts, is_wide, register};
use crate::rejection::Rejection;
use luthier_isa::Field;

/// What decides whether the bytes of one access are all in its buffer.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct RangeShape {
    /// The resource, then what says where in the buffer the access is.
    pub parts: Vec<AddressPart>,
    /// Of each lane, or of a scalar access.
    pub bytes: u16,
    /// A scalar access, whose terms are offsets from the buffer's start, in multiples of this.
    pub scalar: Option<u8>,
}

impl RangeShape {
    /// The shape of an instruction's range, and its inputs in the order of the parts. `None` where nothing bounds what it
    /// accesses.
    ///
    /// # Errors
    /// It accesses no memory, or its resource says how many bytes.
    pub fn of(inst: &Inst) -> Result<Option<(RangeShape, Vec<AddressInput>)>, Rejection> {
        let mnemonic = inst.info().mnemonic;
        let access = inst.memory().ok_or(Rejection::NoAccess { mnemonic })?;
        if access.space == Space::Image {
            return Err(Rejection::NoRange { mnemonic });
        }
        if access.space != Space::Buffer {
            return Ok(None);
        }
        let bytes = access.width.ok_or(Rejection::NoWidth { mnemonic })?;
        let mut parts = Parts::default();
        let none = || Rejection::NoRange { mnemonic };
        let is_scalar = inst.info().flags.contains(Flags::SMEM);
        let field = if is_scalar { Field::Sbase } else { Field::Srsrc };
        let resource = register(inst, field).ok_or_else(none)?;
        let words = |first: u16, count: u8| RegRange::new(resource.first.offset(first), count);
        parts.reg(words(0, 2), AddressRole::Resource);
        if is_wide(inst) {
            parts.reg(words(2, 2), AddressRole::Records);
        } else {
            parts.reg(words(2, 1), AddressRole::Records);
            if !is_scalar {
                parts.reg(words(3, 1), AddressRole::ResourceFlags);
            }
        }
        let offsets = match is_scalar {
            true => parts.scalar_offsets(inst, Some(bytes), 1),
            false => parts.buffer_offsets(inst, AddressRole::Offset, AddressRole::ScalarOffset),
        };
        offsets.ok_or_else(none)?;
        let scalar = is_scalar.then_some(if bytes < 4 { bytes as u8 } else { 4 });
        Ok(Some((RangeShape { parts: parts.parts, bytes, scalar }, parts.inputs)))
    }

    /// It may differ between lanes.
    pub fn is_per_lane(&self) -> bool {
        // A resource may add the lane's number to the index.
        self.scalar.is_none()
    }
}
