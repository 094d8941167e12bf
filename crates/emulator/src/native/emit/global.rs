//! Loads from device memory: lanes at neighbouring words, or parts of words, or at one, within an allocation that the wave
//! remembers.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Base, Offsets, Place, Rest, Size};
use super::super::nodes::{Node, Value};
use super::body::Body;
use super::frame::PLACE;
use super::lds::NEIGHBOURS;
use super::look::Look;
use super::stretch::{EXPECTED, Stretch};
use super::{EXEC, Jump, TooLarge, columns, lanes, masked, scattered};

impl Body<'_> {
    /// What each lane loads from device memory.
    pub fn global(&mut self, at: usize, place: Place, offset: i32) -> Result<(), TooLarge> {
        let exit = self.plan.exit as u64;
        let home = self.homes[at];
        if home.register.is_some() || home.slot.is_some() {
            // It has come with the words before it.
            self.graph.nodes[at].sources().for_each(|source| self.used(source));
            return Ok(());
        }
        let number = self.plan.places.iter().position(|&other| other == place).ok_or(TooLarge)?;
        let kept = self.plan.frame.places + (PLACE * number) as i64;
        let (stretch, size) = (self.stretch_of(place), place.size);
        let [address, how] = [0, 8].map(|by| MemoryOperand::with_base_displ(Register::RSP, kept + by));
        let low = self.vector(place.low)?;
        let high = match place.rest {
            Rest::High(high) => Ok(self.vector(high)?),
            Rest::Base(base) => Err(base),
        };
        let exec = (!self.machine.wide && !self.full).then(|| self.exec());
        let passing = [self.passing(0), self.passing(if self.machine.wide { 1 } else { 2 })];
        let is_one = size.words() == 1;
        let to = &*if is_one { vec![self.target(at)?] } else { self.targets(at, size)? };
        let expected_end = if self.found.contains(&place) {
            self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, EXPECTED))?;
            let unexpected = self.asm.jump(Code::Jne_rel32_64)?;
            let end = self.expected(stretch, offset, to, exec)?;
            self.asm.land(unexpected);
            end
        } else {
            let (machine, pool, exit, finder) = (self.machine, self.plan.pool, self.plan.exit, self.plan.finder);
            let mut look = Look { asm: self.asm, machine, pool, exec, passing, exit, size, address, how };
            let elsewhere = look.expected(stretch, low, high)?;
            let here = look.asm.at;
            // For its other accesses.
            look.put(Instruction::with2(Code::Mov_rm32_imm32, how, EXPECTED))?;
            let end = self.expected(stretch, offset, to, exec)?;
            elsewhere.into_iter().for_each(|jump| self.asm.land(jump));
            let mut look = Look { asm: self.asm, machine, pool, exec, passing, exit, size, address, how };
            look.apart(low, high)?;
            look.stretch(stretch, low, high, finder, here)?;
            self.found.push(place);
            end
        };
        let mut scattered_end = None;
        if scattered::is_possible(size, high.err()) {
            self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, scattered::SCATTERED))?;
            let other = self.asm.jump(Code::Jne_rel32_64)?;
            let (machine, frame, exit) = (self.machine, self.plan.frame, self.plan.exit);
            let found = scattered::Found { machine, frame, exec, finder: self.plan.scattered, exit };
            self.scattered(found, (low, high), (size, offset), to)?;
            scattered_end = Some(self.asm.jump(Code::Jmp_rel32_64)?);
            self.asm.land(other);
        }
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, NEIGHBOURS))?;
        let off = self.asm.jump(Code::Ja_rel32_64)?;
        let all = size.bytes() * self.machine.lanes() as i32;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, all))?;
        let near = self.asm.jump(Code::Je_rel32_64)?;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, size.bytes()))?;
        self.asm.land(near);
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, address))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, offset))?;
        self.put(Instruction::with_branch(Code::Call_rel32_64, self.plan.finder as u64))?;
        self.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
        self.put(Instruction::with_branch(Code::Je_rel32_64, exit))?;
        self.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, size.lowest()))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EBP, size.bytes()))?;
        let same = self.asm.jump(Code::Je_rel32_64)?;
        self.near(size, to, exec)?;
        let near_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(same);
        let mut from = (Register::R11, 0);
        if !is_one {
            // Loaded together, so that no other thread's store comes in between.
            let (kept, one) = (self.plan.frame.calls, self.passing(0));
            let places = (MemoryOperand::with_base_displ(Register::RSP, kept), MemoryOperand::with_base(Register::R11));
            lanes::copy(self.asm, self.machine, size, places, one)?;
            from = (Register::RSP, kept);
        }
        for (&to, by) in to.iter().zip((from.1..).step_by(4)) {
            self.spread(size, to, MemoryOperand::with_base_displ(from.0, by), Register::R9D)?;
        }
        let same_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(off);
        let zero = match self.machine.wide {
            true => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            false => Code::VEX_Vxorps_ymm_ymm_ymmm256,
        };
        to.iter().try_for_each(|&to| self.put(Instruction::with3(zero, to, to, to)))?;
        scattered_end.into_iter().for_each(|end| self.asm.land(end));
        self.asm.land(expected_end);
        self.asm.land(near_end);
        self.asm.land(same_end);
        if !is_one {
            self.graph.nodes[at].sources().for_each(|source| self.used(source));
        }
        Ok(())
    }

    /// What lanes load that are where they are expected, and the jump behind it.
    fn expected(
        &mut self,
        stretch: Stretch,
        offset: i32,
        to: &[Register],
        exec: Option<Register>,
    ) -> Result<Jump, TooLarge> {
        stretch.found(self.asm, offset)?;
        self.near(stretch.size(), to, exec)?;
        self.asm.jump(Code::Jmp_rel32_64)
    }

    /// Where what lanes load goes to, a register for each word.
    pub(super) fn targets(&mut self, at: usize, size: Size) -> Result<Vec<Register>, TooLarge> {
        let words = usize::from(size.words());
        // The nodes of one load have come one after the other.
        let node = |number: usize| match self.graph.nodes.get(at + number) {
            Some(&(Node::Global { word, .. } | Node::Buffer { word, .. })) => {
                usize::from(word) == number && self.plan.live[at + number]
            }
            _ => false,
        };
        if !(0..words).all(node) {
            return Err(TooLarge);
        }
        let mut registers = Vec::new();
        for number in 0..words {
            let register = self.free()?;
            self.pinned.push(register);
            self.hold(Value((at + number) as u32), register);
            registers.push(self.machine.vector(register));
        }
        Ok(registers)
    }

    /// Several words of each lane, which lie in a row.
    pub(super) fn near_several(&mut self, to: &[Register], base: Register, at: i64) -> Result<(), TooLarge> {
        self.load_several(to, base, at)?;
        self.sort_several(to)
    }

    /// The same as they lie there.
    pub(super) fn load_several(&mut self, to: &[Register], base: Register, at: i64) -> Result<(), TooLarge> {
        for (&to, by) in to.iter().zip((at..).step_by(self.machine.bytes() as usize)) {
            let from = MemoryOperand::with_base_displ(base, by);
            self.put(Instruction::with2(self.machine.load(), to, from))?;
        }
        Ok(())
    }

    /// Lanes' words in a row become a register for each word.
    pub(super) fn sort_several(&mut self, to: &[Register]) -> Result<(), TooLarge> {
        let (machine, one) = (self.machine, self.passing(0));
        match *to {
            [a, b] => {
                columns::deal_pairs(self.asm, machine, [a, b], one)?;
                columns::part(self.asm, machine, [a, b], one)
            }
            [a, b, c, d] => {
                columns::deal(self.asm, machine, [a, b, c, d], one)?;
                columns::turn(self.asm, machine, [a, b, c, d], one)
            }
            _ => Err(TooLarge),
        }
    }

    /// What R11 leads to, of lanes that are on. (There is something for the others, too.)
    fn near(&mut self, size: Size, to: &[Register], exec: Option<Register>) -> Result<(), TooLarge> {
        let [to] = *to else { return self.near_several(to, Register::R11, 0) };
        let (from, load) = (MemoryOperand::with_base(Register::R11), self.machine.load_of(size));
        match exec {
            _ if self.machine.wide => {
                let load = masked(Instruction::with2(load, to, from), EXEC);
                self.put(load.map(|mut it| {
                    it.set_zeroing_masking(true);
                    it
                }))
            }
            Some(exec) if size == Size::Word => {
                self.put(Instruction::with3(Code::VEX_Vmaskmovps_ymm_ymm_m256, to, exec, from))
            }
            _ => self.put(Instruction::with2(load, to, from)),
        }
    }

    /// What all lanes load from one place, by way of a general register.
    pub(super) fn spread(
        &mut self,
        size: Size,
        to: Register,
        from: MemoryOperand,
        by: Register,
    ) -> Result<(), TooLarge> {
        let load = match size {
            Size::Word | Size::Pair | Size::Quad => {
                return self.put(Instruction::with2(self.machine.broadcast(), to, from));
            }
            Size::Half => Code::Movzx_r32_rm16,
            Size::Byte => Code::Movzx_r32_rm8,
        };
        self.put(Instruction::with2(load, by, from))?;
        if self.machine.wide {
            return self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, to, by));
        }
        let low = self.machine.low(to);
        self.put(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low, by))?;
        self.put(Instruction::with2(Code::VEX_Vpbroadcastd_ymm_xmmm32, to, low))
    }

    /// What is expected of the lanes' addresses.
    fn stretch_of(&self, place: Place) -> Stretch {
        let number = self.plan.places.iter().position(|&other| other == place).unwrap_or(0);
        let offset = |node: &Node| match *node {
            Node::Global { place: at, offset, .. } if at == place => Some(offset),
            _ => None,
        };
        let kept = self.plan.frame.places + (PLACE * number + 16) as i64;
        Stretch::of(kept, place.size, self.graph.nodes.iter().filter_map(offset))
    }

    /// No vector has come yet.
    pub(super) fn begin_stretches(&mut self) -> Result<(), TooLarge> {
        self.plan.places.iter().try_for_each(|&place| self.stretch_of(place).begin(self.asm))
    }

    /// The next one comes.
    pub(super) fn step_stretches(&mut self) -> Result<(), TooLarge> {
        let lanes = self.machine.lanes() as i32;
        let found = std::mem::take(&mut self.found);
        found.into_iter().try_for_each(|place| {
            let in_units = matches!(place.rest, Rest::Base(Base { offsets: Offsets::Units, .. }));
            self.stretch_of(place).step(self.asm, lanes, in_units)
        })
    }
}
