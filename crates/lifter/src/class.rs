//! What the analyses need to know of an opcode beyond its flags, looked up once per opcode instead of once per
//! instruction; and what they ask of every instruction, looked up once when it is decoded.

use std::sync::OnceLock;

use luthier_isa::{
    Access, AccessPlan, Field, File, Flags, Format, Inst, Mode, OpcodeInfo, Operand, OperandInfo, Reg, RegAccess,
    RegRange, Target, Wave,
};

/// Opcodes that some analysis has a rule for. The rest is [`Kind::Plain`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Plain,
    // Flow. The order matters: from `Branch` to `Unsupported` are the block enders.
    Branch,
    CondBranch,
    /// `s_call_b64`.
    CallDirect,
    Swappc,
    Setpc,
    End,
    Trap,
    Unsupported,
    // Values.
    Getpc,
    MovB32,
    MovB64,
    MovkI32,
    AddU32,
    AddcU32,
    SubU32,
    SubbU32,
    AddI32,
    SubI32,
    AddkI32,
    SextI16,
    AddU64,
    /// `v_mov_b32` and the moves between VGPRs and AGPRs: every lane that is on gets the operand.
    VectorMov,
    /// Loads and stores of whole dwords from and to VGPRs, which may be spills.
    VectorLoad,
    VectorStore,
    /// `s_load_dword*`, by the number of units loaded.
    ScalarLoad,
    Writelane,
    Readlane,
    Readfirstlane,
    // EXEC.
    OrSaveexec,
    /// EXEC becomes a subset of itself.
    ShrinkExec,
    /// EXEC becomes a superset of itself.
    GrowExec,
    AndB64,
    Andn2B64,
    OrB64,
    XorB64,
    AndB32,
    Andn2B32,
    OrB32,
    XorB32,
    /// A vector operation that looks at lanes which EXEC turns off, or may. DPP, `ds_permute_b32`, `ds_bpermute_b32`
    /// and `ds_swizzle_b32` move values between lanes too, but read those that are on only (Vega ISA, "DPP",
    /// "DS_BPERMUTE_B32": a disabled source lane gives zero or no write).
    CrossLane,
    // Register indexing.
    GprIdxOn,
    GprIdxOff,
    GprIdxMode,
    /// `s_set_vgpr_msb` (gfx1250).
    VgprMsb,
    Setreg,
    ScalarRelative,
    VectorRelative,
    // Counters.
    Waitcnt,
    Message,
    CacheControl,
}

impl Kind {
    pub(crate) fn ends_block(self) -> bool {
        (Kind::Branch as u8..=Kind::Unsupported as u8).contains(&(self as u8))
    }
}

/// The part that an instruction plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Role {
    pub kind: Kind,
    pub exec: ExecEffect,
}

/// What is worked out once for every opcode of a target.
pub(crate) struct Classes {
    pub mode: Mode,
    /// By opcode.
    rows: Vec<Row>,
    /// By opcode; made when first asked for: a small object has few opcodes.
    plans: Vec<OnceLock<AccessPlan>>,
}

struct Row {
    kind: Kind,
    /// Of the destination that may be EXEC: where the field lies in the first two words, its bits, and how many units it
    /// names. Zeros where there is none; where it takes more to tell, so many units that EXEC is always among them.
    low: u8,
    mask: u8,
    units: u8,
}

/// See [`Row::units`].
const MANY_UNITS: u8 = 255;

/// A scalar operation of a lane mask's width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MaskOp {
    Mov,
    And,
    Andn2,
    Or,
    Xor,
    Other,
}

