//! Stores of several words a lane to device memory.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::Size;
use super::store::{DATA, Emitter, is_scattered};
use super::{TooLarge, columns, lanes, scattered};

/// The first of four vector registers.
const FIRST_OF_SEVERAL: usize = 6;

impl Emitter<'_> {
    /// Several words of each lane, as they lie in memory where lanes are neighbours.
    pub(super) fn turned(&mut self, data: u16, size: Size) -> Result<Vec<Register>, TooLarge> {
        let registers: Vec<Register> = (0..usize::from(size.words())).map(|n| self.v(FIRST_OF_SEVERAL + n)).collect();
        for (&register, row) in registers.iter().zip(data..) {
            let from = self.row(row);
            self.put(Instruction::with2(self.machine.load(), register, from))?;
        }
        let (machine, one) = (self.machine, self.v(DATA));
        match registers[..] {
            [a, b] => {
                columns::join(self.asm, machine, [a, b], one)?;
                columns::collect_pairs(self.asm, machine, [a, b], one)?;
            }
            [a, b, c, d] => {
                columns::turn(self.asm, machine, [a, b, c, d], one)?;
                columns::collect(self.asm, machine, [a, b, c, d], one)?;
            }
            _ => return Err(TooLarge),
        }
        Ok(registers)
    }

    /// Stores registers one behind the other.
    pub(super) fn put_all(
        &mut self,
        registers: &[Register],
        to: impl Fn(i64) -> MemoryOperand,
    ) -> Result<(), TooLarge> {
        for (&register, by) in registers.iter().zip((0..).step_by(self.machine.bytes() as usize)) {
            self.put(Instruction::with2(self.machine.store(), to(by), register))?;
        }
        Ok(())
    }

    /// Stores several words of each lane behind R11, as far behind it as its row of addresses says if they lie anywhere, which
    /// they do only if they `may`.
    pub(super) fn several(&mut self, data: u16, size: Size, may: bool) -> Result<(), TooLarge> {
        let registers = self.turned(data, size)?;
        let machine = self.machine;
        let scattered = if may {
            self.put(Instruction::with2(Code::Cmp_rm32_imm32, is_scattered(self.frame), 0))?;
            Some(self.asm.jump(Code::Jne_rel32_64)?)
        } else {
            None
        };
        let some_off = lanes::some_off(self.asm, machine, self.exec())?;
        self.put_all(&registers, |by| MemoryOperand::with_base_displ(Register::R11, by))?;
        let mut ends = vec![self.asm.jump(Code::Jmp_rel32_64)?];
        // Lanes' words are copied from the stack, R12 being kept.
        let kept = self.frame.calls;
        let scale = size.bytes().trailing_zeros() as i32;
        if let Some(some_off) = some_off {
            self.asm.land(some_off);
            self.put_all(&registers, |by| MemoryOperand::with_base_displ(Register::RSP, kept + by))?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::R11))?;
            self.lane_by_lane(self.exec(), |it| {
                it.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, scale))?;
                it.copy_lane(size, MemoryOperand::with_base_index(Register::RBP, Register::R9))
            })?;
            ends.push(self.asm.jump(Code::Jmp_rel32_64)?);
        }
        if let Some(scattered) = scattered {
            self.asm.land(scattered);
            self.scattered(&registers, size)?;
        }
        ends.into_iter().for_each(|end| self.asm.land(end));
        Ok(())
    }

    /// Stores what registers have of lanes in a row, as far behind R11 as the row of addresses says.
    fn scattered(&mut self, registers: &[Register], size: Size) -> Result<(), TooLarge> {
        let (machine, kept) = (self.machine, self.frame.calls);
        let exec = self.exec();
        let (mut some_off, mut end) = (None, None);
        // Where lanes are at one place, the highest one's stays.
        if size == Size::Quad {
            some_off = lanes::some_off(self.asm, machine, exec)?;
            for (lane, (from, piece)) in scattered::pieces(machine, registers).enumerate() {
                let row = i64::from(self.store.address) * 256;
                let at = MemoryOperand::with_base_displ(Register::RDI, row + 4 * lane as i64);
                self.put(Instruction::with2(Code::Mov_r32_rm32, Register::R9D, at))?;
                let to = MemoryOperand::with_base_index(Register::R11, Register::R9);
                self.put(Instruction::with3(machine.extract(), to, from, piece))?;
            }
            end = Some(self.asm.jump(Code::Jmp_rel32_64)?);
        }
        some_off.into_iter().for_each(|jump| self.asm.land(jump));
        self.put_all(registers, |by| MemoryOperand::with_base_displ(Register::RSP, kept + by))?;
        let vector = MemoryOperand::with_base_displ(Register::RSP, self.frame.kept);
        self.put(Instruction::with2(Code::Mov_rm64_r64, vector, Register::R12))?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R12, Register::R11))?;
        self.lane_by_lane(exec, |it| {
            let at = it.of_lane(it.store.address, 0);
            it.put(Instruction::with2(Code::Mov_r32_rm32, Register::EBP, at))?;
            it.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, size.bytes().trailing_zeros() as i32))?;
            it.copy_lane(size, MemoryOperand::with_base_index(Register::R12, Register::RBP))
        })?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R12, vector))?;
        end.into_iter().for_each(|end| self.asm.land(end));
        Ok(())
    }

    /// Stores several words that the stack has so far on as R9 says.
    pub(super) fn copy_lane(&mut self, size: Size, to: MemoryOperand) -> Result<(), TooLarge> {
        let (machine, one, kept) = (self.machine, self.v(DATA), self.frame.calls);
        let from = MemoryOperand::with_base_index_scale_displ_size(Register::RSP, Register::R9, 1, kept, 8);
        lanes::copy(self.asm, machine, size, (to, from), one)
    }
}
