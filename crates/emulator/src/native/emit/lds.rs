//! Loads from LDS.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Address, Size};
use super::super::nodes::{Binary, Value};
use super::body::Body;
use super::{EXEC, TooLarge, masked};

/// How lanes' addresses lie: all at one, at neighbouring words, or else.
pub const SAME: i32 = 0;
pub const NEIGHBOURS: i32 = 1;
pub const APART: i32 = 2;

impl Body<'_> {
    /// Where on the stack it is kept how the lanes' addresses lie: the first one's, and how.
    pub(super) fn kept(&self, address: Address) -> (MemoryOperand, MemoryOperand) {
        let number = self.plan.reaches.keys().position(|&other| other == address).unwrap_or(0);
        let at = self.plan.frame.addresses + 8 * number as i64;
        (MemoryOperand::with_base_displ(Register::RSP, at), MemoryOperand::with_base_displ(Register::RSP, at + 4))
    }

    /// Leaves if an address is not that of such a part of LDS, as far as it reaches; notes how the lanes' lie.
    fn look_at(&mut self, address: Address, lanes: Register) -> Result<(), TooLarge> {
        let reach = self.plan.reaches.get(&address).copied().ok_or(TooLarge)?;
        let exit = self.plan.exit as u64;
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R8D))?;
        self.put(Instruction::with2(Code::Sub_rm32_imm32, Register::EAX, reach as i32))?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, exit))?;
        let steps = self.constant(self.plan.pool.steps(address.size, false));
        let (first, how) = self.kept(address);
        let (one, same, near) = (self.passing(0), Register::R9D, Register::R11D);
        let mut partial = None;
        if self.machine.wide {
            let (other, masked) = (self.passing(1), |it| masked(it, EXEC));
            let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
            const ABOVE: i32 = 6;
            const DIFFERENT: i32 = 4;
            self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, one, Register::EAX))?;
            let unsigned = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            self.put(masked(Instruction::with4(unsigned, Register::K1, lanes, one, ABOVE)))?;
            let mut wrong = Register::K1;
            if address.size != Size::Byte {
                let lowest = self.constant(self.plan.pool.place(address.size as u32 - 1)?);
                let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
                self.put(Instruction::with2(self.machine.broadcast(), other, lowest))?;
                self.put(masked(Instruction::with3(test, Register::K2, lanes, other)))?;
                wrong = Register::K2;
            }
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, wrong))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
            let low = self.machine.low(lanes);
            self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, low))?;
            self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one, low))?;
            self.put(masked(Instruction::with4(compare, Register::K1, lanes, one, DIFFERENT)))?;
            self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
            self.put(masked(Instruction::with4(compare, Register::K2, lanes, one, DIFFERENT)))?;
            self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, same, Register::K1))?;
            self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, near, Register::K2))?;
            // What the first lane holds is where the others count from, even if it is off; if all are, it is nothing.
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
            partial = Some(self.asm.jump(Code::Je_rel32_64)?);
        } else {
            let other = self.passing(2);
            let (low_one, low_lanes) = (self.machine.low(one), self.machine.low(lanes));
            self.put(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low_one, Register::EAX))?;
            self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, one, low_one))?;
            self.put(Instruction::with3(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, other, lanes, one))?;
            self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, other, other, one))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, same, other))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, same, 0xff))?;
            // Of the lowest bits none may be set.
            for bit in 0..address.size.bytes().trailing_zeros() as i32 {
                self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, one, lanes, 31 - bit))?;
                self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, near, one))?;
                self.put(Instruction::with2(Code::Or_r32_rm32, same, near))?;
            }
            if !self.full {
                let exec = self.exec();
                self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, exec))?;
                self.put(Instruction::with2(Code::And_r32_rm32, same, Register::EAX))?;
            }
            self.put(Instruction::with2(Code::Test_rm32_r32, same, same))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
            self.put(Instruction::with2(Code::VEX_Vmovd_rm32_xmm, Register::EAX, low_lanes))?;
            self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, one, low_lanes))?;
            self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, other, one, lanes))?;
            self.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, one, one, steps))?;
            self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, one, one, lanes))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, same, other))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, near, one))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, same, 0xff))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, near, 0xff))?;
            if !self.full {
                let exec = self.exec();
                self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, exec))?;
                self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, 0xff))?;
                partial = Some(self.asm.jump(Code::Jne_rel32_64)?);
                self.put(Instruction::with2(Code::VEX_Vmovd_rm32_xmm, Register::EAX, low_lanes))?;
            }
        }
        self.put(Instruction::with2(Code::Mov_rm32_r32, first, Register::EAX))?;
        // What is left of these is not zero where the lanes lie otherwise.
        self.put(Instruction::with2(Code::Mov_rm32_imm32, how, SAME))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, same, same))?;
        let is_same = self.asm.jump(Code::Je_rel32_64)?;
        self.put(Instruction::with2(Code::Mov_rm32_imm32, how, NEIGHBOURS))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, near, near))?;
        let is_near = self.asm.jump(Code::Je_rel32_64)?;
        if let Some(partial) = partial {
            self.asm.land(partial);
        }
        self.put(Instruction::with2(Code::Mov_rm32_imm32, how, APART))?;
        self.asm.land(is_same);
        self.asm.land(is_near);
        self.looked_at.push(address);
        Ok(())
    }

    /// What each lane loads from LDS.
    pub fn lds(&mut self, at: usize, address: Address, offset: u32) -> Result<(), TooLarge> {
        let home = self.homes[at];
        if home.register.is_some() || home.slot.is_some() {
            // It has come with the words before it.
            self.used(address.of);
            return Ok(());
        }
        let lanes = self.vector(address.of)?;
        if !self.looked_at.contains(&address) {
            self.look_at(address, lanes)?;
        }
        if let Some(count) = self.words_together(at, address, offset) {
            return self.several(at, (address, lanes), offset, count);
        }
        // A gather must not write what it has its addresses in.
        let register = self.free()?;
        self.one(self.machine.vector(register), (address, lanes), offset)?;
        self.used(address.of);
        self.hold(Value(at as u32), register);
        Ok(())
    }

    /// One word, or a part of one.
    pub(super) fn one(
        &mut self,
        to: Register,
        (address, lanes): (Address, Register),
        offset: u32,
    ) -> Result<(), TooLarge> {
        let (size, (first, how)) = (address.size, self.kept(address));
        let place = |index, scale| {
            MemoryOperand::with_base_index_scale_displ_size(Register::RCX, index, scale, i64::from(offset), 1)
        };
        // A first lane that is off may count from before LDS.
        self.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, first))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, NEIGHBOURS))?;
        let same = self.asm.jump(Code::Jb_rel32_64)?;
        let apart = self.asm.jump(Code::Ja_rel32_64)?;
        let mut near = Instruction::with2(self.machine.load_of(size), to, place(Register::RAX, 1));
        if self.machine.wide {
            // Lanes that are off may be outside.
            near = masked(near, EXEC).map(|mut near| {
                near.set_zeroing_masking(true);
                near
            });
        }
        self.put(near)?;
        let near_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(same);
        self.spread(size, to, place(Register::RAX, 1), Register::R9D)?;
        let same_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(apart);
        let gathered = if size == Size::Word { lanes } else { self.words_around(lanes)? };
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, EXEC))?;
            let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, place(gathered, 1));
            self.put(masked(gather, Register::K1))?;
        } else {
            let mask = self.passing(0);
            if self.full {
                self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, mask, mask, mask))?;
            } else {
                let exec = self.exec();
                self.put(Instruction::with2(self.machine.load(), mask, exec))?;
            }
            self.put(Instruction::with3(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, to, place(gathered, 1), mask))?;
        }
        if size != Size::Word {
            self.parts(size, to, lanes)?;
        }
        self.asm.land(near_end);
        self.asm.land(same_end);
        Ok(())
    }

    /// The addresses of the words that have what is at others.
    fn words_around(&mut self, lanes: Register) -> Result<Register, TooLarge> {
        let to = self.passing(if self.machine.wide { 0 } else { 2 });
        self.some_bits(to, lanes, !3)?;
        Ok(to)
    }

    /// Of words, the part that the lanes' addresses say.
    fn parts(&mut self, size: Size, words: Register, lanes: Register) -> Result<(), TooLarge> {
        let by = self.passing(if self.machine.wide { 0 } else { 2 });
        let part = if size == Size::Half { 0xffff } else { 0xff };
        self.some_bits(by, lanes, 3)?;
        self.put(Instruction::with3(self.machine.shift(Binary::Shl), by, by, 3))?;
        let shift = self.machine.binary(Binary::Shr).ok_or(TooLarge)?;
        self.put(Instruction::with3(shift, words, words, by))?;
        self.some_bits(by, words, part)?;
        self.put(Instruction::with2(self.machine.load(), words, by))
    }

    /// Bits of each lane.
    fn some_bits(&mut self, to: Register, from: Register, bits: u32) -> Result<(), TooLarge> {
        let (bits, and) =
            (self.constant(self.plan.pool.place(bits)?), self.machine.binary(Binary::And).ok_or(TooLarge)?);
        self.put(Instruction::with2(self.machine.broadcast(), to, bits))?;
        self.put(Instruction::with3(and, to, to, from))
    }
}
