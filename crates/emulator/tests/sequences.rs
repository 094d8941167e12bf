//! Random sequences of valid instructions: no panic, the same result every time, on one thread and on many.
//!
//! LUTHIER_SEQUENCES=N runs N sequences for each processor and wave size instead of a few.

#[path = "../../isa/tests/common/mod.rs"]
mod words;

#[path = "support/instruction.rs"]
mod instruction;
#[path = "support/room.rs"]
mod room;

use std::collections::HashSet;

use instruction::{instruction, refused};
use luthier_emulator::observe::Registers;
use luthier_emulator::{Device, DeviceConfig, FindingKind, Launch, Strict, TARGETS};
use luthier_isa::{Inst, Mode, Reg};
use luthier_loader::CodeObject;
use room::{DISTANCE, SHOWN, prologue, template, with_sequence};
use words::Rng;

const LENGTH: usize = 24;
const GROUPS: u32 = 5;
/// Bytes that each workgroup may well hit: addresses begin in their middle.
const REGION: u64 = 64 << 10;

/// All that a launch says, and leaves in memory.
#[derive(PartialEq, Debug)]
struct Result {
    said: String,
    memory: Vec<u8>,
}

/// A launch of the kernel, and where its data and its results are.
fn prepare(object: &CodeObject, mode: Mode, threads: usize, groups: u32, strict: Strict) -> (Device, Launch, [u64; 2]) {
    let device = Device::new(mode.target(), DeviceConfig { threads, watchdog: 10_000_000, ..DeviceConfig::default() });
    let module = device.load(object).expect("the module loads");
    let data = device.alloc(DISTANCE * u64::from(GROUPS)).unwrap();
    let pattern: Vec<u8> = (0..REGION as u32 / 4).flat_map(|i| (i % 251).to_le_bytes()).collect();
    (0..u64::from(groups)).for_each(|group| device.write(data + group * DISTANCE, &pattern).unwrap());
    // No offset reaches from one to the other.
    device.alloc(64 << 20).unwrap();
    let results = device.alloc(u64::from(GROUPS) * SHOWN as u64 * 256).unwrap();
    let kernarg = [data + REGION / 2, results].iter().flat_map(|a| a.to_le_bytes()).collect();
    let lanes = mode.wave().lanes();
    let launch = Launch {
        module,
        kernel: "k".into(),
        grid: [lanes * groups, 1, 1],
        workgroup: [lanes, 1, 1],
        kernarg,
        dynamic_lds: 0,
        strict,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    (device, launch, [data, results])
}

fn run(object: &CodeObject, mode: Mode, threads: usize, groups: u32, strict: Strict) -> Result {
    let (device, launch, [data, results]) = prepare(object, mode, threads, groups, strict);
    let said = match device.launch(&launch) {
        Ok(report) => {
            // Which of two racing accesses comes second, and is told of the other, is chance as well.
            let judged = report.findings.iter().filter(|f| f.kind != FindingKind::MemoryRace);
            let mut findings: Vec<String> = judged.map(|f| format!("{:?}", f.kind)).collect();
            findings.sort();
            format!("{} {:?} {findings:?}", report.instructions, report.histogram)
        }
        // Which workgroup comes to it first is chance.
        Err(_) if groups > 1 => "stopped".into(),
        Err(error) => error.to_string(),
    };
    let mut memory = vec![0; groups as usize * (REGION as usize + SHOWN * 256)];
    let (regions, shown) = memory.split_at_mut(groups as usize * REGION as usize);
    for (group, region) in regions.chunks_exact_mut(REGION as usize).enumerate() {
        device.read(data + group as u64 * DISTANCE, region).unwrap();
    }
    device.read(results, shown).unwrap();
    // An error stops the others wherever they are.
    if groups > 1 && said == "stopped" {
        memory.clear();
    }
    Result { said, memory }
}

/// The processors and wave sizes to try, and how many sequences of each.
fn tried() -> (Vec<Mode>, u64) {
    let count = std::env::var("LUTHIER_SEQUENCES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let wanted = std::env::var("LUTHIER_TARGETS").unwrap_or_default();
    let is_wanted = |mode: &Mode| wanted.is_empty() || wanted.split(',').any(|name| name == mode.target().name());
    (Mode::all().filter(|mode| TARGETS.contains(&mode.target())).filter(is_wanted).collect(), count)
}

#[test]
fn the_same_every_time_and_on_any_number_of_threads() {
    let (modes, count) = tried();
    let (mut instructions, mut ended) = (0u64, 0u64);
    // Of some processors alone, more stop early than of all together.
    let least = if std::env::var_os("LUTHIER_TARGETS").is_some() { 4 } else { 3 };
    for mode in modes {
        let refused = refused(mode);
        let template = template(mode, "sequences");
        for number in 0..count {
            let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (number + 1));
            let stores = number % 2 == 0;
            let sequence: Vec<Inst> = (0..LENGTH).map(|_| instruction(mode, &mut rng, &refused, stores)).collect();
            let object = with_sequence(&template, &sequence);
            let text = || sequence.iter().map(|inst| format!("  {inst}\n")).collect::<String>();
            // One workgroup has stored the same even where an error ends it.
            for (strict, groups, threads) in
                [(Strict::On, GROUPS, 3), (Strict::Off, GROUPS, 3), (Strict::On, 1, 1), (Strict::Off, 1, 1)]
            {
                if groups == 1 && !stores {
                    continue;
                }
                let first = run(&object, mode, 1, groups, strict);
                let again = run(&object, mode, threads, groups, strict);
                let what = format!(
                    "{} of {} lanes, {strict:?}, {threads} threads, sequence {number}",
                    mode.target().name(),
                    mode.wave().lanes()
                );
                assert_eq!(first.said, again.said, "{what}:\n{}", text());
                assert!(first.memory == again.memory, "{what}: memory differs:\n{}", text());
                ended += u64::from(first.said.starts_with(|c: char| c.is_ascii_digit()));
                instructions += LENGTH as u64;
            }
        }
    }
    assert!(
        ended * least > instructions / LENGTH as u64,
        "most sequences stop early: {ended} of {}",
        instructions / LENGTH as u64
    );
    println!("{instructions} instructions, {ended} of {} launches ran to their ends", instructions / LENGTH as u64);
}

/// The registers that differ.
fn changed(before: &Registers, after: &Registers) -> Vec<Reg> {
    let mut found = Vec::new();
    let mut note = |reg: Reg, differs: bool| found.extend(differs.then_some(reg));
    for (i, (a, b)) in before.sgprs.iter().zip(&after.sgprs).enumerate() {
        note(Reg::sgpr(i as u16), a != b);
    }
    for (i, (a, b)) in before.vgprs.iter().zip(&after.vgprs).enumerate() {
        note(Reg::vgpr(i as u16), a != b);
    }
    for (i, (a, b)) in before.agprs.iter().zip(&after.agprs).enumerate() {
        note(Reg::agpr(i as u16), a != b);
    }
    for (low, high, a, b) in
        [(Reg::EXEC_LO, Reg::EXEC_HI, before.exec, after.exec), (Reg::VCC_LO, Reg::VCC_HI, before.vcc, after.vcc)]
    {
        note(low, a as u32 != b as u32);
        note(high, a >> 32 != b >> 32);
    }
    note(Reg::M0, before.m0 != after.m0);
    note(Reg::SCC, before.scc != after.scc);
    note(Reg::MODE, before.mode != after.mode);
    found
}

/// The tables' reads and writes, which liveness rests on, against what the device does.
#[test]
fn an_instruction_changes_only_what_it_is_said_to_write() {
    let (modes, count) = tried();
    let (mut steps, mut wrong) = (0, Vec::<String>::new());
    let least = 5 * count * modes.len() as u64;
    for mode in modes {
        let (refused, template) = (refused(mode), template(mode, "writes"));
        let prologue = prologue(mode);
        for number in 0..4 * count {
            let mut rng = Rng(0xd1b5_4a32_d192_ed03 ^ (number + 1));
            let sequence: Vec<Inst> = std::iter::repeat_with(|| instruction(mode, &mut rng, &refused, true))
                // Registers by number, and instructions that are skipped.
                .filter(|inst| !["gpr_idx", "movrel", "vskip"].iter().any(|name| inst.info().base.contains(name)))
                .take(LENGTH)
                .collect();
            let (device, launch, _) = prepare(&with_sequence(&template, &sequence), mode, 1, 1, Strict::Off);
            let mut session = device.session(&launch).expect("a session");
            for _ in 0..prologue {
                session.step(0).expect("the prologue runs");
            }
            for inst in &sequence {
                let before = session.registers(0).expect("a wave");
                if session.step(0).is_err() {
                    break;
                }
                let mut written = HashSet::new();
                inst.for_each_access(|a| {
                    if a.access.writes() {
                        written.insert(a.reg);
                    }
                });
                let after = session.registers(0).expect("a wave");
                let others: Vec<Reg> =
                    changed(&before, &after).into_iter().filter(|reg| !written.contains(reg)).collect();
                let (name, lanes) = (mode.target().name(), mode.wave().lanes());
                if !others.is_empty() {
                    wrong.push(format!(
                        "{name}, {lanes} lanes: {inst} changes {others:?}; it is said to write {written:?}"
                    ));
                }
                steps += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {steps}:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
    assert!(steps > least, "{steps} instructions ran");
    println!("{steps} instructions");
}
