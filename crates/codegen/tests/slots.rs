//! What waves carry from hook to hook, in every kind of home: in kernels that leave all registers, no SGPR, no VGPR either,
//! and no AGPR either, so that it is in SGPRs, lanes, VGPRs, AGPRs and scratch.

#[path = "support/lockstep.rs"]
mod lockstep;
mod support;
#[path = "support/words.rs"]
mod words;

use std::fmt::Write;
use std::sync::Arc;

use lockstep::{judge, modes_of, two_waves};
use luthier_codegen::*;
use luthier_emulator::{Device, DeviceConfig};
use luthier_isa::{Generation, Mode, Reg, RegRange, RegSet};
use luthier_loader::CodeObject;
use support::*;
use words::{Kernel, Words};

const TARGETS: [&str; 8] = ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

/// Which registers the kernel touches: then they hold nothing that the wave carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touched {
    sgprs: bool,
    vgprs: bool,
    agprs: bool,
}

const NONE: Touched = Touched { sgprs: false, vgprs: false, agprs: false };
const SGPRS: Touched = Touched { sgprs: true, ..NONE };
const VGPRS: Touched = Touched { vgprs: true, ..SGPRS };
const ALL: Touched = Touched { agprs: true, ..VGPRS };

/// Instructions in the middle that run with only the first lane on, and with none.
const FEW: usize = 5;

/// A kernel that writes registers which it does not need any more, and switches lanes off and on again.
fn kernel(w: &Words, touched: Touched) -> Option<CodeObject> {
    let mut body = String::new();
    if touched.sgprs {
        (4..102).for_each(|n| writeln!(body, "s_movk_i32 s{n}, {n}").unwrap());
    }
    if touched.vgprs {
        (2..256).for_each(|n| writeln!(body, "v_mov_b32_e32 v{n}, {n}").unwrap());
    }
    // gfx1250 has four times as many, under upper bits of their numbers.
    let many = w.generation == Generation::Gfx1250 && touched.agprs;
    if many {
        for upper in 1..4 {
            writeln!(body, "s_set_vgpr_msb {:#x}", upper << 6).unwrap();
            (0..256).for_each(|n| writeln!(body, "v_mov_b32_e32 v{n}, {}", n % 64).unwrap());
        }
        body += "s_set_vgpr_msb 0x0\n";
    }
    let agprs = if w.has_agprs() && touched.agprs { 256 } else { 0 };
    (0..agprs).for_each(|n| writeln!(body, "v_accvgpr_write_b32 a{n}, {}\ns_nop 1", n % 64).unwrap());
    for lanes in [1, 0] {
        body += &w.exec(lanes);
        (0..FEW).for_each(|n| writeln!(body, "v_xor_b32_e32 v1, {n}, v1").unwrap());
    }
    body += &w.exec(u64::MAX);
    let vgprs = if many {
        1024
    } else if touched.vgprs {
        256
    } else {
        24
    };
    // Where the hardware does not know a wave's scratch by itself, the kernel is told.
    let told = matches!(w.generation, Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx10);
    let more = if told { ".amdhsa_user_sgpr_flat_scratch_init 1\n" } else { "" };
    let kernel = Kernel { vgprs, agprs, more, ..Kernel::of(body)? };
    kernel.assemble(w, &format!("slots_{touched:?}").replace(|c: char| !c.is_alphanumeric(), ""))
}

/// With waits behind each instruction where a scalar may not be read as soon as it is written.
fn settled(mode: Mode, source: &str) -> String {
    let wait = match scalar_wait(mode).split_once(' ') {
        Some((mnemonic, _)) => format!("{mnemonic} 0xf1fc\n"),
        None => String::new(),
    };
    let source = match mode.target().generation() >= Generation::Gfx10 {
        true => source.replace("v_add_u32_e32", "v_add_nc_u32_e32"),
        false => source.to_owned(),
    };
    source.lines().map(|line| format!("{}\n{wait}", line.trim())).collect()
}

fn written(range: RegRange) -> Option<ArgPlace> {
    Some(ArgPlace { range, read: true, written: true, clobbered: true })
}