impl Classes {
    pub(crate) fn of_mode(mode: Mode) -> &'static Classes {
        const MODES: usize = 2 * Target::ALL.len();
        static ALL: [OnceLock<Classes>; MODES] = [const { OnceLock::new() }; MODES];
        ALL[mode.target() as usize * 2 + mode.wave() as usize].get_or_init(|| Classes::new(mode))
    }
    fn new(mode: Mode) -> Classes {
        let plans = mode.opcodes().iter().map(|_| OnceLock::new()).collect();
        Classes { mode, rows: mode.opcodes().iter().map(Row::of).collect(), plans }
    }
    /// The units of a lane mask.
    pub(crate) fn mask_units(&self) -> u8 {
        match self.mode.wave() {
            Wave::W32 => 1,
            Wave::W64 => 2,
        }
    }
    /// The operand is EXEC, as far as it has lanes.
    pub(crate) fn is_exec(&self, operand: Option<Operand>) -> bool {
        operand == Some(Operand::Reg(RegRange::new(Reg::EXEC_LO, self.mask_units())))
    }
    /// What an instruction does to lane masks, if it is a scalar operation of their width.
    pub(crate) fn mask_op(&self, kind: Kind) -> MaskOp {
        match (self.mode.wave(), kind) {
            (Wave::W64, Kind::MovB64) | (Wave::W32, Kind::MovB32) => MaskOp::Mov,
            (Wave::W64, Kind::AndB64) | (Wave::W32, Kind::AndB32) => MaskOp::And,
            (Wave::W64, Kind::Andn2B64) | (Wave::W32, Kind::Andn2B32) => MaskOp::Andn2,
            (Wave::W64, Kind::OrB64) | (Wave::W32, Kind::OrB32) => MaskOp::Or,
            (Wave::W64, Kind::XorB64) | (Wave::W32, Kind::XorB32) => MaskOp::Xor,
            _ => MaskOp::Other,
        }
    }
    pub(crate) fn role(&self, inst: &Inst) -> Role {
        let row = &self.rows[usize::from(inst.info().id.0)];
        let exec = match row.may_write_exec(inst) && writes_exec(inst) {
            true => exec_effect(self, row.kind, inst),
            false => ExecEffect::None,
        };
        Role { kind: row.kind, exec }
    }
    fn plan(&self, inst: &Inst) -> &AccessPlan {
        self.plans[usize::from(inst.info().id.0)].get_or_init(|| AccessPlan::of(inst.info()))
    }
    /// As [`Inst::for_each_access`].
    pub(crate) fn for_each_access(&self, inst: &Inst, f: impl FnMut(RegAccess)) {
        self.plan(inst).for_each(inst, f);
    }
    /// As [`AccessPlan::for_each_write`].
    #[inline(always)]
    pub(crate) fn for_each_write(&self, inst: &Inst, f: impl FnMut(RegRange, Access)) {
        self.plan(inst).for_each_write(inst, f);
    }
    /// As [`AccessPlan::for_each_read`].
    #[inline(always)]
    pub(crate) fn for_each_read(&self, inst: &Inst, f: impl FnMut(RegRange)) {
        self.plan(inst).for_each_read(inst, f);
    }
}

impl Row {
    fn of(info: &OpcodeInfo) -> Row {
        let row = |low, mask, units| Row { kind: classify(info), low, mask, units };
        let scalar = |o: &&OperandInfo| o.access.writes() && o.file == File::Scalar && o.fixed.is_none();
        let mut destinations = info.operands.iter().filter(scalar);
        match (destinations.next(), destinations.next()) {
            _ if info.implicit_writes.iter().any(is_exec) => row(0, 0, MANY_UNITS),
            (None, _) => row(0, 0, 0),
            (Some(only), None) => {
                let mut pieces = info.layout().iter().filter(|piece| piece.0 == only.field);
                match (pieces.next(), pieces.next()) {
                    (Some(&(_, low, width @ 1..=8)), None) if low + width <= 64 => {
                        row(low, u8::MAX >> (8 - width), only.units)
                    }
                    _ => row(0, 0, MANY_UNITS),
                }
            }
            _ => row(0, 0, MANY_UNITS),
        }
    }

    /// Some unit of EXEC may get a new value.
    #[inline]
    fn may_write_exec(&self, inst: &Inst) -> bool {
        /// The codes of EXEC's halves, on every processor.
        const EXEC: std::ops::Range<u32> = 126..128;
        let first = u32::from((inst.pair() >> self.low) as u8 & self.mask);
        first < EXEC.end && first + u32::from(self.units) > EXEC.start
    }
}

fn is_exec(reg: &Reg) -> bool {
    *reg == Reg::EXEC_LO || *reg == Reg::EXEC_HI
}

fn writes_exec(inst: &Inst) -> bool {
    let destinations = inst.operands().take_while(|(o, _)| o.access != Access::Read);
    let mut named = destinations.filter_map(|(_, value)| value.reg()).flat_map(RegRange::units);
    inst.info().implicit_writes.iter().any(is_exec) || named.any(|reg| is_exec(&reg))
}

