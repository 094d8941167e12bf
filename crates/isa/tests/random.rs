//! Random and edge words against llvm-objdump: the same words are instructions, of the same size and text.
//!
//! The words are mostly near-misses: every opcode's own encoding with other bits random. What differs on purpose:
//!
//! * LLVM decodes register tuples that the operand cannot have (misaligned, or past v255) and complains in the text
//!   ("Invalid register"), constants where only a register can be ("Invalid immediate"), or has registers past v255, which are a later processor's: no instructions to us.
//! * image instructions with misaligned data registers, or with ones past v255: LLVM says they had one register, or two.
//! * SDWA and DPP forms of v_nop, v_pipeflush and v_clrexcp with any other bits: LLVM takes them for v_nop with the mark as its source.
//! * ds_gws_* with the bit that names an accumulation register, where memory instructions reach none (gfx900 to gfx908).
//! * the scales of a matrix operation (gfx950, gfx1250) before something that is none: LLVM takes them for an instruction.
//! * f8f6f4 matrix operations with constants in the place of their sources: LLVM crashes. They are not tried, and no
//!   instructions to us.
//! * a carry-in or condition mask (src2 of v_addc_co_u32_e64, v_cndmask_b32_e64 ...) in vector registers or src_lds_direct:
//!   LLVM prints it without complaint, though the class of the operand is of scalar registers.
//! * VOP3 with bits of OP_SEL set that have no operand: LLVM falls back to its forms that have no halves (gfx11 on).
//! * image address registers that end past v255: LLVM says that they were fewer.
//! * a literal as the scalar offset of a buffer access: LLVM reads one behind the encoding, which has none (gfx10 on).
//! * src_lds_direct as the destination of a comparison (gfx10, gfx11): LLVM prints it without complaint.
//! * gfx9's encodings of v_fma_mix_*, which LLVM tries on RDNA too.
//! * the second of two v_dual_fmaak or v_dual_fmamk with a literal that could be inline: LLVM does not mark it.
//! * v_cndmask_b32 with DPP and an absolute value (gfx12): LLVM writes its mask between the bars.
//! * a barrier's number in a literal (gfx12): LLVM crashes. Not tried, and no instructions to us.
//! * a literal behind VOP3 with DPP, which has none: LLVM reads one (gfx1150 on).
//! * a literal behind VOPD3, which has none, and a second one where the opcode has its own (gfx1250): LLVM reads both.
//! * literals and constants of v_cvt_pk_fp8_f16 and v_cvt_pk_bf8_f16 (gfx1250): LLVM does not mark those, and prints bits of these.
//! * matrix operations with formats, and the scales before them, with a literal, or with a constant in the place of a
//!   matrix (gfx1250): LLVM crashes. Not tried.
//! * anything but v0 in the third source of what loads the scales, which the hardware does not read (gfx1250): LLVM 22 knows no
//!   instruction, later ones do; see tests/vectors.rs.
//! * DPP8 whose lanes, as a number, are the code of an inline constant: LLVM prints the lanes of the constant; of that of a
//!   literal: it reads one behind the encoding.
//! * quad permutations of v_fma_mix*, v_cvt_pk_fp8_f32 and v_cvt_pk_bf8_f32 (VOP3 with DPP) that are, as a number, a
//!   source's code of an inline constant: LLVM prints the constant; of that of a literal: it knows no instruction.
//! * v_fmac_* with DPP and an inline constant (gfx1150 on): LLVM prints the constant's code.
//! * a source code of 255 in an encoding of eight bytes, where no literal can follow: LLVM 22 builds its complaint from a
//!   string that is gone and may crash. Such words are not tried.
//! * SDWA selectors of 7 and a destination rule of 3, which mean nothing: LLVM decodes them, and crashes when it prints
//!   them. They are not tried either, and no instructions to us.

mod common;

use common::{Rng, modes, name, objdump, random_words, scratch, without_remarks};
use luthier_isa::{Field, Generation, Inst, Mode, Operand};

