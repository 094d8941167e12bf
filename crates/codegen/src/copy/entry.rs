//! What a copy does at its entry, and a kernel's before its end.
//!
//! At a kernel's entries nothing is changed that the application can see: counters are set to zero in registers that it
//! never touches. Before the wave ends nothing of the application's state is needed any more.

use std::rc::Rc;

use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::InFlight;

use super::bodies::{Made, Spotted};
use super::function::Copier;
use super::{KernelEntry, Refusal};
use crate::check;
use crate::layout::chunk::{Chunk, Fixup, Place};
use crate::machine::operations::{LITERAL, Operations, one, pair, small};
use crate::machine::registers::Counts;
use crate::machine::seams::Seam;
use crate::plan::{End, Where};
use crate::splice::{Env, SlotHome};

/// With kernel arguments preloaded, the hardware starts this many bytes behind the entry; firmware that does not know
/// of preloading starts at the entry, where the compiler has put loads of the same registers.
pub const PRELOAD_ENTRY: u64 = 256;

impl Copier<'_> {
    /// The start of the chunk. Gives the word where the code that runs once at the entry begins, if there is any.
    pub(super) fn entry(&mut self, kernel: Option<KernelEntry>) -> Result<Option<u32>, Refusal> {
        let program = self.env.program;
        let function = program.function(self.func);
        let insertions: Vec<u32> = {
            let mut spots: Vec<_> = self.spots.iter().filter(|s| s.at == Where::Entry).collect();
            spots.sort_by_key(|s| (s.order, s.insertion));
            spots.iter().map(|s| s.insertion).collect()
        };
        let Some(kernel) = kernel else {
            if insertions.is_empty() {
                return Ok(None);
            }
            // What the caller did last is not known.
            self.seam.begin(Some(Rc::new(|_| None)));
            self.entered(function.vaddr, &insertions)?;
            self.go_to(function.vaddr)?;
            return Ok(Some(0));
        };
        let second = kernel.preloads.then_some(kernel.vaddr + PRELOAD_ENTRY);
        for vaddr in [Some(kernel.vaddr), second].into_iter().flatten() {
            let inside = program.instr_at(vaddr).is_some_and(|i| program.func_of(i) == self.func);
            if !inside {
                let reason = format!("the kernel is entered at {vaddr:#x}, where it has no instruction");
                return Err(Refusal::Reason(reason));
            }
        }
        let mut highest = self.out.highest;
        self.env.slots.iter().flatten().for_each(|home| highest.note(home.range()));
        let Some(second) = second else {
            self.start(kernel.vaddr, highest, insertions.is_empty())?;
            let word = self.out.chunk.here();
            self.entered(kernel.vaddr, &insertions)?;
            self.go_to(kernel.vaddr)?;
            return Ok((!insertions.is_empty()).then_some(word));
        };
        // Each entry gets the same code and goes its way. At the first there is room for a branch to it only.
        let nop = self.env.machine.ops.nop(1)?;
        let start = self.out.chunk.here();
        self.out.chunk.push(&self.env.machine.ops.branch()?);
        let words = (PRELOAD_ENTRY / 4) as u32;
        while self.out.chunk.here() < start + words {
            self.out.chunk.push(&nop);
        }
        self.start(kernel.vaddr, highest, insertions.is_empty())?;
        let at_second = self.entered(second, &insertions)?;
        self.go_to_always(second)?;
        let behind = self.out.chunk.here();
        self.out.chunk.words[start as usize] |= (behind - start - 1) & 0xffff;
        self.start(kernel.vaddr, highest, insertions.is_empty())?;
        if self.entered(kernel.vaddr, &insertions)? != at_second {
            let reason = format!("a hook fits at one of the entries {:#x} and {second:#x} only", kernel.vaddr);
            return Err(Refusal::Reason(reason));
        }
        self.go_to(kernel.vaddr)?;
        Ok(None)
    }

    /// What a wave begins with: its counters are zero. Nothing that was issued before matters to it. `alone` says that the
    /// application's code follows at once.
    fn start(&mut self, vaddr: u64, highest: Counts, alone: bool) -> Result<(), Refusal> {
        let ops = &self.env.machine.ops;
        self.seam.begin(None);
        let mut insts = Vec::new();
        for inst in zeros(self.env)? {
            self.seam.issue(ops, inst, &mut insts)?;
        }
        if alone {
            self.seam.lead_out(ops, &[], || self.env.reserved, &mut insts)?;
        }
        insts.iter().for_each(|i| self.out.chunk.push(i));
        self.check_with(vaddr, |copier| check::preamble(copier.env, vaddr, &insts, highest));
        Ok(())
    }

    /// What is inserted at the entry that starts at this address. Gives the insertions that were made.
    fn entered(&mut self, vaddr: u64, insertions: &[u32]) -> Result<Made, Refusal> {
        let program = self.env.program;
        let Some(first) = program.instr_at(vaddr).filter(|_| !insertions.is_empty()) else { return Ok(Made::new()) };
        let block = program.block_of(first);
        let inst = *program.inst(first);
        let (live, loads) = (self.liveness.at_start(block), self.loads.at(first));
        let msb = inst.msb().unwrap_or(VgprMsb::ZERO);
        let at = Spotted {
            address: vaddr,
            inst: &inst,
            live: &live,
            loads: &loads,
            previous: None,
            next: &[],
            indexed: self.indexing.at_start(),
            msb,
            olds: &[],
        };
        self.bodies(insertions, &at)
    }

    /// A branch to the copy of an instruction, unless it follows at once.
    fn go_to(&mut self, vaddr: u64) -> Result<(), Refusal> {
        let program = self.env.program;
        if program.instr_at(vaddr) == Some(program.function_instrs(self.func).first) {
            return Ok(());
        }
        self.go_to_always(vaddr)
    }

    fn go_to_always(&mut self, vaddr: u64) -> Result<(), Refusal> {
        match self.map.target(self.env, self.func, vaddr, false) {
            Some(to) => self.branch(to)?,
            None => return Err(Refusal::Reason(format!("{vaddr:#x} is not copied"))),
        };
        Ok(())
    }
}

