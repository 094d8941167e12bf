//! Translated code: blocks, found and translated when a wave first gets to them.
//!
//! A block runs from its first address to the next instruction that may not go on to the one after it. Blocks may
//! overlap (a branch into the middle of one starts another), so a block's instructions are retired all of them or, if
//! a fault stops the launch, in part. Counting is then one addition a block.

use std::collections::HashMap;
use std::sync::Arc;

use luthier_isa::op::Op as IsaOp;
use luthier_isa::{Decoder, Inst, Mode, VgprMsb};

use crate::lower::{Builder, Ending, Limits, row_of};
use crate::mem::gws;
use crate::memory::Memory;
use crate::observe::{self, Seen, Watch};
use crate::op::{Flow, Op};
use crate::poison::{Doses, Poison, poison};
use crate::strict::{self, Checked, Looks};
use crate::wave::{Registers, Wave};

/// Instructions of one block at most.
const LONGEST: usize = 512;
/// The longest encoding in bytes.
const MAX_SIZE: u64 = 20;
const UNKNOWN: u32 = u32::MAX;

/// A translated block.
struct Block {
    ops: Box<[Op]>,
    insts: Box<[(u64, Inst)]>,
    /// What was translated, if it is a host's, which may change it.
    code: Box<[u8]>,
    /// What strict mode's micro-ops point at.
    #[allow(clippy::vec_box)] // ops point at them while the vector grows
    _checked: Vec<Box<Checked>>,
    /// And those that poison registers.
    #[allow(clippy::vec_box)] // as above
    _doses: Vec<Box<Doses>>,
    /// And those that watch.
    #[allow(clippy::vec_box)] // as above
    _seen: Vec<Box<Seen>>,
    /// Why the last micro-op is one that stops.
    refusal: Option<String>,
    /// Executions.
    count: u64,
    taken_pc: Option<u64>,
    next_pc: u64,
    index_mode: u8,
    taken: u32,
    next: u32,
}

/// Why a wave stops running, for now or for good.
#[derive(Debug)]
pub enum Stop {
    /// Its time slice is over.
    Quantum,
    Barrier,
    End,
    /// The wave's `fault`, or a refusal, at an instruction.
    Fault {
        pc: u64,
        text: String,
        refusal: Option<String>,
    },
}

/// The translated code that one worker uses.
pub struct Program {
    decoder: Decoder,
    limits: Limits,
    /// What blocks are told apart by besides their address are the upper bits of VGPR numbers, not indexing.
    high_vgprs: bool,
    /// What strict mode looks at, if it is on.
    strict: Option<Looks>,
    poison: Option<Poison>,
    watch: Option<Arc<Watch>>,
    /// Instructions of one block at most.
    longest: usize,
    blocks: Vec<Block>,
    by_address: HashMap<(u64, u8), u32>,
    /// Registers that the code translated so far writes.
    written: Registers,
}

/// Where a wave is between two blocks.
#[derive(Clone, Copy, Debug)]
pub enum Cursor {
    Address(u64, u8),
    Block(u32),
}

impl Program {
    pub fn new(mode: Mode, limits: Limits, strict: Option<Looks>, poison: Option<Poison>) -> Program {
        Program {
            decoder: Decoder::new(mode),
            high_vgprs: mode.target().vgprs() > 256,
            limits,
            strict,
            poison,
            watch: None,
            longest: LONGEST,
            blocks: Vec::new(),
            by_address: HashMap::new(),
            written: Registers::default(),
        }
    }

    /// The same for a launch that is watched.
    pub fn watched(self, watch: Arc<Watch>) -> Program {
        Program { watch: Some(watch), ..self }
    }

    /// The same with a block for each instruction, so that a wave can stop between any two.
    pub fn stepping(self) -> Program {
        Program { longest: 1, ..self }
    }

