//! Hooks from `tests/hook_sources.py`, compiled and looked at. What they compute is tested end to end, on the mock
//! device.

use luthier_isa::{Flags, Reg, RegRange, RegSet, Target};

use super::{HookError, HookModule, HookSource};
use crate::{ArgSpec, RelocKind, Template};

macro_rules! fixture {
    ($name:literal) => {
        HookSource::Tree(include_str!(concat!("fixtures/", $name, ".json")).to_owned())
    };
}

fn compile(source: &HookSource, args: &[ArgSpec]) -> Template {
    HookModule::compile(source, Target::Gfx90a, args).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(source: &HookSource, args: &[ArgSpec]) -> HookError {
    HookModule::compile(source, Target::Gfx90a, args).map(|t| t.insts).expect_err("it compiles")
}

fn variable() -> ArgSpec {
    ArgSpec::Variable { symbol: "my counts".to_owned() }
}

fn vgpr(n: u16) -> ArgSpec {
    ArgSpec::Reg(RegRange::new(Reg::vgpr(n), 1))
}

fn bases(template: &Template) -> Vec<&str> {
    template.insts.iter().map(|i| i.info().base).collect()
}

fn set(regs: impl IntoIterator<Item = Reg>) -> RegSet {
    regs.into_iter().collect()
}

/// Invariants of every template.
fn check(t: &Template) {
    assert!(t.insts.iter().all(|i| !i.info().flags.contains(Flags::END)), "{:?}", t.insts);
    for inst in &t.insts {
        inst.for_each_access(|a| assert!(t.uses.contains(a.reg)));
    }
    let mut grouped = RegSet::EMPTY;
    for group in &t.groups {
        for unit in group.range.units() {
            assert!(!grouped.contains(unit), "{unit} is in two groups");
            grouped.insert(unit);
        }
    }
    for unit in t.uses.iter().filter(|u| u.is_sgpr() || u.is_vgpr() || u.is_agpr()) {
        assert!(grouped.contains(unit), "{unit} is in no group");
    }
    assert!(!t.clobbers.contains(Reg::EXEC_LO));
    assert_eq!(t.scratch_bytes, 0);
}

#[test]
fn a_counter_is_two_scalar_additions_in_place() {
    let t = compile(&fixture!("count"), &[ArgSpec::Counter]);
    check(&t);
    assert_eq!(bases(&t), ["s_add_u32", "s_addc_u32"]);
    let place = t.args[0].expect("the counter has a place");
    assert!(place.read && place.written && place.clobbered);
    assert_eq!(t.clobbers, set(place.range.units().chain([Reg::SCC])));
}

#[test]
fn counting_lanes_reads_exec() {
    let t = compile(&fixture!("active"), &[ArgSpec::Counter]);
    check(&t);
    assert_eq!(bases(&t), ["s_bcnt1_i32_b64", "s_add_u32", "s_addc_u32"]);
    assert!(t.live_in.contains(Reg::EXEC_LO));
}

#[test]
fn one_add_for_the_wave_whatever_exec_is() {
    let t = compile(&fixture!("bump"), &[variable(), ArgSpec::Const(7)]);
    check(&t);
    assert!(t.insts.len() <= 10, "{:?}", bases(&t));
    assert_eq!(t.args, [None, None]);
    // The index is in the addend, beside the distance from s_getpc's result.
    let relocs: Vec<_> = t.relocs.iter().map(|r| (r.symbol.as_str(), r.kind, r.addend)).collect();
    assert_eq!(relocs, [("my counts", RelocKind::Rel32Lo, 56 + 4), ("my counts", RelocKind::Rel32Hi, 56 + 12)]);
    assert_eq!(t.writes_inactive_lanes.len(), 2);
    assert!(t.writes_inactive_lanes.iter().all(Reg::is_vgpr));
    let exec_writes = t.insts.iter().filter(|i| {
        let mut writes = false;
        i.for_each_access(|a| writes |= a.reg == Reg::EXEC_LO && a.access.writes());
        writes
    });
    assert_eq!(exec_writes.count(), 2, "set and restored");
}

#[test]
fn a_wave_amount_of_64_bits() {
    let sgprs = ArgSpec::Reg(RegRange::new(Reg::sgpr(10), 2));
    let t = compile(&fixture!("bump_wide"), &[variable(), sgprs]);
    check(&t);
    let place = t.args[1].expect("the amount has a place");
    assert!(place.read && !place.written && place.range.count == 2);
    assert_eq!(t.writes_inactive_lanes.len(), 3);
    // Per lane it would not be one amount.
    let error = refused(&fixture!("bump_wide"), &[variable(), ArgSpec::Reg(RegRange::new(Reg::vgpr(10), 2))]);
    assert!(error.message.contains("lt.atomic_add adds for each lane"), "{error}");
    assert!(error.line > 0 && error.col > 0);
}

#[test]
fn a_branch_that_lanes_take_apart() {
    let t = compile(&fixture!("diverge"), &[variable(), vgpr(9)]);
    check(&t);
    assert!(bases(&t).contains(&"s_and_saveexec_b64") && bases(&t).contains(&"global_atomic_add"));
    assert_ne!(bases(&t).last(), Some(&"s_waitcnt"), "nothing is loaded, so nothing is waited for");
    assert!(t.writes_inactive_lanes.is_empty());
    let place = t.args[1].expect("the value has a place");
    assert!(place.range.first.is_vgpr() && place.read && !place.written);
}

#[test]
fn loops_and_arrays_need_no_scratch() {
    for source in [fixture!("collatz"), fixture!("table")] {
        let t = compile(&source, &[variable(), vgpr(0)]);
        check(&t);
    }
}

#[test]
fn loops_are_skipped_by_a_wave_without_lanes() {
    let t = compile(&fixture!("collatz"), &[variable(), vgpr(0)]);
    let first = t.insts.iter().find(|i| i.info().flags.contains(Flags::COND_BRANCH)).expect("a branch");
    assert_eq!(first.info().base, "s_cbranch_execz");
    let at: usize = t.insts.iter().take_while(|i| i.info().base != "s_cbranch_execz").map(|i| i.size()).sum();
    assert_eq!(first.branch_target(at as u64), Some(t.size() as u64));
    // What no argument brings is not read before it is set.
    let places: RegSet = t.args.iter().flatten().flat_map(|a| a.range.units()).collect();
    assert!(t.live_in.iter().all(|r| places.contains(r) || !r.is_sgpr()));
}

#[test]
fn written_arguments_stay_where_they_are() {
    let args = [
        ArgSpec::Counter,
        ArgSpec::Counter,
        ArgSpec::RegInOut(RegRange::new(Reg::vgpr(3), 1)),
        ArgSpec::Reg(RegRange::new(Reg::sgpr(4), 2)),
    ];
    let t = compile(&fixture!("exchange"), &args);
    check(&t);
    assert_eq!(t.results().map(|(i, _)| i).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(bases(&t), ["s_add_u32", "s_addc_u32", "s_add_u32", "s_addc_u32", "v_add_u32"]);
}

#[test]
fn a_wave_without_lanes_gets_one_where_vectors_decide() {
    // The condition of `n > 3` on 64-bit numbers is a vector comparison even where it is uniform.
    let args = [
        ArgSpec::Counter,
        ArgSpec::Reg(RegRange::new(Reg::sgpr(4), 2)),
        ArgSpec::RegInOut(RegRange::new(Reg::vgpr(0), 1)),
    ];
    let t = compile(&fixture!("conditional"), &args);
    check(&t);
    let bases = bases(&t);
    assert_eq!(bases[..3], ["s_mov_b64", "s_cmp_eq_u64", "s_cselect_b64"]);
    assert_eq!(bases.last(), Some(&"s_mov_b64"));
    // One lane runs that is not the application's.
    assert_eq!(t.writes_inactive_lanes, t.clobbers.iter().filter(|r| r.is_vgpr()).collect());
    assert_eq!(t.args.iter().flatten().count(), 3);
}

#[test]
fn a_counter_is_not_counted_by_some_lanes() {
    let error = refused(&fixture!("per_lane_counter"), &[ArgSpec::Counter, vgpr(0)]);
    assert!(error.message.contains("one value for the whole wave"), "{error}");
    assert_eq!(error.file, "hook_sources.py");
    // A uniform condition is another matter.
    check(&compile(&fixture!("per_lane_counter"), &[ArgSpec::Counter, ArgSpec::Reg(RegRange::new(Reg::sgpr(0), 1))]));
}

#[test]
fn the_whole_language() {
    let source = fixture!("everything");
    let args = [variable(), vgpr(1), vgpr(2), ArgSpec::Reg(RegRange::new(Reg::vgpr(4), 2)), variable()];
    let module = HookModule::new(&source).expect("the tree is read");
    let first = module.template(Target::Gfx90a, &args).unwrap_or_else(|e| panic!("{e}"));
    check(&first);
    assert!(first.uses_fp_mode);
    let again = module.template(Target::Gfx90a, &args).expect("it compiles");
    assert!(std::sync::Arc::ptr_eq(&first, &again), "compiled once");
}

#[test]
fn arguments_must_fit_their_parameters() {
    let cases = [
        (vec![], "takes 2 arguments, 0 given"),
        (vec![ArgSpec::Counter, ArgSpec::Const(1)], "a counter needs a parameter of type lt.counter"),
        (vec![variable(), variable()], "cannot hold the address of a device variable"),
        (vec![variable(), ArgSpec::Reg(RegRange::new(Reg::sgpr(4), 2))], "takes 1 register(s), s[4:5] is 2"),
        (vec![variable(), ArgSpec::RegInOut(RegRange::new(Reg::sgpr(4), 1))], "declare it lt.inout"),
    ];
    for (args, message) in cases {
        let error = refused(&fixture!("bump"), &args);
        assert!(error.message.contains(message), "{error}");
    }
    let error = refused(&fixture!("count"), &[ArgSpec::Const(1)]);
    assert!(error.message.contains("it needs one, nothing else"), "{error}");
}

#[test]
fn a_malformed_tree_is_an_error() {
    let bad = |text: &str| refused(&HookSource::Tree(text.to_owned()), &[]).message;
    assert!(bad("{").contains("cannot be read"));
    assert!(bad(r#"{"schema": 99, "name": "x", "functions": []}"#).contains("schema 99"));
    let body = r#"[{"at": [1, 1], "kind": {"assign": {"name": "x", "value":
        {"at": [1, 1], "type": "u32", "kind": {"float": 1}}}}}]"#;
    let unit = |locals: &str, body: &str| {
        format!(
            r#"{{"schema": 1, "name": "x", "functions": [{{"name": "x", "file": "f", "at": [1, 1], "params": [],
            "returns": null, "locals": {locals}, "body": {body}}}]}}"#
        )
    };
    assert!(bad(&unit("[]", body)).contains("a float constant needs a float type"));
    assert!(bad(&unit("[]", r#"[{"at": [1, 1], "kind": "break"}]"#)).contains("outside a loop"));
    assert!(
        bad(&unit(r#"[{"name": "x", "type": "f32"}]"#, &body.replace(r#"{"float": 1}"#, r#"{"local": "y"}"#)))
            .contains("no variable y")
    );
    // Types that do not agree are LLVM's to find, without a crash.
    let mixed = body.replace(
        r#"{"float": 1}"#,
        r#"{"binary": {"op": "add", "left": {"at": [1, 1], "type": "u32", "kind": {"int": 1}},
           "right": {"at": [1, 1], "type": "u64", "kind": {"local": "x"}}}}"#,
    );
    assert!(!bad(&unit(r#"[{"name": "x", "type": "u64"}]"#, &mixed)).is_empty());
}

#[test]
fn a_deep_tree_is_compiled_on_a_small_stack() {
    let nest = |n: usize| {
        let leaf = r#"{"at": [1, 1], "type": "u32", "kind": {"local": "x"}}"#.to_owned();
        let value = (0..n).fold(leaf, |inner, _| {
            format!(
                r#"{{"at": [1, 1], "type": "u32", "kind": {{"binary": {{"op": "mul", "left": {inner},
                "right": {{"at": [1, 1], "type": "u32", "kind": {{"local": "x"}}}}}}}}}}"#
            )
        });
        HookSource::Tree(format!(
            r#"{{"schema": 1, "name": "x", "functions": [{{"name": "x", "file": "f", "at": [1, 1],
            "params": [{{"name": "x", "type": "u32", "at": [1, 1]}}], "returns": null, "locals": [],
            "body": [{{"at": [1, 1], "kind": {{"assign": {{"name": "x", "value": {value}}}}}}}]}}]}}"#
        ))
    };
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        compile(&nest(320), &[vgpr(0)]);
        assert!(refused(&nest(400), &[vgpr(0)]).message.contains("nested"));
    });
    worker.expect("a thread").join().expect("no overflow");
}