/// Sets the counters to zero.
pub fn zeros(env: &Env) -> Result<Vec<Inst>, EncodeError> {
    let ops = &env.machine.ops;
    let mut zeros = Vec::new();
    for home in env.slots.iter().flatten() {
        match *home {
            SlotHome::Pair(low) => zeros.push(ops.mov64(low, small(0))?),
            SlotHome::Lanes(vgpr, lane) => {
                zeros.extend(ops.write_lanes(vgpr, lane, &[small(0); 2])?);
            }
        }
    }
    Ok(zeros)
}

/// Something is done before the wave ends.
pub fn flushes(env: &Env) -> bool {
    env.slots.iter().any(Option::is_some)
}

/// Adds the counters to memory, one lane for the wave.
pub fn flush(copier: &mut Copier, address: u64, msb: VgprMsb, loads: &InFlight) -> Result<(), Refusal> {
    copier.seam.avoid(loads, copier.env.allocated.vgprs);
    let flush = Flush::new(copier.env, &mut copier.seam, loads)?;
    let (insts, places) = (flush.insts, flush.places);
    let mut highest = copier.out.highest;
    highest.merge(&flush.highest);
    copier.check_with(address, |copier| {
        let flushed = check::Flushed { env: copier.env, address, msb, loads, insts: &insts, places: &places, highest };
        check::flush(&flushed)
    });
    let insts = absolute(copier.env, insts, &places)?;
    for (n, inst) in insts.iter().enumerate() {
        let at = copier.out.chunk.here();
        copier.out.chunk.push(inst);
        for (_, to) in places.iter().filter(|(getpc, to)| *getpc == n && copier.env.plan.elsewhere(*to).is_none()) {
            pair_fixup(&mut copier.out.chunk, at, &insts[n..], *to);
        }
    }
    copier.out.highest.merge(&highest);
    Ok(())
}

/// `global_atomic_add_x2 offset, v[low:low+1], s[address:address+1]`.
fn global_add(ops: &Operations, offset: Reg, low: Reg, address: Reg) -> Result<Inst, EncodeError> {
    let info = ops.global_atomic_add_x2;
    let values = [one(offset), pair(low), pair(address)];
    Inst::build(info, &values[..info.operands.len().min(3)]).or_else(|error| {
        // Where there are more operands (cache policies), they stay as they are.
        let mut inst = Inst::new(info);
        for (n, value) in values.iter().enumerate() {
            inst.set_operand(n, *value).map_err(|_| error.clone())?;
        }
        Ok(inst)
    })
}

/// Code before the wave ends, with what it needs in between.
pub struct Flush {
    pub insts: Vec<Inst>,
    /// Which instruction is an `s_getpc_b64`, and the place whose address it becomes with the two behind it.
    pub places: Vec<(usize, Place)>,
    pub highest: Counts,
}

