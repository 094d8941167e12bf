//! Loads from buffers: offsets that are not inside load zeros.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Buffer, Size};
use super::super::buffers::{Found, encoded, find};
use super::super::machine::Machine;
use super::super::nodes::Value;
use super::body::Body;
use super::call::KEPT;
use super::frame::{Frame, PLACE};
use super::{Assembler, EXEC, Pool, TooLarge, lanes, masked};
use crate::wave::Wave;

/// Wide vectors: lanes that access something.
pub(super) const INSIDE: Register = Register::K1;

/// Where on the stack it is kept what has been found of a buffer.
#[derive(Clone, Copy)]
pub(super) struct Kept(pub i64);

impl Kept {
    pub fn host(self) -> MemoryOperand {
        self.at(0)
    }

    fn at(self, by: i64) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.0 + by)
    }

    /// Has it found, or leaves.
    pub fn find(
        self,
        asm: &mut Assembler,
        frame: Frame,
        (at, write): (Buffer, bool),
        exit: usize,
    ) -> Result<(), TooLarge> {
        let stack = |at: i64| MemoryOperand::with_base_displ(Register::RSP, at);
        let general = KEPT.iter().enumerate().map(|(n, &register)| (register, stack(frame.kept + 8 * n as i64)));
        for (register, place) in general.clone() {
            asm.put(Instruction::with2(Code::Mov_rm64_r64, place, register))?;
        }
        let wave = MemoryOperand::with_base_displ(Register::RBX, -Wave::RECENT_AT);
        let function = find as unsafe extern "sysv64" fn(*mut Wave, u64, *mut Found) -> u32 as usize as u64;
        asm.put(Instruction::with2(Code::Lea_r64_m, Register::RDI, wave))?;
        asm.put(Instruction::with2(Code::Mov_r64_imm64, Register::RSI, encoded(at, write)))?;
        asm.put(Instruction::with2(Code::Lea_r64_m, Register::RDX, self.host()))?;
        asm.put(Instruction::with2(Code::Mov_r64_imm64, Register::RAX, function))?;
        asm.put(Instruction::with1(Code::Call_rm64, Register::RAX))?;
        asm.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
        for (register, place) in general {
            asm.put(Instruction::with2(Code::Mov_r64_rm64, register, place))?;
        }
        asm.put(Instruction::with_branch(Code::Je_rel32_64, exit as u64))
    }
}

/// Which lanes' offsets are inside a buffer.
pub(super) struct Within<'a> {
    pub asm: &'a mut Assembler,
    pub machine: Machine,
    pub pool: &'a Pool,
    /// Narrow vectors: the lanes that are on, if they need not be all.
    pub exec: Option<Register>,
    /// Two vector registers to work with; of narrow vectors the first one has the lanes that are inside.
    pub passing: [Register; 2],
    pub kept: Kept,
}

