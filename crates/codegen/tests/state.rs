//! At each instruction of the application every live register of the instrumented run holds what it holds in the plain
//! one.
//!
//! `LUTHIER_ALL_TARGETS=1` takes every processor, and every kernel at every level of optimization.

#[path = "support/lockstep.rs"]
mod lockstep;
mod support;

use std::sync::Arc;

use lockstep::{Compared, judge};
use luthier_codegen::*;
use luthier_isa::Mode;
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::launch::{BUFFER, launch_of};
use support::*;

const TARGETS: [&str; 9] =
    ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

fn modes() -> Vec<Mode> {
    let wanted = |m: &Mode| all_targets() || TARGETS.contains(&m.target().name());
    let known = |m: &Mode| m.target().has_tables() && !m.target().name().ends_with("generic");
    Mode::all().filter(known).filter(wanted).collect()
}

/// Hooks before and behind every instruction, two at each place: one counts, in registers or in memory; the other looks
/// at special state and leaves other things in whatever it was given.
fn plan(object: &CodeObject, hooks: &[(Arc<Template>, Vec<Arg>)]) -> Plan {
    let mut plan = everywhere(object, &hooks[0].0, Vec::new(), Where::Before);
    plan.hooks = hooks.iter().map(|(template, _)| Arc::new(template.clone()) as Arc<dyn TemplateSource>).collect();
    let behind = everywhere(object, &hooks[0].0, Vec::new(), Where::After).insertions;
    let places = std::mem::take(&mut plan.insertions).into_iter().chain(behind);
    for (n, place) in places.enumerate() {
        // The counters in turns.
        for hook in [n % 2, 2] {
            let args = hooks[hook].1.clone().into();
            plan.insertions.push(Insertion { body: Body::Hook { hook, args }, ..place.clone() });
        }
    }
    plan
}

/// Runs a kernel with and without hooks.
fn compare(mode: Mode, object: &CodeObject, kernel: &str) -> Result<Compared, String> {
    let hooks = [
        (counter_for(mode).ok_or("no LLVM")?, vec![Arg::Slot(0)]),
        (memory_counter_for(mode).ok_or("no LLVM")?, vec![]),
        (scribbler_for(mode).ok_or("no LLVM")?, scribbled(mode)),
    ];
    let group = 2 * mode.wave().lanes() - 3;
    let judged = judge(mode, object, &plan(object, &hooks), |device, module| {
        let (launch, buffers) =
            launch_of(device, module, object, kernel, [group * 2, group]).expect("the kernel has metadata");
        (launch, buffers.into_iter().map(|address| (address, BUFFER)).collect())
    })?;
    let rejected: Vec<String> = judged.report.rejected.iter().take(2).map(|r| r.reason.to_string()).collect();
    if !rejected.is_empty() {
        return Err(format!("{} hooks are rejected: {rejected:?}", judged.report.rejected.len()));
    }
    match judged.compared.stopped {
        Some(error) => Err(format!("the plain run stops: {error}")),
        None => Ok(judged.compared),
    }
}

#[test]
fn every_live_register_is_as_in_the_plain_run_at_every_instruction() {
    let (kernels, levels): (&[&str], &[&str]) = match all_targets() {
        true => (
            &["vecadd", "reduce", "histogram", "call", "pointer", "scratch", "double", "wide", "matmul"],
            &["O0", "O1", "O3"],
        ),
        false => (&["reduce", "call"], &["O1"]),
    };
    let mut wrong = Vec::new();
    for mode in modes() {
        let (mut steps, mut values) = (0, 0);
        for name in kernels {
            for level in levels {
                let Some(object) = kernel_for(mode, name, level) else { return };
                for kernel in object.kernels() {
                    match compare(mode, &object, &kernel.name) {
                        Ok(compared) => (steps, values) = (steps + compared.steps, values + compared.values),
                        Err(e) => wrong.push(format!("{mode:?} {name} -{level}, {}: {e}", kernel.name)),
                    }
                }
            }
        }
        println!(
            "{} of {} lanes: {values} registers at {steps} instructions",
            mode.target().name(),
            mode.wave().lanes()
        );
        if steps < 300 || values < 5 * steps {
            wrong.push(format!("{mode:?}: only {values} registers at {steps} instructions"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_difference_in_a_live_register_is_seen() {
    let mode = Mode::from(TARGET);
    let Some(object) = kernel_for(mode, "reduce", "O1") else { return };
    let Some(template) = scribbler_for(mode) else { return };
    // A hook that gives a live register another value for good.
    let program = Program::lift(&object).unwrap();
    let instr = program.instrs().iter().nth(20).unwrap();
    let live = luthier_lifter::Liveness::of(&program, program.func_of(instr)).points(program.block_of(instr));
    let point = live.iter().find(|p| p.instr == instr).unwrap();
    let reg = point.before.active.iter().find(|r| r.is_sgpr()).unwrap();
    let mut plan = everywhere(&object, &template, vec![], Where::Before);
    let inst = instructions(mode, &format!("s_xor_b32 {reg}, {reg}, 1\n")).unwrap()[0];
    plan.insertions = vec![Insertion {
        address: program.vaddr(instr),
        at: Where::Before,
        body: Body::Raw(vec![inst].into()),
        order: 0,
    }];
    let kernel = &object.kernels()[0].name;
    let said = judge(mode, &object, &plan, |device, module| {
        (launch_of(device, module, &object, kernel, [128, 128]).unwrap().0, vec![])
    });
    let said = said.unwrap_err();
    assert!(said.contains(&format!("{reg} is ")), "{said}");
}
