//! From a graph to the host's instructions.
//!
//! A run is done a vector of lanes after the other: all of it for the first 8 or 16 lanes, then for the next ones. So
//! values stay in registers from one operation to the next, and only what rows and masks hold at the end is stored, when
//! nothing of these lanes can go wrong any more. What does not fit into the registers waits on the stack; sources are
//! read again.
//!
//! The code is a function of the System V convention: RDI the first row, RSI the scalar registers, EDX the vectors of
//! lanes that there are to do, RCX and R8D the workgroup's LDS and its bytes. It gives the number that is left, because a
//! result there is a NaN or an address is outside of LDS, or 0. R10 leads to the pieces of masks. Nothing that a callee has
//! to keep is touched.

use std::collections::{BTreeMap, HashMap};

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

use super::graph::{Binary, Graph, Node, Value};
use super::machine::Machine;
use crate::wave::scalar;

/// Values that wait on the stack at most.
const SLOTS: usize = 32;
/// Addresses of LDS at most: where the first lane's is, and how the lanes' lie, is kept on the stack.
const ADDRESSES: usize = 16;
/// How lanes' addresses lie: all at one, at neighbouring words, or else.
const SAME: i32 = 0;
const NEIGHBOURS: i32 = 1;
const APART: i32 = 2;
/// Wide vectors: the lanes that are on, and those with NaNs.
const EXEC: Register = Register::K3;
const NAN: Register = Register::K4;

/// Why no code was made.
#[derive(Debug)]
pub struct TooLarge;

/// The code of a run.
pub struct Code64 {
    pub bytes: Vec<u8>,
    /// Where to begin if all lanes are on, and if they need not be.
    pub full: usize,
    pub partial: usize,
}

/// Makes the code of a graph.
pub fn emit(graph: &Graph, machine: Machine) -> Result<Code64, TooLarge> {
    let live = graph.live();
    let checks = graph.checks(&live);
    let mut pool = Pool::default();
    for (node, _) in graph.nodes.iter().zip(&live).filter(|(_, live)| **live) {
        if let Node::Constant(value) = *node {
            pool.add(value);
        }
    }
    // Which bit of a piece of a mask is a lane's, and neighbouring words.
    pool.bits = pool.words.len();
    pool.words.extend((0..8).map(|lane| 1u32 << lane));
    pool.steps = pool.words.len();
    pool.words.extend((0..machine.lanes()).map(|lane| 4 * lane));
    pool.add(3);
    let reaches = graph.reaches();
    if reaches.len() > ADDRESSES {
        return Err(TooLarge);
    }
    let mut asm = Assembler { encoder: Encoder::new(64), at: 0, jumps: Vec::new() };
    for word in &pool.words {
        asm.data(&word.to_le_bytes());
    }
    while !asm.at.is_multiple_of(16) {
        asm.data(&[0xcc]);
    }
    let exit = asm.at;
    let plan = Plan { graph, live, checks, pool, reaches, exit };
    let frame = SLOTS as i32 * machine.bytes() + 8 * ADDRESSES as i32;
    asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::EDX))?;
    asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::RSP, frame))?;
    asm.put(Ok(Instruction::with(Code::VEX_Vzeroupper)))?;
    asm.put(Ok(Instruction::with(Code::Retnq)))?;
    let mut entries = [0; 2];
    for (entry, full) in entries.iter_mut().zip([true, false]) {
        // With mask registers one way does for both.
        if machine.wide && full {
            continue;
        }
        *entry = asm.at;
        let mut body = Body::new(&plan, machine, &mut asm, full);
        body.prologue(frame)?;
        body.lanes()?;
    }
    let [full, partial] = entries;
    Ok(Code64 { bytes: asm.finish(), full: if machine.wide { partial } else { full }, partial })
}

/// Constants in front of the code.
#[derive(Default)]
struct Pool {
    words: Vec<u32>,
    at: HashMap<u32, usize>,
    /// Where the bits of lanes are, and the bytes from a first lane's word to the others'.
    bits: usize,
    steps: usize,
}

impl Pool {
    fn add(&mut self, word: u32) {
        let next = self.words.len();
        if *self.at.entry(word).or_insert(next) == next {
            self.words.push(word);
        }
    }
}

struct Assembler {
    encoder: Encoder,
    at: usize,
    /// Where jumps end that lead onwards, and to where.
    jumps: Vec<(usize, usize)>,
}

