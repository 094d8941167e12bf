//! Where a phase's values are: in vector registers, on the stack, or where they come from.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::nodes::{Node, Value};
use super::TooLarge;
use super::body::{Body, Operand};
use crate::wave::Wave;

impl Body<'_> {
    fn next_use(&self, value: Value) -> u32 {
        self.uses[value.0 as usize].last().copied().unwrap_or(u32::MAX)
    }

    /// This use of a value is done.
    pub(super) fn used(&mut self, value: Value) {
        self.uses[value.0 as usize].pop();
        self.release(value);
    }

    /// What is used no more needs no place.
    pub(super) fn release(&mut self, value: Value) {
        if self.uses[value.0 as usize].is_empty() {
            self.masks.give(value);
            let home = std::mem::take(&mut self.homes[value.0 as usize]);
            if let Some(register) = home.register {
                self.held[register] = None;
            }
            if let Some(slot) = home.slot {
                self.slots[slot] = false;
            }
        }
    }

    /// A register that holds nothing, or nothing any more.
    pub(super) fn free(&mut self) -> Result<usize, TooLarge> {
        if let Some(free) = (0..self.held.len()).find(|&n| self.held[n].is_none() && !self.pinned.contains(&n)) {
            return Ok(free);
        }
        let candidates = (0..self.held.len()).filter(|n| !self.pinned.contains(n));
        let victim = candidates.max_by_key(|&n| self.held[n].map_or(0, |value| self.next_use(value)));
        let victim = victim.ok_or(TooLarge)?;
        if let Some(value) = self.held[victim].take() {
            self.homes[value.0 as usize].register = None;
            let again = self.graph.of(value).is_source() && !self.storing;
            if !again && self.homes[value.0 as usize].slot.is_none() {
                let slot = self.slots.iter().position(|taken| !taken).ok_or(TooLarge)?;
                self.slots[slot] = true;
                self.homes[value.0 as usize].slot = Some(slot);
                let to = self.slot(slot);
                self.put(Instruction::with2(self.machine.store(), to, self.machine.vector(victim)))?;
            }
        }
        Ok(victim)
    }

    pub(super) fn hold(&mut self, value: Value, register: usize) {
        self.held[register] = Some(value);
        self.homes[value.0 as usize].register = Some(register);
    }

    /// The register that a value is in, or is put into.
    pub(super) fn register(&mut self, value: Value) -> Result<usize, TooLarge> {
        let home = self.homes[value.0 as usize];
        if let Some(register) = home.register {
            self.pinned.push(register);
            return Ok(register);
        }
        let register = self.free()?;
        self.pinned.push(register);
        let to = self.machine.vector(register);
        match (home.slot, self.graph.of(value)) {
            (Some(slot), _) => {
                let from = self.slot(slot);
                self.put(Instruction::with2(self.machine.load(), to, from))?;
            }
            (None, Node::Row(row)) => {
                let from = self.row(row);
                self.put(Instruction::with2(self.machine.load(), to, from))?;
            }
            (None, Node::Scalar(code)) => {
                let from = self.scalar(code);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            (None, Node::Constant(constant)) => {
                let from = self.constant(self.plan.pool.place(constant)?);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            (None, Node::ConstantD(bits)) => {
                let from = self.constant(self.plan.pool.double(bits)?);
                self.put(Instruction::with2(self.machine.broadcast_double(), to, from))?;
            }
            (None, Node::Mask(code)) => self.expand(to, code)?,
            (None, Node::Kept) => {
                let from = MemoryOperand::with_base_displ(Register::RBX, Wave::KEPT_BEHIND_RECENT);
                self.put(Instruction::with2(self.machine.broadcast(), to, from))?;
            }
            _ => return Err(TooLarge),
        }
        self.hold(value, register);
        Ok(register)
    }

    pub(super) fn vector(&mut self, value: Value) -> Result<Register, TooLarge> {
        Ok(self.machine.vector(self.register(value)?))
    }

    /// Whether a value is best read from memory where it is used: it is there, and is used no more.
    pub(super) fn is_best_in_memory(&self, value: Value) -> bool {
        let home = self.homes[value.0 as usize];
        let in_memory = home.slot.is_some() || matches!(self.graph.of(value), Node::Row(_)) && !self.storing;
        home.register.is_none() && in_memory && self.uses[value.0 as usize].len() == 1
    }

    /// Where the last operand of an instruction is.
    pub(super) fn place(&mut self, value: Value) -> Result<Operand, TooLarge> {
        if !self.is_best_in_memory(value) {
            return Ok(Operand::Register(self.vector(value)?));
        }
        Ok(Operand::Memory(match (self.homes[value.0 as usize].slot, self.graph.of(value)) {
            (Some(slot), _) => self.slot(slot),
            (None, Node::Row(row)) => self.row(row),
            _ => return Err(TooLarge),
        }))
    }

    /// An instruction of two sources.
    pub(super) fn three(&mut self, code: Code, to: Register, a: Register, b: Operand) -> Result<(), TooLarge> {
        match b {
            Operand::Register(b) => self.put(Instruction::with3(code, to, a, b)),
            Operand::Memory(b) => self.put(Instruction::with3(code, to, a, b)),
        }
    }

    /// The same with a constant.
    pub(super) fn four(
        &mut self,
        code: Code,
        to: Register,
        a: Register,
        b: Operand,
        constant: i32,
    ) -> Result<(), TooLarge> {
        match b {
            Operand::Register(b) => self.put(Instruction::with4(code, to, a, b, constant)),
            Operand::Memory(b) => self.put(Instruction::with4(code, to, a, b, constant)),
        }
    }

    /// A register for the result, found before the operands are given up: what has to make room goes to a slot that no
    /// operand is in. An operand's register that is used no more is the best one, as instructions read before they write.
    pub(super) fn target(&mut self, at: usize) -> Result<Register, TooLarge> {
        let node = self.graph.nodes[at];
        let dying = node.sources().find_map(|source| {
            let register = self.homes[source.0 as usize].register?;
            let uses = node.sources().filter(|&other| other == source).count();
            (self.uses[source.0 as usize].len() == uses).then_some(register)
        });
        let register = match dying {
            Some(register) => register,
            None => self.free()?,
        };
        node.sources().for_each(|source| self.used(source));
        self.hold(Value(at as u32), register);
        Ok(self.machine.vector(register))
    }
}
