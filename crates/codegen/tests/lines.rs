//! Source lines in instrumented objects, as LLVM's tools read them: the copy of an instruction has the lines, functions and
//! inlined calls of the instruction, and an inserted one has those of the instruction that it stands before.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use luthier_codegen::*;
use luthier_isa::{Mode, Target};
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::*;

const SOURCE: &str = "
static inline __attribute__((always_inline)) int twice(int x) { return 2 * x; }
static inline __attribute__((always_inline)) int four_times(int x) { return twice(twice(x)) + 1; }
__attribute__((noinline)) int helper(__global int *data, int index) {
    int sum = 0;
    for (int i = 0; i < index; i++) {
        sum += data[i] * i;
    }
    return sum;
}
kernel void one(__global int *data, int n) {
    int i = __builtin_amdgcn_workitem_id_x();
    if (i < n)
        data[i] = helper(data, four_times(i));
}
kernel void two(__global int *data) {
    data[0] = four_times(data[1]) +
        twice(data[2]);
}
";

/// What llvm-symbolizer says of each address, as it prints it, and the line of the innermost frame.
fn symbolized(object: &Path, addresses: impl Iterator<Item = u64>) -> Option<Vec<(String, u64)>> {
    let list = scratch(&format!("{}.addresses", object.file_name()?.to_str()?));
    std::fs::write(&list, addresses.map(|address| format!("{address:#x}\n")).collect::<String>()).unwrap();
    let result = Command::new(llvm("llvm-symbolizer")?)
        .args(["--inlines", "--functions=short", "--no-demangle", "--output-style=JSON", "--obj"])
        .arg(object)
        .stdin(Stdio::from(std::fs::File::open(list).unwrap()))
        .output()
        .unwrap();
    assert!(result.status.success());
    let frames = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut frames = value["Symbol"].as_array().unwrap_or_else(|| panic!("{line}")).clone();
        // Where there is nothing but the symbol table, the copy's name.
        let name = |frame: &serde_json::Value| frame["FunctionName"].as_str().unwrap().replace(".instrumented", "");
        frames.iter_mut().for_each(|frame| frame["FunctionName"] = name(frame).into());
        // Where the function begins is another address now.
        frames.iter_mut().for_each(|frame| frame["StartAddress"] = serde_json::Value::Null);
        let line = frames[0]["Line"].as_u64().unwrap();
        (serde_json::to_string(&frames).unwrap(), line)
    };
    Some(String::from_utf8(result.stdout).unwrap().lines().map(frames).collect())
}

/// Compares the copies of all instructions of an object; gives how many there are, and how many have a line.
fn compare(path: &Path) -> Option<(usize, usize)> {
    let object = CodeObject::parse(std::fs::read(path).unwrap()).unwrap();
    let mode = Program::lift(&object).unwrap().mode();
    let mut plan = everywhere(&object, &counter_for(mode)?, vec![Arg::Slot(0)], Where::Before);
    plan.check = Checking::Nothing;
    let done = instrument(&object, &plan).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(done.report.notes.iter().all(|note| !note.contains("lines")), "{:?}", done.report.notes);
    let instrumented = path.with_extension("instrumented");
    std::fs::write(&instrumented, &done.bytes).unwrap();
    let new = CodeObject::parse(done.bytes).unwrap();
    let origins = new.origin_map().unwrap().unwrap();
    let verify = |path: &Path| {
        let tool = llvm("llvm-dwarfdump").unwrap();
        Command::new(tool).arg("--verify").arg(path).output().unwrap()
    };
    if verify(path).status.success() {
        let verdict = verify(&instrumented);
        assert!(verdict.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&verdict.stdout));
    }
    let before = symbolized(path, origins.iter().map(|(_, original)| original))?;
    let after = symbolized(&instrumented, origins.iter().map(|(new, _)| new))?;
    assert_eq!(before.len(), after.len());
    let mut with_line = 0;
    for (((new, original), before), after) in origins.iter().zip(&before).zip(&after) {
        assert_eq!(before, after, "{}: {original:#x}, now at {new:#x}", path.display());
        with_line += usize::from(before.1 > 0);
    }
    // What was inserted stands in front of the next copy.
    let program = Program::lift(&new).unwrap();
    let all = program.instrs().iter().map(|instr| program.vaddr(instr));
    let inserted: Vec<u64> = all.filter(|at| !origins.is_application(*at)).collect();
    let next = |at: u64| origins.pairs().partition_point(|pair| pair.0 < at);
    let lines = symbolized(&instrumented, inserted.iter().copied())?;
    let mut in_front = 0;
    // Where originals lead to their copies is no copy.
    let copied = |at: u64| {
        origins
            .ranges()
            .iter()
            .any(|r| (r.start..r.end).contains(&at) && (r.start..r.end).contains(&origins.pairs()[0].0))
    };
    for (at, found) in inserted.iter().zip(lines).filter(|(at, _)| copied(**at) && next(**at) < after.len()) {
        assert_eq!(found, after[next(*at)], "{}: the inserted instruction at {at:#x}", path.display());
        in_front += 1;
    }
    assert!(in_front >= origins.pairs().len(), "{}: {in_front} inserted instructions", path.display());
    // The originals are what they were.
    assert_eq!(symbolized(&instrumented, origins.iter().map(|(_, original)| original))?, before);
    Some((origins.pairs().len(), with_line))
}

