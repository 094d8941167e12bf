//! What is no hook of the plan: what waves begin with, what adds counters to memory, what keeps a value over an instruction.
//! Each is broken in every way.
//!
//! Not made: moves of a register to itself and `s_nop`s (see the tests of seams), waits for loads into registers that the
//! flush does not touch, and setting the upper bits of VGPR numbers where they are zero.

use luthier_isa::op::Op;
use luthier_isa::{Field, Inst, Operand, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Liveness, PendingLoads};
use luthier_loader::CodeObject;

use super::hooks::Hook;
use super::mutate::{self, depend, others};
use super::places::{self, with_env};
use crate::check::{self, Question, Violation};
use crate::component::Component;
use crate::machine::registers::Counts;
use crate::machine::scratch::ScratchInputs;
use crate::splice::keeper::Keeper;
use crate::splice::prologue::Prologue;
use crate::splice::seams::Seam;
use crate::splice::{Site, Splice, emit};

/// What is told of each change: what was done, the code before and after, and whether it was noticed.
pub type Tell<'a> = dyn FnMut(String, &[Inst], &[Inst], bool) + 'a;

/// A mutation.
struct Broken {
    what: String,
    insts: Vec<Inst>,
    /// Where each of the instructions is now.
    now: Vec<Option<usize>>,
}

/// Every way of breaking some code.
fn broken(insts: &[Inst]) -> Vec<Broken> {
    let mut found = Vec::new();
    let all = || (0..insts.len()).map(Some).collect::<Vec<_>>();
    for (at, inst) in insts.iter().enumerate() {
        let name = inst.info().base;
        let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        let itself = matches!(operands.as_slice(), [a @ Operand::Reg(_), b] if a == b);
        let waits = matches!(inst.info().op(), Op::SNop | Op::VNop | Op::DsNop | Op::SWaitcntDepctr);
        if itself || waits || inst.info().op() == Op::SSetVgprMsb {
            continue;
        }
        let mut without = insts.to_vec();
        without.remove(at);
        let now = (0..insts.len()).map(|n| (n != at).then_some(n - usize::from(n > at))).collect();
        found.push(Broken { what: format!("drop {name}"), insts: without, now });
        let mut with = |what: &str, changed: Inst| {
            let mut changed_code = insts.to_vec();
            changed_code[at] = changed;
            found.push(Broken { what: format!("{what}: {name}"), insts: changed_code, now: all() });
        };
        for (n, (info, value)) in inst.operands().enumerate() {
            let mut changed = *inst;
            match value {
                Operand::Reg(range) if info.fixed.is_none() => {
                    for other in others(range) {
                        if changed.set_operand(n, Operand::Reg(other)).is_ok() {
                            with(if info.access.writes() { "other destination" } else { "other source" }, changed);
                        }
                    }
                }
                Operand::Inline(code @ 128..=191) if changed.set_operand(n, Operand::Inline(code + 1)).is_ok() => {
                    with("other constant", changed);
                }
                _ => {}
            }
        }
        let mut changed = *inst;
        if inst.info().op() == Op::GlobalAtomicAddX2 && changed.set_field(Field::Offset, 8).is_ok() {
            with("other offset", changed);
        }
        if insts.get(at + 1).is_some_and(|next| depend(inst, next)) {
            let mut swapped = insts.to_vec();
            swapped.swap(at, at + 1);
            let mut now = all();
            now.swap(at, at + 1);
            let what = format!("swap {name} and {}", insts[at + 1].info().base);
            found.push(Broken { what, insts: swapped, now });
        }
    }
    found
}

