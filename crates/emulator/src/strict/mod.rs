//! Strict mode: what an adversarial device would make of a kernel.
//!
//! Before each instruction a micro-op ([`before`]) checks its registers:
//! * A register that a load in flight may still write is *pending* until a wait guarantees the load ([`waits`]).
//!   Reading or writing a pending register is a finding.
//! * Values that nothing has written are *undefined*, bit by bit ([`shadow`]). Undefinedness follows the data through
//!   moves, logic and arithmetic ([`flow`], [`spread`]), as it may (compilers copy, merge and spill undefined values
//!   freely); it is a finding where it decides something: an address, EXEC, a branch, a matrix operation, what is
//!   stored to global memory.
//! * Some pairs of instructions must be kept apart by software ([`luthier_isa::hazard`]); a pair that is not is
//!   a finding.
//!
//! Where memory is accessed, undefined bits go along into LDS and scratch and come back from there ([`memory`]), and
//! accesses of different waves to the same bytes must be ordered by a barrier, with the waits that it takes
//! ([`group`], [`cells`], [`order`]). The same in device memory, between workgroups too, is [`race`]. What moves bytes for a wave while it goes on is an actor of its own, whose work
//! lands late ([`engine`]).

mod cells;
mod checked;
mod counters;
mod dpp;
mod dual;
mod elements;
pub mod engine;
#[cfg(test)]
mod fills;
mod flow;
mod group;
mod looks;
pub mod memory;
mod order;
mod origin;
mod parts;
mod placed;
mod quick;
pub mod race;
mod runs;
mod shadow;
mod spread;
mod tails;
mod unwritten;
mod waits;
mod within;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{DerefMut, Range};
use std::rc::Rc;

pub use checked::Checked;
pub use counters::waits_for_ds;
use engine::Landings;
pub use group::{Group, SharedGroup};
pub use looks::Looks;
use luthier_isa::hazard::{Firsts, Hazards, Missing, Steps};
use luthier_isa::{Flags, Format, Inst};
use memory::Scratch;
use race::coherence::Scope;
use race::wave::Suspect;
use shadow::Shadow;
use tails::Tails;
use waits::Waits;

use crate::memory::unwritten::Unwritten;
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::report::{Extent, FindingKind, Kinds};
use crate::wave::Wave;

/// A finding before the launch adds where it was made.
#[derive(Clone, Debug)]
pub struct RawFinding {
    pub kind: FindingKind,
    pub pc: u64,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    pub message: String,
    /// The other party of a race, the first instruction of a hazard, or the read of undefined LDS.
    pub other: Option<Party>,
    pub extent: Extent,
}

/// A wave of the workgroup, and its instruction.
#[derive(Clone, Copy, Debug)]
pub struct Party {
    pub pc: u64,
    pub wave: u32,
}

/// What strict mode knows of a wave.
pub struct Strict {
    log: Log,
    looks: Looks,
    shadow: Shadow,
    waits: Waits,
    hazards: Hazards,
    scratch: Scratch,
    landings: Landings,
    tails: Tails,
    /// What it has found out about device memory.
    fresh: Unwritten,
    group: SharedGroup,
    /// The wave's number in its workgroup.
    wave: u16,
    /// The memory access of the instruction under way, as `order` numbers it.
    access: u32,
    /// How far it reaches, and whether stores of this processor say.
    scope: (Scope, bool),
    /// By their instructions' addresses.
    suspects: HashMap<u64, Suspect>,
    /// Nothing out of the ordinary so far in this run of the block, whose own instructions have settled some of what
    /// there is to check ([`within`]).
    clean: bool,
}

/// Findings so far; one of each kind at each place.
struct Log {
    findings: Vec<RawFinding>,
    /// By kind and address of the instruction, which of them.
    seen: HashMap<(FindingKind, u64), usize>,
    wanted: Kinds,
    pc: u64,
}

impl Log {
    /// An instruction that comes too early.
    fn hazard(&mut self, missing: Missing, wave: u16) {
        let Missing { rule, what, remedy, first } = missing;
        let other = Some(Party { pc: first, wave: wave.into() });
        self.report_pair(FindingKind::Hazard, None, None, format!("{rule}: {what}: {remedy}"), other);
    }

