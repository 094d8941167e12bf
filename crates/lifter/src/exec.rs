//! Where EXEC is known to be full, and where VGPR operands may be indexed: what liveness needs, block by block. More of
//! EXEC, at more cost, is in [`crate::mask`].
//!
//! Full is only what an instruction has made full (`s_mov_b64 exec, -1`): at a kernel's entry EXEC is not, since the
//! last wave of a workgroup may be partial, and nothing is known of it at a function's entry.

use luthier_isa::Inst;

use crate::class::{Classes, ExecEffect, Kind, Role};
use crate::worklist::WorkList;
use crate::{BlockId, FuncId, Program};

/// The part of the wave's state that decides what a vector register operand means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modes {
    pub exec_full: bool,
    /// VGPR indexing (`s_set_gpr_idx_on`) may be on: an operand may stand for any VGPR.
    pub indexed: bool,
}

impl Modes {
    pub const LOST: Modes = Modes { exec_full: false, indexed: false };

    fn meet(self, other: Modes) -> Modes {
        Modes { exec_full: self.exec_full && other.exec_full, indexed: self.indexed || other.indexed }
    }
    /// After an instruction.
    pub fn step(&mut self, classes: &Classes, role: Role, inst: &Inst) {
        match role.kind {
            // Compiled code never calls with indexing on, and returns with it off.
            Kind::CallDirect | Kind::Swappc => *self = Modes::LOST,
            Kind::GprIdxOn | Kind::GprIdxMode => self.indexed = true,
            Kind::GprIdxOff => self.indexed = false,
            // The bit lives in MODE too. Whatever writes that part of MODE may set it.
            Kind::Setreg if classes.mode.target().generation().is_gfx9_family() && sets_index_mode(inst) => {
                self.indexed = true;
            }
            _ => {}
        }
        match role.exec {
            ExecEffect::Full => self.exec_full = true,
            ExecEffect::None | ExecEffect::Grow => {}
            ExecEffect::Shrink | ExecEffect::Unknown => self.exec_full = false,
        }
    }
}

/// Where nothing is known, something may be after an instruction in this role.
fn tells_something(role: &Role) -> bool {
    role.exec == ExecEffect::Full || matches!(role.kind, Kind::GprIdxOn | Kind::GprIdxMode | Kind::Setreg)
}

/// MODE bit 27 enables VGPR indexing on GCN5 and CDNA (Vega ISA, "MODE register").
fn sets_index_mode(inst: &Inst) -> bool {
    const MODE: i64 = 1;
    let Some(luthier_isa::Operand::Imm(hwreg)) = inst.operand_in(luthier_isa::Field::Simm16) else { return true };
    let (id, offset, width) = (hwreg & 0x3f, hwreg >> 6 & 0x1f, (hwreg >> 11 & 0x1f) + 1);
    id == MODE && offset <= 27 && 27 < offset + width
}

/// The modes at the start of every block of a function.
pub(crate) struct BlockModes {
    first: BlockId,
    /// Empty: nothing is known anywhere in the function.
    at_start: Vec<Modes>,
}

impl BlockModes {
    pub fn of(program: &Program, func: FuncId) -> BlockModes {
        let function = program.function(func);
        let blocks = function.blocks;
        let first = blocks.first;
        if !program.roles[program.function_instrs(func).indices()].iter().any(tells_something) {
            return BlockModes { first, at_start: Vec::new() };
        }
        let mut states: Vec<Option<Modes>> = vec![None; blocks.len()];
        let mut work = WorkList::new(blocks.len());
        let mut start = |block: BlockId| {
            states[(block.0 - first.0) as usize] = Some(Modes::LOST);
            work.insert((block.0 - first.0) as usize);
        };
        if !blocks.is_empty() {
            start(function.entry);
        }
        for &vaddr in function.entered_inside.iter().chain(&function.second_entry) {
            if let Some(block) = program.instr_at(vaddr).map(|i| program.block_of(i)) {
                start(block);
            }
        }
        while let Some(index) = work.pop_first() {
            let Some(mut modes) = states[index] else { continue };
            let block = first.offset(index as u32);
            let instrs = program.block(block).instrs;
            instrs.iter().for_each(|i| modes.step(program.classes, program.role(i), program.inst(i)));
            for &succ in program.succs(block) {
                let state = &mut states[(succ.0 - first.0) as usize];
                let met = state.map_or(modes, |old| old.meet(modes));
                if *state != Some(met) {
                    *state = Some(met);
                    work.insert((succ.0 - first.0) as usize);
                }
            }
        }
        // What nothing is seen to reach may still be jumped to.
        BlockModes { first, at_start: states.into_iter().map(|s| s.unwrap_or(Modes::LOST)).collect() }
    }
    /// Nothing is known at any point.
    pub fn are_lost(&self) -> bool {
        self.at_start.is_empty()
    }
    pub fn at_start(&self, block: BlockId) -> Modes {
        self.at_start.get((block.0 - self.first.0) as usize).copied().unwrap_or(Modes::LOST)
    }
}
