//! What one hook asks of its place: where each of its inputs comes from, and what it changes.

use luthier_isa::{Flags, Inst, Part, Reg, RegRange, RegSet};
use smallvec::{SmallVec, smallvec};

use super::env::{Env, HookId};
use super::site::Site;
use super::slots::{Cell, SlotHome};
use crate::RelocTarget;
use crate::machine::entry::Found;
use crate::machine::special::Special;
use crate::plan::{Arg, EntryValue, Init, Rejection, Slot, overwrites};
use crate::register_file::File;
use crate::template::prepared::{Input, Prepared};
use crate::template::{AddressInput, AddressShape, RangeShape};

/// Where the value of an input comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Registers of the application, or of a slot; the hook's new value goes back where `back` is set.
    Registers {
        range: RegRange,
        back: bool,
    },
    /// Special state, from this unit of it on.
    Special {
        special: Special,
        unit: u16,
        count: u8,
        back: bool,
    },
    /// A slot in lanes of a cell; its new value goes back.
    Lanes {
        cell: Cell,
        lane: u8,
        count: u8,
    },
    /// A slot of each lane in scratch, from this offset on; its new value goes back.
    Scratch {
        offset: u32,
    },
    Number(u64),
}

/// An input and its source.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    pub input: Input,
    pub source: Source,
}

/// Most hooks have few inputs.
pub type Feeds = SmallVec<[Feed; 2]>;

/// A hook at a place.
#[derive(Debug)]
pub struct Demand<'a> {
    pub id: HookId,
    /// The template's number.
    pub template: u32,
    pub prepared: &'a Prepared,
    pub feeds: Feeds,
    pub args: &'a [Arg],
}

/// Values that registers had before the instruction: which register, and where its value is kept.
pub type Olds = [(RegRange, RegRange)];

/// Where the value of some registers from before the instruction is kept.
fn kept(olds: &Olds, range: RegRange) -> Option<RegRange> {
    olds.iter().find_map(|(of, kept)| {
        let skipped = range.first.index().checked_sub(of.first.index())?;
        let inside = skipped + usize::from(range.count) <= usize::from(of.count);
        let same_part = of.part == range.part || of.part == Part::Whole;
        let found = RegRange::new(kept.first.offset(skipped as u16), range.count);
        (inside && same_part).then_some(RegRange { part: range.part, ..found })
    })
}

impl<'a> Demand<'a> {
    /// # Errors
    /// The hook cannot run at this place at all.
    pub fn of(env: &'a Env, site: &Site, inst: &Inst, id: HookId, olds: &Olds) -> Result<Demand<'a>, Rejection> {
        let Some((template, prepared, args)) = env.hook(id) else { unreachable!("only hooks have templates") };
        let (number, behind) = match id {
            HookId::Insertion(n) => (n, env.plan.insertions[n as usize].at.is_behind()),
            HookId::Ending(_) => (u32::MAX, false),
        };
        if let Some(refused) = &prepared.refused {
            return Err(refused.clone());
        }
        let hook = || prepared.name.clone();
        if site.indexed && prepared.touches_vgprs {
            return Err(Rejection::Indexed { what: format!("the hook {} uses VGPRs", prepared.name) });
        }
        if args.len() != prepared.inputs.len() {
            return Err(Rejection::ArgumentCount { hook: hook(), wanted: prepared.inputs.len(), given: args.len() });
        }
        one_new_value(prepared, args, &env.plan.slots)?;
        let mut feeds = Feeds::new();
        for (index, (arg, inputs)) in args.iter().zip(&prepared.inputs).enumerate() {
            let ask = Ask { env, site, inst, number, prepared, index, behind };
            ask.feeds(arg, inputs, olds, &mut feeds)?;
        }
        if let Some(stack) = prepared.stack {
            let own = env.scratch.ok_or_else(|| Rejection::NoStack { hook: hook(), bytes: stack.bytes })?;
            let source = match own.floating {
                Some(floating) => Source::Registers { range: RegRange::new(floating.stacks, 1), back: false },
                None => Source::Number(own.base().into()),
            };
            feeds.extend(stack.base.map(|input| Feed { input, source }));
        }
        for reloc in &prepared.relocs {
            if let Some(symbol) = missing(env, args, &reloc.target) {
                return Err(Rejection::NoSymbol { hook: hook(), symbol });
            }
        }
        let demand = Demand { id, template, prepared, feeds, args };
        let lost = |feed: &Feed| {
            let group = feed.input.group;
            feed.input.written && prepared.groups[group].whole && demand.comes_from_accumulators(env, group)
        };
        if demand.feeds.iter().any(lost) {
            let what = "changes lanes that are off of an accumulator, which goes back in all lanes".to_owned();
            return Err(Rejection::Template { hook: hook(), what });
        }
        Ok(demand)
    }

    /// Registers of the application that its inputs lie in.
    pub fn registers(&self) -> impl Iterator<Item = RegRange> + '_ {
        self.feeds.iter().filter_map(|feed| match feed.source {
            Source::Registers { range, .. } => Some(range),
            _ => None,
        })
    }

