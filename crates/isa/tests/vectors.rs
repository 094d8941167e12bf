//! One vector for every opcode: bytes, llvm-objdump's text, and what is read and written.
//!
//! One file for each table file, each vector with the set of modes that it holds for.
//! `UPDATE=1 cargo test -p luthier-isa --test vectors` writes them anew, with the text from
//! llvm-objdump; a change of the accesses shows up in its diff. A mark before a register says how it is touched:
//! none surely, `?` perhaps (some lanes, some bits, or under a condition).

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use common::{modes, name, objdump, sample, scratch};
use luthier_isa::{Access, Flags, Inst, Mode, Operand, Reg, RegRange};

/// The table files, each with its modes in the order of its masks' bits.
fn families() -> Vec<(String, Vec<Mode>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let family = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let names = text.lines().find_map(|l| l.strip_prefix("#modes ")).expect("the modes");
        let mode = |wish: &str| modes().into_iter().find(|m| name(*m) == wish).expect("a mode");
        (path.file_name().unwrap().to_str().unwrap().to_string(), names.split(' ').map(mode).collect())
    };
    files.iter().map(family).collect()
}

fn path(family: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(family)
}

/// MODE and the like come last: their numbers, and this.
const STATE: usize = Reg::COUNT;

fn rank(reg: Reg) -> usize {
    reg.index() + if reg.is_state() { STATE } else { 0 }
}

