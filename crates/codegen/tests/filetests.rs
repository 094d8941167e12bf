//! Filetests: assembly, what to insert where, and the exact code that comes out.
//!
//! A file in `tests/filetests/TARGET` (`gfx1100-w64` where a processor has two wave sizes and the other one is meant) is
//! one case. It begins with comment lines `//! hook WHEN WHERE [ARG...]`: the hook's name (see `hook`
//! below), `before` or `after`, `all`, a mnemonic, or a number counting from 0, and the arguments: `counter`, `s4`,
//! `s[4:5]`, `v3`, `vcc`, `scc`, `&s4` (in and out), `old:s4`, or `state` for all that the hook `scribble` looks at. `//! called` has bodies called. Lines that begin with `//|` at its end are what is expected: for
//! each copied function its instructions, those of the application with their original address, then the rejections,
//! and the registers. `UPDATE=1 cargo test` writes them anew; `FILETESTS=word` takes the files whose paths have it.

mod support;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use luthier_codegen::*;
use luthier_isa::{Inst, Mode, Reg, RegRange, RegSet};
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::*;

/// Hooks by name.
fn hook(mode: Mode, name: &str) -> Option<Arc<Template>> {
    let place = |range, written, clobbered| Some(ArgPlace { range, read: true, written, clobbered });
    let made = |source, groups, args, whole: &[Reg]| {
        Maker { mode, source, groups, args, relocs: vec![], whole: whole.iter().copied().collect::<RegSet>() }
            .make(name)
    };
    match name {
        "count" => counter_for(mode),
        "memory" => memory_counter_for(mode),
        "scribble" => scribbler_for(mode),
        // Reads a scalar, changes its own copy, SCC.
        "scalar" => made("s_add_u32 s4, s4, 1\n", vec![], vec![place(s(4, 1), false, true)], &[]),
        // Reads an aligned pair and leaves it alone; changes VCC.
        "pair" => {
            made("v_cmp_eq_u64_e64 vcc, s[4:5], 0\n", vec![(s(4, 2), 2)], vec![place(s(4, 2), false, false)], &[])
        }
        // Reads one vector register, changes another.
        "vector" => made("v_add_u32_e32 v1, 1, v0\n", vec![], vec![place(v(0, 1), false, false)], &[]),
        // Doubles a vector register in place.
        "double" => made("v_lshlrev_b32_e32 v0, 1, v0\n", vec![], vec![place(v(0, 1), true, true)], &[]),
        // Changes the first and reads the second afterwards.
        "change" => made(
            "v_lshlrev_b32_e32 v0, 1, v0\nv_add_u32_e32 v0, v0, v1\n",
            vec![],
            vec![place(v(0, 1), true, true), place(v(1, 1), false, false)],
            &[],
        ),
        // Reads two, changes a third.
        "sum" => made(
            "v_add_u32_e32 v2, v0, v1\n",
            vec![],
            vec![place(v(0, 1), false, false), place(v(1, 1), false, false)],
            &[],
        ),
        // Changes two.
        "both" => made(
            "v_lshlrev_b32_e32 v0, 1, v0\nv_lshlrev_b32_e32 v1, 2, v1\n",
            vec![],
            vec![place(v(0, 1), true, true), place(v(1, 1), true, true)],
            &[],
        ),
        // Writes all lanes of an aligned quad.
        "whole" => {
            let source = "s_mov_b64 s[6:7], exec\ns_mov_b64 exec, -1\nv_mov_b32_e32 v0, 0\nv_mov_b32_e32 v3, 0\ns_mov_b64 exec, s[6:7]\n";
            made(
                source,
                vec![(s(6, 2), 2), (v(0, 4), 2)],
                vec![],
                &[Reg::vgpr(0), Reg::vgpr(1), Reg::vgpr(2), Reg::vgpr(3)],
            )
        }
        "m0" => made(
            "s_mov_b32 m0, 0\nds_write_b32 v0, v0\ns_waitcnt lgkmcnt(0)\n",
            vec![],
            vec![place(v(0, 1), false, false)],
            &[],
        ),
        "float" => {
            let mut t = Arc::unwrap_or_clone(made(
                "v_add_f32_e32 v1, 1.0, v0\n",
                vec![],
                vec![place(v(0, 1), false, false)],
                &[],
            )?);
            t.uses_fp_mode = true;
            Some(Arc::new(t))
        }
        "load" => made(
            "s_load_dword s6, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n",
            vec![(s(4, 2), 2)],
            vec![place(s(4, 2), false, false)],
            &[],
        ),
        "store" => made(
            "global_store_dword v0, v0, s[4:5]\n",
            vec![(s(4, 2), 2)],
            vec![place(s(4, 2), false, false), place(v(0, 1), false, false)],
            &[],
        ),
        // Stores more than 64 bits, so that the application may not overwrite the data at once.
        "wide" => made(
            "v_mov_b32_e32 v1, 0\nglobal_store_dwordx4 v0, v[4:7], s[4:5]\n",
            vec![(s(4, 2), 2), (v(4, 4), 2)],
            vec![place(s(4, 2), false, false)],
            &[],
        ),
        // More registers than there are.
        "huge" => made("s_mov_b32 s0, 0\n", vec![(s(0, 100), 4)], vec![], &[]),
        _ => panic!("no hook is called {name}"),
    }
}

