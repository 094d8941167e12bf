//! The lanes' loop of a phase: values in registers, one node of its graph after the other.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Address, Place};
use super::super::graph::Graph;
use super::super::machine::Machine;
use super::super::nodes::Value;
use super::assembler::Jump;
use super::elsewhere::Copy;
use super::frame::SLOTS;
use super::masks::Masks;
use super::{Assembler, EXEC, Plan, TooLarge};
use crate::registers::scalar;

/// A register or memory.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Register(Register),
    Memory(MemoryOperand),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Register(register)
    }
}

impl From<MemoryOperand> for Operand {
    fn from(place: MemoryOperand) -> Operand {
        Operand::Memory(place)
    }
}

/// Where a value is.
#[derive(Clone, Copy, Default)]
pub(super) struct Home {
    pub register: Option<usize>,
    pub slot: Option<usize>,
}

pub(super) struct Body<'a> {
    pub plan: &'a Plan<'a>,
    pub graph: &'a Graph,
    pub machine: Machine,
    pub asm: &'a mut Assembler,
    /// All lanes are on.
    pub full: bool,
    pub homes: Vec<Home>,
    /// What registers hold.
    pub held: Vec<Option<Value>>,
    /// Registers that the instruction under way needs.
    pub pinned: Vec<usize>,
    pub slots: Vec<bool>,
    /// Where each value is used, the last first, in numbers of nodes; results are used behind all.
    pub uses: Vec<Vec<u32>>,
    /// Results are being stored: rows no longer hold what they held.
    pub storing: bool,
    /// Scalar registers whose contents are on the stack.
    pub kept: Vec<u8>,
    /// Rows that have been copied to the stack.
    pub copies: Vec<Copy>,
    /// Addresses of LDS that have been looked at.
    pub looked_at: Vec<Address>,
    /// The same of places in device memory.
    pub found: Vec<Place>,
    /// Comparisons that are nothing but masks, and the mask registers that have them.
    pub masks: Masks,
}

