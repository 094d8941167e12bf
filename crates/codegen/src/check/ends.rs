//! Where a wave begins, what it carries gets its initial values and all else is as the hardware set it up. Where it ends,
//! each slot that is added to memory is so once, by one lane.

use luthier_isa::{Field, Inst, Op, Operand, Reg, RegRange, VgprMsb};

use super::base::scratch_base;
use super::entry::Layout;
use super::mode::ModeBits;
use super::state::{Both, Mask, State};
use super::step;
use super::value::{AddressPart, Value};
use super::{Checker, Question, Violation, Wrong, carried};
use crate::RelocTarget;
use crate::layout::chunk::Place;
use crate::plan::{Arg, End, EntryValue, Init};
use crate::splice::slots::{Ending, SlotHome};
use crate::splice::{Env, HookId};
use crate::template::prepared::Prepared;

/// All that is wrong with what a kernel's waves begin with. `finds` is code in front of it that finds the wave's scratch.
pub fn prologue(question: &Question, finds: Option<&[Inst]>) -> Vec<Violation> {
    let (env, address) = (question.env, question.site.address);
    let mut checker = Checker::new(question);
    let start = checker.own_scratch();
    let generation = env.machine.mode.target().generation();
    let kernel =
        env.kernels.iter().find(|k| [Some(k.entry), k.entry.checked_add(PRELOAD_ENTRY)].contains(&Some(address)));
    let Some(kernel) = kernel else { return vec![Violation { address, kind: Wrong::NoKernel { address } }] };
    let asked = entry_values(env);
    let before = Layout::of(&kernel.descriptor, generation);
    let after = before.with(asked.iter().copied());
    // What does not move is held to its own value where it is live, as everywhere.
    for (here, there) in before.in_other(&after).into_iter().filter(|(here, there)| here != there) {
        checker.promised.set(here, Value::Own(there));
    }
    for (reg, value) in after.loaded(&before) {
        checker.promised.set(reg, value);
    }
    if let Some(masked) = after.masked(&before) {
        checker.promised.set(Reg::vgpr(0), masked);
    }
    if let Some(own) = env.scratch.filter(|own| own.floating.is_some())
        && own.base() < kernel.descriptor.private_segment_fixed_size().saturating_add(16)
    {
        checker.wrong(Wrong::ScratchBase { kernel: kernel.name.clone() });
    }
    if let Some(floating) = floating_scratch(env, &after) {
        for (reg, value, _) in floating.iter().copied() {
            checker.promised.set(reg, value);
        }
        checker.state.set_bases(floating.iter().map(|(_, value, at)| (*value, *at)));
    }
    // Where waves start as they did, nothing but the application reads what they start with.
    let entry: Vec<RegRange> = if asked.is_empty() { Vec::new() } else { vec![after.registers()] };
    for (index, home) in env.carried.slots.used() {
        let Some(slot) = env.plan.slots.get(index) else { continue };
        // The n-th unit.
        let value = |n: u16| match slot.init {
            Init::Zero => Value::Number(0),
            Init::Entry(value) => after.value(value, &before, n),
        };
        match home {
            SlotHome::Registers(range) => {
                for (n, reg) in range.units().enumerate() {
                    checker.promised.set_both(reg, Both::same(value(n as u16)));
                }
            }
            SlotHome::Lanes { cell, lane, count } => {
                (0..count).for_each(|n| checker.promised.set_lane(cell, lane + n, value(n.into())));
            }
            SlotHome::Scratch { offset, count } => {
                for n in 0..count {
                    let at = start + offset + 4 * u32::from(n);
                    checker.promised.set_scratch(at, Both::same(value(n.into())));
                }
            }
        }
    }
    checker.run();
    // Nothing has set it when a wave starts, whatever calls behind it may be thought to read.
    checker.state.set(Reg::SCC, Value::Own(Reg::SCC));
    let mut violations = checker.finish();
    violations.extend(finds.into_iter().flat_map(|insts| scratch_base((env, question.looked), address, insts, &entry)));
    violations
}

