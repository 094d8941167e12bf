//! What a kernel runs first where hooks keep registers in scratch and code has to find the wave's: FLAT_SCRATCH becomes
//! the base of all scratch plus the wave's offset in it, by the kernel's own descriptor, and nothing that the application
//! could read changes.

use std::collections::HashMap;

use luthier_isa::{DataType, Field, Inst, Op, Operand, Reg, RegRange, RegSet};
use luthier_lifter::Liveness;
use luthier_loader::{Kernel, KernelDescriptor};

use super::looked::Looked;
use super::{Violation, Wrong};
use crate::splice::Env;

/// A value on the way to the base: which of the terms are in it, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Own(Reg),
    /// The low half of a unit.
    Half(Reg),
    Sum(Reg, Reg),
    /// That sum's carry.
    Carry(Reg, Reg),
    /// The upper term plus that carry.
    Upper(Reg, bool, Reg, Reg),
    Unknown,
}

/// All that is wrong with it. `address` is the kernel's entry; what is in the registers `entry` is looked at behind it.
pub fn scratch_base(
    (env, looked): (&Env, &Looked),
    address: u64,
    insts: &[Inst],
    entry: &[RegRange],
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut wrong = |kind| found.push(Violation { address, kind });
    let gfx9 = env.machine.mode.target().generation().is_gfx9_family();
    let base = if gfx9 { [Reg::FLAT_SCRATCH_LO, Reg::FLAT_SCRATCH_HI] } else { base_registers() };
    let mut nobodys = unneeded(env, looked, address);
    entry.iter().flat_map(|range| range.units()).for_each(|reg| nobodys.remove(reg));
    let may_change = |reg: Reg| base.contains(&reg) || reg == Reg::SCC || nobodys.contains(reg);
    let mut values: HashMap<Reg, Value> = HashMap::new();
    for inst in insts {
        let get = |reg: Reg| values.get(&reg).copied().unwrap_or(Value::Own(reg));
        let results = results(inst, get, base);
        let mut known = results.is_some();
        inst.for_each_access(|a| {
            if a.access.writes() {
                known &= may_change(a.reg);
                values.insert(a.reg, Value::Unknown);
            }
        });
        if !known {
            wrong(Wrong::Unknown { inst: Box::new(*inst) });
        }
        values.extend(results.into_iter().flatten());
    }
    let get = |reg: Reg| values.get(&reg).copied().unwrap_or(Value::Own(reg));
    // A kernel whose arguments are preloaded has another entry, which begins with the same registers.
    let same = |k: &&Kernel| k.entry == address || k.entry.checked_add(PRELOAD_ENTRY) == Some(address);
    let kernels = env.kernels.iter().copied().filter(same);
    let mut some = false;
    for kernel in kernels {
        some = true;
        let asking = env.carried.asked.begins(kernel.entry).map_or(kernel.descriptor, |begins| begins.descriptor);
        if wanted(&asking) != Some([get(base[0]), get(base[1])]) {
            wrong(Wrong::ScratchBase { kernel: kernel.name.clone() });
        }
    }
    if !some {
        wrong(Wrong::ScratchBase { kernel: format!("the kernel at {address:#x}") });
    }
    found
}

/// SGPRs that neither the kernel nor a hook looks at before something is written into them.
fn unneeded(env: &Env, looked: &Looked, address: u64) -> RegSet {
    let Some(first) = env.program.instr_at(address) else { return RegSet::EMPTY };
    let mut all: RegSet = (0..NUMBERED).map(Reg::sgpr).collect();
    let liveness = Liveness::of(env.program, env.program.func_of(first));
    let mut live = liveness.live_in(env.program.block_of(first));
    // Behind a call that leads anywhere all of them count as live.
    live.subtract(&env.registers.never_used);
    all.subtract(&live);
    all.subtract(looked.registers(env.program, env.plan));
    all
}

/// From a kernel's entry to the one where its arguments are preloaded.
const PRELOAD_ENTRY: u64 = 256;

/// VCC and the like have the next numbers.
const NUMBERED: u16 = 106;

fn base_registers() -> [Reg; 2] {
    [Reg::FLAT_SCRATCH_BASE_LO, Reg::FLAT_SCRATCH_BASE_HI]
}

