//! What a wave does before anything else: it finds its scratch where only code can, and what it carries gets its initial
//! values. The application's registers stay as the hardware has set them up.

use luthier_isa::wait::{Counter, Wait, counted};
use luthier_isa::{EncodeError, Field, Inst, Operand, Reg, RegRange, RegSet};

use super::allocation::{Allocation, Loan};
use super::emit::{Emitter, Splice};
use super::env::Env;
use super::pool::{Pool, Want};
use super::seams::Seam;
use super::site::Site;
use super::slots::{Cell, SlotHome};
use crate::machine::entry::{Begins, Found, Loads};
use crate::machine::operations::{one, pair, small};
use crate::machine::scratch::ScratchInputs;
use crate::machine::special::Special;
use crate::plan::{EntryValue, Init};
use crate::register_file::File;

/// What a slot holds first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    Zero,
    /// What the hardware has put into these registers.
    Registers(RegRange),
    /// The work-item's ids, out of this VGPR and the next two.
    Packed(Reg),
}

/// A slot's home and its initial value.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    pub home: SlotHome,
    pub value: Initial,
}

/// All that a wave begins with.
#[derive(Debug, Default)]
pub struct Prologue {
    /// What is put back to where the code expects it: registers, in this order, and the bits of v0 that it expects.
    moves: Vec<(RegRange, RegRange)>,
    mask: Option<u32>,
    /// Arguments that are loaded then.
    loads: Option<Loads>,
    /// What the wave's scratch is found by, and the pair that its address is made in.
    base: Option<(ScratchInputs, Reg)>,
    /// What says how much scratch the wave has, where ours is at its end.
    size: Option<Reg>,
    pub sets: Vec<Set>,
    allocation: Allocation,
}

/// The initial values of all that a component's waves carry, in a kernel that begins so.
fn sets(env: &Env, begins: Option<&Begins>) -> Result<Vec<Set>, &'static str> {
    let set = |(index, home): (usize, SlotHome)| {
        let value = match env.plan.slots[index].init {
            Init::Zero => Initial::Zero,
            Init::Entry(value) => match begins.and_then(|begins| begins.find(value)) {
                Some(Found::Registers(range)) => Initial::Registers(range),
                Some(Found::Apart(first)) => Initial::Packed(first),
                None => return Err("what they start with"),
            },
        };
        Ok(Set { home, value })
    };
    env.carried.slots.used().map(set).collect()
}

impl Set {
    /// Some of it is done under a full EXEC.
    fn is_vector(&self) -> bool {
        match self.home {
            SlotHome::Registers(range) => !range.first.is_sgpr(),
            SlotHome::Lanes { cell, .. } => cell.vgpr().is_none(),
            SlotHome::Scratch { .. } => true,
        }
    }

    /// It is made in a VGPR of its own first.
    fn needs_vgpr(&self) -> bool {
        match self.home {
            SlotHome::Registers(range) => range.first.is_agpr() && matches!(self.value, Initial::Packed(_)),
            SlotHome::Lanes { cell, .. } => cell.vgpr().is_none(),
            SlotHome::Scratch { .. } => !matches!(self.value, Initial::Registers(_)),
        }
    }
}

/// A VGPR of the application's that nothing of the prologue looks at or sets.
fn lent(env: &Env, without: &RegSet) -> Option<Reg> {
    let is_apart = |reg: &Reg| !without.contains(*reg) && !env.carried.reserved.contains(*reg);
    (0..env.registers.allocated.vgprs.min(256)).rev().map(Reg::vgpr).find(is_apart)
}

