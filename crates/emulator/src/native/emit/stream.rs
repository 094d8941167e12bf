//! The code of a [stream](super::super::stream): addresses are looked at, then all is done for one vector after the other.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::{Offsets, Size};
use super::super::graph::Graph;
use super::super::machine::Machine;
use super::super::stream::{Shape, Stream, needed};
use super::assembler::Jump;
use super::body::Body;
use super::frame::{Frame, PLACE};
use super::look::sum;
use super::stretch::{On, differ, limit, look};
use super::{Assembler, Plan, Pool, TooLarge};
use crate::registers::scalar;

/// What is kept on the stack of a shape, or of words with the same number.
#[derive(Clone, Copy)]
struct Kept(i64);

impl Kept {
    fn at(self, by: i64) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, self.0 + by)
    }
    /// A shape: the lower half, or the offset, of the first lane, and of the next vector's; and the upper half.
    fn first(self) -> MemoryOperand {
        self.at(0)
    }
    fn next(self) -> MemoryOperand {
        self.at(4)
    }
    fn high(self) -> MemoryOperand {
        self.at(8)
    }
    /// Where the host has the words.
    fn host(self) -> MemoryOperand {
        self.at(16)
    }
}

fn kept(frame: Frame, number: usize) -> Kept {
    Kept(frame.places + (PLACE * number) as i64)
}

impl Body<'_> {
    /// The words of a vector's lanes.
    pub(super) fn streamed(&mut self, at: usize, number: u8) -> Result<(), TooLarge> {
        let host = kept(self.plan.frame, usize::from(number)).host();
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, host))?;
        self.put(Instruction::with2(self.machine.load(), to, streamed()))
    }
}

/// The words of a vector's lanes, R11 leading to those of the first one.
fn streamed() -> MemoryOperand {
    MemoryOperand::with_base_index_scale_displ_size(Register::R11, Register::R12, 1, 0, 1)
}

/// A jump of those that are taken where the phases are to do it.
fn unless(asm: &mut Assembler, not: &mut Vec<Jump>, code: Code) -> Result<(), TooLarge> {
    not.push(asm.jump(code)?);
    Ok(())
}

pub(super) struct Emitter<'a> {
    pub asm: &'a mut Assembler,
    pub machine: Machine,
    pub pool: &'a Pool,
    pub frame: Frame,
    /// What finds memory to read, and to write.
    pub finders: [usize; 2],
    pub wave64: bool,
    /// Jumps that are taken where the phases are to do it.
    pub not: Vec<Jump>,
}

