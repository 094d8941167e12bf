//! From an allocation to code, in this order: waits for what the hooks' arguments are loaded into; what is put away; the
//! special state that is kept; for each hook the moves of its arguments, its renamed template and the moves of its
//! results; then everything back.

use luthier_isa::{EncodeError, Inst, Reg, RegRange, VgprMsb};

use smallvec::SmallVec;

use super::allocation::{Allocation, Assigned};
use super::demand::{Demand, Feed, Feeds, Source};
use super::env::{Env, HookId};
use super::keeper::Keeper;
use super::seams::Seam;
use super::site::Site;
use super::slots::Cell;
use crate::layout::chunk::Place;
use crate::machine::registers::Counts;
use crate::machine::special::Special;
use crate::plan::Arg;
use crate::template::prepared::Reloc;
use crate::template::renamed::Renamed;
use crate::{RelocKind, RelocTarget};

/// A template as it was placed; positions are indices into [`Splice::insts`].
#[derive(Clone, Debug)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub hook: HookId,
    /// It is called: the call stands in front of it, the return behind it, as they are issued.
    pub called: bool,
}

/// A literal to fill in: in which instruction, and with what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Literal {
    pub inst: usize,
    pub place: Place,
    pub addend: i64,
    pub kind: RelocKind,
}

/// The code of one place.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    pub insts: Vec<Inst>,
    pub literals: Vec<Literal>,
    pub spans: Vec<Span>,
    pub highest: Counts,
    pub scratch: u32,
    /// Special state that was put back, which later hooks may look at even where the application does not need it.
    pub restored: SmallVec<[Special; 4]>,
}

impl Splice {
    pub fn clear(&mut self) {
        self.insts.clear();
        self.literals.clear();
        self.spans.clear();
        self.highest = Counts::default();
        self.scratch = 0;
        self.restored.clear();
    }
}

/// Appends the code for one allocation.
pub fn emit<'e>(
    env: &Env,
    site: &Site,
    demands: &[Demand<'e>],
    allocation: &Allocation,
    renamed: &mut Renamed<'e>,
    seam: &mut Seam<'_>,
    out: &mut Splice,
) -> Result<(), EncodeError> {
    if allocation.hooks.is_empty() {
        return Ok(());
    }
    out.highest.merge(&allocation.highest);
    // The kernel is given what lies in front of a cell: a stack.
    let has_stack = allocation.hooks.iter().any(|assigned| demands[assigned.demand].prepared.stack.is_some());
    out.scratch = out.scratch.max(allocation.scratch).max(if has_stack { 4 } else { 0 });
    let mut emitter = Emitter { env, site, demands, allocation, seam, out, holds: None };
    emitter.begin()?;
    for assigned in &allocation.hooks {
        emitter.hook(assigned, renamed)?;
    }
    emitter.end()
}

/// Copies registers of the application to where their value is kept: where there is a register for EXEC, in all lanes.
pub fn keep(env: &Env, site: &Site, keeper: &Keeper, seam: &mut Seam<'_>, out: &mut Splice) -> Result<(), EncodeError> {
    let (from, to, exec) = (keeper.of, keeper.kept, keeper.exec.map(|exec| exec.first));
    let allocation = Allocation::default();
    let mut emitter = Emitter { env, site, demands: &[], allocation: &allocation, seam, out, holds: None };
    let wait = site.loads.wait_for(&from.units().collect());
    emitter.all(env.machine.wait(wait)?)?;
    emitter.set_msb(site.msb, VgprMsb::ZERO)?;
    match Special::of(env.machine, from.first) {
        Some((special, unit)) => emitter.read(special, env.machine.read_special(special, unit, to)?)?,
        None => emitter.in_all_lanes(exec, |emitter| emitter.copy(to, RegRange::new(from.first, from.count)))?,
    }
    emitter.set_msb(VgprMsb::ZERO, site.msb)
}

pub(super) struct Emitter<'a, 'p, 'e> {
    pub(super) env: &'a Env<'a>,
    pub(super) site: &'a Site<'a>,
    pub(super) demands: &'a [Demand<'e>],
    pub(super) allocation: &'a Allocation,
    pub(super) seam: &'a mut Seam<'p>,
    pub(super) out: &'a mut Splice,
    /// The cell whose lanes have been fetched.
    pub(super) holds: Option<Cell>,
}

impl<'e> Emitter<'_, '_, 'e> {
    pub(super) fn push(&mut self, inst: Inst) -> Result<(), EncodeError> {
        self.seam.issue(&self.env.machine.ops, inst, &mut self.out.insts)
    }
    pub(super) fn all(&mut self, insts: impl IntoIterator<Item = Inst>) -> Result<(), EncodeError> {
        insts.into_iter().try_for_each(|inst| self.push(inst))
    }

