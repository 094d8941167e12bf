//! Original and instrumented objects on the mock device: same memory afterwards, and the count is the device's.

mod support;

use std::sync::Arc;

use luthier_codegen::*;
use luthier_emulator::{Device, ModuleId};
use luthier_isa::{Mode, Target};
use luthier_loader::CodeObject;
use support::launch::{run, run_what};
use support::*;

/// What hooks are put into is no clause any more, and registers are given up at the end only: such hints become `s_nop`.
fn without_hints(histogram: &[(&'static str, u64)]) -> std::collections::BTreeMap<&'static str, u64> {
    let mut all = std::collections::BTreeMap::new();
    for &(name, count) in histogram {
        let name = if matches!(name, "s_clause" | "s_sendmsg") { "s_nop" } else { name };
        *all.entry(name).or_insert(0) += count;
    }
    all
}

/// Runs every kernel of the object with and without the hook everywhere. How many ran.
fn compare(
    target: Target,
    name: &str,
    object: &CodeObject,
    template: &Arc<Template>,
    args: &[Arg],
    when: Where,
) -> usize {
    let plan = everywhere(object, template, args.to_vec(), when);
    let done = instrument(object, &plan).unwrap_or_else(|e| panic!("{name}: {e}"));
    let rejected: Vec<_> = done.report.rejected.iter().take(3).collect();
    assert!(done.report.rejected.is_empty(), "{name}: {rejected:?}");
    let new = CodeObject::parse(done.bytes).unwrap();
    let mut count = 0;
    for kernel in object.kernels() {
        let most = kernel.metadata().and_then(|m| m.max_flat_workgroup_size).unwrap_or(256);
        let workgroup = most.min(256) as u32;
        let sizes = [workgroup * 2, workgroup];
        let plain = match run(target, object, &kernel.name, sizes) {
            Ok(done) => done,
            Err(e) => {
                eprintln!("{name}: {}: not run, since the original stops: {e}", kernel.name);
                continue;
            }
        };
        let ran = run(target, &new, &kernel.name, sizes).unwrap_or_else(|e| panic!("{name}: {e}"));
        ran.assert_like(&plain, name);
        let (report, old) = (ran.report, plain.report);
        assert_eq!(without_hints(&report.app_histogram), without_hints(&old.histogram), "{name}");
        assert_eq!(report.findings.len(), old.findings.len(), "{name}: {:?}", report.findings.first());
        let ends = |(mnemonic, _): &&(&str, u64)| matches!(*mnemonic, "s_endpgm" | "s_setpc_b64" | "s_set_pc_i64");
        let without: u64 = old.histogram.iter().filter(ends).map(|(_, n)| n).sum();
        let wanted = if when == Where::Before { old.instructions } else { old.instructions - without };
        assert_eq!(ran.total, Some(wanted), "{name}: the count {when:?}");
        count += 1;
    }
    count
}

/// The object with the hook everywhere, loaded beside the original on a device; and where its variable is.
fn beside(device: &Device, object: &CodeObject, original: ModuleId, mut plan: Plan) -> Option<(ModuleId, u64)> {
    let known = object.symbols().iter().find(|s| s.name.ends_with(".kd")).unwrap();
    let base = device.symbol(original, &known.name).unwrap().0 - known.value;
    let total = device.alloc(8).unwrap();
    device.write(total, &[0; 8]).unwrap();
    plan.beside = Some(Beside { original: base, variables: vec![total] });
    let done = instrument(object, &plan).unwrap();
    if done.report.rejected.iter().any(|r| r.reason.to_string().contains("calls through a pointer")) {
        return None;
    }
    assert!(done.report.rejected.is_empty(), "{:?}", done.report.rejected.first());
    let new = CodeObject::parse(done.bytes).unwrap();
    assert!(new.symbol("tool.total").is_none());
    Some((device.load(&new).unwrap(), total))
}

#[test]
fn an_object_beside_the_original_uses_what_the_original_has() {
    let (Some(in_registers), Some(in_memory)) = (counter(), memory_counter()) else { return };
    let (mut count, mut refused) = (0, Vec::new());
    for name in KERNELS {
        for (level, template, args) in [("O0", &in_memory, vec![]), ("O3", &in_registers, vec![Arg::Slot(0)])] {
            let Some(object) = kernel(name, level) else { return };
            for kernel in object.kernels() {
                let Ok(plain) = run(TARGET, &object, &kernel.name, [128, 64]) else { continue };
                let plan = || everywhere(&object, template, args.clone(), Where::Before);
                let is_refused = std::cell::Cell::new(false);
                let ran = run_what(TARGET, &object, &kernel.name, [128, 64], |device, module| {
                    let made = beside(device, &object, module, plan());
                    is_refused.set(made.is_none());
                    made.map_or((module, None), |(module, total)| (module, Some(total)))
                })
                .unwrap_or_else(|e| panic!("{name} {level}: {e}"));
                if is_refused.get() {
                    refused.push(*name);
                    continue;
                }
                ran.assert_like(&plain, &format!("{name} {level}"));
                assert_eq!(ran.total, Some(plain.report.instructions), "{name} {level}");
                count += 1;
            }
        }
    }
    refused.dedup();
    assert!(count >= 2 * (KERNELS.len() - 2), "only {count} ran");
    assert_eq!(refused, ["pointer"]);
}

const KERNELS: &[&str] = &[
    "vecadd",
    "saxpy",
    "reduce",
    "histogram",
    "collatz",
    "call",
    "pointer",
    "scratch",
    "half",
    "double",
    "wide",
    "choose",
    "table",
    "pair",
    "matmul",
];

fn compiled(template: Option<Arc<Template>>, args: &[Arg], levels: &[&str]) {
    let Some(template) = template else { return };
    let mut count = 0;
    for name in KERNELS {
        for level in levels {
            let Some(object) = kernel(name, level) else { return };
            for when in [Where::Before, Where::After] {
                count += compare(TARGET, &format!("{name} {level} {when:?}"), &object, &template, args, when);
            }
        }
    }
    assert!(count >= KERNELS.len() * levels.len(), "only {count} ran");
}

#[test]
fn a_counter_in_registers_changes_nothing_and_counts_everything() {
    compiled(counter(), &[Arg::Slot(0)], &["O0", "O1", "O3"]);
}

#[test]
fn a_hook_that_touches_exec_and_memory_changes_nothing_and_counts_everything() {
    compiled(memory_counter(), &[], &["O0", "O3"]);
}

/// One processor of each kind, in its wave sizes.
fn modes() -> Vec<Mode> {
    let all = all_targets();
    let some = ["gfx900", "gfx908", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];
    let wanted = |m: &Mode| m.target().has_tables() && (all || some.contains(&m.target().name()));
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

#[test]
fn hooks_change_nothing_and_count_everything_on_every_processor() {
    for mode in modes() {
        let (Some(in_registers), Some(in_memory)) = (counter_for(mode), memory_counter_for(mode)) else { return };
        let mut count = 0;
        for name in ["vecadd", "reduce", "call", "matmul", "scratch"] {
            let Some(object) = kernel_for(mode, name, "O2") else { return };
            for when in [Where::Before, Where::After] {
                let title = format!("{} w{} {name} {when:?}", mode.target().name(), mode.wave().lanes());
                count += compare(mode.target(), &title, &object, &in_registers, &[Arg::Slot(0)], when);
                count += compare(mode.target(), &title, &object, &in_memory, &[], when);
            }
        }
        assert!(count >= 18, "only {count} ran on {}", mode.target().name());
    }
}

#[luthier_needs::needs(corpus)]
#[test]
fn triton_kernels_count_right() {
    let corpus = corpus();
    let (Some(in_registers), Some(in_memory)) = (counter(), memory_counter()) else { return };
    let mut count = 0;
    let mut files: Vec<_> =
        std::fs::read_dir(corpus.join("triton/gfx90a")).unwrap().flatten().map(|e| e.path()).collect();
    files.sort();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "hsaco")) {
        let object = CodeObject::parse(std::fs::read(path).unwrap()).unwrap();
        for when in [Where::Before, Where::After] {
            let name = path.file_name().unwrap().to_string_lossy();
            count += compare(TARGET, &name, &object, &in_registers, &[Arg::Slot(0)], when);
            count += compare(TARGET, &name, &object, &in_memory, &[], when);
        }
    }
    assert!(count > 0);
}

/// A kernel that has something in every SGPR most of the time, with SCC and VCC live now and then: counters live in
/// lanes, and hooks work with registers on loan.
#[test]
fn a_kernel_without_a_free_scalar_register() {
    let mut body = String::new();
    (2..102).filter(|n| !(100..102).contains(n)).for_each(|n| body += &format!("  s_movk_i32 s{n}, {}\n", n * 3));
    body += "  s_load_dwordx2 s[100:101], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_mov_b32 s0, 7\n  s_mov_b32 s1, 9\n";
    body += "  v_cmp_lt_u32_e32 vcc, 5, v0\n  s_cmp_eq_u32 s0, 7\n  s_cselect_b32 s1, s2, s3\n";
    body += "  v_cndmask_b32_e64 v1, 1, 2, vcc\n  s_movk_i32 vcc_lo, 77\n";
    (1..100).for_each(|n| body += &format!("  s_add_u32 s0, s0, s{n}\n  s_addc_u32 s0, s0, vcc_lo\n"));
    body += "  v_add_u32_e32 v1, s0, v1\n  v_lshlrev_b32_e32 v0, 2, v0\n  global_store_dword v0, v1, s[100:101]\n";
    let text = include_str!("support/huge.s");
    let (start, end) = (text.find("  s_mov_b32 s0, 3").unwrap(), text.find(".Lend:").unwrap());
    let source = format!("{}{body}{}", &text[..start], &text[end..])
        .replace("huge", "full")
        .replace("next_free_sgpr 16", "next_free_sgpr 102\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1")
        .replace("kernarg_segment_size: 0", "kernarg_segment_size: 8")
        .replace(".args: []", ".args: [{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]");
    let Some(object) = assemble("full", &source) else { return };
    let (Some(in_registers), Some(in_memory)) = (counter(), memory_counter()) else { return };
    for when in [Where::Before, Where::After] {
        assert_eq!(compare(TARGET, "full, counter", &object, &in_registers, &[Arg::Slot(0)], when), 1);
        assert_eq!(compare(TARGET, "full, memory", &object, &in_memory, &[], when), 1);
    }
}