impl Flush {
    /// # Errors
    /// No scalars are left that no counter is in.
    pub fn new(env: &Env, seam: &mut Seam, loads: &InFlight) -> Result<Flush, Refusal> {
        let ops = &env.machine.ops;
        // Late results must not land in what is used here.
        let pending: RegSet = loads.registers();
        let mut free = (0..50)
            .map(|n| Reg::sgpr(n * 2))
            .filter(|r| !env.reserved.contains(*r) && !env.reserved.contains(r.offset(1)));
        let (Some(address_pair), Some(value)) = (free.next(), free.next()) else {
            return Err(Refusal::Reason("no SGPRs are left to flush the counters with".to_owned()));
        };
        let (low, high, zero) = (Reg::vgpr(0), Reg::vgpr(1), Reg::vgpr(2));
        let mut code = Flushing { ops, seam, insts: Vec::new(), places: Vec::new() };
        code.all(env.machine.wait(loads.wait_for(&pending))?)?;
        if let Some(msb) = ops.set_vgpr_msb(0) {
            code.push(msb?)?;
        }
        code.push(ops.mov_mask(Reg::EXEC_LO, small(1))?)?;
        code.push(ops.vector_mov(zero, small(0))?)?;
        for (index, home) in env.slots.iter().enumerate() {
            let Some(home) = *home else { continue };
            let End::AddTo { symbol, offset: within } = &env.plan.slots[index].end else { continue };
            let Some(Place::Variable { index, offset }) = env.symbols.get(symbol).copied() else {
                continue; // refused when the plan was looked at
            };
            let to = Place::Variable { index, offset: offset + *within as i64 };
            let reg = match home {
                SlotHome::Pair(low) => low,
                SlotHome::Lanes(vgpr, lane) => {
                    code.all(ops.read_lanes(value, vgpr, lane, 2)?)?;
                    value
                }
            };
            code.push(ops.vector_mov(low, one(reg))?)?;
            code.push(ops.vector_mov(high, one(reg.offset(1)))?)?;
            code.address(address_pair, to)?;
            code.push(global_add(ops, zero, low, address_pair)?)?;
        }
        let mut highest = Counts::default();
        [RegRange::new(zero, 1), RegRange::new(address_pair, 2), RegRange::new(value, 2)]
            .iter()
            .for_each(|range| highest.note(*range));
        Ok(Flush { insts: code.insts, places: code.places, highest })
    }
}

struct Flushing<'c, 'a> {
    ops: &'c Operations,
    seam: &'c mut Seam<'a>,
    insts: Vec<Inst>,
    places: Vec<(usize, Place)>,
}

impl Flushing<'_, '_> {
    fn push(&mut self, inst: Inst) -> Result<(), EncodeError> {
        self.seam.issue(self.ops, inst, &mut self.insts)
    }
    fn all(&mut self, insts: Vec<Inst>) -> Result<(), EncodeError> {
        insts.into_iter().try_for_each(|inst| self.push(inst))
    }
    /// `pair` = the address of a place.
    fn address(&mut self, to_pair: Reg, to: Place) -> Result<(), EncodeError> {
        let (ops, high) = (self.ops, to_pair.offset(1));
        self.push(Inst::build(ops.s_getpc_b64, &[pair(to_pair)])?)?;
        self.places.push((self.insts.len() - 1, to));
        self.push(Inst::build(ops.s_add_u32, &[one(to_pair), one(to_pair), LITERAL])?)?;
        self.push(Inst::build(ops.s_addc_u32, &[one(high), one(high), LITERAL])?)
    }
}

/// The same with the addresses of places that are not in the object in the place of sums.
fn absolute(env: &Env, mut insts: Vec<Inst>, places: &[(usize, Place)]) -> Result<Vec<Inst>, EncodeError> {
    for (getpc, to) in places {
        let Some(address) = env.plan.elsewhere(*to) else { continue };
        let mut halves = [address, address >> 32].into_iter();
        for inst in insts.iter_mut().skip(*getpc) {
            if !inst.operands().any(|(_, v)| v == LITERAL) {
                continue;
            }
            let (Some(half), Some((_, Operand::Reg(reg)))) = (halves.next(), inst.operands().next()) else { break };
            *inst = env.machine.ops.mov32(reg.first, Operand::Literal(half as u32))?;
        }
    }
    Ok(insts)
}

/// The fixup of an `s_getpc_b64` at word `at`; `insts` begins with it, and the next two with literals belong to it.
fn pair_fixup(chunk: &mut Chunk, at: u32, insts: &[Inst], to: Place) {
    let mut word = at;
    let mut ends = Vec::new();
    for inst in insts {
        word += inst.size() as u32 / 4;
        if inst.operands().any(|(_, v)| v == LITERAL) {
            ends.push(word - 1);
        }
        if ends.len() == 2 {
            break;
        }
    }
    if let [low, high] = ends[..] {
        chunk.fixups.push(Fixup::PcPair { getpc: at, low, high, to });
    }
}
