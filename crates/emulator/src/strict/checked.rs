//! What the checks need to know of an instruction, worked out when its block is translated.

use std::sync::Arc;

use luthier_isa::{DataType, Field, Flags, Format, Inst, Operand, Reg};

use super::hazards::Facts;

/// Where a value comes from or goes to, in the terms of the shadow state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The first of some rows: v0 to v255, then a0 to a255.
    Rows(u16, u8),
    /// The first of some scalar codes.
    Scalars(u8, u8),
    /// A constant; its low word.
    Constant(u32),
}

impl Place {
    /// Registers that it spans.
    pub fn words(self) -> u8 {
        match self {
            Place::Rows(_, words) | Place::Scalars(_, words) => words,
            Place::Constant(_) => 0,
        }
    }
}

/// A source and which of its bits (of each word) are used.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub place: Place,
    pub used: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// How undefinedness goes through an instruction.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Results are defined.
    Defines,
    /// Any undefined bit that is used makes the whole result undefined.
    Any,
    /// Bit by bit, the second source inverted or not.
    Logic {
        op: Logic,
        invert: bool,
    },
    /// As [`Rule::Logic`] of a source (inverted or not) and EXEC; EXEC gets the result, the destination EXEC.
    SaveExec {
        op: Logic,
        invert_source: bool,
        invert_exec: bool,
    },
    /// Bit by bit from the only source.
    Move,
    /// Shifted left (or right) by the constant.
    Shift {
        left: bool,
        by: u32,
    },
    /// Sums, products and left shifts: a bit depends on those at and below its place. With a carry out beside it, or
    /// not, and perhaps a carry in from a scalar code.
    Up(Option<u8>),
    /// Right shifts: a bit depends on those at and above its place.
    Down,
    /// The first or the second source, by SCC.
    ScalarSelect,
    /// The first or the second source, by a lane mask at a scalar code.
    VectorSelect(u8),
    /// One bit a lane.
    Compare,
    /// Carry out (and perhaps in, from a scalar code) beside the result.
    Carry(Option<u8>),
    ReadLane,
    ReadFirstLane,
    WriteLane,
    /// The sources must be defined: they decide something.
    Decides(&'static str),
    /// A vector memory access: addresses must be defined, and data too if they leave the workgroup.
    Memory {
        data_matters: bool,
        keeps_half: Option<u32>,
    },
}

/// An instruction as the checks see it.
pub struct Checked {
    pub pc: u64,
    /// Every unit touched, with whether it is written.
    pub touched: Vec<(Reg, bool)>,
    pub sources: Vec<Source>,
    /// Of a memory access: what is stored.
    pub data: Vec<Source>,
    pub results: Vec<Place>,
    pub rule: Rule,
    /// Registers that a load fills later.
    pub loaded: Arc<[Reg]>,
    pub vm: bool,
    pub lgkm: bool,
    pub unordered: bool,
    /// vmcnt and lgkmcnt that `s_waitcnt` lets remain.
    pub wait: Option<(usize, usize)>,
    /// DPP: control, row mask, bank mask, bound_ctrl.
    pub dpp: Option<(u32, u32, u32, bool)>,
    pub ignores_exec: bool,
    /// One source says how far the other is shifted.
    pub shifts: bool,
    pub hazards: Facts,
}

fn place(value: Operand) -> Option<Place> {
    Some(match value {
        Operand::Reg(range) if range.first.is_vgpr() || range.first.is_agpr() => {
            Place::Rows(range.first.index() as u16 - 256, range.count)
        }
        Operand::Reg(range) => Place::Scalars(u8::try_from(range.first.index()).ok()?, range.count),
        Operand::Inline(code) => Place::Constant(crate::wave::inline_constant32(code as u8).unwrap_or(0)),
        Operand::Literal(value) => Place::Constant(value),
        Operand::Special(_) => Place::Constant(0),
        Operand::Imm(value) => Place::Constant(value as u32),
    })
}

/// The bits of an operand that an operation of this type uses.
fn used_bits(inst: &Inst, ty: DataType, position: usize) -> u32 {
    let info = inst.info();
    if info.flags.contains(Flags::SDWA) {
        let select = [Field::Src0Sel, Field::Src1Sel].get(position).and_then(|&f| inst.field(f)).unwrap_or(6);
        return match select {
            0..=3 => 0xff << (8 * select),
            4 => 0xffff,
            5 => 0xffff_0000,
            _ => half_bits(info.base, ty),
        };
    }
    if info.format == Format::Vop3a && inst.field(Field::OpSel).unwrap_or(0) >> position & 1 != 0 {
        return 0xffff_0000;
    }
    if info.format == Format::Vop3p {
        let bit = |f| inst.field(f).unwrap_or(0) >> position & 1;
        return match (ty, bit(Field::OpSel), bit(Field::OpSelHi)) {
            (DataType::V2F16 | DataType::V2I16 | DataType::V2Bf16, 0, 0) => 0xffff,
            (DataType::V2F16 | DataType::V2I16 | DataType::V2Bf16, 1, 1) => 0xffff_0000,
            (DataType::F16, 0, 1) => 0xffff, // v_fma_mix
            (DataType::F16, 1, 1) => 0xffff_0000,
            _ => !0,
        };
    }
    half_bits(info.base, ty)
}

