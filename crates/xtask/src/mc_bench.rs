//! How fast LLVM's disassembler is on the code of an object, for comparison with ours.

use std::path::Path;
use std::process::Command;

use crate::prober::{compile, run};

pub fn bench(file: &str, target: &str, json: bool) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let elf = goblin::elf::Elf::parse(&bytes).map_err(|e| format!("{file}: {e}"))?;
    let text = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(".text"));
    let code = text.and_then(|s| bytes.get(s.file_range()?)).ok_or_else(|| format!("{file}: no .text"))?;
    let scratch = std::env::temp_dir().join(format!("luthier-mc-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| e.to_string())?;
    let output = measure(code, target, &scratch);
    std::fs::remove_dir_all(&scratch).map_err(|e| e.to_string())?;
    let output = output?;
    let (count, seconds) = output.trim().split_once(' ').ok_or("mc_bench printed no result")?;
    let (count, seconds): (u64, f64) =
        count.parse().ok().zip(seconds.parse().ok()).ok_or_else(|| format!("mc_bench printed {output}"))?;
    let rate = count as f64 / seconds / 1e6;
    Ok(if json {
        format!(
            "{{\"decoder\": \"llvm\", \"instructions\": {count}, \"seconds\": {seconds}, \"million_per_second\": {rate:.3}}}"
        )
    } else {
        format!("LLVM: {count} instructions in {seconds:.3} s, {rate:.3} M/s")
    })
}

fn measure(code: &[u8], target: &str, scratch: &Path) -> Result<String, String> {
    let (source, raw) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mc_bench.cpp"), scratch.join("code.bin"));
    std::fs::write(&raw, code).map_err(|e| e.to_string())?;
    let program = compile(&source, scratch, "-O2")?;
    run(Command::new(program).arg(target).arg(&raw))
}
