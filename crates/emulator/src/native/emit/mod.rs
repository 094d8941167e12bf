//! From what a run does to the host's instructions.
//!
//! A run is a function that does its phases one after the other. A phase without stores ([`body`]) is done a vector of
//! lanes after the other: all of it for the first 8 or 16 lanes, then for the next ones. So values stay in registers from
//! one operation to the next, and only what rows and masks hold at the end is stored, when nothing of these lanes can go
//! wrong any more. What does not fit into the registers waits on the stack; sources are read again. A store ([`store`]) is
//! a phase of its own, so that all lanes have loaded what comes before it: it looks at all its addresses before it stores
//! anything. So is each scalar instruction ([`scalar`]).
//!
//! The code is a function of the System V convention: RDI the first row, RSI the scalar registers, EDX the vectors of
//! lanes that there are to do, RCX and R8D the workgroup's LDS and its bytes, R9 the allocations that the wave remembers.
//! A run may end in a branch to its own beginning, which it takes by itself as often as the wave says ([`branch`]).
//! It gives 0, or [`OUT`], or in the low byte the vectors that are left of a phase, and above it which one: a result there is a NaN, an
//! address is outside of LDS or of what the wave remembers, or lies otherwise than the code can do. R10 leads to the pieces of
//! masks, RBX to the allocations, EBP holds how many bytes are to be found there, R12 leads to where they were found.

mod body;
mod branch;
mod call;
mod convert;
mod crossing;
mod global;
mod lds;
mod node;
mod registers;
mod results;
mod scalar;
mod store;

use std::collections::{BTreeMap, HashMap};

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

use super::forms::Space;
use super::functions::{RESULTS, SOURCES};
use super::graph::{Graph, Node, Place, Value};
use super::machine::Machine;
use super::{Phase, What};
use crate::wave::Wave;
use body::Body;

/// Values that wait on the stack at most.
const SLOTS: usize = 32;
/// Addresses of a phase at most, of LDS and of device memory: where the first lane's is, and how the lanes' lie, is kept on
/// the stack.
const ADDRESSES: usize = 16;
/// Of the frame, so that no vector lies across two lines of the cache, and functions find the stack as they want it.
const ALIGNMENT: i32 = 64;
/// Vectors of a wave at most.
const VECTORS: usize = 8;
/// Wide vectors: the lanes that are on.
const EXEC: Register = Register::K3;
/// One bit for each lane with an odd number.
const ODD_LANES: u32 = 0xaaaa;

/// In the low byte of the answer: the run has ended in a branch. Above 24 bits: whether that is taken.
pub const OUT: u32 = 0xff;

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

/// Makes the code of a run.
pub fn emit(phases: &[Phase], machine: Machine) -> Result<Code64, TooLarge> {
    let pool = Pool::of(phases, machine);
    let frame = Frame::of(machine);
    let mut asm = Assembler { encoder: Encoder::new(64), at: 0, jumps: Vec::new() };
    for word in &pool.words {
        asm.data(&word.to_le_bytes());
    }
    while !asm.at.is_multiple_of(16) {
        asm.data(&[0xcc]);
    }
    let leave = asm.at;
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSP, frame.before()))?;
    for kept in [Register::R12, Register::RBP, Register::RBX] {
        asm.put(Instruction::with1(Code::Pop_r64, kept))?;
    }
    asm.put(Ok(Instruction::with(Code::VEX_Vzeroupper)))?;
    asm.put(Ok(Instruction::with(Code::Retnq)))?;
    let has_places = phases.iter().any(|phase| match &phase.what {
        What::Lanes(graph) => !graph.places().is_empty(),
        What::Store(store) => store.space != Space::Lds,
        What::Scalar(_) | What::Fence | What::Branch(_) => false,
    });
    let changes_exec = phases.iter().any(|phase| match &phase.what {
        What::Scalar(it) => it.writes_exec(),
        What::Lanes(graph) => graph.writes_exec(),
        What::Store(_) | What::Fence | What::Branch(_) => false,
    });
    let mut finders = [0; 2];
    for (finder, write) in finders.iter_mut().zip([false, true]).filter(|_| has_places) {
        *finder = asm.at;
        global::finder(&mut asm, write)?;
    }
    let mut entries = [0; 2];
    for (entry, full) in entries.iter_mut().zip([true, false]) {
        // With mask registers one way does for both.
        if full && (machine.wide || changes_exec) {
            continue;
        }
        *entry = asm.at;
        frame.enter(&mut asm)?;
        let top = asm.at;
        for (number, phase) in phases.iter().enumerate() {
            match &phase.what {
                What::Scalar(it) => {
                    scalar::emit(&mut asm, it)?;
                    continue;
                }
                What::Fence => {
                    fence(&mut asm)?;
                    continue;
                }
                What::Branch(it) => {
                    branch::emit(&mut asm, *it, top, leave)?;
                    continue;
                }
                What::Lanes(_) | What::Store(_) => {}
            }
            let over = asm.jump(Code::Jmp_rel32_64)?;
            let exit = asm.at;
            let left = if matches!(phase.what, What::Store(_)) {
                Instruction::with2(Code::Mov_r32_rm32, Register::EAX, frame.count())
            } else {
                Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::EDX)
            };
            asm.put(left)?;
            asm.put(Instruction::with2(Code::Or_rm32_imm32, Register::EAX, (number as i32) << 8))?;
            asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))?;
            asm.land(over);
            frame.begin(&mut asm)?;
            match &phase.what {
                What::Lanes(graph) => {
                    let plan = Plan::new(graph, &pool, frame, exit, finders[0])?;
                    Body::new(&plan, machine, &mut asm, full).lanes()?;
                }
                What::Store(store) => {
                    store::Emitter {
                        asm: &mut asm,
                        store,
                        machine,
                        full,
                        pool: &pool,
                        frame,
                        exit,
                        finder: finders[1],
                    }
                    .all()?;
                }
                What::Scalar(_) | What::Fence | What::Branch(_) => {}
            }
        }
        asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX))?;
        asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))?;
    }
    let [full, partial] = entries;
    let full = if machine.wide || changes_exec { partial } else { full };
    Ok(Code64 { bytes: asm.finish(), full, partial })
}