/// Words of the longest instruction.
const LONGEST: usize = 5;
/// Encodings that LLVM is asked about at once.
const BATCH: usize = 100_000;
/// Differences that are shown.
const SHOWN: usize = 60;
const NOP: u32 = 0xbf80_0000;

/// Could LLVM crash on an instruction that starts with these two words?
fn is_hazard(mode: Mode, w0: u32, w1: u32) -> bool {
    let generation = mode.target().generation();
    let reserved = || [8, 16, 24].iter().any(|low| w1 >> low & 7 == 7) || w1 >> 11 & 3 == 3;
    let is_sdwa = w0 >> 31 == 0 && w0 & 0x1ff == 249;
    if generation == Generation::Gfx10 {
        return is_sdwa && reserved();
    }
    if generation >= Generation::Gfx12 {
        let barrier = w0 & 0xff80_00ff == 0xbe80_00ff && matches!(w0 >> 8 & 0xff, 0x4e..=0x57);
        let scales = matches!(w0 >> 16, 0xcc33 | 0xcc35 | 0xcc3a | 0xcc88);
        let literal = [0, 9, 18].iter().any(|low| w1 >> low & 0x1ff == 255);
        let formats = w0 >> 16 == 0xcc33 && (w1 >> 8 & 1 == 0 || w1 >> 17 & 1 == 0);
        return barrier || generation == Generation::Gfx1250 && (scales && literal || formats);
    }
    if !generation.is_gfx9_family() {
        return false;
    }
    let nine = |low: u32| w1 >> low & 0x1ff == 255;
    match w0 >> 26 {
        0x34 if matches!(w0 >> 16, 0xd3ad | 0xd3ae) && (w1 >> 8 & 1 == 0 || w1 >> 17 & 1 == 0) => true,
        0x34 => w0 & 0xff == 255 || nine(0) || nine(9) || nine(18),
        0x38 | 0x3a => w1 >> 24 == 255,
        _ if is_sdwa => reserved() || w1 & 0xff == 255 || w0 >> 9 & 0xff == 255,
        _ => false,
    }
}

/// Words to compare, and where each encoding starts.
#[derive(Default)]
struct Encodings {
    words: Vec<u32>,
    starts: Vec<usize>,
}

impl Encodings {
    fn push(&mut self, mode: Mode, five: [u32; LONGEST]) {
        let [a, b, c, d, e] = five;
        let mut w = [a, b, c, d, e, NOP, NOP, NOP, NOP];
        if (0..LONGEST).any(|i| is_hazard(mode, w[i], w[i + 1])) {
            return;
        }
        self.starts.push(self.words.len());
        // Behind what is an instruction to us nothing is compared. Otherwise LLVM may find one that starts at any word.
        match ours(mode, &five) {
            Some((size, _)) => {
                w[size / 4..].fill(NOP);
                self.words.extend(&w[..LONGEST]);
            }
            None => self.words.extend(w),
        }
    }
}

/// What we say of the words, as LLVM would print it.
fn ours(mode: Mode, words: &[u32]) -> Option<(usize, String)> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let inst = Inst::decode(mode, &bytes).ok()?;
    Some((inst.size(), inst.to_string()))
}

/// A register past the last of its file.
fn past_the_file(mode: Mode, text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '[' && c != ':').any(|word| {
        let Some(range) = word.strip_prefix("v[").or_else(|| word.strip_prefix("a[")) else { return false };
        range
            .split(':')
            .next_back()
            .and_then(|n| n.parse::<u32>().ok())
            .is_some_and(|n| n >= mode.target().vgprs().into())
    })
}

