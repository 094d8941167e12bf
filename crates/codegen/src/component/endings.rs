//! What ends the slots of a wave that are added to memory: hooks of our own, which stand in front of the wave's last
//! instruction as any hook would.

use std::sync::{Arc, Mutex, PoisonError};

use luthier_isa::{EncodeError, Inst, Reg, RegRange, RegSet};

use crate::machine::Machine;
use crate::machine::operations::{LITERAL, one, pair, small};
use crate::plan::{Arg, End, Slot};
use crate::splice::seams::Seam;
use crate::splice::slots::{Ending, Slots};
use crate::template::prepared::Prepared;
use crate::{ArgPlace, RegGroup, RelocKind, RelocTarget, Template, TemplateReloc};

/// Slots that one hook ends: what it does once for all of them is little, and it is given all of them in registers.
const MOST: usize = 8;

/// Hooks that end slots of a plan, by these: the components have them in common.
#[derive(Default)]
pub struct Endings(Mutex<Vec<(Vec<usize>, Arc<Prepared>)>>);

impl Endings {
    fn of(&self, machine: &Machine, added: &[(usize, &str, u64)]) -> Result<Arc<Prepared>, EncodeError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |slots: &[usize]| slots.iter().eq(added.iter().map(|(index, ..)| index));
        if let Some((_, prepared)) = known.iter().find(|(slots, _)| same(slots)) {
            return Ok(prepared.clone());
        }
        let to: Vec<(&str, u64)> = added.iter().map(|(_, symbol, offset)| (*symbol, *offset)).collect();
        let prepared = Arc::new(Prepared::new(&template(machine, &to)?));
        known.push((added.iter().map(|(index, ..)| *index).collect(), prepared.clone()));
        Ok(prepared)
    }
}

/// The hooks that end those of the slots which have a home.
pub fn endings(machine: &Machine, plan: &[Slot], slots: &Slots, known: &Endings) -> Result<Vec<Ending>, EncodeError> {
    let added = slots.used().filter_map(|(index, _)| match &plan.get(index)?.end {
        End::AddTo { symbol, offset } => Some((index, symbol.as_str(), *offset)),
        End::Nothing => None,
    });
    let added: Vec<(usize, &str, u64)> = added.collect();
    let ending = |some: &[(usize, &str, u64)]| {
        let args = some.iter().map(|(index, ..)| Arg::Slot(*index)).collect();
        Ok(Ending { prepared: known.of(machine, some)?, args })
    };
    added.chunks(MOST).map(ending).collect()
}

/// Where the template's own registers are.
const ADDRESS: Reg = Reg::sgpr(0);
const EXEC: Reg = Reg::sgpr(2);
const FIRST: u16 = 4;
const DATA: Reg = Reg::vgpr(0);
const ZERO: Reg = Reg::vgpr(2);

/// Adds its arguments, each in an SGPR pair, to 64 bits at these places, one lane for the wave.
fn template(machine: &Machine, to: &[(&str, u64)]) -> Result<Template, EncodeError> {
    let ops = &machine.ops;
    let exec = RegRange::new(EXEC, machine.exec().count);
    let argument = |n: usize| RegRange::new(Reg::sgpr(FIRST + 2 * n as u16), 2);
    let mut code =
        Code { machine, seam: Seam::new(machine.mode, RegSet::EMPTY), insts: Vec::new(), relocs: Vec::new() };
    code.push(ops.mov_mask(EXEC, pair(Reg::EXEC_LO))?)?;
    code.push(ops.mov_mask(Reg::EXEC_LO, small(1))?)?;
    code.push(ops.vector_mov(ZERO, small(0))?)?;
    for (n, (symbol, offset)) in to.iter().enumerate() {
        let value = argument(n).first;
        code.push(ops.vector_mov(DATA, one(value))?)?;
        code.push(ops.vector_mov(DATA.offset(1), one(value.offset(1)))?)?;
        code.address(symbol, *offset as i64)?;
        code.push(global_add(machine, ZERO, DATA, ADDRESS)?)?;
    }
    code.push(ops.mov_mask(Reg::EXEC_LO, pair(EXEC))?)?;
    let arguments = || (0..to.len()).map(argument);
    let place = |range| vec![Some(ArgPlace { range, read: true, written: false, clobbered: false })];
    let group = |range: RegRange| RegGroup { range, align: range.count.min(2), limit: 256 };
    let own = [RegRange::new(ADDRESS, 2), exec, RegRange::new(DATA, 2), RegRange::new(ZERO, 1)];
    let changed = || own.iter().flat_map(|range| range.units());
    Ok(Template {
        name: "add_to_memory".to_owned(),
        lines: vec![None; code.insts.len()],
        insts: code.insts,
        relocs: code.relocs,
        args: arguments().map(place).collect(),
        groups: own.into_iter().chain(arguments()).map(group).collect(),
        clobbers: changed().chain([Reg::SCC]).collect(),
        live_in: arguments().flat_map(|range| range.units()).chain(machine.exec().units()).collect(),
        // The one lane that adds may be one that is off.
        writes_inactive_lanes: changed().filter(|reg| reg.is_vgpr()).collect(),
        data: Vec::new(),
        stack: None,
        uses_fp_mode: false,
        gives_a_lane: false,
    })
}

struct Code<'a> {
    machine: &'a Machine,
    seam: Seam<'static>,
    insts: Vec<Inst>,
    relocs: Vec<TemplateReloc>,
}

impl Code<'_> {
    fn push(&mut self, inst: Inst) -> Result<(), EncodeError> {
        self.seam.issue(&self.machine.ops, inst, &mut self.insts)
    }

    /// [`ADDRESS`] = the address of a byte of a variable.
    fn address(&mut self, symbol: &str, offset: i64) -> Result<(), EncodeError> {
        let ops = &self.machine.ops;
        let high = ADDRESS.offset(1);
        self.push(Inst::build(ops.s_getpc_b64, &[pair(ADDRESS)])?)?;
        let getpc = self.insts.len();
        for (op, half, kind) in
            [(ops.s_add_u32, ADDRESS, RelocKind::Rel32Lo), (ops.s_addc_u32, high, RelocKind::Rel32Hi)]
        {
            self.push(Inst::build(op, &[one(half), one(half), LITERAL])?)?;
            // A literal, the last word, measures from itself.
            let bytes: usize = self.insts[getpc..].iter().map(Inst::size).sum();
            let target = RelocTarget::Symbol(symbol.to_owned());
            let addend = offset + bytes as i64 - 4;
            self.relocs.push(TemplateReloc { inst: self.insts.len() - 1, target, kind, addend });
        }
        Ok(())
    }
}

/// `global_atomic_add_x2 offset, v[low:low+1], s[address:address+1]`.
fn global_add(machine: &Machine, offset: Reg, low: Reg, address: Reg) -> Result<Inst, EncodeError> {
    let info = machine.ops.global_atomic_add_x2;
    let values = [one(offset), pair(low), pair(address)];
    Inst::build(info, &values[..info.operands.len().min(3)]).or_else(|error| {
        // Where there are more operands (cache policies), they stay as they are.
        let mut inst = Inst::new(info);
        for (n, value) in values.iter().enumerate() {
            inst.set_operand(n, *value).map_err(|_| error.clone())?;
        }
        Ok(inst)
    })
}