impl Prologue {
    /// Decides where its own values are. `inputs`: what the wave's scratch is found by, where it has to be found.
    ///
    /// # Errors
    /// What no register is free for.
    pub fn of(env: &Env, site: &Site, inputs: Option<ScratchInputs>) -> Result<Prologue, &'static str> {
        let begins = env.begins(site.address);
        let sets = sets(env, begins)?;
        let mut without = begins.map(Begins::registers).unwrap_or_default();
        let (moves, mask) = begins.map(|begins| (begins.moves(), begins.mask())).unwrap_or_default();
        let loads = begins.and_then(Begins::loads);
        if let Some(inputs) = inputs {
            [RegRange::new(inputs.base, 2), RegRange::new(inputs.offset, 1)]
                .into_iter()
                .for_each(|range| without.insert_range(range));
        }
        for set in &sets {
            match set.value {
                Initial::Zero => {}
                Initial::Registers(range) => without.insert_range(range),
                Initial::Packed(first) => without.insert_range(RegRange::new(first, 3)),
            }
        }
        let mut pool = site.pool(env, &without, false);
        let mut out = Allocation::default();
        let mut take = |pool: &mut Pool, want: Want, what: &'static str| {
            let range = pool.take(want).ok_or(what)?;
            out.highest.note(range);
            Ok::<Reg, &'static str>(range.first)
        };
        let base = match inputs {
            None => None,
            Some(inputs) if env.machine.scratch_base_is_hwreg() => {
                Some((inputs, take(&mut pool, Want::of(File::Sgpr, 2), "the scratch of its waves")?))
            }
            // It is made where it is wanted.
            Some(inputs) => Some((inputs, Special::FlatScratch.range(env.machine).first)),
        };
        let exec = match sets.iter().any(Set::is_vector) {
            true => Some(take(&mut pool, Want::of(File::Sgpr, env.machine.exec().count), "EXEC")?),
            false => None,
        };
        let needs_vgpr = sets.iter().any(Set::needs_vgpr);
        let own = if needs_vgpr { pool.take(Want::whole(File::Vgpr)) } else { None };
        // Where calls lead is not known: any may be read there, and what it holds now comes back.
        let lent =
            if needs_vgpr && own.is_none() { lent(env, &without).filter(|_| env.scratch.is_some()) } else { None };
        let reaches = env.carried.slots.scratch > 0 || lent.is_some();
        let floating = env.scratch.and_then(|own| own.floating);
        let address = match reaches && env.scratch.is_some_and(|own| own.by_register) {
            true if floating.is_some() => floating.map(|floating| floating.cells),
            true => Some(take(&mut pool, Want::of(File::Sgpr, 1), "the address of scratch")?),
            false => None,
        };
        let size = match floating {
            None => None,
            Some(_) => match begins.and_then(|begins| begins.find(EntryValue::PrivateSegmentSize)) {
                Some(Found::Registers(size)) => Some(size.first),
                _ => return Err("how much scratch it has"),
            },
        };
        let mut scratch = env.carried.slots.scratch;
        let mut loans = Vec::new();
        if let Some(reg) = lent {
            loans.push(Loan { reg, home: Cell::Scratch(scratch), whole: true });
            scratch += 4;
        }
        let fetched = own.map(|own| own.first).or(lent);
        if needs_vgpr && fetched.is_none() {
            return Err("what is put into scratch");
        }
        if let Some(own) = own {
            out.highest.note(own);
        }
        let allocation = Allocation { exec, address, fetched, vgprs: loans, scratch, ..out };
        Ok(Prologue { moves, mask, loads, base, size, sets, allocation })
    }

    /// Appends its code. Gives how many of its instructions find the wave's scratch.
    pub fn emit(&self, env: &Env, site: &Site, seam: &mut Seam<'_>, out: &mut Splice) -> Result<usize, EncodeError> {
        out.highest.merge(&self.allocation.highest);
        out.scratch = out.scratch.max(self.allocation.scratch);
        let mut emitter = Emitter { env, site, demands: &[], allocation: &self.allocation, seam, out, holds: None };
        if let Some((inputs, sum)) = &self.base {
            emitter.all(env.machine.set_scratch_base(inputs, *sum)?)?;
        }
        let finds = emitter.out.insts.len();
        if self.sets.is_empty() && self.moves.is_empty() && self.mask.is_none() && self.size.is_none() {
            return Ok(finds);
        }
        if let (Some(size), Some(own)) = (self.size, env.scratch) {
            for (to, bytes) in own.floating.into_iter().flat_map(|floating| floating.bases(&own)) {
                env.machine.behind_own(to, size, bytes)?.into_iter().try_for_each(|inst| emitter.push(inst))?;
            }
        }
        emitter.begin()?;
        self.sets.iter().filter(|set| !set.is_vector()).try_for_each(|set| emitter.set_scalar(set))?;
        if self.sets.iter().any(Set::is_vector) {
            emitter.in_all_lanes(self.allocation.exec, |emitter| emitter.set_vectors(&self.sets))?;
        }
        for (to, from) in &self.moves {
            emitter.move_down(*to, *from)?;
        }
        if let Some(mask) = self.mask {
            let (v0, and) = (one(Reg::vgpr(0)), env.machine.ops.v_and_b32);
            emitter.push(Inst::build(and, &[v0, Operand::Literal(mask), v0])?)?;
        }
        if let Some(loads) = self.loads {
            emitter.load_arguments(loads)?;
        }
        emitter.end()?;
        Ok(finds)
    }
}