fn compiled(number: usize, target: Target, variant: &str) -> Option<PathBuf> {
    let (source, out) = (scratch("lines.cl"), scratch(&format!("lines_{number}.hsaco")));
    std::fs::write(&source, SOURCE).unwrap();
    let cpu = format!("-mcpu={}", target.name());
    let mut args: Vec<&str> = "-target amdgcn-amd-amdhsa -nogpulib -w -g".split(' ').collect();
    args.extend(variant.split(' '));
    args.extend([&cpu, source.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    output(&llvm("clang")?, &args);
    Some(out)
}

#[luthier_needs::needs(llvm)]
#[test]
fn copies_have_the_lines_functions_and_calls_of_their_originals() {
    let variants = [
        "-O2 -gdwarf-5",
        "-O2 -gdwarf-4",
        "-O1 -gdwarf-3",
        "-O0 -gdwarf-2",
        "-O2 -gdwarf-5 -gdwarf64",
        "-O2 -gline-tables-only",
        "-O2 -gz=zlib",
        "-O2 -gz=zstd",
        "-O2 -gno-column-info",
    ];
    for (number, variant) in variants.iter().enumerate() {
        let target = [Target::Gfx90a, Target::Gfx1100, Target::Gfx1201, Target::Gfx1250][number % 4];
        let Some(path) = compiled(number, target, variant) else { return };
        let Some((copies, with_line)) = compare(&path) else { return };
        println!("{variant} {}: {copies} copies, {with_line} with a line", target.name());
        assert!(with_line > 60 && with_line * 4 > copies * 3, "{variant}: {with_line} of {copies} have a line");
    }
}

/// `LUTHIER_CORPUS_ALL` takes all of them.
#[luthier_needs::needs(corpus, llvm)]
#[test]
fn copies_in_triton_objects_have_the_lines_of_their_originals() {
    let corpus = corpus();
    let mut files = Vec::new();
    let mut folders = vec![corpus.join("triton")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension() {
                _ if entry.is_dir() => folders.push(entry),
                Some(extension) if extension == "hsaco" => files.push(entry),
                _ => {}
            }
        }
    }
    files.sort();
    let all = std::env::var_os("LUTHIER_CORPUS_ALL").is_some();
    let (mut objects, mut copies, mut with_line) = (0, 0, 0);
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 40_000 && !all {
            continue;
        }
        let object = CodeObject::parse(bytes.clone()).unwrap();
        let lines = object.section(".debug_info").is_some_and(|section| section.size > 0);
        if !lines || objects >= 6 && !all {
            continue;
        }
        let own = scratch(&format!("triton_{objects}.hsaco"));
        std::fs::write(&own, bytes).unwrap();
        let Some(found) = compare(&own) else { return };
        (objects, copies, with_line) = (objects + 1, copies + found.0, with_line + found.1);
    }
    println!("{objects} objects: {copies} copies, {with_line} with a line");
    assert!(objects >= 6 && with_line > 1000, "{objects} objects, {with_line} lines");
}

/// Damage to debug information is told, and does not keep hooks out.
#[luthier_needs::needs(llvm)]
#[test]
fn damaged_debug_information_costs_the_lines_only() {
    let Some(path) = compiled(100, Target::Gfx90a, "-O2 -gdwarf-4") else { return };
    let mut bytes = std::fs::read(path).unwrap();
    let object = CodeObject::parse(bytes.clone()).unwrap();
    let abbreviations = object.section(".debug_abbrev").unwrap();
    bytes[abbreviations.offset as usize..][..abbreviations.size as usize].fill(0xff);
    let object = CodeObject::parse(bytes).unwrap();
    let mode = Mode::from(Target::Gfx90a);
    let Some(counter) = counter_for(mode) else { return };
    let done = instrument(&object, &everywhere(&object, &counter, vec![Arg::Slot(0)], Where::Before)).unwrap();
    assert!(done.report.points > 20);
    assert!(
        done.report.notes.iter().any(|n| n.starts_with("the copies have no source lines")),
        "{:?}",
        done.report.notes
    );
}
