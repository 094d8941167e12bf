//! Code that is no splice: what sets counters to zero, what adds them to memory, what keeps a value over an instruction.
//! Each is broken in every way.
//!
//! Not made: moves of a register to itself and `s_nop`s (see the tests of seams), waits for loads into registers that the
//! flush does not touch, and setting the upper bits of VGPR numbers where they are zero.

use luthier_isa::op::Op;
use luthier_isa::{Field, Inst, Operand, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Liveness, PendingLoads};
use luthier_loader::CodeObject;

use super::hooks::Hook;
use super::mutate::{depend, others};
use super::places::with_env;
use crate::check::{self, Flushed, Question, Violation};
use crate::copy::entry::{Flush, zeros};
use crate::layout::chunk::Place;
use crate::machine::registers::Counts;
use crate::machine::seams::Seam;
use crate::splice::keeper::Keeper;
use crate::splice::{Env, Site, Splice, emit};

/// What is told of each change: what was done, the code before and after, and whether it was noticed.
pub type Tell<'a> = dyn FnMut(String, &[Inst], &[Inst], bool) + 'a;

/// A mutation, and the code as it is then.
fn broken(insts: &[Inst]) -> Vec<(String, Vec<Inst>)> {
    let mut found = Vec::new();
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
        found.push((format!("drop {name}"), without));
        let mut with = |what: &str, changed: Inst| {
            let mut all = insts.to_vec();
            all[at] = changed;
            found.push((format!("{what}: {name}"), all));
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
            found.push((format!("swap {name} and {}", insts[at + 1].info().base), swapped));
        }
    }
    found
}

/// Hands every change of the kernel's preamble and of its flush to `tell`. Gives what is wrong with them as they are.
pub fn entries_and_ends(object: &CodeObject, hook: &Hook, tell: &mut Tell) -> Vec<Violation> {
    let mut wrong = Vec::new();
    with_env(object, hook, |component, _| {
        let env = &component.env;
        let mut highest = env.allocated;
        env.slots.iter().flatten().for_each(|home| highest.note(home.range()));
        let zeros = zeros(env).unwrap();
        wrong.extend(check::preamble(env, 0, &zeros, highest));
        for (what, changed) in broken(&zeros) {
            tell(format!("entry: {what}"), &zeros, &changed, !check::preamble(env, 0, &changed, highest).is_empty());
        }
        if env.slots.iter().all(Option::is_none) {
            return;
        }
        let loads = InFlight::default();
        let mut seam = Seam::new(env.machine.mode, env.unread);
        let flush = Flush::new(env, &mut seam, &loads).unwrap();
        highest.merge(&flush.highest);
        let ask = |insts: &[Inst], places: &[(usize, Place)], msb: VgprMsb| {
            check::flush(&Flushed { env, address: 0, msb, loads: &loads, insts, places, highest })
        };
        wrong.extend(ask(&flush.insts, &flush.places, VgprMsb::ZERO));
        for (what, changed) in broken(&flush.insts) {
            // Each `s_getpc_b64` that is still there is the same one.
            let getpcs: Vec<usize> = (0..changed.len()).filter(|n| changed[*n].info().op() == Op::SGetpcB64).collect();
            let places: Vec<_> = getpcs.into_iter().zip(&flush.places).map(|(at, (_, place))| (at, *place)).collect();
            tell(format!("end: {what}"), &flush.insts, &changed, !ask(&changed, &places, VgprMsb::ZERO).is_empty());
        }
        let mut elsewhere = flush.places.clone();
        if let Some((_, Place::Variable { offset, .. })) = elsewhere.first_mut() {
            *offset += 8;
            let noticed = !ask(&flush.insts, &elsewhere, VgprMsb::ZERO).is_empty();
            tell("end: another variable".to_owned(), &flush.insts, &flush.insts, noticed);
        }
        // Under other upper bits of VGPR numbers the code that sets them to zero is needed.
        let sets = flush.insts.iter().position(|i| i.info().op() == Op::SSetVgprMsb);
        if let Some(at) = sets {
            let upper = VgprMsb::from_bits(0x41);
            wrong.extend(ask(&flush.insts, &flush.places, upper));
            let mut without = flush.insts.clone();
            without.remove(at);
            let places: Vec<_> = flush.places.iter().map(|(n, place)| (n - usize::from(*n > at), *place)).collect();
            let noticed = !ask(&without, &places, upper).is_empty();
            tell("end: drop s_set_vgpr_msb".to_owned(), &flush.insts, &without, noticed);
        }
    });
    wrong
}

/// Values that are kept over instructions: registers, and special state.
fn keepable(env: &Env) -> Vec<RegRange> {
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
        let env = &component.env;
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
    env: &Env,
    site: &Site,
    inst: &Inst,
    range: RegRange,
    after: RegSet,
    wrong: &mut Vec<Violation>,
    tell: &mut Tell,
) {
    let mut without = after;
    without.subtract(&env.never_used);
    inst.for_each_access(|a| without.insert(a.reg));
    without.insert_range(range);
    let Some(keeper) = Keeper::take(env, &mut site.pool(env, &without, false), inst, range, false) else { return };
    let mut splice = Splice::default();
    let mut seam = Seam::new(env.machine.mode, env.unread);
    emit::keep(env, site, &keeper, &mut seam, &mut splice).unwrap();
    let mut highest: Counts = env.allocated;
    highest.note(keeper.kept);
    keeper.exec.iter().for_each(|exec| highest.note(*exec));
    let keeper = keeper.kept;
    let ask = |insts: &[Inst], olds: &[(RegRange, RegRange)]| {
        check::keep(&Question {
            env,
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
    for (what, changed) in broken(&splice.insts) {
        tell(format!("keep: {what}"), &splice.insts, &changed, !ask(&changed, &olds).is_empty());
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
