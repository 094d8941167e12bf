//! From an allocation to code, in this order: waits for what the hooks' arguments are loaded into; what is put away; the
//! special state that is kept; for each hook the moves of its arguments, its renamed template and the moves of its
//! results; then everything back.

use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange, RegSet, VgprMsb};

use super::allocate::{Allocation, Assigned, Home, Loan};
use super::demand::{Demand, Source};
use super::env::Env;
use super::site::Site;
use crate::layout::chunk::Place;
use crate::machine::operations::{HwReg, number, one, pair};
use crate::machine::registers::Counts;
use crate::machine::seams::Seam;
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
    /// Index into the plan's insertions.
    pub insertion: u32,
}

/// A literal to fill in: of which instruction, and with what.
#[derive(Clone, Debug)]
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
    pub restored: RegSet,
}

impl Splice {
    pub fn clear(&mut self) {
        self.insts.clear();
        self.literals.clear();
        self.spans.clear();
        self.highest = Counts::default();
        self.scratch = 0;
        self.restored = RegSet::EMPTY;
    }
}

/// Appends the code for one allocation.
pub fn emit(
    env: &Env,
    site: &Site,
    demands: &[Demand],
    allocation: &Allocation,
    renamed: &mut Renamed,
    seam: &mut Seam<'_>,
    out: &mut Splice,
) -> Result<(), EncodeError> {
    if allocation.hooks.is_empty() {
        return Ok(());
    }
    out.highest.merge(&allocation.highest);
    out.scratch = out.scratch.max(allocation.scratch);
    let mut emitter = Emitter { env, site, demands, allocation, seam, out };
    emitter.begin()?;
    for assigned in &allocation.hooks {
        emitter.hook(assigned, renamed)?;
    }
    emitter.end()
}

/// Copies registers of the application to where their value is kept.
pub fn keep(
    env: &Env,
    site: &Site,
    from: RegRange,
    to: RegRange,
    seam: &mut Seam<'_>,
    out: &mut Splice,
) -> Result<(), EncodeError> {
    let allocation = Allocation::default();
    let mut emitter = Emitter { env, site, demands: &[], allocation: &allocation, seam, out };
    let wait = site.loads.wait_for(&from.units().collect());
    emitter.all(env.machine.wait(wait)?)?;
    emitter.set_msb(site.msb, VgprMsb::ZERO)?;
    match Special::of(env.machine, from.first) {
        Some((special, unit)) => emitter.read(special, env.machine.read_special(special, unit, to)?)?,
        None => emitter.copy(to, RegRange::new(from.first, from.count))?,
    }
    emitter.set_msb(VgprMsb::ZERO, site.msb)
}

struct Emitter<'a, 'p> {
    env: &'a Env<'a>,
    site: &'a Site<'a>,
    demands: &'a [Demand<'a>],
    allocation: &'a Allocation,
    seam: &'a mut Seam<'p>,
    out: &'a mut Splice,
}

impl Emitter<'_, '_> {
    fn push(&mut self, inst: Inst) -> Result<(), EncodeError> {
        self.seam.issue(&self.env.machine.ops, inst, &mut self.out.insts)
    }
    fn all(&mut self, insts: Vec<Inst>) -> Result<(), EncodeError> {
        insts.into_iter().try_for_each(|inst| self.push(inst))
    }

    fn begin(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        if !self.site.loads.is_empty() {
            self.wait_for_loads()?;
        }
        self.set_msb(self.site.msb, VgprMsb::ZERO)?;
        if let (Some(address), Some(own)) = (self.allocation.address, self.env.scratch) {
            self.push(machine.ops.mov32(address, number(own.start))?)?;
        }
        for whole in [true, false] {
            self.under(whole, |emitter, loan| emitter.put_away(loan))?;
        }
        for (reg, vgpr, lane) in self.allocation.sgprs_in_lanes(machine.lanes()) {
            self.push(machine.ops.write_lane(vgpr, lane, one(reg))?)?;
        }
        for &(special, home) in &self.allocation.specials {
            let copy = machine.save(special, home)?;
            // The upper bits of VGPR numbers, which are others here, matter in a copy that a hook looks at only.
            let looks = |d: &Assigned| self.demands[d.demand].specials().any(|(s, _)| s == special);
            match self.allocation.hooks.iter().any(looks) {
                true => self.read(special, copy)?,
                false => self.all(copy)?,
            }
        }
        if self.allocation.default_modes {
            self.all(machine.default_fp_mode()?)?;
        }
        Ok(())
    }

    /// Waits for what the hooks look at, change or put away.
    fn wait_for_loads(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        let mut sources = RegSet::EMPTY;
        for assigned in &self.allocation.hooks {
            let demand = &self.demands[assigned.demand];
            demand.registers().for_each(|range| sources.insert_range(range));
            // Whatever is about to be loaded there would land in what the hook computes with.
            let changed = demand.prepared.changes.iter().copied();
            let states = changed.chain(demand.specials().map(|(special, _)| special));
            states.for_each(|special| sources.insert_range(special.range(machine)));
        }
        self.allocation.specials.iter().for_each(|(special, _)| sources.insert_range(special.range(machine)));
        if self.allocation.settles {
            sources.union_with(&self.site.loads.registers());
        }
        let mut wait = self.site.loads.wait_for(&sources);
        if self.allocation.settles {
            // As a called function does: for all, and not for the oldest only.
            wait.bounds().for_each(|(counter, _)| *wait.of(counter) = Some(0));
        }
        if wait.is_none() { Ok(()) } else { self.all(machine.wait(wait)?) }
    }

