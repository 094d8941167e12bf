//! Packs tables/*.txt: one list of small records for each family of processors, and lists of what records share, each
//! distinct value once. What the crate makes of them at run time is in src/tables.rs.

use std::collections::HashMap;
use std::fmt::Write;
use std::{env, fs, path::Path};

#[path = "build/ops.rs"]
mod ops;

/// One file of `tables/` each. A row's mask says which of the file's modes have the opcode.
const FAMILIES: [&str; 5] = ["gfx9", "gfx10", "gfx11", "gfx12", "gfx1250"];

/// Distinct Rust expressions of one type, numbered as they are met.
struct Pool {
    name: &'static str,
    ty: &'static str,
    numbers: HashMap<String, usize>,
    values: Vec<String>,
}

impl Pool {
    fn new(name: &'static str, ty: &'static str) -> Pool {
        Pool { name, ty, numbers: HashMap::new(), values: Vec::new() }
    }

    fn number(&mut self, value: String) -> u16 {
        let next = self.values.len();
        let number = *self.numbers.entry(value.clone()).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        u16::try_from(number).expect("a pool of at most 65536 values")
    }

    fn write(&self, out: &mut String) {
        writeln!(out, "static {}: [{}; {}] = [", self.name, self.ty, self.values.len()).unwrap();
        self.values.iter().for_each(|v| writeln!(out, "{v},").unwrap());
        writeln!(out, "];").unwrap();
    }
}

struct Pools {
    strings: String,
    places: HashMap<String, u32>,
    classes: Pool,
    formats: Pool,
    keys: Pool,
    operands: Pool,
    registers: Pool,
    flags: Pool,
    checks: Pool,
    bits: Pool,
    ops: ops::Ops,
}

fn main() {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build");
    let folder = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut pools = Pools {
        strings: String::new(),
        places: HashMap::new(),
        classes: Pool::new("CLASSES", "[u64; 8]"),
        formats: Pool::new("FORMATS", "Format"),
        keys: Pool::new("KEYS", "&[u16]"),
        operands: Pool::new("OPERANDS", "&[OperandInfo]"),
        registers: Pool::new("REGISTERS", "[&[Reg]; 2]"),
        flags: Pool::new("FLAGS", "Flags"),
        checks: Pool::new("CHECKS", "&[Check]"),
        bits: Pool::new("BITS", "[u128; 3]"),
        ops: ops::Ops::read(&FAMILIES.map(table), &fs::read_to_string("build/synonyms.txt").expect("the synonyms")),
    };
    fs::write(Path::new(&folder).join("ops.rs"), pools.ops.source()).expect("OUT_DIR");
    let mut out = String::new();
    writeln!(out, "static FAMILIES: [Family; {}] = [", FAMILIES.len()).unwrap();
    for family in FAMILIES {
        let text = table(family);
        let modes: Vec<&str> =
            text.lines().find_map(|l| l.strip_prefix("#modes ")).expect("the modes").split(' ').collect();
        let path = Path::new(&folder).join(format!("{family}.bin"));
        fs::write(&path, records(family, &text, &mut pools)).expect("OUT_DIR");
        writeln!(out, "Family {{ modes: &{modes:?}, rows: include_bytes!({path:?}) }},").unwrap();
    }
    writeln!(out, "];").unwrap();
    writeln!(out, "static STRINGS: &str = {:?};", pools.strings).unwrap();
    let Pools { classes, formats, keys, operands, registers, flags, checks, bits, .. } = &pools;
    [classes, formats, keys, operands, registers, flags, checks, bits].into_iter().for_each(|p| p.write(&mut out));
    fs::write(Path::new(&folder).join("tables.rs"), out).expect("OUT_DIR");
}

fn table(family: &str) -> String {
    fs::read_to_string(format!("tables/{family}.txt")).expect("the instruction table")
}

