//! What a function that is called may change, by the C calling convention of LLVM's AMDGPU target.
//!
//! Source: `AMDGPUCallingConv.td` (CSR_AMDGPU); the test asks llc.

use std::sync::LazyLock;

use luthier_isa::{Reg, RegSet};

use super::special::Special;

/// The SGPRs and VGPRs whose values a caller has to keep if it needs them behind a call: the first 40 VGPRs, and of those
/// that follow every other eight; the first 30 SGPRs with the two of the return address, and from s40 on every other
/// eight. AGPRs are not among them, see [`crate::splice::convention`].
pub fn caller_saved() -> &'static RegSet {
    static SAVED: LazyLock<RegSet> = LazyLock::new(|| {
        let vgprs = (0..256).filter(|n| *n < 40 || n / 8 % 2 == 0).map(Reg::vgpr);
        let sgprs = (0..96).filter(|n| *n < 32 || *n >= 40 && n / 8 % 2 == 1).map(Reg::sgpr);
        vgprs.chain(sgprs).collect()
    });
    &SAVED
}

/// State that is in no register file and that a called function may change.
pub const CALLER_SAVED_STATE: [Special; 3] = [Special::Vcc, Special::M0, Special::Scc];

#[cfg(test)]
mod tests {
    use super::*;

    /// A function whose body changes every register puts away those that it has to give back.
    #[luthier_needs::needs(llvm)]
    #[test]
    fn what_llc_does_not_put_away_is_the_callers() {
        // s32 and s33 are the stack's, and s0 to s3 the resource of scratch on some processors.
        let clobbers: Vec<String> = (0..256)
            .map(|n| format!("~{{v{n}}}"))
            .chain((4..102).filter(|n| !matches!(n, 32 | 33)).map(|n| format!("~{{s{n}}}")))
            .collect();
        let source = format!(
            "target triple = \"amdgcn-amd-amdhsa\"\ndefine void @changes() #0 {{\ncall void asm sideeffect \"; body\", \
             \"{}\"()\nret void\n}}\nattributes #0 = {{ \"amdgpu-waves-per-eu\"=\"1,1\" }}\n",
            clobbers.join(",")
        );
        let input = crate::testing::scratch("convention.ll", source.as_bytes());
        for processor in ["gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1201"] {
            let cpu = format!("-mcpu={processor}");
            let Some(text) = crate::testing::llvm("llc", &[&cpu, input.to_str().unwrap(), "-o", "-"]) else { return };
            let mut kept = RegSet::EMPTY;
            for line in text.lines().map(str::trim).take_while(|line| !line.contains("; body")) {
                let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                let mut operands = operands.split([',', ' ', '\t']).filter(|o| !o.is_empty() && *o != "off");
                let number = |operand: Option<&str>, file: char| operand?.strip_prefix(file)?.parse::<u16>().ok();
                if name == "v_writelane_b32" {
                    number(operands.nth(1), 's').into_iter().for_each(|n| kept.insert(Reg::sgpr(n)));
                } else if name.contains("_store_") || name.starts_with("v_accvgpr_write") {
                    let at = usize::from(name.starts_with("v_accvgpr_write"));
                    // One of the caller's holds SGPRs on their way.
                    let stored = number(operands.nth(at), 'v').filter(|n| *n > 0);
                    stored.into_iter().for_each(|n| kept.insert(Reg::vgpr(n)));
                }
            }
            let all = (0..256).map(Reg::vgpr).chain((4..96).filter(|n| !matches!(n, 32 | 33)).map(Reg::sgpr));
            for reg in all {
                // The function keeps its own return address.
                let address = matches!(reg.number(), 30 | 31) && reg.is_sgpr();
                assert_eq!(kept.contains(reg), address || !caller_saved().contains(reg), "{processor}: {reg}");
            }
        }
    }
}