impl Emitter<'_, '_, '_> {
    /// SGPRs, and lanes of VGPRs.
    fn set_scalar(&mut self, set: &Set) -> Result<(), EncodeError> {
        match (set.home, set.value) {
            (SlotHome::Registers(to), Initial::Registers(from)) => self.copy(to, from),
            (SlotHome::Registers(to), Initial::Zero) => self.zeros(to),
            (SlotHome::Lanes { cell, lane, count }, value) => self.write_lanes(cell, lane, &values(value, count)),
            (SlotHome::Scratch { .. }, _) | (SlotHome::Registers(_), Initial::Packed(_)) => Ok(()),
        }
    }

    /// SGPRs to lower ones, the lowest first: what is overwritten has been moved before.
    fn move_down(&mut self, to: RegRange, from: RegRange) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let even = |reg: Reg| reg.number().is_multiple_of(2);
        let mut at = 0;
        while at < u16::from(to.count) {
            let (to_reg, from_reg) = (to.first.offset(at), from.first.offset(at));
            let two = at + 1 < to.count.into() && even(to_reg) && even(from_reg);
            let inst = if two { ops.mov64(to_reg, pair(from_reg))? } else { ops.mov32(to_reg, one(from_reg))? };
            self.push(inst)?;
            at += if two { 2 } else { 1 };
        }
        Ok(())
    }

    /// Arguments to where hardware would have put them, as many at a time as fit, and waits for them.
    fn load_arguments(&mut self, loads: Loads) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let sizes = [(8, 4, ops.s_load_dwordx8), (4, 4, ops.s_load_dwordx4), (2, 2, ops.s_load_dwordx2)];
        let (mut at, mut wait) = (0, Wait::NONE);
        while at < u16::from(loads.to.count) {
            let (to, left) = (loads.to.first.offset(at), u16::from(loads.to.count) - at);
            let fits = |(size, align, _): &&(u16, u16, _)| *size <= left && to.number().is_multiple_of(*align);
            let (size, info) = sizes.iter().find(fits).map_or((1, ops.s_load_dword), |(size, _, info)| (*size, *info));
            let missing = EncodeError::NoOperand { mnemonic: "s_load_dword", has: 0, index: 0 };
            let mut inst = Inst::new(info.ok_or(missing)?);
            inst.set_operand(0, Operand::Reg(RegRange::new(to, size as u8)))?;
            inst.set_operand(1, pair(loads.base))?;
            inst.set_field(Field::Offset, loads.offset + 4 * u32::from(at))?;
            let results = counted(&inst).filter(|c| c.counter != Counter::X);
            wait = results.fold(wait, |wait, counted| wait.and(counted.counter, 0));
            self.push(inst)?;
            at += size;
        }
        self.all(self.env.machine.wait(wait)?)
    }

    /// A cell = three VGPRs, ten bits each. `own` is one that may be overwritten.
    fn pack(&mut self, cell: Cell, first: Reg, own: Reg) -> Result<(), EncodeError> {
        let missing = EncodeError::NoOperand { mnemonic: "v_lshl_or_b32", has: 0, index: 0 };
        let info = self.env.machine.ops.v_lshl_or_b32.ok_or(missing)?;
        let to = cell.vgpr().unwrap_or(own);
        self.push(Inst::build(info, &[one(to), one(first.offset(1)), small(10), one(first)])?)?;
        self.push(Inst::build(info, &[one(to), one(first.offset(2)), small(20), one(to)])?)?;
        if cell.vgpr().is_some() { Ok(()) } else { self.store(cell, own) }
    }

    fn zeros(&mut self, to: RegRange) -> Result<(), EncodeError> {
        let mut rest = to;
        while rest.count > 0 {
            let count = rest.count.min(2);
            self.set_number(RegRange::new(rest.first, count), 0)?;
            rest = RegRange::new(rest.first.offset(count.into()), rest.count - count);
        }
        Ok(())
    }

    /// What each lane has one of, and lanes of cells that are no VGPRs. EXEC is full.
    fn set_vectors(&mut self, sets: &[Set]) -> Result<(), EncodeError> {
        let mut done: Vec<Cell> = Vec::new();
        let own = self.allocation.fetched.unwrap_or(Reg::vgpr(0));
        if sets.iter().any(|set| matches!(set.home, SlotHome::Scratch { .. }) && set.value == Initial::Zero) {
            self.vector_zero(own)?;
        }
        // What is put together in it comes last.
        let (packed, others): (Vec<&Set>, Vec<&Set>) =
            sets.iter().partition(|set| matches!(set.value, Initial::Packed(_)));
        for set in others.into_iter().chain(packed) {
            for (n, cell) in set.home.cells().into_iter().enumerate() {
                match (cell, set.value) {
                    (Cell::Register(to), Initial::Zero) => self.vector_zero(to)?,
                    (Cell::Scratch(_), Initial::Zero) => self.store(cell, own)?,
                    (cell, Initial::Registers(from)) => self.store(cell, from.first.offset(n as u16))?,
                    (cell, Initial::Packed(first)) => self.pack(cell, first, own)?,
                }
            }
            let SlotHome::Lanes { cell, .. } = set.home else { continue };
            if cell.vgpr().is_some() || done.contains(&cell) {
                continue;
            }
            done.push(cell);
        }
        // All that is in one cell at once.
        for cell in done {
            self.vector_zero(own)?;
            for set in sets {
                let SlotHome::Lanes { cell: other, lane, count } = set.home else { continue };
                if other == cell && set.value != Initial::Zero {
                    let insts = self.env.machine.ops.write_lanes(own, lane, &values(set.value, count))?;
                    self.all(insts)?;
                }
            }
            self.store(cell, own)?;
        }
        Ok(())
    }
}

/// The units of a value of the wave.
fn values(value: Initial, count: u8) -> Vec<Operand> {
    match value {
        Initial::Zero => vec![small(0); count.into()],
        Initial::Registers(from) => Emitter::operands(from.first, count),
        // Of each lane, and never of the wave.
        Initial::Packed(first) => Emitter::operands(first, count),
    }
}
