//! How lanes' addresses in device memory are looked at: where the first one's is, and whether the others' lie behind it.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Size};
use super::super::machine::Machine;
use super::lds::{NEIGHBOURS, SAME};
use super::{Assembler, EXEC, Jump, Pool, TooLarge, masked, scattered};
use crate::memory::Recent;

/// No lane is on.
const OFF: i32 = 2;

/// A function that gives in R11 where the host has the EBP bytes at RAX, or 0. It needs R9.
pub(super) fn finder(asm: &mut Assembler, write: bool) -> Result<(), TooLarge> {
    let layout = Recent::LAYOUT;
    for number in 0..layout.count {
        let field = |by: usize| {
            MemoryOperand::with_base_displ(Register::RBX, (layout.first + number * layout.size + by) as i64)
        };
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, Register::RAX))?;
        asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R11, field(layout.start)))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, field(layout.own)))?;
        asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R9, Register::R11))?;
        let outside = asm.jump(Code::Jbe_rel32_64)?;
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, Register::R9, Register::RBP))?;
        let too_few = asm.jump(Code::Jb_rel32_64)?;
        let read_only = if write {
            asm.put(Instruction::with2(Code::Cmp_rm8_imm8, field(layout.writable), 0))?;
            Some(asm.jump(Code::Je_rel32_64)?)
        } else {
            None
        };
        asm.put(Instruction::with2(Code::Add_r64_rm64, Register::R11, field(layout.ptr)))?;
        asm.put(Ok(Instruction::with(Code::Retnq)))?;
        [Some(outside), Some(too_few), read_only].into_iter().flatten().for_each(|jump| asm.land(jump));
    }
    asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::R11D, Register::R11D))?;
    asm.put(Ok(Instruction::with(Code::Retnq)))
}

/// RAX = an address, EAX holding its lower half or an offset, and R9D, if it `has_high`, the upper half; `base`: what a pair of
/// scalar registers holds is added.
pub(super) fn sum(
    asm: &mut Assembler,
    (offsets, size): (Offsets, Size),
    has_high: bool,
    base: Option<u8>,
) -> Result<(), TooLarge> {
    if offsets != Offsets::Unsigned {
        asm.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX))?;
    }
    if offsets == Offsets::Units && size != Size::Byte {
        let by = size.bytes().trailing_zeros() as i32;
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RAX, by))?;
    }
    if has_high {
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 32))?;
        asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, Register::R9))?;
    }
    let Some(code) = base else { return Ok(()) };
    asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, super::scalar::held(code)))
}

/// How the lanes' addresses are looked at.
pub(super) struct Look<'a> {
    pub asm: &'a mut Assembler,
    pub machine: Machine,
    pub pool: &'a Pool,
    /// Narrow vectors: the lanes that are on, if they need not be all.
    pub exec: Option<Register>,
    /// Two vector registers to work with.
    pub passing: [Register; 2],
    pub exit: usize,
    pub size: Size,
    /// Where the first lane's address is put, and how the lanes' lie.
    pub address: MemoryOperand,
    pub how: MemoryOperand,
}