    fn report(&mut self, kind: FindingKind, lane: Option<u32>, address: Option<u64>, message: String) {
        self.report_pair(kind, lane, address, message, None);
    }

    #[cold]
    fn report_pair(
        &mut self,
        kind: FindingKind,
        lane: Option<u32>,
        address: Option<u64>,
        message: String,
        other: Option<Party>,
    ) {
        if !self.wanted.contains(kind.into()) {
            return;
        }
        let extent = Extent::one(lane, address);
        match self.seen.entry((kind, self.pc)) {
            Entry::Occupied(known) => self.findings[*known.get()].extent.merge(&extent),
            Entry::Vacant(new) => {
                new.insert(self.findings.len());
                self.findings.push(RawFinding { kind, pc: self.pc, lane, address, message, other, extent });
            }
        }
    }

    /// The finding that was reported last is one of other lanes as well.
    #[cold]
    fn report_more(&mut self, kind: FindingKind, lanes: impl Iterator<Item = (u32, Option<u64>)>) {
        if let Some(known) = self.seen.get(&(kind, self.pc)) {
            let extent = &mut self.findings[*known].extent;
            lanes.for_each(|(lane, address)| extent.merge(&Extent::one(Some(lane), address)));
        }
    }
}

impl Strict {
    /// For a wave of a workgroup whose scratch memory is at these addresses.
    pub fn new(wanted: Kinds, group: SharedGroup, wave: u16, scratch: Range<u64>) -> Strict {
        Strict {
            log: Log { findings: Vec::new(), seen: HashMap::new(), wanted, pc: 0 },
            looks: Looks::of(wanted),
            shadow: Shadow::default(),
            waits: Waits::default(),
            hazards: Hazards::default(),
            scratch: Scratch::new(scratch),
            landings: Landings::default(),
            tails: Tails::default(),
            fresh: Unwritten::default(),
            group,
            wave,
            access: 0,
            scope: (Scope::Plain, false),
            suspects: HashMap::new(),
            clean: false,
        }
    }
    /// The same, of what an earlier wave has left.
    pub fn restart(&mut self, wanted: Kinds, group: SharedGroup, wave: u16, scratch: Range<u64>) {
        self.log.findings.clear();
        self.log.seen.clear();
        (self.log.wanted, self.log.pc, self.looks) = (wanted, 0, Looks::of(wanted));
        if self.looks.contains(Looks::VALUES) {
            self.shadow.restart();
        }
        if self.looks.contains(Looks::WAITS) {
            self.waits.restart();
        }
        if self.looks.contains(Looks::HAZARDS) {
            self.hazards.restart();
        }
        self.scratch.restart(scratch);
        self.landings = Landings::default();
        self.suspects.clear();
        self.tails.clear();
        self.fresh = Unwritten::default();
        (self.group, self.wave, self.access, self.clean) = (group, wave, 0, false);
    }
    /// As for a wave of the next workgroup in this one's place, whose scratch memory is at these addresses. The first of
    /// its waves has told the group ([`Strict::begin_group_again`]).
    pub fn begin_again(&mut self, scratch: Range<u64>) {
        self.restart(self.log.wanted, Rc::clone(&self.group), self.wave, scratch);
    }
    /// The group becomes that of another workgroup of the launch.
    pub fn begin_group_again(&mut self, number: u64, cluster: u64) {
        self.group.borrow_mut().begin_again(number, cluster);
    }
    /// Whether accesses to memory are to be told.
    pub fn hears_accesses(&self) -> bool {
        self.looks.at_accesses()
    }
    /// The instruction at this address is executed.
    pub fn be_at(&mut self, pc: u64) {
        self.log.pc = pc;
    }
    /// Address of the instruction that the wave executed last, as far as it may have to do with findings.
    pub fn pc(&self) -> u64 {
        self.log.pc
    }
    /// The workgroup's waves have all come to a barrier; one of them says so.
    pub fn pass_barrier(&mut self) {
        self.group.borrow_mut().barrier();
    }
    /// The wave has signalled a barrier with a number, or left it; see [`crate::barrier::Arrival`].
    pub fn arrive(&mut self, barrier: u32, completes: bool) {
        self.group.borrow_mut().arrive(self.wave, barrier, completes);
    }
    /// What the wave has done is known to those who pass this key from now on; `old` is a key that no wave passes any more.
    pub fn signal(&mut self, key: u32, old: Option<u32>) {
        self.group.borrow_mut().signal(self.wave, key, old);
    }
    /// The wave has waited for a barrier with a number.
    pub fn pass(&mut self, barrier: u32) {
        self.group.borrow_mut().pass(self.wave, barrier);
    }
    /// The wave has waited for a round of the workgroup's barrier by its number; the others should do so at the same place.
    pub fn compare_wait(&mut self, round: u32) {
        let own = Party { pc: self.log.pc, wave: self.wave.into() };
        let first = self.group.borrow_mut().first_wait(round, own);
        if first.pc != own.pc {
            self.report_pair(
                FindingKind::BarrierPlace,
                "another wave of the workgroup waits at another barrier".into(),
                first,
            );
        }
    }
    /// A finding that another wave has a part in.
    pub fn report_pair(&mut self, kind: FindingKind, message: String, other: Party) {
        self.log.report_pair(kind, None, None, message, Some(other));
    }
    /// A finding at the instruction that is being executed.
    pub fn report(&mut self, kind: FindingKind, lane: Option<u32>, address: Option<u64>, message: String) {
        self.log.report(kind, lane, address, message);
    }
    /// The finding of this kind at the instruction that is being executed is one of other lanes as well.
    pub fn report_more(&mut self, kind: FindingKind, lanes: impl Iterator<Item = (u32, Option<u64>)>) {
        self.log.report_more(kind, lanes);
    }
    /// Findings so far; some come only when the wave has ended.
    pub fn findings(&self) -> &[RawFinding] {
        &self.log.findings
    }
    pub fn take_findings(&mut self) -> Vec<RawFinding> {
        self.report_tails();
        self.report_suspects();
        std::mem::take(&mut self.log.findings)
    }
    /// The dispatch has set this scalar.
    pub fn define_scalar(&mut self, code: u8) {
        self.shadow.define_scalar(code);
    }
    /// These lanes of v`n` are set.
    pub fn define_lanes(&mut self, n: usize, lanes: u64) {
        self.shadow.define_lanes(n, lanes);
    }
    /// What these VGPRs hold is lost, or not known yet.
    pub fn undefine_vgprs(&mut self, registers: Range<u16>) {
        registers.for_each(|n| self.shadow.undefine_lanes(n.into()));
    }
    /// A FLAT instruction is about to access memory in some lanes and LDS in others: only those counters matter.
    pub fn flat_lanes(&mut self, memory: u64, lds: u64, in_order: bool) {
        self.waits.flat_lanes(memory != 0, lds != 0, in_order);
        self.settle();
    }
    /// Tells the workgroup which accesses are done.
    fn settle(&mut self) {
        if self.waits.has_finished() {
            let mut group = self.group.borrow_mut();
            for access in self.waits.finished() {
                group.finish(access);
                self.landings.finish(access);
            }
        }
    }
}