fn half_bits(base: &str, ty: DataType) -> u32 {
    let by_name = base.ends_with("_f16") || base.ends_with("_u16") || base.ends_with("_i16") || base.ends_with("_b16");
    let packed = base.starts_with("v_pk_") || base.starts_with("v_dot") || base.contains("_mix");
    if matches!(ty, DataType::F16 | DataType::I16 | DataType::B16 | DataType::Bf16) || (by_name && !packed) {
        0xffff
    } else {
        !0
    }
}

impl Checked {
    pub fn new(inst: &Inst, pc: u64) -> Checked {
        let info = inst.info();
        let mut touched = Vec::new();
        inst.for_each_access(|a| {
            // EXEC, MODE and SCC are always there.
            if !matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI | Reg::SCC) && a.reg.index() < 768 {
                touched.push((a.reg, a.access.writes()));
            }
        });
        let flag = |f| info.flags.contains(f);
        let memory = flag(Flags::VMEM) || flag(Flags::DS) || flag(Flags::FLAT) || flag(Flags::MUBUF);
        let (mut sources, mut data, mut results, mut loaded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut mask = None;
        let masked = matches!(info.base, "v_cndmask_b32" | "v_addc_co_u32" | "v_subb_co_u32" | "v_subbrev_co_u32");
        let mut position = 0;
        for (operand, value) in inst.operands() {
            let Some(at) = place(value) else { continue };
            if operand.access.writes() {
                results.push(at);
                if let Operand::Reg(range) = value {
                    loaded.extend(range.units());
                }
                // v_writelane and DPP keep what they do not write.
                if info.base == "v_writelane_b32" || flag(Flags::DPP) || !operand.access.reads() {
                    continue;
                }
            }
            if masked && matches!(at, Place::Scalars(..)) && (operand.field == Field::Src2 || operand.fixed.is_some()) {
                if let Place::Scalars(code, _) = at {
                    mask = Some(code);
                }
                continue;
            }
            let source = Source { place: at, used: used_bits(inst, operand.ty, position) };
            position += 1;
            if memory && matches!(operand.field, Field::Vdata | Field::Data0 | Field::Data1) {
                data.push(source);
            } else if matches!(value, Operand::Reg(_)) || !memory {
                sources.push(source);
            }
        }
        if info.base.starts_with("v_div_fmas") {
            mask = Some(crate::wave::scalar::VCC);
        }
        let counted = flag(Flags::VM_CNT) || flag(Flags::LGKM_CNT);
        if !counted {
            loaded.clear();
        }
        let wait = (info.base == "s_waitcnt").then(|| {
            let simm = inst.field(Field::Simm16).unwrap_or(0);
            // gfx9: vmcnt [15:14] and [3:0], expcnt [6:4], lgkmcnt [11:8].
            ((simm & 15 | simm >> 10 & 0x30) as usize, (simm >> 8 & 15) as usize)
        });
        let field = |f| inst.field(f).unwrap_or(0);
        let dpp = flag(Flags::DPP).then(|| {
            (field(Field::DppCtrl), field(Field::RowMask), field(Field::BankMask), field(Field::BoundCtrl) != 0)
        });
        let rule = if memory { memory_rule(inst) } else { rule(inst, &sources, mask) };
        Checked {
            pc,
            hazards: Facts::of(inst),
            touched,
            sources,
            data,
            results,
            rule,
            loaded: loaded.into(),
            vm: flag(Flags::VM_CNT),
            // A load straight into LDS counts as the vector memory access that it is, and there alone (LLVM's
            // SIInsertWaitcnts waits with vmcnt for what it writes).
            lgkm: flag(Flags::LGKM_CNT) && !(flag(Flags::VMEM) && info.implicit_reads.contains(&Reg::M0)),
            unordered: flag(Flags::SMEM),
            wait,
            dpp,
            ignores_exec: flag(Flags::MFMA),
            shifts: info.base.contains("_lshl_b")
                || info.base.contains("_lshr_b")
                || info.base.contains("_ashr_i")
                || info.base.contains("shlrev")
                || info.base.contains("shrrev"),
        }
    }
}

fn memory_rule(inst: &Inst) -> Rule {
    let info = inst.info();
    let base = info.base;
    if base.starts_with("ds_") && (base.contains("permute") || base.contains("swizzle")) {
        return Rule::Any;
    }
    let keeps_half = match () {
        () if base.ends_with("_d16_hi") => Some(0xffff),
        () if base.ends_with("_d16") => Some(0xffff_0000),
        () => None,
    };
    // What a store writes may be undefined as long as it stays in LDS or scratch, which `memory` sees.
    let atomic = if base.starts_with("ds_") { is_ds_atomic(base) } else { info.flags.contains(Flags::ATOMIC) };
    Rule::Memory { data_matters: atomic, keeps_half }
}

fn is_ds_atomic(base: &str) -> bool {
    !["ds_read", "ds_write", "ds_append", "ds_consume", "ds_nop"].iter().any(|other| base.starts_with(other))
}