/// Whether the wave has stored anything since its last fence.
fn has_stored() -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RBX, Wave::STORED_BEHIND_RECENT)
}

/// [`crate::scalar::wait`].
fn fence(asm: &mut Assembler) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Cmp_rm8_imm8, has_stored(), 0))?;
    let nothing = asm.jump(Code::Je_rel32_64)?;
    asm.put(Instruction::with2(Code::Mov_rm8_imm8, has_stored(), 0))?;
    asm.put(Ok(Instruction::with(Code::Mfence)))?;
    asm.land(nothing);
    Ok(())
}

/// The same instruction for the lanes of a mask register.
fn masked(mut it: Result<Instruction, IcedError>, mask: Register) -> Result<Instruction, IcedError> {
    if let Ok(it) = &mut it {
        it.set_op_mask(mask);
    }
    it
}

/// All ones in some lanes of a vector.
fn words(lanes: u16) -> [u32; 16] {
    std::array::from_fn(|lane| u32::from(lanes >> lane & 1).wrapping_neg())
}

/// Constants in front of the code.
#[derive(Default)]
struct Pool {
    words: Vec<u32>,
    at: HashMap<u32, usize>,
    /// A vector each.
    vectors: HashMap<[u32; 16], usize>,
    /// Where the bits of lanes are, and the bytes from a first lane's word to the others'.
    bits: usize,
    steps: usize,
}

impl Pool {
    fn of(phases: &[Phase], machine: Machine) -> Pool {
        let mut pool = Pool::default();
        for phase in phases {
            let What::Lanes(graph) = &phase.what else { continue };
            for node in &graph.nodes {
                match *node {
                    Node::Constant(value) => pool.add(value),
                    Node::Crossed { how, .. } | Node::Readable(how) => {
                        pool.add(how.valid.into());
                        pool.add_vector(how.from.map(u32::from), machine);
                    }
                    Node::Widened { second, .. } => {
                        pool.add_vector(if second { convert::SECOND } else { convert::FIRST }, machine);
                    }
                    Node::Narrowed { .. } => {
                        let back = if machine.wide { convert::WIDE_BACK } else { convert::NARROW_BACK };
                        pool.add_vector(back, machine);
                    }
                    Node::Lanes(lanes) => {
                        pool.add(lanes.into());
                        pool.add_vector(words(lanes), machine);
                    }
                    _ => {}
                }
            }
        }
        // Which bit of a piece of a mask is a lane's, and neighbouring words.
        pool.bits = pool.words.len();
        pool.words.extend((0..8).map(|lane| 1u32 << lane));
        pool.steps = pool.words.len();
        pool.words.extend((0..machine.lanes()).map(|lane| 4 * lane));
        [3, !0, ODD_LANES].into_iter().for_each(|word| pool.add(word));
        pool
    }

