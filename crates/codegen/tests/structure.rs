//! What LLVM's tools and our own loader say of instrumented objects, and what is refused.

mod support;

use luthier_codegen::*;
use luthier_isa::Flags;
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::*;

fn counted(object: &CodeObject, when: Where) -> Option<Instrumented> {
    counted_by(object, when, Bodies::InPlace)
}

fn counted_by(object: &CodeObject, when: Where, bodies: Bodies) -> Option<Instrumented> {
    let plan = Plan { bodies, ..everywhere(object, &counter()?, vec![Arg::Slot(0)], when) };
    Some(instrument(object, &plan).unwrap())
}

#[luthier_needs::needs(corpus, llvm)]
#[test]
fn the_whole_corpus_comes_out_well_formed() {
    let corpus = corpus();
    let mut count = 0;
    for folder in ["clang", "triton", "bitsandbytes"] {
        let files = std::fs::read_dir(corpus.join(folder).join("gfx90a")).unwrap().flatten().map(|e| e.path());
        for path in files.filter(|p| p.extension().is_some_and(|e| e == "hsaco")) {
            let object = CodeObject::parse(std::fs::read(&path).unwrap()).unwrap();
            let Some(done) = counted(&object, Where::Before) else { return };
            let new = CodeObject::parse(done.bytes.clone()).unwrap();
            let uncalled = Rejection::SlotWithoutKernel;
            assert!(done.report.rejected.iter().all(|r| r.reason == uncalled), "{path:?}");
            let per_point = done.report.inserted_instructions as f64 / done.report.points as f64;
            assert!(per_point <= 4.0, "{path:?}: {per_point} instructions a point");

            // Each copied instruction has one origin, and each origin one copy.
            let origins = new.origin_map().unwrap().unwrap();
            let mut from: Vec<u64> = origins.iter().map(|(_, original)| original).collect();
            from.sort_unstable();
            assert!(from.windows(2).all(|w| w[0] < w[1]), "{path:?}");
            assert_eq!(from.len(), done.report.copied_instructions);
            let (old, lifted) = (Program::lift(&object).unwrap(), Program::lift(&new).unwrap());
            for (at, original) in origins.iter() {
                let copy = lifted.instr_at(at).map(|i| *lifted.inst(i));
                let app = *old.inst(old.instr_at(original).unwrap());
                let copy = copy.unwrap_or_else(|| panic!("{path:?}: no instruction at {at:#x}"));
                let moved = app.info().flags.intersects(Flags::BRANCH | Flags::COND_BRANCH | Flags::CALL);
                let sum = matches!(app.info().base, "s_add_u32" | "s_addc_u32");
                assert!(
                    copy.words() == app.words() || (moved || sum) && copy.info().base == app.info().base,
                    "{app} -> {copy}"
                );
            }

            let file = scratch("corpus.hsaco");
            std::fs::write(&file, &done.bytes).unwrap();
            let Some(readelf) = llvm("llvm-readelf") else { return };
            let text = output(&readelf, &["-a", "-W", file.to_str().unwrap()]);
            assert!(!text.contains("warning") && text.contains("tool.total"), "{path:?}");
            let text = output(&llvm("llvm-objdump").unwrap(), &["-d", file.to_str().unwrap()]);
            assert!(!text.contains("warning") && text.contains(".instrumented>:"), "{path:?}");
            count += 1;
        }
    }
    assert!(count > 25, "{count} objects");
}

#[test]
fn an_instrumented_object_is_not_instrumented_again() {
    let Some(object) = kernel("vecadd", "O3") else { return };
    let Some(done) = counted(&object, Where::Before) else { return };
    let again = CodeObject::parse(done.bytes).unwrap();
    let plan = everywhere(&object, &counter().unwrap(), vec![Arg::Slot(0)], Where::Before);
    assert!(matches!(instrument(&again, &plan), Err(CodegenError::AlreadyInstrumented { .. })));
}

