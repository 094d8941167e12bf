//! Random kernels with random plans: the same memory, the same live registers all the way, and nothing that strict mode
//! finds where it finds nothing in the kernel alone.
//!
//! `LUTHIER_PLANS=N` tries N plans for each processor and wave size instead of a few, `LUTHIER_TARGETS=a,b` only these
//! processors, `LUTHIER_FIRST=N` begins with plan N.

#[path = "../../emulator/tests/support/instruction.rs"]
mod instruction;
#[path = "support/lockstep.rs"]
mod lockstep;
#[path = "../../emulator/tests/support/room.rs"]
mod room;
mod support;
#[path = "../../isa/tests/common/mod.rs"]
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep::{Buffers, judge};
use luthier_codegen::*;
use luthier_emulator::{Device, Launch, ModuleId};
use luthier_isa::{Generation, Inst, Mode, Reg, RegRange};
use luthier_lifter::{InstrId, Program};
use luthier_loader::CodeObject;
use room::{DISTANCE, SHOWN, template, with_sequence};
use support::*;
use words::Rng;

/// Bytes that a sequence may well hit: addresses begin in their middle.
const REGION: u64 = 64 << 10;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn modes() -> Vec<Mode> {
    let wanted = std::env::var("LUTHIER_TARGETS").unwrap_or_default();
    let asked = |mode: &Mode| wanted.is_empty() || wanted.split(',').any(|name| name == mode.target().name());
    // Without a word one processor of each generation.
    let all = std::env::var_os("LUTHIER_PLANS").is_some() || !wanted.is_empty();
    let one =
        ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1201", "gfx1250"];
    let some = |mode: &Mode| all || one.contains(&mode.target().name());
    Mode::all().filter(|m| luthier_emulator::TARGETS.contains(&m.target())).filter(asked).filter(some).collect()
}

/// Instructions after which nothing is under way any more, so that the next one is in no one's way.
fn pause(mode: Mode) -> Option<Vec<Inst>> {
    let generation = mode.target().generation();
    let waits = match generation {
        Generation::Gfx12 | Generation::Gfx1250 => {
            let more = if generation == Generation::Gfx1250 { "s_wait_xcnt 0x0\n" } else { "" };
            format!(
                "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_wait_samplecnt 0x0\ns_wait_bvhcnt 0x0\ns_wait_dscnt 0x0\n\
                 s_wait_kmcnt 0x0\ns_wait_expcnt 0x0\n{more}s_wait_alu 0x0\n"
            )
            .replace(
                if generation == Generation::Gfx1250 { "s_wait_samplecnt 0x0\ns_wait_bvhcnt 0x0\n" } else { "\0" },
                "",
            )
            .replace(if generation == Generation::Gfx1250 { "s_wait_expcnt 0x0\n" } else { "\0" }, "")
        }
        Generation::Gfx10 | Generation::Gfx11 => {
            "s_waitcnt 0x0\ns_waitcnt_vscnt null, 0x0\ns_waitcnt_depctr 0x0\n".to_owned()
        }
        _ => "s_waitcnt 0x0\n".to_owned(),
    };
    instructions(mode, &format!("{waits}s_nop 15\ns_nop 15\n"))
}

/// A kernel of random instructions; every other one pauses between them.
fn kernel(
    mode: Mode,
    rng: &mut Rng,
    template: &[u8],
    pause: &[Inst],
    refused: &std::collections::HashSet<&str>,
) -> CodeObject {
    let stores = rng.below(2) == 0;
    let pauses = rng.below(4) != 0;
    let mut sequence = Vec::new();
    let most = 1 + rng.below(16);
    let words = |insts: &[Inst]| insts.iter().map(Inst::size).sum::<usize>() / 4;
    for _ in 0..most {
        let inst = instruction::instruction(mode, rng, refused, stores);
        // Copies skip nothing, and give no registers up before their hooks have run.
        if ["vskip", "sendmsg", "movrel"].iter().any(|name| inst.info().base.contains(name)) {
            continue;
        }
        if words(&sequence) + words(pause) + 5 > room::ROOM {
            break;
        }
        sequence.push(inst);
        if pauses {
            sequence.extend_from_slice(pause);
        }
    }
    with_sequence(template, &sequence)
}

