//! Lifts a file (every code object in it) and prints seconds and bytes an instruction.
//!
//! `cargo run --release -p luthier-lifter --example lift_bench FILE [--json] [--repeat N]`

use std::time::Instant;

use luthier_lifter::{Liveness, Program};
use luthier_loader::Container;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.iter().find(|a| !a.starts_with("--")).ok_or("usage: lift_bench FILE [--json]")?;
    let container = Container::open(file)?;
    let (mut instructions, mut functions, mut blocks, mut memory, mut issues) = (0, 0, 0, 0, 0);
    let (mut lift, mut live) = (0.0, 0.0);
    for index in 0..container.entries().len() {
        let Ok(object) = container.code_object(index) else { continue };
        let start = Instant::now();
        let program = match Program::lift(&object) {
            Ok(program) => program,
            Err(error) => {
                eprintln!("{error}");
                continue;
            }
        };
        lift += start.elapsed().as_secs_f64();
        let start = Instant::now();
        let bits: usize =
            Liveness::for_each(&program, |live| live.block_starts().iter().map(|l| l.any().len()).sum::<usize>())
                .into_iter()
                .sum();
        std::hint::black_box(bits);
        live += start.elapsed().as_secs_f64();
        instructions += program.instrs().len();
        functions += program.functions().len();
        blocks += program.blocks().len();
        memory += program.memory();
        issues += program.issues().len();
    }
    let each = memory as f64 / (instructions as f64).max(1.0);
    if args.iter().any(|a| a == "--json") {
        println!(
            "{}",
            serde_json::json!({"file": file, "instructions": instructions, "functions": functions, "blocks": blocks,
                "lift_seconds": lift, "liveness_seconds": live, "bytes_per_instruction": each, "issues": issues})
        );
    } else {
        println!("{file}: {instructions} instructions, {blocks} blocks, {functions} functions, {issues} issues");
        println!("lift {lift:.3} s, liveness {live:.3} s, {each:.1} bytes an instruction");
    }
    Ok(())
}
