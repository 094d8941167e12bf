//! What becomes of `s_getpc_b64` in a copy: it has to come to the original's program counter.
//!
//! Where the sum that is built on it follows at once, the difference goes into the sum's literals, and nothing is
//! added. Elsewhere the difference is added behind it. A jump to a known place inside copied code (the compiler's long
//! branches) leads to the copy: by its sum, where nothing else sees that, or else by a branch in its stead.

use std::collections::HashMap;

use luthier_isa::op::Op;
use luthier_isa::{Access, DataType, Inst, Operand, Reg, RegRange};
use luthier_lifter::{BlockId, FuncId, InstrId, InstrIds, Liveness, Terminator};

use super::{ChunkMap, Spot};
use crate::layout::chunk::Place;
use crate::plan::{Body, Where};
use crate::splice::Env;

/// What to do at an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Pc {
    /// An `s_getpc_b64`, behind which the difference is added.
    Kept { to: Place },
    /// The `s_add_u32` of a sum that comes to `to`.
    Folded { getpc_at: InstrId, to: Place },
    /// The `s_addc_u32` of the same.
    FoldedHigh { to: Place },
    /// A jump through a register pair that holds an address in the original: a branch to the copy.
    Aimed { to: Place },
}

#[derive(Debug, Default)]
pub struct PcPlans {
    plans: HashMap<InstrId, Pc>,
}

impl PcPlans {
    pub fn of(env: &Env, map: &ChunkMap, func: FuncId, spots: &[Spot]) -> Result<PcPlans, String> {
        let program = env.program;
        let mut plans = HashMap::new();
        for block in program.function(func).blocks.iter() {
            let b = program.block(block);
            let jump = jump_of(env, map, func, block)?;
            if b.terminator == Terminator::UnknownJump {
                let at = b.instrs.last().map_or(0, |i| program.vaddr(i));
                return Err(format!("the jump at {at:#x} goes to an unknown place"));
            }
            let mut folded = false;
            for i in b.instrs.iter() {
                if !program.inst(i).info().flags.contains(luthier_isa::Flags::GETPC) {
                    continue;
                }
                let pc = program.vaddr(i) + 4;
                let Some(sum) = sum_after(env, b.instrs, i).filter(|s| may_fold(env, func, block, s, spots)) else {
                    plans.insert(i, Pc::Kept { to: Place::Original(pc) });
                    continue;
                };
                let value = pc.wrapping_add(sum.constant);
                let mut to = Place::Original(value);
                if let Some(jump) = jump.as_ref().filter(|jump| value == jump.target && env.plan.beside.is_none())
                    && only_for_jump(env, block, &sum, value)
                {
                    to = jump.to;
                    folded = true;
                }
                plans.insert(sum.low, Pc::Folded { getpc_at: i, to });
                plans.insert(sum.high, Pc::FoldedHigh { to });
            }
            if let Some(jump) = jump.filter(|_| !folded) {
                plans.insert(jump.inst, Pc::Aimed { to: jump.to });
            }
        }
        Ok(PcPlans { plans })
    }

    pub fn at(&self, i: InstrId) -> Option<&Pc> {
        self.plans.get(&i)
    }

    /// Some instruction of the range needs to know what is live behind it.
    pub fn wants_liveness(&self, range: InstrIds) -> bool {
        !self.plans.is_empty() && range.iter().any(|i| matches!(self.plans.get(&i), Some(Pc::Kept { .. })))
    }
}

/// A jump through a register pair that stays in the code that is copied.
struct Jump {
    inst: InstrId,
    target: u64,
    to: Place,
}

/// The jump that ends the block, if it does not go to a function that is called as well: the first instruction of that
/// one's original leads to its copy.
fn jump_of(env: &Env, map: &ChunkMap, func: FuncId, block: BlockId) -> Result<Option<Jump>, String> {
    let program = env.program;
    let b = program.block(block);
    let Some(inst) = b.instrs.last().filter(|_| b.terminator == Terminator::Jump) else { return Ok(None) };
    let at = program.vaddr(inst);
    let exit = program.exits_of(block).first().map(|exit| exit.target);
    let target = exit.or_else(|| program.succs(block).first().map(|next| program.block_vaddr(*next)));
    let target = target.ok_or_else(|| format!("the jump at {at:#x} goes nowhere"))?;
    let leads = |f: FuncId| f != func && !is_kernel(env, f) && !env.selection.is_apart(f);
    if program.function_at(target).is_some_and(leads) {
        return Ok(None);
    }
    let to = map.target(env.program, func, target, false);
    let to = to.ok_or_else(|| format!("the jump at {at:#x} leads to {target:#x}, which is not copied"))?;
    Ok(Some(Jump { inst, target, to }))
}

