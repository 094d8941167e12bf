//! What llvm-symbolizer says of addresses, and the loader's answers in the same form.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use luthier_loader::Frame;
use serde_json::Value;

use super::llvm_tool;

/// A folder of the test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lines-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Function, file, line and column.
pub type Place = (String, String, u64, u64);

/// What the loader says of an address, innermost first.
pub fn ours(frames: &[Frame]) -> Vec<Place> {
    let text = |name: Option<&str>| name.unwrap_or_default().to_owned();
    frames.iter().map(|f| (text(f.function), text(f.file), f.line.into(), f.column.into())).collect()
}

/// What llvm-symbolizer says of each address; nothing where it knows neither function nor line.
pub fn theirs(object: &Path, addresses: &[u64], folder: &Folder) -> Vec<Vec<Place>> {
    let tool = llvm_tool("llvm-symbolizer").expect("it is there");
    let input = addresses.iter().fold(String::new(), |mut text, address| {
        let _ = writeln!(text, "{address:#x}");
        text
    });
    let input = std::fs::File::open(folder.write("addresses", &input)).unwrap();
    let result = Command::new(tool)
        .args(["--inlines", "--functions=short", "--no-demangle", "--output-style=JSON", "--obj"])
        .arg(object)
        .stdin(Stdio::from(input))
        .output()
        .unwrap();
    assert!(result.status.success());
    let lines = String::from_utf8(result.stdout).unwrap();
    let answers = lines.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        let frames = value["Symbol"].as_array().unwrap_or_else(|| panic!("{line}")).iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let number = |value: &Value| value.as_u64().unwrap();
        let frames = frames.map(|frame| {
            (text(&frame["FunctionName"]), text(&frame["FileName"]), number(&frame["Line"]), number(&frame["Column"]))
        });
        frames.filter(|frame| frame != &Place::default()).collect()
    });
    answers.collect()
}