impl Within<'_> {
    fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// Lanes that are on and inside.
    pub fn inside(&mut self, offsets: Register) -> Result<(), TooLarge> {
        const BELOW: i32 = 1;
        let ([one, other], bound) = (self.passing, self.kept.at(Found::INSIDE));
        if self.machine.wide {
            self.put(Instruction::with2(self.machine.broadcast(), one, bound))?;
            let compare = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            return self.put(masked(Instruction::with4(compare, INSIDE, offsets, one, BELOW), EXEC));
        }
        self.put(Instruction::with2(self.machine.broadcast(), other, bound))?;
        self.not_below(one, offsets, other)?;
        let on = match self.exec {
            Some(exec) => exec,
            None => {
                self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, other, other, other))?;
                other
            }
        };
        self.put(Instruction::with3(Code::VEX_Vpandn_ymm_ymm_ymmm256, one, one, on))
    }

    /// Leaves if some words of a lane are inside, and others are not.
    pub fn whole(&mut self, offsets: Register, size: Size, exit: usize) -> Result<(), TooLarge> {
        const BELOW: i32 = 1;
        if size.words() == 1 {
            return Ok(());
        }
        let ([one, other], bound) = (self.passing, self.kept.at(Found::BEGINS));
        self.put(Instruction::with2(self.machine.broadcast(), other, bound))?;
        if self.machine.wide {
            let compare = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            self.put(masked(Instruction::with4(compare, Register::K2, offsets, other, BELOW), EXEC))?;
            self.put(Instruction::with3(Code::VEX_Kxorw_kr_kr_kr, Register::K2, Register::K2, INSIDE))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
            return self.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64));
        }
        // Those that do not begin inside, and those that are not inside, among the lanes that are on.
        self.not_below(other, offsets, other)?;
        self.put(Instruction::with3(Code::VEX_Vpor_ymm_ymm_ymmm256, other, other, one))?;
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, other))?;
        self.put(Instruction::with2(Code::Xor_rm32_imm32, Register::EAX, 0xff))?;
        if let Some(exec) = self.exec {
            self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::R9D, exec))?;
            self.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
        }
        self.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))
    }

    /// Leaves if one of those leads to no memory, or to something else than what it accesses.
    pub fn look(&mut self, offsets: Register, size: Size, exit: usize) -> Result<(), TooLarge> {
        const NOT_BELOW: i32 = 5;
        let ([one, other], bound) = (self.passing, self.kept.at(Found::THERE));
        if self.machine.wide {
            let compare = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            self.put(Instruction::with2(self.machine.broadcast(), one, bound))?;
            self.put(masked(Instruction::with4(compare, Register::K2, offsets, one, NOT_BELOW), INSIDE))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
            self.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))?;
            if size == Size::Byte {
                return Ok(());
            }
            let lowest = self.pool.place(size.lowest() as u32)? as i64 * 4;
            let lowest = MemoryOperand::with_base_displ(Register::RIP, lowest);
            let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
            self.put(Instruction::with2(self.machine.broadcast(), one, lowest))?;
            self.put(masked(Instruction::with3(test, Register::K2, offsets, one), INSIDE))?;
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))?;
            return self.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64));
        }
        let and = Code::VEX_Vpand_ymm_ymm_ymmm256;
        self.put(Instruction::with2(self.machine.broadcast(), other, bound))?;
        self.not_below(other, offsets, other)?;
        self.put(Instruction::with3(and, other, other, one))?;
        self.leave_if_any(other, exit)?;
        if size == Size::Byte {
            return Ok(());
        }
        // What is left of an offset's lowest bits is not zero.
        self.put(Instruction::with3(and, other, offsets, one))?;
        let by = 32 - size.bytes().min(4).trailing_zeros() as i32;
        self.put(Instruction::with3(Code::VEX_Vpslld_ymm_ymm_imm8, other, other, by))?;
        self.leave_if_any(other, exit)
    }

    fn leave_if_any(&mut self, lanes: Register, exit: usize) -> Result<(), TooLarge> {
        self.put(Instruction::with2(Code::VEX_Vptest_ymm_ymmm256, lanes, lanes))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))
    }

    /// Narrow vectors: lanes whose first number is not below the other one.
    fn not_below(&mut self, to: Register, a: Register, b: Register) -> Result<(), TooLarge> {
        self.put(Instruction::with3(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, to, a, b))?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, a))
    }

    /// Wide vectors: whether those are neighbours, so that R9 counts from the first lane's place; jumps for "not equal" are
    /// taken if not.
    pub fn are_neighbours(&mut self, offsets: Register, size: Size) -> Result<(), TooLarge> {
        const DIFFERENT: i32 = 4;
        let ([one, _], low) = (self.passing, self.machine.low(offsets));
        let steps = MemoryOperand::with_base_displ(Register::RIP, self.pool.steps(size, false) as i64 * 4);
        let compare = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        // A first lane that is not inside may count from before the buffer.
        self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::R9D, low))?;
        self.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::R9, Register::R9D))?;
        self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one, low))?;
        self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
        self.put(masked(Instruction::with4(compare, Register::K2, offsets, one, DIFFERENT), INSIDE))?;
        self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K2, Register::K2))
    }
}