/// Bits of `sdst` of the micro-ops here: the instruction begins its block; it is a VALU instruction; a transcendental one.
const OPENS: u8 = 1;
const VECTOR: u8 = 2;
const TRANSCENDENTAL: u8 = 4;
/// Something of its registers is to be looked at.
const FRESH: u8 = 8;

/// Sets up the micro-ops that come before the instructions of a block, each given with what it is to check.
pub fn set_up<'a>(
    checked: &mut [impl DerefMut<Target = Checked>],
    ops: impl Iterator<Item = &'a mut Op>,
    looks: Looks,
) {
    within::prune(checked, looks.contains(Looks::MEMORY));
    for checked in checked.iter_mut() {
        if !looks.contains(Looks::VALUES) {
            checked.quick = None;
        }
        if !looks.contains(Looks::PENDING) {
            checked.fresh.clear();
        }
    }
    for (number, (checked, op)) in checked.iter().zip(ops).enumerate() {
        let steps = checked.hazards.steps();
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let has_fresh =
            !checked.fresh.is_empty() || checked.quick.as_ref().is_some_and(|quick| !quick.fresh.is_empty());
        let plain = is_plain(checked, looks) && (checked.quick.is_some() || !looks.contains(Looks::VALUES));
        let concerns = if looks.contains(Looks::HAZARDS) { checked.hazards.concerns() } else { Some(0) };
        op.run = match concerns {
            Some(_) if plain && !looks.at_all() => mark as Handler,
            Some(_) if plain => light,
            Some(_) if only_waits(checked, looks) => wait,
            _ => before,
        };
        let concerns = concerns.unwrap_or(0);
        (op.src[0], op.src[1]) = (concerns as u16, (concerns >> 16) as u16);
        op.imm = std::ptr::from_ref::<Checked>(&**checked) as u64;
        op.imm2 = checked.pc;
        op.dst = steps.length.into();
        op.sdst = bit(number == 0, OPENS)
            | bit(steps.vector, VECTOR)
            | bit(steps.transcendental, TRANSCENDENTAL)
            | bit(has_fresh, FRESH);
    }
}