/// Words that are no instructions to us, whatever LLVM says.
fn is_llvms_fault(mode: Mode, words: &[u32], text: &str) -> bool {
    let (w0, w1) = (words[0], words[1]);
    let generation = mode.target().generation();
    if !generation.is_gfx9_family() {
        let newer = generation >= Generation::Gfx11;
        let whole = w0 >> 26 == 0x35 && w0 >> 11 & 0xf != 0 && !text.contains(".l") && !text.contains(".h");
        let masked = w0 >> 16 & 0x3ff;
        let masked = masked == 0x101
            || if newer { matches!(masked, 0x120..=0x122 | 0x25d) } else { matches!(masked, 0x128..=0x12a) };
        let carry = w0 >> 26 == 0x35 && masked && (w1 >> 26 & 1 == 1 || w1 >> 18 & 0x1ff == 254);
        let lds_direct = w0 >> 24 == 0xd4 && w0 & 0xff == 254;
        let gfx9 = matches!(w0 >> 16, 0xd3a0..=0xd3a2);
        let operation = w0 >> 9 & 0xff;
        let has_mark = matches!(w0 & 0x1ff, 0xe9 | 0xea | 0xfa) || !newer && w0 & 0x1ff == 0xf9;
        let nothing = operation == 0 || operation == 0x1b || !newer && operation == 0x41;
        let marked = w0 >> 25 == 0x3f && w0 >> 17 & 0xff == 0 && has_mark && nothing;
        let form = newer && w0 >> 26 == 0x35 && matches!(w1 & 0x1ff, 233 | 234 | 250);
        let marked = marked || form && matches!(w0 >> 16 & 0x3ff, 0x180 | 0x19b);
        let dpp_literal = form && (w1 >> 9 & 0x1ff == 255 || w1 >> 18 & 0x1ff == 255);
        // Another literal where the opcode has one: LLVM takes both for the same.
        let two = generation == Generation::Gfx1250
            && match w0 >> 25 {
                0x23 | 0x24 => w0 & 0x1ff == 255,
                0x64..=0x67 => [w0, w1].iter().any(|w| w & 0x1ff == 254),
                0x16 | 0x2c | 0x2d | 0x37 | 0x38 => w0 & 0x1ff == 254,
                _ => w0 >> 30 == 2 && [w0, w0 >> 8].iter().any(|w| w & 0xff == 254),
            };
        let two = two || w0 >> 24 == 0xcf && [w0, w1].iter().any(|w| matches!(w & 0x1ff, 254 | 255));
        // A scalar result in the place of a literal; a literal of each size.
        let source = |code: u32| [0, 9, 18].iter().any(|low| w1 >> low & 0x1ff == code);
        let scalar = matches!(w0 >> 16, 0xd680..=0xd68f) && w0 & 0xff == 254;
        let two =
            two || generation == Generation::Gfx1250 && (scalar || w0 >> 26 == 0x35 && source(254) && source(255));
        let scaled = words[2] >> 24 == 0xcc && matches!(words[2] >> 16 & 0xff, 0x33 | 0x88);
        let two = two || matches!(w0 >> 16, 0xcc35 | 0xcc3a) && scaled;
        let memory = match generation {
            Generation::Gfx12 | Generation::Gfx1250 => is_fault_of_gfx12s_images(w0, w1, words[2]),
            _ => is_fault_of_memory(newer, w0, w1, words[2]),
        };
        return newer && whole || lds_direct || carry || gfx9 || marked || dpp_literal || two || memory;
    }
    let has_acc = generation != Generation::Gfx9;
    // image data registers: misaligned, or past v255
    let odd_data = w0 >> 26 == 0x3c && (has_acc && w1 >> 8 & 1 == 1 || w1 >> 8 & 0xff > 251);
    let carry = matches!(w0 >> 16, 0xd100 | 0xd11c..=0xd11e) && w1 >> 26 & 1 == 1;
    let nothing = matches!(w0, 0x7e00_00f9 | 0x7e00_6af9 | 0x7e00_00fa | 0x7e00_6afa);
    let scales = w0 >> 16 == 0xd3ac;
    let accumulator = !has_acc && text.starts_with("ds_gws_") && w0 >> 25 & 1 == 1;
    odd_data || carry || nothing || scales || accumulator
}

