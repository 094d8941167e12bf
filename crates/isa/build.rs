//! Turns tables/*.txt into Rust statics, so that a process pays nothing for them at start-up.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs, path::Path};

const TARGETS: [&str; 1] = ["gfx90a"];

/// Bits of opcode and of variant key for each decode index. VOP3's four forms share one.
const INDEXES: [(&str, &[&str], u32, u32); 22] = [
    ("SOP1", &["Sop1"], 8, 0),
    ("SOP2", &["Sop2"], 7, 0),
    ("SOPK", &["Sopk"], 5, 0),
    ("SOPC", &["Sopc"], 7, 0),
    ("SOPP", &["Sopp"], 7, 0),
    ("SMEM", &["Smem"], 8, 3),
    ("VOP1", &["Vop1"], 8, 0),
    ("VOP2", &["Vop2"], 6, 0),
    ("VOPC", &["Vopc"], 8, 0),
    ("SDWA1", &["Sdwa1"], 8, 0),
    ("SDWA2", &["Sdwa2"], 6, 0),
    ("SDWAC", &["SdwaC"], 8, 0),
    ("DPP1", &["Dpp1"], 8, 0),
    ("DPP2", &["Dpp2"], 6, 0),
    ("VOP3", &["Vop3a", "Vop3b", "Vop3p", "Mai"], 10, 1),
    ("VINTRP", &["Vintrp"], 2, 0),
    ("DS", &["Ds"], 8, 2),
    ("FLAT", &["Flat"], 7, 6),
    ("MUBUF", &["Mubuf"], 7, 5),
    ("MTBUF", &["Mtbuf"], 4, 3),
    ("MIMG", &["Mimg"], 8, 4),
    ("EXP", &["Exp"], 1, 0),
];

fn main() {
    println!("cargo::rerun-if-changed=tables");
    let mut out = String::new();
    for target in TARGETS {
        let text = fs::read_to_string(format!("tables/{target}.txt")).expect("the instruction table");
        generate(target, &text, &mut out);
    }
    fs::write(Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("tables.rs"), out).expect("OUT_DIR");
}

fn generate(target: &str, text: &str, out: &mut String) {
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect::<Vec<_>>()).collect();
    let name = target.to_uppercase();
    writeln!(out, "pub static {name}_OPCODES: [OpcodeInfo; {}] = [", rows.len()).unwrap();
    for (id, row) in rows.iter().enumerate() {
        let [llvm, pseudo, mnemonic, format, opcode, _keys, size, operands, reads, writes, flags, legal] = row[..] else {
            panic!("{target}: {row:?} has not 12 columns");
        };
        let base = ["_e32", "_e64", "_dpp", "_sdwa"].iter().find_map(|s| mnemonic.strip_suffix(s)).unwrap_or(mnemonic);
        writeln!(
            out,
            "OpcodeInfo {{ id: OpcodeId({id}), mnemonic: {mnemonic:?}, base: {base:?}, llvm: {llvm:?}, pseudo: {pseudo:?}, \
             format: Format::{format}, opcode: {opcode}, size: {size}, operands: &[{}], implicit_reads: &[{}], \
             implicit_writes: &[{}], flags: {}, legality: {} }},",
            list(operands).map(operand).collect::<String>(),
            list(reads).map(|r| format!("Reg::{r},")).collect::<String>(),
            list(writes).map(|r| format!("Reg::{r},")).collect::<String>(),
            list(flags).fold("Flags::empty()".to_string(), |all, f| format!("{all}.union(Flags::{f})")),
            legality(legal, format),
        )
        .unwrap();
    }
    writeln!(out, "];").unwrap();

    let classes: Vec<[u64; 8]> = text.lines().filter_map(|l| l.strip_prefix("#class ")).map(class).collect();
    writeln!(out, "pub static {name}_CLASSES: [[u64; 8]; {}] = {classes:?};", classes.len()).unwrap();

    writeln!(out, "pub static {name}_INDEX: Index = Index {{").unwrap();
    for (index, formats, opcode_bits, key_bits) in INDEXES {
        let mut ids = vec![u16::MAX; 1 << (opcode_bits + key_bits)];
        for (id, row) in rows.iter().enumerate().filter(|(_, row)| formats.contains(&row[3])) {
            let packed = matches!(row[3], "Vop3p" | "Mai");
            let opcode = row[4].parse::<usize>().expect("an opcode") + if packed { 0x380 } else { 0 };
            // Only matrix opcodes look at VOP3's key bit.
            let keys: Vec<usize> = match row[3] {
                "Vop3a" | "Vop3b" | "Vop3p" => vec![0, 1],
                _ => row[5].split(',').map(|k| k.parse().expect("a key")).collect(),
            };
            for key in keys {
                let slot = &mut ids[opcode << key_bits | key];
                assert_eq!(*slot, u16::MAX, "{target}: two opcodes at {index} {opcode} {key}: {}", row[0]);
                *slot = id as u16;
            }
        }
        writeln!(out, "{}: &{ids:?},", index.to_lowercase()).unwrap();
    }
    writeln!(out, "}};").unwrap();

    let mut by_mnemonic = BTreeMap::new();
    for (id, row) in rows.iter().enumerate() {
        by_mnemonic.entry(row[2]).or_insert(id);
    }
    writeln!(
        out,
        "pub static {name}_MNEMONICS: [(&str, u16); {}] = {:?};",
        by_mnemonic.len(),
        by_mnemonic.iter().collect::<Vec<_>>()
    )
    .unwrap();
}