/// Where scratch of our own is at the end of each wave's: the registers that say so, what has to be in them, and the offsets
/// that count for it. Above the kernel's own there has to be room for all of it behind any round address.
fn floating_scratch(env: &Env, after: &Layout) -> Option<Vec<(Reg, Value, u32)>> {
    let own = env.scratch?;
    let floating = own.floating?;
    let Value::Own(of) = after.value(EntryValue::PrivateSegmentSize, after, 0) else { return None };
    let to_end = |at: u32| own.start + own.room - at;
    let all = [(floating.cells, own.start), (floating.stacks, own.start - own.stack)];
    let wanted = all.into_iter().take(if own.stack > 0 { 2 } else { 1 });
    Some(wanted.map(|(reg, at)| (reg, Value::Less { of, by: to_end(at), round: true }, at)).collect())
}

/// What the waves are to be given.
fn entry_values(env: &Env) -> Vec<EntryValue> {
    env.carried.asked.all().next().map(|begins| begins.values.clone()).unwrap_or_default()
}

/// From a kernel's entry to the one where its arguments are preloaded.
const PRELOAD_ENTRY: u64 = 256;

/// All that is wrong where a wave ends.
pub fn ending(question: &Question) -> Vec<Violation> {
    let (env, address) = (question.env, question.site.address);
    let mut violations = super::splice(question);
    let mut wrong = |kind| violations.push(Violation { address, kind });
    let placed = |n: usize| question.spans.iter().filter(|s| s.hook == HookId::Ending(n as u32)).count();
    for (slot, _) in env.carried.slots.used() {
        if env.plan.slots.get(slot).is_none_or(|slot| slot.end == End::Nothing) {
            continue;
        }
        let given = |ending: &Ending| ending.args.iter().filter(|arg| **arg == Arg::Slot(slot)).count();
        let times = env.carried.slots.endings.iter().enumerate().map(|(n, ending)| placed(n) * given(ending)).sum();
        if times != 1 {
            wrong(Wrong::Ended { slot, times });
        }
    }
    for ending in &env.carried.slots.endings {
        adds(env, &ending.prepared, &ending.args).into_iter().for_each(&mut wrong);
    }
    violations
}

/// Whether a hook adds each of its arguments, slots of the wave, to the memory that the plan says, from one lane, and does
/// nothing else that it would have to tell of.
pub fn adds(env: &Env, hook: &Prepared, args: &[Arg]) -> Vec<Wrong> {
    let upper = (env.machine.mode.target().vgprs() > 256).then_some(VgprMsb::ZERO);
    let state = State::at_start(env.machine.mode, ModeBits::at_start(false, upper), carried(env));
    let mut run = Run { env, hook, state, found: Vec::new(), added: vec![0; args.len()] };
    for at in 0..hook.insts.len() {
        run.step(at, args);
    }
    let end = run.state.mask();
    if end != Mask::Own {
        run.found.push(Wrong::Mask { what: hook.name.clone() });
    }
    for (arg, times) in run.added.iter().enumerate().filter(|(_, times)| **times != 1) {
        let slot = format!("{:?}", args[arg]);
        run.found.push(Wrong::Added { hook: hook.name.clone(), arg, slot, times: *times });
    }
    run.found
}

/// The instructions of a hook, in its own names.
struct Run<'a> {
    env: &'a Env<'a>,
    hook: &'a Prepared,
    state: State,
    found: Vec<Wrong>,
    /// By argument, how often it has been added.
    added: Vec<usize>,
}

