//! Hooks behind instructions that overwrite what the hooks are to be told: a hook that looks at the result instead is
//! noticed.

use luthier_isa::{Inst, Operand, RegRange, RegSet};
use luthier_lifter::{Liveness, PendingLoads};

use super::hooks::{self, Hook};
use super::kernels;
use super::places::with_env_at;
use super::support::{s, v};
use super::{PRESSURES, modes};
use crate::Where;
use crate::check::{self, Question, Violation};
use crate::component::Component;
use crate::splice::keeper::Keeper;
use crate::splice::seams::Seam;
use crate::splice::{Demand, HookId, Site, Splice, allocate, emit};
use crate::template::renamed::Renamed;

/// What the kernels' longest runs add to, and so overwrite.
const SCALAR: u16 = 2;
const VECTOR: u16 = 1;

#[test]
fn a_value_from_behind_the_instruction_for_one_from_before_it_is_noticed() {
    let (mut places, mut changed) = (0, 0);
    for mode in modes() {
        let (scalar, vector) = (s(SCALAR, 1), v(VECTOR, 1));
        let Some(hook) = hooks::found(mode, scalar, vector) else { return };
        let Some(object) = kernels::busy(mode, PRESSURES[0].0, PRESSURES[0].1) else { return };
        for at in [Where::After, Where::Before] {
            each(&object, &hook, at, &[scalar, vector], |env, site, inst, splice, made, olds| {
                places += 1;
                let ask = |insts: &[Inst], olds: &[(RegRange, RegRange)]| -> Vec<Violation> {
                    check::splice(&Question {
                        env: &env.env,
                        looked: &env.looked,
                        site,
                        olds,
                        inst,
                        insts,
                        base: 0,
                        spans: &splice.spans,
                        made,
                        literals: &splice.literals,
                        highest: splice.highest,
                        scratch: splice.scratch,
                    })
                };
                let found = ask(&splice.insts, olds);
                assert!(found.is_empty(), "{mode:?} {at:?} {inst}: {}", found[0]);
                if olds.is_empty() {
                    return;
                }
                changed += 1;
                let wrong = with_present_values(&splice.insts, olds);
                assert!(wrong != splice.insts, "{mode:?} {inst}: nothing of it looks at what was kept");
                assert!(!ask(&wrong, olds).is_empty(), "{mode:?} {inst}: the result is taken for what was read");
                assert!(
                    !ask(&wrong, &[]).is_empty(),
                    "{mode:?} {inst}: nothing is kept, and the checker does not notice"
                );
                assert!(!ask(&splice.insts, &[]).is_empty(), "{mode:?} {inst}: any register will do");
                let others: Vec<_> =
                    olds.iter().map(|(of, kept)| (RegRange::new(of.first.offset(1), 1), *kept)).collect();
                assert!(!ask(&splice.insts, &others).is_empty(), "{mode:?} {inst}: another register's value will do");
            });
        }
    }
    assert!(places > 200 && changed > 100, "{places} places, {changed} of them with kept values");
}

/// The instructions with the registers themselves in the place of their copies.
fn with_present_values(insts: &[Inst], olds: &[(RegRange, RegRange)]) -> Vec<Inst> {
    let mut all = insts.to_vec();
    for inst in &mut all {
        for n in 0..inst.operands().count() {
            let Some((_, Operand::Reg(range))) = inst.operands().nth(n) else { continue };
            if let Some((of, _)) = olds.iter().find(|(_, kept)| *kept == range) {
                inst.set_operand(n, Operand::Reg(*of)).unwrap();
            }
        }
    }
    all
}

type Each<'a> = dyn FnMut(&Component, &Site, &Inst, &Splice, &[HookId], &[(RegRange, RegRange)]) + 'a;

/// Hands each place with the hook to `look`, behind instructions with what is kept for it there.
fn each(
    object: &luthier_loader::CodeObject,
    hook: &Hook,
    at: Where,
    wanted: &[RegRange],
    mut look: impl FnMut(&Component, &Site, &Inst, &Splice, &[HookId], &[(RegRange, RegRange)]),
) {
    let look: &mut Each = &mut look;
    with_env_at(object, hook, at, |component, _| {
        let env = component;
        let program = env.program;
        for &function in &component.functions {
            let (liveness, pending) = (Liveness::of(program, function), PendingLoads::of(program, function));
            for block in program.function(function).blocks.iter() {
                let (points, loads) = (liveness.points(block), pending.points(block));
                for (n, i) in program.block(block).instrs.iter().enumerate() {
                    let (inst, point) = (*program.inst(i), points.get(n).unwrap());
                    // Only where both registers hold something that the kernel needs.
                    if !wanted.iter().all(|range| point.before.active.contains(range.first)) {
                        continue;
                    }
                    let msb = inst.msb().unwrap_or_default();
                    let olds = match at {
                        Where::After => keep(env, &inst, point.before, point.after.any(), wanted),
                        _ => Vec::new(),
                    };
                    let (busy, mut kept) = (RegSet::EMPTY, RegSet::EMPTY);
                    olds.iter().for_each(|(_, range)| kept.insert_range(*range));
                    let (live, loads) = match at {
                        Where::After => (point.after, loads.get(n + 1)),
                        _ => (point.before, loads.get(n)),
                    };
                    let Some(loads) = loads else { continue };
                    let address = program.vaddr(i);
                    let site =
                        Site { address, live, loads, busy: &busy, kept: &kept, indexed: false, msb, last: false };
                    let insertion = HookId::Insertion(i.0 * 2);
                    let Ok(demand) = Demand::of(env, &site, &inst, insertion, &olds) else { continue };
                    let demands = [demand];
                    let allocation = allocate(env, &site, &demands);
                    if allocation.hooks.is_empty() {
                        continue;
                    }
                    let mut splice = Splice::default();
                    let mut seam = Seam::new(env.machine.mode, env.carried.unread);
                    emit(env, &site, &demands, &allocation, &mut Renamed::default(), &mut seam, &mut splice).unwrap();
                    olds.iter().for_each(|(_, range)| splice.highest.note(*range));
                    look(env, &site, &inst, &splice, &[insertion], &olds);
                }
            }
        }
    });
}

/// Registers for those of the wanted values that the instruction overwrites.
fn keep(
    env: &Component,
    inst: &Inst,
    before: &luthier_lifter::Live,
    after: RegSet,
    wanted: &[RegRange],
) -> Vec<(RegRange, RegRange)> {
    let mut without = after;
    without.subtract(&env.registers.never_used);
    inst.for_each_access(|a| without.insert(a.reg));
    wanted.iter().for_each(|range| without.insert_range(*range));
    let (nothing, loads) = (RegSet::EMPTY, luthier_lifter::InFlight::default());
    let site = Site {
        address: 0,
        live: before,
        loads: &loads,
        busy: &nothing,
        kept: &nothing,
        indexed: false,
        msb: Default::default(),
        last: false,
    };
    let mut pool = site.pool(env, &without, false);
    let written = |range: &&RegRange| {
        let mut writes = false;
        inst.for_each_access(|a| writes |= a.access.writes() && a.reg == range.first);
        writes
    };
    let kept = wanted.iter().filter(written);
    kept.filter_map(|range| Keeper::take(env, &mut pool, inst, *range, false)).map(|k| (k.of, k.kept)).collect()
}
