//! The lanes' loop of a phase: values in registers, one node of its graph after the other.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::graph::{Binary, Graph, Node, Place, Value};
use super::super::machine::Machine;
use super::{Assembler, EXEC, ODD_LANES, Plan, SLOTS, TooLarge, masked};
use crate::wave::scalar;

/// Wide vectors: lanes with NaNs.
const NAN: Register = Register::K4;

/// A register or memory.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Register(Register),
    Memory(MemoryOperand),
}

/// Where a value is.
#[derive(Clone, Copy, Default)]
pub(super) struct Home {
    register: Option<usize>,
    slot: Option<usize>,
}

pub(super) struct Body<'a> {
    pub plan: &'a Plan<'a>,
    pub graph: &'a Graph,
    pub machine: Machine,
    pub asm: &'a mut Assembler,
    /// All lanes are on.
    pub full: bool,
    homes: Vec<Home>,
    /// What registers hold.
    held: Vec<Option<Value>>,
    /// Registers that the instruction under way needs.
    pinned: Vec<usize>,
    slots: Vec<bool>,
    /// Where each value is used, the last first, in numbers of nodes; results are used behind all.
    uses: Vec<Vec<u32>>,
    /// Results are being stored: rows no longer hold what they held.
    storing: bool,
    /// Addresses of LDS that have been looked at.
    pub looked_at: Vec<Value>,
    /// The same of places in device memory.
    pub found: Vec<Place>,
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
            looked_at: Vec::new(),
            found: Vec::new(),
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
    fn nans(&self) -> Register {
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
        let top = self.asm.at;
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, EXEC, self.piece(scalar::EXEC)))?;
        } else if !self.full {
            let exec = self.exec();
            self.expand(exec, scalar::EXEC)?;
        }
        for at in 0..self.graph.nodes.len() {
            if self.plan.live[at] && !self.graph.nodes[at].is_source() {
                self.node(at)?;
            }
        }
        self.look_for_nans()?;
        self.store()?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RDI, self.machine.bytes()))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::R10, self.machine.lanes() as i32 / 8))?;
        self.put(Instruction::with1(Code::Dec_rm32, Register::EDX))?;
        self.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))
    }

    /// Lanes of a mask as words.
    pub fn expand(&mut self, to: Register, code: u8) -> Result<(), TooLarge> {
        let piece = self.piece(code);
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, piece))?;
            return self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1));
        }
        let bits = self.constant(self.plan.pool.bits);
        self.put(Instruction::with2(Code::VEX_Vpbroadcastb_ymm_xmmm8, to, piece))?;
        self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, to, to, bits))?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, bits))
    }

    fn next_use(&self, value: Value) -> u32 {
        self.uses[value.0 as usize].last().copied().unwrap_or(u32::MAX)
    }

    /// This use of a value is done.
    pub fn used(&mut self, value: Value) {
        self.uses[value.0 as usize].pop();
        if self.uses[value.0 as usize].is_empty() {
            let home = std::mem::take(&mut self.homes[value.0 as usize]);
            if let Some(register) = home.register {
                self.held[register] = None;
            }
            if let Some(slot) = home.slot {
                self.slots[slot] = false;
            }
        }
    }

    /// A register that holds nothing, or nothing any more.
    pub fn free(&mut self) -> Result<usize, TooLarge> {
        if let Some(free) = (0..self.held.len()).find(|&n| self.held[n].is_none() && !self.pinned.contains(&n)) {
            return Ok(free);
        }
        let candidates = (0..self.held.len()).filter(|n| !self.pinned.contains(n));
        let victim = candidates.max_by_key(|&n| self.held[n].map_or(0, |value| self.next_use(value)));
        let victim = victim.ok_or(TooLarge)?;
        if let Some(value) = self.held[victim].take() {
            self.homes[value.0 as usize].register = None;
            let again = self.graph.of(value).is_source() && !self.storing;
            if !again && self.homes[value.0 as usize].slot.is_none() {
                let slot = self.slots.iter().position(|taken| !taken).ok_or(TooLarge)?;
                self.slots[slot] = true;
                self.homes[value.0 as usize].slot = Some(slot);
                let to = self.slot(slot);
                self.put(Instruction::with2(self.machine.store(), to, self.machine.vector(victim)))?;
            }
        }
        Ok(victim)
    }

    pub fn hold(&mut self, value: Value, register: usize) {
        self.held[register] = Some(value);
        self.homes[value.0 as usize].register = Some(register);
    }

    /// The register that a value is in, or is put into.
    fn register(&mut self, value: Value) -> Result<usize, TooLarge> {
        let home = self.homes[value.0 as usize];
        if let Some(register) = home.register {
            self.pinned.push(register);
            return Ok(register);
        }
        let register = self.free()?;
        self.pinned.push(register);
        let to = self.machine.vector(register);
        match (home.slot, self.graph.of(value)) {
            (Some(slot), _) => {
                let from = self.slot(slot);
                self.put(Instruction::with2(self.machine.load(), to, from))?;
            }
            (None, Node::Row(row)) => {
                let from = self.row(row);
                self.put(Instruction::with2(self.machine.load(), to, from))?;
            }
            (None, Node::Scalar(code)) => {
                let from = MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            (None, Node::Constant(constant)) => {
                let from = self.constant(self.plan.pool.place(constant)?);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            (None, Node::Mask(code)) => self.expand(to, code)?,
            _ => return Err(TooLarge),
        }
        self.hold(value, register);
        Ok(register)
    }

    pub fn vector(&mut self, value: Value) -> Result<Register, TooLarge> {
        Ok(self.machine.vector(self.register(value)?))
    }

    /// Whether a value is best read from memory where it is used: it is there, and is used no more.
    fn is_best_in_memory(&self, value: Value) -> bool {
        let home = self.homes[value.0 as usize];
        let in_memory = home.slot.is_some() || matches!(self.graph.of(value), Node::Row(_)) && !self.storing;
        home.register.is_none() && in_memory && self.uses[value.0 as usize].len() == 1
    }

    /// Where the last operand of an instruction is.
    fn place(&mut self, value: Value) -> Result<Operand, TooLarge> {
        if !self.is_best_in_memory(value) {
            return Ok(Operand::Register(self.vector(value)?));
        }
        Ok(Operand::Memory(match (self.homes[value.0 as usize].slot, self.graph.of(value)) {
            (Some(slot), _) => self.slot(slot),
            (None, Node::Row(row)) => self.row(row),
            _ => return Err(TooLarge),
        }))
    }

    /// An instruction of two sources.
    fn three(&mut self, code: Code, to: Register, a: Register, b: Operand) -> Result<(), TooLarge> {
        match b {
            Operand::Register(b) => self.put(Instruction::with3(code, to, a, b)),
            Operand::Memory(b) => self.put(Instruction::with3(code, to, a, b)),
        }
    }

    /// The same with a constant.
    fn four(&mut self, code: Code, to: Register, a: Register, b: Operand, constant: i32) -> Result<(), TooLarge> {
        match b {
            Operand::Register(b) => self.put(Instruction::with4(code, to, a, b, constant)),
            Operand::Memory(b) => self.put(Instruction::with4(code, to, a, b, constant)),
        }
    }

    /// A register for the result, found before the operands are given up: what has to make room goes to a slot that no
    /// operand is in. An operand's register that is used no more is the best one, as instructions read before they write.
    pub fn target(&mut self, at: usize) -> Result<Register, TooLarge> {
        let node = self.graph.nodes[at];
        let dying = node.sources().find_map(|source| {
            let register = self.homes[source.0 as usize].register?;
            let uses = node.sources().filter(|&other| other == source).count();
            (self.uses[source.0 as usize].len() == uses).then_some(register)
        });
        let register = match dying {
            Some(register) => register,
            None => self.free()?,
        };
        node.sources().for_each(|source| self.used(source));
        self.hold(Value(at as u32), register);
        Ok(self.machine.vector(register))
    }

    fn node(&mut self, at: usize) -> Result<(), TooLarge> {
        self.pinned.clear();
        match self.graph.nodes[at] {
            Node::Binary(op, a, b) => {
                let swap = op.commutes() && a != b && self.is_best_in_memory(a) && !self.is_best_in_memory(b);
                let (a, b) = if swap { (b, a) } else { (a, b) };
                let (from, place) = (self.vector(a)?, self.place(b)?);
                if let Some(code) = self.machine.binary(op) {
                    let to = self.target(at)?;
                    return self.three(code, to, from, place);
                }
                if !self.machine.wide {
                    return self.below(at, from, place);
                }
                let (code, predicate) = match op {
                    Binary::Equal => (Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, 0),
                    Binary::Below => (Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, 1),
                    _ => (Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, 6),
                };
                self.four(code, Register::K1, from, place, predicate)?;
                self.words_of_k1(at)
            }
            Node::CompareD(predicate, a, b) => {
                let (from, place) = (self.vector(a)?, self.place(b)?);
                let code = self.machine.compare_double();
                if self.machine.wide {
                    self.four(code, Register::K1, from, place, predicate.into())?;
                    let to = self.target(at)?;
                    return self.put(Instruction::with2(Code::EVEX_Vpmovm2q_zmm_kr, to, Register::K1));
                }
                let to = self.target(at)?;
                self.four(code, to, from, place, predicate.into())
            }
            Node::Join { second, low, high } => {
                let (low, high) = (self.vector(low)?, self.place(high)?);
                let to = self.target(at)?;
                self.three(self.machine.join(second), to, low, high)
            }
            Node::Split { high, first, second } => {
                let (first, second) = (self.vector(first)?, self.place(second)?);
                let to = self.target(at)?;
                let which = if high { Machine::HIGH } else { Machine::LOW };
                self.four(self.machine.split(), to, first, second, which)
            }
            Node::MulHigh { signed, a, b } => self.mul_high(at, signed, a, b),
            Node::SignedOfFloat(a) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with2(self.machine.signed_of_float(), to, from))
            }
            Node::Integral(a, how) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with3(self.machine.integral(), to, from, i32::from(how)))
            }
            Node::CompareF(predicate, a, b) => {
                let (from, place) = (self.vector(a)?, self.place(b)?);
                if self.machine.wide {
                    let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
                    self.four(code, Register::K1, from, place, predicate.into())?;
                    return self.words_of_k1(at);
                }
                let to = self.target(at)?;
                self.four(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, to, from, place, predicate.into())
            }
            Node::Shift(op, a, by) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with3(self.machine.shift(op), to, from, i32::from(by)))
            }
            Node::FloatOfSigned(a) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with2(self.machine.float_of_signed(), to, from))
            }
            Node::Select { mask, yes, no } => {
                let (mask, no, yes) = (self.vector(mask)?, self.vector(no)?, self.vector(yes)?);
                if self.machine.wide {
                    self.put(Instruction::with2(Code::EVEX_Vpmovd2m_kr_zmm, Register::K1, mask))?;
                    let to = self.target(at)?;
                    let blend = Instruction::with3(Code::EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32, to, no, yes);
                    return self.put(masked(blend, Register::K1));
                }
                let to = self.target(at)?;
                self.put(Instruction::with4(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, to, no, yes, mask))
            }
            Node::Fma(a, b, c) | Node::FmaD(a, b, c) => self.fma(at, a, b, c),
            Node::Lds { address, offset } => self.lds(at, address, offset),
            Node::Global { place, offset } => self.global(at, place, offset),
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_) => Ok(()),
        }
    }

    /// Whether `a < b`, unsigned: not where the larger one is `a`.
    fn below(&mut self, at: usize, a: Register, b: Operand) -> Result<(), TooLarge> {
        let (most, ones) = (self.passing(0), self.plan.pool.place(!0)?);
        self.three(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, most, a, b)?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, most, most, a))?;
        let to = self.target(at)?;
        let ones = self.constant(ones);
        self.put(Instruction::with2(self.machine.broadcast(), to, ones))?;
        self.put(Instruction::with3(Code::VEX_Vpandn_ymm_ymm_ymmm256, to, most, to))
    }

    /// Products of the even words, whose upper halves go down one place, and of the odd ones.
    fn mul_high(&mut self, at: usize, signed: bool, a: Value, b: Value) -> Result<(), TooLarge> {
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let (even, odd) = (self.passing(if self.machine.wide { 1 } else { 2 }), self.passing(0));
        let (multiply, shift) = (self.machine.multiply_even(signed), self.machine.shift64());
        self.put(Instruction::with3(shift, odd, a, 32))?;
        self.put(Instruction::with3(shift, even, b, 32))?;
        self.put(Instruction::with3(multiply, odd, odd, even))?;
        self.put(Instruction::with3(multiply, even, a, b))?;
        self.put(Instruction::with3(shift, even, even, 32))?;
        let to = self.target(at)?;
        if !self.machine.wide {
            return self.put(Instruction::with4(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, to, even, odd, 0xaa));
        }
        let alternate = self.constant(self.plan.pool.place(ODD_LANES)?);
        self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, alternate))?;
        let blend = Instruction::with3(Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, to, even, odd);
        self.put(masked(blend, Register::K1))
    }

    /// The lanes of K1 as words.
    fn words_of_k1(&mut self, at: usize) -> Result<(), TooLarge> {
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1))
    }

    /// The instruction writes one of its operands: the addend or a factor that is used no more, or else a copy.
    fn fma(&mut self, at: usize, a: Value, b: Value, c: Value) -> Result<(), TooLarge> {
        let double = matches!(self.graph.nodes[at], Node::FmaD(..));
        let same = |v: Value| [a, b, c].iter().filter(|&&other| other == v).count();
        let dies = |body: &Self, v: Value| same(v) == 1 && body.uses[v.0 as usize].len() == 1;
        let (a, b) = if dies(self, b) && !dies(self, a) { (b, a) } else { (a, b) };
        if !dies(self, c) && dies(self, a) {
            let (first, second) = (self.register(a)?, self.vector(b)?);
            let third = self.place(c)?;
            let to = self.machine.vector(first);
            self.three(self.machine.fma213(double), to, second, third)?;
            [a, b, c].into_iter().for_each(|source| self.used(source));
            self.hold(Value(at as u32), first);
            return Ok(());
        }
        let (a, b) = if a != b && self.is_best_in_memory(a) { (b, a) } else { (a, b) };
        let second = self.vector(a)?;
        let register = if dies(self, c) {
            self.register(c)?
        } else {
            let from = self.place(c)?;
            let register = self.free()?;
            self.pinned.push(register);
            let to = self.machine.vector(register);
            match from {
                Operand::Register(from) => self.put(Instruction::with2(self.machine.load(), to, from))?,
                Operand::Memory(from) => self.put(Instruction::with2(self.machine.load(), to, from))?,
            }
            register
        };
        let third = self.place(b)?;
        self.three(self.machine.fma231(double), self.machine.vector(register), second, third)?;
        [a, b, c].into_iter().for_each(|source| self.used(source));
        self.hold(Value(at as u32), register);
        Ok(())
    }

    /// Leaves if a result is a NaN that the host has chosen.
    fn look_for_nans(&mut self) -> Result<(), TooLarge> {
        let checks = &self.plan.checks;
        if checks.is_empty() {
            return Ok(());
        }
        let (doubles, singles): (Vec<Value>, Vec<Value>) = checks.iter().partition(|&&v| self.graph.of(v).is_double());
        let pairs = singles.chunks(2).map(|pair| (pair, false)).chain(doubles.chunks(2).map(|pair| (pair, true)));
        for (number, (pair, double)) in pairs.enumerate() {
            self.pinned.clear();
            let (one, other) = (self.vector(pair[0])?, self.vector(pair[pair.len() - 1])?);
            const UNORDERED: i32 = 3;
            if self.machine.wide {
                let to = if number == 0 { NAN } else { Register::K1 };
                let code = match double {
                    false => Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
                    true => self.machine.compare_double(),
                };
                // What lanes that are off hold does not matter; the halves of f64 have them in another order.
                let compare = Instruction::with4(code, to, one, other, UNORDERED);
                self.put(if double { compare } else { masked(compare, EXEC) })?;
                if number != 0 {
                    self.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, NAN, NAN, Register::K1))?;
                }
            } else {
                let to = if number == 0 { self.nans() } else { self.passing(0) };
                let code = match double {
                    false => Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
                    true => self.machine.compare_double(),
                };
                self.put(Instruction::with4(code, to, one, other, UNORDERED))?;
                if number != 0 {
                    let all = self.nans();
                    self.put(Instruction::with3(Code::VEX_Vpor_ymm_ymm_ymmm256, all, all, to))?;
                }
            }
            pair.iter().for_each(|&value| self.used(value));
        }
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, NAN, NAN))?;
        } else {
            let all = self.nans();
            let on = if self.full || !doubles.is_empty() { all } else { self.exec() };
            self.put(Instruction::with2(Code::VEX_Vtestps_ymm_ymmm256, all, on))?;
        }
        self.put(Instruction::with_branch(Code::Jne_rel32_64, self.plan.exit as u64))
    }

    /// Puts the results where they belong.
    fn store(&mut self) -> Result<(), TooLarge> {
        let graph = self.graph;
        self.storing = true;
        // What rows held before is to be had no more once they are written.
        for (&row, &value) in &graph.rows {
            if graph.of(value).is_source() && graph.of(value) != Node::Row(row) {
                self.pinned.clear();
                self.register(value)?;
            }
        }
        for (&code, &value) in &graph.masks {
            self.pinned.clear();
            let mask = self.vector(value)?;
            self.store_mask(code, mask)?;
            self.used(value);
        }
        for (&row, &value) in &graph.rows {
            // A row that keeps what it held is not written.
            if graph.of(value) == Node::Row(row) {
                self.used(value);
                continue;
            }
            self.pinned.clear();
            let from = self.vector(value)?;
            self.store_row(row, from)?;
            self.used(value);
        }
        self.storing = false;
        Ok(())
    }

    fn store_mask(&mut self, code: u8, mask: Register) -> Result<(), TooLarge> {
        let piece = self.piece(code);
        if self.machine.wide {
            self.put(Instruction::with2(Code::EVEX_Vpmovd2m_kr_zmm, Register::K1, mask))?;
            self.put(Instruction::with3(Code::VEX_Kandw_kr_kr_kr, Register::K1, Register::K1, EXEC))?;
            return self.put(Instruction::with2(Code::VEX_Kmovw_m16_kr, piece, Register::K1));
        }
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, mask))?;
        if !self.full {
            let exec = self.piece(scalar::EXEC);
            self.put(Instruction::with2(Code::And_r8_rm8, Register::AL, exec))?;
        }
        self.put(Instruction::with2(Code::Mov_rm8_r8, piece, Register::AL))
    }

    fn store_row(&mut self, row: u16, from: Register) -> Result<(), TooLarge> {
        let to = self.row(row);
        if self.machine.wide {
            return self.put(masked(Instruction::with2(self.machine.store(), to, from), EXEC));
        }
        if self.full {
            return self.put(Instruction::with2(self.machine.store(), to, from));
        }
        let (old, exec) = (self.passing(0), self.exec());
        self.put(Instruction::with2(self.machine.load(), old, to))?;
        self.put(Instruction::with4(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, old, old, from, exec))?;
        self.put(Instruction::with2(self.machine.store(), to, old))
    }
}
