//! Hooks from `tests/support/hook_sources.py`, compiled for every processor and looked at. What they compute is tested end to end,
//! on the mock device.

use std::sync::Arc;

use luthier_isa::{Flags, Mode, Part, Reg, RegSet, Target, op::Op};

use luthier_isa::hazard::{Facts, Hazards};

use super::{HookModule, HookSource};
use crate::template::{ArgSpec, HookError, RelocKind, RelocTarget, Template, TemplateSource};

mod bitcode;

macro_rules! fixture {
    ($name:literal) => {
        HookSource::Tree(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/hook/fixtures/", $name, ".json")).to_owned(),
        )
    };
}
use fixture;

fn modes() -> impl Iterator<Item = Mode> {
    Mode::all().filter(|mode| mode.target().has_tables())
}

fn compile_for(source: &HookSource, mode: Mode, args: &[ArgSpec]) -> Result<Arc<Template>, HookError> {
    HookModule::new(source)?.template(mode, args)
}

fn compile(source: &HookSource, args: &[ArgSpec]) -> Arc<Template> {
    compile_for(source, Target::Gfx90a.into(), args).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(source: &HookSource, args: &[ArgSpec]) -> HookError {
    compile_for(source, Target::Gfx90a.into(), args).map(|t| t.insts.clone()).expect_err("it compiles")
}

fn variable() -> ArgSpec {
    ArgSpec::Variable { slot: 0 }
}

fn uniform(units: u8) -> ArgSpec {
    ArgSpec::Value { per_lane: false, units, part: Part::Whole, written: false }
}

fn lanes(units: u8) -> ArgSpec {
    ArgSpec::Value { per_lane: true, units, part: Part::Whole, written: false }
}

fn written(spec: ArgSpec) -> ArgSpec {
    match spec {
        ArgSpec::Value { per_lane, units, part, .. } => ArgSpec::Value { per_lane, units, part, written: true },
        other => other,
    }
}

fn bases(template: &Template) -> Vec<&str> {
    template.insts.iter().map(|i| i.info().op().name()).collect()
}

/// Invariants of every template.
fn check(t: &Template) {
    assert!(t.insts.iter().all(|i| !i.info().flags.contains(Flags::END)), "{:?}", t.insts);
    let mut grouped = RegSet::EMPTY;
    for group in &t.groups {
        for unit in group.range.units() {
            assert!(!grouped.contains(unit), "{unit} is in two groups");
            grouped.insert(unit);
        }
    }
    for inst in &t.insts {
        inst.for_each_access(|a| {
            let renamed = a.reg.is_sgpr() || a.reg.is_vgpr() || a.reg.is_agpr();
            assert!(!renamed || grouped.contains(a.reg), "{inst}: {} is in no group", a.reg);
        });
    }
    let mut end = 0;
    for inst in &t.insts {
        let to = inst.branch_target(end);
        assert!(to.is_none_or(|to| to <= t.size() as u64), "{inst} leaves the template");
        end += inst.size() as u64;
    }
    assert!(!t.clobbers.contains(Reg::EXEC_LO));
    assert!(!t.clobbers.contains(Reg::MODE) && !t.clobbers.contains(Reg::GPR_IDX), "{:?}", t.insts);
    for reloc in &t.relocs {
        let wide = t.insts[reloc.inst].literal64().is_some();
        assert_eq!(wide, matches!(reloc.kind, RelocKind::Rel64 | RelocKind::Abs64), "{}", t.insts[reloc.inst]);
        assert!(wide || t.insts[reloc.inst].literal().is_some(), "{}", t.insts[reloc.inst]);
    }
    // What no argument brings is not read before it is set.
    let stack = t.stack.and_then(|stack| stack.base);
    let places: RegSet = t.args.iter().flatten().flatten().chain(&stack).flat_map(|a| a.range.units()).collect();
    assert!(t.live_in.iter().all(|r| places.contains(r) || !r.is_sgpr()), "{:?}", t.live_in);
    rename(t);
    keeps_apart(t);
}

/// Whatever vector instructions of the application have read, the instructions keep away from each other, on each way
/// that runs none more than twice, as far as there are not too many.
fn keeps_apart(t: &Template) {
    const MOST_WAYS: usize = 500;
    let sizes = t.insts.iter().scan(0, |end, inst| Some(std::mem::replace(end, *end + inst.size() as u32)));
    let offsets: Vec<u32> = sizes.collect();
    let facts: Vec<Facts> = t.insts.iter().map(Facts::of).collect();
    let mut hazards = Hazards::brief();
    hazards.assume_read(&RegSet::EMPTY);
    let mut ways = vec![(0, hazards, vec![0u8; t.insts.len()])];
    for _ in 0..MOST_WAYS {
        let Some((mut at, mut hazards, mut runs)) = ways.pop() else { break };
        while at < t.insts.len() && runs[at] < 2 {
            let inst = &t.insts[at];
            runs[at] += 1;
            hazards.check(&facts[at], 0, |missing| {
                panic!("{}: {inst}: {}: {}", inst.info().mode.target().name(), missing.what, missing.remedy)
            });
            let next = super::code::successors(&t.insts, &offsets, at);
            if let (Some(_), Some(taken)) = (next[0], next[1]) {
                ways.push((taken, hazards.clone(), runs.clone()));
            }
            at = next[0].or(next[1]).unwrap_or(t.insts.len());
        }
    }
}

/// Every group can be moved to the other end of its file, as far as its alignment lets it.
fn rename(t: &Template) {
    use luthier_isa::{Operand, RegRange};
    let far = |range: RegRange| {
        let group = t.groups.iter().find(|g| g.range.units().any(|u| u == range.first)).expect("a group");
        let (end, file): (u16, fn(u16) -> Reg) = match () {
            () if range.first.is_vgpr() => (256, Reg::vgpr),
            () if range.first.is_agpr() => (256, Reg::agpr),
            () => (100, Reg::sgpr),
        };
        let align = u16::from(group.align);
        let (first, count) = (group.range.first.number(), u16::from(group.range.count));
        let new = (end - count) / align * align + first % align;
        let new = if new + count > end { new - align } else { new };
        RegRange { first: file(new + range.first.number() - first), ..range }
    };
    for inst in &t.insts {
        let mut moved = *inst;
        for (index, (info, value)) in inst.operands().enumerate() {
            if let Operand::Reg(range) = value
                && info.fixed.is_none()
                && (range.first.is_sgpr() || range.first.is_vgpr() || range.first.is_agpr())
            {
                let to = far(range);
                moved.set_operand(index, Operand::Reg(to)).unwrap_or_else(|e| panic!("{inst}: {range} to {to}: {e}"));
            }
        }
    }
}

/// Every fixture with arguments that fit it.
fn fixtures() -> Vec<(&'static str, HookSource, Vec<ArgSpec>)> {
    vec![
        ("count", fixture!("count"), vec![ArgSpec::Slot { per_lane: false, units: 2 }]),
        ("active", fixture!("active"), vec![ArgSpec::Slot { per_lane: false, units: 2 }]),
        ("bump", fixture!("bump"), vec![variable(), ArgSpec::Const(7)]),
        ("bump by literal", fixture!("bump"), vec![variable(), ArgSpec::Literal]),
        ("bump by register", fixture!("bump"), vec![variable(), uniform(1)]),
        ("bump_wide", fixture!("bump_wide"), vec![variable(), uniform(2)]),
        ("bump_wide at a register", fixture!("bump_wide"), vec![uniform(2), uniform(2)]),
        ("diverge", fixture!("diverge"), vec![variable(), lanes(1)]),
        ("collatz", fixture!("collatz"), vec![variable(), lanes(1)]),
        ("collatz of the wave", fixture!("collatz"), vec![variable(), uniform(1)]),
        ("table", fixture!("table"), vec![variable(), lanes(1)]),
        ("table of the wave", fixture!("table"), vec![variable(), uniform(1)]),
        (
            "exchange",
            fixture!("exchange"),
            vec![
                ArgSpec::Slot { per_lane: false, units: 2 },
                ArgSpec::Slot { per_lane: false, units: 2 },
                written(lanes(1)),
                uniform(2),
            ],
        ),
        (
            "per_lane_counter",
            fixture!("per_lane_counter"),
            vec![ArgSpec::Slot { per_lane: false, units: 2 }, uniform(1)],
        ),
        ("everything", fixture!("everything"), vec![variable(), lanes(1), lanes(1), lanes(2), variable()]),
        ("where", fixture!("where"), vec![variable(), ArgSpec::Literal, lanes(2)]),
        ("reached", fixture!("reached"), vec![variable(), ArgSpec::Literal, lanes(1)]),
        ("clocks", fixture!("clocks"), vec![variable()]),
        ("alike", fixture!("alike"), vec![variable(), lanes(1), ArgSpec::Const(32)]),
        (
            "conditional",
            fixture!("conditional"),
            vec![ArgSpec::Slot { per_lane: false, units: 2 }, uniform(2), written(lanes(1))],
        ),
        (
            "conditional of the wave",
            fixture!("conditional"),
            vec![ArgSpec::Slot { per_lane: false, units: 2 }, uniform(2), written(uniform(1))],
        ),
    ]
}

#[test]
fn every_hook_compiles_for_every_processor() {
    for mode in modes() {
        for (name, source, args) in fixtures() {
            let t = compile_for(&source, mode, &args)
                .unwrap_or_else(|e| panic!("{name} for {} {:?}: {e}", mode.target().name(), mode.wave()));
            if std::env::var_os("LUTHIER_SHOW_TEMPLATES").is_some() {
                println!("== {name} {} {:?}: {:?}", mode.target().name(), mode.wave(), t.args);
                t.insts.iter().for_each(|i| println!("    {i}"));
                println!("    clobbers {:?}; live in {:?}", t.clobbers, t.live_in);
            }
            check(&t);
        }
    }
}

#[test]
fn a_counter_is_two_scalar_additions_in_place() {
    for mode in modes() {
        let t = compile_for(&fixture!("count"), mode, &[ArgSpec::Slot { per_lane: false, units: 2 }])
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(t.insts.len() <= 2, "{:?}", t.insts);
        let place = t.args[0][0].expect("the counter has a place");
        assert!(place.read && place.written && place.clobbered);
        assert!(t.clobbers.contains_all(&place.range.units().collect()));
    }
}

#[test]
fn counting_lanes_reads_exec() {
    let t = compile(&fixture!("active"), &[ArgSpec::Slot { per_lane: false, units: 2 }]);
    assert_eq!(bases(&t), ["s_bcnt1_i32_b64", "s_add_u32", "s_addc_u32"]);
    assert!(t.live_in.contains(Reg::EXEC_LO));
}

#[test]
fn one_add_for_the_wave_whatever_exec_is() {
    let t = compile(&fixture!("bump"), &[variable(), ArgSpec::Const(7)]);
    assert!(t.insts.len() <= 10, "{:?}", bases(&t));
    assert!(t.args.iter().flatten().flatten().next().is_none());
    // The index is in the addend, beside the distance from s_getpc's result.
    let relocs: Vec<_> = t.relocs.iter().map(|r| (r.target.clone(), r.kind, r.addend)).collect();
    let target = || RelocTarget::Arg(0);
    assert_eq!(relocs, [(target(), RelocKind::Rel32Lo, 56 + 4), (target(), RelocKind::Rel32Hi, 56 + 12)]);
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
    let t = compile(&fixture!("bump_wide"), &[variable(), uniform(2)]);
    let place = t.args[1][0].expect("the amount has a place");
    assert!(place.read && !place.written && place.range.count == 2);
    assert_eq!(t.writes_inactive_lanes.len(), 3);
    // Per lane it would not be one amount.
    let error = refused(&fixture!("bump_wide"), &[variable(), lanes(2)]);
    assert!(error.message.contains("lt.atomic_add adds for each lane"), "{error}");
    assert!(error.place.is_some_and(|place| place.line > 0 && place.col > 0));
}

#[test]
fn a_branch_that_lanes_take_apart() {
    let t = compile(&fixture!("diverge"), &[variable(), lanes(1)]);
    assert!(bases(&t).contains(&"s_and_saveexec_b64") && bases(&t).contains(&"global_atomic_add"));
    assert_ne!(bases(&t).last(), Some(&"s_waitcnt"), "nothing is loaded, so nothing is waited for");
    assert!(t.writes_inactive_lanes.is_empty());
    let place = t.args[1][0].expect("the value has a place");
    assert!(place.range.first.is_vgpr() && place.read && !place.written);
}

#[test]
fn loops_are_skipped_by_a_wave_without_lanes() {
    let t = compile(&fixture!("collatz"), &[variable(), lanes(1)]);
    let first = t.insts.iter().find(|i| i.info().flags.contains(Flags::COND_BRANCH)).expect("a branch");
    assert_eq!(first.info().op(), Op::SCbranchExecz);
    let at: usize = t.insts.iter().take_while(|i| i.info().op() != Op::SCbranchExecz).map(|i| i.size()).sum();
    assert_eq!(first.branch_target(at as u64), Some(t.size() as u64));
}

#[test]
fn written_arguments_stay_where_they_are() {
    let args = [
        ArgSpec::Slot { per_lane: false, units: 2 },
        ArgSpec::Slot { per_lane: false, units: 2 },
        written(lanes(1)),
        uniform(2),
    ];
    let t = compile(&fixture!("exchange"), &args);
    let results = t.args.iter().map(|a| a.iter().flatten().any(|p| p.written));
    assert_eq!(results.collect::<Vec<_>>(), [true, true, true, false]);
    assert_eq!(bases(&t), ["s_add_u32", "s_addc_u32", "s_add_u32", "s_addc_u32", "v_add_u32"]);
}

#[test]
fn a_wave_without_lanes_gets_one_where_vectors_decide() {
    // The condition of `n > 3` on 64-bit numbers is a vector comparison even where it is uniform.
    let args = [ArgSpec::Slot { per_lane: false, units: 2 }, uniform(2), written(lanes(1))];
    let t = compile(&fixture!("conditional"), &args);
    let bases = bases(&t);
    assert_eq!(bases[..3], ["s_mov_b64", "s_cmp_eq_u64", "s_cselect_b64"]);
    assert_eq!(bases.last(), Some(&"s_mov_b64"));
    // One lane runs that is not the application's.
    assert_eq!(t.writes_inactive_lanes, t.clobbers.iter().filter(|r| r.is_vgpr()).collect());
    assert_eq!(t.args.iter().flatten().flatten().count(), 3);
}

#[test]
fn a_counter_is_not_counted_by_some_lanes() {
    let error = refused(&fixture!("per_lane_counter"), &[ArgSpec::Slot { per_lane: false, units: 2 }, lanes(1)]);
    assert!(error.message.contains("one value for the whole wave"), "{error}");
    assert_eq!(error.place.map(|place| place.file).as_deref(), Some("hook_sources.py"));
    // A uniform condition is another matter.
    drop(compile(&fixture!("per_lane_counter"), &[ArgSpec::Slot { per_lane: false, units: 2 }, uniform(1)]));
}

#[test]
fn a_shape_is_compiled_once() {
    let module = HookModule::new(&fixture!("bump")).expect("the tree is read");
    let (mode, args) = (Target::Gfx90a.into(), [variable(), ArgSpec::Literal]);
    let from_threads: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| module.template(mode, &args).expect("it compiles"))).collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    assert!(from_threads.iter().all(|t| Arc::ptr_eq(t, &from_threads[0])));
    let other = module.template(mode, &[variable(), uniform(1)]).expect("it compiles");
    assert!(!Arc::ptr_eq(&other, &from_threads[0]));
}