fn classify(info: &OpcodeInfo) -> Kind {
    let flags = info.flags;
    match info.base {
        "s_branch" => return Kind::Branch,
        // gfx1250 has other names.
        "s_call_b64" | "s_call_i64" => return Kind::CallDirect,
        "s_swappc_b64" | "s_swap_pc_i64" => return Kind::Swappc,
        "s_setpc_b64" | "s_set_pc_i64" => return Kind::Setpc,
        "s_set_vgpr_msb" => return Kind::VgprMsb,
        "s_trap" => return Kind::Trap,
        "s_cbranch_i_fork"
        | "s_cbranch_g_fork"
        | "s_cbranch_join"
        | "s_rfe_b64"
        | "s_rfe_restore_b64"
        | "s_subvector_loop_begin"
        | "s_subvector_loop_end" => return Kind::Unsupported,
        "s_getpc_b64" | "s_get_pc_i64" => return Kind::Getpc,
        "s_sext_i32_i16" => return Kind::SextI16,
        "s_add_nc_u64" | "s_add_u64" => return Kind::AddU64,
        "s_mov_b32" => return Kind::MovB32,
        "s_mov_b64" => return Kind::MovB64,
        "s_movk_i32" => return Kind::MovkI32,
        "s_add_u32" | "s_add_co_u32" => return Kind::AddU32,
        "s_addc_u32" | "s_add_co_ci_u32" => return Kind::AddcU32,
        "s_sub_u32" | "s_sub_co_u32" => return Kind::SubU32,
        "s_subb_u32" | "s_sub_co_ci_u32" => return Kind::SubbU32,
        "s_add_i32" | "s_add_co_i32" => return Kind::AddI32,
        "s_sub_i32" | "s_sub_co_i32" => return Kind::SubI32,
        "s_addk_i32" | "s_addk_co_i32" => return Kind::AddkI32,
        "v_mov_b32" if info.format == Format::Vop1 => return Kind::VectorMov,
        "v_accvgpr_write_b32" | "v_accvgpr_read_b32" | "v_accvgpr_mov_b32"
            if !flags.intersects(Flags::MFMA | Flags::IGNORES_EXEC) =>
        {
            return Kind::VectorMov;
        }
        "v_writelane_b32" => return Kind::Writelane,
        "v_readlane_b32" => return Kind::Readlane,
        "s_or_saveexec_b64" | "s_or_saveexec_b32" => return Kind::OrSaveexec,
        // From RDNA3 on the same are called not0 and not1.
        "s_and_saveexec_b64" | "s_and_saveexec_b32" => return Kind::ShrinkExec,
        "s_andn1_saveexec_b64" | "s_andn1_saveexec_b32" | "s_and_not0_saveexec_b64" | "s_and_not0_saveexec_b32" => {
            return Kind::ShrinkExec;
        }
        "s_andn1_wrexec_b64" | "s_andn1_wrexec_b32" | "s_and_not0_wrexec_b64" | "s_and_not0_wrexec_b32" => {
            return Kind::ShrinkExec;
        }
        "s_orn1_saveexec_b64" | "s_orn1_saveexec_b32" | "s_or_not0_saveexec_b64" | "s_or_not0_saveexec_b32" => {
            return Kind::GrowExec;
        }
        "s_and_b64" => return Kind::AndB64,
        "s_andn2_b64" | "s_and_not1_b64" => return Kind::Andn2B64,
        "s_or_b64" => return Kind::OrB64,
        "s_xor_b64" => return Kind::XorB64,
        "s_and_b32" => return Kind::AndB32,
        "s_andn2_b32" | "s_and_not1_b32" => return Kind::Andn2B32,
        "s_or_b32" => return Kind::OrB32,
        "s_xor_b32" => return Kind::XorB32,
        "s_set_gpr_idx_on" => return Kind::GprIdxOn,
        "s_set_gpr_idx_off" => return Kind::GprIdxOff,
        "s_set_gpr_idx_mode" => return Kind::GprIdxMode,
        "s_setreg_b32" | "s_setreg_imm32_b32" => return Kind::Setreg,
        base if base.starts_with("s_wait") => return Kind::Waitcnt,
        base if base.starts_with("s_movrel") || base.starts_with("s_cmovrel") => return Kind::ScalarRelative,
        base if base.starts_with("v_movrel") => return Kind::VectorRelative,
        base if base.starts_with("v_cmpx") => return Kind::ShrinkExec,
        base if base.starts_with("s_sendmsg") => return Kind::Message,
        base if base.starts_with("s_load_dword") => return Kind::ScalarLoad,
        "s_load_b32" | "s_load_b64" | "s_load_b96" | "s_load_b128" | "s_load_b256" | "s_load_b512" => {
            return Kind::ScalarLoad;
        }
        base if base.starts_with("s_dcache") || base.contains("inv") && base.starts_with("buffer_") => {
            return Kind::CacheControl;
        }
        base if base.starts_with("global_wb") || base.starts_with("global_inv") || base.contains("_prefetch") => {
            return Kind::CacheControl;
        }
        base if base.starts_with("buffer_wb") || base.starts_with("s_icache") => return Kind::CacheControl,
        // Of all lanes whether on or off, or of lane 0 where none is on.
        "v_readfirstlane_b32" => return Kind::Readfirstlane,
        base if base.starts_with("ds_gws") || base.contains("ordered_count") => return Kind::CrossLane,
        base if moves_dwords(base, "load") => return Kind::VectorLoad,
        base if moves_dwords(base, "store") => return Kind::VectorStore,
        _ => {}
    }
    if flags.contains(Flags::END) {
        return Kind::End;
    }
    if flags.contains(Flags::COND_BRANCH) {
        return Kind::CondBranch;
    }
    if flags.intersects(Flags::BRANCH | Flags::INDIRECT | Flags::CALL) {
        return Kind::Unsupported;
    }
    if flags.contains(Flags::TRAP) {
        return Kind::Trap;
    }
    if flags.intersects(Flags::MFMA | Flags::WMMA | Flags::IGNORES_EXEC) && !flags.contains(Flags::SALU) {
        return Kind::CrossLane;
    }
    Kind::Plain
}

