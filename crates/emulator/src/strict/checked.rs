//! What the checks need to know of an instruction, worked out when its block is translated.

use luthier_isa::op::Op as IsaOp;
use luthier_isa::{Access, Field, Flags, Format, Generation, Inst, Operand, Reg};

use super::counters::{counters, most, order, room, wait};
use super::dpp::Dpp;
use super::dual::halves;
use super::elements::Elements;
use super::operations::{Counters, Loaded, Most, Wait};
use super::parts::{accumulates, only_word, pairs, source, stored, words, written};
use super::placed::Placed;
use super::quick::Quick;
use super::race::coherence::{self, CacheControl, Scope};
use crate::crossing::Within;
use crate::lower::Limits;
use luthier_isa::hazard::Facts;

/// Where a value comes from or goes to, in the terms of the shadow state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The first of some rows of [`crate::registers::rows`].
    Rows(u16, u8),
    /// The first of some scalar codes.
    Scalars(u8, u8),
    /// A constant; its low word.
    Constant(u32),
}

fn names_scc(sources: &[Source]) -> bool {
    sources.iter().any(|source| source.place == Place::SCC)
}

impl Place {
    pub const SCC: Place = Place::Scalars(crate::registers::scalar::SCC, 1);

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
    /// Where the value begins: 16 for the upper half of a register.
    pub shift: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Left,
    Right,
    Signed,
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
    /// Bit by bit, the second source inverted or not, and the result.
    Logic {
        op: Logic,
        invert: bool,
        negate: bool,
    },
    /// As [`Rule::Logic`] of a source (inverted or not) and EXEC; EXEC gets the result, the destination EXEC, the old one
    /// or the new one.
    SaveExec {
        op: Logic,
        invert_source: bool,
        invert_exec: bool,
    },
    /// Bit by bit from the only source.
    Move,
    /// The bits of the only source from the other end.
    Reverse,
    /// The value, which is the source with this number, shifted by a constant; its width counts for signs.
    Shift {
        way: Way,
        by: u32,
        width: u32,
        value: usize,
    },
    /// Bits of the first source, from a fixed place on; the number of the source's bits.
    Field {
        from: u32,
        width: u32,
        signed: bool,
        bits: u32,
    },
    /// The first source above the second, shifted right by the constant.
    Funnel(u32),
    /// Bytes of both sources: 0 to 3 of the second, 4 to 7 of the first, 8 to 11 their signs; the others are constant.
    Bytes(u32),
    /// Bit by bit, by a truth table of up to three sources: the first one's bit is the highest of its index.
    Table(u8),
    /// The first shifted left by the constant, and the third beside it.
    Beside(u32),
    /// The first shifted left by the constant, and another one added.
    Sum {
        by: u32,
        other: usize,
    },
    /// The sum of the first two shifted left by the constant.
    SumShifted(u32),
    /// One of the last seven, by what an operand says.
    Placed(Placed),
    /// Two words, each of one word of each source (2: of none), moved, or made of all their bits.
    Words {
        moves: bool,
        from: [[u8; 3]; 2],
    },
    /// The lower half of the result is of these bits of the sources, the upper half of those.
    Pairs([[u32; 3]; 2]),
    /// Sums and products: a bit depends on those at and below its place. With a carry out beside it, or
    /// not, and perhaps a carry in from a scalar code.
    Up(Option<u8>),
    /// Whether both sources are equal, which a defined bit that differs decides.
    Equal,
    /// The first or the second source, by SCC.
    ScalarSelect,
    /// The source, or what the destination has, by SCC.
    ScalarKeep,
    /// Both registers change places.
    Swap,
    /// Half of both registers' lanes do, between groups of this many.
    SwapGroups {
        by: u8,
        fetches: bool,
        bound_zero: bool,
    },
    /// The first or the second source, by a lane mask at a scalar code.
    VectorSelect(u8),
    /// One bit a lane.
    Compare,
    /// Carry out (and perhaps in, from a scalar code) beside the result.
    Carry(Option<u8>),
    /// Rows, or neighbouring rows, by lane numbers in the second and third source.
    Permlane {
        crosses: bool,
        fetches: bool,
        bound_zero: bool,
    },
    /// The halves of the wave.
    Permlane64,
    /// Lanes of a group, by the second and third source.
    Within(Within),
    /// Numbers that are converted, each for itself.
    Elements(Elements),
    /// The second source says which byte the first one becomes of the third: this one.
    Byte(u32),
    /// Any undefined bit of any source makes all results undefined.
    AnyOfAll,
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
    /// Numbers of the units touched, with whether they are written.
    pub touched: Vec<(u16, bool)>,
    /// Those that no earlier instruction of the block has found free of loads in flight ([`super::within`]).
    pub fresh: Vec<u16>,
    /// Of a move whose source or destination M0 chooses: the VGPR that it is counted from, and the other one.
    pub relative: Option<(u16, Option<u16>)>,
    pub changes_exec: bool,
    pub sources: Vec<Source>,
    /// Of a memory access: what is stored.
    pub data: Vec<Source>,
    pub results: Vec<Place>,
    pub rule: Rule,
    /// Registers that a load fills later, and which bits of each.
    pub loaded: Loaded,
    pub filled: u32,
    /// Whether the halves of a register that a load does not fill may be used meanwhile.
    pub by_half: bool,
    pub counters: Counters,
    /// What the processor's counters have room for.
    pub most: Most,
    /// With fewer operations than this in flight, it is issued at once.
    pub room: u8,
    pub unordered: bool,
    /// What it loads goes to scalars.
    pub is_scalar_memory: bool,
    /// Of completion, among what the same counters count.
    pub order: u8,
    pub wait: Option<Wait>,
    pub dpp: Option<Dpp>,
    /// Bits of a vector result that get something, and those that keep what they have.
    pub written: u32,
    pub kept: u32,
    /// The two operations of one instruction, in an order in which the first changes nothing that the second reads.
    pub halves: Vec<Checked>,
    pub ignores_exec: bool,
    pub hazards: Facts,
    pub quick: Option<Quick>,
    /// How far an access to device memory reaches, and whether stores say.
    pub scope: Scope,
    pub marked: bool,
    pub cache: Option<CacheControl>,
    /// Which rows its registers are.
    pub limits: Limits,
    /// Which register is beyond those that the kernel's descriptor allocates.
    pub unallocated: Option<String>,
}

