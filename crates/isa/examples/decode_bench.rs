//! Decodes the .text of a code object over and over, and says how many million instructions a second that is.
//!
//! `cargo run --release -p luthier-isa --example decode_bench FILE [--json] [--target=gfx90a]`; `cargo xtask mc-bench FILE`
//! does the same with LLVM's disassembler.

use std::{process::ExitCode, time::Instant};

use luthier_isa::{Decoder, Target};

/// Decodes all, stepping over what is no instruction; a checksum keeps the work from being optimized away.
fn sweep(decoder: Decoder, code: &[u8]) -> (u64, u64) {
    let (mut at, mut count, mut sum) = (0, 0, 0u64);
    while at < code.len() {
        match decoder.decode(&code[at..]) {
            Ok(inst) => {
                sum = sum.wrapping_add(u64::from(inst.info().id.0));
                count += 1;
                at += inst.size();
            }
            Err(_) => at += 4,
        }
    }
    (count, sum)
}

/// Seconds that this thread has been running, from Linux's scheduler: other programs do not lengthen them.
fn at_work() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() -> ExitCode {
    let (mut file, mut json, mut target) = (None, false, Some(Target::Gfx90a));
    for argument in std::env::args().skip(1) {
        if argument == "--json" {
            json = true;
        } else if let Some(name) = argument.strip_prefix("--target=") {
            target = Target::from_name(name).filter(|t| t.has_tables());
        } else {
            file = Some(argument);
        }
    }
    let Some((file, target)) = file.zip(target) else {
        eprintln!("usage: decode_bench FILE [--json] [--target=NAME], of a processor that has tables");
        return ExitCode::from(2);
    };
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(e) => {
            eprintln!("{file}: {e}");
            return ExitCode::FAILURE;
        }
    };
    let code = goblin::elf::Elf::parse(&bytes).ok().and_then(|elf| {
        let text = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(".text"))?;
        bytes.get(text.file_range()?)
    });
    let Some(code) = code else {
        eprintln!("{file}: no ELF file with a .text");
        return ExitCode::FAILURE;
    };
    let (mut best, mut count) = (f64::INFINITY, 0);
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 1.0 {
        let start = at_work();
        (count, _) = std::hint::black_box(sweep(Decoder::new(target), std::hint::black_box(code)));
        best = best.min(at_work() - start);
    }
    let rate = count as f64 / best / 1e6;
    if json {
        println!(
            "{{\"decoder\": \"luthier\", \"instructions\": {count}, \"seconds\": {best}, \"million_per_second\": {rate:.3}}}"
        );
    } else {
        println!("luthier: {count} instructions in {best:.4} s, {rate:.1} M/s");
    }
    ExitCode::SUCCESS
}