#[test]
fn results_on_denormal_modes_are_marked() {
    let args = [variable(), lanes(1), lanes(1), lanes(2), variable()];
    assert!(compile(&fixture!("everything"), &args).uses_fp_mode);
}

#[test]
fn a_number_that_is_patched_in_comes_in_scalar_registers() {
    for (source, units) in [(fixture!("bump"), 1), (fixture!("bump_wide"), 2)] {
        let t = compile(&source, &[variable(), ArgSpec::Literal]);
        let place = t.args[1][0].expect("a place");
        assert!(place.range.first.is_sgpr() && place.range.count == units && place.read && !place.written);
    }
}

#[test]
fn one_variable_twice_is_one() {
    let args = [variable(), lanes(1), lanes(1), lanes(2), ArgSpec::Variable { slot: 0 }];
    let t = compile(&fixture!("everything"), &args);
    assert!(t.relocs.iter().all(|r| r.target == RelocTarget::Arg(0)));
    let args = [variable(), lanes(1), lanes(1), lanes(2), ArgSpec::Variable { slot: 4 }];
    let t = compile(&fixture!("everything"), &args);
    assert!(t.relocs.iter().any(|r| r.target == RelocTarget::Arg(4)));
}

#[test]
fn arguments_must_fit_their_parameters() {
    let cases = [
        (vec![], "takes 2 arguments, 0 given"),
        (vec![ArgSpec::Slot { per_lane: false, units: 2 }, ArgSpec::Const(1)], "declare it lt.counter"),
        (vec![variable(), variable()], "cannot hold the address of a device variable"),
        (vec![variable(), uniform(2)], "takes 1 register(s), it is given 2"),
        (vec![variable(), written(uniform(1))], "declare it lt.inout"),
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
        compile(&nest(320), &[lanes(1)]);
        assert!(refused(&nest(400), &[lanes(1)]).message.contains("nested"));
    });
    worker.expect("a thread").join().expect("no overflow");
}

