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
    ("MIMG", &["Mimg"], 8, 5),
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
        let [llvm, pseudo, mnemonic, format, opcode, keys, size, operands, reads, writes, flags, legal] = row[..]
        else {
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
            legality(legal, format, operands, template(format, opcode, keys)),
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

/// A format's marking bits, where its opcode lies, and which bits make up the decoder's variant key, the lowest first.
fn shape(format: &str) -> (u64, u32, &'static [u32]) {
    match format {
        "Sop2" => (0b10 << 30, 23, &[]),
        "Sopk" => (0b1011 << 28, 23, &[]),
        "Sop1" => (0x17d << 23, 8, &[]),
        "Sopc" => (0x17e << 23, 16, &[]),
        "Sopp" => (0x17f << 23, 16, &[]),
        "Smem" => (0x30 << 26, 18, &[17, 14, 16]),
        "Vop1" => (0x3f << 25, 9, &[]),
        "Vop2" => (0, 25, &[]),
        "Vopc" => (0x3e << 25, 17, &[]),
        "Sdwa1" => (0x3f << 25 | 249, 9, &[]),
        "Sdwa2" => (249, 25, &[]),
        "SdwaC" => (0x3e << 25 | 249, 17, &[]),
        "Dpp1" => (0x3f << 25 | 250, 9, &[]),
        "Dpp2" => (250, 25, &[]),
        "Vop3a" | "Vop3b" => (0x34 << 26, 16, &[]),
        "Vop3p" => (0x1a7 << 23, 16, &[]),
        "Mai" => (0x1a7 << 23, 16, &[15]),
        "Vintrp" => (0x35 << 26, 16, &[]),
        "Ds" => (0x36 << 26, 17, &[25, 16]),
        // bit 48 stands for a scalar address: see below
        "Flat" => (0x37 << 26, 18, &[14, 15, 48, 16, 55, 13]),
        "Mubuf" => (0x38 << 26, 18, &[12, 13, 14, 55, 16]),
        "Mtbuf" => (0x3a << 26, 15, &[12, 13, 55]),
        "Mimg" => (0x3c << 26, 18, &[8, 9, 10, 11, 63]),
        "Exp" => (0x31 << 26, 0, &[]),
        other => panic!("format {other}"),
    }
}

/// An opcode's encoding with nothing set but what makes it this opcode.
fn template(format: &str, opcode: &str, keys: &str) -> u64 {
    let (mark, low, key_bits) = shape(format);
    let opcode: u64 = opcode.parse().expect("an opcode");
    let key: u64 = keys.split(',').next().and_then(|k| k.parse().ok()).expect("a key");
    let opcode = if format == "Mimg" { (opcode & 0x7f) << low | opcode >> 7 } else { opcode << low };
    let key = key_bits.iter().enumerate().fold(0, |all, (i, bit)| all | (key >> i & 1) << bit);
    const SADDR: u64 = 0x7f << 48;
    let key = match format {
        "Flat" if key & SADDR == 0 => key | SADDR, // no scalar address
        "Flat" => key & !SADDR,
        _ => key,
    };
    mark | opcode | key
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
fn legality(column: &str, format: &str, operands: &str, template: u64) -> String {
    let mut words = column.split_whitespace();
    let bits: Vec<&str> = words.next().expect("the bits").split('/').collect();
    let [fixed, value, ignored] = bits[..] else { panic!("legality {column}") };
    let mut checks = String::new();
    for word in words {
        let parts: Vec<&str> = word.split(':').collect();
        let [low, width, class] = parts[..] else { panic!("check {word}") };
        write!(checks, "Check {{ low: {low}, width: {width}, class: {class} }},").unwrap();
    }
    // Only fields that the opcode has an operand in; `v_readfirstlane` and its like take no literal, by their legal codes.
    let source = |field: &str| list(operands).any(|o| o.starts_with(field) && !o.contains(":Immediate"));
    let places: &[(&str, u32, u32)] = match format {
        "Sop1" => &[("Ssrc0:", 0, 0xff)],
        "Sop2" | "Sopc" => &[("Ssrc0:", 0, 0xff), ("Ssrc1:", 8, 0xff)],
        "Vop1" | "Vop2" | "Vopc" => &[("Src0:", 0, 0x1ff)],
        _ => &[],
    };
    let literals: String =
        places.iter().filter(|(f, ..)| source(f)).map(|(_, low, mask)| format!("({low}, {mask:#x}),")).collect();
    format!(
        "Legality {{ template: {template:#x}, fixed: 0x{fixed}, value: 0x{value}, ignored: 0x{ignored}, checks: &[{checks}], literals: &[{literals}] }}"
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
