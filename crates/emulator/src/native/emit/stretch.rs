//! Device memory that all vectors of a wave access in a row: looked for once.
//!
//! As a rule the lanes of a wave are at neighbouring words, those of each vector behind those of the one before it. Where the
//! first vector's are, it is found out whether the allocation has room for all that are to come. For each of these it is left
//! to see that its lanes are where they are expected; if not, it is looked at by itself.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Size};
use super::super::machine::Machine;
use super::frame::VECTORS;
use super::look::Look;
use super::{Assembler, EXEC, Jump, TooLarge, lds, masked};

/// How lanes' addresses lie: where they are expected.
pub const EXPECTED: i32 = 3;

/// Where it is kept on the stack what is expected.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    at: i64,
    /// How far from the addresses it begins, in bytes, and how much longer than the lanes' words it is.
    first: i32,
    more: i32,
    size: Size,
}

/// Bytes of the stack.
pub const SIZE: usize = 24;

fn stack(at: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RSP, at)
}

impl Stretch {
    /// That of accesses so far from the addresses.
    pub fn of(at: i64, size: Size, offsets: impl Iterator<Item = i32> + Clone) -> Stretch {
        let (first, last) = (offsets.clone().min().unwrap_or(0), offsets.max().unwrap_or(0));
        // One that is longer than any allocation is in none.
        Stretch { at, first, more: last.checked_sub(first).unwrap_or(i32::MAX >> 1), size }
    }

    pub fn size(self) -> Size {
        self.size
    }

    /// Where the host has what the first lane accesses, at the smallest offset.
    fn host(self) -> MemoryOperand {
        stack(self.at)
    }
    /// What the first lane's address is expected to be: its lower half, or its offset, and its upper half.
    fn low(self) -> MemoryOperand {
        stack(self.at + 8)
    }
    fn high(self) -> MemoryOperand {
        stack(self.at + 12)
    }
    fn is_known(self) -> MemoryOperand {
        stack(self.at + 16)
    }

    /// No vector has been looked at.
    pub fn begin(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        asm.put(Instruction::with2(Code::Mov_rm32_imm32, self.is_known(), 0))
    }

    /// The next vector comes; `in_units`: offsets are.
    pub fn step(self, asm: &mut Assembler, lanes: i32, in_units: bool) -> Result<(), TooLarge> {
        let bytes = self.size.bytes() * lanes;
        asm.put(Instruction::with2(Code::Add_rm32_imm32, self.low(), if in_units { lanes } else { bytes }))?;
        asm.put(Instruction::with2(Code::Add_rm64_imm32, self.host(), bytes))
    }

    /// R11 = where the host has what the first lane accesses with an offset.
    pub fn found(self, asm: &mut Assembler, offset: i32) -> Result<(), TooLarge> {
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, self.host()))?;
        match offset - self.first {
            0 => Ok(()),
            by => asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::R11, by)),
        }
    }
}

/// What a wave's first lane's address, or offset, is at most, so that those of the others neither begin anew nor become
/// negative; and the jump that is taken if it is more.
pub(super) fn limit(machine: Machine, offsets: Offsets, size: Size) -> (i32, Code) {
    let most = VECTORS as i32 * machine.bytes() * i32::from(size.words());
    match offsets {
        Offsets::Unsigned => (-most, Code::Jae_rel32_64),
        Offsets::Signed | Offsets::Units => (i32::MAX - most, Code::Jg_rel32_64),
    }
}

/// Which lanes count.
pub(super) enum On {
    All,
    /// Those of the mask register.
    Masked,
    /// Those of a vector register.
    Vector(Register),
}

/// Whether lanes' addresses, or offsets, begin with what is kept and go on in `steps`; jumps for "not equal" are taken if not.
pub(super) fn look(
    asm: &mut Assembler,
    machine: Machine,
    [one, other]: [Register; 2],
    (low, first): (Register, MemoryOperand),
    high: Option<(Register, MemoryOperand)>,
    steps: MemoryOperand,
    on: On,
) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(machine.broadcast(), one, first))?;
    if let Some((_, all)) = high {
        asm.put(Instruction::with2(machine.broadcast(), other, all))?;
    }
    if machine.wide {
        asm.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
        return differ(asm, (low, one), high.map(|(high, _)| (high, other)), on);
    }
    let equal = Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256;
    asm.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, one, one, steps))?;
    asm.put(Instruction::with3(equal, one, one, low))?;
    if let Some((high, _)) = high {
        asm.put(Instruction::with3(equal, other, other, high))?;
        asm.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, one, one, other))?;
    }
    asm.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, one))?;
    asm.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
    if let On::Vector(exec) = on {
        asm.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R9D, exec))?;
        asm.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
    }
    asm.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))
}