#[test]
fn scalar_atomics_are_scalar_instructions_or_refused_at_their_line() {
    let source = fixture!("scalar_atomics");
    let args = [variable(), ArgSpec::Variable { slot: 1 }, uniform(1)];
    for mode in modes() {
        let name = mode.target().name();
        let compiled = compile_for(&source, mode, &args);
        if mode.plain(Op::SAtomicAdd).is_none() {
            let error = compiled.map(|t| t.insts.clone()).expect_err("it compiles");
            assert!(
                error.message.contains(&format!("{name} has no scalar atomics")) && error.place.is_some(),
                "{error}"
            );
            continue;
        }
        let template = compiled.unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&template);
        let vectors = |reg: &Reg| reg.is_vgpr() || reg.is_agpr();
        assert!(!template.clobbers.iter().any(|reg| vectors(&reg)), "{name}: {:?}", template.insts);
        let bases = bases(&template);
        for wanted in ["s_atomic_add", "s_atomic_cmpswap_x2", "s_atomic_smin"] {
            assert!(bases.contains(&wanted), "{name}: {bases:?}");
        }
        // Of the one whose old value is asked for, and of those alone.
        let returns = template.insts.iter().filter(|i| i.info().flags.contains(Flags::ATOMIC_RETURN));
        assert_eq!(returns.count(), 1, "{name}: {:?}", template.insts);
    }
}
