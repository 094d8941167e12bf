//! A hook among the inserted instructions: it is the template, it finds what the plan promises it, and leaves what the
//! template's own account says.

use luthier_isa::msb::{self, MsbChange};
use luthier_isa::{Field, Flags, Inst, Op, Reg, RegRange, RegSet, VgprMsb};
use luthier_loader::{ArgMetadata, Kernel};

use super::Checker;
use super::entry;
use super::lanes;
use super::renaming::Renaming;
use super::state::{Both, Held, Mask, is_vector};
use super::value::Value;
use super::wrong::Wrong;
use crate::plan::{Arg, Init, Where};
use crate::splice::HookId;
use crate::splice::emit::Span;
use crate::splice::slots::{Cell, SlotHome};
use crate::template::prepared::{Input, Prepared};
use crate::template::{AddressInput, AddressShape, RangeShape};
use crate::{RelocTarget, layout::chunk::Place};

/// What the hook's new value is for.
#[derive(Clone, Copy)]
enum Back {
    Nothing,
    Unit(Reg),
    Lane(Cell, u8),
    /// In each lane's scratch.
    Scratch(u32),
}

/// One unit of an input: what it is to hold.
struct Wanted {
    value: Value,
    back: Back,
}

impl Wanted {
    fn number(value: u64, unit: usize) -> Wanted {
        let part = value.checked_shr(32 * unit as u32).unwrap_or(0) as u32;
        Wanted { value: Value::Number(part), back: Back::Nothing }
    }
}