/// The same of gfx10 and gfx11 where memory is accessed.
fn is_fault_of_memory(newer: bool, w0: u32, w1: u32, w2: u32) -> bool {
    let nsa = if newer { w0 & 1 == 1 } else { w0 >> 1 & 3 != 0 };
    // The last of the addresses that are named one by one may be several registers.
    let named = if nsa { w2.to_le_bytes() } else { [w1 as u8; 4] };
    let past_address = named.into_iter().any(|v| v > 244);
    let past = w0 >> 26 == 0x3c && (past_address && (newer || !nsa) || w1 >> 8 & 0xff > 250);
    let literal = matches!(w0 >> 26, 0x38 | 0x3a) && w1 >> 24 == 255;
    past || literal
}

fn is_fault_of_gfx12s_images(w0: u32, w1: u32, w2: u32) -> bool {
    let last = if w0 >> 26 == 0x34 { (w1 >> 24) as u8 } else { 0 };
    let past = w2.to_le_bytes().into_iter().chain([last]).any(|v| v > 244);
    matches!(w0 >> 26, 0x34 | 0x39) && (past || w1 & 0xff > 250)
}

/// Does LLVM print a literal as if it were an inline constant?
fn is_unmarked_literal(mode: Mode, words: &[u32], text: &str) -> bool {
    let dual = mode.target().generation() >= Generation::Gfx11 && words[0] >> 26 == 0x32;
    let packed = ["v_cvt_pk_fp8_f16 ", "v_cvt_pk_bf8_f16 "].iter().any(|name| text.starts_with(name));
    if packed && matches!(words[1] & 0x1ff, 255 | 240..=248) {
        return true;
    }
    dual && words[1] & 0x1ff == 255 && text.matches("_fma").count() == 2 && !text.contains("lit(")
}

/// What stands between these two in a text.
fn between<'a>(text: &'a str, from: &str, to: char) -> Option<&'a str> {
    text.split_once(from).and_then(|(_, rest)| Some(rest.split_once(to)?.0))
}

/// A list of small numbers, this many bits each, as one number.
fn number(list: &str, bits: u32) -> Option<u32> {
    list.split(',').rev().try_fold(0u32, |all, n| Some(all << bits | n.parse::<u32>().ok()?))
}

/// Is it the code of an inline constant?
fn is_constants_code(list: &str, bits: u32) -> bool {
    number(list, bits).is_some_and(|n| matches!(n, 128..=208 | 240..=248))
}

/// Does LLVM take the lanes or the control of DPP, or the code of a constant, for what they are not?
fn is_misread(ours: &Option<(usize, String)>, theirs: &Option<(usize, String)>) -> bool {
    let Some((size, ours)) = ours else { return false };
    let controlled = ["v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"];
    let controlled = controlled.iter().any(|name| ours.starts_with(name)) && ours.contains("_dpp");
    let Some((other, theirs)) = theirs else { return controlled && ours.contains("quad_perm:[3,3,3,3]") };
    let lanes = between(ours, " dpp8:[", ']');
    let is_literal = lanes.is_some_and(|list| number(list, 3) == Some(255));
    let is_lanes = is_literal || lanes.is_some_and(|list| is_constants_code(list, 3));
    let is_control = controlled && between(ours, " quad_perm:[", ']').is_some_and(|list| is_constants_code(list, 2));
    let is_constant = |word: &str| {
        let word = word.trim_matches(|c| c == '-' || c == '|' || c == ',');
        word.starts_with(|c: char| c.is_ascii_digit()) || word.starts_with("neg(")
    };
    let fmac = ours.starts_with("v_fmac_") && ours.contains("_e64_dpp");
    let is_same = |word: &&str| {
        !(is_lanes && word.starts_with("dpp8:")
            || is_control && word.starts_with("quad_perm:")
            || fmac && is_constant(word))
    };
    let rest = |text: &str| text.split(' ').filter(is_same).collect::<Vec<_>>().join(" ");
    (size == other || is_literal) && rest(ours) == rest(theirs)
}

