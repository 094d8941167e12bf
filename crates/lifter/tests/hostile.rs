//! Code that no compiler writes: whatever the bytes, lifting ends, reports, and every analysis runs on the result.

mod common;

use luthier_lifter::{ExecStates, Liveness, PendingLoads, Program, export};
use luthier_loader::CodeObject;

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

/// Runs everything on an object.
fn exercise(bytes: Vec<u8>) -> usize {
    let Ok(object) = CodeObject::parse(bytes) else { return 0 };
    let Ok(program) = Program::lift(&object) else { return 0 };
    for f in program.function_ids() {
        let (live, pending) = (Liveness::of(&program, f), PendingLoads::of(&program, f));
        let exec = ExecStates::of(&program, f);
        for b in program.function(f).blocks.iter() {
            assert_eq!(live.points(b).len(), pending.points(b).len());
            exec.before(program.block(b).instrs.first);
        }
        program.listing(f).for_each(|line| drop(line.to_string()));
        export::dot(&program, f);
    }
    serde_json::to_string(&export::document(&program, None)).unwrap();
    program.instrs().len()
}

fn text_range(object: &CodeObject) -> std::ops::Range<usize> {
    let text = object.section(".text").unwrap();
    text.offset as usize..(text.offset + text.size) as usize
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

#[test]
fn random_code() {
    let object = seed();
    let mut random = Random(0x5eed);
    for _ in 0..300 {
        let mut bytes = object.bytes().to_vec();
        let text = text_range(&object);
        for word in bytes[text].chunks_mut(4) {
            // Half of the words from the families that move control.
            let value = match random.below(8) {
                0 => {
                    0xbf80_0000
                        | (random.next() as u32 & 0x000f_0000)
                        | (random.below(64) as u32).wrapping_sub(32) & 0xffff
                }
                1 => 0xbe80_0000 | random.next() as u32 & 0x007f_ffff,
                2 => 0xb000_0000 | random.next() as u32 & 0x0fff_00ff,
                _ => random.next() as u32,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
        exercise(bytes);
    }
}

#[test]
fn mutated_code() {
    let object = seed();
    let mut random = Random(0xbadc0de);
    let mut lifted = 0;
    for _ in 0..300 {
        let mut bytes = object.bytes().to_vec();
        let text = text_range(&object);
        for _ in 0..1 + random.below(6) {
            let at = text.start + random.below(text.len());
            bytes[at] ^= 1 << random.below(8);
        }
        // And the symbols now and then.
        if random.below(3) == 0 {
            let table = object.section(".symtab").unwrap();
            let at = table.offset as usize + random.below(table.size as usize);
            bytes[at] = random.next() as u8;
        }
        lifted += usize::from(exercise(bytes) > 0);
    }
    assert!(lifted > 200, "only {lifted} of 300 could be lifted at all");
}

/// A long chain of jumps, of calls and of nested branches: no stack overflow, no blow-up.
#[test]
fn long_chains() {
    const LENGTH: usize = 10_000;
    let mut jumps = String::from(".globl k\n.type k,@function\nk:\n");
    (0..LENGTH).for_each(|i| {
        jumps.push_str(&format!(
            "s_cbranch_scc1 l{}\nv_mov_b32 v{}, v{}\n l{i}:\n",
            (i * 7 + 13) % LENGTH,
            i % 50,
            i % 49
        ))
    });
    jumps.push_str("s_endpgm\n.size k, .-k\n");
    assert!(exercise(common::assemble(&jumps, &["k"]).bytes().to_vec()) > LENGTH);

    let mut calls = String::from(".globl k\n.type k,@function\nk:\ns_call_b64 s[30:31], f0\ns_endpgm\n.size k, .-k\n");
    for i in 0..1000 {
        let next = i + 1;
        calls.push_str(&format!(".type f{i},@function\nf{i}:\ns_mov_b64 s[40:41], s[30:31]\ns_call_b64 s[30:31], f{next}\ns_setpc_b64 s[40:41]\n.size f{i}, .-f{i}\n"));
    }
    calls.push_str(".type f1000,@function\nf1000:\ns_setpc_b64 s[30:31]\n.size f1000, .-f1000\n");
    assert!(exercise(common::assemble(&calls, &["k"]).bytes().to_vec()) > 3000);
}
