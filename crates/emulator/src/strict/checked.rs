//! What the checks need to know of an instruction, worked out when its block is translated.

use luthier_isa::op::Op as IsaOp;
use luthier_isa::{Access, Field, Flags, Generation, Inst, Operand, Reg};

use super::counters::{counters, most, order, room, wait};
use super::dpp::Dpp;
use super::dual::halves;
use super::operations::{Counters, Loaded, Most, Wait};
use super::parts::{accumulates, only_word, source, stored, written};
use super::quick::Quick;
use super::race::coherence::{self, CacheControl, Scope};
use super::rules::{filled, memory_rule, rule};
use super::terms::{Place, Rule, Source};
use crate::lower::Limits;
use luthier_isa::hazard::Facts;

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
    /// Scalars of a lane mask.
    pub mask_words: u8,
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

fn names_scc(sources: &[Source]) -> bool {
    sources.iter().any(|source| source.place == Place::SCC)
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
            mask_words: if info.mode.wave().lanes() > 32 { 2 } else { 1 },
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
            // Dual instructions are for waves of 32 lanes.
            mask_words: 1,
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
