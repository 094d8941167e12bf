//! Filetests: assembly, what to insert where, and the exact code that comes out.
//!
//! A file in `tests/filetests/TARGET` (`gfx1100-w64` where a processor has two wave sizes and the other one is meant) is
//! one case. It begins with comment lines `//! hook WHEN WHERE [ARG...]`: the hook's name (see `hook`
//! below), `before` or `after`, `all`, a mnemonic, or a number counting from 0, and the arguments: `counter`, `s4`,
//! `s[4:5]`, `v3`, `vcc`, `scc`, `&s4` (in and out), `old:s4`, `entry:dispatch_ptr` and the like (what waves start with),
//! or `state` for all that the hook `scribble` looks at. `//! called` has bodies called. A file without a descriptor is
//! about what stands in front of a kernel: its `.amdhsa_` lines are the descriptor of the kernel `k`, whose code the others
//! are, and what waves start with is told in front of the code. Lines that begin with `//|` at the file's end are what is
//! expected: for each copied function its instructions, those of the application with their original address, then the
//! rejections, and the registers. `UPDATE=1 cargo test` writes them anew; `FILETESTS=word` takes the files whose paths have
//! it.

mod support;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use luthier_codegen::plan::Axis;
use luthier_codegen::*;
use luthier_isa::{Inst, Mode, Reg, RegRange};
use luthier_lifter::Program;
use luthier_loader::{CodeObject, EntryState};
use support::by_name::hook;
use support::*;

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

fn entry(name: &str) -> EntryValue {
    match name {
        "dispatch_ptr" => EntryValue::DispatchPtr,
        "queue_ptr" => EntryValue::QueuePtr,
        "kernarg_ptr" => EntryValue::KernargPtr,
        "dispatch_id" => EntryValue::DispatchId,
        "private_segment_size" => EntryValue::PrivateSegmentSize,
        "workgroup_id_x" => EntryValue::WorkgroupId(Axis::X),
        "workgroup_id_y" => EntryValue::WorkgroupId(Axis::Y),
        "workgroup_id_z" => EntryValue::WorkgroupId(Axis::Z),
        "workitem_ids" => EntryValue::WorkitemIds,
        _ => panic!("waves start with no {name}"),
    }
}

fn argument(text: &str) -> Arg {
    match text.strip_prefix('&') {
        Some(rest) => Arg::InOut(register(rest)),
        None if text == "counter" => Arg::Slot(0),
        None if text.starts_with("entry:") => Arg::Entry(entry(&text[6..])),
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
                for slot in Slot::for_arguments(args.iter()) {
                    if plan.slots.iter().all(|known| known.init != slot.init) {
                        plan.slots.push(slot);
                    }
                }
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
            nops = if inst.info().base == "s_nop" { nops + 1 } else { 0 };
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

/// What a kernel's waves start with, in the order in which the processor puts it there.
fn started(mode: Mode, who: &str, object: &CodeObject) -> String {
    let state = EntryState::of(&object.kernel("k").unwrap().descriptor, mode);
    let field = |f: &luthier_loader::EntryField| {
        let bits = if f.is_whole() { String::new() } else { format!(" bits {}..{}", f.shift, f.shift + f.bits) };
        format!("{:?} in {}{bits}", f.value, f.range)
    };
    let told: Vec<String> = state.fields.iter().map(field).collect();
    format!("{who}: {}\n", told.join(", "))
}

/// A kernel `k` of this code and this descriptor.
fn whole(mode: Mode, source: &str) -> String {
    let (descriptor, code): (Vec<&str>, Vec<&str>) = source.lines().partition(|line| line.starts_with(".amdhsa_"));
    let (name, wave) = (mode.target().name(), mode.wave().lanes());
    let w32 = if mode.target().waves().len() > 1 && wave == 32 { ".amdhsa_wavefront_size32 1\n" } else { "" };
    let accum = if matches!(name, "gfx90a" | "gfx942") { ".amdhsa_accum_offset 8\n" } else { "" };
    let scratch = descriptor.iter().find_map(|line| line.strip_prefix(".amdhsa_private_segment_fixed_size "));
    let head = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{name}\"\n.amdhsa_code_object_version 5\n.text\n.protected k\n.globl k\n\
         .p2align 8\n.type k,@function\nk:\n"
    );
    let kernel = format!(
        ".size k, .-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 48\n\
         .amdhsa_kernarg_size 128\n{w32}{accum}{}\n.end_amdhsa_kernel\n",
        descriptor.join("\n")
    );
    let metadata = format!(
        ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--{name}\namdhsa.kernels:\n  \
         - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 128, .kernarg_segment_align: 8, \
         .group_segment_fixed_size: 0, .private_segment_fixed_size: {}, .wavefront_size: {wave}, .sgpr_count: 48, \
         .vgpr_count: 8, .max_flat_workgroup_size: 256, .args: []}}\n...\n.end_amdgpu_metadata\n",
        scratch.unwrap_or("0")
    );
    format!("{head}{}\n{kernel}{metadata}", code.join("\n"))
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
    let in_front = !source.contains(".amdhsa_kernel");
    let object = if in_front { whole(mode, &source) } else { source.clone() };
    let object = assemble_for(mode, &name, &object)?;
    let got = match instrument(&object, &plan(mode, &source, &object)?) {
        Ok(done) if in_front => {
            let made = CodeObject::parse(done.bytes.clone()).unwrap();
            started(mode, "expects", &object) + &started(mode, "starts with", &made) + &show(mode, &done)
        }
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
