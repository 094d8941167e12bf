//! Calls of functions. What registers hold is kept on the stack meanwhile.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::functions::{Function, RESULTS, SOURCES};
use super::super::nodes::{Node, Value};
use super::body::Body;
use super::{EXEC, TooLarge};
use crate::registers::scalar;
use crate::wave::Wave;

/// What functions may change of what the code needs.
pub(super) const KEPT: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R10];

impl Body<'_> {
    /// Where vectors that go to a function are, and behind them its results.
    fn passed(&self, number: usize) -> i64 {
        self.plan.frame.calls + number as i64 * i64::from(self.machine.bytes())
    }

    pub(super) fn call(
        &mut self,
        at: usize,
        function: Function,
        sources: [Option<Value>; SOURCES],
    ) -> Result<(), TooLarge> {
        let stack = |at: i64| MemoryOperand::with_base_displ(Register::RSP, at);
        for (number, source) in sources.iter().enumerate() {
            let Some(source) = *source else { continue };
            self.pinned.clear();
            let (from, to) = (self.vector(source)?, stack(self.passed(number)));
            self.put(Instruction::with2(self.machine.store(), to, from))?;
        }
        let condition = sources[SOURCES - 1].filter(|_| function.is_conditional());
        let skipped = match condition {
            Some(mask) => {
                let mask = self.vector(mask)?;
                self.any(mask)?;
                Some(self.asm.jump(Code::Je_rel32_64)?)
            }
            None => None,
        };
        let kept: Vec<(Register, MemoryOperand)> = (0..self.held.len())
            .filter(|&n| self.held[n].is_some_and(|value| self.lives_on(value, &sources)))
            .map(|n| (self.machine.vector(n), stack(self.passed(SOURCES + RESULTS + n))))
            .collect();
        for &(register, place) in &kept {
            self.put(Instruction::with2(self.machine.store(), place, register))?;
        }
        let general =
            KEPT.iter().enumerate().map(|(n, &register)| (register, stack(self.plan.frame.kept + 8 * n as i64)));
        for (register, place) in general.clone() {
            self.put(Instruction::with2(Code::Mov_rm64_r64, place, register))?;
        }
        let wave = MemoryOperand::with_base_displ(Register::RBX, -Wave::RECENT_AT);
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RDI, wave))?;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RSI, stack(self.passed(0))))?;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::RDX, stack(self.passed(SOURCES))))?;
        self.put(Instruction::with2(Code::Mov_r64_imm64, Register::RAX, function.address(self.machine)))?;
        self.put(Instruction::with1(Code::Call_rm64, Register::RAX))?;
        for (register, place) in general {
            self.put(Instruction::with2(Code::Mov_r64_rm64, register, place))?;
        }
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, EXEC, self.piece(scalar::EXEC)))?;
        } else if !self.full {
            let exec = self.exec();
            self.expand(exec, scalar::EXEC)?;
        }
        for &(register, place) in &kept {
            self.put(Instruction::with2(self.machine.load(), register, place))?;
        }
        if let Some(skipped) = skipped {
            self.asm.land(skipped);
        }
        let to = self.target(at)?;
        let from = stack(self.passed(SOURCES));
        self.put(Instruction::with2(self.machine.load(), to, from))?;
        self.pinned.extend(self.homes[at].register);
        // The others as well, as the next call puts its own there.
        let is_live = |&number: &usize| self.plan.live[number];
        for number in (at..self.graph.nodes.len()).filter(is_live) {
            let Node::More(call, which) = self.graph.nodes[number] else { continue };
            if call == Value(at as u32) {
                let register = self.free()?;
                let from = stack(self.passed(SOURCES + usize::from(which)));
                self.put(Instruction::with2(self.machine.load(), self.machine.vector(register), from))?;
                self.hold(Value(number as u32), register);
                self.pinned.push(register);
            }
        }
        Ok(())
    }

    /// Whether a value is used behind the call.
    fn lives_on(&self, value: Value, sources: &[Option<Value>; SOURCES]) -> bool {
        self.uses[value.0 as usize].len() > sources.iter().filter(|&&source| source == Some(value)).count()
    }

    /// Whether a vector of lanes' answers has one that is yes: not zero, as jumps see it.
    fn any(&mut self, mask: Register) -> Result<(), TooLarge> {
        if self.machine.wide {
            self.put(Instruction::with2(Code::EVEX_Vpmovd2m_kr_zmm, Register::K1, mask))?;
            return self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, Register::K1, Register::K1));
        }
        self.put(Instruction::with2(Code::VEX_Vtestps_ymm_ymmm256, mask, mask))
    }
}