/// Whether an instruction waits for what is in flight, and has nothing to do with registers.
fn only_waits(checked: &Checked, looks: Looks) -> bool {
    let no_values = !looks.contains(Looks::VALUES) || checked.quick.as_ref().is_some_and(|quick| quick.all.is_empty());
    checked.wait.is_some()
        && no_values
        && checked.touched.is_empty()
        && checked.cache.is_none()
        && checked.unallocated.is_none()
}

/// Whether nothing but an instruction's registers and neighbours may matter to the findings that are wanted.
fn is_plain(checked: &Checked, looks: Looks) -> bool {
    let waits = looks.contains(Looks::WAITS) && (checked.wait.is_some() || checked.counters != 0);
    let caches = looks.contains(Looks::RACES) && checked.cache.is_some();
    !waits && !caches && checked.unallocated.is_none()
}

/// Whether strict mode has nothing to do before an instruction: it computes, branches or waits, and neither what it works
/// with nor where it is matters to the findings that are wanted.
pub fn has_nothing_to_do(inst: &Inst, checked: &Checked, looks: Looks) -> bool {
    let flags = inst.info().flags;
    let is_silent = match inst.info().format {
        Format::Sop2 | Format::Sopc => true,
        Format::Sop1 | Format::Sopk => flags.contains(Flags::SALU) && !flags.contains(Flags::BARRIER),
        Format::Sopp => flags.intersects(Flags::BRANCH | Flags::COND_BRANCH | Flags::WAIT),
        _ => checked.hazards.steps().vector,
    };
    is_silent && !looks.at_all() && is_plain(checked, looks)
}

/// What a micro-op is to check.
///
/// # Safety
/// [`set_up`] has made the op, and the block that it is in is there.
#[inline(always)]
unsafe fn checked_of(op: &Op) -> &Checked {
    // SAFETY: the block holds the probe with the `Checked` too, and neither moves nor drops it while the op can run.
    unsafe { &*(op.imm as *const Checked) }
}

/// Before an instruction with nothing to check, about which its own handler may have something to say.
fn mark(w: &mut Wave, op: &Op) -> Flow {
    if let Some(strict) = &mut w.strict {
        strict.log.pc = op.imm2;
        strict.access = 0;
    }
    Flow::Next
}

/// What must not have been done lately for an instruction to be passed over.
#[inline(always)]
fn concerns_of(op: &Op) -> Firsts {
    Firsts::from(op.src[0]) | Firsts::from(op.src[1]) << 16
}

