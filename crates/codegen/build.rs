//! Links LLVM statically, by our own list rather than llvm-sys's.
//!
//! llvm-sys would bundle every archive of every target (some 400 MB) into its rlib and link zlib and zstd as shared
//! libraries. Here only the AMDGPU components are named, they go straight to the final link, and what they need of
//! the system (zlib, zstd, libstdc++) is linked statically too, so that the Python module needs nothing but glibc.
//!
//! inkwell mentions functions that are in none of these components (`LLVM_InitializeAllTargets`, MCJIT). We never
//! call them, so `--gc-sections` drops the callers. The linker must be lld (rustc's default here, x86_64 Linux): it
//! looks for undefined symbols after that, GNU ld before.
//!
//! Debian packages: llvm-22-dev zlib1g-dev libzstd-dev libstdc++-12-dev.

use std::{env, path::Path, process::Command};

/// The LLVM components that codegen calls into; `llvm-config` adds what they need in turn.
const COMPONENTS: &[&str] = &["amdgpu", "irreader", "bitwriter", "passes", "linker", "executionengine"];
/// System libraries of those components, linked from their archives.
const SYSTEM: &[&str] = &["z", "zstd", "stdc++"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    if env::var_os("CARGO_FEATURE_LLVM").is_none() {
        return;
    }
    let sources = hash(Path::new("src/hook"), 0xcbf2_9ce4_8422_2325);
    println!("cargo:rerun-if-changed=src/hook");
    println!("cargo:rustc-env=LUTHIER_HOOK_SOURCES={sources:016x}");
    let prefix = env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let config = format!("{prefix}/bin/llvm-config");
    println!("cargo:rerun-if-changed={config}");

    let mut names = vec!["--link-static", "--libnames"];
    names.extend(COMPONENTS);
    for name in output(&config, &names).split_whitespace() {
        let name = name.strip_prefix("lib").and_then(|n| n.strip_suffix(".a"));
        let name = name.unwrap_or_else(|| panic!("{config} --link-static --libnames names no archives"));
        println!("cargo:rustc-link-lib=static:-bundle={name}");
    }
    println!("cargo:rustc-link-search=native={}", output(&config, &["--libdir"]).trim());

    let cc = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    for name in SYSTEM {
        let found = output(&cc, &[&format!("-print-file-name=lib{name}.a")]);
        let found = Path::new(found.trim());
        match found.parent().filter(|_| found.is_absolute()) {
            Some(dir) => {
                println!("cargo:rustc-link-search=native={}", dir.display());
                println!("cargo:rustc-link-lib=static:-bundle={name}");
            }
            None => {
                println!("cargo:warning=lib{name}.a not found: linking the shared library");
                println!("cargo:rustc-link-lib=dylib={name}");
            }
        }
    }
}

/// FNV-1a of all files in a folder, in the order of their names.
fn hash(folder: &Path, start: u64) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file of src/hook").path()).collect();
    paths.sort();
    paths.iter().fold(start, |h, path| {
        if path.is_dir() {
            return hash(path, h);
        }
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        bytes.iter().fold(h, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    })
}

fn output(program: &str, args: &[&str]) -> String {
    let run = Command::new(program).args(args).output();
    let run = run.unwrap_or_else(|e| panic!("cannot run {program}: {e} (llvm-22-dev and a C compiler are needed)"));
    assert!(run.status.success(), "{program} {args:?} fails: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8_lossy(&run.stdout).into_owned()
}