/// Hands every change of the kernel's prologue and of what ends its waves to `tell`. Gives what is wrong with them as
/// they are.
pub fn entries_and_ends(object: &CodeObject, hook: &Hook, tell: &mut Tell) -> Vec<Violation> {
    let mut wrong = Vec::new();
    with_env(object, hook, |component, _| {
        let env = component;
        wrong.extend(begun(env, tell));
        let end = env.program.instrs().iter().map(|i| *env.program.inst(i)).next_back().unwrap();
        let loads = InFlight::default();
        let ended = places::ending(env, end, VgprMsb::ZERO, &loads);
        wrong.extend(ended.check(env));
        for (what, changed) in mutate::all(env, &ended) {
            tell(format!("end: {what}"), &ended.insts, &changed.insts, !changed.check(env).is_empty());
        }
        for ending in &env.carried.slots.endings {
            let hook = &*ending.prepared;
            for Broken { what, insts, now } in broken(&hook.insts) {
                let mut changed = hook.clone();
                changed.insts = insts;
                changed.relocs.retain_mut(|reloc| match now[reloc.inst] {
                    Some(at) => {
                        reloc.inst = at;
                        true
                    }
                    None => false,
                });
                let noticed = !check::adds(env, &changed, &ending.args).is_empty();
                tell(format!("addition: {what}"), &hook.insts, &changed.insts, noticed);
            }
            for n in 0..hook.relocs.len() {
                let mut changed = hook.clone();
                changed.relocs[n].addend += 8;
                let noticed = !check::adds(env, &changed, &ending.args).is_empty();
                tell("addition: another variable".to_owned(), &hook.insts, &hook.insts, noticed);
            }
        }
        // Under other upper bits of VGPR numbers the code that sets them to zero is needed.
        if env.machine.mode.target().vgprs() > 256 {
            let upper = VgprMsb::from_bits(0x41);
            let ended = places::ending(env, end, upper, &loads);
            wrong.extend(ended.check(env));
            let at = ended.insts.iter().position(|i| i.info().op() == Op::SSetVgprMsb).unwrap();
            let mut changed = ended.clone();
            changed.insts[at] = env.machine.ops.nop(1).unwrap();
            tell("end: drop s_set_vgpr_msb".to_owned(), &ended.insts, &changed.insts, !changed.check(env).is_empty());
        }
    });
    wrong
}

/// The prologue of a component's first kernel.
fn begun(env: &Component, tell: &mut Tell) -> Vec<Violation> {
    let kernel = env.kernels[0];
    let first = env.program.instr_at(kernel.entry).unwrap();
    let liveness = Liveness::of(env.program, env.program.func_of(first));
    let live = liveness.at_start(env.program.block_of(first));
    let (loads, nothing) = (InFlight::default(), RegSet::EMPTY);
    let site = Site {
        address: kernel.entry,
        live: &live,
        loads: &loads,
        busy: &nothing,
        kept: &nothing,
        indexed: false,
        msb: VgprMsb::ZERO,
        last: false,
    };
    let inputs = env
        .env
        .scratch
        .filter(|own| own.set_at_entry)
        .and_then(|_| ScratchInputs::of(&kernel.descriptor, env.machine.mode));
    let prologue = Prologue::of(env, &site, inputs).unwrap();
    let mut splice = Splice::default();
    let finds = prologue.emit(env, &site, &mut Seam::new(env.machine.mode, env.carried.unread), &mut splice).unwrap();
    let mut highest = splice.highest;
    highest.merge(&env.carried.slots.highest);
    let nop = Inst::new(env.machine.ops.s_nop);
    let ask = |finds: &[Inst], insts: &[Inst]| {
        let question = Question {
            env: &env.env,
            looked: &env.looked,
            site: &site,
            olds: &[],
            inst: &nop,
            insts,
            base: 0,
            spans: &[],
            made: &[],
            literals: &[],
            highest,
            scratch: splice.scratch,
        };
        check::prologue(&question, inputs.is_some().then_some(finds))
    };
    let (base, sets) = splice.insts.split_at(finds);
    for Broken { what, insts, .. } in broken(sets) {
        tell(format!("entry: {what}"), sets, &insts, !ask(base, &insts).is_empty());
    }
    for Broken { what, insts, .. } in broken(base) {
        tell(format!("scratch base: {what}"), base, &insts, !ask(&insts, sets).is_empty());
    }
    ask(base, sets)
}

