//! Assembling test inputs and finding the corpus.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use luthier_loader::CodeObject;

/// A program of LLVM 22, by name: `clang` or `ld.lld`.
pub fn tool(name: &str) -> PathBuf {
    for dir in [std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_default(), "/usr/lib/llvm-22".to_owned()] {
        let path = Path::new(&dir).join("bin").join(name);
        if path.exists() {
            return path;
        }
    }
    PathBuf::from(format!("{name}-22"))
}

pub fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let errors: String = String::from_utf8_lossy(&output.stderr).chars().take(1000).collect();
    assert!(output.status.success(), "{command:?}: {errors}");
    output.stdout
}

/// The kernel descriptor that makes `name` a kernel.
fn descriptor(name: &str, preload: u32) -> String {
    format!(
        "\n.rodata\n.p2align 6\n.amdhsa_kernel {name}\n.amdhsa_next_free_vgpr 64\n.amdhsa_next_free_sgpr 96\n\
         .amdhsa_accum_offset 64\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_user_sgpr_kernarg_preload_length {preload}\n.end_amdhsa_kernel\n"
    )
}

/// Assembles and links gfx90a text. Each of `kernels` gets a descriptor.
pub fn assemble(source: &str, kernels: &[&str]) -> CodeObject {
    assemble_with(source, kernels, 0)
}

/// The same, with so many dwords of arguments preloaded.
pub fn assemble_with(source: &str, kernels: &[&str], preload: u32) -> CodeObject {
    let unique = format!("luthier-lifter-{}-{:?}", std::process::id(), std::thread::current().id());
    let dir = std::env::temp_dir().join(unique.replace(['(', ')'], ""));
    std::fs::create_dir_all(&dir).unwrap();
    let (s, o, so) = (dir.join("in.s"), dir.join("in.o"), dir.join("out.hsaco"));
    let descriptors: String = kernels.iter().map(|k| descriptor(k, preload)).collect();
    let head = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.amdhsa_code_object_version 5\n.text\n";
    std::fs::write(&s, format!("{head}{source}{descriptors}")).unwrap();
    let target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler", "-c"];
    run(Command::new(tool("clang")).args(target).arg(&s).arg("-o").arg(&o));
    run(Command::new(tool("ld.lld")).arg("-shared").arg(&o).arg("-o").arg(&so));
    let bytes = std::fs::read(&so).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    CodeObject::parse(bytes).unwrap()
}

/// The directory of real code objects; says so loudly where there is none.
pub fn corpus() -> Option<PathBuf> {
    if let Ok(dir) = std::env::var("LUTHIER_CORPUS") {
        return Some(PathBuf::from(dir));
    }
    let up = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found = up.map(|dir| dir.join("shared/corpus")).find(|dir| dir.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: LUTHIER_CORPUS is not set and: corpus not found beside the project");
    }
    found
}

/// Every gfx90a object of the corpus.
pub fn gfx90a_objects() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for source in corpus().into_iter().flat_map(|c| std::fs::read_dir(c).unwrap()) {
        let dir = source.unwrap().path().join("gfx90a");
        for entry in std::fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "hsaco") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
