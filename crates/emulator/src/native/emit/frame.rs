//! A run's stack frame.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::functions::{RESULTS, SOURCES};
use super::super::machine::Machine;
use super::assembler::Assembler;
use super::{TooLarge, call, stretch};

/// Values that wait on the stack at most.
pub const SLOTS: usize = 32;
/// Addresses of a phase at most, of LDS and of device memory: where the first lane's is, and how the lanes' lie, is kept on
/// the stack.
pub const ADDRESSES: usize = 16;
/// Bytes of one of device memory.
pub const PLACE: usize = 16 + stretch::SIZE;
/// Bytes from one base that several scalar loads read, at most.
pub const SPANS: usize = 4;
/// Of the frame, so that no vector lies across two lines of the cache, and functions find the stack as they want it.
pub const ALIGNMENT: i32 = 64;
/// Vectors of a wave at most.
pub const VECTORS: usize = 8;

/// Bytes of a copy of a row, and how many there are at most.
pub const COPY: usize = 256;
pub const COPIES: usize = 6;

/// Where things are on the stack.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Addresses of LDS, and of device memory.
    pub addresses: i64,
    pub places: i64,
    /// Where a store's vectors of lanes go.
    pub stores: i64,
    /// Where what several scalar loads read is.
    pub spans: i64,
    /// What the function was given.
    pub given: i64,
    /// What functions are given and give, and the registers meanwhile.
    pub calls: i64,
    pub kept: i64,
    /// Copies of rows that lanes read elsewhere.
    pub copies: i64,
    /// The stack pointer as it was before.
    pub stack: i64,
    pub size: i32,
}

impl Frame {
    pub fn of(machine: Machine) -> Frame {
        let addresses = SLOTS as i64 * i64::from(machine.bytes());
        let places = addresses + 8 * ADDRESSES as i64;
        let stores = places + (PLACE * ADDRESSES) as i64;
        let spans = stores + 8 * VECTORS as i64;
        let given = spans + 8 * SPANS as i64;
        let kept = given + 24;
        let stack = kept + 8 * call::KEPT.len() as i64;
        let calls = ((stack + 8) as u64).next_multiple_of(ALIGNMENT as u64) as i64;
        let vectors = (SOURCES + RESULTS + machine.registers()) as i64;
        let copies = calls + vectors * i64::from(machine.bytes());
        let size = (copies + (COPY * COPIES) as i64) as i32;
        Frame { addresses, places, stores, spans, given, calls, kept, copies, stack, size }
    }

    pub fn before(self) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.stack)
    }

    pub fn count(self) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.given + 8)
    }

    /// The function begins.
    pub fn enter(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        for kept in [Register::RBX, Register::RBP, Register::R12] {
            asm.put(Instruction::with1(Code::Push_r64, kept))?;
        }
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, Register::RSP))?;
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, self.size))?;
        asm.put(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -ALIGNMENT))?;
        asm.put(Instruction::with2(Code::Mov_rm64_r64, self.before(), Register::RAX))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBX, Register::R9))?;
        let [rows, lds] = [0, 16].map(|by| MemoryOperand::with_base_displ(Register::RSP, self.given + by));
        asm.put(Instruction::with2(Code::Mov_rm64_r64, rows, Register::RDI))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, self.count(), Register::EDX))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, lds, Register::R8D))
    }

    /// The next lanes come, from `top` on, until none are left.
    pub fn next(self, asm: &mut Assembler, machine: Machine, top: usize) -> Result<(), TooLarge> {
        asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::RDI, machine.bytes()))?;
        asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::R10, machine.lanes() as i32 / 8))?;
        asm.put(Instruction::with1(Code::Dec_rm32, Register::EDX))?;
        asm.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))
    }

    /// The first lanes come.
    pub fn begin(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        let [rows, lds] = [0, 16].map(|by| MemoryOperand::with_base_displ(Register::RSP, self.given + by));
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDI, rows))?;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EDX, self.count()))?;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R8D, lds))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R10, Register::RSI))
    }
}
