//! Strict mode: what an adversarial device would make of a kernel.
//!
//! Before each instruction a micro-op ([`micro`]) checks its registers:
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
mod lds;
mod looks;
pub mod memory;
mod micro;
mod operations;
mod order;
mod origin;
mod parts;
mod placed;
mod quick;
pub mod race;
mod rules;
mod runs;
mod scratch;
mod shadow;
mod spread;
mod tails;
mod terms;
mod unwritten;
mod waits;
mod within;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

pub use checked::Checked;
pub use counters::waits_for_ds;
use engine::Landings;
pub use group::{Group, SharedGroup};
pub use looks::Looks;
use luthier_isa::hazard::{Hazards, Missing};
pub use micro::{has_nothing_to_do, set_up};
use race::coherence::Scope;
use race::wave::Suspect;
use scratch::Scratch;
use shadow::Shadow;
use tails::Tails;
use waits::Waits;

use crate::memory::unwritten::Unwritten;
use crate::registers::scalar;
use crate::report::{Extent, FindingKind, Kinds};

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

/// The scalars that every wave starts with, whatever its descriptor says.
pub const ALWAYS_DEFINED: [u8; 3] = [scalar::EXEC, scalar::EXEC + 1, scalar::SCC];
