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
//! A run may end in a branch to its own beginning, which it takes by itself as often as the wave says, or have one onwards to
//! the beginning of a phase ([`branch`]).
//! It gives 0, or [`OUT`], or in the low byte the vectors that are left of a phase, and above it which one: a result there is a NaN, an
//! address is outside of LDS or of what the wave remembers, or lies otherwise than the code can do. R10 leads to the pieces of
//! masks, RBX to the allocations, EBP holds how many bytes are to be found there, R12 leads to where they were found.

mod assembler;
mod batch;
mod bits;
mod body;
mod branch;
mod buffer;
mod buffer_store;
mod call;
mod columns;
mod convert;
mod crossing;
mod elsewhere;
mod frame;
mod global;
mod hardware;
mod lanes;
mod lds;
mod lds_several;
mod lds_store;
mod lds_swizzled;
mod look;
mod masks;
mod node;
mod outside;
mod pool;
mod registers;
mod results;
mod scalar;
mod scalar_load;
mod scattered;
mod span;
mod store;
mod store_several;
mod stream;
mod stretch;

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::addresses::{Address, Buffer, Place};
use super::forms::Space;
use super::graph::Graph;
use super::machine::Machine;
use super::nodes::Value;
use super::stream::Stream;
use super::touched::{for_each_source, unnamed_sources};
use super::{Phase, What};
use crate::registers::scalar as scalar_code;
use crate::wave::Wave;
use assembler::{Assembler, Jump};
pub use batch::Beginning;
use body::Body;
use frame::{ADDRESSES, Frame};
use pool::Pool;

/// Wide vectors: the lanes that are on.
const EXEC: Register = Register::K3;

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

/// What code is made of phases for.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// A part of what a wave does.
    Part,
    /// Its end.
    End,
    /// All of it, for the waves of a workgroup.
    Waves(Beginning<'a>),
}

/// Makes the code of a run.
pub fn emit(phases: &[Phase], machine: Machine, wave64: bool, purpose: Purpose) -> Result<Code64, TooLarge> {
    let ends = !matches!(purpose, Purpose::Part);
    let pool = Pool::of(phases, machine);
    let frame = Frame::of(machine);
    let mut asm = Assembler::new();
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
        What::Store(store) => matches!(store.space, Space::Global { .. }),
        What::ScalarLoad(_) => true,
        What::Scalar(_) | What::Hardware(_) | What::Fence | What::Branch(_) | What::Skip(..) => false,
    });
    let changes_exec = phases.iter().any(|phase| match &phase.what {
        What::Scalar(it) => it.writes_exec(),
        What::Lanes(graph) => graph.writes_exec(),
        What::Store(_) | What::ScalarLoad(_) | What::Hardware(_) | What::Fence | What::Branch(_) | What::Skip(..) => {
            false
        }
    });
    let mut finders = [0; 2];
    for (finder, write) in finders.iter_mut().zip([false, true]).filter(|_| has_places) {
        *finder = asm.at;
        look::finder(&mut asm, write)?;
    }
    let mut scattered = [0; 2];
    let is_scattered = |phase: &Phase, write: bool| match &phase.what {
        What::Lanes(graph) => !write && graph.places().iter().any(|place| place.size.words() > 1),
        What::Store(store) => write && matches!(store.space, Space::Global { .. }) && store.size.words() > 1,
        _ => false,
    };
    for (at, (write, finder)) in scattered.iter_mut().zip([false, true].into_iter().zip(finders)) {
        if phases.iter().any(|phase| is_scattered(phase, write)) {
            *at = asm.at;
            scattered::finder(&mut asm, (machine, &pool, frame), finder)?;
        }
    }
    let spans = span::spans(phases);
    let read_whole = read_whole(phases, wave64);
    let mut entries = [0; 2];
    for (entry, full) in entries.iter_mut().zip([true, false]) {
        // With mask registers one way does for both.
        if full && (machine.wide || changes_exec) {
            continue;
        }
        *entry = asm.at;
        frame.enter(&mut asm)?;
        let top = asm.at;
        if let Purpose::Waves(beginning) = purpose {
            batch::begin(&mut asm, beginning, machine, wave64, frame)?;
        }
        // A branch onwards that has not come to its end.
        let mut skip = None;
        let mut streamed = None;
        for (number, phase) in phases.iter().enumerate() {
            if let Some((jump, _)) = skip.take_if(|&mut (_, to)| to == phase.ops.start) {
                asm.land(jump);
            }
            match &phase.what {
                What::Scalar(it) => {
                    scalar::emit(&mut asm, it, frame, wave64)?;
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
                What::Skip(it, to) => {
                    skip = Some((branch::skip(&mut asm, *it)?, *to));
                    continue;
                }
                What::Lanes(_) | What::Store(_) | What::ScalarLoad(_) | What::Hardware(_) => {}
            }
            let over = asm.jump(Code::Jmp_rel32_64)?;
            let exit = asm.at;
            let left = if matches!(phase.what, What::Lanes(_)) {
                Instruction::with2(Code::Mov_r32_rm32, Register::EAX, Register::EDX)
            } else {
                Instruction::with2(Code::Mov_r32_rm32, Register::EAX, frame.count())
            };
            asm.put(left)?;
            asm.put(Instruction::with2(Code::Or_rm32_imm32, Register::EAX, (number as i32) << 8))?;
            asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))?;
            asm.land(over);
            if let What::ScalarLoad(load) = &phase.what {
                scalar_load::emit(&mut asm, load, spans[number], frame, exit, finders[0])?;
                continue;
            }
            if let What::Hardware(it) = &phase.what {
                hardware::emit(&mut asm, it, frame, exit)?;
                continue;
            }
            if matches!(&phase.what, What::Lanes(graph) if graph.fences) {
                fence(&mut asm)?;
            }
            let fits = |stream: &Stream| stream.words.len() <= ADDRESSES;
            if ends && let Some(stream) = Stream::of(phases, number).filter(fits) {
                let (pool, asm, not) = (&pool, &mut asm, Vec::new());
                streamed = Some(stream::Emitter { asm, machine, pool, frame, finders, wave64, not }.all(&stream)?);
            }
            frame.begin(&mut asm)?;
            match &phase.what {
                What::Lanes(graph) => {
                    let places = [exit, finders[0], scattered[0]];
                    let plan = Plan::new(graph, &pool, frame, places, (wave64, read_whole.clone()))?;
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
                        scattered: scattered[1],
                    }
                    .all()?;
                }
                What::Scalar(_)
                | What::ScalarLoad(_)
                | What::Hardware(_)
                | What::Fence
                | What::Branch(_)
                | What::Skip(..) => {}
            }
        }
        [skip.map(|(jump, _)| jump), streamed].into_iter().flatten().for_each(|jump| asm.land(jump));
        if let Purpose::Waves(beginning) = purpose {
            batch::next(&mut asm, beginning, top)?;
        }
        asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX))?;
        asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))?;
    }
    let [full, partial] = entries;
    let full = if machine.wide || changes_exec { partial } else { full };
    Ok(Code64 { bytes: asm.finish(), full, partial })
}