pub(super) fn place(value: Operand, limits: Limits) -> Option<Place> {
    Some(match value {
        Operand::Reg(range) if range.first.is_vgpr() || range.first.is_agpr() => {
            Place::Rows(limits.row_of(range.first)?, range.count)
        }
        Operand::Reg(range) => Place::Scalars(u8::try_from(range.first.index()).ok()?, range.count),
        Operand::Inline(code) => Place::Constant(crate::registers::inline_constant32(code as u8).unwrap_or(0)),
        Operand::Literal(value) => Place::Constant(value),
        Operand::Literal64(value) => Place::Constant(value as u32),
        Operand::Special(_) => Place::Constant(0),
        Operand::Imm(value) => Place::Constant(value as u32),
    })
}

impl Place {
    /// One of its registers.
    fn word(self, k: u8) -> Place {
        match self {
            Place::Rows(row, _) => Place::Rows(row + u16::from(k), 1),
            Place::Scalars(code, _) => Place::Scalars(code.saturating_add(k), 1),
            constant => constant,
        }
    }

    /// Whether a VGPR is among its registers.
    fn has_vgpr(self, n: u16) -> bool {
        matches!(self, Place::Rows(row, words) if n.wrapping_sub(row) < words.into())
    }
}

impl Checked {
    /// The bits of a register that the instruction uses or writes.
    pub fn bits_of(&self, unit: u16) -> u32 {
        let vgpr = Reg::from_index(unit.into()).filter(|reg| reg.is_vgpr() && self.by_half);
        let Some(n) = vgpr.map(Reg::number) else { return !0 };
        let sources = self.sources.iter().chain(&self.data).filter(|source| source.place.has_vgpr(n));
        let used = sources.fold(0, |bits, source| bits | source.used);
        let written = if self.loaded.is_empty() { self.written } else { self.filled };
        let all = used | if self.results.iter().any(|place| place.has_vgpr(n)) { written } else { 0 };
        if all == 0 { !0 } else { all }
    }

