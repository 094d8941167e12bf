//! Loads from device memory: lanes at neighbouring words, or parts of words, or at one, within an allocation that the wave
//! remembers.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::machine::Machine;
use super::super::nodes::{Base, Node, Offsets, Place, Rest, Size, Value};
use super::body::Body;
use super::frame::PLACE;
use super::lds::{NEIGHBOURS, SAME};
use super::stretch::{EXPECTED, Stretch};
use super::{Assembler, EXEC, Jump, Pool, TooLarge, columns, lanes, masked};
use crate::memory::Recent;

/// No lane is on.
const OFF: i32 = 2;

/// A function that gives in R11 where the host has the EBP bytes at RAX, or 0. It needs R9.
pub(super) fn finder(asm: &mut Assembler, write: bool) -> Result<(), TooLarge> {
    let layout = Recent::LAYOUT;
    for number in 0..layout.count {
        let field = |by: usize| {
            MemoryOperand::with_base_displ(Register::RBX, (layout.first + number * layout.size + by) as i64)
        };
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, Register::RAX))?;
        asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R11, field(layout.start)))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, field(layout.own)))?;
        asm.put(Instruction::with2(Code::Sub_r64_rm64, Register::R9, Register::R11))?;
        let outside = asm.jump(Code::Jbe_rel32_64)?;
        asm.put(Instruction::with2(Code::Cmp_r64_rm64, Register::R9, Register::RBP))?;
        let too_few = asm.jump(Code::Jb_rel32_64)?;
        let read_only = if write {
            asm.put(Instruction::with2(Code::Cmp_rm8_imm8, field(layout.writable), 0))?;
            Some(asm.jump(Code::Je_rel32_64)?)
        } else {
            None
        };
        asm.put(Instruction::with2(Code::Add_r64_rm64, Register::R11, field(layout.ptr)))?;
        asm.put(Ok(Instruction::with(Code::Retnq)))?;
        [Some(outside), Some(too_few), read_only].into_iter().flatten().for_each(|jump| asm.land(jump));
    }
    asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::R11D, Register::R11D))?;
    asm.put(Ok(Instruction::with(Code::Retnq)))
}

/// RAX = an address, EAX holding its lower half or an offset, and R9D, if it `has_high`, the upper half; `base`: what a pair of
/// scalar registers holds is added.
pub(super) fn sum(
    asm: &mut Assembler,
    (offsets, size): (Offsets, Size),
    has_high: bool,
    base: Option<u8>,
) -> Result<(), TooLarge> {
    if offsets != Offsets::Unsigned {
        asm.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX))?;
    }
    if offsets == Offsets::Units && size != Size::Byte {
        let by = size.bytes().trailing_zeros() as i32;
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RAX, by))?;
    }
    if has_high {
        asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 32))?;
        asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, Register::R9))?;
    }
    let Some(code) = base else { return Ok(()) };
    asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, super::scalar::held(code)))
}

/// How the lanes' addresses are looked at.
pub(super) struct Look<'a> {
    pub asm: &'a mut Assembler,
    pub machine: Machine,
    pub pool: &'a Pool,
    /// Narrow vectors: the lanes that are on, if they need not be all.
    pub exec: Option<Register>,
    /// Two vector registers to work with.
    pub passing: [Register; 2],
    pub exit: usize,
    pub size: Size,
    /// Where the first lane's address is put, and how the lanes' lie.
    pub address: MemoryOperand,
    pub how: MemoryOperand,
}