/// Hooks, with what they may be given.
fn hooks(mode: Mode) -> Option<Vec<Arc<Template>>> {
    Some(vec![counter_for(mode)?, memory_counter_for(mode)?, scribbler_for(mode)?, reader_for(mode)?])
}

fn arguments(mode: Mode, hook: usize, at: Where, rng: &mut Rng) -> Vec<Arg> {
    match hook {
        0 => vec![Arg::Slot(0)],
        2 => scribbled(mode),
        3 => {
            let scalar = RegRange::new(Reg::sgpr(rng.below(96) as u16), 1);
            let vector = RegRange::new(Reg::vgpr(rng.below(31) as u16), 1);
            let old = at == Where::After && rng.below(2) == 0;
            let arg = |range| if old { Arg::Old(range) } else { Arg::Reg(range) };
            vec![
                arg(scalar),
                arg(vector),
                [Arg::Pc, Arg::PointId, Arg::Literal(rng.next())][rng.below(3) as usize].clone(),
            ]
        }
        _ => vec![],
    }
}

/// Some places of the sequence, and around it, and some hooks at each.
fn plan(mode: Mode, object: &CodeObject, hooks: &[Arc<Template>], rng: &mut Rng) -> Plan {
    let program = Program::lift(object).unwrap();
    let mut plan = everywhere(object, &hooks[0], vec![], Where::Before);
    plan.hooks = hooks.iter().map(|t| Arc::new(t.clone()) as Arc<dyn TemplateSource>).collect();
    plan.insertions.clear();
    let dense = rng.below(4) as usize;
    let instrs: Vec<InstrId> = program.instrs().iter().collect();
    let last = instrs.len() - 1;
    for (n, instr) in instrs.iter().enumerate() {
        if rng.below(8) as usize > 2 * dense + 1 {
            continue;
        }
        for _ in 0..1 + rng.below(2) {
            let after = rng.below(2) == 0 && n != last;
            let at = if after { Where::After } else { Where::Before };
            let hook = rng.below(hooks.len() as u64) as usize;
            let args = arguments(mode, hook, at, rng).into();
            let address = program.vaddr(*instr);
            plan.insertions.push(Insertion {
                address,
                at,
                body: Body::Hook { hook, args },
                order: rng.below(3) as i32,
            });
        }
    }
    let either = if rng.below(2) == 0 { Bodies::Called } else { Bodies::InPlace };
    plan.bodies = match std::env::var("LUTHIER_BODIES").as_deref() {
        Ok("called") => Bodies::Called,
        Ok("in-place") => Bodies::InPlace,
        _ => either,
    };
    plan
}

