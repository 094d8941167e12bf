//! Loads from LDS.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::nodes::Value;
use super::body::Body;
use super::{EXEC, TooLarge, masked};

/// How lanes' addresses lie: all at one, at neighbouring words, or else.
pub const SAME: i32 = 0;
pub const NEIGHBOURS: i32 = 1;
const APART: i32 = 2;

impl Body<'_> {
    /// Where on the stack it is kept how the lanes' addresses lie: the first one's, and how.
    fn kept(&self, address: Value) -> (MemoryOperand, MemoryOperand) {
        let number = self.plan.reaches.keys().position(|&other| other == address).unwrap_or(0);
        let at = self.plan.frame.addresses + 8 * number as i64;
        (MemoryOperand::with_base_displ(Register::RSP, at), MemoryOperand::with_base_displ(Register::RSP, at + 4))
    }

    /// Leaves if an address is not that of a word in LDS, as far as it reaches; notes how the lanes' lie.
    fn look_at(&mut self, address: Value, lanes: Register) -> Result<(), TooLarge> {
        let reach = self.plan.reaches.get(&address).copied().ok_or(TooLarge)?;
        let exit = self.plan.exit as u64;
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R8D))?;
        self.put(Instruction::with2(Code::Sub_rm32_imm32, Register::EAX, reach as i32))?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, exit))?;
        let (three, steps) = (self.constant(self.plan.pool.place(3)?), self.constant(self.plan.pool.steps));
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
            self.put(Instruction::with2(self.machine.broadcast(), other, three))?;
            let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            self.put(masked(Instruction::with3(test, Register::K2, lanes, other)))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, Register::K2))?;
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
            // Of the lowest two bits none may be set.
            self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, one, lanes, 30))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, near, one))?;
            self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, one, one, 1))?;
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, one))?;
            self.put(Instruction::with2(Code::Or_r32_rm32, near, Register::EAX))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, same, 0xff))?;
            self.put(Instruction::with2(Code::Or_r32_rm32, same, near))?;
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

    /// A word of LDS a lane.
    pub fn lds(&mut self, at: usize, address: Value, offset: u32) -> Result<(), TooLarge> {
        let lanes = self.vector(address)?;
        if !self.looked_at.contains(&address) {
            self.look_at(address, lanes)?;
        }
        // A gather must not write what it has its addresses in.
        let register = self.free()?;
        let to = self.machine.vector(register);
        let (first, how) = self.kept(address);
        let place = |index, scale| {
            MemoryOperand::with_base_index_scale_displ_size(Register::RCX, index, scale, i64::from(offset), 1)
        };
        // A first lane that is off may count from before LDS.
        self.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, first))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, NEIGHBOURS))?;
        let same = self.asm.jump(Code::Jb_rel32_64)?;
        let apart = self.asm.jump(Code::Ja_rel32_64)?;
        let mut near = Instruction::with2(self.machine.load(), to, place(Register::RAX, 1));
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
        self.put(Instruction::with2(self.machine.broadcast(), to, place(Register::RAX, 1)))?;
        let same_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(apart);
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, EXEC))?;
            let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, place(lanes, 1));
            self.put(masked(gather, Register::K1))?;
        } else {
            let mask = self.passing(0);
            if self.full {
                self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, mask, mask, mask))?;
            } else {
                let exec = self.exec();
                self.put(Instruction::with2(self.machine.load(), mask, exec))?;
            }
            self.put(Instruction::with3(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, to, place(lanes, 1), mask))?;
        }
        self.asm.land(near_end);
        self.asm.land(same_end);
        self.used(address);
        self.hold(Value(at as u32), register);
        Ok(())
    }
}