    fn end(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        for &(special, home) in self.allocation.specials.iter().rev().filter(|(s, _)| *s != Special::Exec) {
            let changed = |d: &Assigned| {
                let demand = &self.demands[d.demand];
                demand.prepared.changes.contains(&special) || demand.specials().any(|(s, back)| s == special && back)
            };
            if special == Special::Mode && !self.allocation.hooks.iter().any(changed) {
                self.push(machine.ops.set_hwreg(HwReg::MODE_FP, home)?)?;
            } else {
                self.all(machine.restore(special, home)?)?;
            }
            self.out.restored.insert_range(special.range(machine));
            if special == Special::Mode {
                self.after_mode()?;
            }
        }
        for (reg, vgpr, lane) in self.allocation.sgprs_in_lanes(machine.lanes()) {
            self.push(machine.ops.read_lane(reg, vgpr, lane)?)?;
        }
        let is_loaded = |loan: &Loan| matches!(loan.home, Home::Scratch(_));
        if self.env.replays && self.allocation.vgprs.iter().any(is_loaded) {
            // What is loaded may be an address of an access that is still to be replayed.
            self.seam.separate_memory(&machine.ops, &mut self.out.insts)?;
        }
        for whole in [false, true] {
            self.under(whole, |emitter, loan| emitter.take_back(loan))?;
        }
        if self.allocation.vgprs.iter().any(is_loaded) {
            self.all(machine.scratch_loaded()?)?;
        }
        if let Some(home) = self.allocation.home(Special::Exec) {
            self.all(machine.restore(Special::Exec, home)?)?;
        }
        self.set_msb(VgprMsb::ZERO, self.site.msb)
    }

    /// Does something for the loans of all lanes, under a full EXEC, or for the others.
    fn under(
        &mut self,
        whole: bool,
        mut each: impl FnMut(&mut Self, Loan) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let loans: Vec<Loan> = self.allocation.vgprs.iter().copied().filter(|l| l.whole == whole).collect();
        if loans.is_empty() {
            return Ok(());
        }
        let ops = self.env.machine.ops;
        let full = Operand::Inline(193);
        if let (true, Some(kept)) = (whole, self.allocation.exec) {
            self.push(ops.mov_mask(kept, pair(Reg::EXEC_LO))?)?;
            self.push(ops.mov_mask(Reg::EXEC_LO, full)?)?;
        }
        loans.iter().try_for_each(|loan| each(self, *loan))?;
        if let (true, Some(kept)) = (whole, self.allocation.exec) {
            self.push(ops.mov_mask(Reg::EXEC_LO, pair(kept))?)?;
        }
        Ok(())
    }

    /// Reads special state by these instructions, as the application would.
    fn read(&mut self, special: Special, insts: Vec<Inst>) -> Result<(), EncodeError> {
        let msb = self.site.msb;
        let held = special == Special::Mode && self.env.machine.mode_holds_vgpr_msb();
        if held {
            self.set_msb(VgprMsb::ZERO, msb)?;
        }
        self.all(insts)?;
        if held { self.set_msb(msb, VgprMsb::ZERO) } else { Ok(()) }
    }

