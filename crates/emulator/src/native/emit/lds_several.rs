//! Two or four words of LDS that each lane has in a row, with wide vectors: loaded lane by lane and put in order, which takes a
//! fifth of the time of a gather for each word.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Address, Size};
use super::super::nodes::{Node, Value};
use super::body::Body;
use super::columns::{part, turn};
use super::lds::APART;
use super::{EXEC, TooLarge};

/// Lanes of a wide vector, and of a part of sixteen bytes.
const LANES: usize = 16;
const PART: usize = 4;

impl Body<'_> {
    /// How many words that begin with a node's come together.
    pub(super) fn words_together(&self, at: usize, address: Address, offset: u32) -> Option<usize> {
        let follows = |k: usize| {
            let node = Node::Lds { address, offset: offset + 4 * k as u32 };
            let is_new = self.homes.get(at + k).is_some_and(|home| home.register.is_none() && home.slot.is_none());
            self.graph.nodes.get(at + k) == Some(&node) && self.plan.live[at + k] && is_new
        };
        let all = |count: usize| (1..count).all(follows);
        if !self.machine.wide || address.size != Size::Word {
            return None;
        }
        [4, 2].into_iter().find(|&count| all(count))
    }

    /// Those words of each lane.
    pub(super) fn several(
        &mut self,
        at: usize,
        (address, lanes): (Address, Register),
        offset: u32,
        count: usize,
    ) -> Result<(), TooLarge> {
        let mut registers = Vec::new();
        for _ in 0..count {
            let register = self.free()?;
            self.pinned.push(register);
            registers.push(register);
        }
        let to: Vec<Register> = registers.iter().map(|&register| self.machine.vector(register)).collect();
        let (_, how) = self.kept(address);
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, APART))?;
        let regular = self.asm.jump(Code::Jne_rel32_64)?;
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
        let some_off = self.asm.jump(Code::Jae_rel32_64)?;
        let kept = self.plan.frame.calls;
        let addresses = MemoryOperand::with_base_displ(Register::RSP, kept);
        self.put(Instruction::with2(self.machine.store(), addresses, lanes))?;
        match to[..] {
            [a, b] => self.pairs([a, b], kept, offset)?,
            [a, b, c, d] => self.quads([a, b, c, d], kept, offset)?,
            _ => return Err(TooLarge),
        }
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(regular);
        self.asm.land(some_off);
        for (&to, word) in to.iter().zip(0..) {
            self.one(to, (address, lanes), offset + 4 * word)?;
        }
        self.asm.land(end);
        self.used(address.of);
        for (register, number) in registers.into_iter().zip(at..) {
            self.hold(Value(number as u32), register);
        }
        Ok(())
    }

    /// Where a lane's words are; its address is on the stack.
    fn of_lane(&mut self, lane: usize, kept: i64, offset: u32) -> Result<MemoryOperand, TooLarge> {
        let address = MemoryOperand::with_base_displ(Register::RSP, kept + 4 * lane as i64);
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, address))?;
        Ok(MemoryOperand::with_base_index_scale_displ_size(Register::RCX, Register::RAX, 1, offset.into(), 1))
    }

    fn insert(&mut self, to: Register, part: usize, from: impl Into<super::body::Operand>) -> Result<(), TooLarge> {
        let code = Code::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8;
        self.four(code, to, to, from.into(), part as i32)
    }

    /// A register each for first words and for second ones.
    fn pairs(&mut self, [first, second]: [Register; 2], kept: i64, offset: u32) -> Result<(), TooLarge> {
        let passing = self.passing(0);
        // Of each four lanes the first two go to one register, the others to another one.
        for pair in 0..LANES / 2 {
            let (to, piece) = ([first, second][pair % 2], pair / 2);
            let both = self.machine.low(if piece == 0 { to } else { passing });
            let from = self.of_lane(2 * pair, kept, offset)?;
            self.put(Instruction::with2(Code::EVEX_Vmovsd_xmm_k1z_m64, both, from))?;
            let from = self.of_lane(2 * pair + 1, kept, offset)?;
            self.put(Instruction::with3(Code::EVEX_Vmovhps_xmm_xmm_m64, both, both, from))?;
            if piece != 0 {
                self.insert(to, piece, both)?;
            }
        }
        part(self.asm, self.machine, [first, second], passing)
    }

    /// A register each for four words.
    fn quads(&mut self, [a, b, c, d]: [Register; 4], kept: i64, offset: u32) -> Result<(), TooLarge> {
        // The first of each four lanes to the first register, and so on.
        for lane in 0..LANES {
            let (to, piece) = ([a, b, c, d][lane % PART], lane / PART);
            let from = self.of_lane(lane, kept, offset)?;
            match piece {
                0 => self.put(Instruction::with2(Code::EVEX_Vmovups_xmm_k1z_xmmm128, self.machine.low(to), from))?,
                _ => self.insert(to, piece, from)?,
            }
        }
        turn(self.asm, self.machine, [a, b, c, d], self.passing(0))
    }
}
