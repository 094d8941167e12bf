//! Makes crates/lifter/tables/mir.txt: how MIR names each opcode and its operands.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::gen_isa::{FAMILIES, Mode, fields};
use crate::generation::Generation;
use crate::prober::{compile, found};

const HEADER: &str = "\
# Made by `cargo xtask gen-mir` from LLVM's own tables; do not edit. Columns are separated by tabs. A shape has a number,
# the explicit operands in MIR's order, the implicit ones (= is written), the bits that no operand shows (word:mask:value as
# LLVM's assembler has them; behind a ! those that a longer name has an operand for), and T if it ends a block. An operand is D or R and the bits that name it (written, read), T and
# the operand that it is tied to, F and a register's name, B for the target of a branch, or I for an immediate: a number, and
# runs of bits xored into it (^lowest bit:width, then u or s and a shift, or x and a weight). A row has the mask of the
# generations that have it (bit 0 is the first of the list), LLVM's name of the encoded opcode, MIR's (or how many letters
# less it has), and the shape.
";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lifter/tables/mir.txt")
}

pub fn write() -> Result<String, String> {
    let (table, rows) = table()?;
    std::fs::write(path(), table).map_err(|e| format!("{}: {e}", path().display()))?;
    Ok(format!("{rows} rows"))
}

pub fn check() -> Result<String, String> {
    let old = std::fs::read_to_string(path()).map_err(|e| format!("{}: {e}", path().display()))?;
    if old != table()?.0 {
        return Err(format!("{} is not what LLVM's tables give: run `cargo xtask gen-mir`", path().display()));
    }
    Ok("the table is up to date".to_string())
}

fn table() -> Result<(String, usize), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/probe");
    let scratch = std::env::temp_dir().join(format!("luthier-gen-mir-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| e.to_string())?;
    let ask = || {
        let finder = compile(&folder.join("main.cpp"), &scratch, "-O1")?;
        let namer = compile(&folder.join("mir.cpp"), &scratch, "-O2")?;
        let modes: Vec<&Mode> = FAMILIES.iter().flat_map(|family| family.modes).filter(|m| !m.is_twin()).collect();
        on_all_cores(&modes_by_generation(&modes), |modes| of_generation(modes, &finder, &namer))
    };
    let asked = ask();
    std::fs::remove_dir_all(&scratch).map_err(|e| e.to_string())?;
    let mut generations: Vec<String> = Vec::new();
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    // Real name, MIR's name and shape, with the generations that have them.
    let mut rows: BTreeMap<(String, String, usize), u64> = BTreeMap::new();
    for (generation, lines) in asked? {
        for line in lines.lines() {
            let columns: Vec<&str> = line.splitn(3, '\t').collect();
            let [real, name, shape] = columns[..] else { return Err(format!("not a line: {line}")) };
            let next = shapes.len();
            let shape = *shapes.entry(shape.to_string()).or_insert(next);
            let name = real.strip_prefix(name).map_or(name.to_string(), |rest| rest.len().to_string());
            *rows.entry((real.to_string(), name, shape)).or_default() |= 1 << generations.len();
        }
        generations.push(format!("{generation:?}"));
    }
    let mut text = format!("{HEADER}#generations {}\n", generations.join(" "));
    let by_number: BTreeMap<usize, &String> = shapes.iter().map(|(shape, number)| (*number, shape)).collect();
    by_number.into_iter().for_each(|(number, shape)| text += &format!("#shape {number}\t{shape}\n"));
    rows.iter().for_each(|((real, name, shape), mask)| text += &format!("{mask:x}\t{real}\t{name}\t{shape}\n"));
    Ok((text, rows.len()))
}

/// The processors that LLVM has to be asked about, together with those whose encodings are alike.
fn modes_by_generation<'a>(modes: &[&'a Mode]) -> Vec<Vec<&'a Mode>> {
    let of = |generation| modes.iter().copied().filter(|m| m.generation == generation).collect::<Vec<_>>();
    Generation::ALL.into_iter().map(of).filter(|list| !list.is_empty()).collect()
}

/// The results in the order of the inputs.
fn on_all_cores<T: Sync, R: Send>(inputs: &[T], f: impl Fn(&T) -> Result<R, String> + Sync) -> Result<Vec<R>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = inputs.iter().map(|input| scope.spawn(|| f(input))).collect();
        threads.into_iter().map(|t| t.join().map_err(|_| "a thread panicked".to_string())?).collect()
    })
}

/// A line for each opcode of a generation: LLVM gives the same name to what is encoded in the same way, so that the first
/// processor that has one tells for all.
fn of_generation(modes: &Vec<&Mode>, finder: &Path, namer: &Path) -> Result<(Generation, String), String> {
    let mut known = BTreeSet::new();
    let mut out = String::new();
    for mode in modes {
        let mut input = String::new();
        for line in found(finder, mode.request(), &fields(mode.generation))?.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let [name, _, _, word, ..] = columns[..] else { return Err(format!("not a line: {line}")) };
            let word = u128::from_str_radix(word, 16).map_err(|e| format!("{line}: {e}"))?;
            let hex: String = word.to_le_bytes().iter().map(|b| format!("{b:02x}")).collect();
            if known.insert(name.to_string()) {
                input += &format!("{name} {hex}\n");
            }
        }
        out += &lines(namer, mode, input)?;
    }
    Ok((modes[0].generation, out))
}

/// What the second prober prints of opcodes, given each one's name and an encoding of it.
fn lines(program: &Path, mode: &Mode, input: String) -> Result<String, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", program.display());
    let mut child = Command::new(program)
        .args(mode.request())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    // It may stop at a bad line; what it says of that is more to the point than the broken pipe.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    let _ = writer.join();
    if !output.status.success() {
        let last = String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or("").to_string();
        return Err(format!(
            "{}: {} {} behind {last}",
            mode.cpu,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}
