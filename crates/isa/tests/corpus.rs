//! Every instruction of the corpus, for every target that has tables, against llvm-objdump: size, text, and the same bytes
//! when encoded anew.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use luthier_isa::{Field, Inst, Target};

fn objects(folder: &Path, target: Target, out: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            objects(&path, target, out);
        } else if path.extension().is_some_and(|e| e == "hsaco")
            && path.parent().is_some_and(|p| p.ends_with(target.name()))
        {
            out.push(path);
        }
    }
}

/// One instruction line of llvm-objdump: address, bytes, text.
fn lines(listing: &str) -> impl Iterator<Item = (u64, Vec<u8>, &str)> {
    listing.lines().filter_map(|line| {
        let (text, comment) = line.strip_prefix('\t')?.split_once("// ")?;
        let (address, words) = comment.split_once(": ")?;
        let bytes = words.split_whitespace().take_while(|w| w.len() == 8);
        let bytes = bytes.flat_map(|w| u32::from_str_radix(w, 16).unwrap().to_le_bytes()).collect();
        Some((u64::from_str_radix(address, 16).ok()?, bytes, text.trim()))
    })
}

/// objdump names a branch's target where we print the immediate.
fn comparable(inst: &Inst, text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if inst.branch_target(0).is_some() { text.split(' ').next().unwrap_or_default().to_string() } else { text }
}

fn rebuild(inst: &Inst) -> Inst {
    let operands: Vec<_> = inst.operands().map(|(_, value)| value).collect();
    let mut fresh = Inst::build(inst.info(), &operands).unwrap_or_else(|e| panic!("{inst}: {e}"));
    for (field, _, _) in inst.info().layout() {
        let is_operand = inst.info().operands.iter().any(|o| o.field == *field);
        if !is_operand && *field != Field::Op {
            fresh.set_field(*field, inst.field(*field).unwrap()).unwrap();
        }
    }
    fresh
}

#[luthier_needs::needs(corpus)]
#[test]
fn corpus_agrees_with_objdump() {
    let corpus = luthier_needs::corpus!();
    // `LUTHIER_TARGETS=gfx942,gfx1100`, or all.
    let wish = std::env::var("LUTHIER_TARGETS").ok();
    let is_chosen = |t: &Target| wish.as_ref().is_none_or(|w| w.split(',').any(|name| name == t.name()));
    let targets: Vec<Target> = Target::ALL.iter().filter(|t| t.has_tables() && is_chosen(t)).copied().collect();
    common::on_all_cores(&targets, |&target| {
        let mut files = Vec::new();
        objects(&corpus, target, &mut files);
        if files.is_empty() {
            println!("{}: the corpus has no object", target.name());
        } else {
            compare(target, &files);
        }
    });
}

fn compare(target: Target, files: &[PathBuf]) {
    let (mut compared, mut wrong) = (0u64, Vec::new());
    let features = format!("--mattr={}", common::true16(target).trim_start_matches(','));
    for file in files {
        let output =
            Command::new("llvm-objdump-22").args(["-d", &features]).arg(file).output().expect("llvm-objdump-22 runs");
        let listing = String::from_utf8(output.stdout).expect("objdump prints text");
        for (address, bytes, text) in lines(&listing) {
            compared += 1;
            let problem = match Inst::decode(target, &bytes) {
                Err(e) => e.to_string(),
                Ok(inst) if inst.size() != bytes.len() => format!("{} bytes", inst.size()),
                Ok(inst) if comparable(&inst, &inst.to_string()) != comparable(&inst, text) => {
                    format!("we print {inst}")
                }
                Ok(inst) if rebuild(&inst) != inst => {
                    format!("{:08x?}, encoded anew {:08x?}", inst.words(), rebuild(&inst).words())
                }
                Ok(_) => continue,
            };
            wrong.push(format!("{address:#x} {bytes:02x?} {text}: {problem}"));
        }
    }
    let name = |s: &str| s.split(' ').find(|w| w.starts_with("s_") || w.contains('_')).unwrap_or("").to_string();
    let mut seen = std::collections::HashSet::new();
    wrong.iter().filter(|w| seen.insert(name(w))).take(60).for_each(|w| eprintln!("{w}"));
    let (name, objects) = (target.name(), files.len());
    assert!(wrong.is_empty(), "{name}: {} of {compared} instructions in {objects} objects differ", wrong.len());
    println!("{name}: {compared} instructions in {objects} objects agree");
}