impl Emitter<'_> {
    /// Gives the jump that is taken behind the store.
    pub fn all(mut self, stream: &Stream) -> Result<Jump, TooLarge> {
        let exec = MemoryOperand::with_base_displ(Register::RSI, i64::from(scalar::EXEC) * 4);
        let compare = if self.wave64 { Code::Cmp_rm64_imm8 } else { Code::Cmp_rm32_imm8 };
        self.put(Instruction::with2(compare, exec, -1))?;
        self.unless(Code::Jne_rel32_64)?;
        self.shapes(stream)?;
        self.hosts(stream)?;
        self.values(stream)?;
        let end = self.asm.jump(Code::Jmp_rel32_64)?;
        self.not.into_iter().for_each(|jump| self.asm.land(jump));
        Ok(end)
    }

    fn put(&mut self, instruction: Result<Instruction, iced_x86::IcedError>) -> Result<(), TooLarge> {
        self.asm.put(instruction)
    }

    /// The phases do it if a jump is taken.
    fn unless(&mut self, code: Code) -> Result<(), TooLarge> {
        unless(self.asm, &mut self.not, code)
    }

    fn plan<'a>(&self, graph: &'a Graph, pool: &'a Pool) -> Plan<'a> {
        Plan {
            graph,
            live: needed(graph),
            checks: Vec::new(),
            pool,
            frame: self.frame,
            reaches: Default::default(),
            places: Vec::new(),
            buffers: Vec::new(),
            exit: 0,
            finder: 0,
            scattered: 0,
            wave64: self.wave64,
            read_whole: Default::default(),
        }
    }

    /// Looks at the lanes' addresses, as far as they differ.
    fn shapes(&mut self, stream: &Stream) -> Result<(), TooLarge> {
        self.frame.begin(self.asm)?;
        let plan = self.plan(&stream.addresses, self.pool);
        let top = self.asm.at;
        let mut body = Body::new(&plan, self.machine, self.asm, true);
        let (free, size) = (body.held.len(), stream.size);
        let stays = self.machine.wide && stream.shapes.len() <= MOST_STAYING;
        if stays {
            body.held.truncate(free - 3 * stream.shapes.len());
        }
        body.nodes()?;
        for (number, shape) in stream.shapes.iter().enumerate() {
            body.pinned.clear();
            let low = body.vector(shape.low)?;
            let high = shape.high.map(|high| body.vector(high)).transpose()?;
            let expected = stays.then(|| [1, 2, 3].map(|k| body.machine.vector(free - k - 3 * number)));
            let passing = [body.passing(0), body.passing(if self.machine.wide { 1 } else { 2 })];
            let (machine, pool, frame, not) = (self.machine, self.pool, self.frame, &mut self.not);
            let (mut look, kept) = (Look { asm: body.asm, machine, pool, frame, size, not }, kept(frame, number));
            match expected {
                Some(expected) => look.at_staying(*shape, kept, (low, high), expected)?,
                None => look.at(*shape, kept, (low, high), passing)?,
            }
        }
        self.frame.next(self.asm, self.machine, top)
    }

    /// Finds the words, and sees that none is stored to that another vector loads; EBP holds how many bytes the lanes access.
    fn hosts(&mut self, stream: &Stream) -> Result<(), TooLarge> {
        self.put(Instruction::with3(
            Code::Imul_r32_rm32_imm32,
            Register::EBP,
            self.frame.count(),
            self.machine.bytes() * i32::from(stream.size.words()),
        ))?;
        let store = stream.words.len() - 1;
        for (number, words) in stream.words.iter().enumerate() {
            let (shape, at) = (stream.shapes[words.shape], kept(self.frame, words.shape));
            self.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, at.first()))?;
            if shape.high.is_some() {
                self.put(Instruction::with2(Code::Mov_r32_rm32, Register::R9D, at.high()))?;
            }
            sum(self.asm, (shape.offsets, stream.size), shape.high.is_some(), words.base)?;
            if words.offset != 0 {
                self.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, words.offset))?;
            }
            let finder = self.finders[usize::from(number == store)];
            self.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
            self.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
            self.unless(Code::Je_rel32_64)?;
            self.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, stream.size.lowest()))?;
            self.unless(Code::Jne_rel32_64)?;
            self.put(Instruction::with2(Code::Mov_rm64_r64, kept(self.frame, number).host(), Register::R11))?;
        }
        // As far apart as they are long, in either direction, or the same.
        let less_one = |a, b| MemoryOperand::with_base_index_scale_displ_size(a, b, 1, -1, 1);
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R9, less_one(Register::RBP, Register::RBP)))?;
        for number in 0..store {
            self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, kept(self.frame, store).host()))?;
            self.put(Instruction::with2(Code::Sub_r64_rm64, Register::RAX, kept(self.frame, number).host()))?;
            let same = self.asm.jump(Code::Je_rel32_64)?;
            self.put(Instruction::with2(Code::Lea_r64_m, Register::RAX, less_one(Register::RAX, Register::RBP)))?;
            self.put(Instruction::with2(Code::Cmp_r64_rm64, Register::RAX, Register::R9))?;
            self.unless(Code::Jb_rel32_64)?;
            self.asm.land(same);
        }
        Ok(())
    }

    /// Loads, computes and stores.
    fn values(&mut self, stream: &Stream) -> Result<(), TooLarge> {
        self.frame.begin(self.asm)?;
        self.put(Instruction::with2(Code::Mov_rm8_imm8, super::has_stored(), 1))?;
        self.put(Instruction::with2(Code::Xor_r32_rm32, Register::R12D, Register::R12D))?;
        if stream.size > Size::Word {
            // Nothing is read in them of rows and masks, which are not as long.
            let doublings = stream.size.words().trailing_zeros() as i32;
            self.put(Instruction::with2(Code::Shl_rm32_imm8, Register::EDX, doublings))?;
        }
        let plan = self.plan(&stream.values, self.pool);
        let top = self.asm.at;
        let mut body = Body::new(&plan, self.machine, self.asm, true);
        body.nodes()?;
        body.pinned.clear();
        let data = body.vector(stream.data)?;
        self.put(Instruction::with2(
            Code::Mov_r64_rm64,
            Register::R11,
            kept(self.frame, stream.words.len() - 1).host(),
        ))?;
        self.put(Instruction::with2(self.machine.store(), streamed(), data))?;
        self.put(Instruction::with2(Code::Add_rm64_imm32, Register::R12, self.machine.bytes()))?;
        self.frame.next(self.asm, self.machine, top)
    }
}