    /// Runs a wave until it stops, for about `budget` instructions; gives the number that it did.
    pub fn run(&mut self, w: &mut Wave, cursor: &mut Cursor, budget: u64) -> (Stop, u64) {
        let mut done = 0;
        let mut at = match *cursor {
            Cursor::Block(at) => at,
            Cursor::Address(pc, mode) => match self.block_at(w, pc, mode) {
                Ok(at) => at,
                Err(stop) => return (stop, 0),
            },
        };
        loop {
            if done >= budget {
                *cursor = Cursor::Block(at);
                return (Stop::Quantum, done);
            }
            let block = &mut self.blocks[at as usize];
            block.count += 1;
            done += block.insts.len() as u64;
            let mut flow = Flow::Fall;
            let mut stopped = 0;
            for op in &block.ops {
                // SAFETY: the handler was selected for this processor and the op's rows were checked when the
                // builder made it.
                flow = unsafe { (op.run)(w, op) };
                if flow != Flow::Next {
                    stopped = op.inst;
                    break;
                }
            }
            let next = match flow {
                Flow::Taken if block.taken != UNKNOWN => block.taken,
                Flow::Next | Flow::Fall if block.next != UNKNOWN => block.next,
                Flow::Next | Flow::Fall | Flow::Yield | Flow::Barrier => {
                    let (pc, mode) = (block.next_pc, block.index_mode);
                    if block.next == UNKNOWN {
                        match self.block_at(w, pc, mode) {
                            Ok(next) => self.blocks[at as usize].next = next,
                            Err(stop) if matches!(flow, Flow::Next | Flow::Fall) => return (stop, done),
                            // Where the wave waits there is no fault yet.
                            Err(_) => {}
                        }
                    }
                    let next = self.blocks[at as usize].next;
                    let after = if next == UNKNOWN { Cursor::Address(pc, mode) } else { Cursor::Block(next) };
                    match flow {
                        Flow::Yield => {
                            *cursor = after;
                            return (Stop::Quantum, done);
                        }
                        Flow::Barrier => {
                            *cursor = after;
                            return (Stop::Barrier, done);
                        }
                        _ => next,
                    }
                }
                Flow::Taken => {
                    let (pc, mode) = (block.taken_pc.unwrap_or(0), block.index_mode);
                    match self.block_at(w, pc, mode) {
                        Ok(next) => {
                            self.blocks[at as usize].taken = next;
                            next
                        }
                        Err(stop) => return (stop, done),
                    }
                }
                Flow::Jump => {
                    let (pc, mode) = (w.pc, block.index_mode);
                    match self.block_at(w, pc, mode) {
                        Ok(next) => next,
                        Err(stop) => return (stop, done),
                    }
                }
                Flow::End => return (Stop::End, done),
                Flow::Fault => {
                    let (pc, inst) = &block.insts[usize::from(stopped).min(block.insts.len() - 1)];
                    let refusal = if w.fault.is_none() { block.refusal.clone() } else { None };
                    return (Stop::Fault { pc: *pc, text: inst.to_string(), refusal }, done);
                }
            };
            at = next;
        }
    }

    /// The block that starts at an address, translated if need be.
    fn block_at(&mut self, w: &Wave, pc: u64, mode: u8) -> Result<u32, Stop> {
        if let Some(&at) = self.by_address.get(&(pc, mode)) {
            return Ok(at);
        }
        let block = self.translate(w, pc, mode)?;
        block.insts.iter().for_each(|(_, inst)| self.note_written(inst, mode));
        let at = self.blocks.len() as u32;
        self.blocks.push(block);
        self.by_address.insert((pc, mode), at);
        Ok(at)
    }

    fn note_written(&mut self, inst: &Inst, mode: u8) {
        let base = inst.info().base;
        // What an index in M0 leads to, the tables do not know; nor what is poisoned.
        let anywhere = base.starts_with("v_movrel") || base.starts_with("v_swaprel") || base.contains("gpr_idx");
        if anywhere || mode != 0 || self.poison.is_some() {
            self.written.fill(!0);
        }
        inst.for_each_access(|access| {
            if let Some(row) = row_of(access.reg).map(usize::from).filter(|_| access.access.writes())
                && let Some(word) = self.written.get_mut(row / 64)
            {
                *word |= 1 << (row % 64);
            }
        });
    }

    /// Registers that the code which has run so far may have written.
    pub fn written(&self) -> &Registers {
        &self.written
    }