impl Run<'_> {
    fn step(&mut self, at: usize, args: &[Arg]) {
        let inst = &self.hook.insts[at];
        if self.sum(at, inst) {
            return;
        }
        if inst.info().op() == Op::GlobalAtomicAddX2 {
            match self.addition(inst, args) {
                Some(arg) => self.added[arg] += 1,
                None => self.found.push(Wrong::NotAnAddition { inst: Box::new(*inst) }),
            }
            return;
        }
        let flags = inst.info().flags;
        let obeys = flags.contains(luthier_isa::Flags::VALU) && !flags.contains(luthier_isa::Flags::IGNORES_EXEC);
        if obeys && !is_identity(inst) && self.state.mask() != Mask::First {
            self.found.push(Wrong::Mask { what: inst.to_string() });
        }
        if let Err(wrong) = step::step(&mut self.state, inst) {
            self.found.push(wrong);
        }
    }

    /// The place that a sum of the program counter and the literals of these instructions comes to: `getpc` is the first
    /// instruction behind the one that gives it.
    fn aimed_at(&self, getpc: usize, at: usize) -> Option<Place> {
        let reloc = self.hook.relocs.iter().find(|r| r.inst == at)?;
        let RelocTarget::Symbol(symbol) = &reloc.target else { return None };
        // A literal, the last word, measures from itself.
        let bytes: usize = self.hook.insts[getpc..=at].iter().map(Inst::size).sum();
        let Place::Variable { index, offset } = *self.env.symbols.get(symbol)? else { return None };
        Some(Place::Variable { index, offset: offset + reloc.addend - (bytes as i64 - 4) })
    }

    /// Whether it is an instruction of a sum on the program counter.
    fn sum(&mut self, at: usize, inst: &Inst) -> bool {
        let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        let same = |to: &RegRange, from: &RegRange| to == from && to.count == 1;
        match (inst.info().op(), operands.as_slice()) {
            (Op::SGetpcB64, [Operand::Reg(to)]) => {
                self.state.set(to.first, Value::Pc { at: at as u16, high: false });
                self.state.set(to.first.offset(1), Value::Pc { at: at as u16, high: true });
            }
            (Op::SAddU32, [Operand::Reg(to), Operand::Reg(from), Operand::Literal(_)]) if same(to, from) => {
                let Value::Pc { at: getpc, high: false } = self.state.get(to.first) else { return false };
                let Some(of) = self.aimed_at(usize::from(getpc) + 1, at) else { return false };
                self.state.set(to.first, Value::Address { of, part: AddressPart::Low });
                self.state.set(Reg::SCC, Value::Address { of, part: AddressPart::Carry });
            }
            (Op::SAddcU32, [Operand::Reg(to), Operand::Reg(from), Operand::Literal(_)]) if same(to, from) => {
                let Value::Pc { at: getpc, high: true } = self.state.get(to.first) else { return false };
                let Some(of) = self.aimed_at(usize::from(getpc) + 1, at) else { return false };
                if self.state.get(Reg::SCC) != (Value::Address { of, part: AddressPart::Carry }) {
                    return false;
                }
                self.state.set(to.first, Value::Address { of, part: AddressPart::High });
                self.state.set(Reg::SCC, Value::Unknown);
            }
            _ => return false,
        }
        true
    }

    /// The argument that an atomic adds to its variable.
    fn addition(&self, inst: &Inst, args: &[Arg]) -> Option<usize> {
        if self.state.mask() != Mask::First || inst.field(Field::Offset) != Some(0) {
            return None;
        }
        let units = |field| Some(inst.operand_in(field)?.reg()?.units().map(|u| self.state.get(u)).collect::<Vec<_>>());
        let (offset, data, base) = (self.address_offset(inst)?, units(Field::Vdata)?, units(Field::Saddr)?);
        let group = |arg: usize| {
            let input = self.hook.inputs.get(arg)?.first().copied().flatten()?;
            let first = self.hook.groups.get(input.group)?.range.first.offset(input.delta.into());
            Some((first, input.count))
        };
        let given = |arg: &usize| {
            group(*arg).is_some_and(|(first, count)| {
                let units: Vec<Value> = (0..u16::from(count)).map(|n| Value::Own(first.offset(n))).collect();
                data == units
            })
        };
        let arg = (0..args.len()).find(given)?;
        let Arg::Slot(slot) = args[arg] else { return None };
        let End::AddTo { symbol, offset: within } = &self.env.plan.slots.get(slot)?.end else { return None };
        let Place::Variable { index, offset: inside } = *self.env.symbols.get(symbol)? else { return None };
        let of = Place::Variable { index, offset: inside + *within as i64 };
        let wanted = [AddressPart::Low, AddressPart::High].map(|part| Value::Address { of, part });
        (offset == Value::Number(0) && base == wanted).then_some(arg)
    }

    fn address_offset(&self, inst: &Inst) -> Option<Value> {
        let range = inst.operand_in(Field::Vaddr).or_else(|| inst.operand_in(Field::Addr))?.reg()?;
        (range.count == 1).then(|| self.state.get(range.first))
    }
}

/// Whatever EXEC is, it changes nothing.
fn is_identity(inst: &Inst) -> bool {
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    inst.info().op() == Op::VMovB32 && matches!(operands.as_slice(), [to, from] if to == from)
}