impl Look<'_> {
    pub(super) fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// By how much neighbouring lanes differ.
    pub(super) fn steps(&self, high: Result<Register, Base>) -> MemoryOperand {
        let in_units = matches!(high, Err(Base { offsets: Offsets::Units, .. }));
        let at = self.pool.steps(self.size, in_units);
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    /// Leaves unless all lanes that are on are at one address, or at neighbouring words, or may be [anywhere](scattered). `high`: the
    /// upper halves, or a pair of scalar registers.
    pub(super) fn apart(&mut self, low: Register, high: Result<Register, Base>) -> Result<(), TooLarge> {
        let exit = self.exit as u64;
        let off = if self.machine.wide { Some(self.wide(low, high)?) } else { self.narrow(low, high)? };
        // What is left of R11D and EBP is not zero where the lanes are elsewhere.
        self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, SAME))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::R11D, Register::R11D))?;
        let same = self.asm.jump(Code::Je_rel32_64)?;
        self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, NEIGHBOURS))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::EBP, Register::EBP))?;
        if scattered::is_possible(self.size, high.err()) {
            let near = self.asm.jump(Code::Je_rel32_64)?;
            self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, scattered::SCATTERED))?;
            self.asm.land(near);
        } else {
            self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        }
        if let Some(off) = off {
            let near = self.asm.jump(Code::Jmp_rel32_64)?;
            self.asm.land(off);
            self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, OFF))?;
            self.asm.land(near);
        }
        self.asm.land(same);
        Ok(())
    }

    /// The first lane's address, EAX holding its lower half, and the upper halves being the same.
    fn whole(&mut self, high: Result<Register, Base>) -> Result<(), TooLarge> {
        // The last lane's address must not begin anew.
        let most = self.size.bytes().max(4) * 16;
        let unsigned = !matches!(high, Err(Base { offsets: Offsets::Signed | Offsets::Units, .. }));
        let (last, beyond) = if unsigned { (-most, Code::Jae_rel32_64) } else { (i32::MAX - most, Code::Jg_rel32_64) };
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, last))?;
        self.put(Instruction::with_branch(beyond, self.exit as u64))?;
        match high {
            Ok(high) => {
                self.put(Instruction::with2(self.machine.first_word(), Register::R9D, self.machine.low(high)))?;
                sum(self.asm, (Offsets::Unsigned, self.size), true, None)?;
            }
            Err(base) => sum(self.asm, (base.offsets, self.size), false, Some(base.code))?,
        }
        self.put(Instruction::with2(Code::Mov_rm64_r64, self.address, Register::RAX))
    }

    /// Gives the jump that is taken if no lane is on.
    fn wide(&mut self, low: Register, high: Result<Register, Base>) -> Result<Jump, TooLarge> {
        const DIFFERENT: i32 = 4;
        let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        let broadcast = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        let one = self.passing[0];
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
        let off = self.asm.jump(Code::Je_rel32_64)?;
        if let Ok(high) = high {
            self.put(Instruction::with2(broadcast, one, self.machine.low(high)))?;
            self.put(masked(Instruction::with4(compare, Register::K1, high, one, DIFFERENT), EXEC))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, Register::K1))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))?;
        }
        self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, self.machine.low(low)))?;
        self.put(Instruction::with2(broadcast, one, self.machine.low(low)))?;
        self.put(masked(Instruction::with4(compare, Register::K1, low, one, DIFFERENT), EXEC))?;
        let steps = self.steps(high);
        self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
        self.put(masked(Instruction::with4(compare, Register::K2, low, one, DIFFERENT), EXEC))?;
        self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::R11D, Register::K1))?;
        self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EBP, Register::K2))?;
        self.whole(high)?;
        Ok(off)
    }

    fn narrow(&mut self, low: Register, high: Result<Register, Base>) -> Result<Option<Jump>, TooLarge> {
        let [one, other] = self.passing;
        let (equal, broadcast) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, Code::VEX_Vpbroadcastd_ymm_xmmm32);
        let lanes = Code::VEX_Vmovmskps_r32_ymm;
        let mut off = None;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::R9D, 0xff))?;
        if let Some(exec) = self.exec {
            self.put(Instruction::with2(lanes, Register::R9D, exec))?;
            self.put(Instruction::with2(Code::Test_rm32_r32, Register::R9D, Register::R9D))?;
            off = Some(self.asm.jump(Code::Je_rel32_64)?);
        }
        if let Ok(high) = high {
            self.put(Instruction::with2(broadcast, one, self.machine.low(high)))?;
            self.put(Instruction::with3(equal, one, one, high))?;
            self.put(Instruction::with2(lanes, Register::EAX, one))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
            self.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))?;
        }
        self.put(Instruction::with2(Code::VEX_Vmovd_rm32_xmm, Register::EAX, self.machine.low(low)))?;
        self.put(Instruction::with2(broadcast, one, self.machine.low(low)))?;
        self.put(Instruction::with3(equal, other, one, low))?;
        let steps = self.steps(high);
        self.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, one, one, steps))?;
        self.put(Instruction::with3(equal, one, one, low))?;
        for (register, vector) in [(Register::R11D, other), (Register::EBP, one)] {
            self.put(Instruction::with2(lanes, register, vector))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, register, 0xff))?;
            self.put(Instruction::with2(Code::And_r32_rm32, register, Register::R9D))?;
        }
        self.whole(high)?;
        Ok(off)
    }
}
