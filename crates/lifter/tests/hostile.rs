//! Code that no compiler writes: whatever the bytes, lifting ends, reports, and every analysis runs on the result.

mod common;
#[path = "../fuzz/exercise.rs"]
mod exercise;
#[path = "../examples/lift_bench/memory.rs"]
mod memory;

use luthier_loader::CodeObject;

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// The object that the mutations start from: calls, jumps, loops, several functions.
fn seed() -> CodeObject {
    let sources = ["calls", "jumps", "loop", "pending"].map(|name| {
        let path = format!("{}/tests/files/{name}.s", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        // One file each: rename the kernels apart.
        text.replace("k:", &format!("k_{name}:"))
            .replace(" k,", &format!(" k_{name},"))
            .replace(".-k\n", &format!(".-k_{name}\n"))
            .replace("globl k\n", &format!("globl k_{name}\n"))
            .replace("join", &format!("join_{name}"))
    });
    common::assemble(&sources.join("\n.text\n"), &["k_calls", "k_jumps", "k_loop", "k_pending"])
}

/// What a run of the fuzzer has seen.
#[derive(Default, Debug)]
struct Figures {
    cases: usize,
    lifted: usize,
    instructions: usize,
    /// The most time and memory that a case took, for each byte of its code.
    slowest_ns_per_byte: f64,
    most_bytes_per_byte: f64,
}

/// Random words, half of them from the families that move control.
fn scramble(text: &mut [u8], random: &mut Random) {
    for word in text.chunks_mut(4).filter(|w| w.len() == 4) {
        let value = match random.below(8) {
            0 => {
                0xbf80_0000 | (random.next() as u32 & 0x000f_0000) | (random.below(64) as u32).wrapping_sub(32) & 0xffff
            }
            1 => 0xbe80_0000 | random.next() as u32 & 0x007f_ffff,
            2 => 0xb000_0000 | random.next() as u32 & 0x0fff_00ff,
            _ => random.next() as u32,
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
}

/// Real code with a few bits flipped, words swapped and stretches copied over others; symbols now and then.
fn mutate(object: &CodeObject, bytes: &mut [u8], random: &mut Random) {
    let text = exercise::text_range(object.bytes());
    if text.len() < 64 {
        return;
    }
    for _ in 0..1 + random.below(6) {
        let word = |random: &mut Random| text.start + random.below(text.len() / 4 - 8) * 4;
        match random.below(4) {
            0 | 1 => bytes[text.start + random.below(text.len())] ^= 1 << random.below(8),
            2 => {
                let (a, b) = (word(random), word(random));
                (0..4).for_each(|i| bytes.swap(a + i, b + i));
            }
            _ => {
                let (from, to) = (word(random), word(random));
                bytes.copy_within(from..from + 32, to);
            }
        }
    }
    if random.below(3) == 0
        && let Some(table) = object.section(".symtab").filter(|t| t.size > 0)
    {
        bytes[table.offset as usize + random.below(table.size as usize)] = random.next() as u8;
    }
}

/// Objects of the corpus, of every processor, that are small enough to be lifted often.
fn real() -> Vec<CodeObject> {
    let targets = luthier_isa::Target::ALL.iter().filter(|t| t.has_tables());
    let paths = targets.flat_map(|t| common::objects_of(t.name()).into_iter().step_by(4));
    let small = paths.filter(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < 64 << 10));
    small.filter_map(|p| CodeObject::parse(std::fs::read(p).ok()?).ok()).collect()
}

fn fuzz(seconds: f64) -> Figures {
    let mut seeds = vec![seed()];
    seeds.extend(real());
    // What is worked out once for each processor is no memory of an input's.
    seeds.iter().for_each(|seed| {
        exercise::object(seed.bytes().to_vec());
    });
    let (mut random, mut figures) = (Random(0x5eed), Figures::default());
    let start = std::time::Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        let object = &seeds[random.below(seeds.len())];
        let (mut bytes, text) = (object.bytes().to_vec(), exercise::text_range(object.bytes()));
        match random.below(3) {
            0 => scramble(&mut bytes[text.clone()], &mut random),
            _ => mutate(object, &mut bytes, &mut random),
        }
        let (before, case) = (memory::start(), std::time::Instant::now());
        let instructions = exercise::object(bytes);
        let per_byte = |n: f64| n / (text.len() as f64 + 1024.0);
        figures.slowest_ns_per_byte = figures.slowest_ns_per_byte.max(per_byte(case.elapsed().as_nanos() as f64));
        figures.most_bytes_per_byte =
            figures.most_bytes_per_byte.max(per_byte((memory::peak().saturating_sub(before)) as f64));
        figures.cases += 1;
        figures.lifted += usize::from(instructions > 0);
        figures.instructions += instructions;
    }
    figures
}

/// One second of it; LUTHIER_FUZZ_SECONDS says otherwise. Alone in its process, so that memory is its own.
#[luthier_needs::needs(corpus)]
#[test]
fn hostile_code_is_lifted_or_refused() {
    let seconds = std::env::var("LUTHIER_FUZZ_SECONDS").map_or(1.0, |s| s.parse().unwrap());
    let figures = fuzz(seconds);
    println!("{figures:?}");
    assert!(figures.lifted * 2 > figures.cases, "{figures:?}");
    // All analyses and all texts of an object at once, liveness at every point included.
    assert!(figures.most_bytes_per_byte < 20_000.0, "{figures:?}");
}
