//! Lifts a file (every code object in it) and prints what that takes: seconds, and bytes an instruction.
//!
//! `cargo run --release -p luthier-lifter --example lift_bench FILE [--json] [--threads N] [--runs N] [--repeat N,N...]`
//!
//! `--threads`: one is the calling thread alone; without it, all cores. `--runs N`: the fastest of N runs counts.
//! `--repeat 1,2,4,8` lifts objects with that many copies of the code instead, and nothing else in them.

mod copies;
mod memory;

use std::time::Instant;

use luthier_lifter::{Liveness, Program};
use luthier_loader::{CodeObject, Container};

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

type Error = Box<dyn std::error::Error>;

#[derive(Default, serde::Serialize)]
struct Figures {
    /// Copies of the code, if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<usize>,
    instructions: usize,
    functions: usize,
    blocks: usize,
    issues: usize,
    lift_seconds: f64,
    liveness_seconds: f64,
    /// What the calling thread itself was at work, which other processes do not lengthen as they do the time on the
    /// clock. With more threads than one it is a part only.
    cpu_seconds: f64,
    /// Memory that the program keeps, and the most that lifting it took at one time, liveness included.
    bytes_per_instruction: f64,
    peak_bytes_per_instruction: f64,
}

impl Figures {
    fn seconds(&self) -> f64 {
        self.lift_seconds + self.liveness_seconds
    }
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let file = args.first().filter(|a| !a.starts_with("--"));
    let file = file.ok_or("usage: lift_bench FILE [--json] [--threads N] [--runs N] [--repeat N,N...]")?;
    let runs = option("--runs").map_or(Ok(1), |n| n.parse())?;
    if let Some(threads) = option("--threads") {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?);
        if threads == "1" { pool.use_current_thread() } else { pool }.build_global()?;
    }
    let container = Container::open(file)?;
    let mut objects = Vec::new();
    for index in 0..container.entries().len() {
        objects.extend(container.code_object(index));
    }
    let all = match option("--repeat") {
        None => vec![measure(&objects, runs)?],
        Some(list) => {
            let mut all = Vec::new();
            for copies in list.split(',') {
                let copies: usize = copies.parse()?;
                let grown: Result<Vec<CodeObject>, Error> =
                    objects.iter().map(|o| Ok(CodeObject::parse(copies::of(o, copies)?)?)).collect();
                all.push(Figures { copies: Some(copies), ..measure(&grown?, runs)? });
            }
            all
        }
    };
    for figures in &all {
        match (args.iter().any(|a| a == "--json"), figures.copies) {
            (true, None) => println!("{}", serde_json::to_string(figures)?),
            (true, Some(_)) => {}
            (false, _) => show(file, figures),
        }
    }
    if args.iter().any(|a| a == "--json") && all[0].copies.is_some() {
        println!("{}", serde_json::to_string(&all)?);
    }
    Ok(())
}

/// The fastest of some runs.
fn measure(objects: &[CodeObject], runs: usize) -> Result<Figures, Error> {
    let mut best: Option<Figures> = None;
    for _ in 0..runs.max(1) {
        let figures = once(objects)?;
        if best.as_ref().is_none_or(|b| figures.seconds() < b.seconds()) {
            best = Some(figures);
        }
    }
    best.ok_or_else(|| "no run".into())
}

fn once(objects: &[CodeObject]) -> Result<Figures, Error> {
    let mut sum = Figures::default();
    let (mut kept, mut peak) = (0, 0);
    for object in objects {
        let before = memory::start();
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let program = Program::lift(object)?;
        sum.lift_seconds += start.elapsed().as_secs_f64();
        kept += memory::now() - before;
        let start = Instant::now();
        let at_entries = Liveness::for_each(&program, |live| live.live_in(program.function(live.func()).entry).len());
        std::hint::black_box(at_entries);
        sum.liveness_seconds += start.elapsed().as_secs_f64();
        sum.cpu_seconds += cpu_seconds() - cpu;
        peak = peak.max(memory::peak() - before);
        sum.instructions += program.instrs().len();
        sum.functions += program.functions().len();
        sum.blocks += program.blocks().len();
        sum.issues += program.issues().len();
    }
    sum.bytes_per_instruction = kept as f64 / (sum.instructions as f64).max(1.0);
    sum.peak_bytes_per_instruction = peak as f64 / (sum.instructions as f64).max(1.0);
    Ok(sum)
}

/// What this thread has been running, from Linux's scheduler. Zero elsewhere.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn show(file: &str, f: &Figures) {
    let copies = f.copies.map_or(String::new(), |n| format!(" x {n}"));
    println!(
        "{file}{copies}: {} instructions, {} blocks, {} functions, {} issues",
        f.instructions, f.blocks, f.functions, f.issues
    );
    println!(
        "lift {:.3} s, liveness {:.3} s, at work {:.3} s; {:.1} bytes an instruction kept, {:.1} at most",
        f.lift_seconds, f.liveness_seconds, f.cpu_seconds, f.bytes_per_instruction, f.peak_bytes_per_instruction
    );
}
