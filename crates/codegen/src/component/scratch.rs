//! Whether a component can have scratch of our own: its kernels have to be able to tell where theirs is, and nothing may
//! put another base into FLAT_SCRATCH.

use std::collections::HashMap;

use luthier_isa::op::Op;
use luthier_isa::{Field, Inst, Operand, Reg, RegRange, RegSet};
use luthier_lifter::{FuncId, InstrId, Program};
use luthier_loader::Kernel;

use super::stack;
use crate::machine::Machine;
use crate::machine::entry::PRELOAD_ENTRY;
use crate::machine::operations::HwReg;
use crate::machine::scratch::{Floating, OwnScratch, ScratchInputs};
use crate::machine::special::Special;

/// How far the stacks of a component's waves may reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stacks {
    /// No further than descriptors say.
    Bounded,
    /// How large a stack is, a kernel decides at run time, and puts it where scratch of ours would be; with registers that
    /// say where its waves' scratch ends, if there are any.
    Unbounded(Option<Floating>),
}

/// A kernel decides at run time how large its stack is.
pub fn is_unbounded(program: &Program, functions: &[FuncId], kernels: &[&Kernel]) -> bool {
    let dynamic = kernels.iter().any(|k| {
        let noted = k.metadata().is_some_and(|m| m.uses_dynamic_stack == Some(true));
        noted || k.descriptor.uses_dynamic_stack()
    });
    dynamic && !stack::is_bounded(program, functions)
}

/// Scratch of our own for a component of these functions, which write these registers: bytes a lane for stacks and for
/// registers. `None` where it cannot be had.
pub fn own(
    machine: &Machine,
    program: &Program,
    (functions, written): (&[FuncId], &RegSet),
    kernels: &[&Kernel],
    stacks: Stacks,
    room: (u32, u32),
) -> Option<OwnScratch> {
    let most = kernels.iter().map(|k| k.descriptor.private_segment_fixed_size()).max()?;
    let own = match stacks {
        Stacks::Bounded => machine.own_scratch(most, room)?,
        Stacks::Unbounded(floating) => machine.floating_scratch(most, room, floating?)?,
    };
    let base = Special::FlatScratch.range(machine);
    let writes_base = |i: &InstrId| {
        let mut writes = false;
        program.for_each_access(*i, |a| writes |= a.access.writes() && base.units().any(|unit| unit == a.reg));
        writes
    };
    let mut writers: Vec<InstrId> = Vec::new();
    if base.units().any(|unit| written.contains(unit)) {
        let instrs = functions.iter().flat_map(|f| program.function_instrs(*f).iter());
        writers.extend(instrs.filter(writes_base));
    }
    if !own.set_at_entry {
        return writers.is_empty().then_some(own);
    }
    let mut inputs_at: HashMap<u64, ScratchInputs> = HashMap::new();
    for kernel in kernels {
        let inputs = ScratchInputs::of(&kernel.descriptor, machine.mode)?;
        // Kernels of the same code set the base by the same instructions.
        if *inputs_at.entry(kernel.entry).or_insert(inputs) != inputs {
            return None;
        }
        let preload = if machine.preloads(&kernel.descriptor) { PRELOAD_ENTRY } else { 0 };
        let first = program.instr_at(kernel.entry + preload)?;
        let right = Prologue::new(machine, inputs).sets_it_right(program, first);
        writers.retain(|writer| !right.contains(writer));
    }
    writers.is_empty().then_some(own)
}

/// The instruction changes FLAT_SCRATCH.
pub fn writes_base(machine: &Machine, inst: &Inst) -> bool {
    let mut writes = false;
    inst.for_each_access(|a| writes |= a.access.writes() && is_base(machine, a.reg));
    writes
}

/// The register is part of FLAT_SCRATCH.
pub fn is_base(machine: &Machine, reg: Reg) -> bool {
    Special::FlatScratch.range(machine).units().any(|unit| unit == reg)
}