    fn hook(&mut self, assigned: &Assigned, renamed: &mut Renamed<'e>) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        let demand = &self.demands[assigned.demand];
        let prepared = demand.prepared;
        let moved = |in_place: &bool| !*in_place;
        let place = |feed: &Feed| assigned.groups[feed.input.group].offset(feed.input.delta.into());
        let fed = demand.feeds.iter().zip(&assigned.in_place).filter(|(_, placed)| moved(placed));
        let (whole, own): (Feeds, Feeds) = fed.map(|(feed, _)| *feed).partition(|feed| demand.is_for_all_lanes(feed));
        own.iter().try_for_each(|feed| self.feed(demand, feed, place(feed)))?;
        if !whole.is_empty() {
            self.in_all_lanes(self.allocation.exec, |emitter| {
                whole.iter().try_for_each(|feed| emitter.feed(demand, feed, place(feed)))
            })?;
        }
        let mode = |d: &Assigned| self.demands[d.demand].prepared.changes.contains(&Special::Mode);
        let earlier = self.allocation.hooks.iter().take_while(|d| d.demand != assigned.demand);
        if prepared.needs_fp_mode && earlier.into_iter().any(mode) {
            // A hook before this one has left other modes.
            self.all(machine.default_fp_mode()?)?;
        }
        // A run of memory instructions that is replayed must still find its addresses: keep runs apart.
        if self.env.replays && prepared.starts_with_memory {
            self.seam.separate_memory(&machine.ops, &mut self.out.insts)?;
        }
        let code = renamed.code(&machine.ops, prepared, (&assigned.groups[..], assigned.link))?;
        self.seam.lead_in(&machine.ops, &code, &mut self.out.insts)?;
        let called = assigned.link.is_some();
        let start = self.out.insts.len() + usize::from(called);
        self.literals(demand, start);
        self.out.insts.extend_from_slice(&code.insts);
        self.out.spans.push(Span { start, end: start + prepared.insts.len(), hook: demand.id, called });
        for (feed, _) in demand.feeds.iter().zip(&assigned.in_place).filter(|(_, placed)| moved(placed)) {
            let (from, count) = (place(feed), feed.input.count);
            // What the hook leaves as it found it is where it was.
            if !feed.input.written || feed.input.read && !feed.input.clobbered {
                continue;
            }
            match feed.source {
                Source::Registers { range, back: true } => self.copy(range, RegRange::new(from, count))?,
                Source::Special { special, unit, back: true, .. } => {
                    if let Some(home) = self.allocation.home(special) {
                        self.copy(RegRange::new(home.offset(unit), count), RegRange::new(from, count))?;
                    }
                }
                Source::Lanes { cell, lane, count } => self.write_lanes(cell, lane, &Self::operands(from, count))?,
                Source::Scratch { offset } => {
                    for n in 0..count {
                        let cell = Cell::Scratch(offset + 4 * u32::from(n));
                        self.store(cell, from.offset(n.into()))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts an input where the template looks for it.
    fn feed(&mut self, demand: &Demand, feed: &Feed, to: Reg) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        let count = feed.input.count;
        // Where lanes that are off go back as well, they have to come first.
        let goes_back_whole = || feed.input.written && demand.comes_from_accumulators(self.env, feed.input.group);
        if !feed.input.read && !goes_back_whole() {
            return Ok(());
        }
        match feed.source {
            Source::Registers { range, .. } => self.copy(RegRange::new(to, count), range)?,
            Source::Special { special, unit, .. } => match self.allocation.home(special) {
                Some(home) => self.copy(RegRange::new(to, count), RegRange::new(home.offset(unit), count))?,
                None => self.read(special, machine.read_special(special, unit, RegRange::new(to, count))?)?,
            },
            Source::Lanes { cell, lane, count } => self.read_lanes(to, cell, lane, count)?,
            Source::Scratch { offset } => {
                self.load_all(to, (0..u32::from(count)).map(|n| Cell::Scratch(offset + 4 * n)))?;
            }
            Source::Number(value) => self.set_number(RegRange::new(to, count), value)?,
        }
        Ok(())
    }

    fn literals(&mut self, demand: &Demand, start: usize) {
        for Reloc { inst, target, kind, addend } in &demand.prepared.relocs {
            let (symbol, offset) = match target {
                RelocTarget::Symbol(symbol) => (symbol, 0),
                RelocTarget::Arg(index) => match demand.args.get(*index) {
                    Some(Arg::Variable { symbol, offset }) => (symbol, *offset),
                    _ => continue, // refused when the demand was made
                },
            };
            if let Some(&place) = self.env.symbols.get(symbol) {
                self.out.literals.push(Literal { inst: start + inst, place, addend: addend + offset, kind: *kind });
            }
        }
    }
}
