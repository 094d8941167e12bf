//! Stores: all addresses are looked at before anything is stored.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::super::forms::{Space, Store};
use super::super::machine::Machine;
use super::super::nodes::{Base, Offsets};
use super::global::Look;
use super::stretch::Stretch;
use super::{Assembler, EXEC, Frame, Jump, Pool, TooLarge, masked};
use crate::registers::scalar;

/// Vector registers: addresses, data, three to work with, and (narrow) the lanes that are on.
const ADDRESS: usize = 0;
const DATA: usize = 1;
const ONE: usize = 2;
const OTHER: usize = 3;
const LIMIT: usize = 4;
const ON: usize = 5;

pub(super) struct Emitter<'a> {
    pub asm: &'a mut Assembler,
    pub store: &'a Store,
    pub machine: Machine,
    pub full: bool,
    pub pool: &'a Pool,
    pub frame: Frame,
    pub exit: usize,
    pub finder: usize,
}

impl Emitter<'_> {
    pub fn all(mut self) -> Result<(), TooLarge> {
        match self.store.space {
            Space::Lds => self.lds(),
            Space::Global { base } => self.global(base),
        }
    }

    fn put(&mut self, instruction: Result<Instruction, IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    fn v(&self, n: usize) -> Register {
        self.machine.vector(n)
    }

    fn row(&self, row: u16) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * 256)
    }

    fn constant(&self, at: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    fn exec(&self) -> Option<Register> {
        (!self.machine.wide && !self.full).then(|| self.v(ON))
    }

    /// For each vector of lanes in turn, those without a lane that is on left out; `step` comes between any two.
    fn each(
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

    fn lds(&mut self) -> Result<(), TooLarge> {
        let store = self.store;
        let last = store.accesses.iter().map(|access| access.offset).max().unwrap_or(0);
        let reach = last + 4 * i32::from(store.words);
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R8D))?;
        self.put(Instruction::with2(Code::Sub_rm32_imm32, Register::EAX, reach))?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, self.exit as u64))?;
        let limit = self.v(LIMIT);
        if self.machine.wide {
            self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, limit, Register::EAX))?;
            self.each(Self::fits_wide, |_| Ok(()))?;
        } else {
            let low = self.machine.low(limit);
            self.put(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low, Register::EAX))?;
            self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, limit, low))?;
            self.each(Self::fits_narrow, |_| Ok(()))?;
        }
        for access in &store.accesses {
            for word in 0..store.words {
                self.frame.begin(self.asm)?;
                let (data, offset) = (access.data + word, access.offset + 4 * i32::from(word));
                self.each(|it| it.lds_word(data, offset), |_| Ok(()))?;
            }
        }
        Ok(())
    }

    /// Leaves if an address is not that of words in LDS.
    fn fits_wide(&mut self) -> Result<(), TooLarge> {
        const ABOVE: i32 = 6;
        let (address, limit, from) = (self.v(ADDRESS), self.v(LIMIT), self.row(self.store.address));
        self.put(Instruction::with2(self.machine.load(), address, from))?;
        let unsigned = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        self.put(masked(Instruction::with4(unsigned, Register::K1, address, limit, ABOVE), EXEC))?;
        let (other, three) = (self.v(OTHER), self.constant(self.pool.place(3)?));
        self.put(Instruction::with2(self.machine.broadcast(), other, three))?;
        let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
        self.put(masked(Instruction::with3(test, Register::K2, address, other), EXEC))?;
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, Register::K2))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))
    }

    /// The same, or if the lanes are not at neighbouring words.
    fn fits_narrow(&mut self) -> Result<(), TooLarge> {
        let (address, limit, one, other) = (self.v(ADDRESS), self.v(LIMIT), self.v(ONE), self.v(OTHER));
        let (equal, from) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, self.row(self.store.address));
        self.put(Instruction::with2(self.machine.load(), address, from))?;
        self.put(Instruction::with3(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, one, address, limit))?;
        self.put(Instruction::with3(equal, one, one, limit))?;
        let low = self.machine.low(address);
        let steps = self.constant(self.pool.steps);
        self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, other, low))?;
        self.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, other, other, steps))?;
        self.put(Instruction::with3(equal, other, other, address))?;
        self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, one, one, other))?;
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, one))?;
        self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
        // Of the lowest two bits none may be set.
        self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, other, address, 30))?;
        for _ in 0..2 {
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R11D, other))?;
            self.put(Instruction::with2(Code::Or_r32_rm32, Register::EAX, Register::R11D))?;
            self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, other, other, 1))?;
        }
        if self.exec().is_some() {
            self.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
        }
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))
    }

    /// One word a lane; where lanes are at one place, the highest one's stays.
    fn lds_word(&mut self, data: u16, offset: i32) -> Result<(), TooLarge> {
        let (address, value, one) = (self.v(ADDRESS), self.v(DATA), self.v(ONE));
        let (from, low) = (self.row(self.store.address), self.machine.low(address));
        self.put(Instruction::with2(self.machine.load(), address, from))?;
        let from = self.row(data);
        self.put(Instruction::with2(self.machine.load(), value, from))?;
        let place =
            |index| MemoryOperand::with_base_index_scale_displ_size(Register::RCX, index, 1, i64::from(offset), 1);
        // A first lane that is off may count from before LDS.
        let extend = || Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX);
        if !self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Vmovd_rm32_xmm, Register::EAX, low))?;
            self.put(extend())?;
            return self.store_near(place(Register::RAX), value);
        }
        const DIFFERENT: i32 = 4;
        let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        let steps = self.constant(self.pool.steps);
        self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, low))?;
        self.put(extend())?;
        self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one, low))?;
        self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
        self.put(masked(Instruction::with4(compare, Register::K2, address, one, DIFFERENT), EXEC))?;
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
        let apart = self.asm.jump(Code::Jne_rel32_64)?;
        self.store_near(place(Register::RAX), value)?;
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(apart);
        self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, EXEC))?;
        let scatter = Instruction::with2(Code::EVEX_Vpscatterdd_vm32z_k1_zmm, place(address), value);
        self.put(masked(scatter, Register::K1))?;
        self.asm.land(end);
        Ok(())
    }

    fn store_near(&mut self, to: MemoryOperand, value: Register) -> Result<(), TooLarge> {
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
        let stretch = Stretch::of(self.frame.places + 16, [access.offset].into_iter());
        let in_words = matches!(base, Some(Base { offsets: Offsets::Words, .. }));
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R12, first))?;
        stretch.begin(self.asm)?;
        self.each(
            |it| it.find(base, access.offset, stretch),
            |it| {
                next(it)?;
                stretch.step(it.asm, it.machine.lanes() as i32, in_words)
            },
        )?;
        self.frame.begin(self.asm)?;
        self.put(Instruction::with2(Code::Mov_rm8_imm8, super::has_stored(), 1))?;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R12, first))?;
        let word = |it: &mut Self| {
            let (value, from) = (it.v(DATA), it.row(access.data));
            it.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, MemoryOperand::with_base(Register::R12)))?;
            it.put(Instruction::with2(it.machine.load(), value, from))?;
            it.store_near(MemoryOperand::with_base(Register::R11), value)
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
        let mut look = Look { asm: self.asm, machine, pool, exec, passing, exit: exit_at, address, how };
        let elsewhere = look.expected(stretch, low, high)?;
        let here = look.asm.at;
        stretch.found(look.asm, offset)?;
        let expected = look.asm.jump(Code::Jmp_rel32_64)?;
        elsewhere.into_iter().for_each(|jump| look.asm.land(jump));
        look.apart(low, high)?;
        look.stretch(stretch, low, high, self.finder, here)?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, super::lds::NEIGHBOURS))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, address))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, offset))?;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, self.machine.bytes()))?;
        self.put(Instruction::with_branch(Code::Call_rel32_64, self.finder as u64))?;
        self.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
        self.put(Instruction::with_branch(Code::Je_rel32_64, exit))?;
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, 3))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        self.asm.land(expected);
        self.put(Instruction::with2(Code::Mov_rm64_r64, MemoryOperand::with_base(Register::R12), Register::R11))
    }
}
