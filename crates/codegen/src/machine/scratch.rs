//! Scratch of our own, above the kernel's, where VGPRs are kept that fit nowhere else.
//!
//! Where the hardware itself knows each wave's scratch (CDNA3 on, RDNA3 on), a kernel is given more by its descriptor
//! alone. Elsewhere the base of it is FLAT_SCRATCH, which code has to set from what the wave starts with: the base of
//! all scratch, and where the wave's begins in it.
//!
//! Sources: LLVM's AMDGPU usage page ("Initial Kernel Execution State", "Flat Scratch", "Private Segment Buffer").

use luthier_isa::{EncodeError, Field, Generation, Inst, Mode, OpcodeInfo, Operand, Reg, RegSet};
use luthier_loader::{EntryState, EntryValue, KernelDescriptor};

use super::Machine;
use super::operations::{HwReg, number, one, small};

/// No wave may have more in a lane than this.
const MOST: u32 = 1 << 17;
/// Stacks begin on multiples of this.
const SCRATCH_ALIGN: u32 = 16;
/// The highest offset that scratch instructions without a register can name, where there are such.
const MAX_OFFSET: u32 = 4095;

/// Scratch of our own in the kernels of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnScratch {
    /// Where registers are kept, in each lane's: behind the hooks' stacks.
    pub start: u32,
    /// Bytes of the deepest stack; all stacks begin at the same place.
    pub stack: u32,
    /// Bytes of a lane's that hooks may take; an offset reaches as far on every processor.
    pub room: u32,
    /// An access needs an SGPR that holds that.
    pub by_register: bool,
    /// The kernels set its base at their entries.
    pub set_at_entry: bool,
    /// Where it is in waves whose own stack has no known end; all of the above then counts as if that end were known.
    pub floating: Option<Floating>,
}

/// Scratch that begins in each wave where the launch's own ends: behind a stack of any depth. The launch is given as much
/// more as the descriptor asks for more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floating {
    /// SGPRs that say so as long as the wave lives: where registers are kept, and where the stacks begin.
    pub cells: Reg,
    pub stacks: Reg,
}

/// What a wave starts with that tells where its scratch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchInputs {
    /// The pair that the base of all scratch is in; of a buffer resource it is the low 48 bits.
    pub base: Reg,
    pub is_resource: bool,
    /// Where in it the wave's begins, once the descriptor asks for it.
    pub offset: Reg,
}

impl ScratchInputs {
    /// `None` where the kernel is given no base.
    pub fn of(descriptor: &KernelDescriptor, mode: Mode) -> Option<ScratchInputs> {
        let mut asking = *descriptor;
        asking.set_enable_private_segment(true);
        let state = EntryState::of(&asking, mode);
        let first = |value| state.find(value).map(|field| field.range.first);
        let resource = || first(EntryValue::PrivateSegmentBuffer).map(|base| (base, true));
        let (base, is_resource) = first(EntryValue::FlatScratchInit).map(|base| (base, false)).or_else(resource)?;
        Some(ScratchInputs { base, is_resource, offset: first(EntryValue::ScratchOffset)? })
    }
}

impl OwnScratch {
    /// Where the stacks begin, and with them all of it.
    pub fn base(&self) -> u32 {
        self.start - self.stack
    }

    /// Where it ends, if `used` bytes are used of what registers are kept in.
    pub fn end(&self, used: u32) -> u32 {
        self.start + if self.floating.is_some() { self.room } else { used }
    }
}

impl Floating {
    /// Two SGPRs of a wave that holds something in those of `taken`, or one where there are no stacks.
    pub fn among(taken: &RegSet, limit: u16, has_stacks: bool) -> Option<Floating> {
        let mut free = (0..limit).map(Reg::sgpr).filter(|reg| !taken.contains(*reg));
        let cells = free.next()?;
        Some(Floating { cells, stacks: if has_stacks { free.next()? } else { cells } })
    }

    /// What the SGPRs hold, each with the bytes from there to the end of all scratch.
    pub fn bases(self, own: &OwnScratch) -> impl Iterator<Item = (Reg, u32)> {
        let stacks = (own.stack > 0).then_some((self.stacks, own.stack + own.room));
        [(self.cells, own.room)].into_iter().chain(stacks)
    }

    pub fn registers(self) -> [Reg; 2] {
        [self.cells, self.stacks]
    }
}

impl Machine {
    /// The hardware adds the base of the wave's scratch itself.
    pub fn has_architected_scratch(&self) -> bool {
        !matches!(self.mode.target().generation(), Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10)
    }

    /// Scratch of our own for kernels with this much of their own: for stacks and for registers. `None` where there is no
    /// room for it.
    pub fn own_scratch(&self, private_segment: u32, (stack, room): (u32, u32)) -> Option<OwnScratch> {
        let start = private_segment.checked_next_multiple_of(SCRATCH_ALIGN)?.checked_add(stack)?;
        let start = Some(start).filter(|start| start.saturating_add(room) <= MOST)?;
        let architected = self.has_architected_scratch();
        let by_register = !architected || start + room > MAX_OFFSET;
        Some(OwnScratch { start, stack, room, by_register, set_at_entry: !architected, floating: None })
    }

