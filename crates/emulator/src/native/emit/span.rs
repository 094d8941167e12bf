//! Scalar loads behind one another from the same base, as those of a kernel's arguments: looked for once, all together.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::forms::{HardwareAccess, ScalarForm};
use super::super::{Phase, What};
use super::frame::{Frame, SPANS};
use super::{Assembler, TooLarge};
use crate::mem::smem::WordLoad;
use crate::registers::scalar;

/// What some loads read, seen from their base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    /// Which of the run's.
    number: usize,
    /// The first and the last byte, and one.
    pub first: i32,
    end: i32,
    /// The load is the first of them.
    pub leads: bool,
}

impl Span {
    /// Where it is kept on the stack where the host has it, or 0.
    pub fn host(self, frame: Frame) -> MemoryOperand {
        MemoryOperand::with_base_displ(Register::RSP, frame.spans + 8 * self.number as i64)
    }

    /// Finds it; RAX is the base's address, without its two lowest bits.
    pub fn find(self, asm: &mut Assembler, frame: Frame, finder: usize) -> Result<(), TooLarge> {
        asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, self.first))?;
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, self.end - self.first))?;
        asm.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
        asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, 3))?;
        let aligned = asm.jump(Code::Je_rel32_64)?;
        asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::R11D, Register::R11D))?;
        asm.land(aligned);
        asm.put(Instruction::with2(Code::Mov_rm64_r64, self.host(frame), Register::R11))
    }
}

/// Of each phase that is a load of several from one base, what they read.
pub(super) fn spans(phases: &[Phase]) -> Vec<Option<Span>> {
    let mut all: Vec<Option<Span>> = vec![None; phases.len()];
    let mut number = 0;
    for leader in 0..phases.len() {
        let Some((base, first, end)) = reach(&phases[leader]).filter(|_| all[leader].is_none()) else { continue };
        let (mut members, mut first, mut end) = (vec![leader], first, end);
        for at in leader + 1..phases.len() {
            let is_landing = phases[..leader]
                .iter()
                .any(|phase| matches!(phase.what, What::Skip(_, to) if leads_into(phases, leader, at, to)));
            if is_landing || writes(&phases[at - 1].what, base) {
                break;
            }
            if let Some((_, from, to)) = reach(&phases[at]).filter(|(other, ..)| *other == base) {
                members.push(at);
                (first, end) = (first.min(from), end.max(to));
            }
        }
        if members.len() > 1 && number < SPANS {
            for &at in &members {
                all[at] = Some(Span { number, first, end, leads: at == leader });
            }
            number += 1;
        }
    }
    all
}

/// Whether a branch to a micro-op leads past a phase to one behind it, or to what is before that.
fn leads_into(phases: &[Phase], past: usize, to: usize, target: usize) -> bool {
    phases[past].ops.start < target && target <= phases[to].ops.start
}

/// The base of a load without another offset, and the bytes that it reads from there.
fn reach(phase: &Phase) -> Option<(u8, i32, i32)> {
    let What::ScalarLoad(WordLoad { base, offset: None, imm, words, .. }) = phase.what else { return None };
    let first = i32::try_from(imm).ok().filter(|imm| imm.unsigned_abs() < 1 << 24)?;
    Some((base, first, first + 4 * i32::from(words)))
}

/// Whether a phase may write a pair of scalar registers.
fn writes(what: &What, base: u8) -> bool {
    let overlaps = |first: u8, count: u8| first <= base + 1 && base < first + count;
    match what {
        What::Lanes(graph) => graph.masks.keys().any(|&code| overlaps(code, 2)),
        What::Scalar(it) => {
            overlaps(it.dst, 2) || matches!(it.form, ScalarForm::SaveExec { .. }) && overlaps(scalar::EXEC, 2)
        }
        What::ScalarLoad(load) => overlaps(load.dst, load.words),
        What::Hardware(it) => matches!(it.access, Some(HardwareAccess::Get { to, .. }) if overlaps(to, 1)),
        What::Store(_) | What::Branch(_) | What::Skip(..) | What::Fence => false,
    }
}
