//! Points per second: a counter hook before every instruction of an object.
//!
//! `place_bench FILE [--json] [--after] [--check | --no-check] [--runs N] [-o OUT]`. Of several runs the fastest counts.

use std::sync::Arc;
use std::time::Instant;

use luthier_codegen::*;
use luthier_isa::op::Op;
use luthier_isa::{Inst, Mode, Operand, Reg, RegRange, RegSet};
use luthier_loader::CodeObject;

/// `counter += 1`, as the hook compiler makes it: two instructions.
fn counter(mode: Mode) -> Option<Template> {
    let (low, high) = (Reg::sgpr(4), Reg::sgpr(5));
    let one = |r| Operand::Reg(RegRange::new(r, 1));
    let build =
        |op: Op, reg, n: u16| Inst::build(mode.plain(op)?, &[one(reg), one(reg), Operand::Inline(128 + n)]).ok();
    let range = RegRange::new(low, 2);
    let touched: RegSet = [low, high, Reg::SCC].into_iter().collect();
    Some(Template {
        name: "count".into(),
        insts: vec![build(Op::SAddU32, low, 1)?, build(Op::SAddcU32, high, 0)?],
        relocs: vec![],
        lines: Vec::new(),
        args: vec![vec![Some(ArgPlace { range, read: true, written: true, clobbered: true })]],
        groups: vec![RegGroup { range, align: 2, limit: 256 }],
        clobbers: touched,
        live_in: [low, high].into_iter().collect(),
        writes_inactive_lanes: RegSet::EMPTY,
        data: Vec::new(),
        stack: None,
        uses_fp_mode: false,
        gives_a_lane: false,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let out = args.iter().position(|a| a == "-o").and_then(|i| args.get(i + 1));
    let file = args.first().ok_or("place_bench FILE [--json] [--after] [--check | --no-check] [--runs N] [-o OUT]")?;
    let object = CodeObject::parse(std::fs::read(file)?)?;
    let program = luthier_lifter::Program::lift(&object)?;
    let template = Arc::new(counter(program.mode()).ok_or("no counter hook for this target")?);
    let at = if flag("--after") { Where::After } else { Where::Before };
    let arguments: Arc<[Arg]> = vec![Arg::Slot(0)].into();
    let insertion = |i| Insertion {
        address: program.vaddr(i),
        at,
        body: Body::Hook { hook: 0, args: arguments.clone() },
        order: 0,
    };
    let plan = Plan {
        hooks: vec![Arc::new(template)],
        variables: vec![Variable { name: "bench.count".into(), size: 8, align: 8, init: vec![] }],
        slots: vec![Slot::counter("count", "bench.count", 0)],
        insertions: program.instrs().iter().map(insertion).collect(),
        check: match (flag("--check"), flag("--no-check")) {
            (true, _) => Checking::Everything,
            (_, true) => Checking::Nothing,
            _ => Checking::Sample,
        },
        ..Plan::default()
    };
    drop(program);
    let runs = args.iter().position(|a| a == "--runs").and_then(|i| args.get(i + 1));
    let runs: u32 = runs.map_or(Ok(1), |n| n.parse())?;
    let mut seconds = f64::INFINITY;
    let mut done = Instrumented::default();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        done = instrument(&object, &plan)?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    if let Some(out) = out {
        std::fs::write(out, &done.bytes)?;
    }
    let report = &done.report;
    let rate = report.points as f64 / seconds;
    let per_point = report.inserted_instructions as f64 / report.points.max(1) as f64;
    if flag("--json") {
        println!(
            "{{\"file\":{file:?},\"points\":{},\"seconds\":{seconds:.6},\"points_per_second\":{rate:.0},\"instructions_per_point\":{per_point:.3},\"rejected\":{},\"bytes\":{}}}",
            report.points,
            report.rejected.len(),
            done.bytes.len()
        );
        return Ok(());
    }
    println!("{} points in {seconds:.3} s: {rate:.0} a second, {per_point:.2} instructions a point", report.points);
    println!("{} bytes in, {} out; {} rejected", object.bytes().len(), done.bytes.len(), report.rejected.len());
    let mut reasons: std::collections::BTreeMap<String, usize> = Default::default();
    report.rejected.iter().for_each(|r| *reasons.entry(r.reason.to_string()).or_default() += 1);
    reasons.iter().take(20).for_each(|(reason, n)| println!("  {n} x {reason}"));
    report.notes.iter().for_each(|n| println!("note: {n}"));
    let first = report.registers.iter().take(4);
    first.for_each(|r| println!("{r:?}"));
    Ok(())
}