fn records(family: &str, text: &str, pools: &mut Pools) -> Vec<u8> {
    let classes: Vec<u16> = text
        .lines()
        .filter_map(|l| l.strip_prefix("#class "))
        .map(|line| pools.classes.number(format!("{:?}", class(line))))
        .collect();
    let mut out = Vec::new();
    for row in text.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect::<Vec<_>>()) {
        let [mask, llvm, pseudo, mnemonic, format, opcode, keys, size, operands, reads, writes, flags, legal] = row[..]
        else {
            panic!("{family}: {row:?} has not 13 columns");
        };
        let number = |text: &str| text.parse::<u16>().unwrap_or_else(|_| panic!("{family}: {text} in {row:?}"));
        let mask = u32::from_str_radix(mask, 16).expect("a mask");
        let wide = [mask, string(llvm, pools), string(pseudo, pools), string(mnemonic, pools)];
        let mut words = legal.split_whitespace();
        let bits: Vec<String> =
            words.next().expect("the bits").split('/').map(|b| format!("0x{b}")).collect::<Vec<_>>();
        let list = |column| column_words(column);
        let narrow = [
            pools.formats.number(format!("Format::{format}")),
            number(opcode),
            number(size),
            pools.keys.number(format!("&[{}]", key_list(keys))),
            pools.operands.number(format!("&[{}]", list(operands).map(operand).collect::<String>())),
            pools.registers.number(registers(reads)),
            pools.registers.number(registers(writes)),
            pools.flags.number(
                list(flags).fold("Flags::empty()".to_string(), |all, flag| format!("{all}.union(Flags::{flag})")),
            ),
            pools.checks.number(format!("&[{}]", words.map(|w| check(w, &classes)).collect::<String>())),
            pools.bits.number(format!("[{}]", bits.join(", "))),
            pools.ops.number(mnemonic),
        ];
        wide.into_iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        narrow.into_iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
    }
    out
}

/// Where a string lies in the pool: offset and length in one number.
fn string(text: &str, pools: &mut Pools) -> u32 {
    let strings = &mut pools.strings;
    *pools.places.entry(text.to_string()).or_insert_with(|| {
        let at = strings.len() as u32;
        assert!(at < 1 << 24 && text.len() < 256, "{text}: the string pool is too large");
        strings.push_str(text);
        at << 8 | text.len() as u32
    })
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

/// `low:width:class`, the class by its number in the file.
fn check(word: &str, classes: &[u16]) -> String {
    let parts: Vec<&str> = word.split(':').collect();
    let [low, width, class] = parts[..] else { panic!("check {word}") };
    let class = classes[class.parse::<usize>().expect("a class")];
    format!("Check {{ low: {low}, width: {width}, class: {class} }},")
}

/// Registers, in wave32 and in wave64: lane masks are one or two.
fn registers(column: &str) -> String {
    let list = |high: bool| {
        let register = |name: &str| match name {
            "VCC" | "EXEC" if high => format!("Reg::{name}_LO,Reg::{name}_HI,"),
            "VCC" | "EXEC" => format!("Reg::{name}_LO,"),
            _ => format!("Reg::{name},"),
        };
        column_words(column).map(register).collect::<String>()
    };
    format!("[&[{}], &[{}]]", list(false), list(true))
}

/// `0-3,8` counted out.
fn key_list(column: &str) -> String {
    let key = |k: &str| k.parse::<u16>().unwrap_or_else(|_| panic!("{k} is no key"));
    let range = |word: &str| {
        let (from, to) = word.split_once('-').unwrap_or((word, word));
        (key(from)..=key(to)).map(|k| format!("{k},")).collect::<String>()
    };
    column.split(',').map(range).collect()
}

fn column_words(column: &str) -> impl Iterator<Item = &str> {
    column.split_whitespace().filter(|w| *w != "-")
}

/// `field:units:access:file`, the file with `Half` behind it if the operand names 16 bits, then the type and the modifiers unless there are none; `VCC:units:access`, and the same with M0.
fn operand(word: &str) -> String {
    let parts: Vec<&str> = word.split(':').collect();
    let access = |a: &str| match a {
        "R" => "Read",
        "W" => "Write",
        "RW" => "ReadWrite",
        other => panic!("access {other}"),
    };
    match parts[..] {
        [name @ ("VCC" | "M0"), units, a] => format!(
            "OperandInfo {{ field: Field::{}, units: {units}, ty: DataType::None, file: File::Scalar, \
             modifiers: Modifiers::Plain, access: Access::{}, half: false, \
             fixed: Some(Reg::{}) }},",
            if name == "VCC" { "Vcc" } else { "M0" },
            access(a),
            if name == "VCC" { "VCC_LO" } else { "M0" },
        ),
        [field, units, a, file, ref rest @ ..] => {
            let (modifiers, types): (Vec<&str>, Vec<&str>) = rest.iter().partition(|w| matches!(**w, "Float" | "Sext"));
            let (file, half) = file.strip_suffix("Half").map_or((file, false), |file| (file, true));
            let (ty, modifiers) = (types.first().unwrap_or(&"None"), modifiers.first().unwrap_or(&"Plain"));
            format!(
                "OperandInfo {{ field: Field::{field}, units: {units}, ty: DataType::{ty}, file: File::{file}, \
                 modifiers: Modifiers::{modifiers}, access: Access::{}, half: {half}, fixed: None }},",
                access(a)
            )
        }
        _ => panic!("operand {word}"),
    }
}
