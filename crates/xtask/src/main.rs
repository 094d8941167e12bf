//! Developer-time programs: `cargo xtask gen-isa [--check | FAMILY]` makes the instruction tables from LLVM's (`--exhaustive` without
//! taking anything for granted), `gen-mir [--check]` those of MIR's names;
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
mod gen_mir;
mod mc_bench;
mod prober;
mod row;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["gen-isa"] => gen_isa::write(None, ""),
        ["gen-isa", "--exhaustive"] => gen_isa::write(None, "exhaustive"),
        ["gen-isa", "--check"] => gen_isa::check(),
        ["gen-isa", family] => gen_isa::write(Some(family), ""),
        ["gen-mir"] => gen_mir::write(),
        ["gen-mir", "--check"] => gen_mir::check(),
        ["mc-bench", file, ref rest @ ..] => mc_bench_of(file, rest),
        _ => {
            Err("usage: cargo xtask gen-isa [--check | --exhaustive | FAMILY] | gen-mir [--check] | mc-bench FILE [--json] [--target=NAME]"
                .to_string())
        }
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

/// The target as decode_bench has it.
fn mc_bench_of(file: &str, options: &[&str]) -> Result<String, String> {
    let (mut json, mut target) = (false, "gfx90a");
    for option in options {
        match option.strip_prefix("--target=") {
            Some(name) => target = name,
            None if *option == "--json" => json = true,
            None => return Err(format!("mc-bench has no option {option}")),
        }
    }
    mc_bench::bench(file, target, json)
}

#[cfg(test)]
mod tests {
    /// The checked-in tables are what this LLVM says.
    #[test]
    fn tables_are_llvms() {
        super::gen_isa::check().unwrap_or_else(|e| panic!("{e}"));
    }

    #[test]
    fn names_in_mir_are_llvms() {
        super::gen_mir::check().unwrap_or_else(|e| panic!("{e}"));
    }
}
