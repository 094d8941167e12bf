//! Stores to LDS of lanes that fill a block in another order than theirs, with wide vectors.
//!
//! Kernels swizzle tiles so that lanes find their words in different banks: what a lane stores goes where another one's would,
//! and the other one's to its place. In a vector of lanes that is a permutation that is its own inverse. So the lanes' places in
//! the block are permuted by themselves: if each comes to its own number, data are permuted by them, and stored as they are.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::store::{ADDRESS, DATA, Emitter, ONE, OTHER};
use super::{Jump, TooLarge};

impl Emitter<'_> {
    /// Stores a vector whose lanes are all on. Gives the jump that is taken then; goes on if lanes are otherwise.
    pub(super) fn swizzled(&mut self, data: u16, offset: i32) -> Result<Jump, TooLarge> {
        const DIFFERENT: i32 = 4;
        let (places, own, value, block) = (self.v(ADDRESS), self.v(OTHER), self.v(DATA), self.v(ONE));
        let (size, lanes) = (self.store.size, self.machine.lanes());
        let bytes = size.bytes() * lanes as i32;
        let [first, last] = [0, lanes - 1].map(|lane| {
            MemoryOperand::with_base_displ(Register::RDI, i64::from(self.store.address) * 256 + 4 * i64::from(lane))
        });
        // Mostly one look at two lanes is enough where it is not so.
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, first))?;
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, Register::EAX))?;
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::R11D, last))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::R11D, bytes))?;
        let mut not = vec![self.asm.jump(Code::Jae_rel32_64)?];
        self.put(Instruction::with2(Code::And_rm32_imm32, Register::EAX, -bytes))?;
        let from = self.row(self.store.address);
        self.put(Instruction::with2(self.machine.load(), places, from))?;
        self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, block, Register::EAX))?;
        self.put(Instruction::with3(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, places, places, block))?;
        if size.bytes() > 1 {
            let by = size.bytes().trailing_zeros();
            self.put(Instruction::with3(Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, places, places, by))?;
        }
        let permute = Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32;
        self.put(Instruction::with3(permute, own, places, places))?;
        let numbers = self.constant(self.pool.steps(size, true));
        let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        self.put(Instruction::with4(compare, Register::K2, own, numbers, DIFFERENT))?;
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
        not.push(self.asm.jump(Code::Jne_rel32_64)?);
        self.load_data(data)?;
        self.put(Instruction::with3(permute, value, places, value))?;
        let to = MemoryOperand::with_base_index_scale_displ_size(Register::RCX, Register::RAX, 1, offset.into(), 1);
        self.put(Instruction::with2(self.machine.store_of(size), to, value))?;
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        not.into_iter().for_each(|jump| self.asm.land(jump));
        Ok(end)
    }
}
