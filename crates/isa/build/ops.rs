//! The enum of operations: one for each name that stands in the tables, synonyms taken together.

use std::collections::BTreeMap;
use std::fmt::Write;

pub struct Ops {
    /// Names of operations, in order.
    names: Vec<String>,
    /// From other names to those.
    synonyms: BTreeMap<String, String>,
}

/// All pairs of operations at once (VOPD) are this one.
const DUAL: &str = "v_dual";

impl Ops {
    pub fn read(tables: &[String], synonyms: &str) -> Ops {
        let rows = tables.iter().flat_map(|text| text.lines()).filter(|l| !l.starts_with('#'));
        let mut names: Vec<String> = rows.map(|row| base(row.split('\t').nth(3).expect("a mnemonic")).into()).collect();
        names.sort_unstable();
        names.dedup();
        let lines = synonyms.lines().filter(|l| !l.starts_with('#'));
        let pairs = lines.map(|line| line.split_once(' ').unwrap_or_else(|| panic!("synonyms: {line}")));
        let synonyms: BTreeMap<String, String> = pairs.map(|(ours, other)| (other.into(), ours.into())).collect();
        for (other, ours) in &synonyms {
            for name in [other, ours] {
                assert!(names.binary_search(name).is_ok(), "synonyms: no processor has {name}");
            }
            assert!(!synonyms.contains_key(ours), "synonyms: {ours} is ours and another's");
        }
        names.retain(|name| !synonyms.contains_key(name));
        Ops { names, synonyms }
    }

    /// The operation that a mnemonic stands for.
    pub fn number(&self, mnemonic: &str) -> u16 {
        let name = base(mnemonic);
        let name = self.synonyms.get(name).map_or(name, String::as_str);
        self.names.binary_search_by(|other| other.as_str().cmp(name)).expect("a known name") as u16
    }

    /// The enum, the names of its variants, and the other names with theirs.
    pub fn source(&self) -> String {
        let mut out = String::new();
        let variants: Vec<String> = self.names.iter().map(|name| camel(name)).collect();
        writeln!(out, "#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[repr(u16)]").unwrap();
        writeln!(out, "pub enum Op {{").unwrap();
        for (name, variant) in self.names.iter().zip(&variants) {
            writeln!(out, "/// `{name}`\n{variant},").unwrap();
        }
        writeln!(out, "}}\nstatic ALL: [Op; {}] = [", variants.len()).unwrap();
        variants.iter().for_each(|variant| writeln!(out, "Op::{variant},").unwrap());
        writeln!(out, "];\nstatic NAMES: [&str; {}] = {:?};", self.names.len(), self.names).unwrap();
        writeln!(out, "static SYNONYMS: [(&str, Op); {}] = [", self.synonyms.len()).unwrap();
        self.synonyms.iter().for_each(|(other, ours)| writeln!(out, "({other:?}, Op::{}),", camel(ours)).unwrap());
        writeln!(out, "];").unwrap();
        out
    }
}

/// The operation without what tells its encoding; as src/tables.rs has it, but for pairs.
fn base(mnemonic: &str) -> &str {
    if mnemonic.contains(" :: ") {
        return DUAL;
    }
    let strip = |name, suffixes: [&str; 2]| suffixes.iter().find_map(|s| str::strip_suffix(name, s)).unwrap_or(name);
    strip(strip(mnemonic, ["_dpp", "_sdwa"]), ["_e32", "_e64"])
}

/// `v_mad_u64_u32` as `VMadU64U32`; between digits the underscore stays: `v_mfma_f32_4x4x4f16` is `VMfmaF32_4x4x4f16`.
fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('_') {
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if digits(out.chars().last()) && digits(word.chars().next()) {
            out.push('_');
        }
        let mut rest = word.chars();
        out.extend(rest.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(rest.as_str());
    }
    out
}
