//! Hooks placed by the calling convention: as invisible as those in free registers, and dearer.

mod support;

use std::sync::Arc;

use luthier_codegen::*;
use luthier_isa::Mode;
use luthier_loader::CodeObject;
use support::launch::ran;
use support::*;

/// Scratch that code has to find and that the hardware knows, waves of 64 and of 32.
fn modes() -> impl Iterator<Item = Mode> {
    let some = [("gfx90a", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1201", 32)];
    let wanted = move |m: &Mode| some.contains(&(m.target().name(), m.wave().lanes())) || all_targets();
    Mode::all().filter(|m| m.target().has_tables() && !m.target().name().ends_with("generic")).filter(wanted)
}

fn made(object: &CodeObject, plan: &Plan, title: &str) -> CodeObject {
    let done = instrument(object, plan).unwrap_or_else(|e| panic!("{title}: {e}"));
    assert!(done.report.rejected.is_empty(), "{title}: {:?}", done.report.rejected.first());
    assert!(done.report.registers.iter().all(|k| k.scratch_after > k.scratch_before), "{title}");
    CodeObject::parse(done.bytes).unwrap()
}

fn called(object: &CodeObject, template: &Arc<Template>, args: Vec<Arg>, at: Where) -> Plan {
    Plan { placement: Placement::CallingConvention, ..everywhere(object, template, args, at) }
}

#[test]
fn kernels_do_not_see_hooks_that_are_placed_by_the_calling_convention() {
    for mode in modes() {
        let title = format!("{} in waves of {}", mode.target().name(), mode.wave().lanes());
        let (Some(memory), Some(scribbler)) = (memory_counter_for(mode), scribbler_for(mode)) else { return };
        let kernels: &[_] = if all_targets() { &["reduce", "call", "pressure"] } else { &["reduce", "call"] };
        for kernel in kernels {
            let Some(object) = kernel_for(mode, kernel, "O2") else { return };
            let title = format!("{title}: {kernel}");
            let counting = made(&object, &called(&object, &memory, vec![], Where::Before), &title);
            let scribbled = called(&object, &scribbler, scribbled(mode), Where::After);
            let scribbled = made(&object, &scribbled, &title);
            let free = made_in_free_registers(&object, &memory);
            for kernel in object.kernels() {
                let plain = ran(&object, mode, &kernel.name);
                for (new, counts) in [(&counting, true), (&scribbled, false)] {
                    let new = ran(new, mode, &kernel.name);
                    new.assert_like(&plain, &title);
                    if counts {
                        assert_eq!(new.total, Some(plain.report.instructions), "{title}");
                        let cheap = ran(&free, mode, &kernel.name);
                        assert!(cheap.report.instructions < new.report.instructions, "{title}");
                    }
                }
            }
        }
    }
}

fn made_in_free_registers(object: &CodeObject, template: &Arc<Template>) -> CodeObject {
    let done = instrument(object, &everywhere(object, template, vec![], Where::Before)).unwrap();
    CodeObject::parse(done.bytes).unwrap()
}

#[test]
fn without_scratch_a_hook_is_refused_by_name() {
    // A kernel that decides how large its stack is leaves no place behind it.
    let source = "
        .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
        .text
        .globl k
        .p2align 8
        .type k,@function
        k:
        v_mov_b32_e32 v0, 0
        s_endpgm
        .size k, .-k
        .rodata
        .p2align 6
        .amdhsa_kernel k
          .amdhsa_next_free_vgpr 8
          .amdhsa_next_free_sgpr 8
          .amdhsa_accum_offset 8
          .amdhsa_uses_dynamic_stack 1
        .end_amdhsa_kernel
        .amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .sgpr_count: 8
    .vgpr_count: 8
    .wavefront_size: 64
    .max_flat_workgroup_size: 256
...
        .end_amdgpu_metadata
    ";
    let (Some(object), Some(hook)) = (assemble("convention", source), counter()) else { return };
    let done = instrument(&object, &called(&object, &hook, vec![Arg::Slot(0)], Where::Before)).unwrap();
    assert_eq!(done.report.points, 0);
    assert_eq!(done.report.rejected.len(), 2);
    assert!(done.report.rejected.iter().all(|r| r.reason == Rejection::NoScratch { hook: "count".into() }));
}
