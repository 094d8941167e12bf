//! Scratch of our own, above the kernel's, where VGPRs are kept that fit nowhere else.
//!
//! Where the hardware itself knows each wave's scratch (CDNA3 on, RDNA3 on), a kernel is given more by its descriptor
//! alone. Elsewhere the kernel's own code sets up the base, in registers that only it knows.

use luthier_isa::{EncodeError, Field, Generation, Inst, OpcodeInfo, Reg};
use luthier_loader::KernelDescriptor;

use super::Machine;
use super::operations::one;

/// The highest offset that every processor's scratch instructions can name.
const MAX_OFFSET: u32 = 4095;

impl Machine {
    /// The hardware adds the base of the wave's scratch itself.
    pub fn has_architected_scratch(&self) -> bool {
        !matches!(self.mode.target().generation(), Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10)
    }

    /// Where scratch of our own may begin for a kernel with this much of its own; `None` where it cannot be had.
    pub fn own_scratch(&self, private_segment: u32, dynamic_stack: bool) -> Option<u32> {
        let start = private_segment.checked_next_multiple_of(16)?;
        (self.has_architected_scratch() && !dynamic_stack && start + 256 <= MAX_OFFSET).then_some(start)
    }

    /// Gives the kernel scratch up to `end` bytes a lane.
    pub fn raise_scratch(&self, descriptor: &mut KernelDescriptor, end: u32) {
        if end > descriptor.private_segment_fixed_size() {
            descriptor.set_private_segment_fixed_size(end.next_multiple_of(16));
            descriptor.set_enable_private_segment(true);
        }
    }

    /// Stores a VGPR's active lanes.
    pub fn store_scratch(&self, vgpr: Reg, offset: u32) -> Result<Vec<Inst>, EncodeError> {
        Ok(vec![self.scratch(self.ops.scratch_store_dword, vgpr, offset)?])
    }

    /// Loads them back, and waits.
    pub fn load_scratch(&self, vgpr: Reg, offset: u32) -> Result<Vec<Inst>, EncodeError> {
        let mut insts = vec![self.scratch(self.ops.scratch_load_dword, vgpr, offset)?];
        let wait = luthier_lifter::Wait { vmcnt: Some(0), ..Default::default() };
        insts.extend(self.wait(wait)?);
        Ok(insts)
    }

    fn scratch(&self, info: Option<&'static OpcodeInfo>, vgpr: Reg, offset: u32) -> Result<Inst, EncodeError> {
        let missing = EncodeError::NoOperand { mnemonic: "scratch_load_dword", has: 0, index: 0 };
        let info = info.ok_or(missing)?;
        let mut inst = Inst::new(info);
        for (n, operand) in info.operands.iter().enumerate() {
            if operand.access.writes() || operand.field == Field::Vdata {
                inst.set_operand(n, one(vgpr))?;
            }
        }
        // The offset is printed as a modifier: it is no operand.
        inst.set_field(Field::Offset, offset)?;
        Ok(inst)
    }
}