    /// It looks at lanes that have to be fetched into a VGPR first.
    pub fn fetches_lanes(&self) -> bool {
        let fetched = |feed: &Feed| matches!(feed.source, Source::Lanes { cell, .. } if cell.vgpr().is_none());
        self.feeds.iter().any(fetched)
    }

    /// Something that it is given is in scratch.
    pub fn reaches_scratch(&self) -> bool {
        self.feeds
            .iter()
            .any(|feed| matches!(feed.source, Source::Scratch { .. } | Source::Lanes { cell: Cell::Scratch(_), .. }))
    }

    /// The group is written in all lanes before the hook runs.
    pub fn fills_whole(&self, env: &Env, group: usize) -> bool {
        let fed = |feed: &Feed| feed.input.group == group && self.is_for_all_lanes(feed);
        self.feeds.iter().any(fed) || self.comes_from_accumulators(env, group)
    }

    /// The input is moved in all lanes: which of them looks at it is not known before the hook runs.
    pub fn is_for_all_lanes(&self, feed: &Feed) -> bool {
        self.prepared.gives_a_lane && self.prepared.groups[feed.input.group].file != File::Sgpr
    }

    /// The group is written in all lanes when its value is fetched from accumulators.
    pub fn comes_from_accumulators(&self, env: &Env, group: usize) -> bool {
        let from_agprs = |feed: &Feed| matches!(feed.source, Source::Registers { range, .. } if range.first.is_agpr());
        let mut fed = self.feeds.iter().filter(|feed| feed.input.group == group);
        env.machine.accumulator_moves_take_all_lanes() && fed.any(from_agprs)
    }

    /// Special state that it reads or gives a new value as an argument.
    pub fn specials(&self) -> impl Iterator<Item = (Special, bool)> + '_ {
        self.feeds.iter().filter_map(|feed| match feed.source {
            Source::Special { special, back, .. } => Some((special, back)),
            _ => None,
        })
    }
}

/// No register and no slot gets two new values: one would be lost.
fn one_new_value(prepared: &Prepared, args: &[Arg], slots: &[Slot]) -> Result<(), Rejection> {
    let hook = || prepared.name.clone();
    let mut written =
        args.iter().zip(&prepared.inputs).filter(|(_, inputs)| inputs.iter().flatten().any(|i| i.written));
    let Some((first, _)) = written.next() else { return Ok(()) };
    let mut before: SmallVec<[&Arg; 4]> = smallvec![first];
    for (arg, _) in written {
        for other in &before {
            match (arg, other) {
                (Arg::Slot(a), Arg::Slot(b)) if a == b => {
                    let slot = slots[*a].name.clone();
                    return Err(Rejection::SlotTwice { hook: hook(), slot });
                }
                (Arg::InOut(a), Arg::InOut(b)) if a.units().any(|u| b.units().any(|o| o == u)) => {
                    return Err(Rejection::TwoValues { hook: hook(), given: *a });
                }
                _ => {}
            }
        }
        before.push(arg);
    }
    Ok(())
}

/// The symbol that a relocation needs and that nothing defines.
fn missing(env: &Env, args: &[Arg], target: &RelocTarget) -> Option<String> {
    let symbol = match target {
        RelocTarget::Symbol(symbol) => symbol,
        RelocTarget::Arg(index) => match args.get(*index) {
            Some(Arg::Variable { symbol, .. }) => symbol,
            _ => return Some(format!("argument {index}")),
        },
    };
    (!env.symbols.contains_key(symbol)).then(|| symbol.clone())
}

/// One argument at one place.
struct Ask<'a> {
    env: &'a Env<'a>,
    site: &'a Site<'a>,
    inst: &'a Inst,
    /// The insertion's index.
    number: u32,
    prepared: &'a Prepared,
    index: usize,
    /// The hook runs after the instruction.
    behind: bool,
}