impl Body<'_> {
    fn kept_of(&self, at: Buffer) -> Kept {
        let number = self.plan.buffers.iter().position(|&other| other == at).unwrap_or(0);
        Kept(self.plan.frame.places + (PLACE * (self.plan.places.len() + number)) as i64)
    }

    /// Before any lanes' turn.
    pub(super) fn find_buffers(&mut self) -> Result<(), TooLarge> {
        let (plan, exit) = (self.plan, self.plan.exit);
        plan.buffers.iter().try_for_each(|&at| self.kept_of(at).find(self.asm, plan.frame, (at, false), exit))
    }

    /// What each lane loads from a buffer.
    pub fn buffer(&mut self, at: usize, buffer: Buffer, offsets: Value) -> Result<(), TooLarge> {
        let home = self.homes[at];
        if home.register.is_some() || home.slot.is_some() {
            // It has come with the words before it.
            self.used(offsets);
            return Ok(());
        }
        let (lanes, size, kept) = (self.vector(offsets)?, buffer.size, self.kept_of(buffer));
        if size.words() > 1 {
            return self.several_of_buffer(at, buffer, (offsets, lanes));
        }
        // A gather must not write what it has its offsets in.
        let register = self.free()?;
        let to = self.machine.vector(register);
        let exec = (!self.machine.wide && !self.full).then(|| self.exec());
        let passing = [self.passing(0), self.passing(if self.machine.wide { 1 } else { 2 })];
        let (machine, pool, exit) = (self.machine, self.plan.pool, self.plan.exit);
        let mut within = Within { asm: self.asm, machine, pool, exec, passing, kept };
        within.inside(lanes)?;
        within.look(lanes, size, exit)?;
        let place = |index| MemoryOperand::with_base_index(Register::RAX, index);
        if !machine.wide {
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, kept.host()))?;
            self.put(Instruction::with3(Code::VEX_Vxorps_ymm_ymm_ymmm256, to, to, to))?;
            self.put(Instruction::with3(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, to, place(lanes), passing[0]))?;
        } else {
            within.put(Instruction::with3(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, to, to, to))?;
            within.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, INSIDE, INSIDE))?;
            let none = within.asm.jump(Code::Je_rel32_64)?;
            within.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, kept.host()))?;
            within.are_neighbours(lanes, size)?;
            let apart = match size {
                Size::Word => Some(within.asm.jump(Code::Jne_rel32_64)?),
                _ => {
                    within.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))?;
                    None
                }
            };
            within.put(masked(Instruction::with2(machine.load_of(size), to, place(Register::R9)), INSIDE))?;
            if let Some(apart) = apart {
                let end = self.asm.jump(Code::Jmp_rel32_64)?;
                self.asm.land(apart);
                let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, place(lanes));
                self.put(masked(gather, INSIDE))?;
                self.asm.land(end);
            }
            self.asm.land(none);
        }
        self.used(offsets);
        self.hold(Value(at as u32), register);
        Ok(())
    }
    /// The same of several words. What lanes that are not neighbours have is put on the stack as if they were.
    fn several_of_buffer(
        &mut self,
        at: usize,
        buffer: Buffer,
        (offsets, lanes): (Value, Register),
    ) -> Result<(), TooLarge> {
        let (size, kept) = (buffer.size, self.kept_of(buffer));
        let exec = (!self.machine.wide && !self.full).then(|| self.exec());
        let passing = [self.passing(0), self.passing(if self.machine.wide { 1 } else { 2 })];
        let (machine, pool, exit, frame) = (self.machine, self.plan.pool, self.plan.exit, self.plan.frame);
        let mut within = Within { asm: self.asm, machine, pool, exec, passing, kept };
        within.inside(lanes)?;
        within.whole(lanes, size, exit)?;
        within.look(lanes, size, exit)?;
        let to = self.targets(at, size)?;
        let stack = |by: i64| MemoryOperand::with_base_displ(Register::RSP, frame.calls + by);
        let step = i64::from(machine.bytes());
        let mut near_end = None;
        if machine.wide {
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, INSIDE, INSIDE))?;
            let some = self.asm.jump(Code::Jae_rel32_64)?;
            let mut within = Within { asm: self.asm, machine, pool, exec, passing, kept };
            within.are_neighbours(lanes, size)?;
            let apart = self.asm.jump(Code::Jne_rel32_64)?;
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, kept.host()))?;
            self.put(Instruction::with2(Code::Add_r64_rm64, Register::R11, Register::R9))?;
            self.near_several(&to, Register::R11, 0)?;
            near_end = Some(self.asm.jump(Code::Jmp_rel32_64)?);
            self.asm.land(some);
            self.asm.land(apart);
        }
        // Offsets come behind what lanes load.
        let offsets_at = frame.calls + step * i64::from(size.words());
        self.put(Instruction::with2(machine.store(), stack(offsets_at - frame.calls), lanes))?;
        self.put(match machine.wide {
            true => Instruction::with2(Code::VEX_Kmovw_r32_kr, Register::EAX, INSIDE),
            false => Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, passing[0]),
        })?;
        let (zero, one) = (passing[1], passing[0]);
        let clear = match machine.wide {
            true => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            false => Code::VEX_Vxorps_ymm_ymm_ymmm256,
        };
        self.put(Instruction::with3(clear, zero, zero, zero))?;
        for word in 0..i64::from(size.words()) {
            self.put(Instruction::with2(machine.store(), stack(step * word), zero))?;
        }
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, kept.host()))?;
        let with_lane = |base: Register, index: Register, scale: u32, by: i64| {
            MemoryOperand::with_base_index_scale_displ_size(base, index, scale, by, 8)
        };
        lanes::each(self.asm, |asm| {
            let offset = with_lane(Register::RSP, Register::R9, 4, offsets_at);
            asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, offset))?;
            asm.put(Instruction::with2(Code::Shl_rm32_imm8, Register::R9D, size.bytes().trailing_zeros() as i32))?;
            let places = (
                with_lane(Register::RSP, Register::R9, 1, frame.calls),
                MemoryOperand::with_base_index(Register::RBP, Register::R11),
            );
            lanes::copy(asm, machine, size, places, one)
        })?;
        self.near_several(&to, Register::RSP, frame.calls)?;
        near_end.into_iter().for_each(|end| self.asm.land(end));
        self.used(offsets);
        Ok(())
    }
}