#[test]
fn a_plan_that_makes_no_sense_is_an_error_or_a_rejection_with_a_reason() {
    let Some(object) = kernel("vecadd", "O3") else { return };
    let Some(template) = counter() else { return };
    let good = everywhere(&object, &template, vec![Arg::Slot(0)], Where::Before);

    let mut plan = good.clone();
    plan.slots[0] = Slot::counter("tool.total", "tool.total", 4);
    assert!(matches!(instrument(&object, &plan), Err(CodegenError::Slot { .. })));
    for (name, size, align, init) in
        [("vecadd", 8, 8, 0), ("x", 8, 3, 0), ("x", 8, 8, 9), ("", 8, 8, 0), ("x", u64::MAX, 8, 0)]
    {
        let mut plan = good.clone();
        plan.variables.push(Variable { name: name.into(), size, align, init: vec![0; init] });
        assert!(matches!(instrument(&object, &plan), Err(CodegenError::Variable { .. })), "{name} {size} {align}");
    }

    let rejected = |change: &dyn Fn(&mut Insertion)| {
        let mut plan = good.clone();
        change(&mut plan.insertions[3]);
        let report = instrument(&object, &plan).unwrap().report;
        assert_eq!(report.rejected.len(), 1, "{:?}", report.rejected);
        assert_eq!(report.points, good.insertions.len() - 1);
        report.rejected[0].reason.to_string()
    };
    assert!(rejected(&|i| i.address += 1).contains("no instruction starts at"));
    let with = |args: Vec<Arg>| rejected(&move |i| i.body = Body::Hook { hook: 0, args: args.clone().into() });
    assert!(with(vec![]).contains("has 1 arguments, 0 were given"));
    assert!(with(vec![Arg::Slot(7)]).contains("there is no slot 7: the plan has 1"));
    assert!(with(vec![Arg::Reg(s(0, 1))]).contains("has 2 registers, s0 is given"));
    assert!(with(vec![Arg::Const(1)]).contains("no value is given for it"));
}

#[test]
fn variables_keep_their_first_values() {
    let Some(object) = kernel("vecadd", "O3") else { return };
    let Some(template) = counter() else { return };
    let mut plan = everywhere(&object, &template, vec![Arg::Slot(0)], Where::Before);
    plan.variables.push(Variable { name: "tool.table".into(), size: 100, align: 64, init: (0..60).collect() });
    plan.variables.push(Variable { name: "tool.more".into(), size: 3, align: 1, init: vec![1, 2, 3] });
    let new = CodeObject::parse(instrument(&object, &plan).unwrap().bytes).unwrap();
    let loader = luthier_loader::MockLoader::single(new.clone(), 0x10_0000).unwrap();
    let image = &loader.objects()[0];
    let read = |name: &str, len: usize| {
        let symbol = new.symbol(name).unwrap();
        assert_eq!(symbol.size, len as u64);
        let address = image.symbol_address(name).unwrap();
        let segment = image.segments().iter().find(|s| s.range().contains(&address)).unwrap();
        assert!(segment.writable && !segment.executable);
        let at = (address - segment.addr) as usize;
        segment.bytes[at..at + len].to_vec()
    };
    let mut table: Vec<u8> = (0..60).collect();
    table.resize(100, 0);
    assert_eq!(read("tool.table", 100), table);
    assert_eq!(new.symbol("tool.table").unwrap().value % 64, 0);
    assert_eq!(read("tool.more", 3), [1, 2, 3]);
    assert_eq!(read("tool.total", 8), [0; 8]);
}

/// A kernel so large that branches across it, and calls of what stands behind it, need islands: a loop around 30 000
/// instructions with hooks.
#[test]
fn branches_and_calls_reach_across_a_huge_kernel() {
    let body: String = (0..15_000).map(|i| format!("  v_add_u32_e32 v1, {}, v1\n  s_nop 0\n", i % 60)).collect();
    let source = include_str!("support/huge.s").replace("BODY\n", &body);
    let Some(object) = assemble("huge", &source) else { return };
    let ways = [(Where::Before, Bodies::InPlace), (Where::After, Bodies::InPlace), (Where::Before, Bodies::Called)];
    for (when, bodies) in ways {
        let Some(done) = counted_by(&object, when, bodies) else { return };
        assert!(done.bytes.len() > 300_000);
        let rejected = &done.report.rejected;
        assert!(rejected.is_empty(), "{:?}", rejected.first());
        let device = luthier_emulator::Device::new(TARGET, Default::default());
        let new = CodeObject::parse(done.bytes).unwrap();
        let run = |object: &CodeObject| {
            let module = device.load(object).unwrap();
            let launch = luthier_emulator::Launch {
                module,
                kernel: "huge".into(),
                grid: [64, 1, 1],
                workgroup: [64, 1, 1],
                kernarg: vec![],
                dynamic_lds: 0,
                strict: support::strict(),
                cooperative: false,
                cluster: None,
                schedule: Default::default(),
            };
            (device.launch(&launch).unwrap(), module)
        };
        let (old, _) = run(&object);
        let (report, module) = run(&new);
        assert_eq!(report.app_histogram, old.histogram);
        let mut total = [0; 8];
        device.read(device.symbol(module, "tool.total").unwrap().0, &mut total).unwrap();
        // Behind the end and the two long jumps back there is nothing.
        let ends = if when == Where::After { 3 } else { 0 };
        assert_eq!(u64::from_le_bytes(total), old.instructions - ends);
    }
}
