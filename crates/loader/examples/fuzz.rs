//! The long run: damaged input by the million, on one core.
//!
//! `fuzz [--executions N] [--seed N] [SEED_DIRECTORY]`, the directory being `crates/loader/fuzz/seeds` by default. Each
//! execution makes one input, out of a seed or out of nothing, and checks all that must hold for it, memory included.
//! It stops at the first failure, with the input in `fuzz-failure.bin`. The state of the generator is printed, so that
//! a run can go on where another one ended.

#[path = "../tests/support/alloc.rs"]
mod alloc;
#[path = "../tests/support/seeds.rs"]
mod seeds;

use std::time::Instant;

use luthier_loader::fuzz::Random;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

fn main() {
    let mut executions = 10_000_000u64;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds").to_owned();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse().ok()).expect("a number");
        match arg.as_str() {
            "--executions" => executions = number(),
            "--seed" => random = Random(number()),
            _ => directory = arg,
        }
    }
    let targets = seeds::targets(std::path::Path::new(&directory));
    let mut counts = vec![(0u64, 0u64, 0usize); targets.len()];
    let shares: usize = targets.iter().map(|target| target.share).sum();
    let start = Instant::now();
    let mut input = Vec::new();
    for execution in 0..executions {
        let mut share = random.below(shares);
        let number = targets.iter().position(|target| {
            let here = share < target.share;
            share = share.wrapping_sub(target.share);
            here
        });
        let target = &targets[number.expect("one of them")];
        target.input(&mut random, &mut input);
        let result = std::panic::catch_unwind(|| alloc::peak(|| (target.check)(&input)));
        let count = &mut counts[number.expect("one of them")];
        count.0 += 1;
        let failure = match result {
            Ok((accepted, peak)) => {
                count.1 += u64::from(accepted);
                let limit = target.memory_limit(input.len());
                // How much of what is allowed was used, in thousandths.
                count.2 = count.2.max(peak * 1000 / limit);
                (peak > limit).then(|| format!("{peak} bytes of memory for {} of input", input.len()))
            }
            Err(_) => Some("it panicked".to_owned()),
        };
        if let Some(failure) = failure {
            std::fs::write("fuzz-failure.bin", &input).expect("the input can be written");
            println!("{}: {failure}; the input is in fuzz-failure.bin", target.name);
            std::process::exit(1);
        }
        if (execution + 1) % 100_000 == 0 || execution + 1 == executions {
            let seconds = start.elapsed().as_secs_f64();
            println!("{} executions in {seconds:.0} s, generator state {}", execution + 1, random.0);
            for (target, (runs, accepted, used)) in targets.iter().zip(&counts) {
                let name = target.name;
                println!(
                    "  {name}: {runs}, {accepted} accepted, at most {:.1} % of the memory allowed",
                    *used as f64 / 10.0
                );
            }
        }
    }
}
