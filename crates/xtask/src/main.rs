//! Developer-time programs: `cargo xtask gen-isa [--check]` makes the instruction tables from LLVM's (`--exhaustive` without
//! taking anything for granted);
//! `cargo xtask mc-bench FILE` measures LLVM's disassembler on an object's code.

// The isa crate's own field names and layouts: where a field lies is written down once.
#[path = "../../isa/src/field.rs"]
#[allow(dead_code)]
mod field;
#[path = "../../isa/src/format.rs"]
#[allow(dead_code)]
mod format;
#[path = "../../isa/src/generation.rs"]
#[allow(dead_code)]
mod generation;
#[path = "../../isa/src/layout/mod.rs"]
mod layout;

mod gen_isa;
mod mc_bench;
mod prober;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["gen-isa"] => gen_isa::write(""),
        ["gen-isa", "--exhaustive"] => gen_isa::write("exhaustive"),
        ["gen-isa", "--check"] => gen_isa::check(),
        ["mc-bench", file] => mc_bench::bench(file, false),
        ["mc-bench", file, "--json"] => mc_bench::bench(file, true),
        _ => Err("usage: cargo xtask gen-isa [--check | --exhaustive] | mc-bench FILE [--json]".to_string()),
    };
    match result {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    /// The checked-in tables are what this LLVM says.
    #[test]
    fn tables_are_llvms() {
        super::gen_isa::check().unwrap_or_else(|e| panic!("{e}"));
    }
}