impl Ask<'_> {
    fn hook(&self) -> String {
        self.prepared.name.clone()
    }

    fn feeds(&self, arg: &Arg, inputs: &[Option<Input>], olds: &Olds, out: &mut Feeds) -> Result<(), Rejection> {
        let one = || inputs.first().copied().flatten();
        let mut push = |input: Option<Input>, source: Source| {
            if let Some(input) = input {
                out.push(Feed { input, source });
            }
        };
        match arg {
            Arg::Const(_) | Arg::Variable { .. } => {
                if one().is_some_and(|input| input.read) {
                    return Err(Rejection::NoValue { hook: self.hook(), index: self.index });
                }
            }
            Arg::Literal(value) => push(one(), Source::Number(*value)),
            Arg::Pc => push(one(), Source::Number(self.site.address)),
            Arg::AccessCount | Arg::AccessWidth(_) | Arg::AccessKind(_) | Arg::AccessDirection(_) => {
                push(one(), Source::Number(arg.access(self.inst)?));
            }
            Arg::PointId => push(one(), Source::Number(self.number.into())),
            Arg::HasClusters | Arg::WaveSize => {}
            Arg::SharedBytes(bytes) => {
                if let Some(input) = one() {
                    self.env.carried.asked.shared(*bytes, self.env.machine).map_err(|full| full.of(self.hook()))?;
                    push(Some(input), Source::Number((*bytes).into()));
                }
            }
            Arg::ImplicitOffset | Arg::KernelArgument { .. } => {
                if let Some(input) = one() {
                    push(Some(input), Source::Number(self.env.carried.asked.argument(arg)?));
                }
            }
            Arg::Entry(value) => {
                if let Some(input) = one() {
                    push(Some(input), self.entry(*value, input)?);
                }
            }
            Arg::Slot(index) => {
                let Some(input) = one() else { return Ok(()) };
                push(Some(input), self.slot(*index, input)?);
            }
            Arg::Reg(range) => push(one(), self.register(*range, one(), false)?),
            Arg::InOut(range) => push(one(), self.register(*range, one(), true)?),
            Arg::Old(range) => {
                self.register(*range, one(), false)?;
                push(one(), self.kept(*range, olds)?);
            }
            Arg::Source(range) => push(one(), self.found(*range, one(), olds)?),
            Arg::Address(which) => {
                let (_, values) = AddressShape::of(self.inst, *which)?;
                self.computed(inputs, values, olds, &mut push)?;
            }
            Arg::InRange => {
                // Where nothing bounds the access the template has no inputs for this.
                let values = RangeShape::of(self.inst)?.map(|(_, values)| values);
                self.computed(inputs, values.unwrap_or_default(), olds, &mut push)?;
            }
        }
        Ok(())
    }

    /// The inputs of what is computed from the instruction's operands.
    fn computed(
        &self,
        inputs: &[Option<Input>],
        values: Vec<AddressInput>,
        olds: &Olds,
        push: &mut impl FnMut(Option<Input>, Source),
    ) -> Result<(), Rejection> {
        for (input, value) in inputs.iter().zip(values) {
            let source = match value {
                AddressInput::Number(n) => Source::Number(n as u64),
                AddressInput::Reg(range) => self.found(range, *input, olds)?,
            };
            push(*input, source);
        }
        Ok(())
    }

    /// Registers as the instruction finds them: behind it, where it has changed them, their kept values.
    fn found(&self, range: RegRange, input: Option<Input>, olds: &Olds) -> Result<Source, Rejection> {
        let source = self.register(range, input, false)?;
        if self.behind && overwrites(self.inst, range) { self.kept(range, olds) } else { Ok(source) }
    }

    /// What registers held before the instruction.
    fn kept(&self, range: RegRange, olds: &Olds) -> Result<Source, Rejection> {
        if self.inst.info().flags.contains(Flags::CALL) {
            return Err(Rejection::OldOverCall { inst: self.inst.to_string(), range });
        }
        let range = kept(olds, range).ok_or_else(|| {
            let vector = range.first.is_vgpr() || range.first.is_agpr();
            let file = if vector { File::Vgpr } else { File::Sgpr };
            Rejection::OldValue { inst: self.inst.to_string(), range, file }
        })?;
        Ok(Source::Registers { range, back: false })
    }

    /// What the wave started with: where the hardware keeps it, or in a slot.
    fn entry(&self, value: EntryValue, input: Input) -> Result<Source, Rejection> {
        let env = self.env;
        if let Some(refused) = env.carried.asked.refused(value) {
            return Err(refused.clone());
        }
        if value.stays(env.machine.mode.target().generation()) {
            let found = env.carried.asked.all().next().and_then(|begins| begins.find(value));
            let Some(Found::Registers(range)) = found else { return Err(Rejection::SlotWithoutKernel) };
            return Ok(Source::Registers { range, back: false });
        }
        let slots = &env.plan.slots;
        let slot = slots.iter().position(|slot| slot.init == Init::Entry(value));
        let source = self.slot(slot.unwrap_or(slots.len()), input)?;
        Ok(match source {
            Source::Registers { range, .. } => Source::Registers { range, back: false },
            other => other,
        })
    }

    fn slot(&self, index: usize, input: Input) -> Result<Source, Rejection> {
        let slots = &self.env.plan.slots;
        let slot = slots.get(index).ok_or(Rejection::NoSuchSlot { index, count: slots.len() })?;
        if input.count != slot.units {
            let (slot, units) = (slot.name.clone(), slot.units);
            let (hook, index, wanted) = (self.hook(), self.index, input.count);
            return Err(Rejection::SlotUnits { hook, index, wanted, slot, units });
        }
        let Some(home) = self.env.carried.slots.home(index) else {
            let refused = self.env.carried.slots.refused.clone();
            return Err(refused.unwrap_or(Rejection::NoSuchSlot { index, count: slots.len() }));
        };
        let scalar = matches!(home, SlotHome::Registers(range) if range.first.is_sgpr());
        if self.site.indexed && !scalar {
            return Err(Rejection::Indexed { what: format!("{} is not in SGPRs", slot.name) });
        }
        Ok(match home {
            SlotHome::Registers(range) => Source::Registers { range, back: true },
            SlotHome::Lanes { cell, lane, count } => Source::Lanes { cell, lane, count },
            SlotHome::Scratch { offset, .. } => Source::Scratch { offset },
        })
    }

    fn register(&self, range: RegRange, input: Option<Input>, back: bool) -> Result<Source, Rejection> {
        let (env, index) = (self.env, self.index);
        if let Some(input) = input.filter(|input| input.count != range.count) {
            return Err(Rejection::RegisterCount { hook: self.hook(), index, wanted: input.count, given: range });
        }
        let processor = env.machine.processor();
        // A hook may be what sets it.
        if let Some(reg) = range.units().find(|unit| !back && env.registers.unset.contains(*unit)) {
            return Err(Rejection::NotSet { reg, processor });
        }
        let specials: Vec<_> = range.units().map(|u| Special::of(env.machine, u)).collect();
        if let Some(Some((special, unit))) = specials.first()
            && specials.iter().all(|s| s.is_some_and(|(s, _)| s == *special))
        {
            return Ok(Source::Special { special: *special, unit: *unit, count: range.count, back });
        }
        let scalar = range.units().all(|u| u.index() < 125);
        let vector = range.units().all(Reg::is_vgpr) || range.units().all(Reg::is_agpr);
        if !scalar && !vector {
            return Err(Rejection::NotReadable { hook: self.hook(), index, given: range, processor });
        }
        if back && range.units().any(|u| File::of(u).is_none()) {
            return Err(Rejection::NotWritable { hook: self.hook(), given: range, processor });
        }
        if let Some(refused) = not_allocated(env, self.site.address, range) {
            return Err(refused);
        }
        Ok(Source::Registers { range, back })
    }
}

/// Why registers cannot be read at an address, if a wave there does not have them.
pub fn not_allocated(env: &Env, address: u64, range: RegRange) -> Option<Rejection> {
    let allocated = env.allocated_at(address);
    let count = match range.first {
        reg if reg.is_sgpr() => allocated.sgprs,
        reg if reg.is_vgpr() => allocated.vgprs,
        reg if reg.is_agpr() => allocated.agprs,
        _ => return None,
    };
    let reg = range.units().find(|u| u.number() >= count)?;
    Some(Rejection::NotAllocated { reg, allocated: count })
}

/// One of them gives the application another EXEC.
pub fn moves_lanes(demands: &[Demand]) -> bool {
    demands.iter().flat_map(Demand::specials).any(|(special, back)| special == Special::Exec && back)
}

/// Registers that the arguments of these hooks lie in.
pub fn registers(demands: &[Demand]) -> RegSet {
    let mut all = RegSet::EMPTY;
    demands.iter().flat_map(Demand::registers).for_each(|range| all.insert_range(range));
    all
}
