//! Nanoseconds a wave instruction takes in each vector handler, the slowest first: `valu_speed [NAME...]`.
//!
//! Handlers only: neither the dispatch between them nor what the lowering puts around them.

use std::collections::BTreeSet;
use std::time::Instant;

use luthier_emulator::mode::Mode;
use luthier_emulator::op::Op;
use luthier_emulator::wave::Wave;
use luthier_emulator::{matrix, valu};
use luthier_isa::Target;

fn measure(name: &str, exec: u64, mode: u32) -> Option<f64> {
    let operation = luthier_isa::Op::from_name(name)?;
    let older = luthier_isa::Generation::Gfx90a;
    let run = valu::lookup(operation).or_else(|| matrix::lookup(operation, older))?.variants.select();
    let mut wave = Wave::new();
    wave.mode = Mode(mode);
    wave.set_exec(exec);
    for row in 0..64u16 {
        for lane in 0..64 {
            // Ordinary numbers in every format: words of f32 near one, whose pairs are f64 near one as well.
            wave.row_mut(row).0[lane] = 0x3fc0_0000 + u32::from(row) * 77_777 + lane as u32 * 1_234_567 % 0x40_0000;
        }
    }
    let op = Op { dst: 100, src: [0, 4, 8], sdst: 20, ssrc: 22, imm: 7 << 10, ..Op::NOTHING };
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..2000 {
                // SAFETY: `select` gives a handler for this processor; the rows and their tuples are in the file.
                let _ = unsafe { run(&mut wave, std::hint::black_box(&op)) };
            }
            start.elapsed().as_secs_f64() / 2000.0
        })
        .fold(f64::MAX, f64::min);
    Some(best * 1e9)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let names: BTreeSet<&str> =
        Target::Gfx90a.opcodes().iter().map(|info| info.base).filter(|b| b.starts_with("v_")).collect();
    let mut table: Vec<(f64, f64, f64, &str)> = names
        .into_iter()
        .filter(|name| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())))
        .filter_map(|name| {
            let full = measure(name, !0, 0x3f0)?;
            let part = measure(name, 0x0f0f_ffff_1234_5678, 0x3f0)?;
            let flush = measure(name, !0, 0x3c0)?;
            Some((full, part, flush, name))
        })
        .collect();
    table.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "{:>10} {:>10} {:>10}   ns a wave instruction: EXEC full, partial, f32 denormals flushed",
        "full", "part", "flush"
    );
    for (full, part, flush, name) in &table {
        println!("{full:10.1} {part:10.1} {flush:10.1}   {name}");
    }
}
