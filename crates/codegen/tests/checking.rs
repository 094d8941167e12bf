//! Which placements the splice checker proves: with a hook whose template lies about what it overwrites, so that placement
//! goes wrong wherever that is live.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use luthier_codegen::check::{Violation, Wrong};
use luthier_codegen::*;
use luthier_isa::Reg;
use luthier_loader::CodeObject;
use support::*;

/// A kernel with `pairs` places at which SCC is live, each behind one at which it is not.
fn kernel(pairs: usize) -> Option<CodeObject> {
    let mut source = String::from(".text\n.protected k\n.globl k\n.p2align 8\n.type k,@function\nk:\n");
    for n in 0..pairs {
        writeln!(source, "  s_cmp_eq_u32 s0, {}\n  s_cselect_b32 s1, s0, s2", n % 60).unwrap();
    }
    source += "  s_endpgm\n.size k, .-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 8\n";
    source += "  .amdhsa_next_free_sgpr 16\n  .amdhsa_accum_offset 8\n.end_amdhsa_kernel\n";
    assemble("checking", &source)
}

/// A counter in front of each instruction, that does not say that it overwrites SCC.
fn lying(object: &CodeObject, check: Checking) -> Option<Plan> {
    let mut template = (*counter()?).clone();
    template.clobbers.remove(Reg::SCC);
    Some(Plan { check, ..everywhere(object, &Arc::new(template), vec![Arg::Slot(0)], Where::Before) })
}

fn violations(object: &CodeObject, check: Checking) -> Option<Vec<Violation>> {
    match instrument(object, &lying(object, check)?) {
        Err(CodegenError::Check(found)) => Some(found),
        Err(other) => panic!("{other}"),
        Ok(_) => Some(Vec::new()),
    }
}

fn addresses(found: &[Violation]) -> BTreeSet<u64> {
    assert!(found.iter().all(|v| matches!(v.kind, Wrong::Value { reg: Reg::SCC, .. })), "{found:?}");
    found.iter().map(|v| v.address).collect()
}

#[luthier_needs::needs(llvm)]
#[test]
fn each_wrong_placement_of_a_small_plan_is_reported_unless_nothing_is_to_be_proven() {
    let Some(object) = kernel(10) else { return };
    let sample = addresses(&violations(&object, Checking::default()).unwrap());
    assert_eq!(sample.len(), 10);
    assert_eq!(sample, addresses(&violations(&object, Checking::Everything).unwrap()));
    let error = instrument(&object, &lying(&object, Checking::Sample).unwrap()).unwrap_err().to_string();
    let first = sample.first().unwrap();
    assert!(error.contains("10 wrong placements") && error.contains(&format!("at {first:#x}: scc")), "{error}");
    if !cfg!(debug_assertions) {
        assert_eq!(violations(&object, Checking::Nothing).unwrap(), []);
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn of_a_large_plan_the_same_few_wrong_placements_are_reported_each_time() {
    if cfg!(debug_assertions) {
        return; // All are, in debug builds.
    }
    let Some(object) = kernel(3000) else { return };
    let all = addresses(&violations(&object, Checking::Everything).unwrap());
    assert_eq!(all.len(), 3000);
    let sample = addresses(&violations(&object, Checking::Sample).unwrap());
    assert!((20..100).contains(&sample.len()) && sample.is_subset(&all), "{} of 3000", sample.len());
    assert_eq!(sample, addresses(&violations(&object, Checking::Sample).unwrap()));
}
