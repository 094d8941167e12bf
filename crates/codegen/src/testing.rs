//! What the unit tests share: the corpus, LLVM's tools, scratch files.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The corpus directory. Tests that ask for it are ignored where it is not there (`luthier_needs`); a run that
/// includes ignored tests, as CI's does, sees them fail.
pub fn corpus() -> PathBuf {
    luthier_needs::corpus!()
}

/// Every code object below a folder of the corpus.
pub fn objects(below: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![below.to_owned()]);
    while let Some(dir) = todo.pop() {
        for path in std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path()) {
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "hsaco") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A scratch file of this test run.
pub fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("luthier-codegen-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What an LLVM 22 tool prints, with both streams; it has to succeed.
pub fn llvm(tool: &str, args: &[&str]) -> Option<String> {
    let path = Path::new("/usr/lib/llvm-22/bin").join(tool);
    assert!(path.exists(), "{} is not here: make setup", path.display());
    let output = Command::new(path).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {args:?}: {text}");
    Some(text)
}