    /// The same for kernels whose own stack has no known end, by these SGPRs.
    pub fn floating_scratch(
        &self,
        private_segment: u32,
        (stack, room): (u32, u32),
        floating: Floating,
    ) -> Option<OwnScratch> {
        let room = room.next_multiple_of(SCRATCH_ALIGN);
        // What the launch gives may end anywhere: there is room to begin on a round address behind that.
        let own = self.own_scratch(private_segment.checked_add(SCRATCH_ALIGN)?, (stack, room))?;
        Some(OwnScratch { by_register: true, floating: Some(floating), ..own })
    }

    /// `to` = the address of the last `bytes` of the wave's scratch, rounded down; `size` holds how much the wave has.
    /// SCC is overwritten.
    pub fn behind_own(&self, to: Reg, size: Reg, bytes: u32) -> Result<[Inst; 2], EncodeError> {
        let ops = &self.ops;
        let round = Operand::Inline(192 + SCRATCH_ALIGN as u16);
        Ok([
            Inst::build(ops.s_sub_u32, &[one(to), one(size), number(bytes)])?,
            Inst::build(ops.s_and_b32, &[one(to), one(to), round])?,
        ])
    }

    /// Gives the kernel scratch up to `end` bytes a lane.
    pub fn raise_scratch(&self, descriptor: &mut KernelDescriptor, end: u32) {
        if end > descriptor.private_segment_fixed_size() {
            descriptor.set_private_segment_fixed_size(end.next_multiple_of(16));
            descriptor.set_enable_private_segment(true);
        }
    }

    /// FLAT_SCRATCH = the wave's scratch, out of what the wave starts with, by way of the pair `sum`. SCC, which no
    /// instruction has set at that time, is overwritten.
    pub fn set_scratch_base(&self, inputs: &ScratchInputs, sum: Reg) -> Result<Vec<Inst>, EncodeError> {
        let ops = &self.ops;
        let by_setreg = self.scratch_base_is_hwreg();
        let (low, high) = (inputs.base, inputs.base.offset(1));
        let mut insts = Vec::new();
        let mut from = high;
        if inputs.is_resource {
            from = sum.offset(1);
            insts.push(Inst::build(ops.s_and_b32, &[one(from), one(high), number(0xffff)])?);
        }
        insts.push(Inst::build(ops.s_add_u32, &[one(sum), one(low), one(inputs.offset)])?);
        insts.push(Inst::build(ops.s_addc_u32, &[one(sum.offset(1)), one(from), small(0)])?);
        if by_setreg {
            for (half, field) in HwReg::SCRATCH_BASE.into_iter().enumerate() {
                insts.push(ops.set_hwreg(field, sum.offset(half as u16))?);
            }
        }
        Ok(insts)
    }

    /// Stores a VGPR's active lanes; `address` is a register with the start of our scratch, which the offset then counts
    /// from.
    pub fn store_scratch(&self, vgpr: Reg, address: Option<Reg>, offset: u32) -> Result<Inst, EncodeError> {
        let ops = &self.ops;
        self.scratch([ops.scratch_store_dword, ops.scratch_store_dword_saddr], vgpr, address, offset)
    }

    /// Loads them back; they have to be waited for.
    pub fn load_scratch(&self, vgpr: Reg, address: Option<Reg>, offset: u32) -> Result<Inst, EncodeError> {
        let ops = &self.ops;
        self.scratch([ops.scratch_load_dword, ops.scratch_load_dword_saddr], vgpr, address, offset)
    }

    /// The wait for what was loaded.
    pub fn scratch_loaded(&self) -> Result<Vec<Inst>, EncodeError> {
        self.wait(luthier_lifter::Wait { vmcnt: Some(0), ..Default::default() })
    }

    fn scratch(
        &self,
        [plain, by_register]: [Option<&'static OpcodeInfo>; 2],
        vgpr: Reg,
        address: Option<Reg>,
        offset: u32,
    ) -> Result<Inst, EncodeError> {
        let missing = EncodeError::NoOperand { mnemonic: "scratch_load_dword", has: 0, index: 0 };
        let info = if address.is_some() { by_register } else { plain }.ok_or(missing)?;
        let mut inst = Inst::new(info);
        for (n, operand) in info.operands.iter().enumerate() {
            if operand.access.writes() || operand.field == Field::Vdata {
                inst.set_operand(n, one(vgpr))?;
            } else if let (Field::Saddr, Some(address)) = (operand.field, address) {
                inst.set_operand(n, one(address))?;
            }
        }
        // The offset is printed as a modifier: it is no operand.
        inst.set_field(Field::Offset, offset)?;
        Ok(inst)
    }
}
