//! Stores to LDS.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::Size;
use super::store::{ADDRESS, DATA, Emitter, LIMIT, ONE, OTHER};
use super::{EXEC, TooLarge, masked};

impl Emitter<'_> {
    pub(super) fn lds(&mut self) -> Result<(), TooLarge> {
        let store = self.store;
        let last = store.accesses.iter().map(|access| access.offset).max().unwrap_or(0);
        let reach = last + store.size.bytes() * i32::from(store.words);
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
                match store.size {
                    Size::Word | Size::Pair | Size::Quad => self.each(|it| it.lds_word(data, offset), |_| Ok(()))?,
                    Size::Half | Size::Byte => self.each(|it| it.lds_lanes(data, offset), |_| Ok(()))?,
                }
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
        let (other, mut wrong) = (self.v(OTHER), Register::K1);
        if self.store.size != Size::Byte {
            let lowest = self.constant(self.pool.place(self.store.size as u32 - 1)?);
            self.put(Instruction::with2(self.machine.broadcast(), other, lowest))?;
            let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            self.put(masked(Instruction::with3(test, Register::K2, address, other), EXEC))?;
            wrong = Register::K2;
        }
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, wrong))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))
    }

    /// The same with narrow vectors.
    fn fits_narrow(&mut self) -> Result<(), TooLarge> {
        let (address, limit, one, other) = (self.v(ADDRESS), self.v(LIMIT), self.v(ONE), self.v(OTHER));
        let (equal, from) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, self.row(self.store.address));
        self.put(Instruction::with2(self.machine.load(), address, from))?;
        self.put(Instruction::with3(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, one, address, limit))?;
        self.put(Instruction::with3(equal, one, one, limit))?;
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, one))?;
        self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
        // Of the lowest bits none may be set.
        for bit in 0..self.store.size.bytes().trailing_zeros() as i32 {
            self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, other, address, 31 - bit))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R11D, other))?;
            self.put(Instruction::with2(Code::Or_r32_rm32, Register::EAX, Register::R11D))?;
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
        let steps = self.constant(self.pool.steps(Size::Word, false));
        if self.machine.wide {
            const DIFFERENT: i32 = 4;
            let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one, low))?;
            self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
            self.put(masked(Instruction::with4(compare, Register::K2, address, one, DIFFERENT), EXEC))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
        } else {
            self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, one, low))?;
            self.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, one, one, steps))?;
            self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, one, one, address))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, one))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
            if let Some(on) = self.exec() {
                self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R9D, on))?;
                self.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
            }
            self.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
        }
        let apart = self.asm.jump(Code::Jne_rel32_64)?;
        let from = self.row(data);
        self.put(Instruction::with2(self.machine.load(), value, from))?;
        // A first lane that is off may count from before LDS.
        self.put(Instruction::with2(self.machine.first_word(), Register::EAX, low))?;
        self.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX))?;
        let to = MemoryOperand::with_base_index_scale_displ_size(Register::RCX, Register::RAX, 1, offset.into(), 1);
        self.store_near(to, value)?;
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(apart);
        // The host takes longer for a scatter.
        self.lds_lanes(data, offset)?;
        self.asm.land(end);
        Ok(())
    }

    /// A word or a part of one, one lane after the other: where lanes are at one place, the highest one's stays.
    fn lds_lanes(&mut self, data: u16, offset: i32) -> Result<(), TooLarge> {
        let to = MemoryOperand::with_base_index_scale_displ_size(Register::RCX, Register::R11, 1, offset.into(), 1);
        let lane = |it: &mut Emitter<'_>, behind: i64| {
            let at = it.of_lane(it.store.address, 4 * behind);
            it.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, at))?;
            it.put_lane(data, to, behind)
        };
        let some = match self.exec() {
            _ if self.machine.wide => {
                self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
                Some(self.asm.jump(Code::Jae_rel32_64)?)
            }
            Some(_) => return self.lane_by_lane(self.exec(), |it| lane(it, 0)),
            None => None,
        };
        let swizzled = self.machine.wide.then(|| self.swizzled(data, offset)).transpose()?;
        // All are on: four by four, which takes as long as the stores.
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::R9D, Register::R9D))?;
        let top = self.asm.at as u64;
        (0..4).try_for_each(|behind| lane(self, behind))?;
        self.put(Instruction::with2(Code::Add_rm32_imm8, Register::R9D, 4))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm8, Register::R9D, self.machine.lanes() as i32))?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, top))?;
        swizzled.into_iter().for_each(|end| self.asm.land(end));
        let Some(some) = some else { return Ok(()) };
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(some);
        self.lane_by_lane(self.exec(), |it| lane(it, 0))?;
        self.asm.land(end);
        Ok(())
    }
}