/// Whether wide vectors, one or two, are not what is expected; jumps for "not equal" are taken then.
pub(super) fn differ(
    asm: &mut Assembler,
    (low, expected): (Register, Register),
    high: Option<(Register, Register)>,
    on: On,
) -> Result<(), TooLarge> {
    const DIFFERENT: i32 = 4;
    let compare = |to, a, b| {
        let it = Instruction::with4(Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, to, a, b, DIFFERENT);
        if matches!(on, On::All) { it } else { masked(it, EXEC) }
    };
    asm.put(compare(Register::K1, low, expected))?;
    let mut last = Register::K1;
    if let Some((high, expected)) = high {
        last = Register::K2;
        asm.put(compare(last, high, expected))?;
    }
    asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, last))
}

impl Look<'_> {
    /// Whether lanes are where they are expected; gives the jumps that are taken if not.
    pub fn expected(
        &mut self,
        it: Stretch,
        low: Register,
        high: Result<Register, Base>,
    ) -> Result<[Jump; 2], TooLarge> {
        let [one, other] = self.passing;
        let steps = self.steps(high);
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, it.is_known(), 0))?;
        let unknown = self.asm.jump(Code::Je_rel32_64)?;
        let (low, high) = ((low, it.low()), high.ok().map(|high| (high, it.high())));
        let on = match self.exec {
            _ if self.machine.wide => On::Masked,
            Some(exec) => On::Vector(exec),
            None => On::All,
        };
        look(self.asm, self.machine, [one, other], low, high, steps, on)?;
        let elsewhere = self.asm.jump(Code::Jne_rel32_64)?;
        Ok([unknown, elsewhere])
    }

    /// Where a vector's lanes have been found to be neighbours, and vectors follow: what is expected of these, if there is room
    /// for all. Goes on at `here` then.
    pub fn stretch(
        &mut self,
        it: Stretch,
        low: Register,
        high: Result<Register, Base>,
        finder: usize,
        here: usize,
    ) -> Result<(), TooLarge> {
        let offsets = high.err().map_or(Offsets::Unsigned, |base| base.offsets);
        let (last, beyond) = limit(self.machine, offsets, it.size);
        let first_word = self.machine.first_word();
        let mut not = Vec::new();
        // What vectors before this one have found counts no more: where there is no room, only a part of it is written anew.
        it.begin(self.asm)?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, self.how, lds::NEIGHBOURS))?;
        not.push(self.asm.jump(Code::Jne_rel32_64)?);
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EDX, 1))?;
        not.push(self.asm.jump(Code::Je_rel32_64)?);
        self.put(Instruction::with2(first_word, Register::EAX, self.machine.low(low)))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, last))?;
        not.push(self.asm.jump(beyond)?);
        self.put(Instruction::with2(Code::Mov_rm32_r32, it.low(), Register::EAX))?;
        if let Ok(high) = high {
            self.put(Instruction::with2(first_word, Register::EAX, self.machine.low(high)))?;
            self.put(Instruction::with2(Code::Mov_rm32_r32, it.high(), Register::EAX))?;
        }
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, self.address))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, it.first))?;
        let bytes = it.size.bytes() * self.machine.lanes() as i32;
        self.put(Instruction::with3(Code::Imul_r32_rm32_imm32, Register::EBP, Register::EDX, bytes))?;
        self.put(Instruction::with2(Code::Add_rm32_imm32, Register::EBP, it.more))?;
        self.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
        self.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
        not.push(self.asm.jump(Code::Je_rel32_64)?);
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, it.size.lowest()))?;
        not.push(self.asm.jump(Code::Jne_rel32_64)?);
        self.put(Instruction::with2(Code::Mov_rm64_r64, it.host(), Register::R11))?;
        self.put(Instruction::with2(Code::Mov_rm32_imm32, it.is_known(), 1))?;
        self.put(Instruction::with_branch(Code::Jmp_rel32_64, here as u64))?;
        not.into_iter().for_each(|jump| self.asm.land(jump));
        Ok(())
    }
}