    fn translate(&self, w: &Wave, start: u64, mode: u8) -> Result<Block, Stop> {
        let mut builder = Builder::new(self.limits, if self.high_vgprs { 0 } else { mode });
        builder.lenient = self.strict.is_some();
        builder.msb = VgprMsb::from_bits(if self.high_vgprs { mode } else { 0 });
        let (mut insts, mut checked, mut doses, mut seen) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut refusal = None;
        let mut taken_pc = None;
        // Where the micro-ops of strict mode are.
        let mut checks = Vec::new();
        let mut pc = start;
        while insts.len() < self.longest {
            let inst = match self.decode(w, pc, builder.msb) {
                Ok(inst) => inst,
                // A fault here and now only if nothing comes before it.
                Err(message) if insts.is_empty() => {
                    return Err(Stop::Fault { pc, text: "?".into(), refusal: Some(message) });
                }
                Err(_) => break,
            };
            let number = insts.len() as u16;
            insts.push((pc, inst));
            if let Some(dead) = self.poison.as_ref().and_then(|p| (p.0)(pc)) {
                let dose = Box::new(Doses::new(&dead, pc));
                builder.ops.push(Op {
                    run: poison,
                    imm: std::ptr::from_ref::<Doses>(&dose) as u64,
                    inst: number,
                    ..Op::NOTHING
                });
                doses.push(dose);
            }
            if let Some(sight) = self.watch.as_ref().and_then(|watch| Seen::of(watch, pc)) {
                let sight = Box::new(sight);
                builder.ops.push(Op {
                    run: observe::before,
                    imm: std::ptr::from_ref::<Seen>(&sight) as u64,
                    inst: number,
                    ..Op::NOTHING
                });
                seen.push(sight);
            }
            if let Some(looks) = self.strict {
                let unallocated = builder.check_limits(&inst).err();
                let check = Checked { unallocated, ..Checked::new(&inst, pc) };
                if !strict::has_nothing_to_do(&inst, &check, looks) {
                    checks.push(builder.ops.len());
                    builder.ops.push(Op { inst: number, ..Op::NOTHING });
                    checked.push(Box::new(check));
                }
            }
            let next = pc + inst.size() as u64;
            builder.msb_follows =
                self.high_vgprs && inst.info().op() == IsaOp::SSetregB32 && self.sets_msb_at(w, next, builder.msb);
            let ending = builder.instruction(&inst, pc, number);
            pc = next;
            if self.strict.is_some() && inst.info().op().is_gws() && !self.waits_at(w, pc, builder.msb) {
                builder.ops.iter_mut().rev().take(1).for_each(|op| op.imm |= gws::UNWAITED);
            }
            match ending {
                Ok(Ending::Open) => continue,
                Ok(Ending::Stop) => {}
                Ok(Ending::Branch { taken }) => taken_pc = taken,
                Err(message) => {
                    builder.stop(number);
                    refusal = Some(message);
                }
            }
            break;
        }
        let mut checks = checks.into_iter().peekable();
        let is_check = |(at, op): (usize, _)| checks.next_if(|&check| check == at).map(|_| op);
        let looks = self.strict.unwrap_or(Looks::empty());
        strict::set_up(&mut checked, builder.ops.iter_mut().enumerate().filter_map(is_check), looks);
        let mut code = vec![0; if w.memory.host().is_some() { (pc - start) as usize } else { 0 }];
        w.memory.read(start, &mut code).unwrap_or(());
        Ok(Block {
            code: code.into(),
            index_mode: if self.high_vgprs { builder.msb.bits() } else { builder.index_mode },
            ops: builder.ops.into_boxed_slice(),
            insts: insts.into_boxed_slice(),
            _checked: checked,
            _doses: doses,
            _seen: seen,
            refusal,
            count: 0,
            taken_pc,
            next_pc: pc,
            taken: UNKNOWN,
            next: UNKNOWN,
        })
    }

    /// Whether the instruction at an address waits for all DS operations.
    fn waits_at(&self, w: &Wave, pc: u64, msb: VgprMsb) -> bool {
        self.decode(w, pc, msb).is_ok_and(|inst| strict::waits_for_ds(&inst))
    }

    /// Whether the instruction at an address sets the upper bits of VGPR numbers.
    fn sets_msb_at(&self, w: &Wave, pc: u64, msb: VgprMsb) -> bool {
        self.decode(w, pc, msb).is_ok_and(|inst| inst.info().op() == IsaOp::SSetVgprMsb)
    }

    fn decode(&self, w: &Wave, pc: u64, msb: VgprMsb) -> Result<Inst, String> {
        let Some(allocation) = w.memory.find(pc) else {
            return Err(format!("execution reaches {pc:#x}, which is in no allocation"));
        };
        let left = allocation.end() - pc;
        let mut bytes = [0; MAX_SIZE as usize];
        let bytes = &mut bytes[..left.min(MAX_SIZE) as usize];
        w.memory.read(pc, bytes).map_err(|a| format!("execution reaches {a:#x}, which is in no allocation"))?;
        let inst = self.decoder.decode(bytes).map_err(|e| e.to_string())?;
        if !msb.fits(&inst) {
            return Err(format!("{inst}, under s_set_vgpr_msb {:#x}, runs past v1023", msb.bits()));
        }
        Ok(inst.at(Some(msb)))
    }

    /// Visits every instruction of every block that was executed, with its address and how often it was.
    pub fn visit_counts(&mut self, mut visit: impl FnMut(u64, &Inst, u64)) {
        for block in &mut self.blocks {
            if block.count != 0 {
                block.insts.iter().for_each(|(pc, inst)| visit(*pc, inst, block.count));
                block.count = 0;
            }
        }
    }

    /// Whether the code in a host's memory is still what was translated.
    pub fn is_current(&self, memory: &Memory) -> bool {
        let mut bytes = Vec::new();
        self.blocks.iter().all(|block| {
            bytes.resize(block.code.len(), 0);
            let start = block.insts.first().map_or(0, |(pc, _)| *pc);
            memory.read(start, &mut bytes).is_ok() && bytes == *block.code
        })
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Where a block starts.
    pub fn block_address(&self, at: u32) -> u64 {
        self.blocks.get(at as usize).and_then(|b| b.insts.first()).map_or(0, |(pc, _)| *pc)
    }

    /// The text of the instruction at an address that was translated.
    pub fn text_at(&self, pc: u64) -> Option<String> {
        let find = |b: &Block| b.insts.binary_search_by_key(&pc, |(at, _)| *at).ok().map(|i| b.insts[i].1.to_string());
        self.blocks.iter().find_map(find)
    }
}