/// What a scalar unit holds at the start of a kernel, as far as it is on the way to the wave's scratch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Low,
    High,
    Offset,
    SumLow,
    Carry,
    SumHigh,
}

/// The instructions at a kernel's start; compilers use some of them to set FLAT_SCRATCH to the wave's scratch.
struct Prologue<'a> {
    machine: &'a Machine,
    held: HashMap<Reg, Held>,
}

impl<'a> Prologue<'a> {
    fn new(machine: &'a Machine, inputs: ScratchInputs) -> Prologue<'a> {
        let mut held = HashMap::new();
        if !inputs.is_resource {
            let (low, high) = (inputs.base, inputs.base.offset(1));
            held.extend([(low, Held::Low), (high, Held::High), (inputs.offset, Held::Offset)]);
        }
        Prologue { machine, held }
    }

    /// The instructions of the block that begins with the first one which write nothing but the wave's scratch into
    /// FLAT_SCRATCH.
    fn sets_it_right(mut self, program: &Program, first: InstrId) -> Vec<InstrId> {
        let block = program.block(program.block_of(first)).instrs;
        let mut right = Vec::new();
        for id in (first.0..block.end.0).map(InstrId) {
            let inst = program.inst(id);
            let written = self.written(inst);
            inst.for_each_access(|a| {
                if a.access.writes() {
                    self.held.remove(&a.reg);
                }
            });
            written.iter().for_each(|(reg, held)| {
                self.held.insert(*reg, *held);
            });
            let low = Special::FlatScratch.range(self.machine).first;
            let mut base = Vec::new();
            inst.for_each_access(|a| {
                if a.access.writes() && is_base(self.machine, a.reg) {
                    base.push(a.reg);
                }
            });
            let half = |reg: Reg| if reg == low { Held::SumLow } else { Held::SumHigh };
            let holds = |reg: &Reg| self.held.get(reg) == Some(&half(*reg));
            if !base.is_empty() && base.iter().all(holds) {
                right.push(id);
            }
        }
        right
    }

    /// What of that an instruction puts where.
    fn written(&self, inst: &Inst) -> Vec<(Reg, Held)> {
        let get = |reg: Reg| self.held.get(&reg).copied();
        let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        let zero = Operand::Inline(128);
        match (inst.info().op(), operands.as_slice()) {
            (Op::SMovB32 | Op::SMovB64, [Operand::Reg(to), Operand::Reg(from)]) if to.count == from.count => {
                to.units().zip(from.units()).filter_map(|(to, from)| Some((to, get(from)?))).collect()
            }
            (Op::SAddU32, [Operand::Reg(to), Operand::Reg(a), Operand::Reg(b)]) => match (get(a.first), get(b.first)) {
                (Some(Held::Low), Some(Held::Offset)) | (Some(Held::Offset), Some(Held::Low)) => {
                    vec![(to.first, Held::SumLow), (Reg::SCC, Held::Carry)]
                }
                _ => Vec::new(),
            },
            (Op::SAddcU32, [Operand::Reg(to), Operand::Reg(a), b])
                if *b == zero && get(a.first) == Some(Held::High) && get(Reg::SCC) == Some(Held::Carry) =>
            {
                vec![(to.first, Held::SumHigh)]
            }
            (Op::SSetregB32, _) => {
                let field = inst.field(Field::Simm16).map(|field| i64::from(field as u16 as i16));
                let half = HwReg::SCRATCH_BASE.iter().position(|half| field == Some(half.bits()));
                let from = inst.operands().find_map(|(_, value)| value.reg());
                let base: RegRange = Special::FlatScratch.range(self.machine);
                match (half, from.and_then(|from| get(from.first))) {
                    (Some(half), Some(held)) if self.machine.scratch_base_is_hwreg() => {
                        vec![(base.first.offset(half as u16), held)]
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}