#[test]
fn hooks_in_llvm_ir() {
    let text = br#"
        target triple = "amdgcn-amd-amdhsa"
        declare i64 @llvm.amdgcn.ballot.i64(i1)
        define void @"my hook"(ptr addrspace(5) %count, ptr addrspace(1) %out, i32 %lane) noinline {
          %old = load i64, ptr addrspace(5) %count
          %exec = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          %new = add i64 %old, %exec
          store i64 %new, ptr addrspace(5) %count
          store i32 %lane, ptr addrspace(1) %out
          ret void
        }
    "#;
    let source = HookSource::Bitcode { bytes: text.to_vec(), function: "my hook".to_owned() };
    let t = compile(&source, &[ArgSpec::Counter, variable(), vgpr(3)]);
    check(&t);
    assert!(t.args[0].is_some_and(|a| a.written) && t.args[2].is_some_and(|a| a.read));
    assert_eq!(t.relocs.len(), 2);
    let missing = HookSource::Bitcode { bytes: text.to_vec(), function: "other".to_owned() };
    assert!(refused(&missing, &[]).message.contains("no function other"));
    let garbage = HookSource::Bitcode { bytes: b"garbage".to_vec(), function: "x".to_owned() };
    assert!(!refused(&garbage, &[]).message.is_empty());
}

#[test]
fn a_hook_that_calls_out_is_refused() {
    let text = b"declare void @elsewhere()\ndefine void @f() {\n call void @elsewhere()\n ret void\n}\n";
    let source = HookSource::Bitcode { bytes: text.to_vec(), function: "f".to_owned() };
    let error = refused(&source, &[]);
    assert!(!error.message.is_empty());
}
