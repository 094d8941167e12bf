//! What a part does to registers: the facts of a [`Template`] that placement works from.

use luthier_isa::{Access, Flags, Inst, Mode, Operand, Reg, RegRange, RegSet, op::Op};

use super::{
    apart,
    code::{Code, successors},
    guard,
    lower::entry::Entry,
    stale, widen,
};
use crate::template::{ArgPlace, ArgSpec, RegGroup, Stack, Template};

/// What EXEC is, compared with the entry's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exec {
    /// The same.
    Entry,
    /// Lanes may be missing.
    Narrowed,
    /// Lanes may be there that were not.
    Foreign,
}

/// Where the arguments that hold a result at the end are. `places` are the arguments', as the entry laid them out.
pub fn results<'a>(places: &'a [Vec<RegRange>], args: &'a [ArgSpec]) -> impl Iterator<Item = RegRange> + use<'a> {
    places.iter().zip(args).filter(|(_, a)| a.is_written()).flat_map(|(p, _)| p.iter().copied())
}

/// Turns code into a template, whose arguments are where the entry has put them.
pub fn template(name: &str, mode: Mode, mut code: Code, entry: &Entry, args: &[ArgSpec]) -> Result<Template, String> {
    let places = entry.places.as_slice();
    drop_last_wait(&mut code);
    refuse_indexing(&code.insts)?;
    let at_end: RegSet = results(places, args).flat_map(RegRange::units).collect();
    let exec = exec_states(&code.insts, &code.offsets);
    let mut undefined = live_in(&code.insts, &code.offsets, &exec, &at_end);
    places.iter().flatten().chain([&entry.stack]).flat_map(|p| p.units()).for_each(|u| undefined.remove(u));
    guard::zero_undefined(&mut code, mode, &undefined)?;
    if !guard::acts_for_the_wave(&code, results(places, args)) {
        let loads = code.insts.iter().any(|inst| inst.info().flags.contains(Flags::SMEM | Flags::LOAD));
        let loads_anywhere = loads && vectors_set_scalars(&code);
        guard::skip_without_lanes(&mut code, mode, loads_anywhere)?;
    }
    widen::widen(&mut code)?;
    stale::wait(&mut code)?;
    apart::keep(&mut code)?;
    let Code { insts, offsets, relocs, data, stack, rows, lines } = code;
    let exec = exec_states(&insts, &offsets);
    // A wave without active lanes is given one, and what narrows EXEC from then on narrows that: the lane stays one that
    // the application has off.
    let is_given_a_lane = entry.exec.is_some();
    let (mut clobbers, mut writes_inactive_lanes) = (RegSet::EMPTY, RegSet::EMPTY);
    for (inst, exec) in insts.iter().zip(&exec) {
        let everywhere = is_given_a_lane || *exec == Exec::Foreign || inst.info().flags.contains(Flags::IGNORES_EXEC);
        inst.for_each_access(|a| {
            if a.access.writes() && !is_exec(a.reg) {
                clobbers.insert(a.reg);
                if everywhere && (a.reg.is_vgpr() || a.reg.is_agpr()) {
                    writes_inactive_lanes.insert(a.reg);
                }
            }
        });
    }

    let live = live_in(&insts, &offsets, &exec, &at_end);
    let place = |range: RegRange, written: bool| {
        let any = |set: &RegSet| range.units().any(|u| set.contains(u));
        let (read, clobbered) = (any(&live), any(&clobbers));
        // A result that is never touched keeps its value by itself.
        let written = written && clobbered;
        (read || written).then_some(ArgPlace { range, read, written, clobbered })
    };
    let placed = places.iter().zip(args);
    let args: Vec<Vec<_>> =
        placed.map(|(ranges, arg)| ranges.iter().map(|r| place(*r, arg.is_written())).collect()).collect();
    let stack = (stack > 0).then(|| Stack { bytes: stack, base: place(entry.stack, false) });
    let base = stack.and_then(|stack| stack.base);
    let given: RegSet = args.iter().flatten().flatten().chain(&base).flat_map(|a| a.range.units()).collect();
    let live_in = live.iter().filter(|r| given.contains(*r) || !is_renamable(*r)).collect();

    Ok(Template {
        name: name.to_owned(),
        groups: groups(&insts, args.iter().flatten().flatten().chain(&base)),
        uses_fp_mode: insts.iter().any(|i| i.info().flags.contains(Flags::FP_MODE)),
        insts,
        relocs,
        lines: rows.iter().map(|row| lines.get((*row as usize).wrapping_sub(1)).cloned()).collect(),
        args,
        clobbers,
        live_in,
        writes_inactive_lanes,
        data,
        stack,
        gives_a_lane: is_given_a_lane,
    })
}

/// Whether vector instructions set scalar registers, other than in `wave_atomic_add`: what they set depends on lanes
/// being active.
pub fn vectors_set_scalars(code: &Code) -> bool {
    let exec = exec_states(&code.insts, &code.offsets);
    let mut vectors =
        code.insts.iter().zip(exec).filter(|(i, e)| *e != Exec::Foreign && i.info().flags.contains(Flags::VALU));
    vectors.any(|(inst, _)| {
        let mut sets = false;
        inst.for_each_access(|a| sets |= a.access.writes() && !a.reg.is_vgpr() && !a.reg.is_agpr());
        sets
    })
}

/// Indexed operands reach registers that no operand names, and a renaming would tear apart.
fn refuse_indexing(insts: &[Inst]) -> Result<(), String> {
    let mut indexed = insts.iter().filter(|inst| {
        let mut sets = false;
        inst.for_each_access(|a| sets |= a.reg == Reg::GPR_IDX || a.implicit && is_renamable(a.reg));
        sets
    });
    match indexed.next() {
        Some(inst) => Err(format!("the hook indexes registers ({inst}), which a hook cannot")),
        None => Ok(()),
    }
}

