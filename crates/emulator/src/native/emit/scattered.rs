//! Several words of each lane in device memory where lanes lie anywhere in one allocation: lane by lane.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Size};
use super::super::machine::Machine;
use super::body::Body;
use super::frame::Frame;
use super::{Assembler, EXEC, TooLarge, lanes, scalar};

/// How lanes' addresses lie: each somewhere.
pub const SCATTERED: i32 = 4;

/// Whether lanes that access so much, with upper halves or a scalar base, may lie anywhere.
pub(super) fn is_possible(size: Size, base: Option<Base>) -> bool {
    size.words() > 1 && base.is_none_or(|base| base.offsets == Offsets::Unsigned)
}

/// Where on the stack the lower halves of lanes' addresses are, or their offsets: behind what the lanes access.
fn lows(frame: Frame, machine: Machine) -> i64 {
    frame.calls + i64::from(machine.bytes()) * i64::from(Size::Quad.words())
}

/// A function that finds what lanes access, by one of the [finders](super::look::finder). EAX has the lanes, at least one, R9 what is to
/// be added to the words of theirs on the stack, RBP the bytes of one. Gives in R11 what leads to it for the host if these words
/// are added, and jumps for "equal" are taken if it is not in one allocation, or not at whole words.
pub(super) fn finder(asm: &mut Assembler, machine: Machine, frame: Frame, finder: usize) -> Result<(), TooLarge> {
    let (least, most, bits) = (Register::EDX, Register::R12D, Register::ECX);
    let kept = [Register::RDX, Register::R12, Register::RCX, Register::R9];
    for register in kept {
        asm.put(Instruction::with1(Code::Push_r64, register))?;
    }
    // Below these registers and the return address.
    let at = lows(frame, machine) + 8 * (kept.len() as i64 + 1);
    asm.put(Instruction::with2(Code::Mov_r32_imm32, least, -1))?;
    for zero in [most, bits] {
        asm.put(Instruction::with2(Code::Xor_r32_rm32, zero, zero))?;
    }
    lanes::each(asm, |asm| {
        let low = MemoryOperand::with_base_index_scale_displ_size(Register::RSP, Register::R9, 4, at, 8);
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, low))?;
        asm.put(Instruction::with2(Code::Or_r32_rm32, bits, Register::R11D))?;
        asm.put(Instruction::with2(Code::Cmp_r32_rm32, Register::R11D, least))?;
        asm.put(Instruction::with2(Code::Cmovb_r32_rm32, least, Register::R11D))?;
        asm.put(Instruction::with2(Code::Cmp_r32_rm32, Register::R11D, most))?;
        asm.put(Instruction::with2(Code::Cmova_r32_rm32, most, Register::R11D))
    })?;
    asm.put(Instruction::with1(Code::Pop_r64, Register::R9))?;
    asm.put(Instruction::with2(
        Code::Lea_r64_m,
        Register::RAX,
        MemoryOperand::with_base_index(Register::R9, Register::RDX),
    ))?;
    asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R12, Register::RDX))?;
    asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RBP, Register::R12))?;
    asm.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
    asm.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
    let none = asm.jump(Code::Je_rel32_64)?;
    asm.put(Instruction::with2(Code::Or_r32_rm32, bits, Register::R11D))?;
    asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R11, Register::RDX))?;
    // All words are where words are: then this is not zero.
    asm.put(Instruction::with2(Code::And_rm32_imm32, bits, Size::Word.lowest()))?;
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, bits, 1))?;
    asm.put(Instruction::with2(Code::Sbb_r32_rm32, bits, bits))?;
    asm.land(none);
    for register in [Register::RCX, Register::R12, Register::RDX] {
        asm.put(Instruction::with1(Code::Pop_r64, register))?;
    }
    asm.put(Ok(Instruction::with(Code::Retnq)))
}

/// The lanes of a vector that access something: narrow vectors have them in a register, if they need not be all.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub machine: Machine,
    pub frame: Frame,
    pub exec: Option<Register>,
    /// [`finder`].
    pub finder: usize,
    pub exit: usize,
}

impl Found {
    /// EAX = the lanes that are on.
    pub fn lanes(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        asm.put(match self.exec {
            _ if self.machine.wide => Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EAX, EXEC),
            Some(on) => Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, on),
            None => Instruction::with2(Code::Mov_r32_imm32, Register::EAX, 0xff),
        })
    }

    /// R11 = what leads to what lanes access if their words are added, or leaves. Upper halves are those of the first lane.
    pub fn find(
        self,
        asm: &mut Assembler,
        (low, high): (Register, Result<Register, Base>),
        (size, offset): (Size, i32),
    ) -> Result<(), TooLarge> {
        let lows = MemoryOperand::with_base_displ(Register::RSP, lows(self.frame, self.machine));
        asm.put(Instruction::with2(self.machine.store(), lows, low))?;
        match high {
            Ok(high) => {
                asm.put(Instruction::with2(self.machine.first_word(), Register::R9D, self.machine.low(high)))?;
                asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 32))?;
            }
            Err(base) => asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, scalar::held(base.code)))?,
        }
        if offset != 0 {
            asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::R9, offset))?;
        }
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, size.bytes()))?;
        self.lanes(asm)?;
        asm.put(Instruction::with_branch(Code::Call_rel32_64, self.finder as u64))?;
        asm.put(Instruction::with_branch(Code::Je_rel32_64, self.exit as u64))
    }
}

impl Body<'_> {
    /// What lanes load that lie anywhere: it is put on the stack as if they were neighbours.
    pub(super) fn scattered(
        &mut self,
        found: Found,
        addresses: (Register, Result<Register, Base>),
        (size, offset): (Size, i32),
        to: &[Register],
    ) -> Result<(), TooLarge> {
        let Found { machine, frame, .. } = found;
        found.find(self.asm, addresses, (size, offset))?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::R11))?;
        let one = self.passing(0);
        let clear = match machine.wide {
            true => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            false => Code::VEX_Vxorps_ymm_ymm_ymmm256,
        };
        self.put(Instruction::with3(clear, one, one, one))?;
        for by in (frame.calls..).step_by(machine.bytes() as usize).take(to.len()) {
            self.put(Instruction::with2(machine.store(), MemoryOperand::with_base_displ(Register::RSP, by), one))?;
        }
        found.lanes(self.asm)?;
        let of_lane = |scale: u32, by: i64| {
            MemoryOperand::with_base_index_scale_displ_size(Register::RSP, Register::R9, scale, by, 8)
        };
        lanes::each(self.asm, |asm| {
            asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, of_lane(4, lows(frame, machine))))?;
            asm.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, size.bytes().trailing_zeros() as i32))?;
            let from = MemoryOperand::with_base_index(Register::RBP, Register::R11);
            lanes::copy(asm, machine, size, (of_lane(1, frame.calls), from), one)
        })?;
        self.near_several(to, Register::RSP, frame.calls)
    }
}
