//! Finding the corpus of real code objects.
#![allow(dead_code)]

pub mod elf;

pub mod symbolizer;

use std::path::{Path, PathBuf};

/// The corpus directory. Tests that ask for it are ignored where it is not there (`luthier_needs`); a run that
/// includes ignored tests, as CI's does, sees them fail.
pub fn corpus() -> PathBuf {
    luthier_needs::corpus!()
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
    assert!(path.exists(), "{} is not here: make setup", path.display());
    Some(path)
}

/// What a command prints; it has to succeed.
pub fn output(program: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new(program).args(args).output().expect("the tool starts");
    assert!(output.status.success(), "{program:?} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Two kernels, variables, and pointers that need R_AMDGPU_RELATIVE64 and R_AMDGPU_ABS64.
const SOURCE: &str = "
__constant int table[4] = {1, 2, 3, 4};
__attribute__((visibility(\"default\"))) __global int shared_var = 7;
__attribute__((visibility(\"default\"))) __global int *shared_ptr = &shared_var;
static __global int big[1000];
__attribute__((visibility(\"default\"))) __global int *big_ptr = &big[3];
kernel void work(__global int *out, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < n) { out[i] = table[i & 3] + shared_var; big[i] = i; }
}
kernel void other(__global float *out) {
    __local float t[64];
    t[__builtin_amdgcn_workitem_id_x()] = out[0];
    __builtin_amdgcn_s_barrier();
    out[1] = t[3];
}
";

/// Needs a variable that it does not define, and another that it may do without.
const UNDEFINED: &str = "
extern __global int missing_one;
extern __global int missing_two;
extern __attribute__((weak)) __global int maybe;
__attribute__((visibility(\"default\"))) __global int *one = &missing_one;
__attribute__((visibility(\"default\"))) __global int *two = &missing_two;
__attribute__((visibility(\"default\"))) __global int *three = &maybe;
kernel void work(__global int *out) { out[0] = 1; }
";

fn compile(name: &str, source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let clang = llvm_tool("clang")?;
    // One directory a call: tests run side by side.
    static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let call = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{call}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (input, result) = (dir.join("in.cl"), dir.join("out"));
    std::fs::write(&input, source).unwrap();
    let mut arguments: Vec<&str> =
        "-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 -w -cl-std=CL2.0".split(' ').collect();
    arguments.extend(flags);
    arguments.extend([input.to_str().unwrap(), "-o", result.to_str().unwrap()]);
    output(&clang, &arguments);
    let bytes = std::fs::read(&result).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    Some(bytes)
}

/// A small gfx90a code object, compiled now.
pub fn small_object(flags: &[&str]) -> Option<Vec<u8>> {
    compile("small", SOURCE, flags)
}

pub fn undefined_object() -> Option<Vec<u8>> {
    compile("undefined", UNDEFINED, &["-Wl,--unresolved-symbols=ignore-all", "-fvisibility=default"])
}

/// A plain bundle of the entries.
pub fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let table: usize = 32 + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let mut at = table.next_multiple_of(64);
    for (id, bytes) in entries {
        for number in [at, bytes.len(), id.len()] {
            out.extend((number as u64).to_le_bytes());
        }
        out.extend(id.as_bytes());
        at = (at + bytes.len()).next_multiple_of(64);
    }
    for (_, bytes) in entries {
        out.resize(out.len().next_multiple_of(64), 0);
        out.extend(*bytes);
    }
    out
}

/// The bundle in a CCOB of the version; method 0 is zlib, 1 zstd.
pub fn compressed(bundle: &[u8], version: u16, method: u16) -> Vec<u8> {
    let data = match method {
        0 => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut encoder, bundle).unwrap();
            encoder.finish().unwrap()
        }
        _ => zstd::encode_all(bundle, 3).unwrap(),
    };
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(method.to_le_bytes());
    let mut number = |value: usize, wide: bool| {
        out.extend(&(value as u64).to_le_bytes()[..if wide { 8 } else { 4 }]);
    };
    match version {
        1 => number(bundle.len(), false),
        2 => [24 + data.len(), bundle.len()].map(|value| number(value, false)).into_iter().collect(),
        _ => [32 + data.len(), bundle.len()].map(|value| number(value, true)).into_iter().collect(),
    }
    out.extend([0; 8]);
    out.extend(data);
    out
}

/// An empty directory for one call; tests run side by side.
pub fn scratch_dir(name: &str) -> PathBuf {
    static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let call = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{call}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// LLVM IR compiled by llc for a triple and a processor, linked by lld.
pub fn link(module: &str, triple: &str, processor: &str, linker_flags: &[&str]) -> Option<Vec<u8>> {
    link_all(&[module], triple, processor, linker_flags)
}

/// Several modules compiled each by itself, and linked into one object.
pub fn link_all(modules: &[&str], triple: &str, processor: &str, linker_flags: &[&str]) -> Option<Vec<u8>> {
    let (llc, lld) = (llvm_tool("llc")?, llvm_tool("ld.lld")?);
    let dir = scratch_dir("link");
    let (triple, processor) = (format!("-mtriple={triple}"), format!("-mcpu={processor}"));
    let path = |name: String| dir.join(name).to_str().unwrap().to_owned();
    let mut objects = Vec::new();
    for (n, module) in modules.iter().enumerate() {
        let (input, object) = (path(format!("{n}.ll")), path(format!("{n}.o")));
        std::fs::write(&input, module).unwrap();
        output(&llc, &[&triple, &processor, "-filetype=obj", &input, "-o", &object]);
        objects.push(object);
    }
    let result = path("out".to_owned());
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    output(&lld, &[&["-shared", "-o", &result], &objects[..], linker_flags].concat());
    let bytes = std::fs::read(&result).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    Some(bytes)
}
