//! Decodes a file that holds nothing but gfx90a instructions: `decode_bench FILE [repeat]`.
//!
//! Prints the number of instructions and the best time of the repetitions, as JSON.

use std::time::Instant;

use luthier_isa::{Inst, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let bytes = std::fs::read(args.next().ok_or("usage: decode_bench FILE [repeat]")?)?;
    let repeat: u32 = args.next().map_or(Ok(3), |n| n.parse())?;
    let (mut best, mut count) = (f64::INFINITY, 0u64);
    for _ in 0..repeat {
        let start = Instant::now();
        count = 0;
        let mut at = 0;
        while at < bytes.len() {
            match Inst::decode(Target::Gfx90a, &bytes[at..]) {
                Ok(inst) => {
                    at += std::hint::black_box(&inst).size();
                    count += 1;
                }
                Err(_) => at += 4,
            }
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{{\"instructions\": {count}, \"seconds\": {best:.6}}}");
    Ok(())
}