/// One wave, with a region that it may well hit and room for its results.
fn prepare(mode: Mode, device: &Device, module: ModuleId) -> (Launch, Buffers) {
    let data = device.alloc(DISTANCE).unwrap();
    let pattern: Vec<u8> = (0..REGION as u32 / 4).flat_map(|i| (i % 251).to_le_bytes()).collect();
    device.write(data, &pattern).unwrap();
    // No offset reaches from one to the other.
    device.alloc(64 << 20).unwrap();
    let results = device.alloc(SHOWN as u64 * 256).unwrap();
    let kernarg = [data + REGION / 2, results].iter().flat_map(|a| a.to_le_bytes()).collect();
    let lanes = mode.wave().lanes();
    let launch = Launch {
        module,
        kernel: "k".into(),
        grid: [lanes, 1, 1],
        workgroup: [lanes, 1, 1],
        kernarg,
        dynamic_lds: 0,
        strict: support::strict(),
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    (launch, vec![(data, REGION as usize), (results, SHOWN * 256)])
}

/// What the plans came to.
#[derive(Default, Debug)]
struct Tally {
    plans: u64,
    ended: u64,
    clean: u64,
    points: usize,
    rejected: BTreeMap<&'static str, u64>,
    steps: u64,
    values: u64,
}

/// One kernel and plan.
fn attempt(mode: Mode, object: &CodeObject, plan: &Plan, tally: &mut Tally) -> Result<(), String> {
    let judged = judge(mode, object, plan, |device, module| prepare(mode, device, module))?;
    tally.plans += 1;
    tally.points += judged.report.points;
    judged.report.rejected.iter().for_each(|r| *tally.rejected.entry(r.reason.kind()).or_default() += 1);
    tally.ended += u64::from(judged.clean.is_some());
    tally.clean += u64::from(judged.clean == Some(true));
    tally.steps += judged.compared.steps;
    tally.values += judged.compared.values;
    Ok(())
}

#[test]
fn random_plans_change_nothing_of_random_kernels() {
    let (count, first) = (number("LUTHIER_PLANS", 3), number("LUTHIER_FIRST", 0));
    let (mut tally, mut wrong) = (Tally::default(), Vec::<String>::new());
    for mode in modes() {
        let (Some(hooks), Some(pause)) = (hooks(mode), pause(mode)) else { return };
        let (refused, template) = (instruction::refused(mode), template(mode, "plans"));
        for number in first..first + count {
            let mut rng = Rng(0x2545_f491_4f6c_dd1d ^ (number + 1));
            let object = kernel(mode, &mut rng, &template, &pause, &refused);
            let plan = plan(mode, &object, &hooks, &mut rng);
            if let Err(what) = attempt(mode, &object, &plan, &mut tally) {
                let (plan, what) = reduced(mode, &object, plan, what);
                let (name, lanes) = (mode.target().name(), mode.wave().lanes());
                wrong.push(format!("{name} of {lanes} lanes, plan {number}: {what}\n{}", text(&object, &plan)));
            }
        }
    }
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} of {} plans:\n{}", wrong.len(), tally.plans, wrong.join("\n"));
    assert!(
        tally.ended * 5 > tally.plans && tally.clean * 10 > tally.plans,
        "few kernels run to their ends: {tally:?}"
    );
    let rejected: u64 = tally.rejected.values().sum();
    assert!(rejected * 10 < tally.points as u64, "{tally:?}");
}

/// The plan without what does not matter to what goes wrong.
fn reduced(mode: Mode, object: &CodeObject, mut plan: Plan, mut what: String) -> (Plan, String) {
    let mut size = plan.insertions.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < plan.insertions.len() {
            let mut less = plan.clone();
            less.insertions.drain(at..(at + size).min(plan.insertions.len()));
            match attempt(mode, object, &less, &mut Tally::default()) {
                Err(still) => (plan, what) = (less, still),
                Ok(()) => at += size,
            }
        }
        if size == 1 {
            return (plan, what);
        }
        size = size.div_ceil(2);
    }
}

/// The sequence, and what was inserted in it.
fn text(object: &CodeObject, plan: &Plan) -> String {
    let program = Program::lift(object).unwrap();
    let names = ["count", "memory", "scribble", "reader"];
    let mut text = String::new();
    let mut seen = 0;
    for instr in program.instrs().iter() {
        let (inst, vaddr) = program.instr(instr);
        let hooks = plan.insertions.iter().filter(|i| i.address == vaddr);
        let hooks: Vec<String> = hooks
            .filter_map(|i| match &i.body {
                Body::Hook { hook, args } => Some(format!("{:?} {}{args:?}", i.at, names[*hook])),
                _ => None,
            })
            .collect();
        let info = inst.info();
        let idle = matches!(info.op(), luthier_isa::op::Op::SNop) && hooks.is_empty();
        seen = if idle { seen + 1 } else { 0 };
        if seen < 2 {
            text += &format!("  {vaddr:#x} {inst}  {}\n", hooks.join(", "));
        }
    }
    text
}
