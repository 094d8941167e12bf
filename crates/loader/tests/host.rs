//! Host code: functions and lines of a program that clang has made, against what llvm-symbolizer says of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use luthier_loader::HostFile;

const SOURCE: &str = r"#include <cstdlib>
namespace n {
template <typename T> inline __attribute__((always_inline)) T twice(T x) {
    return x + std::abs(x);
}
__attribute__((noinline)) int far(int x) { return x * 7 + 1; }
}
int main(int count, char **) {
    int a = n::twice(count) + n::far(count);
    return a +
        n::twice(a * 3);
}
";

fn tool(name: &str) -> PathBuf {
    Path::new(&std::env::var("LLVM_SYS_221_PREFIX").unwrap_or("/usr/lib/llvm-22".into())).join("bin").join(name)
}

fn build(flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host").join(flags.join("").replace(['-', '='], ""));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("host.cpp"), folder.join("host"));
    std::fs::write(&source, SOURCE).expect("written");
    let mut clang = Command::new(tool("clang++"));
    assert!(clang.args(flags).arg(&source).arg("-o").arg(&program).status().expect("clang runs").success());
    program
}

/// Innermost first: function without its parameters, and line.
fn symbolizer(program: &Path, address: u64) -> Vec<(String, u32)> {
    let mut command = Command::new(tool("llvm-symbolizer"));
    let out =
        command.arg("--obj").arg(program).arg("--no-demangle").arg(format!("{address:#x}")).output().expect("it runs");
    let text = String::from_utf8(out.stdout).expect("text");
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines
        .chunks_exact(2)
        .map(|pair| (pair[0].to_owned(), pair[1].rsplit(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0)))
        .collect()
}

#[test]
fn lines_and_inlined_calls_of_all_code_are_those_of_llvm_symbolizer() {
    for flags in [["-O0", "-g", "-gdwarf-5"], ["-O2", "-g", "-gdwarf-5"], ["-O2", "-g", "-gdwarf-4"]] {
        let program = build(&flags);
        let file = HostFile::open(&program).expect("it is read");
        let out =
            Command::new(tool("llvm-nm")).arg("--print-size").arg(&program).output().expect("llvm-nm runs").stdout;
        let out = String::from_utf8(out).expect("text");
        let mut compared = 0;
        for line in out.lines().filter(|line| line.ends_with(" main") || line.contains("3far")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |i: usize| u64::from_str_radix(words[i], 16).expect("a number");
            for address in number(0)..number(0) + number(1) {
                let offset = offset_of(&program, address);
                let found: Vec<u32> = file.frames(offset).iter().map(|frame| frame.line).collect();
                let expected = symbolizer(&program, address);
                assert_eq!(found, expected.iter().map(|(_, line)| *line).collect::<Vec<_>>(), "{flags:?} {address:#x}");
                assert_eq!(file.function(offset), Some(words[3]));
                compared += found.len();
            }
        }
        assert!(compared > 40, "{flags:?}: {compared}");
    }
}

/// The place in the file, by the program headers as llvm-readelf prints them.
fn offset_of(program: &Path, address: u64) -> u64 {
    thread_local!(static LOADS: std::cell::RefCell<std::collections::HashMap<PathBuf, Vec<[u64; 3]>>> = Default::default());
    LOADS.with_borrow_mut(|known| {
        let loads = known.entry(program.to_owned()).or_insert_with(|| {
            let out =
                Command::new(tool("llvm-readelf")).args(["-l", "-W"]).arg(program).output().expect("it runs").stdout;
            let text = String::from_utf8(out).expect("text");
            let rows = text.lines().filter(|line| line.trim_start().starts_with("LOAD"));
            rows.map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                [1, 2, 4].map(|i| u64::from_str_radix(words[i].trim_start_matches("0x"), 16).expect("a number"))
            })
            .collect()
        });
        let load =
            loads.iter().find(|[_, vaddr, size]| (*vaddr..vaddr + size).contains(&address)).expect("it is loaded");
        address - load[1] + load[0]
    })
}

#[test]
fn a_program_without_dwarf_has_functions_only_and_what_is_none_is_refused() {
    let program = build(&["-O2", "-g0"]);
    let bytes = std::fs::read(&program).expect("read");
    let file = HostFile::open(&program).expect("it is read");
    let named = (0..bytes.len() as u64).filter(|offset| file.function(*offset) == Some("main")).count();
    assert!(named > 10 && (0..bytes.len() as u64).all(|offset| file.frames(offset).is_empty()));
    assert!(HostFile::parse(b"no program").is_err());
    assert!(HostFile::open("/nowhere").is_err());
    // Damage anywhere is an error or a file without some of its names, never a panic.
    for at in (0..bytes.len().min(8192)).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xa5;
        if let Ok(file) = HostFile::parse(&damaged) {
            let _ = (file.function(0x1000), file.frames(0x1000), file.function(u64::MAX));
        }
    }
}