impl Checker<'_> {
    /// `number` counts the hooks of the place.
    pub(super) fn hook(&mut self, number: usize, span: &Span, code: &[Inst]) {
        let q = self.q;
        let Some((_, prepared, args)) = q.env.hook(span.hook) else {
            return self.wrong(Wrong::NoArgument { hook: format!("{:?}", span.hook), arg: 0 });
        };
        let renaming = match Renaming::between(prepared, code) {
            Ok(renaming) => renaming,
            Err(wrong) => return self.wrong(wrong),
        };
        if self.state.mask() != Mask::Own {
            self.wrong(Wrong::Mask { what: prepared.name.clone() });
        }
        if prepared.needs_fp_mode && !self.state.bits.has_default_fp() {
            self.wrong(Wrong::FpMode { hook: prepared.name.clone() });
        }
        if self.has_upper_bits() && prepared.touches_vgprs && self.state.bits.msb() != Some(VgprMsb::ZERO) {
            self.wrong(Wrong::UpperBits { what: prepared.name.clone() });
        }
        let mut results = self.arguments(number, span, prepared, args, &renaming);
        // What no instruction of the hook writes is what it was.
        let mut written = RegSet::EMPTY;
        code.iter().for_each(|inst| {
            inst.for_each_access(|a| {
                if a.access.writes() {
                    written.insert(a.reg);
                }
            });
        });
        results.retain(|(at, ..)| written.contains(*at));
        self.literals(span, prepared, args);
        for (inst, beyond) in code.iter().zip(lanes::beyond(code)) {
            self.touch(inst);
            self.effects(inst, beyond);
        }
        for (at, back, result) in results {
            match is_vector(at) {
                true => self.state.set_vector(at, Held::same(result)),
                false => self.state.set(at, result),
            }
            match back {
                Back::Unit(reg) => self.promised.set(reg, result),
                Back::Lane(cell, lane) => self.promised.set_lane(cell, lane, result),
                Back::Scratch(offset) => {
                    let both = Both { active: result, ..self.promised.of_scratch(offset) };
                    self.promised.set_scratch(offset, both);
                }
                Back::Nothing => {}
            }
        }
    }

    /// Each input holds what it is to hold. Gives the results: where they are left, and what they are for.
    fn arguments(
        &mut self,
        hook: usize,
        span: &Span,
        prepared: &Prepared,
        args: &[Arg],
        renaming: &Renaming,
    ) -> Vec<(Reg, Back, Value)> {
        let mut results = Vec::new();
        for (arg, inputs) in prepared.inputs.iter().enumerate() {
            for (part, input) in inputs.iter().enumerate() {
                let Some(input) = input else { continue };
                let wanted = args.get(arg).and_then(|a| self.wanted(a, part, input, span));
                let Some(wanted) = wanted else {
                    if input.read || input.written {
                        self.wrong(Wrong::NoArgument { hook: prepared.name.clone(), arg });
                    }
                    continue;
                };
                for (unit, wanted) in wanted.into_iter().enumerate() {
                    let Some(at) = renaming.placed(input.group, u16::from(input.delta) + unit as u16) else {
                        continue;
                    };
                    let holds = self.state.get(at);
                    if input.read && !self.is_as_wanted(holds, wanted.value) {
                        let (hook, wanted) = (prepared.name.clone(), wanted.value);
                        self.wrong(Wrong::Argument { hook, arg, unit, reg: at, holds, wanted });
                    }
                    // The lane that the hook is given may be any that is off. What a hook before it has left is in lanes
                    // that were on; the others have what was there before that one.
                    let is_of_lanes_on = matches!(wanted.value, Value::Before(_) | Value::Result { .. });
                    if input.read && prepared.gives_a_lane && is_vector(at) && !is_of_lanes_on {
                        let holds = self.state.both(at).inactive;
                        if !self.is_as_wanted(holds, wanted.value) {
                            let (hook, wanted) = (prepared.name.clone(), wanted.value);
                            self.wrong(Wrong::Argument { hook, arg, unit, reg: at, holds, wanted });
                        }
                    }
                    if input.written && !matches!(wanted.back, Back::Nothing) {
                        let result = Value::Result { hook: hook as u16, arg: arg as u16, unit: unit as u8 };
                        results.push((at, wanted.back, result));
                    }
                }
            }
        }
        self.stack(prepared, renaming);
        results
    }

    /// A hook with a stack is told where it begins, and all of it is scratch that the kernel is given.
    fn stack(&mut self, prepared: &Prepared, renaming: &Renaming) {
        let Some(stack) = prepared.stack else { return };
        let own = self.q.env.scratch;
        let base = own.map_or(u32::MAX, |own| own.start - own.stack);
        let hook = || prepared.name.clone();
        let given = own.filter(|_| self.q.scratch > 0).map_or(0, |own| own.stack);
        if stack.bytes > given {
            self.wrong(Wrong::Stack { hook: hook(), bytes: stack.bytes, given });
        }
        let Some(input) = stack.base.filter(|input| input.read) else { return };
        let Some(at) = renaming.placed(input.group, input.delta.into()) else { return };
        let floating = own.and_then(|own| own.floating);
        let wanted = floating.map_or(Value::Number(base), |floating| self.promised.of(floating.stacks));
        let holds = self.state.get(at);
        if holds != wanted {
            self.wrong(Wrong::Argument { hook: hook(), arg: input.arg, unit: 0, reg: at, holds, wanted });
        }
    }

    /// What the units of an input are to hold; `None` if the argument has nothing for it.
    fn wanted(&self, arg: &Arg, part: usize, input: &Input, span: &Span) -> Option<Vec<Wanted>> {
        let q = self.q;
        let count = usize::from(input.count);
        let number = |value: u64| Some((0..count).map(|unit| Wanted::number(value, unit)).collect());
        let registers = |range: RegRange, back: bool| {
            let unit =
                |reg| Wanted { value: self.promised.of(reg), back: if back { Back::Unit(reg) } else { Back::Nothing } };
            (range.count == input.count).then(|| range.units().map(unit).collect())
        };
        match arg {
            Arg::Const(_) | Arg::Variable { .. } => None,
            Arg::Literal(value) => number(*value),
            Arg::Pc => number(q.site.address),
            Arg::PointId => match span.hook {
                HookId::Insertion(n) => number(n.into()),
                HookId::Ending(_) => None,
            },
            Arg::AccessCount | Arg::AccessWidth(_) | Arg::AccessKind(_) | Arg::AccessDirection(_) => {
                number(arg.access(q.inst).ok()?)
            }
            Arg::HasClusters | Arg::WaveSize => None,
            // The kernels are given as many.
            Arg::SharedBytes(bytes) => number((q.env.carried.asked.shared_bytes() >= *bytes).then(|| (*bytes).into())?),
            Arg::ImplicitOffset | Arg::KernelArgument { .. } => number(self.argument(arg)?),
            Arg::Entry(value) => match entry::kept(*value, q.env.machine.mode.target().generation()) {
                Some(reg) => registers(RegRange::new(reg, 1), false),
                None => {
                    let slot = q.env.plan.slots.iter().position(|slot| slot.init == Init::Entry(*value))?;
                    self.wanted(&Arg::Slot(slot), part, input, span)
                }
            },
            Arg::Slot(index) => match q.env.carried.slots.home(*index)? {
                SlotHome::Registers(range) => registers(range, true),
                SlotHome::Lanes { cell, lane: first, count: units } => {
                    let start = self.own_scratch();
                    let lanes = (first..first + units).map(|lane| Wanted {
                        value: self.promised.of_lane(cell, lane, start),
                        back: Back::Lane(cell, lane),
                    });
                    (count == usize::from(units)).then(|| lanes.collect())
                }
                SlotHome::Scratch { offset, count: units } => {
                    let first = self.own_scratch() + offset;
                    let cells = (0..u32::from(units)).map(|n| first + 4 * n);
                    let each = |at| Wanted { value: self.promised.of_scratch(at).active, back: Back::Scratch(at) };
                    (count == usize::from(units)).then(|| cells.map(each).collect())
                }
            },
            Arg::Reg(range) => registers(*range, false),
            Arg::InOut(range) => registers(*range, true),
            Arg::Old(range) => self.kept_before(*range, count),
            Arg::Source(range) => self.as_found(*range, span, count),
            Arg::Address(which) => self.input(AddressShape::of(q.inst, *which).ok()?.1.get(part)?, span, count),
            Arg::InRange => self.input(RangeShape::of(q.inst).ok()??.1.get(part)?, span, count),
        }
    }

    /// Where all kernels have one of their arguments.
    fn argument(&self, arg: &Arg) -> Option<u64> {
        let env = self.q.env;
        let of = |kernel: &&Kernel| {
            let args = &kernel.metadata()?.args;
            match arg {
                // Which one it is if the metadata have no names, only DWARF tells.
                Arg::KernelArgument { .. } if args.iter().all(|a| a.name.is_none()) => {
                    env.carried.asked.argument(arg).ok()
                }
                Arg::KernelArgument { name, size } => {
                    let is = |a: &&ArgMetadata| a.name.as_ref() == Some(name) && a.size == Some((*size).into());
                    args.iter().find(is)?.offset
                }
                _ => args.iter().find_map(|a| {
                    let hidden = luthier_loader::entry::Hidden::of(a.value_kind.as_deref()?)?;
                    Some(a.offset? - u64::from(hidden.place(env.version)?.0))
                }),
            }
        };
        let all: Option<Vec<u64>> = env.kernels.iter().map(of).collect();
        let all = all?;
        all.iter().all(|offset| Some(offset) == all.first()).then(|| all.first().copied())?
    }

    /// What the instruction's address, or the like, is computed from.
    fn input(&self, input: &AddressInput, span: &Span, count: usize) -> Option<Vec<Wanted>> {
        match input {
            AddressInput::Number(n) => Some((0..count).map(|unit| Wanted::number(*n as u64, unit)).collect()),
            AddressInput::Reg(range) => self.as_found(*range, span, count),
        }
    }

    /// What the instruction found in registers. Behind it that is what they hold, unless it has written them: then only
    /// a copy from before it will do.
    fn as_found(&self, range: RegRange, span: &Span, count: usize) -> Option<Vec<Wanted>> {
        let q = self.q;
        let HookId::Insertion(insertion) = span.hook else { return None };
        let at = q.env.plan.insertions[insertion as usize].at;
        let mut written = false;
        q.inst.for_each_access(|a| written |= a.access.writes() && range.units().any(|unit| unit == a.reg));
        let gone = q.inst.info().flags.contains(Flags::CALL);
        if (written || gone) && matches!(at, Where::After | Where::Edge { .. }) {
            return if gone { None } else { self.kept_before(range, count) };
        }
        let unit = |reg| Wanted { value: self.promised.of(reg), back: Back::Nothing };
        (usize::from(range.count) == count).then(|| range.units().map(unit).collect())
    }

    /// What registers held before the instruction.
    fn kept_before(&self, range: RegRange, count: usize) -> Option<Vec<Wanted>> {
        let is_kept = |wanted: Reg| self.q.olds.iter().any(|(of, _)| of.units().any(|unit| unit == wanted));
        let unit = |reg| Wanted { value: Value::Before(reg), back: Back::Nothing };
        let all = usize::from(range.count) == count && range.units().all(is_kept);
        all.then(|| range.units().map(unit).collect())
    }

    fn is_as_wanted(&self, holds: Value, wanted: Value) -> bool {
        match (holds, wanted) {
            (Value::Mode(bits), Value::Own(Reg::MODE)) => bits.is_own_copy(),
            (Value::Unknown, _) => false,
            // Any copy of it will do.
            (Value::Own(reg), Value::Before(wanted)) => {
                let mut copies = self.q.olds.iter().flat_map(|(of, kept)| of.units().zip(kept.units()));
                copies.any(|(of, kept)| of == wanted && kept == reg)
            }
            _ => holds == wanted,
        }
    }

    /// Relocated literals refer to what the plan binds them to.
    fn literals(&mut self, span: &Span, prepared: &Prepared, args: &[Arg]) {
        let q = self.q;
        for reloc in &prepared.relocs {
            let bound: Option<(&String, i64)> = match &reloc.target {
                RelocTarget::Symbol(symbol) => Some((symbol, 0)),
                RelocTarget::Arg(arg) => match args.get(*arg) {
                    Some(Arg::Variable { symbol, offset }) => Some((symbol, *offset)),
                    _ => None,
                },
            };
            let place: Option<Place> = bound.and_then(|(symbol, _)| q.env.symbols.get(symbol).copied());
            let at = span.start + reloc.inst;
            let mut literals = q.literals.iter().filter(|l| l.inst == at);
            let right = match (bound, place, literals.next(), literals.next()) {
                (Some((_, offset)), Some(place), Some(found), None) => {
                    found.place == place && found.addend == reloc.addend + offset && found.kind == reloc.kind
                }
                _ => false,
            };
            if !right {
                self.wrong(Wrong::Literal { hook: prepared.name.clone(), index: reloc.inst });
            }
        }
        for literal in q.literals.iter().filter(|l| (span.start..span.end).contains(&l.inst)) {
            if !prepared.relocs.iter().any(|r| span.start + r.inst == literal.inst) {
                self.wrong(Wrong::StrayLiteral { index: literal.inst });
            }
        }
    }

    /// Whatever an instruction of a hook writes may hold anything, in whatever order they run. `beyond`: in lanes that the
    /// application has off, too.
    fn effects(&mut self, inst: &Inst, beyond: bool) {
        let mut mode = false;
        inst.for_each_access(|a| {
            // The template gives EXEC back, and turns indexing off again.
            if !a.access.writes() || matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI | Reg::GPR_IDX) {
                return;
            }
            match a.reg {
                Reg::MODE => mode = true,
                reg => self.state.spoil(reg, beyond),
            }
        });
        if mode {
            self.changes_mode(inst);
        }
    }

    fn changes_mode(&mut self, inst: &Inst) {
        let msb = self.state.bits.msb();
        let bits = match inst.info().op() {
            Op::SSetVgprMsb => 0,
            Op::SSetregB32 | Op::SSetregImm32B32 => {
                let field = inst.field(Field::Simm16).unwrap_or(u32::MAX);
                (u32::MAX >> (31 - (field >> 11 & 0x1f))) << (field >> 6 & 0x1f)
            }
            _ => u32::MAX,
        };
        self.state.bits.lose(bits);
        self.state.mode_result = None;
        if !self.has_upper_bits() {
            return;
        }
        match msb::change(inst) {
            MsbChange::Sets(bits) => {
                self.state.bits.set_msb(Some(bits));
                if bits != VgprMsb::ZERO {
                    self.wrong(Wrong::UpperBits { what: inst.to_string() });
                }
            }
            MsbChange::Keeps => self.state.bits.set_msb(msb),
            MsbChange::Unknown => self.state.bits.set_msb(None),
        }
    }
}