/// Values that are kept over instructions: registers, and special state.
fn keepable(env: &Component) -> Vec<RegRange> {
    let one = |reg| RegRange::new(reg, 1);
    let state = [Reg::SCC, Reg::VCC_LO, Reg::M0, Reg::MODE];
    let registers =
        [RegRange::new(Reg::sgpr(8), 2), one(Reg::sgpr(4)), one(Reg::vgpr(4)), RegRange::new(Reg::vgpr(8), 2)];
    state.into_iter().map(one).chain(registers).chain([env.machine.exec()]).collect()
}

/// The same of values that are kept over those instructions whose numbers are wanted.
pub fn kept(object: &CodeObject, hook: &Hook, wanted: impl Fn(usize) -> bool, tell: &mut Tell) -> Vec<Violation> {
    let mut wrong = Vec::new();
    with_env(object, hook, |component, _| {
        let env = component;
        let program = env.program;
        for &function in &component.functions {
            let (liveness, pending) = (Liveness::of(program, function), PendingLoads::of(program, function));
            for block in program.function(function).blocks.iter() {
                let (points, loads) = (liveness.points(block), pending.points(block));
                for (n, i) in program.block(block).instrs.iter().enumerate().filter(|(_, i)| wanted(i.0 as usize)) {
                    let (inst, point) = (*program.inst(i), points.get(n).unwrap());
                    let nothing = RegSet::EMPTY;
                    let site = Site {
                        address: program.vaddr(i),
                        live: point.before,
                        loads: &loads[n],
                        busy: &nothing,
                        kept: &nothing,
                        indexed: false,
                        msb: inst.msb().unwrap_or_default(),
                        last: false,
                    };
                    for range in keepable(env) {
                        over(env, &site, &inst, range, point.after.any(), &mut wrong, tell);
                    }
                }
            }
        }
    });
    wrong
}

/// One value kept over one instruction.
fn over(
    env: &Component,
    site: &Site,
    inst: &Inst,
    range: RegRange,
    after: RegSet,
    wrong: &mut Vec<Violation>,
    tell: &mut Tell,
) {
    let mut without = after;
    without.subtract(&env.registers.never_used);
    inst.for_each_access(|a| without.insert(a.reg));
    without.insert_range(range);
    let Some(keeper) = Keeper::take(env, &mut site.pool(env, &without, false), inst, range, false) else { return };
    let mut splice = Splice::default();
    let mut seam = Seam::new(env.machine.mode, env.carried.unread);
    emit::keep(env, site, &keeper, &mut seam, &mut splice).unwrap();
    let mut highest: Counts = env.registers.allocated;
    highest.note(keeper.kept);
    keeper.exec.iter().for_each(|exec| highest.note(*exec));
    let keeper = keeper.kept;
    let ask = |insts: &[Inst], olds: &[(RegRange, RegRange)]| {
        check::keep(&Question {
            env: &env.env,
            looked: &env.looked,
            site,
            olds,
            inst,
            insts,
            base: 0,
            spans: &[],
            made: &[],
            literals: &[],
            highest,
            scratch: 0,
        })
    };
    let olds = [(range, keeper)];
    wrong.extend(ask(&splice.insts, &olds));
    for Broken { what, insts, .. } in broken(&splice.insts) {
        tell(format!("keep: {what}"), &splice.insts, &insts, !ask(&insts, &olds).is_empty());
    }
    let mut written = None;
    inst.for_each_access(|a| {
        if a.access.writes() && a.reg.is_sgpr() == keeper.first.is_sgpr() && a.reg.is_vgpr() == keeper.first.is_vgpr() {
            written = Some(a.reg);
        }
    });
    if let Some(reg) = written.filter(|_| range.count == 1) {
        let noticed = !ask(&splice.insts, &[(range, RegRange::new(reg, 1))]).is_empty();
        tell("keep: in what the instruction writes".to_owned(), &splice.insts, &splice.insts, noticed);
    }
    let other = RegRange::new(Reg::sgpr(3), range.count);
    let noticed = !ask(&splice.insts, &[olds[0], (other, keeper)]).is_empty();
    tell("keep: two values in one register".to_owned(), &splice.insts, &splice.insts, noticed);
}
