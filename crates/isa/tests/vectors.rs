//! One vector for every opcode: bytes, llvm-objdump's text, and what is read and written.
//!
//! `UPDATE=1 cargo test -p luthier-isa --test vectors` writes `vectors/gfx90a.txt` anew, with the text from
//! llvm-objdump; a change of the accesses shows up in its diff. A mark before a register says how it is touched:
//! none surely, `?` perhaps (some lanes, some bits, or under a condition).

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use common::{objdump, scratch};
use luthier_isa::{Access, Field, File, Flags, Inst, OpcodeInfo, Operand, Reg, RegRange, Target};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/gfx90a.txt");

/// The opcode with different registers in all its operands.
fn sample(info: &'static OpcodeInfo) -> Inst {
    let mut inst = Inst::new(info);
    let (mut vectors, mut scalars) = (0, 0);
    for (index, operand) in info.operands.iter().enumerate() {
        let registers = |first: Reg| Operand::Reg(RegRange::new(first, operand.units));
        let vector = 32 * vectors + 2;
        let candidates = match (operand.file, operand.field) {
            _ if operand.fixed.is_some() => continue,
            (_, Field::Literal) => vec![Operand::Literal(0x1234_5678)],
            (File::Immediate, _) => vec![Operand::Imm(5)],
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

/// Units as ranges of their file: `s[8:9] v3 exec_lo`.
fn ranges(units: &BTreeSet<usize>) -> String {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &unit in units {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == unit && unit < 768 && unit != 102 && unit % 256 != 0 => *last = unit,
            _ => out.push((unit, unit)),
        }
    }
    let reg = |i: usize| Reg::from_index(i).unwrap();
    let show = |(a, b): (usize, usize)| RegRange::new(reg(a), (b - a + 1) as u8).to_string();
    out.into_iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Sure and possible ones.
type Units = (BTreeSet<usize>, BTreeSet<usize>);

fn touched(inst: &Inst) -> (Units, Units) {
    let (mut reads, mut writes) = (Units::default(), Units::default());
    inst.for_each_access(|a| {
        let unit = a.reg.index();
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

fn write_vectors() {
    let samples: Vec<Inst> = Target::Gfx90a.opcodes().iter().map(sample).collect();
    // each in a cell of its own, so that a misjudged size upsets no other
    let mut words = Vec::new();
    for inst in &samples {
        let mut cell = inst.words().to_vec();
        cell.resize(5, 0xbf80_0000);
        words.extend(cell);
    }
    let folder = scratch("vectors");
    let lines: BTreeMap<u64, _> = objdump(&words, &folder).into_iter().map(|l| (l.address, l)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let mut out = String::from(
        "# LLVM opcode, words, llvm-objdump's text, reads, writes (a ? marks what may not happen). Written by\n\
         # `UPDATE=1 cargo test -p luthier-isa --test vectors`.\n",
    );
    for (i, inst) in samples.iter().enumerate() {
        let line = &lines[&(i as u64 * 20)];
        let text = line.text.as_deref().unwrap_or("(not decoded by LLVM)");
        assert_eq!(line.size, inst.size(), "{inst} {:08x?} {:?}", inst.words(), line.text);
        out += &row(inst, text);
        out.push('\n');
    }
    std::fs::create_dir_all(std::path::Path::new(PATH).parent().unwrap()).unwrap();
    std::fs::write(PATH, out).unwrap();
}

#[test]
fn every_opcode_has_its_vector() {
    if std::env::var_os("UPDATE").is_some() {
        write_vectors();
    }
    let text = std::fs::read_to_string(PATH).expect("the vectors");
    let mut missing: BTreeSet<&str> = Target::Gfx90a.opcodes().iter().map(|o| o.llvm).collect();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [llvm, words, ..] = columns[..] else { panic!("not a vector: {line}") };
        let bytes: Vec<u8> = words.split(' ').flat_map(|w| u32::from_str_radix(w, 16).unwrap().to_le_bytes()).collect();
        let inst = Inst::decode(Target::Gfx90a, &bytes).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(inst.info().llvm, llvm, "{line}");
        let ours = row(&inst, &inst.to_string());
        if ours != line {
            wrong.push(format!("was {line}\nis  {ours}"));
        }
        missing.remove(llvm);
    }
    assert!(wrong.is_empty(), "{} vectors differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(missing.is_empty(), "opcodes without a vector: {missing:?}");
}

/// Where our reads and writes differ from LLVM's lists, and why: part of the operation's name, what we add (+) or leave
/// out (-), read (r) or written (w), and the register; `*` for any.
const AUDITED: &[(&str, &str, &str, &str)] = &[
    ("v_mfma", "-r", "exec", "matrix operations ignore EXEC"),
    ("s_getreg_b32", "-r", "mode", "only if the immediate names MODE"),
    ("s_getreg_b32", "+r", "*", "the hardware register that the immediate names"),
    ("s_setreg", "-r", "mode", "only if the immediate names MODE"),
    ("s_setreg", "-w", "mode", "only if the immediate names MODE"),
    ("s_setreg", "+r", "*", "a bit field of the register that the immediate names"),
    ("s_setreg", "+w", "*", "the hardware register that the immediate names"),
    ("s_set_gpr_idx", "+w", "gpr_idx", "VGPR indexing, which MODE and M0 hold"),
    ("s_set_gpr_idx", "+r", "m0", "some bits of M0 stay"),
    ("s_movrels", "+r", "s*", "M0 chooses the SGPR that is read"),
    ("s_movreld", "+w", "s*", "M0 chooses the SGPR that is written"),
    ("s_movreld", "-r", "s*", "the operand is written; LLVM calls it an input"),
];

#[test]
fn accesses_are_llvms_or_audited() {
    let mut unexplained = Vec::new();
    let mut used = BTreeSet::new();
    for info in Target::Gfx90a.opcodes() {
        let inst = sample(info);
        // what the tables, which are LLVM's, say
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for (operand, value) in inst.operands() {
            let Operand::Reg(range) = value else { continue };
            for unit in range.units() {
                if operand.access.reads() {
                    reads.insert(unit.index());
                }
                if operand.access.writes() {
                    writes.insert(unit.index());
                }
            }
        }
        reads.extend(info.implicit_reads.iter().map(|r| r.index()));
        writes.extend(info.implicit_writes.iter().map(|r| r.index()));
        let (our_reads, our_writes) = touched(&inst);
        let all = |u: &Units| u.0.union(&u.1).copied().collect::<BTreeSet<_>>();
        for (kind, ours, theirs) in [("r", all(&our_reads), reads), ("w", all(&our_writes), writes)] {
            let added = ours.difference(&theirs).map(|u| ("+", *u));
            let dropped = theirs.difference(&ours).map(|u| ("-", *u));
            for (sign, unit) in added.chain(dropped) {
                // A half that op_sel keeps is read, and so is all that SDWA and DPP preserve.
                let register = Reg::from_index(unit).unwrap();
                if sign == "+" && kind == "r" && register.is_vgpr() && info.flags.contains(Flags::OP_SEL) {
                    continue;
                }
                let change = format!("{sign}{kind}");
                let name = register.to_string();
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