    pub fn new(inst: &Inst, pc: u64, limits: Limits) -> Checked {
        let info = inst.info();
        let (mut touched, mut changes_exec) = (Vec::new(), false);
        let (mut reads_scc, mut writes_scc) = (false, false);
        inst.for_each_access(|a| {
            reads_scc |= a.reg == Reg::SCC && a.access.reads();
            writes_scc |= a.reg == Reg::SCC && a.access.writes();
            changes_exec |= a.access.writes() && matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI);
            // How many registers have an image's coordinates on gfx9, the wave finds out.
            if a.access == Access::CondRead && info.flags.contains(Flags::MIMG) {
                return;
            }
            // EXEC, MODE and SCC are always there.
            if !matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI | Reg::SCC) && !a.reg.is_state() {
                touched.push((a.reg.index() as u16, a.access.writes()));
            }
        });
        let flag = |f| info.flags.contains(f);
        let memory = flag(Flags::VMEM) || flag(Flags::DS) || flag(Flags::FLAT) || flag(Flags::MUBUF);
        let (mut sources, mut data, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let mut loaded = Loaded::default();
        let (mut mask, mut accumulators) = (None, Vec::new());
        let (mut bits, mut kept) = (!0, 0);
        let base = info.op().name();
        let masked =
            matches!(base, "v_cndmask_b32" | "v_cndmask_b16" | "v_addc_co_u32" | "v_subb_co_u32" | "v_subbrev_co_u32");
        let (mut position, mut unread, mut named) = (0, Vec::new(), Vec::new());
        for (operand, value) in inst.operands() {
            let Some(mut at) = place(value, limits) else { continue };
            let discarded = operand.field == Field::Vdata && inst.discards_result();
            if operand.access.writes() && !discarded {
                results.push(at);
                if let Operand::Reg(range) = value {
                    loaded.add(range.first, range.count);
                    if operand.field != Field::Sdst || flag(Flags::SALU) || base.starts_with("v_s_") {
                        (bits, kept) = written(inst, base, range.part);
                    }
                }
                // v_writelane, v_permlane and DPP keep what they do not write.
                let keeps = info.base == "v_writelane_b32" || info.base.starts_with("v_permlane") || flag(Flags::DPP);
                // A load of 16 bits keeps the others, which says nothing about its address.
                let fills = memory && operand.field == Field::Vdst;
                let only_keeps = keeps && !accumulates(base);
                if only_keeps || fills || !operand.access.reads() || kept != 0 && !accumulates(base) {
                    continue;
                }
                if flag(Flags::VALU) {
                    accumulators.push(Source { place: at, used: bits, shift: bits.trailing_zeros() as u8 });
                    continue;
                }
            }
            if masked && matches!(at, Place::Scalars(..)) && (operand.field == Field::Src2 || operand.fixed.is_some()) {
                if let Place::Scalars(code, _) = at {
                    mask = Some(code);
                }
                continue;
            }
            let word = only_word(inst, base, at, position);
            if let Operand::Reg(range) = value {
                for (k, reg) in (0..).zip(range.units()) {
                    let list = if word.is_none_or(|word| word == k) { &mut named } else { &mut unread };
                    list.push(reg.index() as u16);
                }
            }
            at = word.map_or(at, |word| at.word(word));
            let source = source(inst, base, at, value, operand.ty, position);
            position += 1;
            if memory && matches!(operand.field, Field::Vdata | Field::Data0 | Field::Data1) {
                data.push(Source { used: source.used & stored(inst.info().base), ..source });
            } else if matches!(value, Operand::Reg(_)) || !memory {
                sources.push(source);
            }
        }
        // A register of a pair that neither operation selects is not read, unless another operand names it.
        if !unread.is_empty() {
            touched.retain(|(unit, written)| *written || !unread.contains(unit) || named.contains(unit));
        }
        if info.base.starts_with("v_div_fmas") {
            mask = Some(crate::registers::scalar::VCC);
        }
        if matches!(info.op(), IsaOp::SCbranchVccz | IsaOp::SCbranchVccnz) {
            let words = if info.mode.wave().lanes() > 32 { 2 } else { 1 };
            sources.push(Source { place: Place::Scalars(crate::registers::scalar::VCC, words), used: !0, shift: 0 });
        }
        // Behind all others, which rules number; DPP moves the first of those.
        sources.append(&mut accumulators);
        if reads_scc && !names_scc(&sources) {
            sources.push(Source { place: Place::SCC, used: 1, shift: 0 });
        }
        let counters = counters(inst);
        if counters == 0 {
            loaded = Loaded::default();
        }
        let rule = if memory { memory_rule(inst) } else { rule(inst, base, &sources, &results, mask) };
        if writes_scc {
            results.push(Place::SCC);
        }
        match rule {
            // What lies beside a field at a fixed place, the other half of a register for example, does not matter.
            Rule::Field { from, width, .. } => {
                if let Some(value) = sources.first_mut().filter(|value| value.place.words() == 1) {
                    value.used &= ((1u64 << width) - 1).checked_shl(from).unwrap_or(0) as u32;
                }
            }
            Rule::Elements(elements) => elements.name_used(inst, &mut sources),
            Rule::AnyOfAll => {
                // Halves that change places: the other ones stay, and count here as well.
                (bits, kept) = (!0, 0);
                sources = results.iter().map(|&place| Source { place, used: !0, shift: 0 }).collect();
            }
            Rule::Pairs([low, high]) => {
                let used = low.into_iter().zip(high).map(|(low, high)| low | high);
                sources.iter_mut().zip(used).for_each(|(source, used)| (source.used, source.shift) = (used, 0));
            }
            _ => {}
        }
        let most = most(info.mode.target().generation());
        let by_half = matches!(info.mode.target().generation(), Generation::Gfx11 | Generation::Gfx12);
        let mut checked = Checked {
            pc,
            limits,
            by_half,
            filled: filled(inst, by_half),
            hazards: Facts::of(inst),
            fresh: touched.iter().map(|&(unit, _)| unit).collect(),
            touched,
            relative: relative(inst),
            changes_exec,
            sources,
            data,
            results,
            rule,
            loaded,
            counters,
            room: room(counters, &most),
            most,
            // Global wave sync is served by another unit than LDS.
            unordered: flag(Flags::SMEM) || info.op().is_gws(),
            is_scalar_memory: flag(Flags::SMEM),
            order: order(inst),
            wait: wait(inst),
            dpp: Dpp::of(inst),
            written: bits,
            kept,
            halves: if flag(Flags::DUAL) { halves(inst, pc, limits) } else { Vec::new() },
            ignores_exec: flag(Flags::MFMA) || flag(Flags::WMMA),
            quick: None,
            scope: coherence::scope(inst),
            marked: coherence::marks_stores(info.mode.target().generation()),
            cache: coherence::cache_control(inst),
            unallocated: None,
        };
        checked.quick = Quick::of(&checked);
        checked
    }

    /// An operation by itself, that touches nothing in flight.
    pub(super) fn bare(pc: u64, limits: Limits, sources: Vec<Source>, results: Vec<Place>, rule: Rule) -> Checked {
        Checked {
            pc,
            limits,
            by_half: false,
            filled: !0,
            hazards: Facts::none(),
            touched: Vec::new(),
            fresh: Vec::new(),
            relative: None,
            changes_exec: false,
            sources,
            data: Vec::new(),
            results,
            rule,
            loaded: Loaded::default(),
            counters: 0,
            most: Most::default(),
            room: u8::MAX,
            unordered: false,
            is_scalar_memory: false,
            order: 0,
            wait: None,
            dpp: None,
            written: !0,
            kept: 0,
            halves: Vec::new(),
            ignores_exec: false,
            quick: None,
            scope: Scope::Plain,
            marked: false,
            cache: None,
            unallocated: None,
        }
    }
}

