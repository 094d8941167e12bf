//! Runs one kernel of a file and prints what it did. For trying the device out; `luthier run` is the real thing.
//!
//! `run_kernel FILE KERNEL --grid X,Y,Z --block X,Y,Z [--lds N] [--strict] [--threads N] [--repeat N] [--arg ...]`
//! Arguments, in order: `@FILE` (a buffer of its bytes, dumped back into FILE.out), `f32[N]`, `u32[N]`, `u8[N]` (zeros), with `=arange` or `=ones`; `i32=V`, `i64=V`, `f32=V`.

use std::error::Error;

use luthier_emulator::{Device, DeviceConfig, Launch, Strict};
use luthier_isa::Target;
use luthier_loader::CodeObject;

fn triple(text: &str) -> Result<[u32; 3], Box<dyn Error>> {
    let mut out = [1; 3];
    for (slot, part) in out.iter_mut().zip(text.split(',')) {
        *slot = part.parse()?;
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(kernel)) = (args.next(), args.next()) else {
        return Err("usage: run_kernel FILE KERNEL [options]".into());
    };
    let object = CodeObject::parse(std::fs::read(file)?)?;
    let (mut grid, mut block, mut lds, mut strict, mut repeat) = ([64, 1, 1], [64, 1, 1], 0, Strict::Off, 1);
    let mut config = DeviceConfig::default();
    let mut specs = Vec::new();
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or(format!("{option} needs a value"));
        match option.as_str() {
            "--grid" => grid = triple(&value()?)?,
            "--block" => block = triple(&value()?)?,
            "--lds" => lds = value()?.parse()?,
            "--threads" => config.threads = value()?.parse()?,
            "--repeat" => repeat = value()?.parse()?,
            "--strict" => strict = Strict::On,
            "--arg" => specs.push(value()?),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let device = Device::new(Target::Gfx90a, config);
    let module = device.load(&object)?;
    let (mut kernarg, mut buffers) = (Vec::new(), Vec::new());
    let mut dumps = Vec::new();
    for spec in &specs {
        if let Some(file) = spec.strip_prefix('@') {
            let bytes = std::fs::read(file)?;
            let address = device.alloc(bytes.len() as u64)?;
            device.write(address, &bytes)?;
            kernarg.resize(kernarg.len().next_multiple_of(8), 0);
            kernarg.extend(address.to_le_bytes());
            dumps.push((format!("{file}.out"), address, bytes.len()));
            continue;
        }
        let (ty, value) = spec.split_once('=').unwrap_or((spec, "zeros"));
        if let Some((ty, count)) = ty.strip_suffix(']').and_then(|t| t.split_once('[')) {
            let count: usize = count.parse()?;
            let size = if ty == "u8" { 1 } else { 4 };
            let mut bytes = vec![0u8; count * size];
            for (i, chunk) in bytes.chunks_exact_mut(size).enumerate() {
                let v = match value {
                    "arange" => i as f32,
                    "ones" => 1.0,
                    _ => 0.0,
                };
                let word = if ty == "f32" { v.to_bits() } else { v as u32 };
                chunk.copy_from_slice(&word.to_le_bytes()[..size]);
            }
            let address = device.alloc(bytes.len() as u64)?;
            device.write(address, &bytes)?;
            kernarg.resize(kernarg.len().next_multiple_of(8), 0);
            kernarg.extend(address.to_le_bytes());
            buffers.push((ty.to_string(), address, bytes.len()));
        } else {
            match ty {
                "i64" => {
                    kernarg.resize(kernarg.len().next_multiple_of(8), 0);
                    kernarg.extend(value.parse::<i64>()?.to_le_bytes());
                }
                "f32" => kernarg.extend(value.parse::<f32>()?.to_le_bytes()),
                "raw32" => kernarg.extend(value.parse::<u32>()?.to_le_bytes()),
                _ => kernarg.extend(value.parse::<i32>()?.to_le_bytes()),
            }
        }
    }
    let launch = Launch {
        module,
        kernel,
        grid,
        workgroup: block,
        kernarg,
        dynamic_lds: lds,
        strict,
        cooperative: false,
        cluster: None,
        schedule: Default::default(),
    };
    for _ in 0..repeat {
        let report = device.launch(&launch)?;
        println!(
            "{} instructions ({} of the application) in {:.6} s: {:.1} M/s; {} workgroups, {} waves",
            report.instructions,
            report.app_instructions,
            report.seconds,
            report.instructions as f64 / report.seconds / 1e6,
            report.workgroups,
            report.waves
        );
        for (name, count) in report.histogram.iter().take(12) {
            println!("  {count:>12} {name}");
        }
        for f in &report.findings {
            println!(
                "  {}: {:#x}: {}: {} (wave {}, lane {:?})",
                f.kind.name(),
                f.pc,
                f.text,
                f.message,
                f.wave,
                f.lane
            );
        }
    }
    for (file, address, len) in dumps {
        let mut bytes = vec![0; len];
        device.read(address, &mut bytes)?;
        std::fs::write(file, bytes)?;
    }
    for (ty, address, len) in buffers {
        let mut bytes = vec![0; len.min(64)];
        device.read(address, &mut bytes)?;
        let words = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        match ty.as_str() {
            "f32" => println!("{:?}", words.map(f32::from_bits).collect::<Vec<_>>()),
            _ => println!("{:?}", words.collect::<Vec<_>>()),
        }
    }
    Ok(())
}
