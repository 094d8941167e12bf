//! The host's instructions for a node of a graph.

use iced_x86::{Code, Instruction, Register};

use super::super::machine::Machine;
use super::super::nodes::{Binary, Node, Value};
use super::body::{Body, Operand};
use super::elsewhere::Copy;
use super::pool::ODD_LANES;
use super::{TooLarge, masked};

impl Body<'_> {
    pub(super) fn node(&mut self, at: usize) -> Result<(), TooLarge> {
        self.pinned.clear();
        match self.graph.nodes[at] {
            Node::Binary(op, a, b) => {
                let gains = a != b && self.is_best_in_memory(a) && !self.is_best_in_memory(b);
                let (a, b) = if gains && self.graph.may_swap(op, a, b) { (b, a) } else { (a, b) };
                let (from, place) = (self.vector(a)?, self.place(b)?);
                if let Some(code) = self.machine.binary(op) {
                    let to = self.target(at)?;
                    return self.three(code, to, from, place);
                }
                if !self.machine.wide {
                    return self.below(at, from, place);
                }
                let (code, predicate) = match op {
                    Binary::Equal => (Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, 0),
                    Binary::Below => (Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, 1),
                    _ => (Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, 6),
                };
                self.compare(at, code, from, place, predicate)
            }
            Node::CompareD(predicate, a, b) => {
                let (from, place) = (self.vector(a)?, self.place(b)?);
                let code = self.machine.compare_double();
                if self.machine.wide {
                    self.four(code, Register::K1, from, place, predicate.into())?;
                    let to = self.target(at)?;
                    return self.put(Instruction::with2(Code::EVEX_Vpmovm2q_zmm_kr, to, Register::K1));
                }
                let to = self.target(at)?;
                self.four(code, to, from, place, predicate.into())
            }
            Node::Join { second, low, high } => {
                let (low, high) = (self.vector(low)?, self.place(high)?);
                let to = self.target(at)?;
                self.three(self.machine.join(second), to, low, high)
            }
            Node::Split { high, first, second } => {
                let (first, second) = (self.vector(first)?, self.place(second)?);
                let to = self.target(at)?;
                let which = if high { Machine::HIGH } else { Machine::LOW };
                self.four(self.machine.split(), to, first, second, which)
            }
            Node::MulHigh { signed, a, b } => self.mul_high(at, signed, a, b),
            Node::SignedOfFloat(a) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with2(self.machine.signed_of_float(), to, from))
            }
            Node::Integral(a, how) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with3(self.machine.integral(), to, from, i32::from(how)))
            }
            Node::IntegralD(a, how) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with3(self.machine.integral_double(), to, from, i32::from(how)))
            }
            Node::Widened { second, a } => self.widened(at, second, a),
            Node::Narrowed { how, first, second } => self.narrowed(at, how, [first, second]),
            Node::SingleOfHalf(a) => self.single_of_half(at, a),
            Node::HalfOfSingle(a, nearest) => self.half_of_single(at, a, nearest),
            Node::CompareF(predicate, a, b) => {
                let (from, place) = (self.vector(a)?, self.place(b)?);
                if self.machine.wide {
                    let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
                    return self.compare(at, code, from, place, predicate.into());
                }
                let to = self.target(at)?;
                self.four(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, to, from, place, predicate.into())
            }
            Node::Shift(op, a, by) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with3(self.machine.shift(op), to, from, i32::from(by)))
            }
            Node::FloatOfSigned(a) => {
                let from = self.vector(a)?;
                let to = self.target(at)?;
                self.put(Instruction::with2(self.machine.float_of_signed(), to, from))
            }
            Node::Select { mask, yes, no } => {
                let held = self.masks.register(mask);
                let words = if held.is_none() { Some(self.vector(mask)?) } else { None };
                let (no, yes) = (self.vector(no)?, self.vector(yes)?);
                if let (Some(words), true) = (words, self.machine.wide) {
                    self.put(Instruction::with2(Code::EVEX_Vpmovd2m_kr_zmm, Register::K1, words))?;
                }
                let to = self.target(at)?;
                match words {
                    Some(words) if !self.machine.wide => {
                        self.put(Instruction::with4(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, to, no, yes, words))
                    }
                    _ => {
                        let blend = Instruction::with3(Code::EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32, to, no, yes);
                        self.put(masked(blend, held.unwrap_or(Register::K1)))
                    }
                }
            }
            Node::Fma(a, b, c) | Node::FmaD(a, b, c) => self.fma(at, a, b, c),
            Node::Called { function, sources } => self.call(at, function, sources),
            Node::More(call, _) => {
                self.used(call);
                Ok(())
            }
            Node::Lds { address, offset } => self.lds(at, address, offset),
            Node::Global { place, offset, .. } => self.global(at, place, offset),
            Node::Buffer { at: buffer, offsets, .. } => self.buffer(at, buffer, offsets),
            Node::Streamed(number) => self.streamed(at, number),
            Node::Crossed { source, how } => self.crossed(at, source, how),
            Node::Readable(how) => self.readable(at, how),
            Node::Lanes(lanes) => self.some_lanes(at, lanes),
            Node::LaneNumbers => self.lane_numbers(at),
            Node::Table(numbers) => self.table(at, numbers),
            Node::Elsewhere { row, lanes, fetches } => self.elsewhere(at, Copy::Row { row, fetches }, lanes),
            Node::Reached(lanes) => self.elsewhere(at, Copy::Exec, lanes),
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::ConstantD(_) | Node::Mask(_) | Node::Kept => {
                Ok(())
            }
        }
    }

    /// Whether `a < b`, unsigned: not where the larger one is `a`.
    fn below(&mut self, at: usize, a: Register, b: Operand) -> Result<(), TooLarge> {
        let (most, ones) = (self.passing(0), self.plan.pool.place(!0)?);
        self.three(Code::VEX_Vpmaxud_ymm_ymm_ymmm256, most, a, b)?;
        self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, most, most, a))?;
        let to = self.target(at)?;
        let ones = self.constant(ones);
        self.put(Instruction::with2(self.machine.broadcast(), to, ones))?;
        self.put(Instruction::with3(Code::VEX_Vpandn_ymm_ymm_ymmm256, to, most, to))
    }

    /// Products of the even words, whose upper halves go down one place, and of the odd ones.
    fn mul_high(&mut self, at: usize, signed: bool, a: Value, b: Value) -> Result<(), TooLarge> {
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let (even, odd) = (self.passing(if self.machine.wide { 1 } else { 2 }), self.passing(0));
        let (multiply, shift) = (self.machine.multiply_even(signed), self.machine.shift64());
        self.put(Instruction::with3(shift, odd, a, 32))?;
        self.put(Instruction::with3(shift, even, b, 32))?;
        self.put(Instruction::with3(multiply, odd, odd, even))?;
        self.put(Instruction::with3(multiply, even, a, b))?;
        self.put(Instruction::with3(shift, even, even, 32))?;
        let to = self.target(at)?;
        if !self.machine.wide {
            return self.put(Instruction::with4(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, to, even, odd, 0xaa));
        }
        let alternate = self.constant(self.plan.pool.place(ODD_LANES)?);
        self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, alternate))?;
        let blend = Instruction::with3(Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32, to, even, odd);
        self.put(masked(blend, Register::K1))
    }

    /// A comparison with 512 bits: a mask register, if it is no more than a mask, or else words.
    fn compare(&mut self, at: usize, code: Code, a: Register, b: Operand, predicate: i32) -> Result<(), TooLarge> {
        if let Some(mask) = self.masks.take(Value(at as u32)) {
            self.four(code, mask, a, b, predicate)?;
            self.graph.nodes[at].sources().for_each(|source| self.used(source));
            return Ok(());
        }
        self.four(code, Register::K1, a, b, predicate)?;
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1))
    }

    /// The instruction writes one of its operands: one that is used no more, or else a copy of the addend. All three forms
    /// give the first NaN of factors and addend, as the device does.
    fn fma(&mut self, at: usize, a: Value, b: Value, c: Value) -> Result<(), TooLarge> {
        let double = matches!(self.graph.nodes[at], Node::FmaD(..));
        let same = |v: Value| [a, b, c].iter().filter(|&&other| other == v).count();
        let dies = |body: &Self, v: Value| same(v) == 1 && body.uses[v.0 as usize].len() == 1;
        let gains = a != b && self.is_best_in_memory(a) && !self.is_best_in_memory(b);
        let (a, b) = if gains && self.graph.may_swap(Binary::MulF, a, b) { (b, a) } else { (a, b) };
        let (register, code, second, third) = if dies(self, c) {
            let second = self.vector(a)?;
            (self.register(c)?, self.machine.fma231(double), second, b)
        } else if dies(self, a) {
            (self.register(a)?, self.machine.fma132(double), self.vector(c)?, b)
        } else if dies(self, b) {
            (self.register(b)?, self.machine.fma213(double), self.vector(a)?, c)
        } else {
            let second = self.vector(a)?;
            (self.copy(c)?, self.machine.fma231(double), second, b)
        };
        let third = self.place(third)?;
        self.three(code, self.machine.vector(register), second, third)?;
        [a, b, c].into_iter().for_each(|source| self.used(source));
        self.hold(Value(at as u32), register);
        Ok(())
    }

    /// A register with a copy of a value.
    fn copy(&mut self, value: Value) -> Result<usize, TooLarge> {
        let from = self.place(value)?;
        let register = self.free()?;
        self.pinned.push(register);
        let to = self.machine.vector(register);
        self.put(match from {
            Operand::Register(from) => Instruction::with2(self.machine.load(), to, from),
            Operand::Memory(from) => Instruction::with2(self.machine.load(), to, from),
        })?;
        Ok(register)
    }
}