/// Units as ranges of their file: `s[8:9] v3 exec_lo`.
fn ranges(units: &BTreeSet<usize>) -> String {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &unit in units {
        match out.last_mut() {
            // no range counts more than 255 units
            Some((_, last))
                if *last + 1 == unit && unit < STATE && unit != 102 && ![0, 255].contains(&(unit % 256)) =>
            {
                *last = unit;
            }
            _ => out.push((unit, unit)),
        }
    }
    let reg = |i: usize| Reg::from_index(i % STATE).unwrap();
    let show = |(a, b): (usize, usize)| RegRange::new(reg(a), (b - a + 1) as u8).to_string();
    out.into_iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Sure and possible ones.
type Units = (BTreeSet<usize>, BTreeSet<usize>);

fn touched(inst: &Inst) -> (Units, Units) {
    let (mut reads, mut writes) = (Units::default(), Units::default());
    inst.for_each_access(|a| {
        let unit = rank(a.reg);
        match a.access {
            Access::Read | Access::ReadWrite | Access::ReadCondWrite => reads.0.insert(unit),
            Access::CondRead => reads.1.insert(unit),
            Access::Write | Access::CondWrite => false,
        };
        match a.access {
            Access::Write | Access::ReadWrite => writes.0.insert(unit),
            Access::CondWrite | Access::ReadCondWrite => writes.1.insert(unit),
            Access::Read | Access::CondRead => false,
        };
    });
    (reads, writes)
}

fn column((sure, perhaps): &Units) -> String {
    let mut text = ranges(sure);
    for range in ranges(perhaps).split_whitespace() {
        let _ = write!(text, "{}?{range}", if text.is_empty() { "" } else { " " });
    }
    if text.is_empty() { "-".into() } else { text }
}

fn row(inst: &Inst, text: &str) -> String {
    let words: Vec<String> = inst.words().iter().map(|w| format!("{w:08x}")).collect();
    let (reads, writes) = touched(inst);
    format!("{}\t{}\t{text}\t{}\t{}", inst.info().llvm, words.join(" "), column(&reads), column(&writes))
}

/// The vectors of one mode.
fn vectors(mode: Mode) -> Vec<String> {
    let samples: Vec<Inst> = mode.opcodes().iter().map(sample).collect();
    // each in a cell of its own, so that a misjudged size upsets no other
    let mut words = Vec::new();
    for inst in &samples {
        let mut cell = inst.words().to_vec();
        cell.resize(6, 0xbf80_0000);
        words.extend(cell);
    }
    let folder = scratch(&format!("vectors-{}", name(mode)));
    let lines: BTreeMap<u64, _> = objdump(mode, &words, &folder).into_iter().map(|l| (l.address, l)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let vector = |(i, inst): (usize, &Inst)| {
        let line = &lines[&(i as u64 * 24)];
        let text = line.text.as_deref().unwrap_or("(not decoded by LLVM)");
        assert_eq!(line.size, inst.size(), "{inst} {:08x?} {:?}", inst.words(), line.text);
        row(inst, text)
    };
    samples.iter().enumerate().map(vector).collect()
}

fn write_vectors(family: &str, modes: &[Mode]) {
    // in the order of the first mode that has them
    let (mut rows, mut masks) = (Vec::new(), BTreeMap::new());
    for (bit, mode) in modes.iter().enumerate() {
        for row in vectors(*mode) {
            let mask = masks.entry(row.clone()).or_insert(0u32);
            if *mask == 0 {
                rows.push(row);
            }
            *mask |= 1 << bit;
        }
    }
    let names: Vec<String> = modes.iter().map(|m| name(*m)).collect();
    let mut out = format!(
        "# Mask of the modes (bit 0 is the first: {}), LLVM opcode, words, llvm-objdump's text, reads, writes (a ? marks\n\
         # what may not happen). Written by `UPDATE=1 cargo test -p luthier-isa --test vectors`.\n",
        names.join(" ")
    );
    for row in rows {
        let _ = writeln!(out, "{:x}\t{row}", masks[&row]);
    }
    std::fs::create_dir_all(path(family).parent().unwrap()).unwrap();
    std::fs::write(path(family), out).unwrap();
}

#[test]
fn every_opcode_has_its_vector() {
    let mut wrong = Vec::new();
    for (family, modes) in families() {
        if std::env::var_os("UPDATE").is_some() {
            write_vectors(&family, &modes);
        }
        let text = std::fs::read_to_string(path(&family)).expect("the vectors");
        for (bit, mode) in modes.into_iter().enumerate() {
            // LLVM has one name for an image opcode with more or fewer words of addresses.
            let mut missing: BTreeSet<(&str, u8)> = mode.opcodes().iter().map(|o| (o.llvm, o.size)).collect();
            for line in text.lines().filter(|l| !l.starts_with('#')) {
                let (mask, line) = line.split_once('\t').expect("a mask");
                if u32::from_str_radix(mask, 16).expect("a mask") >> bit & 1 == 0 {
                    continue;
                }
                let columns: Vec<&str> = line.split('\t').collect();
                let [llvm, words, ..] = columns[..] else { panic!("not a vector: {line}") };
                let word = |w: &str| u32::from_str_radix(w, 16).unwrap().to_le_bytes();
                let bytes: Vec<u8> = words.split(' ').flat_map(word).collect();
                let inst = Inst::decode(mode, &bytes).unwrap_or_else(|e| panic!("{line}: {e}"));
                assert_eq!(inst.info().llvm, llvm, "{line}");
                let ours = row(&inst, &inst.to_string());
                if ours != line {
                    wrong.push(format!("{}: was {line}\nis  {ours}", name(mode)));
                }
                missing.remove(&(llvm, inst.info().size));
            }
            assert!(missing.is_empty(), "{}: opcodes without a vector: {missing:?}", name(mode));
        }
    }
    let shown = wrong.iter().take(80).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} vectors differ:\n{shown}", wrong.len());
}

/// Where our reads and writes differ from LLVM's lists, and why: part of the operation's name, what we add (+) or leave
/// out (-), read (r) or written (w), and the register; `*` for any.
const AUDITED: &[(&str, &str, &str, &str)] = &[
    ("v_mfma", "-r", "exec", "matrix operations ignore EXEC"),
    ("v_smfmac", "-r", "exec", "matrix operations ignore EXEC"),
    ("s_getreg_b32", "-r", "mode", "only if the immediate names MODE"),
    ("s_getreg_b32", "+r", "*", "the hardware register that the immediate names"),
    ("s_setreg", "-r", "mode", "only if the immediate names MODE"),
    ("s_setreg", "-w", "mode", "only if the immediate names MODE"),
    ("s_setreg", "+r", "*", "a bit field of the register that the immediate names"),
    ("s_setreg", "+w", "*", "the hardware register that the immediate names"),
    ("s_set_gpr_idx", "+w", "gpr_idx", "VGPR indexing, which MODE and M0 hold"),
    ("s_set_gpr_idx", "+r", "m0", "some bits of M0 stay"),
    ("v_movrel", "+r", "v*", "M0 chooses the VGPR that is read"),
    ("v_movrel", "+w", "v*", "M0 chooses the VGPR that is written"),
    ("v_swaprel", "+r", "v*", "M0 chooses the VGPRs that are swapped"),
    ("v_swaprel", "+w", "v*", "M0 chooses the VGPRs that are swapped"),
    ("s_subvector_loop", "+w", "s*", "holds the half of EXEC whose turn it is not; LLVM calls it an input"),
    ("s_movrels", "+r", "s*", "M0 chooses the SGPR that is read"),
    ("s_movrelsd", "+w", "s*", "M0 chooses the SGPR that is written"),
    ("s_movreld", "+w", "s*", "M0 chooses the SGPR that is written"),
    ("s_movreld", "-r", "s*", "the operand is written; LLVM calls it an input"),
    ("image_", "+r", "v*", "on gfx9 the resource says how many registers an address has; what TFE asks for may stay"),
    ("image_atomic", "-w", "v*", "returns nothing without GLC or TH_ATOMIC_RETURN"),
    // The rest is as the mock device does it: crates/emulator/tests/accesses.rs.
    ("buffer_load", "+r", "v*", "what TFE asks for may stay"),
    ("v_cvt_pkaccum_u8_f32", "+r", "v*", "three bytes stay"),
    ("v_wmma_f16_16x16x16_f16", "+r", "v*", "half of each register stays (RDNA3)"),
    ("v_wmma_bf16_16x16x16_bf16", "+r", "v*", "half of each register stays (RDNA3)"),
    ("_load_block", "+r", "v*", "M0 chooses the registers"),
    ("v_permlane64", "+r", "v*", "does nothing in a wave of 32 lanes"),
    ("_f16", "+r", "s*", "half of the register stays"),
    ("ds_", "+r", "mode", "sums of floats, by its denormals"),
    ("s_", "+r", "mode", "floats, by its rounding and denormals"),
    ("v_minimum", "+r", "mode", "by its denormals"),
    ("v_maximum", "+r", "mode", "by its denormals"),
    ("v_pk_m", "+r", "mode", "maxima and minima that hand on NaNs, by its denormals"),
    ("v_cvt_", "+r", "mode", "by its denormals"),
];

#[test]
fn accesses_are_llvms_or_audited() {
    let mut unexplained = Vec::new();
    let mut used = BTreeSet::new();
    for info in modes().into_iter().flat_map(|m| m.opcodes()) {
        let inst = sample(info);
        // what the tables, which are LLVM's, say
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for (operand, value) in inst.operands() {
            let Operand::Reg(range) = value else { continue };
            for unit in range.units() {
                if operand.access.reads() {
                    reads.insert(rank(unit));
                }
                if operand.access.writes() {
                    writes.insert(rank(unit));
                }
            }
        }
        reads.extend(info.implicit_reads.iter().map(|r| rank(*r)));
        writes.extend(info.implicit_writes.iter().map(|r| rank(*r)));
        let (our_reads, our_writes) = touched(&inst);
        let all = |u: &Units| u.0.union(&u.1).copied().collect::<BTreeSet<_>>();
        for (kind, ours, theirs) in [("r", all(&our_reads), reads), ("w", all(&our_writes), writes)] {
            let added = ours.difference(&theirs).map(|u| ("+", *u));
            let dropped = theirs.difference(&ours).map(|u| ("-", *u));
            for (sign, unit) in added.chain(dropped) {
                // A half that op_sel keeps is read, and so is all that SDWA and DPP preserve. (LLVM's instructions have an
                // operand for it before they are encoded.)
                let register = Reg::from_index(unit % STATE).unwrap();
                let halves = info.flags.intersects(Flags::OP_SEL | Flags::DPP) || info.operands.iter().any(|o| o.half);
                if sign == "+" && kind == "r" && register.is_vgpr() && halves {
                    continue;
                }
                // The upper bits of VGPR numbers are there, and `s_set_vgpr_msb` sets no more than those.
                if register == Reg::MODE && sign == "+" && kind == "r" && info.mode.target().vgprs() > 256 {
                    continue;
                }
                let change = format!("{sign}{kind}");
                let gfx9 = info.mode.target().generation().is_gfx9_family();
                let name = match unit {
                    102..106 if !gfx9 => format!("s{unit}"),
                    _ => register.to_string(),
                };
                let matching = AUDITED.iter().position(|(base, what, reg, _)| {
                    let same = match reg.strip_suffix('*') {
                        Some(prefix) => name.starts_with(prefix),
                        None => name.starts_with(reg),
                    };
                    info.base.contains(base) && *what == change && same
                });
                match matching {
                    Some(at) => _ = used.insert(at),
                    None => unexplained.push(format!("{}: {change} {name} ({inst})", info.llvm)),
                }
            }
        }
    }
    let shown = unexplained.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(unexplained.is_empty(), "{} unexplained:\n{shown}", unexplained.len());
    for (at, entry) in AUDITED.iter().enumerate() {
        assert!(used.contains(&at), "the exception {entry:?} is no longer one");
    }
}