fn relative(inst: &Inst) -> Option<(u16, Option<u16>)> {
    let (from, other) = match inst.info().base {
        "v_movrels_b32" => (Field::Src0, Field::Vdst),
        "v_movreld_b32" => (Field::Vdst, Field::Src0),
        _ => return None,
    };
    let unit = |field| match inst.operand_in(field) {
        Some(Operand::Reg(range)) if range.first.is_vgpr() => Some(range.first.index() as u16),
        _ => None,
    };
    Some((unit(from)?, unit(other)))
}

/// The bits of a register that a load brings, where the hardware leaves the others alone.
fn filled(inst: &Inst, by_half: bool) -> u32 {
    match memory_rule(inst) {
        Rule::Memory { keeps_half: Some(kept), .. } if by_half => !kept,
        _ => !0,
    }
}

fn memory_rule(inst: &Inst) -> Rule {
    let info = inst.info();
    let base = info.base;
    if base.starts_with("ds_") && (base.contains("permute") || base.contains("swizzle")) {
        return Rule::Any;
    }
    let keeps_half = match () {
        () if info.mode.clears_halves() => None,
        () if base.contains("_d16_hi") && !base.contains("store") => Some(0xffff),
        () if base.contains("_d16") && !base.contains("store") => Some(0xffff_0000),
        () => None,
    };
    // What a store writes may be undefined as long as it stays in LDS or scratch, which `memory` sees.
    let atomic = if base.starts_with("ds_") { is_ds_atomic(base) } else { info.flags.contains(Flags::ATOMIC) };
    Rule::Memory { data_matters: atomic, keeps_half }
}