impl Look<'_> {
    pub(super) fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// By how much neighbouring lanes differ.
    pub(super) fn steps(&self, high: Result<Register, Base>) -> MemoryOperand {
        let in_units = matches!(high, Err(Base { offsets: Offsets::Units, .. }));
        let at = self.pool.steps(self.size, in_units);
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    /// Leaves unless all lanes that are on are at one address, or at neighbouring words. `high`: the upper halves, or a pair
    /// of scalar registers.
    pub(super) fn apart(&mut self, low: Register, high: Result<Register, Base>) -> Result<(), TooLarge> {
        let exit = self.exit as u64;
        let off = if self.machine.wide { Some(self.wide(low, high)?) } else { self.narrow(low, high)? };
        // What is left of R11D and EBP is not zero where the lanes are elsewhere.
        self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, SAME))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::R11D, Register::R11D))?;
        let same = self.asm.jump(Code::Je_rel32_64)?;
        self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, NEIGHBOURS))?;
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::EBP, Register::EBP))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit))?;
        if let Some(off) = off {
            let near = self.asm.jump(Code::Jmp_rel32_64)?;
            self.asm.land(off);
            self.put(Instruction::with2(Code::Mov_rm32_imm32, self.how, OFF))?;
            self.asm.land(near);
        }
        self.asm.land(same);
        Ok(())
    }

    /// The first lane's address, EAX holding its lower half, and the upper halves being the same.
    fn whole(&mut self, high: Result<Register, Base>) -> Result<(), TooLarge> {
        // The last lane's address must not begin anew.
        let most = self.size.bytes().max(4) * 16;
        let unsigned = !matches!(high, Err(Base { offsets: Offsets::Signed | Offsets::Units, .. }));
        let (last, beyond) = if unsigned { (-most, Code::Jae_rel32_64) } else { (i32::MAX - most, Code::Jg_rel32_64) };
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, last))?;
        self.put(Instruction::with_branch(beyond, self.exit as u64))?;
        match high {
            Ok(high) => {
                self.put(Instruction::with2(self.machine.first_word(), Register::R9D, self.machine.low(high)))?;
                sum(self.asm, (Offsets::Unsigned, self.size), true, None)?;
            }
            Err(base) => sum(self.asm, (base.offsets, self.size), false, Some(base.code))?,
        }
        self.put(Instruction::with2(Code::Mov_rm64_r64, self.address, Register::RAX))
    }

    /// Gives the jump that is taken if no lane is on.
    fn wide(&mut self, low: Register, high: Result<Register, Base>) -> Result<Jump, TooLarge> {
        const DIFFERENT: i32 = 4;
        let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        let broadcast = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        let one = self.passing[0];
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
        let off = self.asm.jump(Code::Je_rel32_64)?;
        if let Ok(high) = high {
            self.put(Instruction::with2(broadcast, one, self.machine.low(high)))?;
            self.put(masked(Instruction::with4(compare, Register::K1, high, one, DIFFERENT), EXEC))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, Register::K1))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))?;
        }
        self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, self.machine.low(low)))?;
        self.put(Instruction::with2(broadcast, one, self.machine.low(low)))?;
        self.put(masked(Instruction::with4(compare, Register::K1, low, one, DIFFERENT), EXEC))?;
        let steps = self.steps(high);
        self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
        self.put(masked(Instruction::with4(compare, Register::K2, low, one, DIFFERENT), EXEC))?;
        self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::R11D, Register::K1))?;
        self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EBP, Register::K2))?;
        self.whole(high)?;
        Ok(off)
    }

    fn narrow(&mut self, low: Register, high: Result<Register, Base>) -> Result<Option<Jump>, TooLarge> {
        let [one, other] = self.passing;
        let (equal, broadcast) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, Code::VEX_Vpbroadcastd_ymm_xmmm32);
        let lanes = Code::VEX_Vmovmskps_r32_ymm;
        let mut off = None;
        self.put(Instruction::with2(Code::Mov_r32_imm32, Register::R9D, 0xff))?;
        if let Some(exec) = self.exec {
            self.put(Instruction::with2(lanes, Register::R9D, exec))?;
            self.put(Instruction::with2(Code::Test_rm32_r32, Register::R9D, Register::R9D))?;
            off = Some(self.asm.jump(Code::Je_rel32_64)?);
        }
        if let Ok(high) = high {
            self.put(Instruction::with2(broadcast, one, self.machine.low(high)))?;
            self.put(Instruction::with3(equal, one, one, high))?;
            self.put(Instruction::with2(lanes, Register::EAX, one))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
            self.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, self.exit as u64))?;
        }
        self.put(Instruction::with2(Code::VEX_Vmovd_rm32_xmm, Register::EAX, self.machine.low(low)))?;
        self.put(Instruction::with2(broadcast, one, self.machine.low(low)))?;
        self.put(Instruction::with3(equal, other, one, low))?;
        let steps = self.steps(high);
        self.put(Instruction::with3(Code::VEX_Vpaddd_ymm_ymm_ymmm256, one, one, steps))?;
        self.put(Instruction::with3(equal, one, one, low))?;
        for (register, vector) in [(Register::R11D, other), (Register::EBP, one)] {
            self.put(Instruction::with2(lanes, register, vector))?;
            self.put(Instruction::with2(Code::Xor_rm32_imm32, register, 0xff))?;
            self.put(Instruction::with2(Code::And_r32_rm32, register, Register::R9D))?;
        }
        self.whole(high)?;
        Ok(off)
    }
}

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
        for (&to, by) in to.iter().zip((at..).step_by(self.machine.bytes() as usize)) {
            let from = MemoryOperand::with_base_displ(base, by);
            self.put(Instruction::with2(self.machine.load(), to, from))?;
        }
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
