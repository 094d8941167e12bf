//! Where a wave begins, counters are zero and all else is as the hardware set it up. Where it ends, each counter is added
//! to its variable once, by one lane.

use luthier_isa::{Field, Inst, Op, Operand, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Live};

use super::state::Mask;
use super::value::{AddressPart, Value};
use super::{Checker, Question, Violation, Wrong};
use crate::layout::chunk::Place;
use crate::machine::registers::Counts;
use crate::plan::End;
use crate::splice::{Env, Site, SlotHome};

/// All that is wrong with what a kernel runs before anything else. `address` is the kernel's, `highest` the registers
/// that it is to be given.
pub fn preamble(env: &Env, address: u64, insts: &[Inst], highest: Counts) -> Vec<Violation> {
    let everything: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).collect();
    let live = Live { active: everything, inactive: everything };
    let (loads, nothing) = (InFlight::default(), RegSet::EMPTY);
    let site = site(address, &live, &loads, &nothing, VgprMsb::ZERO);
    let nop = Inst::new(env.machine.ops.s_nop);
    let question = question(env, &site, &nop, insts, highest);
    let mut checker = Checker::new(&question);
    for home in env.slots.iter().flatten() {
        match *home {
            SlotHome::Pair(low) => {
                RegRange::new(low, 2).units().for_each(|reg| checker.promised.set(reg, Value::Number(0)));
            }
            SlotHome::Lanes(vgpr, lane) => {
                [lane, lane + 1].iter().for_each(|lane| checker.promised.set_lane(vgpr, *lane, Value::Number(0)));
            }
        }
    }
    checker.run();
    checker.finish()
}

/// What is to be proven of the code before a wave's end.
pub struct Flushed<'a> {
    pub env: &'a Env<'a>,
    /// Of the application's instruction that ends the wave, its upper bits of VGPR numbers, and what is in flight there.
    pub address: u64,
    pub msb: VgprMsb,
    pub loads: &'a InFlight,
    pub insts: &'a [Inst],
    /// Each `s_getpc_b64` of them, and the place that the sum with its next two literals comes to.
    pub places: &'a [(usize, Place)],
    pub highest: Counts,
}

/// All that is wrong there.
pub fn flush(flushed: &Flushed) -> Vec<Violation> {
    let env = flushed.env;
    let Some(first) = flushed.insts.first() else { return missing(env, flushed.address, &[]) };
    let nothing = RegSet::EMPTY;
    let site = site(flushed.address, &Live::NONE, flushed.loads, &nothing, flushed.msb);
    let question = question(env, &site, first, flushed.insts, flushed.highest);
    let mut checker = Checker::new(&question);
    let mut added = Vec::new();
    for (at, inst) in flushed.insts.iter().enumerate() {
        let place = flushed.places.iter().find(|(getpc, _)| *getpc == at).map(|(_, place)| *place);
        if checker.sum(at, inst, place, flushed.places) {
            checker.touch(inst);
        } else if inst.info().op() == Op::GlobalAtomicAddX2 {
            checker.touch(inst);
            match checker.added(inst) {
                Some(counter) => added.push(counter),
                None => checker.wrong(Wrong::NotAFlush { inst: Box::new(*inst) }),
            }
        } else {
            checker.last_step(inst);
        }
    }
    let mut violations = checker.violations;
    violations.extend(missing(env, flushed.address, &added));
    violations
}

fn site<'a>(address: u64, live: &'a Live, loads: &'a InFlight, nothing: &'a RegSet, msb: VgprMsb) -> Site<'a> {
    Site { address, live, loads, busy: nothing, kept: nothing, indexed: false, msb }
}

fn question<'a>(
    env: &'a Env<'a>,
    site: &'a Site<'a>,
    inst: &'a Inst,
    insts: &'a [Inst],
    highest: Counts,
) -> Question<'a> {
    Question { env, site, olds: &[], inst, insts, base: 0, spans: &[], made: &[], literals: &[], highest, scratch: 0 }
}

/// Counters that were not added once.
fn missing(env: &Env, address: u64, added: &[usize]) -> Vec<Violation> {
    let homes = env.slots.iter().enumerate().filter_map(|(n, home)| Some((n, (*home)?)));
    let times = homes.map(|(n, home)| (home.range().first, added.iter().filter(|a| **a == n).count()));
    let wrong = times.filter(|(_, times)| *times != 1);
    wrong.map(|(reg, times)| Violation { address, kind: Wrong::Flushed { reg, times } }).collect()
}