    fn put_away(&mut self, loan: Loan) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        match loan.home {
            Home::Agpr(agpr) => self.move_one(agpr, loan.reg),
            Home::Scratch(offset) => {
                self.push(machine.store_scratch(loan.reg, self.allocation.address, self.slot(offset))?)
            }
        }
    }

    fn take_back(&mut self, loan: Loan) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        match loan.home {
            Home::Agpr(agpr) => self.move_one(loan.reg, agpr),
            Home::Scratch(offset) => {
                self.push(machine.load_scratch(loan.reg, self.allocation.address, self.slot(offset))?)
            }
        }
    }

    /// The offset that an access to our scratch names.
    fn slot(&self, offset: u32) -> u32 {
        let start = self.env.scratch.map_or(0, |own| own.start);
        if self.allocation.address.is_some() { offset } else { start + offset }
    }

    fn set_msb(&mut self, from: VgprMsb, to: VgprMsb) -> Result<(), EncodeError> {
        match self.env.machine.ops.set_vgpr_msb(to.bits()) {
            Some(inst) if from != to => self.push(inst?),
            _ => Ok(()),
        }
    }

    /// MODE has been written from a register. (From a number, the upper bits of VGPR numbers become that number's: none.)
    fn after_mode(&mut self) -> Result<(), EncodeError> {
        match self.env.machine.ops.set_vgpr_msb(0) {
            Some(inst) if self.env.machine.mode_holds_vgpr_msb() => self.push(inst?),
            _ => Ok(()),
        }
    }

    fn hook(&mut self, assigned: &Assigned, renamed: &mut Renamed) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        let demand = &self.demands[assigned.demand];
        let prepared = demand.prepared;
        let moved = |in_place: &bool| !*in_place;
        let place = |feed: &super::demand::Feed| assigned.groups[feed.input.group].offset(feed.input.delta.into());
        for (feed, _) in demand.feeds.iter().zip(&assigned.in_place).filter(|(f, p)| f.input.read && moved(p)) {
            let (to, count) = (place(feed), feed.input.count);
            match feed.source {
                Source::Registers { range, .. } => self.copy(RegRange::new(to, count), range)?,
                Source::Special { special, unit, .. } => match self.allocation.home(special) {
                    Some(home) => self.copy(RegRange::new(to, count), RegRange::new(home.offset(unit), count))?,
                    None => self.read(special, machine.read_special(special, unit, RegRange::new(to, count))?)?,
                },
                Source::Lanes { vgpr, lane } => {
                    for n in 0..2 {
                        self.push(machine.ops.read_lane(to.offset(n.into()), vgpr, lane + n)?)?;
                    }
                }
                Source::Number(value) => self.set_number(RegRange::new(to, count), value)?,
            }
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
        let code = renamed.code(demand.template, prepared, &assigned.groups)?;
        self.seam.lead_in(&machine.ops, &code, &mut self.out.insts)?;
        let start = self.out.insts.len();
        self.literals(demand, start);
        self.out.insts.extend_from_slice(&code.insts);
        self.out.spans.push(Span { start, end: self.out.insts.len(), insertion: demand.insertion });
        for (feed, _) in demand.feeds.iter().zip(&assigned.in_place).filter(|(f, p)| f.input.written && moved(p)) {
            let (from, count) = (place(feed), feed.input.count);
            match feed.source {
                Source::Registers { range, back: true } => self.copy(range, RegRange::new(from, count))?,
                Source::Special { special, unit, back: true, .. } => {
                    if let Some(home) = self.allocation.home(special) {
                        self.copy(RegRange::new(home.offset(unit), count), RegRange::new(from, count))?;
                    }
                }
                Source::Lanes { vgpr, lane } => {
                    for n in 0..2 {
                        self.push(machine.ops.write_lane(vgpr, lane + n, one(from.offset(n.into())))?)?;
                    }
                }
                _ => {}
            }
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

    fn set_number(&mut self, to: RegRange, value: u64) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let inline = |n: u64| matches!(number(n as u32), Operand::Inline(_)) && n as i64 == i64::from(n as u32 as i32);
        if to.first.is_sgpr() && to.count == 2 && to.first.number().is_multiple_of(2) && inline(value) {
            return self.push(ops.mov64(to.first, number(value as u32))?);
        }
        for (n, unit) in to.units().enumerate() {
            let part = number((value >> (32 * n)) as u32);
            self.push(if unit.is_sgpr() { ops.mov32(unit, part)? } else { ops.vector_mov(unit, part)? })?;
        }
        Ok(())
    }

    /// Copies registers of whatever files, unit by unit (SGPR pairs at once where they are aligned).
    fn copy(&mut self, to: RegRange, from: RegRange) -> Result<(), EncodeError> {
        let count = u16::from(to.count.min(from.count));
        let mut n = 0;
        while n < count {
            let (t, f) = (to.first.offset(n), from.first.offset(n));
            let scalar = |r: Reg| !r.is_vgpr() && !r.is_agpr();
            if scalar(t) && scalar(f) && n + 1 < count && t.index() % 2 == 0 && f.index() % 2 == 0 {
                self.push(self.env.machine.ops.mov64(t, pair(f))?)?;
                n += 1;
            } else {
                self.move_one(t, f)?;
            }
            n += 1;
        }
        Ok(())
    }

    fn move_one(&mut self, to: Reg, from: Reg) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let build = |info: Option<&'static luthier_isa::OpcodeInfo>, otherwise| {
            Inst::build(info.unwrap_or(otherwise), &[one(to), one(from)])
        };
        if to.is_agpr() && from.is_agpr() {
            return self.push(build(ops.v_accvgpr_mov_b32, ops.v_mov_b32)?);
        }
        if to.is_agpr() {
            return self.push(build(ops.v_accvgpr_write_b32, ops.v_mov_b32)?);
        }
        if from.is_agpr() {
            return self.push(build(ops.v_accvgpr_read_b32, ops.v_mov_b32)?);
        }
        if !to.is_vgpr() {
            return self.push(ops.mov32(to, one(from))?);
        }
        // Operands name the low 256 VGPRs; which 256 those are has to be said.
        let high = |r: Reg| if r.is_vgpr() { (r.number() / 256) as u8 } else { 0 };
        let msb = VgprMsb::from_bits(high(from) | high(to) << 6);
        let low = |r: Reg| if r.is_vgpr() { Reg::vgpr(r.number() % 256) } else { r };
        self.set_msb(VgprMsb::ZERO, msb)?;
        self.push(ops.vector_mov(low(to), one(low(from)))?.at(Some(msb)))?;
        self.set_msb(msb, VgprMsb::ZERO)
    }
}