impl<'a> Body<'a> {
    pub fn new(plan: &'a Plan<'a>, machine: Machine, asm: &'a mut Assembler, full: bool) -> Body<'a> {
        let graph = plan.graph;
        let count = graph.nodes.len();
        let mut uses = vec![Vec::new(); count];
        let end = count as u32;
        let results = graph.rows.values().chain(graph.masks.values());
        for value in results.chain(&plan.checks).copied() {
            uses[value.0 as usize].push(end);
        }
        for at in (0..count).rev().filter(|&at| plan.live[at]) {
            graph.nodes[at].sources().for_each(|source| uses[source.0 as usize].push(at as u32));
        }
        Body {
            plan,
            graph,
            machine,
            asm,
            full,
            homes: vec![Home::default(); count],
            held: vec![None; machine.registers()],
            pinned: Vec::new(),
            slots: vec![false; SLOTS],
            uses,
            storing: false,
            kept: Vec::new(),
            copies: Vec::new(),
            looked_at: Vec::new(),
            found: Vec::new(),
            masks: Masks::of(plan, machine),
        }
    }

    pub fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// Registers of passing use.
    pub fn passing(&self, n: usize) -> Register {
        self.machine.vector(self.machine.registers() + n)
    }

    /// Narrow vectors: the lanes that are on, and those with NaNs.
    pub fn exec(&self) -> Register {
        self.passing(1)
    }
    pub(super) fn nans(&self) -> Register {
        self.passing(2)
    }

    /// A piece of a mask in scalar registers, as R10 leads to it.
    pub fn piece(&self, code: u8) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::R10, i64::from(code) * 4)
    }

    pub fn row(&self, row: u16) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * 256)
    }

    pub fn slot(&self, slot: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, slot as i64 * i64::from(self.machine.bytes()))
    }

    pub fn constant(&self, at: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    /// All of the run for the next lanes, until none are left.
    pub fn lanes(&mut self) -> Result<(), TooLarge> {
        self.begin_stretches()?;
        self.find_buffers()?;
        self.keep_scalars()?;
        self.copy_rows()?;
        let top = self.asm.at;
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, EXEC, self.piece(scalar::EXEC)))?;
        } else if !self.full {
            let exec = self.exec();
            self.expand(exec, scalar::EXEC)?;
        }
        let off = self.lanes_off()?;
        self.nodes()?;
        self.look_for_nans()?;
        self.store()?;
        if let Some(off) = off {
            self.asm.land(off);
        }
        self.step_stretches()?;
        self.plan.frame.next(self.asm, self.machine, top)?;
        let plan = self.plan;
        plan.graph.masks.keys().filter(|code| plan.read_whole.contains(code)).try_for_each(|&code| self.join(code))
    }

    /// Scalars whose registers masks are written to, a vector's lanes at a time, are read on the stack.
    fn keep_scalars(&mut self) -> Result<(), TooLarge> {
        self.kept = self.graph.overwritten(self.plan.wave64);
        for number in 0..self.kept.len() {
            let from = MemoryOperand::with_base_displ(Register::RSI, i64::from(self.kept[number]) * 4);
            self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, from))?;
            self.put(Instruction::with2(Code::Mov_rm32_r32, self.kept_scalar(number), Register::EAX))?;
        }
        Ok(())
    }

    fn kept_scalar(&self, number: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.plan.frame.stores + 4 * number as i64)
    }

    /// Where a scalar is.
    pub(super) fn scalar(&self, code: u8) -> MemoryOperand {
        match self.kept.iter().position(|&kept| kept == code) {
            Some(number) => self.kept_scalar(number),
            None => MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4),
        }
    }

    /// Stores as one what has been stored in pieces: a load of more than one of them would wait until all are in the cache.
    fn join(&mut self, code: u8) -> Result<(), TooLarge> {
        if !self.machine.wide {
            return Ok(());
        }
        let pieces = if self.plan.wave64 { 4 } else { 2 };
        let at = |by: i64| MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4 + by);
        self.put(Instruction::with2(Code::Movzx_r32_rm16, Register::EAX, at(0)))?;
        for piece in 1..pieces {
            self.put(Instruction::with2(Code::Movzx_r32_rm16, Register::R9D, at(2 * piece)))?;
            self.put(Instruction::with2(Code::Shl_rm64_imm8, Register::R9, 16 * piece as i32))?;
            self.put(Instruction::with2(Code::Or_r64_rm64, Register::RAX, Register::R9))?;
        }
        self.put(match self.plan.wave64 {
            true => Instruction::with2(Code::Mov_rm64_r64, at(0), Register::RAX),
            false => Instruction::with2(Code::Mov_rm32_r32, at(0), Register::EAX),
        })
    }

    /// What is computed for a vector of lanes.
    pub fn nodes(&mut self) -> Result<(), TooLarge> {
        for at in 0..self.graph.nodes.len() {
            if self.plan.live[at] && !self.graph.nodes[at].is_source() {
                self.node(at)?;
                self.release(Value(at as u32));
            }
        }
        Ok(())
    }

    /// The jump that is taken if no lane is on, where looking takes less than what it saves: accesses to memory are long. (Masks
    /// are written for lanes that are off, too.)
    fn lanes_off(&mut self) -> Result<Option<Jump>, TooLarge> {
        if !self.graph.accesses() || !self.graph.masks.is_empty() {
            return Ok(None);
        }
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
        } else if self.full {
            return Ok(None);
        } else {
            let exec = self.exec();
            self.put(Instruction::with2(Code::VEX_Vtestps_ymm_ymmm256, exec, exec))?;
        }
        Ok(Some(self.asm.jump(Code::Je_rel32_64)?))
    }

    /// Lanes of a mask as words.
    pub fn expand(&mut self, to: Register, code: u8) -> Result<(), TooLarge> {
        let piece = self.piece(code);
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, piece))?;
            return self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1));
        }
        self.expand_piece(to, piece)
    }

    /// The same of a byte in memory, for narrow vectors.
    pub(super) fn expand_piece(&mut self, to: Register, piece: MemoryOperand) -> Result<(), TooLarge> {
        let bits = self.constant(self.plan.pool.bits);
        self.put(Instruction::with2(Code::VEX_Vpbroadcastb_ymm_xmmm8, to, piece))?;
        self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, to, to, bits))?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, bits))
    }
}