/// What the two halves are to be. The order of user and system SGPRs is that of LLVM's usage page.
fn wanted(d: &KernelDescriptor) -> Option<[Value; 2]> {
    let bit = |enabled: bool, count: u16| if enabled { count } else { 0 };
    let buffer = d.enable_sgpr_private_segment_buffer();
    let offset = d.user_sgpr_count() as u16
        + bit(d.enable_sgpr_workgroup_id_x(), 1)
        + bit(d.enable_sgpr_workgroup_id_y(), 1)
        + bit(d.enable_sgpr_workgroup_id_z(), 1)
        + bit(d.enable_sgpr_workgroup_info(), 1);
    let before = bit(buffer, 4)
        + bit(d.enable_sgpr_dispatch_ptr(), 2)
        + bit(d.enable_sgpr_queue_ptr(), 2)
        + bit(d.enable_sgpr_kernarg_segment_ptr(), 2)
        + bit(d.enable_sgpr_dispatch_id(), 2);
    let (low, whole) = match (d.enable_sgpr_flat_scratch_init(), buffer) {
        (true, _) => (before, true),
        // The upper half of a resource's second word is no address.
        (false, true) => (0, false),
        (false, false) => return None,
    };
    let (low, high, offset) = (Reg::sgpr(low), Reg::sgpr(low + 1), Reg::sgpr(offset));
    Some([Value::Sum(low, offset), Value::Upper(high, whole, low, offset)])
}

/// What an instruction puts where; `None` for instructions that have no business here.
fn results(inst: &Inst, get: impl Fn(Reg) -> Value, base: [Reg; 2]) -> Option<Vec<(Reg, Value)>> {
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    let zero = |operand: &Operand| operand.bits(DataType::B32) == Some(0);
    Some(match (inst.info().op(), operands.as_slice()) {
        (Op::SNop, _) => Vec::new(),
        (Op::SAndB32, [Operand::Reg(to), Operand::Reg(from), mask]) if mask.bits(DataType::B32) == Some(0xffff) => {
            match get(from.first) {
                Value::Own(reg) => vec![(to.first, Value::Half(reg))],
                _ => return None,
            }
        }
        (Op::SAddU32, [Operand::Reg(to), Operand::Reg(a), Operand::Reg(b)]) => match (get(a.first), get(b.first)) {
            (Value::Own(a), Value::Own(b)) => vec![(to.first, Value::Sum(a, b)), (Reg::SCC, Value::Carry(a, b))],
            _ => return None,
        },
        (Op::SAddcU32, [Operand::Reg(to), Operand::Reg(from), b]) if zero(b) => {
            match (get(from.first), get(Reg::SCC)) {
                (Value::Own(reg), Value::Carry(a, b)) => vec![(to.first, Value::Upper(reg, true, a, b))],
                (Value::Half(reg), Value::Carry(a, b)) => vec![(to.first, Value::Upper(reg, false, a, b))],
                _ => return None,
            }
        }
        (Op::SSetregB32, _) => {
            // The whole of hardware register 20 or 21.
            let half = match inst.field(Field::Simm16)? {
                0xf814 => base[0],
                0xf815 => base[1],
                _ => return None,
            };
            let from: RegRange = inst.operands().find_map(|(_, value)| value.reg())?;
            vec![(half, get(from.first))]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::descriptors::asking;
    use super::*;
    use crate::machine::scratch::ScratchInputs;
    use luthier_isa::{Mode, Target};

    #[test]
    fn the_checker_and_the_table_of_entry_values_agree_on_every_descriptor() {
        for target in [Target::Gfx900, Target::Gfx908, Target::Gfx90a, Target::Gfx1010, Target::Gfx1030] {
            for bits in 0..1u32 << 11 {
                let mut d = asking(bits);
                d.set_user_sgpr_count(16).expect("it fits");
                let table = ScratchInputs::of(&d, Mode::from(target)).map(|inputs| {
                    let (low, high) = (inputs.base, inputs.base.offset(1));
                    let whole = !inputs.is_resource;
                    [Value::Sum(low, inputs.offset), Value::Upper(high, whole, low, inputs.offset)]
                });
                assert_eq!(table, wanted(&d), "{target:?} {bits:#b}");
            }
        }
    }
}