impl Checker<'_> {
    /// Whether it is an instruction of a sum on the program counter.
    fn sum(&mut self, at: usize, inst: &Inst, place: Option<Place>, places: &[(usize, Place)]) -> bool {
        let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        let same = |to: &RegRange, from: &RegRange| to == from && to.count == 1;
        match (inst.info().op(), operands.as_slice(), place) {
            (Op::SGetpcB64, [Operand::Reg(to)], Some(_)) => {
                self.state.set(to.first, Value::Pc { at: at as u16, high: false });
                self.state.set(to.first.offset(1), Value::Pc { at: at as u16, high: true });
            }
            (Op::SAddU32, [Operand::Reg(to), Operand::Reg(from), Operand::Literal(_)], None) if same(to, from) => {
                let Value::Pc { at: getpc, high: false } = self.state.get(to.first) else { return false };
                let Some(of) = aimed_at(places, getpc) else { return false };
                self.state.set(to.first, Value::Address { of, part: AddressPart::Low });
                self.state.set(Reg::SCC, Value::Address { of, part: AddressPart::Carry });
            }
            (Op::SAddcU32, [Operand::Reg(to), Operand::Reg(from), Operand::Literal(_)], None) if same(to, from) => {
                let Value::Pc { at: getpc, high: true } = self.state.get(to.first) else { return false };
                let Some(of) = aimed_at(places, getpc) else { return false };
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

    /// The counter that an atomic adds to its variable.
    fn added(&self, inst: &Inst) -> Option<usize> {
        let env = self.q.env;
        if self.state.mask() != Mask::First || inst.field(Field::Offset) != Some(0) {
            return None;
        }
        let units = |field| Some(inst.operand_in(field)?.reg()?.units().map(|u| self.state.get(u)).collect::<Vec<_>>());
        let (offset, data, base) = (self.address_offset(inst)?, units(Field::Vdata)?, units(Field::Saddr)?);
        let home = |n: usize| env.slot(n);
        let counter = (0..env.slots.len()).find(|n| match home(*n) {
            Some(SlotHome::Pair(low)) => data == [Value::Own(low), Value::Own(low.offset(1))],
            Some(SlotHome::Lanes(vgpr, lane)) => data == [Value::Lane(vgpr, lane), Value::Lane(vgpr, lane + 1)],
            None => false,
        })?;
        let End::AddTo { symbol, offset: within } = &env.plan.slots[counter].end else { return None };
        let Place::Variable { index, offset: inside } = *env.symbols.get(symbol)? else { return None };
        let of = Place::Variable { index, offset: inside + *within as i64 };
        let wanted = [AddressPart::Low, AddressPart::High].map(|part| Value::Address { of, part });
        (offset == Value::Number(0) && base == wanted).then_some(counter)
    }

    fn address_offset(&self, inst: &Inst) -> Option<Value> {
        let range = inst.operand_in(Field::Vaddr).or_else(|| inst.operand_in(Field::Addr))?.reg()?;
        (range.count == 1).then(|| self.state.get(range.first))
    }

    /// As [`Checker::step`], but vector instructions are to run in one lane.
    fn last_step(&mut self, inst: &Inst) {
        use luthier_isa::Flags;
        if self.flight.wait(inst) {
            return;
        }
        self.touch(inst);
        let flags = inst.info().flags;
        let obeys_exec = flags.contains(Flags::VALU) && !flags.contains(Flags::IGNORES_EXEC) && !is_identity(inst);
        if obeys_exec && self.state.mask() != Mask::First {
            self.wrong(Wrong::Mask { what: inst.to_string() });
        }
        if let Err(wrong) = super::step::step(&mut self.state, inst) {
            self.wrong(wrong);
        }
    }
}

/// Whatever EXEC is, it changes nothing.
fn is_identity(inst: &Inst) -> bool {
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    inst.info().op() == Op::VMovB32 && matches!(operands.as_slice(), [to, from] if to == from)
}

fn aimed_at(places: &[(usize, Place)], getpc: u16) -> Option<Place> {
    places.iter().find(|(at, _)| *at == usize::from(getpc)).map(|(_, place)| *place)
}
