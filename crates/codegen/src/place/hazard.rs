//! Wait states that an insertion needs at its borders on gfx90a.
//!
//! The hardware does not interlock a few pairs of instructions; whoever writes code keeps them apart. Inside the
//! application and inside a template its compiler has done so, and inserting code only drives the application's own
//! instructions further apart. What is left are pairs across a border, and of those only the ones that share a
//! register or a mode. Numbers from LLVM's GCNHazardRecognizer and the CDNA2 ISA manual, section 4.5.

use luthier_isa::{Flags, Inst, Operand, Reg, RegSet};

use super::prepared::Traits;

/// A VALU instruction writes an SGPR that a memory instruction reads, or that selects a lane (4 there), or VALU
/// writes EXEC and a DPP operation follows.
pub const VALU_SCALAR: u32 = 5;
/// VALU writes a VGPR that a DPP or matrix instruction reads; `s_setreg` and another access to the same register.
const SHORT: u32 = 2;
/// The longest a matrix instruction of this target keeps its registers busy (a 16-pass double or 32x32 operation).
pub const MATRIX: u32 = 18;
/// How far back the application's instructions matter, matrix instructions aside.
pub const WINDOW: usize = VALU_SCALAR as usize;

/// Wait states before the hook. `in_place` are the application's registers that the template reads where they are;
/// `previous` the instructions before it in the block, the nearest last, at most [`WINDOW`] of them.
pub fn leading(t: &Traits, in_place: &RegSet, previous: &[Inst]) -> u32 {
    let reads_scalars = (t.vmem || t.lane_select) && in_place.iter().any(|r| !r.is_vgpr() && !r.is_agpr());
    let mode = t.writes_mode || t.reads_mode;
    if !reads_scalars && !t.dpp && !mode {
        return 0;
    }
    let mut need = 0;
    for (distance, inst) in previous.iter().rev().enumerate() {
        let mut pair = |states: u32| need = need.max(states.saturating_sub(distance as u32));
        if mode && inst.info().base.starts_with("s_setreg") {
            pair(SHORT);
        }
        if !inst.info().flags.contains(Flags::VALU) {
            continue;
        }
        inst.for_each_access(|a| {
            if !a.access.writes() {
                return;
            }
            let vector = a.reg.is_vgpr() || a.reg.is_agpr();
            match a.reg {
                r if vector && t.dpp && in_place.contains(r) => pair(SHORT),
                r if !vector && reads_scalars && in_place.contains(r) => pair(VALU_SCALAR),
                Reg::EXEC_LO | Reg::EXEC_HI if t.dpp => pair(VALU_SCALAR),
                _ => {}
            }
        });
    }
    // What stands before the block is not looked up: the worst is assumed.
    if previous.len() < WINDOW {
        need = need.max(VALU_SCALAR - previous.len() as u32);
    }
    need
}

/// Wait states after the hook. A VCC that the hook's VALU instructions wrote keeps `v_div_fmas` waiting although a scalar
/// instruction has restored it since: LLVM's recognizer counts from the VALU write, and so do we.
pub fn trailing(t: &Traits, written_back: &RegSet, vcc_restored: bool, m0_restored: bool) -> u32 {
    let scalar_back = written_back.iter().any(|r| !r.is_vgpr() && !r.is_agpr());
    let vector_back = written_back.iter().any(|r| r.is_vgpr() || r.is_agpr());
    [
        (t.ends_in_wide_store, 1),
        (m0_restored, 1),
        (vector_back, SHORT),
        (t.valu_writes_exec, VALU_SCALAR),
        (t.valu_writes_scalar && (scalar_back || vcc_restored), VALU_SCALAR),
    ]
    .iter()
    .filter_map(|(applies, states)| applies.then_some(*states))
    .max()
    .unwrap_or(0)
}

/// Registers that must not be written, or read without [`MATRIX`] wait states, just behind these instructions (the
/// nearest last): operands of matrix instructions still at work, and data of a wide store that has just begun.
pub fn busy(previous: &[Inst], into: &mut RegSet) {
    for inst in previous.iter().rev().take(MATRIX as usize).filter(|i| i.info().flags.contains(Flags::MFMA)) {
        inst.operands().for_each(|(_, value)| {
            if let Operand::Reg(range) = value {
                into.insert_range(range);
            }
        });
    }
    if let Some(last) = previous.last() {
        super::prepared::stored(last, into);
    }
}