fn is_kernel(env: &Env, f: FuncId) -> bool {
    env.program.function(f).kind == luthier_lifter::FunctionKind::Kernel
}

/// `s_add_u32 p, p, x; s_addc_u32 p+1, p+1, y` right behind an `s_getpc_b64 p`.
struct Sum {
    pair: RegRange,
    low: InstrId,
    high: InstrId,
    constant: u64,
}

fn sum_after(env: &Env, block: InstrIds, getpc: InstrId) -> Option<Sum> {
    let program = env.program;
    let (low, high) = (InstrId(getpc.0 + 1), InstrId(getpc.0 + 2));
    if !block.contains(high) {
        return None;
    }
    let Some((_, Operand::Reg(pair))) = program.inst(getpc).operands().next() else { return None };
    let addend = |inst: &Inst, op: Op, reg: Reg| -> Option<u32> {
        let mut operands = inst.operands().map(|(_, v)| v);
        let same = Operand::Reg(RegRange::new(reg, 1));
        if inst.info().op() != op || operands.next()? != same || operands.next()? != same {
            return None;
        }
        operands.next()?.bits(DataType::B32).map(|b| b as u32)
    };
    let x = addend(program.inst(low), Op::SAddU32, pair.first)?;
    let y = addend(program.inst(high), Op::SAddcU32, pair.first.offset(1))?;
    Some(Sum { pair, low, high, constant: u64::from(y) << 32 | u64::from(x) })
}

/// No code sees the program counter itself, or the carry that the sum leaves.
fn may_fold(env: &Env, func: FuncId, block: BlockId, sum: &Sum, spots: &[Spot]) -> bool {
    let getpc = InstrId(sum.low.0 - 1);
    let from = spots.partition_point(|s| s.instr < getpc);
    let hooks = spots[from..].iter().take_while(|s| s.instr <= sum.high);
    let between =
        hooks.filter(|s| (s.instr, s.at) > (getpc, Where::Before) && (s.instr, s.at) < (sum.high, Where::After));
    let looks = |body: &Body| match body {
        Body::Hook { args, .. } => {
            let inst = env.program.inst(sum.high);
            let mut read = args.iter().flat_map(|a| a.reads(inst)).flat_map(RegRange::units);
            read.any(|u| sum.pair.units().any(|p| p == u))
        }
        Body::Raw(_) | Body::Nothing => true,
    };
    let looked_at = between.into_iter().any(|s| looks(&env.plan.insertions[s.insertion as usize].body));
    // Hardly ever is the carry of an address used; look at the instructions before asking liveness.
    !looked_at
        && !env.carried.watched_state.contains(Reg::SCC)
        && (scc_overwritten(env, block, sum.high)
            || !Liveness::of(env.program, func).live_after(sum.high).contains(Reg::SCC))
}

/// SCC is written before it is read, in the same block.
fn scc_overwritten(env: &Env, block: BlockId, after: InstrId) -> bool {
    let rest = env.program.block(block).instrs.iter().skip_while(|i| *i <= after);
    for i in rest {
        let (mut read, mut written) = (false, false);
        env.program.inst(i).for_each_access(|a| {
            if a.reg == Reg::SCC {
                read |= a.access.reads();
                written |= a.access == Access::Write;
            }
        });
        if read || written {
            return !read;
        }
    }
    false
}

/// The sum's pair is read by the block's jump and by nothing else.
fn only_for_jump(env: &Env, block: BlockId, sum: &Sum, target: u64) -> bool {
    let program = env.program;
    let Some(last) = program.block(block).instrs.last() else { return false };
    let jumps_there = program.inst(last).operands().any(|(_, v)| v == Operand::Reg(sum.pair));
    let touched = (sum.high.0 + 1..last.0).map(InstrId).any(|i| {
        let mut touched = false;
        program.inst(i).for_each_access(|a| touched |= sum.pair.units().any(|u| u == a.reg));
        touched
    });
    let Some(to) = program.instr_at(target).map(|i| program.block_of(i)) else { return false };
    let live = Liveness::of(program, program.block(to).func).live_in(to);
    jumps_there && !touched && !sum.pair.units().any(|u| live.contains(u))
}