fn register(text: &str) -> RegRange {
    match text {
        "vcc" => return RegRange::new(Reg::VCC_LO, 2),
        "scc" => return RegRange::new(Reg::SCC, 1),
        "exec" => return RegRange::new(Reg::EXEC_LO, 2),
        "m0" => return RegRange::new(Reg::M0, 1),
        _ => {}
    }
    let (file, number) = text.split_at(1);
    let number = number.trim_matches(['[', ']']);
    let (first, last) = number.split_once(':').unwrap_or((number, number));
    let (first, last): (u16, u16) = (first.parse().unwrap(), last.parse().unwrap());
    let reg = match file {
        "s" => Reg::sgpr(first),
        "v" => Reg::vgpr(first),
        "a" => Reg::agpr(first),
        _ => panic!("{text} is no register"),
    };
    RegRange::new(reg, (last - first + 1) as u8)
}

fn argument(text: &str) -> Arg {
    match text.strip_prefix('&') {
        Some(rest) => Arg::InOut(register(rest)),
        None if text == "counter" => Arg::Slot(0),
        None if text.starts_with("old:") => Arg::Old(register(&text[4..])),
        None => Arg::Reg(register(text)),
    }
}

/// The plan that the directives ask for.
fn plan(mode: Mode, source: &str, object: &CodeObject) -> Option<Plan> {
    let program = Program::lift(object).unwrap();
    let mut plan = Plan { check: Checking::Everything, ..Plan::default() };
    plan.variables.push(Variable { name: "tool.total".into(), size: 8, align: 8, init: vec![] });
    plan.slots.push(Slot::counter("total", "tool.total", 0));
    for (order, line) in source.lines().filter_map(|l| l.strip_prefix("//!")).enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words == ["called"] {
            plan.bodies = Bodies::Called;
            continue;
        }
        let [name, when, place, args @ ..] = words.as_slice() else { panic!("directive: {line}") };
        let template = hook(mode, name)?;
        let at = if *when == "after" { Where::After } else { Where::Before };
        plan.hooks.push(Arc::new(template));
        let hook = plan.hooks.len() - 1;
        for (n, i) in program.instrs().iter().enumerate() {
            let info = program.inst(i).info();
            if *place == "all" || place.parse() == Ok(n) || info.base == *place || info.mnemonic == *place {
                let args: Arc<[Arg]> = match args {
                    ["state"] => scribbled(mode).into(),
                    args => args.iter().map(|a| argument(a)).collect(),
                };
                let address = program.vaddr(i);
                let body = Body::Hook { hook, args };
                plan.insertions.push(Insertion { address, at, body, order: order as i32 });
            }
        }
    }
    Some(plan)
}

