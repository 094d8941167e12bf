//! What the rules can have to do with an opcode, whatever the operands: worked out once for all its instructions, since
//! most rules concern few opcodes, and to ask each of them about each instruction takes longer than placing a hook.

use crate::access_plan::AccessPlan;
use crate::{Flags, Generation, Inst, OpcodeInfo, Wave};

use super::rules::{First, Marks, RULES, Rule, Second};
use super::view::{View, is_transcendental};
use super::{Here, matrix};

pub struct Opcode {
    pub plan: AccessPlan,
    pub firsts: Vec<First>,
    pub rules: Vec<&'static Rule>,
    pub transcendental: bool,
    pub matrix: bool,
    /// The marks of its instructions, but for those that depend on their operands; `None` where more of them do.
    pub marks: Option<Marks>,
    /// It matters which registers an instruction touches.
    pub is_looked_at: bool,
}

impl Opcode {
    pub(super) fn of(info: &'static OpcodeInfo, here: &Here) -> Opcode {
        let mode = info.mode;
        let kind = Kind::of(info);
        let firsts: Vec<First> = here.firsts.iter().copied().filter(|first| kind.may_be_first(*first)).collect();
        let rules = || RULES.iter().filter(|rule| (rule.on)(mode.target(), mode.wave()));
        let rules: Vec<&Rule> = rules().filter(|rule| kind.may_be_second(rule.second)).collect();
        let triples = match mode.target().generation() {
            Generation::Gfx11 => mode.wave() == Wave::W64,
            generation => generation == Generation::Gfx12,
        };
        let mut opcode = Opcode {
            plan: AccessPlan::of(info),
            is_looked_at: triples
                || !firsts.is_empty()
                || !rules.is_empty()
                || kind.vector && here.asked.contains(Marks::SCALAR_RESULT),
            firsts,
            rules,
            transcendental: kind.vector && is_transcendental(info.base),
            matrix: kind.matrix,
            marks: None,
        };
        if !info.base.starts_with("s_wait") {
            let inst = Inst::new(info);
            opcode.marks = Some(View::without_registers(&inst, &opcode).all_marks() & here.asked);
        }
        opcode
    }
}

/// What rules tell opcodes by.
struct Kind {
    base: &'static str,
    flags: Flags,
    vector: bool,
    matrix: bool,
    device: bool,
    memory: bool,
}

impl Kind {
    fn of(info: &OpcodeInfo) -> Kind {
        let flags = info.flags;
        Kind {
            base: info.base,
            flags,
            vector: flags.contains(Flags::VALU),
            matrix: matrix::is_mfma(info.base),
            device: flags.contains(Flags::VMEM),
            memory: flags.intersects(Flags::VMEM | Flags::FLAT | Flags::DS),
        }
    }

    /// [`View::first`] may have something to say.
    fn may_be_first(&self, first: First) -> bool {
        use First::*;
        match first {
            VectorWrite | PlainVectorWrite | LegacyWrite => self.vector && !self.matrix,
            VectorExec | ShiftedResult => self.vector,
            Transcendental | TranscendentalResult | TranscendentalSource => self.vector && is_transcendental(self.base),
            WideStore => self.device && self.flags.intersects(Flags::STORE | Flags::ATOMIC),
            SetHardwareRegister => self.base.starts_with("s_setreg"),
            ScalarM0 => self.flags.contains(Flags::SALU),
            AccumulatorWrite | AccumulatorRead => self.base.starts_with("v_accvgpr_"),
            MatrixResult | ShortMatrixResult | MiddleMatrixResult | LongMatrixResult | ShortMatrixFactor
            | MiddleMatrixFactor | LongMatrixFactor => self.flags.contains(Flags::WMMA),
            MemoryScalarRead | LdsAccess | DeviceAccess => self.memory,
            ScalarMemoryRead => self.flags.contains(Flags::SMEM),
            ExecRead => !self.vector,
            FloatAtomic => self.device && self.flags.contains(Flags::ATOMIC),
        }
    }

    /// [`View::second`] may have something to say.
    fn may_be_second(&self, second: Second) -> bool {
        use Second::*;
        let dpp = self.flags.contains(Flags::DPP);
        let crosses = matches!(self.base, "v_readlane_b32" | "v_readfirstlane_b32" | "v_writelane_b32");
        match second {
            MemoryScalar => self.device,
            LaneSelect | CrossingSource | CrossingMask => crosses,
            DivFmasMask => self.base.starts_with("v_div_fmas"),
            DppMask | DppSource => dpp,
            HardwareRegister => self.base.starts_with("s_setreg") || self.base == "s_getreg_b32",
            TrapReturn => self.base.starts_with("s_rfe"),
            ZeroFlag | M0 => true,
            VectorOverwrite
            | VectorRead
            | SlowerVectorRead
            | VectorTouch
            | ScalarRead
            | VectorScalarResult
            | VectorExecResult
            | BesideMatrixTouch
            | BesideMatrixOverwrite => self.vector,
            BesideTranscendentalRead | BesideTranscendentalWrite => self.vector && !is_transcendental(self.base),
            MatrixSource | MatrixMask => self.matrix || self.base == "v_accvgpr_write_b32",
            Factor | Accumulator => self.matrix,
            MemoryVector | LdsAccess | DeviceAccess => self.memory,
            SwapSource | SwapMask => self.vector && self.base.starts_with("v_permlane"),
            AccumulatorMove => self.base.starts_with("v_accvgpr_"),
            WmmaFactor | CoexecutingFactor => self.flags.contains(Flags::WMMA),
            DenormMode => self.base == "s_denorm_mode",
            ScalarOverwrite => self.flags.intersects(Flags::SALU | Flags::SMEM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    /// Random encodings of every opcode: what is worked out for an opcode leaves out nothing that is true of one of its
    /// instructions.
    #[test]
    fn an_opcode_leaves_out_no_rule_that_concerns_an_instruction() {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 32) as u32
        };
        let mut looked_at = 0;
        for mode in Mode::all().filter(|m| m.target().has_tables()) {
            let here = Here::of(mode);
            for info in mode.opcodes() {
                for _ in 0..4 {
                    let words: Vec<u32> = Inst::new(info).words().iter().map(|word| word | random()).collect();
                    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    let Ok(inst) = Inst::decode(mode, &bytes) else { continue };
                    // The random bits may have made another opcode of it.
                    let opcode = here.opcode(inst.info());
                    let view = View::new(&inst, opcode);
                    for first in here.firsts.iter().filter(|first| !opcode.firsts.contains(first)) {
                        assert!(view.first(*first).is_empty(), "{inst}: {first:?}");
                    }
                    for rule in here.rules.iter().filter(|rule| !opcode.rules.iter().any(|r| std::ptr::eq(*r, **rule)))
                    {
                        assert!(view.second(rule.second).is_empty(), "{inst}: {}", rule.name);
                    }
                    assert_eq!(view.marks(here.asked), view.all_marks() & here.asked, "{inst}");
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at > 10_000, "{looked_at}");
    }
}
