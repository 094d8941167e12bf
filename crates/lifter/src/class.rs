//! What the analyses need to know of an opcode beyond its flags, looked up once per opcode instead of once per
//! instruction; and what they ask of every instruction, looked up once when it is decoded.

use std::sync::OnceLock;

use luthier_isa::{
    Access, AccessPlan, Field, File, Flags, Format, Inst, Mode, Op, OpcodeInfo, Operand, OperandInfo, Reg, RegAccess,
    RegRange, Wave,
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
    /// A vector operation that looks at lanes which EXEC turns off: see [`Inst::reads_lanes_that_are_off`].
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
    /// names. Zeros where there is none; where it takes more to tell, a count that always includes EXEC.
    low: u8,
    mask: u8,
    units: u8,
    /// Modifiers may have it fetch from lanes that are off.
    may_fetch: bool,
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
        static ALL: [OnceLock<Classes>; Mode::COUNT] = [const { OnceLock::new() }; Mode::COUNT];
        ALL[mode.index()].get_or_init(|| Classes::new(mode))
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
        let kind = match row.may_fetch && inst.reads_lanes_that_are_off() {
            true => Kind::CrossLane,
            false => row.kind,
        };
        Role { kind, exec }
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
    fn of(info: &'static OpcodeInfo) -> Row {
        let kind = classify(info);
        let modified = info.flags.intersects(Flags::DPP | Flags::OP_SEL);
        let may_fetch = kind == Kind::Plain && modified;
        let row = |low, mask, units| Row { kind, low, mask, units, may_fetch };
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

fn classify(info: &'static OpcodeInfo) -> Kind {
    let flags = info.flags;
    let op = info.op();
    let named = match op {
        Op::SBranch | Op::SAddPcI64 => Kind::Branch,
        Op::SCallB64 => Kind::CallDirect,
        Op::SSwappcB64 => Kind::Swappc,
        Op::SSetpcB64 => Kind::Setpc,
        Op::SSetVgprMsb => Kind::VgprMsb,
        Op::STrap => Kind::Trap,
        Op::SCbranchIFork
        | Op::SCbranchGFork
        | Op::SCbranchJoin
        | Op::SRfeB64
        | Op::SRfeRestoreB64
        | Op::SSubvectorLoopBegin
        | Op::SSubvectorLoopEnd => Kind::Unsupported,
        Op::SGetpcB64 => Kind::Getpc,
        Op::SSextI32I16 => Kind::SextI16,
        Op::SAddNcU64 => Kind::AddU64,
        Op::SMovB32 => Kind::MovB32,
        Op::SMovB64 => Kind::MovB64,
        Op::SMovkI32 => Kind::MovkI32,
        Op::SAddU32 => Kind::AddU32,
        Op::SAddcU32 => Kind::AddcU32,
        Op::SSubU32 => Kind::SubU32,
        Op::SSubbU32 => Kind::SubbU32,
        Op::SAddI32 => Kind::AddI32,
        Op::SSubI32 => Kind::SubI32,
        Op::SAddkI32 => Kind::AddkI32,
        Op::VMovB32 if info.format == Format::Vop1 => Kind::VectorMov,
        Op::VAccvgprWriteB32 | Op::VAccvgprReadB32 | Op::VAccvgprMovB32
            if !flags.intersects(Flags::MFMA | Flags::IGNORES_EXEC) =>
        {
            Kind::VectorMov
        }
        Op::VWritelaneB32 => Kind::Writelane,
        Op::VReadlaneB32 => Kind::Readlane,
        // Of all lanes whether on or off, or of lane 0 where none is on.
        Op::VReadfirstlaneB32 => Kind::Readfirstlane,
        Op::SOrSaveexecB64 | Op::SOrSaveexecB32 => Kind::OrSaveexec,
        Op::SAndSaveexecB64
        | Op::SAndSaveexecB32
        | Op::SAndn1SaveexecB64
        | Op::SAndn1SaveexecB32
        | Op::SAndn1WrexecB64
        | Op::SAndn1WrexecB32 => Kind::ShrinkExec,
        Op::SOrn1SaveexecB64 | Op::SOrn1SaveexecB32 => Kind::GrowExec,
        Op::SAndB64 => Kind::AndB64,
        Op::SAndn2B64 => Kind::Andn2B64,
        Op::SOrB64 => Kind::OrB64,
        Op::SXorB64 => Kind::XorB64,
        Op::SAndB32 => Kind::AndB32,
        Op::SAndn2B32 => Kind::Andn2B32,
        Op::SOrB32 => Kind::OrB32,
        Op::SXorB32 => Kind::XorB32,
        Op::SSetGprIdxOn => Kind::GprIdxOn,
        Op::SSetGprIdxOff => Kind::GprIdxOff,
        Op::SSetGprIdxMode => Kind::GprIdxMode,
        Op::SSetregB32 | Op::SSetregImm32B32 => Kind::Setreg,
        Op::VMovrelsB32 | Op::VMovreldB32 | Op::VMovrelsdB32 | Op::VMovrelsd2B32 => Kind::VectorRelative,
        Op::SLoadDword | Op::SLoadDwordx2 | Op::SLoadB96 | Op::SLoadDwordx4 | Op::SLoadDwordx8 | Op::SLoadDwordx16 => {
            Kind::ScalarLoad
        }
        Op::BufferLoadDword
        | Op::BufferLoadDwordx2
        | Op::BufferLoadDwordx3
        | Op::BufferLoadDwordx4
        | Op::ScratchLoadDword
        | Op::ScratchLoadDwordx2
        | Op::ScratchLoadDwordx3
        | Op::ScratchLoadDwordx4 => Kind::VectorLoad,
        Op::BufferStoreDword
        | Op::BufferStoreDwordx2
        | Op::BufferStoreDwordx3
        | Op::BufferStoreDwordx4
        | Op::ScratchStoreDword
        | Op::ScratchStoreDwordx2
        | Op::ScratchStoreDwordx3
        | Op::ScratchStoreDwordx4 => Kind::VectorStore,
        _ if op.is_wait() => Kind::Waitcnt,
        _ if op.is_scalar_movrel() => Kind::ScalarRelative,
        _ if op.is_cmpx() => Kind::ShrinkExec,
        _ if op.is_message() => Kind::Message,
        _ if op.is_cache_control() => Kind::CacheControl,
        _ => Kind::Plain,
    };
    if named != Kind::Plain {
        return named;
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
    if Inst::new(info).reads_lanes_that_are_off() {
        return Kind::CrossLane;
    }
    Kind::Plain
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