/// Before an instruction that only waits.
fn wait(w: &mut Wave, op: &Op) -> Flow {
    let Some(strict) = &mut w.strict else { return Flow::Next };
    if !strict.hazards.is_calm(concerns_of(op)) {
        return before(w, op);
    }
    // SAFETY: `set_up` has made this op.
    let checked = unsafe { checked_of(op) };
    strict.clean |= op.sdst & OPENS != 0;
    strict.log.pc = op.imm2;
    strict.access = 0;
    strict.hazards.pass(steps_of(op));
    if checked.wait.as_ref().is_some_and(|wait| strict.waits.wait(wait)) {
        strict.settle();
    }
    if strict.waits.has_done() {
        strict.note_done();
    }
    if strict.landings.is_due() { engine::land(w) } else { Flow::Next }
}

/// How an instruction moves a wave's clocks on.
#[inline(always)]
fn steps_of(op: &Op) -> Steps {
    let (vector, transcendental) = (op.sdst & VECTOR != 0, op.sdst & TRANSCENDENTAL != 0);
    Steps { length: op.dst as u8, vector, transcendental }
}

/// Before an instruction that mostly has nothing to check.
fn light(w: &mut Wave, op: &Op) -> Flow {
    let (exec, all) = (w.exec(), w.all_lanes());
    let Some(strict) = &mut w.strict else { return Flow::Next };
    strict.clean |= op.sdst & OPENS != 0;
    if !strict.clean || !strict.hazards.is_calm(concerns_of(op)) {
        return before(w, op);
    }
    if op.sdst & FRESH != 0 {
        // SAFETY: `set_up` has made this op.
        let checked = unsafe { checked_of(op) };
        let quick = checked.quick.as_ref();
        if !strict.waits.are_free(&checked.fresh)
            || quick.is_some_and(|quick| !strict.shadow.passes(quick, true, exec, all))
        {
            return before(w, op);
        }
    }
    strict.log.pc = op.imm2;
    strict.access = 0;
    strict.hazards.pass(steps_of(op));
    Flow::Next
}

/// The micro-op before an instruction.
fn before(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: `set_up` has made this op.
    let checked = unsafe { checked_of(op) };
    let (exec, all) = (w.exec(), w.all_lanes());
    let Some(strict) = &mut w.strict else { return Flow::Next };
    strict.log.pc = op.imm2;
    strict.access = 0;
    strict.scope = (checked.scope, checked.marked);
    let cache = checked.cache.filter(|_| strict.looks.contains(Looks::RACES));
    if let Some(control) = cache {
        strict.invalidate_caches(control);
    }
    if let Some(message) = &checked.unallocated {
        strict.log.report(FindingKind::Unallocated, None, None, message.clone());
    }
    let clean = strict.clean | (op.sdst & OPENS != 0);
    let mut free = true;
    if strict.looks.contains(Looks::WAITS) {
        free = strict.waits.check(checked, clean, w.s[usize::from(scalar::M0)], &mut strict.log);
        free |= !strict.looks.contains(Looks::PENDING);
        strict.settle();
        if strict.waits.has_done() {
            strict.note_done();
        }
        if let Some(control) = cache {
            strict.write_caches_back(control);
        }
    }
    let (wave, log) = (strict.wave, &mut strict.log);
    let pc = log.pc;
    if strict.looks.contains(Looks::HAZARDS) {
        strict.hazards.check(&checked.hazards, pc, |missing| log.hazard(missing, wave));
    }
    let passes = match &checked.quick {
        _ if !strict.looks.contains(Looks::VALUES) => Some(true),
        quick => quick.as_ref().map(|quick| strict.shadow.passes(quick, clean, exec, all)),
    };
    // Of others nothing is known.
    let settles = checked.quick.as_ref().is_some_and(|quick| quick.settles());
    strict.clean = clean && free && !(settles && passes == Some(false));
    if passes != Some(true)
        && let Some(mut strict) = w.strict.take()
    {
        strict.shadow.check(w, checked, &mut strict.log);
        w.strict = Some(strict);
    }
    if w.strict.as_ref().is_some_and(|strict| strict.landings.is_due()) { engine::land(w) } else { Flow::Next }
}

/// The scalars that every wave starts with, whatever its descriptor says.
pub const ALWAYS_DEFINED: [u8; 3] = [scalar::EXEC, scalar::EXEC + 1, scalar::SCC];