/// A jump onwards, as a number.
#[derive(Clone, Copy)]
struct Jump(usize);

impl Assembler {
    fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        let instruction = instruction.map_err(|_| TooLarge)?;
        self.at += self.encoder.encode(&instruction, self.at as u64).map_err(|_| TooLarge)?;
        Ok(())
    }

    /// A jump to a place that is yet to come.
    fn jump(&mut self, code: Code) -> Result<Jump, TooLarge> {
        self.put(Instruction::with_branch(code, self.at as u64))?;
        self.jumps.push((self.at, self.at));
        Ok(Jump(self.jumps.len() - 1))
    }

    /// This is the place.
    fn land(&mut self, jump: Jump) {
        self.jumps[jump.0].1 = self.at;
    }

    fn finish(mut self) -> Vec<u8> {
        let mut bytes = self.encoder.take_buffer();
        for (end, target) in self.jumps {
            bytes[end - 4..end].copy_from_slice(&(target as i32 - end as i32).to_le_bytes());
        }
        bytes
    }

    fn data(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.encoder.write_u8(byte);
        }
        self.at += bytes.len();
    }
}

/// A register or memory.
#[derive(Clone, Copy)]
enum Place {
    Register(Register),
    Memory(MemoryOperand),
}

/// Where a value is.
#[derive(Clone, Copy, Default)]
struct Home {
    register: Option<usize>,
    slot: Option<usize>,
}

/// What is known before any instruction is made.
struct Plan<'a> {
    graph: &'a Graph,
    live: Vec<bool>,
    checks: Vec<Value>,
    pool: Pool,
    /// Addresses of LDS and how far they reach.
    reaches: BTreeMap<Value, u32>,
    /// Where the function is left before its end.
    exit: usize,
}

struct Body<'a> {
    plan: &'a Plan<'a>,
    graph: &'a Graph,
    machine: Machine,
    asm: &'a mut Assembler,
    /// All lanes are on.
    full: bool,
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
    looked_at: Vec<Value>,
}

impl<'a> Body<'a> {
    fn new(plan: &'a Plan<'a>, machine: Machine, asm: &'a mut Assembler, full: bool) -> Body<'a> {
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
        }
    }

    fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// Registers of passing use.
    fn passing(&self, n: usize) -> Register {
        self.machine.vector(self.machine.registers() + n)
    }

    /// Narrow vectors: the lanes that are on, and those with NaNs.
    fn exec(&self) -> Register {
        self.passing(1)
    }
    fn nans(&self) -> Register {
        self.passing(2)
    }

