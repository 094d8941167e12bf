//! Bytes that no compiler writes: whatever they are, decoding ends, and everything that may be asked of the instructions
//! found has an answer.

#[path = "../fuzz/check.rs"]
mod check;
mod common;

use common::Rng;
use luthier_isa::Target;

/// Words that begin as some opcode does, most of them with arbitrary bits elsewhere.
fn code(rng: &mut Rng) -> Vec<u8> {
    let choice = rng.next() as u8;
    let target = Target::ALL[usize::from(choice) % Target::ALL.len()];
    let opcodes = luthier_isa::Mode::from(target).opcodes();
    let mut bytes = vec![choice, rng.next() as u8];
    for _ in 0..64 {
        let words = match rng.below(3) {
            0 => [0; 5].map(|_: u32| rng.next() as u32),
            _ => common::random_words(&opcodes[rng.below(opcodes.len() as u64) as usize], rng),
        };
        let count = 1 + rng.below(5) as usize;
        bytes.extend(words[..count].iter().flat_map(|w| w.to_le_bytes()));
    }
    let end = bytes.len() - rng.below(5) as usize;
    bytes.truncate(end);
    bytes
}

/// A second of it; LUTHIER_FUZZ_SECONDS says otherwise.
#[test]
fn any_bytes_are_decoded_or_refused() {
    let seconds = std::env::var("LUTHIER_FUZZ_SECONDS").map_or(1.0, |s| s.parse().unwrap());
    let (mut rng, mut cases, mut found) = (Rng(0x5eed), 0u64, 0);
    let start = std::time::Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        found += check::code(&code(&mut rng));
        cases += 1;
    }
    println!("{cases} cases, {found} instructions");
    assert!(found as u64 > cases * 16, "{cases} cases, {found} instructions");
}
