//! What wait instructions wait for, and which ones wait for a set of values.

use super::{Counter, Wait};
use crate::{EncodeError, Field, Generation, Inst, Mode, Op, Operand, codes};

/// Bits (low, width) of a value in an immediate, in pieces, the low one first.
type Bits = [(u32, u32); 2];

/// The counters of `s_waitcnt` and their places in its immediate; none where there is no such instruction.
const fn places(generation: Generation) -> &'static [(Counter, Bits)] {
    match generation {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
            &[(Counter::Vm, [(0, 4), (14, 2)]), (Counter::Exp, [(4, 3), (0, 0)]), (Counter::Lgkm, [(8, 4), (0, 0)])]
        }
        Generation::Gfx10 => {
            &[(Counter::Vm, [(0, 4), (14, 2)]), (Counter::Exp, [(4, 3), (0, 0)]), (Counter::Lgkm, [(8, 6), (0, 0)])]
        }
        Generation::Gfx11 => {
            &[(Counter::Vm, [(10, 6), (0, 0)]), (Counter::Exp, [(0, 3), (0, 0)]), (Counter::Lgkm, [(4, 6), (0, 0)])]
        }
        Generation::Gfx12 | Generation::Gfx1250 => &[],
    }
}

/// The value, if it is one that is waited for: a counter at its maximum is not.
fn get(bits: Bits, immediate: u32) -> Option<u8> {
    let [(low, width), (high, more)] = bits;
    let piece = |at: u32, n: u32| immediate >> at & ((1 << n) - 1);
    let value = piece(low, width) | piece(high, more) << width;
    (value + 1 < 1 << (width + more)).then_some(value as u8)
}

fn put(bits: Bits, value: Option<u8>) -> u16 {
    let [(low, width), (high, more)] = bits;
    let most = (1u32 << (width + more)) - 1;
    let value = value.map_or(most, |v| u32::from(v).min(most));
    ((value & ((1 << width) - 1)) << low | (value >> width) << high) as u16
}

/// The counter of an instruction that waits for one.
const fn single(op: Op) -> Option<Counter> {
    Some(match op {
        Op::SWaitcntVmcnt | Op::SWaitLoadcnt => Counter::Vm,
        Op::SWaitcntExpcnt | Op::SWaitExpcnt => Counter::Exp,
        Op::SWaitcntLgkmcnt => Counter::Lgkm,
        Op::SWaitcntVscnt | Op::SWaitStorecnt => Counter::Vs,
        Op::SWaitSamplecnt => Counter::Sample,
        Op::SWaitBvhcnt => Counter::Bvh,
        Op::SWaitDscnt => Counter::Ds,
        Op::SWaitKmcnt => Counter::Km,
        Op::SWaitXcnt => Counter::X,
        Op::SWaitAsynccnt => Counter::Async,
        Op::SWaitTensorcnt => Counter::Tensor,
        _ => return None,
    })
}

/// The instruction that waits for one counter, where `s_waitcnt` does not.
const fn instruction(counter: Counter, generation: Generation) -> Option<Op> {
    let split = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
    Some(match counter {
        Counter::Vs if !split => Op::SWaitcntVscnt,
        _ if !split => return None,
        Counter::Vm => Op::SWaitLoadcnt,
        Counter::Vs => Op::SWaitStorecnt,
        Counter::Sample => Op::SWaitSamplecnt,
        Counter::Bvh => Op::SWaitBvhcnt,
        Counter::Exp => Op::SWaitExpcnt,
        Counter::Ds => Op::SWaitDscnt,
        Counter::Km => Op::SWaitKmcnt,
        Counter::X => Op::SWaitXcnt,
        Counter::Async => Op::SWaitAsynccnt,
        Counter::Tensor => Op::SWaitTensorcnt,
        Counter::Lgkm => return None,
    })
}

impl Wait {
    /// The immediate of `s_waitcnt`, which knows vmcnt, expcnt and lgkmcnt. RDNA4 has no such instruction.
    pub fn encode_for(&self, generation: Generation) -> u16 {
        places(generation).iter().fold(0, |all, &(counter, bits)| all | put(bits, self.get(counter)))
    }

    /// What the immediate of `s_waitcnt` means.
    pub fn decode_for(generation: Generation, immediate: u16) -> Wait {
        let values =
            places(generation).iter().filter_map(|&(counter, bits)| Some((counter, get(bits, immediate.into())?)));
        values.fold(Wait::NONE, |wait, (counter, value)| wait.and(counter, value))
    }

    /// What an instruction waits for: nothing, if it is none that waits for counters. One that takes the count
    /// from a register, which is known at run time only, counts as waiting for nothing.
    pub fn of_instruction(inst: &Inst) -> Wait {
        let op = inst.info().op();
        let generation = inst.info().mode.target().generation();
        let raw = inst.field(Field::Simm16).unwrap_or(0);
        let two = |high: Counter| Wait::NONE.and(high, (raw >> 8 & 63) as u8).and(Counter::Ds, (raw & 63) as u8);
        match op {
            Op::SWaitcnt => Wait::decode_for(generation, raw as u16),
            Op::SWaitLoadcntDscnt => two(Counter::Vm),
            Op::SWaitStorecntDscnt => two(Counter::Vs),
            Op::SWaitIdle => Wait::all(generation),
            _ => match single(op) {
                Some(_) if inst.operands().any(|(_, value)| value.reg().is_some()) => Wait::NONE,
                // Six bits count, at most.
                Some(counter) => Wait::NONE.and(counter, (raw & 63) as u8),
                None => Wait::NONE,
            },
        }
    }

    /// The instructions that wait for this on a processor, none for what it has no counter for. Values above a counter's
    /// maximum need no wait.
    ///
    /// # Errors
    /// None on a processor whose instructions are known.
    pub fn instructions(&self, mode: Mode) -> Result<Vec<Inst>, EncodeError> {
        let generation = mode.target().generation();
        let wanted = |(counter, value): &(Counter, u8)| *value < counter.most(generation);
        let wanted = self.bounds().filter(wanted).fold(Wait::NONE, |wait, (counter, value)| wait.and(counter, value));
        let one = |op: Op, value: u32| {
            let missing = EncodeError::NoField { mnemonic: op.name(), field: Field::Simm16 };
            let mut inst = Inst::new(mode.plain(op).ok_or(missing)?);
            inst.set_field(Field::Simm16, value)?;
            if op == Op::SWaitcntVscnt {
                inst.set_operand(0, Operand::Special(codes::NULL))?;
            }
            Ok(inst)
        };
        let mut out = Vec::new();
        let together = wanted.encode_for(generation);
        if together != Wait::NONE.encode_for(generation) {
            out.push(one(Op::SWaitcnt, together.into())?);
        }
        for (counter, value) in wanted.bounds() {
            if let Some(op) = instruction(counter, generation) {
                out.push(one(op, value.into())?);
            }
        }
        Ok(out)
    }
}