/// Shapes at most whose expected addresses stay in vector registers, where there are many.
const MOST_STAYING: usize = 4;

/// How a vector's addresses are looked at.
struct Look<'a> {
    asm: &'a mut Assembler,
    machine: Machine,
    pool: &'a Pool,
    frame: Frame,
    size: Size,
    not: &'a mut Vec<Jump>,
}

impl Look<'_> {
    /// Whether the lanes are where those of the vector before have them expected; the first one's say where.
    fn at(
        &mut self,
        shape: Shape,
        kept: Kept,
        (low, high): (Register, Option<Register>),
        passing: [Register; 2],
    ) -> Result<(), TooLarge> {
        let machine = self.machine;
        let later = self.first(shape, kept, (low, high))?;
        self.asm.put(Instruction::with2(Code::Mov_rm32_r32, kept.next(), Register::EAX))?;
        self.asm.land(later);
        let steps = self.steps(shape);
        let high = high.map(|high| (high, kept.high()));
        look(self.asm, machine, passing, (low, kept.next()), high, steps, On::All)?;
        unless(self.asm, self.not, Code::Jne_rel32_64)?;
        self.asm.put(Instruction::with2(Code::Add_rm32_imm32, kept.next(), self.step(shape)))
    }

    /// The same with three registers: what the lanes' addresses, or offsets, are expected to be, the upper halves, and how far it
    /// is to the next vector.
    fn at_staying(
        &mut self,
        shape: Shape,
        kept: Kept,
        (low, high): (Register, Option<Register>),
        [expected, upper, step]: [Register; 3],
    ) -> Result<(), TooLarge> {
        let (machine, add) = (self.machine, Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32);
        let spread = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        let later = self.first(shape, kept, (low, high))?;
        self.asm.put(Instruction::with2(spread, expected, machine.low(low)))?;
        self.asm.put(Instruction::with3(add, expected, expected, self.steps(shape)))?;
        if let Some(high) = high {
            self.asm.put(Instruction::with2(spread, upper, machine.low(high)))?;
        }
        self.asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, self.step(shape)))?;
        self.asm.put(Instruction::with2(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, step, Register::EAX))?;
        self.asm.land(later);
        differ(self.asm, (low, expected), high.map(|high| (high, upper)), On::All)?;
        unless(self.asm, self.not, Code::Jne_rel32_64)?;
        self.asm.put(Instruction::with3(add, expected, expected, step))
    }

    /// Where the first vector's first lane is, which EAX says, too; the jump is taken for the other vectors.
    fn first(&mut self, shape: Shape, kept: Kept, (low, high): (Register, Option<Register>)) -> Result<Jump, TooLarge> {
        let machine = self.machine;
        self.asm.put(Instruction::with2(Code::Cmp_r32_rm32, Register::EDX, self.frame.count()))?;
        let later = self.asm.jump(Code::Jne_rel32_64)?;
        if let Some(high) = high {
            self.asm.put(Instruction::with2(machine.first_word(), Register::EAX, machine.low(high)))?;
            self.asm.put(Instruction::with2(Code::Mov_rm32_r32, kept.high(), Register::EAX))?;
        }
        let (last, beyond) = limit(machine, shape.offsets, self.size);
        self.asm.put(Instruction::with2(machine.first_word(), Register::EAX, machine.low(low)))?;
        self.asm.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, last))?;
        unless(self.asm, self.not, beyond)?;
        self.asm.put(Instruction::with2(Code::Mov_rm32_r32, kept.first(), Register::EAX))?;
        Ok(later)
    }

    /// How far lanes are from a vector's first one.
    fn steps(&self, shape: Shape) -> MemoryOperand {
        let steps = self.pool.steps(self.size, shape.offsets == Offsets::Units);
        MemoryOperand::with_base_displ(Register::RIP, steps as i64 * 4)
    }

    /// How far it is from one vector to the next one.
    fn step(&self, shape: Shape) -> i32 {
        let lanes = self.machine.lanes() as i32;
        if shape.offsets == Offsets::Units { lanes } else { self.size.bytes() * lanes }
    }
}