/// Scalar registers that phases read which do not go from one vector's lanes to the next one's.
fn read_whole(phases: &[Phase], wave64: bool) -> BTreeSet<u8> {
    let mut read: BTreeSet<u8> = [scalar_code::EXEC].into();
    for phase in phases.iter().filter(|phase| !matches!(phase.what, What::Lanes(_))) {
        read.extend(unnamed_sources(&phase.what).iter().map(|&(code, _)| code));
        for_each_source(&mut phase.what.clone(), wave64, &mut |code, _| {
            read.insert(*code);
        });
    }
    read
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

/// What is known of a phase before any instruction is made.
struct Plan<'a> {
    graph: &'a Graph,
    live: Vec<bool>,
    checks: Vec<Value>,
    pool: &'a Pool,
    frame: Frame,
    /// Addresses of LDS and how far they reach.
    reaches: BTreeMap<Address, u32>,
    /// Addresses in device memory.
    places: Vec<Place>,
    buffers: Vec<Buffer>,
    /// Where the function is left before its end.
    exit: usize,
    /// What finds device memory.
    finder: usize,
    /// [`scattered::finder`]
    scattered: usize,
    wave64: bool,
    /// Scalar registers that another phase reads, more than one vector's lanes at a time.
    read_whole: BTreeSet<u8>,
}

impl<'a> Plan<'a> {
    fn new(
        graph: &'a Graph,
        pool: &'a Pool,
        frame: Frame,
        [exit, finder, scattered]: [usize; 3],
        (wave64, read_whole): (bool, BTreeSet<u8>),
    ) -> Result<Plan<'a>, TooLarge> {
        let live = graph.live();
        let (checks, reaches, places) = (graph.checks(&live), graph.reaches(), graph.places());
        let buffers = graph.buffers();
        if reaches.len() > ADDRESSES || places.len() + buffers.len() > ADDRESSES {
            return Err(TooLarge);
        }
        Ok(Plan {
            graph,
            live,
            checks,
            pool,
            frame,
            reaches,
            places,
            buffers,
            exit,
            finder,
            scattered,
            wave64,
            read_whole,
        })
    }
}
