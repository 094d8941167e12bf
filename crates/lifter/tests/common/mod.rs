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

/// What an assembled object is to be.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    pub target: &'a str,
    /// Of the processors that have a choice.
    pub wave64: bool,
    /// Dwords of preloaded arguments.
    pub preload: u32,
    /// Kernels are given the descriptor of their scratch memory, in s[0:3].
    pub private_buffer: bool,
}

impl Default for Shape<'_> {
    fn default() -> Self {
        Shape { target: "gfx90a", wave64: false, preload: 0, private_buffer: false }
    }
}

/// The kernel descriptor that makes `name` a kernel.
fn descriptor(name: &str, shape: Shape<'_>) -> String {
    let mut text =
        format!("\n.rodata\n.p2align 6\n.amdhsa_kernel {name}\n.amdhsa_next_free_vgpr 64\n.amdhsa_next_free_sgpr 96\n");
    if ["gfx90a", "gfx942", "gfx950"].contains(&shape.target) {
        text.push_str(".amdhsa_accum_offset 64\n");
        text.push_str(&format!(".amdhsa_user_sgpr_kernarg_preload_length {}\n", shape.preload));
    }
    if shape.wave64 {
        text.push_str(".amdhsa_wavefront_size32 0\n");
    }
    if shape.private_buffer {
        text.push_str(".amdhsa_user_sgpr_private_segment_buffer 1\n");
    }
    text + ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
}

/// Assembles and links gfx90a text. Each of `kernels` gets a descriptor.
pub fn assemble(source: &str, kernels: &[&str]) -> CodeObject {
    assemble_as(source, kernels, Shape::default())
}

/// The same, for another processor or kind of kernel.
pub fn assemble_as(source: &str, kernels: &[&str], shape: Shape<'_>) -> CodeObject {
    let unique = format!("luthier-lifter-{}-{:?}", std::process::id(), std::thread::current().id());
    let dir = std::env::temp_dir().join(unique.replace(['(', ')'], ""));
    std::fs::create_dir_all(&dir).unwrap();
    let (s, o, so) = (dir.join("in.s"), dir.join("in.o"), dir.join("out.hsaco"));
    let descriptors: String = kernels.iter().map(|k| descriptor(k, shape)).collect();
    let target = shape.target;
    let version = if target.ends_with("generic") { 6 } else { 5 };
    let head =
        format!(".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.amdhsa_code_object_version {version}\n.text\n");
    std::fs::write(&s, format!("{head}{source}{descriptors}")).unwrap();
    let mut clang = Command::new(tool("clang"));
    clang.args(["-target", "amdgcn-amd-amdhsa", "-x", "assembler", "-c"]).arg(format!("-mcpu={target}"));
    if shape.wave64 {
        clang.arg("-mwavefrontsize64");
    }
    run(clang.arg(&s).arg("-o").arg(&o));
    run(Command::new(tool("ld.lld")).arg("-shared").arg(&o).arg("-o").arg(&so));
    let bytes = std::fs::read(&so).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    CodeObject::parse(bytes).unwrap()
}

/// The directory of real code objects. Tests that ask for it are ignored where there is none (`luthier_needs`).
pub fn corpus() -> PathBuf {
    luthier_needs::corpus!()
}

/// Every gfx90a object of the corpus.
pub fn gfx90a_objects() -> Vec<PathBuf> {
    objects_of("gfx90a")
}

/// Every object of the corpus for a processor.
pub fn objects_of(target: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for source in std::fs::read_dir(corpus()).unwrap() {
        let dir = source.unwrap().path().join(target);
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