/// By name: the tables do not say of all of them (ds_wrxchg2, ds_storexchg_2addr) that they are.
fn is_ds_atomic(base: &str) -> bool {
    !["ds_read", "ds_write_", "ds_write2", "ds_load", "ds_store_", "ds_append", "ds_consume", "ds_nop"]
        .iter()
        .any(|other| base.starts_with(other))
}

/// The operation, and whether its second source and its result are inverted.
fn logic_of(name: &str) -> Option<(Logic, bool, bool)> {
    Some(match name {
        "and" => (Logic::And, false, false),
        "nand" => (Logic::And, false, true),
        "or" => (Logic::Or, false, false),
        "nor" => (Logic::Or, false, true),
        "xor" => (Logic::Xor, false, false),
        "xnor" => (Logic::Xor, false, true),
        "andn2" | "and_not1" => (Logic::And, true, false),
        "orn2" | "or_not1" => (Logic::Or, true, false),
        _ => return None,
    })
}

/// Rules of what moves bits to places that the instruction says, or that its constants do.
fn fixed(base: &str, constant: &dyn Fn(usize) -> Option<u32>) -> Option<Rule> {
    if let Some(placed) = Placed::of(base) {
        let all = placed.places().iter().all(|&n| constant(n).is_some());
        return Some(if all { placed.rule(|n| constant(n).unwrap_or(0)) } else { Rule::Placed(placed) });
    }
    match base {
        "s_sext_i32_i8" => Some(Rule::Field { from: 0, width: 8, signed: true, bits: 32 }),
        "s_sext_i32_i16" => Some(Rule::Field { from: 0, width: 16, signed: true, bits: 32 }),
        "s_pack_ll_b32_b16" => Some(Rule::Bytes(0x0100_0504)),
        "s_pack_lh_b32_b16" => Some(Rule::Bytes(0x0302_0504)),
        "s_pack_hh_b32_b16" => Some(Rule::Bytes(0x0302_0706)),
        "s_pack_hl_b32_b16" => Some(Rule::Bytes(0x0100_0706)),
        "s_lshl1_add_u32" => Some(Rule::Sum { by: 1, other: 1 }),
        "s_lshl2_add_u32" => Some(Rule::Sum { by: 2, other: 1 }),
        "s_lshl3_add_u32" => Some(Rule::Sum { by: 3, other: 1 }),
        "s_lshl4_add_u32" => Some(Rule::Sum { by: 4, other: 1 }),
        "v_cvt_pk_u8_f32" => Some(Rule::Byte(constant(1)? & 3)),
        _ => None,
    }
}

/// Truth tables that give back a source.
const FIRST: u8 = 0xf0;
const SECOND: u8 = 0xcc;
const THIRD: u8 = 0xaa;