fn logic_of(name: &str) -> Option<(Logic, bool)> {
    Some(match name {
        "and" | "nand" => (Logic::And, false),
        "or" | "nor" => (Logic::Or, false),
        "xor" | "xnor" => (Logic::Xor, false),
        "andn2" => (Logic::And, true),
        "orn2" => (Logic::Or, true),
        _ => return None,
    })
}

fn rule(inst: &Inst, sources: &[Source], mask: Option<u8>) -> Rule {
    let info = inst.info();
    let base = info.base;
    let plain = !info.flags.contains(Flags::SDWA);
    if info.flags.contains(Flags::MFMA) {
        return Rule::Decides("a matrix operation");
    }
    if info.flags.contains(Flags::SMEM) {
        return Rule::Decides("a scalar memory access");
    }
    if info.flags.contains(Flags::VALU) {
        if base.starts_with("v_cmp") {
            return Rule::Compare;
        }
        if base.starts_with("v_cndmask") {
            return Rule::VectorSelect(mask.unwrap_or(crate::wave::scalar::VCC));
        }
        let first_constant = || match sources.first()?.place {
            Place::Constant(c) => Some(c & 31),
            _ => None,
        };
        return match base {
            "v_readlane_b32" => Rule::ReadLane,
            "v_readfirstlane_b32" => Rule::ReadFirstLane,
            "v_writelane_b32" => Rule::WriteLane,
            "v_mov_b32"
            | "v_mov_b64"
            | "v_not_b32"
            | "v_accvgpr_read_b32"
            | "v_accvgpr_write_b32"
            | "v_accvgpr_mov_b32"
            | "v_pk_mov_b32"
                if plain && sources.len() == 1 =>
            {
                Rule::Move
            }
            "v_and_b32" if plain => Rule::Logic { op: Logic::And, invert: false },
            "v_or_b32" if plain => Rule::Logic { op: Logic::Or, invert: false },
            "v_xor_b32" | "v_xnor_b32" if plain => Rule::Logic { op: Logic::Xor, invert: false },
            "v_lshlrev_b32" if plain && first_constant().is_some() => {
                Rule::Shift { left: true, by: first_constant().unwrap_or(0) }
            }
            "v_lshrrev_b32" if plain && first_constant().is_some() => {
                Rule::Shift { left: false, by: first_constant().unwrap_or(0) }
            }
            "v_swap_b32" => Rule::Defines,
            _ if base.starts_with("v_div_fmas") || base.starts_with("v_div_scale") => Rule::Carry(mask),
            _ if !plain => Rule::Any,
            _ if base.contains("_co_") => Rule::Up(mask),
            "v_mad_u64_u32" | "v_mad_i64_i32" | "v_add_u32" | "v_sub_u32" | "v_subrev_u32" | "v_add3_u32"
            | "v_mul_lo_u32" | "v_lshlrev_b32" | "v_lshlrev_b64" | "v_lshl_add_u32" | "v_add_lshl_u32"
            | "v_mul_u32_u24" | "v_mad_u32_u24" | "v_lshl_or_b32" => Rule::Up(None),
            "v_lshrrev_b64" | "v_ashrrev_i64" | "v_lshrrev_b32" | "v_ashrrev_i32" => Rule::Down,
            _ => Rule::Any,
        };
    }
    let stem = base.strip_prefix("s_").unwrap_or(base);
    if let Some(name) = stem.strip_suffix("_saveexec_b64") {
        let (op, invert_source, invert_exec) = match name {
            "andn1" => (Logic::And, true, false),
            "orn1" => (Logic::Or, true, false),
            name => match logic_of(name) {
                Some((op, invert)) => (op, false, invert),
                None => return Rule::Any,
            },
        };
        return Rule::SaveExec { op, invert_source, invert_exec };
    }
    if let Some((op, invert)) = stem.strip_suffix("_b64").or_else(|| stem.strip_suffix("_b32")).and_then(logic_of) {
        return Rule::Logic { op, invert };
    }
    match base {
        "s_mov_b32" | "s_mov_b64" | "s_not_b32" | "s_not_b64" => Rule::Move,
        "s_cselect_b32" | "s_cselect_b64" => Rule::ScalarSelect,
        "s_setpc_b64" | "s_swappc_b64" => Rule::Decides("a jump"),
        "s_setreg_b32" => Rule::Decides("a hardware register"),
        _ if base.starts_with("s_cmp") || base.starts_with("s_bitcmp") => Rule::Decides("a condition"),
        "s_cbranch_vccz" | "s_cbranch_vccnz" => Rule::Decides("a branch"),
        "s_add_u32" | "s_add_i32" | "s_addc_u32" | "s_sub_u32" | "s_sub_i32" | "s_subb_u32" | "s_mul_i32"
        | "s_lshl_b32" | "s_lshl_b64" => Rule::Up(None),
        "s_lshr_b32" | "s_lshr_b64" | "s_ashr_i32" | "s_ashr_i64" => Rule::Down,
        _ if info.operands.is_empty() => Rule::Defines,
        _ => Rule::Any,
    }
}