fn is_exec(reg: Reg) -> bool {
    reg == Reg::EXEC_LO || reg == Reg::EXEC_HI
}

fn is_renamable(reg: Reg) -> bool {
    reg.is_sgpr() || reg.is_vgpr() || reg.is_agpr()
}

/// LLVM ends a part by waiting for everything, stores included. Nothing needs a store to be done, so a part that loads
/// nothing does not wait for memory (and does not make the application's loads late).
fn drop_last_wait(code: &mut Code) {
    let loads = |i: &Inst| {
        let flags = i.info().flags;
        flags.contains(Flags::LOAD) && !flags.contains(Flags::ATOMIC)
            || flags.intersects(Flags::ATOMIC_RETURN | Flags::SMEM)
    };
    if code.insts.iter().any(loads) {
        return;
    }
    while code.insts.last().is_some_and(waits_for_memory) {
        code.insts.pop();
        code.offsets.pop();
        code.rows.pop();
    }
}

/// `s_waitcnt` and its kin; not `s_waitcnt_depctr` and `s_wait_alu`, which wait for results.
fn waits_for_memory(inst: &Inst) -> bool {
    inst.info().flags.contains(Flags::WAIT) && inst.info().op() != Op::SWaitcntDepctr
}

/// EXEC before each instruction.
fn exec_states(insts: &[Inst], offsets: &[u32]) -> Vec<Exec> {
    let mut states = vec![Exec::Entry; insts.len()];
    let mut reached = vec![false; insts.len()];
    let mut work = vec![0];
    if let Some(first) = reached.first_mut() {
        *first = true;
    } else {
        return states;
    }
    while let Some(index) = work.pop() {
        let after = exec_after(&insts[index], states[index]);
        for next in successors(insts, offsets, index).into_iter().flatten().filter(|n| *n < insts.len()) {
            let joined = states[next].max(after);
            if !reached[next] || joined != states[next] {
                (reached[next], states[next]) = (true, joined);
                work.push(next);
            }
        }
    }
    states
}

fn exec_after(inst: &Inst, before: Exec) -> Exec {
    let mut writes = false;
    inst.for_each_access(|a| writes |= a.access.writes() && is_exec(a.reg));
    if !writes {
        return before;
    }
    // LLVM narrows EXEC with values computed from it and restores it from a copy; only a constant adds lanes.
    let constant = inst.operands().any(|(_, value)| value.is_constant());
    if constant && inst.info().flags.contains(Flags::SALU) { Exec::Foreign } else { Exec::Narrowed }
}

/// Units whose value at entry may matter; those of `at_end` do at the end.
fn live_in(insts: &[Inst], offsets: &[u32], exec: &[Exec], at_end: &RegSet) -> RegSet {
    let mut live = vec![RegSet::EMPTY; insts.len() + 1];
    live[insts.len()] = *at_end;
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..insts.len()).rev() {
            let mut set = RegSet::EMPTY;
            for next in successors(insts, offsets, index).into_iter().flatten() {
                set.union_with(&live[next.min(insts.len())]);
            }
            let mut reads = RegSet::EMPTY;
            insts[index].for_each_access(|a| {
                // A vector write leaves the lanes outside EXEC alone: it ends the old value only while EXEC is the
                // entry's (the lanes outside hold nothing).
                let kills = a.access == Access::Write
                    || a.access == Access::CondWrite && a.reg.is_vgpr() && exec[index] == Exec::Entry;
                if kills {
                    set.remove(a.reg);
                }
                if a.access.reads() {
                    reads.insert(a.reg);
                }
            });
            set.union_with(&reads);
            if set != live[index] {
                live[index] = set;
                changed = true;
            }
        }
    }
    live[0]
}

/// Joins the operands of several units that overlap.
fn groups<'a>(insts: &[Inst], args: impl Iterator<Item = &'a ArgPlace>) -> Vec<RegGroup> {
    let mut found: Vec<RegGroup> = Vec::new();
    let mut add = |range: RegRange, align: u8| {
        if !range.units().all(is_renamable) {
            return;
        }
        let (mut low, mut high, mut align) = (range.first, range.first.index() + usize::from(range.count), align);
        found.retain(|g| {
            let (first, end) = (g.range.first, g.range.first.index() + usize::from(g.range.count));
            let apart = end <= low.index() || first.index() >= high;
            if !apart {
                low = low.min(first);
                high = high.max(end);
                align = align.max(g.align);
            }
            apart
        });
        found.push(RegGroup { range: RegRange::new(low, (high - low.index()) as u8), align, limit: 256 });
    };
    for inst in insts {
        for (index, (info, value)) in inst.operands().enumerate() {
            if let Operand::Reg(range) = value
                && info.fixed.is_none()
            {
                add(range, alignment(inst, index, range));
            }
        }
        // Units that no operand names, should there be any.
        inst.for_each_access(|a| add(RegRange::new(a.reg, 1), 1));
    }
    args.for_each(|a| add(a.range, 1));
    found.sort_by_key(|g| g.range.first);
    found
}

/// What the encoding demands of the first register's number. Of SGPRs the decoder does not ask it.
fn alignment(inst: &Inst, operand: usize, range: RegRange) -> u8 {
    match range.count {
        1 => 1,
        2 if range.first.is_sgpr() => 2,
        _ if range.first.is_sgpr() => 4,
        _ => {
            let next = RegRange { first: range.first.offset(1), ..range };
            if inst.clone().set_operand(operand, Operand::Reg(next)).is_ok() { 1 } else { 2 }
        }
    }
}
