//! Finding the corpus of real code objects.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// The corpus directory, or a loud word that the test did not run.
pub fn corpus() -> Option<PathBuf> {
    let found = std::env::var_os("LUTHIER_CORPUS").map(PathBuf::from).or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("shared/corpus")).find(|dir| dir.is_dir())
    });
    let found = found.filter(|dir| dir.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: {}: corpus not found", std::thread::current().name().unwrap_or("a test"));
    }
    found
}

/// Every file below `dir` with the extension, sorted.
pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A tool of LLVM 22, by its name without version.
pub fn llvm_tool(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/lib/llvm-22/bin").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {}: {name} of LLVM 22 not found", std::thread::current().name().unwrap_or("a test"));
    None
}

/// What a command prints; it has to succeed.
pub fn output(program: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new(program).args(args).output().expect("the tool starts");
    assert!(output.status.success(), "{program:?} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A small generator (xorshift64*), so that a failure can be repeated from its seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