fn compare(mode: Mode, encodings: &Encodings, kind: &str) -> usize {
    let folder = scratch(&format!("{kind}-{}", name(mode)));
    let lines = objdump(mode, &encodings.words, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let at: std::collections::HashMap<u64, &common::Line> = lines.iter().map(|l| (l.address, l)).collect();
    let (mut compared, mut valid, mut wrong) = (0, 0, Vec::new());
    for &start in &encodings.starts {
        let Some(line) = at.get(&((start * 4) as u64)) else { continue };
        let chunk = &encodings.words[start..start + LONGEST];
        let mut theirs = line.text.as_ref().map(|t| (line.size, without_remarks(t)));
        if theirs.as_ref().is_some_and(|(_, t)| {
            t.contains("/*Invalid register") || t.contains("/*Invalid immediate") || past_the_file(mode, t)
        }) {
            theirs = None;
        }
        let ours = ours(mode, chunk);
        let text = theirs.as_ref().map_or("", |(_, t)| t);
        let scaled = ours.as_ref().is_some_and(|(_, t)| t.starts_with("v_wmma_scale"));
        let unread = scaled && chunk[1] >> 18 & 0x1ff != 0x100;
        if unread || ours.is_none() && is_llvms_fault(mode, chunk, text) {
            continue;
        }
        compared += 1;
        valid += usize::from(theirs.is_some());
        if let Some((_, text)) = theirs.as_mut().filter(|(_, t)| t.starts_with("v_cndmask_b32_dpp")) {
            *text = text.replace(", vcc_lo|", "|, vcc_lo").replace(", vcc|", "|, vcc");
        }
        let text = theirs.as_ref().map_or("", |(_, t)| t);
        let same = ours == theirs || is_unmarked_literal(mode, chunk, text) || is_misread(&ours, &theirs);
        if !same {
            wrong.push(format!("{chunk:08x?}\n  ours {ours:?}\n  llvm {theirs:?}"));
        }
    }
    let count = wrong.len();
    let mut seen = std::collections::HashSet::new();
    let key = |w: &String| w.split('"').nth(1).unwrap_or("").split(' ').next().unwrap_or("").to_string();
    let shown: Vec<String> = wrong.into_iter().filter(|w| seen.insert(key(w))).take(SHOWN).collect();
    let mode = name(mode);
    for line in &shown {
        eprintln!("{mode}: {line}");
    }
    println!("{mode}: {compared} {kind} encodings compared, {valid} of them instructions, {count} differ");
    count
}

/// Encodings for each mode: `LUTHIER_RANDOM=1000000`, or a sample, a small one of processors that have the opcodes of one
/// before them.
fn amount(mode: Mode, sample: usize) -> usize {
    let has_same = |other: &Mode| {
        let names = |mode: Mode| mode.opcodes().iter().map(|info| info.llvm);
        other.wave() == mode.wave() && names(*other).eq(names(mode))
    };
    let sample = if modes().iter().find(|m| has_same(m)) == Some(&mode) { sample } else { sample / 8 };
    std::env::var("LUTHIER_RANDOM").ok().map_or(sample, |n| n.parse().expect("LUTHIER_RANDOM is a number"))
}

/// The modes to try: `LUTHIER_TARGETS=gfx942,gfx1100`, or all.
fn chosen() -> Vec<Mode> {
    let wish = std::env::var("LUTHIER_TARGETS").ok();
    let is_chosen =
        |m: &Mode| wish.as_ref().is_none_or(|w| w.split(',').any(|t| t == m.target().name() || t == name(*m)));
    modes().into_iter().filter(is_chosen).collect()
}

#[test]
fn near_misses_agree_with_objdump() {
    let mut wrong = 0;
    for mode in chosen() {
        let mut rng = Rng(0x1234_5678_9abc + mode.target() as u64);
        let (amount, opcodes) = (amount(mode, 16_000), mode.opcodes());
        for from in (0..amount).step_by(BATCH) {
            let mut words = Encodings::default();
            for i in from..amount.min(from + BATCH) {
                // every opcode in turn, then any
                let at = if i < 2 * opcodes.len() { i / 2 } else { rng.below(opcodes.len() as u64) as usize };
                words.push(mode, random_words(&opcodes[at], &mut rng));
            }
            wrong += compare(mode, &words, "near");
        }
    }
    assert_eq!(wrong, 0, "encodings differ");
}

#[test]
fn arbitrary_words_agree_with_objdump() {
    let mut wrong = 0;
    for mode in chosen() {
        let mut rng = Rng(99 + mode.target() as u64);
        let amount = amount(mode, 8_000);
        for from in (0..amount).step_by(BATCH) {
            let mut words = Encodings::default();
            for _ in from..amount.min(from + BATCH) {
                let (a, b, c) = (rng.next(), rng.next(), rng.next());
                words.push(mode, [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32, c as u32]);
            }
            wrong += compare(mode, &words, "arbitrary");
        }
    }
    assert_eq!(wrong, 0, "encodings differ");
}

/// Processors of one family take their operands alike: without `LUTHIER_RANDOM` one of each stands for the others.
fn is_example(mode: Mode) -> bool {
    let examples = ["gfx90a:64", "gfx1010:64", "gfx1030:32", "gfx1100:32", "gfx1201:32"];
    std::env::var("LUTHIER_RANDOM").is_ok() || examples.contains(&name(mode).as_str())
}

/// The immediates that have a notation of their own: messages, hardware registers, counters, patterns of lanes.
#[test]
fn immediates_agree_with_objdump() {
    const NAMES: [&str; 6] = ["s_waitcnt", "s_sendmsg", "s_getreg_b32", "s_delay_alu", "s_version", "ds_swizzle_b32"];
    let step = if std::env::var("LUTHIER_RANDOM").is_ok() { 1 } else { 17 };
    let mut wrong = 0;
    for mode in chosen() {
        if !is_example(mode) {
            continue;
        }
        let mut words = Encodings::default();
        for info in mode.opcodes().iter().filter(|info| NAMES.iter().any(|name| info.base.starts_with(name))) {
            for raw in (0..0x10000).step_by(step) {
                let mut inst = Inst::new(info);
                let set = match inst.field(Field::Simm16) {
                    Some(_) => inst.set_field(Field::Simm16, raw),
                    None => inst.set_fields(&[(Field::Offset0, raw & 0xff), (Field::Offset1, raw >> 8)]),
                };
                if set.is_ok() {
                    let mut own = [NOP; LONGEST];
                    own[..inst.words().len()].copy_from_slice(inst.words());
                    words.push(mode, own);
                }
            }
        }
        assert!(!words.starts.is_empty(), "{}", name(mode));
        wrong += compare(mode, &words, "immediate");
    }
    assert_eq!(wrong, 0, "encodings differ");
}

/// Literals that are inline constants as well, or nearly: whether the text says so depends on the operand's type.
#[test]
fn literals_agree_with_objdump() {
    const VALUES: [u32; 9] = [0, 1, 64, 65, 0xfff0, 0x3c00, 0x3f80_0000, 0x0001_0001, 0xffff_ffff];
    let mut wrong = 0;
    for mode in chosen() {
        if !is_example(mode) {
            continue;
        }
        let mut words = Encodings::default();
        for info in mode.opcodes() {
            for index in 0..info.operands.len() {
                for value in VALUES {
                    let mut inst = Inst::new(info);
                    if inst.set_operand(index, Operand::Literal(value)).is_ok() {
                        let mut own = [0; 5];
                        own[..inst.words().len()].copy_from_slice(inst.words());
                        words.push(mode, own);
                    }
                }
            }
        }
        wrong += compare(mode, &words, "literal");
    }
    assert_eq!(wrong, 0, "encodings differ");
}