pub(super) fn rule(inst: &Inst, base: &str, sources: &[Source], results: &[Place], mask: Option<u8>) -> Rule {
    let info = inst.info();
    let field = |f| inst.field(f).unwrap_or(0);
    // SDWA's selections are no matter of rules as long as they bring zeros; saturation depends on all bits.
    let signs = field(Field::Src0Sext) | field(Field::Src1Sext) != 0 || field(Field::DstUnused) == 1;
    let plain = !(info.flags.contains(Flags::SDWA) && signs);
    let constant = |n: usize| match sources.get(n)?.place {
        Place::Constant(c) => Some(c),
        _ => None,
    };
    // What a floating-point constant is in 16 or 64 bits is not known here.
    let wide_or_narrow = base.ends_with("16") || base.ends_with("64");
    let floats = wide_or_narrow && inst.operands().any(|(_, value)| matches!(value, Operand::Inline(240..)));
    if let Some(rule) = fixed(base, &constant).filter(|_| plain && !floats) {
        return rule;
    }
    if info.flags.intersects(Flags::MFMA | Flags::WMMA) {
        return Rule::Decides("a matrix operation");
    }
    if info.flags.contains(Flags::SMEM) {
        return Rule::Decides("a scalar memory access");
    }
    if info.format == Format::Tensor {
        return Rule::Decides("what the tensor data mover moves");
    }
    if info.flags.contains(Flags::VALU) {
        if base.starts_with("v_cmpx") && results.is_empty() {
            return Rule::Decides("which lanes are active");
        }
        if base.starts_with("v_cmp") {
            return Rule::Compare;
        }
        if base.starts_with("v_cndmask") {
            return Rule::VectorSelect(mask.unwrap_or(crate::registers::scalar::VCC));
        }
        if let Some(elements) = Elements::of(inst, base).filter(|_| plain) {
            return Rule::Elements(elements);
        }
        if let Some(pairs) = pairs(inst, base, sources) {
            return Rule::Pairs(pairs);
        }
        if let Some(from) = words(inst, base, sources) {
            return Rule::Words { moves: base == "v_pk_mov_b32", from };
        }
        if let Some(within) = Within::of(inst.info().op()) {
            return Rule::Within(within);
        }
        return match base {
            "v_permlane16_b32" | "v_permlanex16_b32" => {
                let select = inst.field(Field::OpSel).unwrap_or(0);
                Rule::Permlane {
                    crosses: base == "v_permlanex16_b32",
                    fetches: select & 1 != 0,
                    bound_zero: select & 2 != 0,
                }
            }
            "v_permlane64_b32" => Rule::Permlane64,
            // Which registers they reach, M0 says.
            "v_movrels_b32" | "v_movreld_b32" | "v_movrelsd_b32" | "v_movrelsd_2_b32" => Rule::Defines,
            "v_readlane_b32" => Rule::ReadLane,
            "v_readfirstlane_b32" => Rule::ReadFirstLane,
            "v_writelane_b32" => Rule::WriteLane,
            "v_mov_b32"
            | "v_mov_b64"
            | "v_mov_b16"
            | "v_not_b16"
            | "v_not_b32"
            | "v_accvgpr_read_b32"
            | "v_accvgpr_write_b32"
            | "v_accvgpr_mov_b32"
                if plain && sources.len() == 1 =>
            {
                Rule::Move
            }
            "v_bfrev_b32" if plain => Rule::Reverse,
            "v_and_b32" | "v_and_b16" if plain && !floats => {
                Rule::Logic { op: Logic::And, invert: false, negate: false }
            }
            "v_or_b32" | "v_or_b16" if plain && !floats => Rule::Logic { op: Logic::Or, invert: false, negate: false },
            "v_xor_b32" | "v_xnor_b32" | "v_xor_b16" if plain && !floats => {
                Rule::Logic { op: Logic::Xor, invert: false, negate: base == "v_xnor_b32" }
            }
            "v_bfi_b32" => Rule::Table(FIRST & SECOND | !FIRST & THIRD),
            "v_and_or_b32" => Rule::Table(FIRST & SECOND | THIRD),
            "v_or3_b32" => Rule::Table(FIRST | SECOND | THIRD),
            "v_xor3_b32" => Rule::Table(FIRST ^ SECOND ^ THIRD),
            "v_bitop3_b32" | "v_bitop3_b16" => inst.truth_table().map_or(Rule::Any, |table| Rule::Table(table as u8)),
            // Its third source is zero.
            "v_bitop2_b32" => {
                let even = field(Field::Vsrc2Y) as u8 & !THIRD;
                Rule::Table(even | even << 1)
            }
            "v_swap_b32" if results.len() == 2 => Rule::Swap,
            "v_permlane16_swap_b32" | "v_permlane32_swap_b32" if results.len() == 2 => {
                let select = field(Field::OpSel);
                Rule::SwapGroups {
                    by: if base == "v_permlane16_swap_b32" { 16 } else { 32 },
                    fetches: select & 1 != 0,
                    bound_zero: select & 2 != 0,
                }
            }
            "v_swap_b16" => Rule::AnyOfAll,
            "v_swaprel_b32" => Rule::Defines,
            _ if base.starts_with("v_div_fmas") || base.starts_with("v_div_scale") => Rule::Carry(mask),
            _ if base.contains("_co_") && !plain => Rule::Carry(mask),
            _ if !plain || field(Field::Clamp) != 0 => Rule::Any,
            _ if base.contains("_co_") => Rule::Up(mask),
            "v_mad_u64_u32" | "v_mad_i64_i32" | "v_add_u32" | "v_sub_u32" | "v_subrev_u32" | "v_add3_u32"
            | "v_mul_lo_u32" | "v_mul_u32_u24" | "v_mad_u32_u24" | "v_mul_i32_i24" | "v_mad_i32_i24" | "v_add_i32"
            | "v_sub_i32" | "v_xad_u32" | "v_add_u16" | "v_sub_u16" | "v_subrev_u16" | "v_add_i16" | "v_sub_i16"
            | "v_mul_lo_u16" | "v_mad_u16" | "v_mad_i16" | "v_mad_u32_u16" => Rule::Up(None),
            _ => Rule::Any,
        };
    }
    let stem = base.strip_prefix("s_").unwrap_or(base);
    let width = stem.strip_suffix("_b64").or_else(|| stem.strip_suffix("_b32"));
    if let Some(name) = width.and_then(|stem| stem.strip_suffix("_saveexec").or_else(|| stem.strip_suffix("_wrexec"))) {
        let (op, invert_source, invert_exec) = match name {
            "andn1" | "and_not0" => (Logic::And, true, false),
            "orn1" | "or_not0" => (Logic::Or, true, false),
            name => match logic_of(name) {
                Some((op, invert, _)) => (op, false, invert),
                None => return Rule::Any,
            },
        };
        return Rule::SaveExec { op, invert_source, invert_exec };
    }
    if let Some((op, invert, negate)) = width.and_then(logic_of).filter(|_| !floats) {
        return Rule::Logic { op, invert, negate };
    }
    match base {
        "s_mov_b32" | "s_mov_b64" | "s_not_b32" | "s_not_b64" => Rule::Move,
        "s_cselect_b32" | "s_cselect_b64" => Rule::ScalarSelect,
        "s_cmov_b32" | "s_cmov_b64" | "s_cmovk_i32" => Rule::ScalarKeep,
        "s_setpc_b64" | "s_swappc_b64" => Rule::Decides("a jump"),
        "s_setreg_b32" => Rule::Decides("a hardware register"),
        "s_cmp_eq_u32" | "s_cmp_eq_i32" | "s_cmp_lg_u32" | "s_cmp_lg_i32" | "s_cmp_eq_u64" | "s_cmp_lg_u64" => {
            Rule::Equal
        }
        "s_cbranch_vccz" | "s_cbranch_vccnz" | "s_cbranch_scc0" | "s_cbranch_scc1" => Rule::Decides("a branch"),
        "s_add_u32" | "s_add_i32" | "s_addc_u32" | "s_sub_u32" | "s_sub_i32" | "s_subb_u32" | "s_mul_i32" => {
            Rule::Up(None)
        }
        _ if info.operands.is_empty() => Rule::Defines,
        _ => Rule::Any,
    }
}