/// `buffer_load_dwordx2`, `scratch_store_b32` and their like.
fn moves_dwords(base: &str, way: &str) -> bool {
    let rest = base.strip_prefix("buffer_").or_else(|| base.strip_prefix("scratch_"));
    let size = rest.and_then(|r| r.strip_prefix(way)).and_then(|r| r.strip_prefix('_'));
    matches!(size, Some("dword" | "dwordx2" | "dwordx3" | "dwordx4" | "b32" | "b64" | "b96" | "b128"))
}

/// How an instruction changes EXEC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExecEffect {
    None,
    /// All ones afterwards.
    Full,
    /// A superset of what it was.
    Grow,
    /// A subset of what it was.
    Shrink,
    Unknown,
}

/// The source-operand code of the inline constant -1.
const MINUS_ONE: u16 = 193;

pub(crate) fn is_all_ones(operand: Option<Operand>) -> bool {
    matches!(operand, Some(Operand::Inline(MINUS_ONE)))
}

/// How an instruction that writes EXEC changes it. `inst` must write EXEC.
pub(crate) fn exec_effect(classes: &Classes, kind: Kind, inst: &Inst) -> ExecEffect {
    let src0 = || inst.operand_in(Field::Ssrc0);
    let src1 = || inst.operand_in(Field::Ssrc1);
    let exec = |operand| classes.is_exec(operand);
    match kind {
        Kind::ShrinkExec => return ExecEffect::Shrink,
        Kind::GrowExec => return ExecEffect::Grow,
        Kind::OrSaveexec if is_all_ones(src0()) => return ExecEffect::Full,
        // The old EXEC goes to sdst; were that EXEC itself, the order of the two writes would matter.
        Kind::OrSaveexec if !exec(inst.operand_in(Field::Sdst)) => return ExecEffect::Grow,
        _ => {}
    }
    if !exec(inst.operand_in(Field::Sdst)) {
        return ExecEffect::Unknown;
    }
    match classes.mask_op(kind) {
        MaskOp::Mov if is_all_ones(src0()) => ExecEffect::Full,
        MaskOp::Or if exec(src0()) || exec(src1()) => ExecEffect::Grow,
        MaskOp::And if exec(src0()) || exec(src1()) => ExecEffect::Shrink,
        MaskOp::Andn2 if exec(src0()) => ExecEffect::Shrink,
        _ => ExecEffect::Unknown,
    }
}
