//! Stores: all addresses are looked at before anything is stored.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Size};
use super::super::forms::{Space, Store};
use super::super::machine::Machine;
use super::super::nodes::Binary;
use super::look::Look;
use super::stretch::Stretch;
use super::{Assembler, EXEC, Frame, Jump, Pool, TooLarge, lanes, masked, scattered};
use crate::registers::scalar;

/// Vector registers: addresses, data, three to work with, and (narrow) the lanes that are on.
pub(super) const ADDRESS: usize = 0;
pub(super) const DATA: usize = 1;
pub(super) const ONE: usize = 2;
pub(super) const OTHER: usize = 3;
pub(super) const LIMIT: usize = 4;
pub(super) const ON: usize = 5;

pub(super) struct Emitter<'a> {
    pub asm: &'a mut Assembler,
    pub store: &'a Store,
    pub machine: Machine,
    pub full: bool,
    pub pool: &'a Pool,
    pub frame: Frame,
    pub exit: usize,
    pub finder: usize,
    /// [`scattered::finder`]
    pub scattered: usize,
}

impl Emitter<'_> {
    pub fn all(mut self) -> Result<(), TooLarge> {
        match self.store.space {
            Space::Lds => self.lds(),
            Space::Global { base } => self.global(base),
            Space::Buffer(at) => self.buffer(at),
        }
    }

    pub(super) fn put(&mut self, instruction: Result<Instruction, IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    pub(super) fn v(&self, n: usize) -> Register {
        self.machine.vector(n)
    }

    pub(super) fn row(&self, row: u16) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * 256)
    }

    pub(super) fn constant(&self, at: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    pub(super) fn exec(&self) -> Option<Register> {
        (!self.machine.wide && !self.full).then(|| self.v(ON))
    }

    /// For each vector of lanes in turn, those without a lane that is on left out; `step` comes between any two.
    pub(super) fn each(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), TooLarge>,
        step: impl FnOnce(&mut Self) -> Result<(), TooLarge>,
    ) -> Result<(), TooLarge> {
        let top = self.asm.at;
        let off = self.lanes_on()?;
        body(self)?;
        if let Some(off) = off {
            self.asm.land(off);
        }
        step(self)?;
        self.frame.next(self.asm, self.machine, top)
    }

    /// Which lanes are on; the jump is taken if none is.
    fn lanes_on(&mut self) -> Result<Option<Jump>, TooLarge> {
        let piece = MemoryOperand::with_base_displ(Register::R10, i64::from(scalar::EXEC) * 4);
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, EXEC, piece))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
            return Ok(Some(self.asm.jump(Code::Je_rel32_64)?));
        }
        let Some(on) = self.exec() else { return Ok(None) };
        let bits = self.constant(self.pool.bits);
        self.put(Instruction::with2(Code::VEX_Vpbroadcastb_ymm_xmmm8, on, piece))?;
        self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, on, on, bits))?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, on, on, bits))?;
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R9D, on))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::R9D, Register::R9D))?;
        Ok(Some(self.asm.jump(Code::Je_rel32_64)?))
    }

    /// What a row has of the lane that R9 says, some bytes on.
    pub(super) fn of_lane(&self, row: u16, by: i64) -> MemoryOperand {
        MemoryOperand::with_base_index_scale_displ_size(Register::RDI, Register::R9, 4, i64::from(row) * 256 + by, 8)
    }

    /// Stores a row's word, or a part of it, of the lane whose number is R9 and `behind`.
    pub(super) fn put_lane(&mut self, data: u16, to: MemoryOperand, behind: i64) -> Result<(), TooLarge> {
        let from = self.of_lane(data, 4 * behind + if self.store.is_high { 2 } else { 0 });
        let (load, store, by) = match self.store.size {
            Size::Byte => (Code::Movzx_r32_rm8, Code::Mov_rm8_r8, Register::BPL),
            Size::Half => (Code::Movzx_r32_rm16, Code::Mov_rm16_r16, Register::BP),
            Size::Word | Size::Pair | Size::Quad => (Code::Mov_r32_rm32, Code::Mov_rm32_r32, Register::EBP),
        };
        self.put(Instruction::with2(load, Register::EBP, from))?;
        self.put(Instruction::with2(store, to, by))
    }

    /// For each lane of a mask (narrow vectors: of a vector, or each lane), the lowest one first: R9 says which one it is.
    pub(super) fn lane_by_lane(
        &mut self,
        mask: Option<Register>,
        lane: impl FnOnce(&mut Emitter<'_>) -> Result<(), TooLarge>,
    ) -> Result<(), TooLarge> {
        self.put(match mask {
            _ if self.machine.wide => Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EAX, mask.unwrap_or(EXEC)),
            Some(on) => Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, on),
            None => Instruction::with2(Code::Mov_r32_imm32, Register::EAX, 0xff),
        })?;
        let Emitter { store, machine, full, pool, frame, exit, finder, scattered, .. } = *self;
        lanes::each(self.asm, |asm| {
            lane(&mut Emitter { asm, store, machine, full, pool, frame, exit, finder, scattered })
        })
    }

    /// What a row's lanes store, each at the bottom of its word.
    pub(super) fn load_data(&mut self, data: u16) -> Result<(), TooLarge> {
        let (value, from) = (self.v(DATA), self.row(data));
        self.put(Instruction::with2(self.machine.load(), value, from))?;
        if !self.store.is_high {
            return Ok(());
        }
        self.put(Instruction::with3(self.machine.shift(Binary::Shr), value, value, 16))
    }

    pub(super) fn store_near(&mut self, to: MemoryOperand, value: Register) -> Result<(), TooLarge> {
        match self.exec() {
            _ if self.machine.wide => self.put(masked(Instruction::with2(self.machine.store(), to, value), EXEC)),
            Some(on) => self.put(Instruction::with3(Code::VEX_Vmaskmovps_m256_ymm_ymm, to, on, value)),
            None => self.put(Instruction::with2(self.machine.store(), to, value)),
        }
    }

    fn global(&mut self, base: Option<Base>) -> Result<(), TooLarge> {
        let Some(access) = self.store.accesses.first() else { return Err(TooLarge) };
        let first = MemoryOperand::with_base_displ(Register::RSP, self.frame.stores);
        let next = |it: &mut Self| it.put(Instruction::with2(Code::Add_rm64_imm32, Register::R12, 8));
        let (offset, size) = (access.offset, self.store.size);
        let stretch = Stretch::of(self.frame.places + 16, size, [offset].into_iter());
        let in_units = matches!(base, Some(Base { offsets: Offsets::Units, .. }));
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R12, first))?;
        stretch.begin(self.asm)?;
        self.each(
            |it| it.find(base, offset, stretch),
            |it| {
                next(it)?;
                stretch.step(it.asm, it.machine.lanes() as i32, in_units)
            },
        )?;
        self.frame.begin(self.asm)?;
        self.put(Instruction::with2(Code::Mov_rm8_imm8, super::has_stored(), 1))?;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R12, first))?;
        let word = |it: &mut Self| {
            let (value, to) = (it.v(DATA), MemoryOperand::with_base(Register::R11));
            it.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, MemoryOperand::with_base(Register::R12)))?;
            if size == Size::Word {
                let from = it.row(access.data);
                it.put(Instruction::with2(it.machine.load(), value, from))?;
                return it.store_near(to, value);
            }
            if size.words() > 1 {
                return it.several(access.data, size, scattered::is_possible(size, base));
            }
            if it.machine.wide {
                it.load_data(access.data)?;
                return it.put(masked(Instruction::with2(it.machine.store_of(size), to, value), EXEC));
            }
            it.lane_by_lane(it.exec(), |it| {
                let unit = size.bytes() as u32;
                let to = MemoryOperand::with_base_index_scale(Register::R11, Register::R9, unit);
                it.put_lane(access.data, to, 0)
            })
        };
        self.each(word, next)
    }

    /// Keeps where the lanes' words go, or leaves if they are not neighbours that may be written.
    fn find(&mut self, base: Option<Base>, offset: i32, stretch: Stretch) -> Result<(), TooLarge> {
        let exit = self.exit as u64;
        let (low, high) = (self.v(ADDRESS), self.v(DATA));
        let from = self.row(self.store.address);
        self.put(Instruction::with2(self.machine.load(), low, from))?;
        let high = match base {
            Some(base) => Err(base),
            None => {
                let from = self.row(self.store.address + 1);
                self.put(Instruction::with2(self.machine.load(), high, from))?;
                Ok(high)
            }
        };
        let [address, how] = [0, 8].map(|by| MemoryOperand::with_base_displ(Register::RSP, self.frame.places + by));
        let (machine, pool, passing) = (self.machine, self.pool, [self.v(ONE), self.v(OTHER)]);
        let exec = self.exec();
        let exit_at = self.exit;
        let size = self.store.size;
        let mut look = Look { asm: self.asm, machine, pool, exec, passing, exit: exit_at, size, address, how };
        let elsewhere = look.expected(stretch, low, high)?;
        let here = look.asm.at;
        stretch.found(look.asm, offset)?;
        let expected = look.asm.jump(Code::Jmp_rel32_64)?;
        elsewhere.into_iter().for_each(|jump| look.asm.land(jump));
        look.apart(low, high)?;
        look.stretch(stretch, low, high, self.finder, here)?;
        let may_be_scattered = scattered::is_possible(size, base);
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, super::lds::NEIGHBOURS))?;
        let mut scattered_end = None;
        if may_be_scattered {
            // All may be at one place, too.
            let near = self.asm.jump(Code::Je_rel32_64)?;
            let found = scattered::Found { machine, frame: self.frame, exec, finder: self.scattered, exit: exit_at };
            found.find(self.asm, (low, high), (size, offset))?;
            self.put(Instruction::with2(Code::Mov_rm64_r64, MemoryOperand::with_base(Register::R12), Register::R11))?;
            self.put(Instruction::with2(Code::Mov_rm32_imm32, is_scattered(self.frame), 1))?;
            scattered_end = Some(self.asm.jump(Code::Jmp_rel32_64)?);
            self.asm.land(near);
        } else {
            self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        }
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, address))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, offset))?;
        let all = size.bytes() * self.machine.lanes() as i32;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, all))?;
        self.put(Instruction::with_branch(Code::Call_rel32_64, self.finder as u64))?;
        self.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
        self.put(Instruction::with_branch(Code::Je_rel32_64, exit))?;
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, size.lowest()))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        self.asm.land(expected);
        self.put(Instruction::with2(Code::Mov_rm64_r64, MemoryOperand::with_base(Register::R12), Register::R11))?;
        if may_be_scattered {
            self.put(Instruction::with2(Code::Mov_rm32_imm32, is_scattered(self.frame), 0))?;
        }
        scattered_end.into_iter().for_each(|end| self.asm.land(end));
        Ok(())
    }
}

/// Whether the lanes of the vector that R12 leads to lie anywhere: where copies of rows are in phases of lanes.
pub(super) fn is_scattered(frame: Frame) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::R12, frame.copies - frame.stores)
}