/// A bit for each of the 512 codes that an operand field may have.
fn class(line: &str) -> [u64; 8] {
    let (_, codes) = line.split_once(' ').expect("a class number and its codes");
    let mut bits = [0; 8];
    for range in codes.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let code = |s: &str| s.parse::<usize>().unwrap_or_else(|_| panic!("{s} is no code"));
        (code(from)..=code(to)).for_each(|c| bits[c / 64] |= 1 << (c % 64));
    }
    bits
}

/// The column of the same name, and where a source code of 255 means that a literal follows.
fn legality(column: &str, format: &str) -> String {
    let mut words = column.split_whitespace();
    let bits: Vec<&str> = words.next().expect("the bits").split('/').collect();
    let [fixed, value, ignored] = bits[..] else { panic!("legality {column}") };
    let mut checks = String::new();
    for word in words {
        let parts: Vec<&str> = word.split(':').collect();
        let [low, width, class] = parts[..] else { panic!("check {word}") };
        write!(checks, "Check {{ low: {low}, width: {width}, class: {class} }},").unwrap();
    }
    let literals = match format {
        "Sop1" => "&[(0, 0xff)]",
        "Sop2" | "Sopc" => "&[(0, 0xff), (8, 0xff)]",
        "Vop1" | "Vop2" | "Vopc" => "&[(0, 0x1ff)]",
        _ => "&[]",
    };
    format!(
        "Legality {{ fixed: 0x{fixed}, value: 0x{value}, ignored: 0x{ignored}, checks: &[{checks}], literals: {literals} }}"
    )
}

fn list(column: &str) -> impl Iterator<Item = &str> {
    column.split_whitespace().filter(|w| *w != "-")
}

fn operand(word: &str) -> String {
    let parts: Vec<&str> = word.split(':').collect();
    let access = |a: &str| match a {
        "R" => "Read",
        "W" => "Write",
        "RW" => "ReadWrite",
        other => panic!("access {other}"),
    };
    match parts[..] {
        ["VCC", units, a] => format!(
            "OperandInfo {{ field: Field::Vcc, units: {units}, ty: DataType::None, file: File::Scalar, \
             modifiers: Modifiers::Plain, access: Access::{}, \
             fixed: Some(Reg::VCC_LO) }},",
            access(a)
        ),
        [field, units, a, ty, file, modifiers] => format!(
            "OperandInfo {{ field: Field::{field}, units: {units}, ty: DataType::{ty}, file: File::{file}, \
             modifiers: Modifiers::{modifiers}, access: Access::{}, fixed: None }},",
            access(a)
        ),
        _ => panic!("operand {word}"),
    }
}
