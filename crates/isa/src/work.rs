//! How much an instruction does: what it is counted as, and its floating-point operations.
//!
//! An addition, a multiplication and a transcendental operation are one floating-point operation, a fused or unfused
//! multiplication with addition is two, packed operations and dot products are as many as they have: AMD's counters
//! (`SQ_INSTS_VALU_ADD_F32`, `MUL`, `FMA`, `TRANS`, `MFMA_MOPS`) make the same sum. Minimum, comparison, conversion and the
//! helpers of division (but for its `fmas`) are none.

use crate::{Flags, OpcodeInfo};

/// What kind of operand, for whom, and how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flops {
    /// The type that is multiplied: `f16`, `bf16`, `f32`, `xf32`, `f64`, `fp8` (of `bf8` too), `f8f6f4`, `f4`.
    pub kind: &'static str,
    pub count: u32,
}

/// Longer names before those that they end in.
const KINDS: [&str; 10] = ["f8f6f4", "bf16", "xf32", "fp8", "bf8", "f64", "f32", "f16", "f4", ""];

const ONE: [&str; 23] = [
    "add",
    "sub",
    "subrev",
    "mul",
    "mul_legacy",
    "mul_dx9_zero",
    "exp",
    "exp_legacy",
    "log",
    "log_legacy",
    "rcp",
    "rcp_iflag",
    "rsq",
    "sqrt",
    "sin",
    "cos",
    "tanh",
    "s_exp",
    "s_log",
    "s_rcp",
    "s_rsq",
    "s_sqrt",
    "mullit",
];
const TWO: [&str; 21] = [
    "fma",
    "fma_legacy",
    "fma_dx9_zero",
    "fmac",
    "fmac_legacy",
    "fmac_dx9_zero",
    "fmaak",
    "fmamk",
    "mad",
    "mad_legacy",
    "mac",
    "mac_legacy",
    "madak",
    "madmk",
    "div_fmas",
    "fma_mix",
    "fma_mixlo",
    "fma_mixhi",
    "mad_mix",
    "mad_mixlo",
    "mad_mixhi",
];

impl OpcodeInfo {
    /// What it is counted as: `matrix`, `valu`, `lds`, `vmem`, `smem`, `salu`, `branch`, `wait`, `barrier`, `message`,
    /// `export` or `other`.
    pub fn category(&self) -> &'static str {
        let table = [
            (Flags::MFMA.union(Flags::WMMA), "matrix"),
            (Flags::BARRIER, "barrier"),
            (Flags::WAIT, "wait"),
            (
                Flags::BRANCH.union(Flags::COND_BRANCH).union(Flags::INDIRECT).union(Flags::CALL).union(Flags::END),
                "branch",
            ),
            (Flags::DS, "lds"),
            (
                Flags::VMEM
                    .union(Flags::FLAT)
                    .union(Flags::GLOBAL)
                    .union(Flags::SCRATCH)
                    .union(Flags::MUBUF)
                    .union(Flags::MTBUF)
                    .union(Flags::MIMG),
                "vmem",
            ),
            (Flags::SMEM, "smem"),
            (Flags::EXPORT, "export"),
            (Flags::VALU.union(Flags::VINTERP), "valu"),
        ];
        if let Some(&(_, name)) = table.iter().find(|&&(flags, _)| self.flags.intersects(flags)) {
            return name;
        }
        if self.op().is_message() {
            return "message";
        }
        if self.flags.contains(Flags::SALU) { "salu" } else { "other" }
    }

    /// It works once for the wave and not for each active lane: matrix operations, scalar ones.
    pub fn works_for_the_wave(&self) -> bool {
        self.flags.intersects(Flags::MFMA | Flags::WMMA | Flags::SMEM | Flags::SALU) || self.base.starts_with("v_s_")
    }

    /// Its floating-point operations: for each active lane, or for the wave ([`OpcodeInfo::works_for_the_wave`]). Two
    /// entries of two operations at once.
    pub fn flops(&self) -> Vec<Flops> {
        if self.flags.intersects(Flags::MFMA | Flags::WMMA) {
            return self.matrix().into_iter().collect();
        }
        self.base.split(" :: ").filter_map(of_name).collect()
    }

    /// Twice the sizes of the product: of `v_mfma_f32_4x4x1_16b_f32` those of sixteen. Of sparse operations half, those of
    /// the values that are there.
    fn matrix(&self) -> Option<Flops> {
        let (_, rest) = self.base.split_once('x')?;
        let (n, rest) = rest.split_once('x')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let k: u32 = rest[..digits].parse().ok()?;
        let kind = rest[digits..].trim_end_matches("_1k");
        let kind = kind_at_end(kind)?;
        let sparse = self.base.contains("smfmac") || self.base.contains("swmmac");
        let results = if self.flags.contains(Flags::MFMA) {
            // Older names do not say how many blocks there are; the result's registers do.
            let units = u32::from(self.operands.first()?.units);
            64 * units / if kind == "f64" { 2 } else { 1 }
        } else {
            let m = self.base.split('x').next()?.rsplit('_').next()?;
            m.parse::<u32>().ok()? * n.parse::<u32>().ok()?
        };
        Some(Flops { kind, count: 2 * results * k / if sparse { 2 } else { 1 } })
    }
}

/// Of an operation that is no matrix operation.
fn of_name(name: &str) -> Option<Flops> {
    let name = name.trim().trim_start_matches("v_dual_");
    let name = name.strip_prefix("v_").or_else(|| name.strip_prefix("s_")).unwrap_or(name);
    if let Some(dot) = name.strip_prefix("dot") {
        let products = dot.chars().next()?.to_digit(10)?;
        return Some(Flops { kind: kind_at_end(dot)?, count: 2 * products });
    }
    let kind = kind_at_end(name)?;
    // `fma_mix_f32_bf16` multiplies in f32.
    let (kind, stem) = match name.find("mix") {
        Some(at) => ("f32", name[..at + name[at..].find('_')?].as_ref()),
        None => (kind, name.strip_suffix(kind)?.strip_suffix('_')?),
    };
    let (stem, packed) = match stem.strip_prefix("pk_") {
        Some(stem) => (stem, 2),
        None => (stem, 1),
    };
    let count = if ONE.contains(&stem) {
        1
    } else if TWO.contains(&stem) {
        2
    } else {
        return None;
    };
    Some(Flops { kind, count: count * packed })
}

/// The type that a name ends in; `fp8` for both formats of 8 bits.
fn kind_at_end(name: &str) -> Option<&'static str> {
    let found = KINDS.into_iter().find(|kind| name.ends_with(kind))?;
    match found {
        "" => None,
        "bf8" => Some("fp8"),
        found => Some(found),
    }
}