/// What came out, as text.
fn show(mode: Mode, done: &Instrumented) -> String {
    let object = CodeObject::parse(done.bytes.clone()).unwrap();
    let origins = object.origin_map().unwrap().unwrap();
    let mut text = String::new();
    let mut show = |title: &str, vaddr: u64, size: u64| {
        writeln!(text, "{title}:").unwrap();
        let bytes = object.read(vaddr, size).unwrap();
        let mut at = 0;
        let mut nops = 0;
        while at < bytes.len() {
            let inst = Inst::decode(mode, &bytes[at..]).unwrap();
            let pc = vaddr + at as u64;
            at += inst.size();
            let origin = origins.origin(pc).map_or(String::new(), |o| format!("{o:#x}"));
            // Padding is shown once.
            nops = if inst.info().base == "s_nop" && origin.is_empty() { nops + 1 } else { 0 };
            if nops > 2 {
                continue;
            }
            let target = inst.branch_target(pc).map_or(String::new(), |t| format!("  -> {t:#x}"));
            writeln!(text, "{pc:#x} {origin:>7}  {inst}{target}").unwrap();
        }
    };
    for symbol in object.symbols().iter().filter(|s| s.name.ends_with(".instrumented")) {
        show(&symbol.name, symbol.value, symbol.size);
    }
    for range in origins.ranges() {
        if object.section(".luthier.text").is_none_or(|s| range.start != s.vaddr) {
            show("patched", range.start, range.end - range.start);
        }
    }
    for r in &done.report.rejected {
        writeln!(text, "rejected at {:#x}: {}", r.address, r.reason).unwrap();
    }
    for r in &done.report.registers {
        let line = format!(
            "{}: {} to {} SGPRs, {} to {} VGPRs, {} to {} waves",
            r.kernel,
            r.sgprs_before,
            r.sgprs_after,
            r.vgprs_before,
            r.vgprs_after,
            r.occupancy_before,
            r.occupancy_after
        );
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// The processor and wave size that a folder is for.
fn mode_of(folder: &str) -> Mode {
    let (name, wave) = folder.split_once("-w").map_or((folder, None), |(name, wave)| (name, Some(wave)));
    let mut modes = Mode::all().filter(|m| m.target().name() == name);
    let found = modes.find(|m| wave.is_none_or(|w| m.wave().lanes().to_string() == w));
    found.unwrap_or_else(|| panic!("no processor is called {folder}"))
}

#[test]
fn what_comes_out_is_what_the_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let entries = |folder: &Path| {
        let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
        all.sort();
        all
    };
    let wanted = std::env::var("FILETESTS").unwrap_or_default();
    let (mut failures, mut count) = (Vec::new(), 0);
    for folder in entries(&folder) {
        let mode = mode_of(&folder.file_name().unwrap().to_string_lossy());
        for path in entries(&folder).into_iter().filter(|p| p.to_string_lossy().contains(&wanted)) {
            count += 1;
            let Some(difference) = case(mode, &path) else { return };
            failures.extend((!difference.is_empty()).then_some(difference));
        }
    }
    assert!(count > if wanted.is_empty() { 20 } else { 0 }, "{count} files");
    assert!(failures.is_empty(), "{} of {count} files:\n{}", failures.len(), failures.join("\n"));
}

/// What differs from what a file expects, as a unified diff; `None` if LLVM is not there.
fn case(mode: Mode, path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let source: String = text.lines().filter(|l| !l.starts_with("//|")).map(|l| format!("{l}\n")).collect();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let object = assemble_for(mode, &name, &source)?;
    let got = match instrument(&object, &plan(mode, &source, &object)?) {
        Ok(done) => show(mode, &done),
        Err(e) => format!("error: {e}\n"),
    };
    let lines: String = got.lines().map(|l| format!("{}\n", format!("//| {l}").trim_end())).collect();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, format!("{}\n\n{lines}", source.trim_end())).unwrap();
        return Some(String::new());
    }
    let expected: String = text.lines().filter(|l| l.starts_with("//|")).map(|l| format!("{l}\n")).collect();
    let file = path.display().to_string();
    let diff = similar::TextDiff::from_lines(&expected, &lines);
    Some(diff.unified_diff().context_radius(3).header(&file, "what comes out").to_string())
}
