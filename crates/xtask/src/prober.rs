//! Builds and runs the C++ prober, and reads its lines.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One MC opcode as LLVM describes it.
pub struct Opcode {
    pub llvm: String,
    pub pseudo: Option<String>,
    pub format: String,
    pub op: u16,
    /// The values of the decoder's variant key under which the opcode was met.
    pub keys: Vec<u16>,
    pub size: u8,
    pub operands: Vec<McOperand>,
    pub implicit_uses: Vec<String>,
    pub implicit_defs: Vec<String>,
    /// Must-be bits, their values and bits without effect, then `low:width:codes` for fields with illegal codes.
    pub legal: String,
    pub ts_flags: u64,
    pub may_load: bool,
    pub may_store: bool,
    pub text: String,
}

pub struct McOperand {
    pub is_def: bool,
    /// LLVM's operand type number (`AMDGPU::OperandType`, or one of the generic ones).
    pub kind: u8,
    pub class: Option<String>,
    pub bits: u16,
    pub tied: bool,
    /// The bits of the encoding that change this operand.
    pub mask: Mask,
}

/// Bits of an encoding, which has five words at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mask {
    low: u128,
    high: u128,
}

impl Mask {
    /// From hexadecimal digits.
    fn parse(text: &str) -> Option<Mask> {
        let (high, low) = text.split_at(text.len().saturating_sub(32));
        let high = if high.is_empty() { "0" } else { high };
        Some(Mask { low: u128::from_str_radix(low, 16).ok()?, high: u128::from_str_radix(high, 16).ok()? })
    }

    /// A piece of the first four words.
    pub fn of(low: u8, width: u8) -> Mask {
        Mask { low: ((1 << width) - 1) << low, high: 0 }
    }

    pub fn is_empty(self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// The bits from this one on, as far as a number holds them.
    pub fn from(self, bit: u8) -> u128 {
        match bit {
            0 => self.low,
            1..128 => self.low >> bit | self.high << (128 - bit),
            _ => self.high >> (bit - 128),
        }
    }

    /// Is any bit of the piece of a field among them?
    pub fn touches(self, low: u8, width: u8) -> bool {
        self.from(low) & ((1 << width) - 1) != 0
    }

    pub fn is_within(self, other: Mask) -> bool {
        self.low & !other.low == 0 && self.high & !other.high == 0
    }
}

pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

/// Compiles a C++ program against the LLVM of `LLVM_SYS_221_PREFIX`.
pub fn compile(source: &Path, folder: &Path, optimize: &str) -> Result<PathBuf, String> {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").map_err(|_| "LLVM_SYS_221_PREFIX is not set".to_string())?;
    let libraries = run(Command::new(format!("{prefix}/bin/llvm-config")).args([
        "--link-static",
        "--libs",
        "amdgpudisassembler",
        "amdgpudesc",
        "amdgpuinfo",
        "amdgpuutils",
        "mc",
        "mcdisassembler",
    ]))?;
    let program = folder.join(source.file_stem().ok_or("a source file")?);
    run(Command::new(format!("{prefix}/bin/clang++"))
        .args([optimize, "-std=c++17", "-fuse-ld=lld"])
        .arg(source)
        .arg(format!("-I{prefix}/include"))
        .args(libraries.split_whitespace())
        .arg(format!("-L{prefix}/lib"))
        .args(["-lz", "-lzstd", "-lpthread", "-ldl", "-o"])
        .arg(&program))?;
    Ok(program)
}

/// Runs the prober for one processor with features switched on or off (`+wavefrontsize64`). `families` are LLVM's encoding
/// families to look pseudo opcodes up in, the most specific first; `fields` are the formats' fields (see
/// `gen_isa::fields`).
pub fn probe(
    program: &Path,
    [cpu, features, families]: [&str; 3],
    fields: &str,
    extent: &str,
) -> Result<Vec<Opcode>, String> {
    let text = run(Command::new(program).args([cpu, features, families, fields, extent]))?;
    text.lines()
        .map(|line| parse(line).ok_or_else(|| format!("the prober printed a line that is not one: {line}")))
        .collect()
}

/// Which opcodes the prober meets where, without what they mean: for comparing processors.
pub fn found(program: &Path, [cpu, features, families]: [&str; 3], fields: &str) -> Result<String, String> {
    run(Command::new(program).args([cpu, features, families, fields, "found"]))
}

fn parse(line: &str) -> Option<Opcode> {
    let columns: Vec<&str> = line.splitn(14, '\t').collect();
    let [llvm, pseudo, format, op, keys, size, _word, operands, uses, defs, legal, ts_flags, bits, text] = columns[..]
    else {
        return None;
    };
    let names = |list: &str| list.split_whitespace().map(str::to_string).collect();
    let mut operands: Vec<McOperand> = operands.split_whitespace().map(parse_operand).collect::<Option<_>>()?;
    let results: Vec<Mask> = operands.iter().filter(|o| o.is_def).map(|o| o.mask).collect();
    let lies_in_result = |mask: Mask| !mask.is_empty() && results.iter().any(|result| mask.is_within(*result));
    // Not everywhere does LLVM say that what lies where the result does is the result's register.
    operands.iter_mut().for_each(|o| o.tied |= !o.is_def && o.class.is_some() && lies_in_result(o.mask));
    Some(Opcode {
        llvm: llvm.to_string(),
        pseudo: (pseudo != "-").then(|| pseudo.to_string()),
        format: format.to_string(),
        op: op.parse().ok()?,
        keys: keys.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
        size: size.parse().ok()?,
        operands,
        implicit_uses: names(uses),
        implicit_defs: names(defs),
        legal: legal.to_string(),
        ts_flags: u64::from_str_radix(ts_flags, 16).ok()?,
        may_load: bits.starts_with('1'),
        may_store: bits[1..].starts_with('1'),
        text: text.trim().to_string(),
    })
}

fn parse_operand(word: &str) -> Option<McOperand> {
    let parts: Vec<&str> = word.split(':').collect();
    let [kind, class, bits, tied, mask, value] = parts[..] else { return None };
    let (is_def, kind) = kind.split_once('/')?;
    Some(McOperand {
        is_def: is_def == "1",
        kind: kind.parse().ok()?,
        class: (class != "-").then(|| class.to_string()),
        bits: bits.parse().ok()?,
        // An input register that the disassembler does not fill in (the old half of a d16 load, what DPP keeps) is the
        // destination too.
        tied: tied != "-1"
            || (class != "-" && (value == "-" || ["none", "0"].contains(&value) && mask == "0" && is_def == "0")),
        mask: Mask::parse(mask)?,
    })
}
