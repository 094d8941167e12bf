//! What the test programs share: a seeded generator of instruction words, and llvm-objdump as the oracle.
#![allow(dead_code)]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use luthier_isa::{Field, File, Generation, Inst, Mode, OpcodeInfo, Operand, Reg, RegRange, Target, Wave};

/// Xorshift: the same words on every run.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 32) % n
    }
}

/// Words of an opcode with some of the other bits random. Few bits are changed at a time, so that most stay legal.
pub fn random_words(info: &'static OpcodeInfo, rng: &mut Rng) -> [u32; 5] {
    let fresh = Inst::new(info);
    let base = fresh.words();
    let (mut w, mut flip) = ([base[0], 0, 0, 0, 0], rng.next());
    if info.size > 4 {
        w[1] = base[1];
        // registers anywhere, modifiers rarely
        flip &= match rng.below(4) {
            0 => 0xffff_ffff_0000_ffff,
            1 => 0x07ff_ffff_01ff_ffff,
            2 => 0x00ff_ffff_0000_00ff,
            _ => rng.next() & rng.next(),
        };
        w[1] ^= (flip >> 32) as u32;
    } else {
        w[1] = rng.next() as u32;
    }
    let keep: u32 = match info.size {
        4 => 0xffff_ffff, // see below
        _ => 0xfc00_0000,
    };
    w[0] ^= flip as u32 & !keep;
    if info.size == 4 {
        // the opcode field stays; operands lie around it
        let operands: u32 = info
            .layout()
            .iter()
            .filter(|(field, ..)| *field != luthier_isa::Field::Op)
            .map(|(_, low, width)| (((1u64 << width) - 1) << low) as u32)
            .fold(0, |a, b| a | b);
        w[0] ^= rng.next() as u32 & operands;
    }
    w[2] = rng.next() as u32;
    // Longer encodings keep most of the bits past the second word, which may say what they are.
    for (i, word) in w.iter_mut().enumerate().take(usize::from(info.size / 4)).skip(2) {
        *word = base[i] ^ (rng.next() & rng.next() & rng.next() & rng.next()) as u32;
    }
    w
}

/// The opcode with different registers in all its operands.
pub fn sample(info: &'static OpcodeInfo) -> Inst {
    let mut inst = Inst::new(info);
    let (mut vectors, mut scalars) = (0, 0);
    // An image instruction names up to thirteen addresses.
    let apart = if info.operands.len() > 8 { 16 } else { 32 };
    for (index, operand) in info.operands.iter().enumerate() {
        let registers = |first: Reg| Operand::Reg(RegRange::new(first, operand.units));
        // Of VOPD's destinations one is even, one odd.
        let vector = if operand.field == Field::VdstY { 103 } else { apart * vectors + 2 };
        let half = |high: bool| Operand::Reg(RegRange::half(Reg::vgpr(vector % 128), high));
        let candidates = match (operand.file, operand.field) {
            _ if operand.fixed.is_some() => continue,
            // Of two operations with a literal both have the same.
            (_, Field::Literal) => {
                vec![Operand::Literal(0x1234_5678), Operand::Literal(0), Operand::Literal64(0x1234_5678_9abc_def0)]
            }
            (File::Immediate, _) => vec![Operand::Imm(5)],
            _ if operand.half => vec![half(vectors % 2 == 1), half(false)],
            (File::Scalar, _) => vec![registers(Reg::sgpr(8 + 16 * scalars))],
            _ => vec![registers(Reg::vgpr(vector)), registers(Reg::agpr(vector))],
        };
        if matches!(operand.file, File::Scalar) {
            scalars += 1;
        } else {
            vectors += 1;
        }
        let set = candidates.into_iter().any(|value| inst.set_operand(index, value).is_ok());
        assert!(set, "{inst}: operand {index}");
    }
    inst
}

/// One line of llvm-objdump: address, size in bytes, text; `None` as text where it knows no instruction.
pub struct Line {
    pub address: u64,
    pub size: usize,
    pub text: Option<String>,
}

/// Every processor and wave size whose instructions are known.
pub fn modes() -> Vec<Mode> {
    Mode::all().filter(|m| m.target().has_tables()).collect()
}

/// `gfx1030:32`, as the table files name it.
pub fn name(mode: Mode) -> String {
    format!("{}:{}", mode.target().name(), mode.wave().lanes())
}

/// Disassembles words with LLVM: assembled into an object file, taken apart by llvm-objdump.
pub fn objdump(mode: Mode, words: &[u32], scratch: &Path) -> Vec<Line> {
    let (binary, source, object) = (scratch.join("words.bin"), scratch.join("words.s"), scratch.join("words.o"));
    std::fs::write(&binary, words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    std::fs::write(&source, format!(".text\n.incbin {binary:?}\n")).unwrap();
    let run = |command: &mut Command| {
        let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert!(out.status.success(), "{command:?}: {} {}", out.status, String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let cpu = format!("--mcpu={}", mode.target().name());
    run(Command::new("llvm-mc-22")
        .args(["-triple=amdgcn-amd-amdhsa", &cpu, "-filetype=obj", "-o"])
        .arg(&object)
        .arg(&source));
    let mut features = String::from("--mattr=");
    if mode.target().waves().len() > 1 {
        features += if mode.wave() == Wave::W64 { "+wavefrontsize64" } else { "+wavefrontsize32" };
    }
    features += true16(mode.target());
    let listing = run(Command::new("llvm-objdump-22").args(["-d", "-z", &cpu, &features]).arg(&object));
    listing.lines().filter_map(line).collect()
}

/// Without this LLVM takes 16-bit operands for whole registers, and does not know some of their instructions.
pub fn true16(target: Target) -> &'static str {
    match target.generation() {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 | Generation::Gfx10 => "",
        Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250 => ",+real-true16",
    }
}

pub fn line(line: &str) -> Option<Line> {
    let (text, comment) = line.strip_prefix('\t')?.rsplit_once("// ")?;
    let (address, words) = comment.split_once(": ")?;
    let size = words.split_whitespace().take_while(|w| w.len() == 8).count() * 4;
    // what follows a comment mark within the text is a remark of the disassembler's
    let text = text.split(" // ").next().unwrap_or(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = !text.starts_with(".long") && !text.starts_with("<unknown>");
    Some(Line { address: u64::from_str_radix(address, 16).ok()?, size, text: known.then_some(text) })
}

/// A folder of this test's own; removed by the caller.
pub fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("luthier-isa-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Without the remarks that LLVM makes after `s_set_vgpr_msb`: which register is meant, past v255.
pub fn without_remarks(text: &str) -> String {
    let mut parts = text.split(" /*v");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| all + part.split_once("*/").map_or(part, |(_, rest)| rest))
}

/// Does the same with each item, on as many threads as there are cores. A test that fails in one fails.
pub fn on_all_cores<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()).min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}