    fn prologue(&mut self, frame: i32) -> Result<(), TooLarge> {
        self.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, frame))?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R10, Register::RSI))
    }

    /// A piece of a mask in scalar registers, as R10 leads to it.
    fn piece(&self, code: u8) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::R10, i64::from(code) * 4)
    }

    fn row(&self, row: u16) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * 256)
    }

    fn slot(&self, slot: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, slot as i64 * i64::from(self.machine.bytes()))
    }

    fn constant(&self, at: usize) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RIP, at as i64 * 4)
    }

    /// All of the run for the next lanes, until none are left.
    fn lanes(&mut self) -> Result<(), TooLarge> {
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
        self.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))?;
        self.put(Instruction::with_branch(Code::Jmp_rel32_64, self.plan.exit as u64))
    }

    /// Lanes of a mask as words.
    fn expand(&mut self, to: Register, code: u8) -> Result<(), TooLarge> {
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
    fn used(&mut self, value: Value) {
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
    fn free(&mut self) -> Result<usize, TooLarge> {
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

    fn hold(&mut self, value: Value, register: usize) {
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
                let at = self.plan.pool.at.get(&constant).copied().ok_or(TooLarge)?;
                let from = self.constant(at);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            (None, Node::Mask(code)) => self.expand(to, code)?,
            _ => return Err(TooLarge),
        }
        self.hold(value, register);
        Ok(register)
    }

    fn vector(&mut self, value: Value) -> Result<Register, TooLarge> {
        Ok(self.machine.vector(self.register(value)?))
    }

    /// Whether a value is best read from memory where it is used: it is there, and is used no more.
    fn is_best_in_memory(&self, value: Value) -> bool {
        let home = self.homes[value.0 as usize];
        let in_memory = home.slot.is_some() || matches!(self.graph.of(value), Node::Row(_)) && !self.storing;
        home.register.is_none() && in_memory && self.uses[value.0 as usize].len() == 1
    }

    /// Where the last operand of an instruction is.
    fn place(&mut self, value: Value) -> Result<Place, TooLarge> {
        if !self.is_best_in_memory(value) {
            return Ok(Place::Register(self.vector(value)?));
        }
        Ok(Place::Memory(match (self.homes[value.0 as usize].slot, self.graph.of(value)) {
            (Some(slot), _) => self.slot(slot),
            (None, Node::Row(row)) => self.row(row),
            _ => return Err(TooLarge),
        }))
    }

    /// An instruction of two sources.
    fn three(&mut self, code: Code, to: Register, a: Register, b: Place) -> Result<(), TooLarge> {
        match b {
            Place::Register(b) => self.put(Instruction::with3(code, to, a, b)),
            Place::Memory(b) => self.put(Instruction::with3(code, to, a, b)),
        }
    }

    /// The same with a constant.
    fn four(&mut self, code: Code, to: Register, a: Register, b: Place, constant: i32) -> Result<(), TooLarge> {
        match b {
            Place::Register(b) => self.put(Instruction::with4(code, to, a, b, constant)),
            Place::Memory(b) => self.put(Instruction::with4(code, to, a, b, constant)),
        }
    }

    /// A register for the result, found before the operands are given up: what has to make room goes to a slot that no
    /// operand is in. An operand's register that is used no more is the best one, as instructions read before they write.
    fn target(&mut self, at: usize) -> Result<Register, TooLarge> {
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
                let predicate = if op == Binary::Equal { 0 } else { 6 };
                let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
                self.four(code, Register::K1, from, place, predicate)?;
                self.words_of_k1(at)
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
                    let mut blend = Instruction::with3(Code::EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32, to, no, yes);
                    if let Ok(blend) = &mut blend {
                        blend.set_op_mask(Register::K1);
                    }
                    return self.put(blend);
                }
                let to = self.target(at)?;
                self.put(Instruction::with4(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, to, no, yes, mask))
            }
            Node::Fma(a, b, c) => self.fma(at, a, b, c),
            Node::Lds { address, offset } => self.lds(at, address, offset),
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_) => Ok(()),
        }
    }

    /// The lanes of K1 as words.
    fn words_of_k1(&mut self, at: usize) -> Result<(), TooLarge> {
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1))
    }

    /// The instruction writes one of its operands: the addend or a factor that is used no more, or else a copy.
    fn fma(&mut self, at: usize, a: Value, b: Value, c: Value) -> Result<(), TooLarge> {
        let same = |v: Value| [a, b, c].iter().filter(|&&other| other == v).count();
        let dies = |body: &Self, v: Value| same(v) == 1 && body.uses[v.0 as usize].len() == 1;
        let (a, b) = if dies(self, b) && !dies(self, a) { (b, a) } else { (a, b) };
        if !dies(self, c) && dies(self, a) {
            let (first, second) = (self.register(a)?, self.vector(b)?);
            let third = self.place(c)?;
            let to = self.machine.vector(first);
            self.three(self.machine.fma213(), to, second, third)?;
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
                Place::Register(from) => self.put(Instruction::with2(self.machine.load(), to, from))?,
                Place::Memory(from) => self.put(Instruction::with2(self.machine.load(), to, from))?,
            }
            register
        };
        let third = self.place(b)?;
        self.three(self.machine.fma231(), self.machine.vector(register), second, third)?;
        [a, b, c].into_iter().for_each(|source| self.used(source));
        self.hold(Value(at as u32), register);
        Ok(())
    }

    /// Where on the stack it is kept how the lanes' addresses lie: the first one's, and how.
    fn kept(&self, address: Value) -> (MemoryOperand, MemoryOperand) {
        let number = self.plan.reaches.keys().position(|&other| other == address).unwrap_or(0);
        let at = SLOTS as i64 * i64::from(self.machine.bytes()) + 8 * number as i64;
        (MemoryOperand::with_base_displ(Register::RSP, at), MemoryOperand::with_base_displ(Register::RSP, at + 4))
    }

    /// Leaves if an address is not that of a word in LDS, as far as it reaches; notes how the lanes' lie.
    fn look_at(&mut self, address: Value, lanes: Register) -> Result<(), TooLarge> {
        let reach = self.plan.reaches.get(&address).copied().ok_or(TooLarge)?;
        let exit = self.plan.exit as u64;
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::R8D))?;
        self.put(Instruction::with2(Code::Sub_rm32_imm32, Register::EAX, reach as i32))?;
        self.put(Instruction::with_branch(Code::Jb_rel32_64, exit))?;
        let three = self.plan.pool.at.get(&3).copied().ok_or(TooLarge)?;
        let (three, steps) = (self.constant(three), self.constant(self.plan.pool.steps));
        let (first, how) = self.kept(address);
        let (one, same, near) = (self.passing(0), Register::R9D, Register::R11D);
        let mut partial = None;
        if self.machine.wide {
            let (other, masked) = (self.passing(1), |mut it: Result<Instruction, iced_x86::IcedError>| {
                if let Ok(it) = &mut it {
                    it.set_op_mask(EXEC);
                }
                it
            });
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
            let low = Register::try_from(Register::XMM0 as usize + (lanes as usize - Register::ZMM0 as usize));
            let low = low.map_err(|_| TooLarge)?;
            self.put(Instruction::with2(Code::EVEX_Vmovd_rm32_xmm, Register::EAX, low))?;
            self.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one, low))?;
            self.put(Instruction::with4(compare, Register::K1, lanes, one, DIFFERENT))?;
            self.put(Instruction::with3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, one, one, steps))?;
            self.put(Instruction::with4(compare, Register::K2, lanes, one, DIFFERENT))?;
            self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, same, Register::K1))?;
            self.put(Instruction::with2(Code::VEX_Kmovw_r32_kr, near, Register::K2))?;
            // All lanes on: the carry flag. Where some are off, what they hold is no address.
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
            partial = Some(self.asm.jump(Code::Jae_rel32_64)?);
        } else {
            let other = self.passing(2);
            let low =
                |it: Register| Register::try_from(Register::XMM0 as usize + (it as usize - Register::YMM0 as usize));
            let (low_one, low_lanes) = (low(one).map_err(|_| TooLarge)?, low(lanes).map_err(|_| TooLarge)?);
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
    fn lds(&mut self, at: usize, address: Value, offset: u32) -> Result<(), TooLarge> {
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
        self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, first))?;
        self.put(Instruction::with2(Code::Cmp_rm32_imm32, how, NEIGHBOURS))?;
        let same = self.asm.jump(Code::Jb_rel32_64)?;
        let apart = self.asm.jump(Code::Ja_rel32_64)?;
        self.put(Instruction::with2(self.machine.load(), to, place(Register::RAX, 1)))?;
        let near_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(same);
        self.put(Instruction::with2(self.machine.broadcast(), to, place(Register::RAX, 1)))?;
        let same_end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.asm.land(apart);
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, EXEC))?;
            let mut gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, place(lanes, 1));
            if let Ok(gather) = &mut gather {
                gather.set_op_mask(Register::K1);
            }
            self.put(gather)?;
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

    /// Leaves if a result is a NaN that the host has chosen.
    fn look_for_nans(&mut self) -> Result<(), TooLarge> {
        let checks = &self.plan.checks;
        if checks.is_empty() {
            return Ok(());
        }
        for (number, pair) in checks.chunks(2).enumerate() {
            self.pinned.clear();
            let (one, other) = (self.vector(pair[0])?, self.vector(pair[pair.len() - 1])?);
            const UNORDERED: i32 = 3;
            if self.machine.wide {
                let to = if number == 0 { NAN } else { Register::K1 };
                let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
                self.put(Instruction::with4(code, to, one, other, UNORDERED))?;
                if number != 0 {
                    self.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, NAN, NAN, Register::K1))?;
                }
            } else {
                let to = if number == 0 { self.nans() } else { self.passing(0) };
                self.put(Instruction::with4(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, to, one, other, UNORDERED))?;
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
            self.put(Instruction::with2(Code::VEX_Vtestps_ymm_ymmm256, all, all))?;
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
            let mut store = Instruction::with2(self.machine.store(), to, from);
            if let Ok(store) = &mut store {
                store.set_op_mask(EXEC);
            }
            return self.put(store);
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