    fn add(&mut self, word: u32) {
        let next = self.words.len();
        if *self.at.entry(word).or_insert(next) == next {
            self.words.push(word);
        }
    }

    fn add_vector(&mut self, lanes: [u32; 16], machine: Machine) {
        let next = self.words.len();
        if *self.vectors.entry(lanes).or_insert(next) == next {
            self.words.extend_from_slice(&lanes[..machine.lanes() as usize]);
        }
    }

    /// Which of the words a vector begins with.
    fn vector(&self, lanes: [u32; 16]) -> Result<usize, TooLarge> {
        self.vectors.get(&lanes).copied().ok_or(TooLarge)
    }

    /// Which of the words a constant is.
    fn place(&self, constant: u32) -> Result<usize, TooLarge> {
        self.at.get(&constant).copied().ok_or(TooLarge)
    }
}

/// Where things are on the stack.
#[derive(Clone, Copy)]
struct Frame {
    /// Addresses of LDS, and of device memory.
    addresses: i64,
    places: i64,
    /// Where a store's vectors of lanes go.
    stores: i64,
    /// What the function was given.
    given: i64,
    /// What functions are given and give, and the registers meanwhile.
    calls: i64,
    kept: i64,
    /// The stack pointer as it was before.
    stack: i64,
    size: i32,
}

impl Frame {
    fn of(machine: Machine) -> Frame {
        let addresses = SLOTS as i64 * i64::from(machine.bytes());
        let places = addresses + 8 * ADDRESSES as i64;
        let stores = places + 16 * ADDRESSES as i64;
        let given = stores + 8 * VECTORS as i64;
        let kept = given + 24;
        let stack = kept + 8 * call::KEPT.len() as i64;
        let calls = ((stack + 8) as u64).next_multiple_of(ALIGNMENT as u64) as i64;
        let vectors = (SOURCES + RESULTS + machine.registers()) as i64;
        let size = (calls + vectors * i64::from(machine.bytes())) as i32;
        Frame { addresses, places, stores, given, calls, kept, stack, size }
    }

    fn before(self) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.stack)
    }

    fn count(self) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.given + 8)
    }

    /// The function begins.
    fn enter(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        for kept in [Register::RBX, Register::RBP, Register::R12] {
            asm.put(Instruction::with1(Code::Push_r64, kept))?;
        }
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, Register::RSP))?;
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, self.size))?;
        asm.put(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -ALIGNMENT))?;
        asm.put(Instruction::with2(Code::Mov_rm64_r64, self.before(), Register::RAX))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RBX, Register::R9))?;
        let [rows, lds] = [0, 16].map(|by| MemoryOperand::with_base_displ(Register::RSP, self.given + by));
        asm.put(Instruction::with2(Code::Mov_rm64_r64, rows, Register::RDI))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, self.count(), Register::EDX))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, lds, Register::R8D))
    }

    /// The first lanes come.
    fn begin(self, asm: &mut Assembler) -> Result<(), TooLarge> {
        let [rows, lds] = [0, 16].map(|by| MemoryOperand::with_base_displ(Register::RSP, self.given + by));
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RDI, rows))?;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EDX, self.count()))?;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R8D, lds))?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R10, Register::RSI))
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
    fn put(&mut self, instruction: Result<Instruction, IcedError>) -> Result<(), TooLarge> {
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

/// What is known of a phase before any instruction is made.
struct Plan<'a> {
    graph: &'a Graph,
    live: Vec<bool>,
    checks: Vec<Value>,
    pool: &'a Pool,
    frame: Frame,
    /// Addresses of LDS and how far they reach.
    reaches: BTreeMap<Value, u32>,
    /// Addresses in device memory.
    places: Vec<Place>,
    /// Where the function is left before its end.
    exit: usize,
    /// What finds device memory.
    finder: usize,
}

impl<'a> Plan<'a> {
    fn new(graph: &'a Graph, pool: &'a Pool, frame: Frame, exit: usize, finder: usize) -> Result<Plan<'a>, TooLarge> {
        let live = graph.live();
        let (checks, reaches, places) = (graph.checks(&live), graph.reaches(), graph.places());
        if reaches.len() > ADDRESSES || places.len() > ADDRESSES {
            return Err(TooLarge);
        }
        Ok(Plan { graph, live, checks, pool, frame, reaches, places, exit, finder })
    }
}