/// A slot that the hook only looks at is written all the same, with what it was.
fn looked_at(range: RegRange) -> Option<ArgPlace> {
    Some(ArgPlace { range, read: true, written: true, clobbered: false })
}

/// At each place: counts in a counter, for the wave, and for each lane; keeps the wave's last four counts and each lane's
/// last two.
fn keeper(mode: Mode) -> Option<Arc<Template>> {
    let source = "s_add_u32 s0, s0, 1\ns_addc_u32 s1, s1, 0\ns_add_u32 s2, s2, 1\ns_mov_b32 s7, s6\ns_mov_b32 s6, s5\n\
                  s_mov_b32 s5, s4\ns_mov_b32 s4, s2\nv_mov_b32_e32 v3, v2\nv_mov_b32_e32 v2, v0\nv_add_u32_e32 v0, 1, v0";
    Maker {
        mode,
        source: &settled(mode, source),
        groups: vec![(s(0, 2), 2), (s(4, 4), 4), (v(2, 2), 2)],
        args: [s(0, 2), s(2, 1), v(0, 1), s(4, 4), v(2, 2)].map(written).to_vec(),
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("keep")
}

/// At the end: the wave's count, the second lane's, the wave's fourth last, the first lane's last but one, the sixth lane's
/// value from the entry, and the wave's.
fn teller(mode: Mode) -> Option<Arc<Template>> {
    let mut source = "s_add_u32 s10, s10, s2\ns_addc_u32 s11, s11, 0\n".to_owned();
    for (to, from) in [(12, "v0, 1"), (16, "v3, 0"), (18, "v5, 5")] {
        write!(source, "v_readlane_b32 s22, {from}\ns_add_u32 s{to}, s{to}, s22\ns_addc_u32 s{0}, s{0}, 0\n", to + 1)
            .unwrap();
    }
    source += "s_add_u32 s14, s14, s7\ns_addc_u32 s15, s15, 0\ns_add_u32 s20, s20, s8\ns_addc_u32 s21, s21, s9";
    let looked = [s(2, 1), v(0, 1), s(4, 4), v(2, 2), v(5, 1), s(8, 2)].map(looked_at);
    let counters = (10..22).step_by(2).map(|n| written(s(n, 2)));
    let pairs = (8..22).step_by(2).map(|n| (s(n, 2), 2));
    Maker {
        mode,
        source: &settled(mode, &source),
        groups: [(s(4, 4), 4), (v(2, 2), 2)].into_iter().chain(pairs).collect(),
        args: looked.into_iter().chain(counters).collect(),
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("tell")
}

fn state(name: &str, units: u8, per_lane: bool, init: Init) -> Slot {
    Slot { name: name.to_owned(), units, per_lane, init, end: End::Nothing }
}

const COUNTERS: u64 = 7;

/// `count` before each instruction, `tell` before the last.
fn plan(object: &CodeObject, mode: Mode) -> Option<Plan> {
    let at_entry = |first: Reg, count| Init::Entry(EntryValue::Registers(RegRange::new(first, count)));
    let mut plan = everywhere(object, &keeper(mode)?, [0, 1, 2, 3, 4].map(Arg::Slot).to_vec(), Where::Before);
    plan.variables[0].size = 8 * COUNTERS;
    plan.slots = vec![
        Slot::counter("places", "tool.total", 0),
        state("count", 1, false, Init::Zero),
        state("lane count", 1, true, Init::Zero),
        state("last four", 4, false, Init::Zero),
        state("last two", 2, true, Init::Zero),
        state("work-item", 1, true, at_entry(Reg::vgpr(0), 1)),
        state("arguments", 2, false, at_entry(Reg::sgpr(0), 2)),
    ];
    plan.slots.extend((1..COUNTERS).map(|n| Slot::counter(format!("told {n}"), "tool.total", 8 * n)));
    plan.hooks.push(Arc::new(teller(mode)?));
    let args: Arc<[Arg]> = (1..13).map(Arg::Slot).collect();
    let address = plan.insertions.last()?.address;
    plan.insertions.push(Insertion { address, at: Where::Before, body: Body::Hook { hook: 1, args }, order: 1 });
    Some(plan)
}

/// Bytes of the kernel's buffer.
static BUFFER: [u8; 64 << 10] = [7; 64 << 10];

/// Runs the plan in lockstep with the plain kernel, and looks at what came of the slots.
fn check(mode: Mode, touched: Touched) -> Result<Report, String> {
    let w = Words::of(mode);
    let none = || "no LLVM".to_owned();
    let object = kernel(&w, touched).ok_or_else(none)?;
    let plan = plan(&object, mode).ok_or_else(none)?;
    let judged = judge(mode, &object, &plan, |device, module| two_waves(mode, device, module, &BUFFER))?;
    if judged.compared.stopped.is_some() || judged.clean != Some(true) || !judged.report.rejected.is_empty() {
        let (stopped, rejected) = (judged.compared.stopped, judged.report.rejected.first());
        return Err(format!("{stopped:?}, {:?}, {rejected:?}", judged.finding));
    }
    let done = instrument(&object, &plan).map_err(|e| e.to_string())?;
    let device = Device::new(mode.target(), DeviceConfig::default());
    let module = device.load(&CodeObject::parse(done.bytes).unwrap()).map_err(|e| e.to_string())?;
    let (launch, _) = two_waves(mode, &device, module, &BUFFER);
    let report = device.launch(&launch).map_err(|e| e.to_string())?;
    let (address, _) = device.symbol(module, "tool.total").unwrap();
    let mut bytes = vec![0; 8 * COUNTERS as usize];
    device.read(address, &mut bytes).unwrap();
    let told: Vec<u64> = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let (waves, places) = (2, report.app_instructions);
    // Switching lanes on takes two instructions in waves of 64; the first switches the lower ones.
    let halves = if w.wide { 2 } else { 1 };
    let none_on = waves * (FEW as u64 + halves);
    let one_on = waves * (FEW as u64 + halves);
    let [counted, wave, second, fourth, first, item, arguments] = told[..] else { return Err("too few".into()) };
    let wanted =
        [places, places, places - one_on - none_on, places - 3 * waves, places - none_on - 2 * waves, 5 * waves];
    let found = [counted, wave, second, fourth, first, item];
    if found != wanted || arguments == 0 || arguments % waves != 0 {
        return Err(format!("{found:?} instead of {wanted:?}; {arguments:#x}"));
    }
    Ok(done.report)
}

fn in_all_modes(touched: Touched, also: impl Fn(&Words, &Report) -> bool) {
    if llvm("clang").is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for mode in modes_of(&TARGETS) {
        match check(mode, touched) {
            Ok(report) if !also(&Words::of(mode), &report) => wrong.push(format!("{mode:?}: {:?}", report.registers)),
            Ok(_) => {}
            Err(e) => wrong.push(format!("{mode:?}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn scratch_of(report: &Report) -> u32 {
    report.registers[0].scratch_after - report.registers[0].scratch_before
}

#[luthier_needs::needs(llvm)]
#[test]
fn what_waves_carry_is_kept_in_registers_that_are_free() {
    in_all_modes(NONE, |_, report| scratch_of(report) == 0);
}

#[luthier_needs::needs(llvm)]
#[test]
fn without_sgprs_the_waves_values_are_kept_in_lanes() {
    in_all_modes(SGPRS, |_, report| scratch_of(report) == 0);
}

#[luthier_needs::needs(llvm)]
#[test]
fn without_vgprs_they_are_kept_in_accumulators_or_above_or_in_scratch() {
    in_all_modes(VGPRS, |w, report| {
        let more = w.has_agprs() || w.generation == Generation::Gfx1250;
        (scratch_of(report) == 0) == more
    });
}

#[luthier_needs::needs(llvm)]
#[test]
fn without_any_register_they_are_kept_in_scratch() {
    in_all_modes(ALL, |_, report| scratch_of(report) > 0);
}
