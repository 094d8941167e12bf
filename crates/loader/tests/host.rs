//! Host code: functions and lines of a program that clang has made, against what llvm-symbolizer says of them.

mod support;

use std::path::{Path, PathBuf};

use luthier_loader::HostFile;
use support::symbolizer::{Folder, ours, theirs};
use support::{llvm_tool, output};

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
    llvm_tool(name).expect("it is there")
}

fn build(folder: &Folder, flags: &[&str]) -> PathBuf {
    let (source, program) = (folder.write("host.cpp", SOURCE), folder.0.join("host"));
    let [from, to] = [&source, &program].map(|path| path.to_str().expect("text"));
    output(&tool("clang++"), &[flags, &[from, "-o", to]].concat());
    program
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
}

/// Place in the file, address and size of each segment, as llvm-readelf prints them.
fn loads(program: &Path) -> Vec<[u64; 3]> {
    let text = output(&tool("llvm-readelf"), &["-l", "-W", program.to_str().expect("text")]);
    let rows = text.lines().filter(|line| line.trim_start().starts_with("LOAD"));
    rows.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        [1, 2, 4].map(|i| hexadecimal(words[i]))
    })
    .collect()
}

#[luthier_needs::needs(llvm)]
#[test]
fn lines_and_inlined_calls_of_all_code_are_those_of_llvm_symbolizer() {
    for flags in [["-O0", "-g", "-gdwarf-5"], ["-O2", "-g", "-gdwarf-5"], ["-O2", "-g", "-gdwarf-4"]] {
        let folder = Folder::new(&format!("host{}", flags.concat()));
        let program = build(&folder, &flags);
        let (file, loads) = (HostFile::open(&program).expect("it is read"), loads(&program));
        let offset = |address: u64| {
            let load = loads.iter().find(|[_, vaddr, size]| (*vaddr..vaddr + size).contains(&address));
            load.map(|[offset, vaddr, _]| address - vaddr + offset).expect("it is loaded")
        };
        let symbols = output(&tool("llvm-nm"), &["--print-size", program.to_str().expect("text")]);
        let mut inlined = 0;
        for line in symbols.lines().filter(|line| line.ends_with(" main") || line.contains("3far")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let start = hexadecimal(words[0]);
            let addresses: Vec<u64> = (start..start + hexadecimal(words[1])).collect();
            for (&address, expected) in addresses.iter().zip(theirs(&program, &addresses, &folder)) {
                assert_eq!(ours(&file.frames(offset(address))), expected, "{flags:?} {address:#x}");
                assert_eq!(file.function(offset(address)), Some(words[3]));
                inlined += usize::from(expected.len() > 1);
            }
        }
        assert!(inlined > 10, "{flags:?}: {inlined}");
    }
}

#[luthier_needs::needs(llvm)]
#[test]
fn a_program_without_dwarf_has_functions_only_and_what_is_none_is_refused() {
    let folder = Folder::new("host-g0");
    let program = build(&folder, &["-O2", "-g0"]);
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
