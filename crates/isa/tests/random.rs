//! Random and edge words against llvm-objdump: the same words are instructions, of the same size and text.
//!
//! The words are mostly near-misses: every opcode's own encoding with other bits random. What differs on purpose:
//!
//! * LLVM decodes register tuples that the operand cannot have (misaligned, or past v255) and complains in the text
//!   ("Invalid register"), constants where only a register can be ("Invalid immediate"), or has registers past v255, which are a later processor's: no instructions to us.
//! * image instructions with misaligned data registers: LLVM says they had one register.
//! * a carry-in or condition mask (src2 of v_addc_co_u32_e64, v_cndmask_b32_e64 ...) in vector registers: LLVM prints it
//!   without complaint, though the class of the operand is of scalar registers.
//! * a source code of 255 in an encoding of eight bytes, where no literal can follow: LLVM 22 builds its complaint from a
//!   string that is gone and may crash. Such words are not tried.
//! * SDWA selectors of 7 and a destination rule of 3, which mean nothing: LLVM decodes them, and crashes when it prints
//!   them. They are not tried either, and no instructions to us.

mod common;

use common::{Rng, objdump, random_words, scratch};
use luthier_isa::{Inst, Target};

/// Words to an instruction: it may be 12 bytes long, and start at any of the first three words.
const CHUNK: usize = 5;
const NOP: u32 = 0xbf80_0000;

/// Could LLVM crash on an instruction that starts with these two words?
fn is_hazard(w0: u32, w1: u32) -> bool {
    let nine = |low: u32| w1 >> low & 0x1ff == 255;
    match w0 >> 26 {
        0x34 => w0 & 0xff == 255 || nine(0) || nine(9) || nine(18),
        0x38 | 0x3a => w1 >> 24 == 255,
        _ if w0 >> 31 == 0 && w0 & 0x1ff == 249 => {
            let reserved = [8, 16, 24].iter().any(|low| w1 >> low & 7 == 7) || w1 >> 11 & 3 == 3;
            reserved || w1 & 0xff == 255 || w0 >> 9 & 0xff == 255
        }
        _ => false,
    }
}

fn push(words: &mut Vec<u32>, three: [u32; 3]) {
    let w = [three[0], three[1], three[2], NOP, NOP];
    if (0..3).any(|i| is_hazard(w[i], w[i + 1])) {
        return;
    }
    words.extend(w);
}

/// What we say of the words, as LLVM would print it.
fn ours(words: &[u32]) -> Option<(usize, String)> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let inst = Inst::decode(Target::Gfx90a, &bytes).ok()?;
    Some((inst.size(), inst.to_string()))
}

/// A register past v255 or a255.
fn past_the_file(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '[' && c != ':').any(|word| {
        let Some(range) = word.strip_prefix("v[").or_else(|| word.strip_prefix("a[")) else { return false };
        range.split(':').next_back().and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n > 255)
    })
}

fn compare(words: &[u32], name: &str) {
    let folder = scratch(name);
    let lines = objdump(words, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let at: std::collections::HashMap<u64, &common::Line> = lines.iter().map(|l| (l.address, l)).collect();
    let (mut compared, mut valid, mut wrong) = (0, 0, Vec::new());
    for (i, chunk) in words.chunks(CHUNK).enumerate() {
        let Some(line) = at.get(&((i * CHUNK * 4) as u64)) else { continue };
        let mut theirs = line.text.clone().map(|t| (line.size, t));
        if theirs.as_ref().is_some_and(|(_, t)| {
            t.contains("/*Invalid register") || t.contains("/*Invalid immediate") || past_the_file(t)
        }) {
            theirs = None;
        }
        let ours = ours(chunk);
        // LLVM prints the misaligned data registers of an image instruction as a single one.
        let odd_data = chunk[0] >> 26 == 0x3c && chunk[1] >> 8 & 1 == 1;
        let carry = matches!(chunk[0] >> 16, 0xd100 | 0xd11c..=0xd11e) && chunk[1] >> 26 & 1 == 1;
        if ours.is_none() && (odd_data || carry) {
            continue;
        }
        compared += 1;
        valid += usize::from(theirs.is_some());
        let same = ours == theirs;
        if !same {
            wrong.push(format!("{:08x?}\n  ours {ours:?}\n  llvm {theirs:?}", &chunk[..3]));
        }
    }
    let count = wrong.len();
    let mut seen = std::collections::HashSet::new();
    let key = |w: &String| w.split('"').nth(1).unwrap_or("").split(' ').next().unwrap_or("").to_string();
    let shown: Vec<String> = wrong.into_iter().filter(|w| seen.insert(key(w))).take(60).collect();
    assert!(shown.is_empty(), "{count} of {compared} differ:\n{}", shown.join("\n"));
    println!("{compared} random encodings agree, {valid} of them instructions");
    assert!(compared > 40_000);
}

#[test]
fn near_misses_agree_with_objdump() {
    let (mut rng, mut words) = (Rng(0x1234_5678_9abc), Vec::new());
    for info in Target::Gfx90a.opcodes() {
        for _ in 0..40 {
            push(&mut words, random_words(info, &mut rng));
        }
    }
    compare(&words, "near");
}

#[test]
fn arbitrary_words_agree_with_objdump() {
    let (mut rng, mut words) = (Rng(99), Vec::new());
    for _ in 0..100_000 {
        let (a, b) = (rng.next(), rng.next());
        push(&mut words, [a as u32, (a >> 32) as u32, b as u32]);
    }
    compare(&words, "arbitrary");
}
