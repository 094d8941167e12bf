//! SGPRs that a part writes and reads again, where the application's vector instructions may have read them before.
//!
//! Some processors hold on to what vector instructions have read: after a write of such an SGPR they want a wait before the
//! next read. LLVM puts one where it has seen all three; the first may have been in front of the part, so that every SGPR
//! counts as read there.

use luthier_isa::{Field, Flags, Inst, Operand, Reg, op::Op};

use super::{
    analyse::successors,
    edit::{self, Change},
    guard,
    object::Code,
    processor::{self, HeldReads},
};

/// Sets of scalar codes.
type Scalars = u128;

const VCC: Scalars = 3 << 106;
/// The even ones.
const EVEN: Scalars = Scalars::MAX / 3;

/// What is known in front of an instruction.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct State {
    read: Scalars,
    /// Written since, by which unit.
    by_scalar: Scalars,
    by_vector: Scalars,
}

impl State {
    fn join(self, other: State) -> State {
        State {
            read: self.read | other.read,
            by_scalar: self.by_scalar | other.by_scalar,
            by_vector: self.by_vector | other.by_vector,
        }
    }
}

/// Puts the waits in. An error is a sentence about the hook.
pub fn wait(code: &mut Code) -> Result<(), String> {
    let Some(first) = code.insts.first() else { return Ok(()) };
    let mode = first.info().mode;
    let Some(held) = processor::held_reads(mode) else { return Ok(()) };
    let mut states: Vec<Option<State>> = vec![None; code.insts.len()];
    states[0] = Some(State { read: Scalars::MAX, ..State::default() });
    let mut work = vec![0];
    while let Some(index) = work.pop() {
        let Some(before) = states[index] else { continue };
        let (_, after) = step(&code.insts[index], before, held);
        for next in successors(&code.insts, &code.offsets, index).into_iter().flatten() {
            if next < states.len() {
                let joined = states[next].map_or(after, |s| s.join(after));
                if states[next] != Some(joined) {
                    states[next] = Some(joined);
                    work.push(next);
                }
            }
        }
    }
    let mut changes: Vec<Change> = code.insts.iter().map(|i| Change::none(*i)).collect();
    let mut any = false;
    for (change, state) in changes.iter_mut().zip(states) {
        let Some((Some(immediate), _)) = state.map(|s| step(&change.inst, s, held)) else { continue };
        let immediate = Operand::Imm(immediate.cast_signed().into());
        change.before.push(guard::build(mode, Op::SWaitcntDepctr, &[immediate])?);
        any = true;
    }
    if any { edit::apply(code, changes) } else { Ok(()) }
}

/// The wait that is needed in front of the instruction, and what is known behind it.
fn step(inst: &Inst, mut state: State, held: HeldReads) -> (Option<u16>, State) {
    let info = inst.info();
    if info.op() == Op::SWaitcntDepctr {
        let waits = inst.field(Field::Simm16).unwrap_or(0);
        if waits & 1 == 0 {
            state.by_scalar = 0;
        }
        if waits >> 9 & 7 == 0 {
            state.by_vector &= VCC;
        }
        if waits >> 1 & 1 == 0 {
            state.by_vector &= !VCC;
        }
        return (None, state);
    }
    if held.memory_waits && info.flags.intersects(Flags::SMEM | Flags::VMEM) {
        (state.by_scalar, state.by_vector) = (0, 0);
        return (None, state);
    }
    let vector = info.flags.contains(Flags::VALU);
    if !vector && !info.flags.contains(Flags::SALU) {
        return (None, state);
    }
    let (mut reads, mut writes): (Scalars, Scalars) = (0, 0);
    inst.for_each_access(|a| {
        let is_vcc = a.reg == Reg::VCC_LO || a.reg == Reg::VCC_HI;
        if is_vcc || !a.implicit && a.reg.index() < Reg::M0.index() {
            let bit = 1 << a.reg.index();
            reads |= if a.access.reads() { bit } else { 0 };
            writes |= if a.access.writes() { bit } else { 0 };
        }
    });
    let mut immediate = None;
    let late = reads & state.by_scalar;
    // The SALU waits by itself for what vector instructions write.
    let late_vector = if vector { reads & state.by_vector } else { 0 };
    if late | late_vector != 0 {
        let mut waits: u16 = !0;
        if late != 0 {
            waits &= !1;
            state.by_scalar = 0;
        }
        if late_vector & !VCC != 0 {
            waits &= !(7 << 9);
            state.by_vector &= VCC;
        }
        if late_vector & VCC != 0 {
            waits &= !2;
            state.by_vector &= !VCC;
        }
        immediate = Some(waits);
    }
    let risky = writes & state.read;
    *(if vector { &mut state.by_vector } else { &mut state.by_scalar }) |= risky;
    if vector && reads != 0 {
        let low = (reads | reads >> 1) & EVEN;
        state.read = if held.until_next { reads } else { state.read | low | low << 1 };
    }
    (immediate, state)
}
