//! Stores to buffers: offsets that are not inside store nothing.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Buffer, Size};
use super::buffer::{INSIDE, Kept, Within};
use super::store::{ADDRESS, DATA, Emitter, ONE, OTHER};
use super::{TooLarge, has_stored, masked};

impl Emitter<'_> {
    pub(super) fn buffer(&mut self, at: Buffer) -> Result<(), TooLarge> {
        let Some(data) = self.store.accesses.first().map(|access| access.data) else { return Err(TooLarge) };
        let kept = Kept(self.frame.places);
        kept.find(self.asm, self.frame, (at, true), self.exit)?;
        let (size, exit) = (at.size, self.exit);
        let look = |it: &mut Self| {
            let lanes = it.offsets()?;
            let mut within = it.within(kept);
            within.inside(lanes)?;
            within.whole(lanes, size, exit)?;
            within.look(lanes, size, exit)
        };
        self.each(look, |_| Ok(()))?;
        self.frame.begin(self.asm)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R12, kept.host()))?;
        let store = |it: &mut Self| {
            let lanes = it.offsets()?;
            it.within(kept).inside(lanes)?;
            let some = it.v(ONE);
            it.put(match it.machine.wide {
                true => Instruction::with2(Code::VEX_Kortestw_kr_kr, INSIDE, INSIDE),
                false => Instruction::with2(Code::VEX_Vptest_ymm_ymmm256, some, some),
            })?;
            let none = it.asm.jump(Code::Je_rel32_64)?;
            it.put(Instruction::with2(Code::Mov_rm8_imm8, has_stored(), 1))?;
            if size.words() > 1 {
                it.put_several(some, data, size)?;
                it.asm.land(none);
                return Ok(());
            }
            if !it.machine.wide {
                it.put_lanes(some, data)?;
                it.asm.land(none);
                return Ok(());
            }
            it.load_data(data)?;
            it.within(kept).are_neighbours(lanes, size)?;
            let apart = it.asm.jump(Code::Jne_rel32_64)?;
            let (value, to) = (it.v(DATA), MemoryOperand::with_base_index(Register::R12, Register::R9));
            it.put(masked(Instruction::with2(it.machine.store_of(size), to, value), INSIDE))?;
            let end = it.asm.jump(Code::Jmp_rel32_64)?;
            it.asm.land(apart);
            // Where lanes are at one place, the highest one's stays.
            it.put_lanes(INSIDE, data)?;
            it.asm.land(end);
            it.asm.land(none);
            Ok(())
        };
        self.each(store, |_| Ok(()))
    }

    fn offsets(&mut self) -> Result<Register, TooLarge> {
        let (lanes, from) = (self.v(ADDRESS), self.row(self.store.address));
        self.put(Instruction::with2(self.machine.load(), lanes, from))?;
        Ok(lanes)
    }

    fn within(&mut self, kept: Kept) -> Within<'_> {
        let (exec, passing) = (self.exec(), [self.v(ONE), self.v(OTHER)]);
        Within { asm: self.asm, machine: self.machine, pool: self.pool, exec, passing, kept }
    }

    /// Stores several words of each lane that is inside behind R12: narrow vectors have those in a register.
    fn put_several(&mut self, inside: Register, data: u16, size: Size) -> Result<(), TooLarge> {
        let (kept, machine) = (self.frame.calls, self.machine);
        let registers = self.turned(data, size)?;
        self.put_all(&registers, |by| MemoryOperand::with_base_displ(Register::RSP, kept + by))?;
        self.lane_by_lane(Some(if machine.wide { INSIDE } else { inside }), |it| {
            let at = it.of_lane(it.store.address, 0);
            it.put(Instruction::with2(Code::Mov_r32_rm32, Register::EBP, at))?;
            it.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, size.bytes().trailing_zeros() as i32))?;
            it.copy_lane(size, MemoryOperand::with_base_index(Register::R12, Register::RBP))
        })
    }

    /// Stores each lane of a mask behind R12, at its own offset.
    fn put_lanes(&mut self, lanes: Register, data: u16) -> Result<(), TooLarge> {
        let to = MemoryOperand::with_base_index(Register::R12, Register::R11);
        self.lane_by_lane(Some(lanes), |it| {
            let at = it.of_lane(it.store.address, 0);
            it.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, at))?;
            it.put_lane(data, to, 0)
        })
    }
}
