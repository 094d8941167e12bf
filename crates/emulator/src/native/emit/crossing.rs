//! Lanes that read others of their vector.

use iced_x86::{Code, IcedError, Instruction, Register};

use super::super::addresses::Size;
use super::super::nodes::{Binary, Crossing, Value};
use super::body::Body;
use super::pool::words;
use super::{EXEC, TooLarge, masked};

/// Zeros in the lanes that are not of a mask register.
pub(super) fn zeroed(it: Result<Instruction, IcedError>, mask: Register) -> Result<Instruction, IcedError> {
    let mut it = masked(it, mask)?;
    it.set_zeroing_masking(true);
    Ok(it)
}

impl Body<'_> {
    /// What each lane reads; lanes that are off have zero.
    pub(super) fn crossed(&mut self, at: usize, source: Value, how: Crossing) -> Result<(), TooLarge> {
        let mut from = self.vector(source)?;
        if !how.fetches && self.machine.wide {
            let on = self.passing(1);
            self.put(zeroed(Instruction::with2(self.machine.load(), on, from), EXEC))?;
            from = on;
        } else if !how.fetches && !self.full {
            let on = self.passing(0);
            self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, on, from, self.exec()))?;
            from = on;
        }
        self.permute(at, how, from)
    }

    /// Ones in the lanes that read one.
    pub(super) fn readable(&mut self, at: usize, how: Crossing) -> Result<(), TooLarge> {
        if !self.machine.wide {
            if !self.full && !how.fetches {
                return self.permute(at, how, self.exec());
            }
            let to = self.target(at)?;
            return self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, to));
        }
        if how.fetches {
            return self.some_lanes(at, how.valid);
        }
        let on = self.passing(1);
        self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, on, EXEC))?;
        self.permute(at, how, on)
    }

    fn permute(&mut self, at: usize, how: Crossing, from: Register) -> Result<(), TooLarge> {
        let lanes = self.constant(self.plan.pool.vector(how.from.map(u32::from))?);
        let numbers = self.passing(if self.machine.wide { 0 } else { 2 });
        self.put(Instruction::with2(self.machine.load(), numbers, lanes))?;
        let to = self.target(at)?;
        let permute = Instruction::with3(self.machine.permute(), to, numbers, from);
        if how.valid == !0 || !self.machine.wide {
            return self.put(permute);
        }
        let valid = self.constant(self.plan.pool.place(how.valid.into())?);
        self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, valid))?;
        self.put(zeroed(permute, Register::K1))
    }

    /// Which lane of the wave each is: R10 goes on by a byte for eight lanes.
    pub(super) fn lane_numbers(&mut self, at: usize) -> Result<(), TooLarge> {
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, Register::R10))?;
        self.put(Instruction::with2(Code::Sub_r64_rm64, Register::RAX, Register::RSI))?;
        self.put(Instruction::with2(Code::Shl_rm32_imm8, Register::EAX, 3))?;
        let (low, lanes) = (self.machine.low(to), self.constant(self.plan.pool.steps(Size::Word, true)));
        self.put(Instruction::with2(Code::VEX_Vmovd_xmm_rm32, low, Register::EAX))?;
        self.put(Instruction::with2(self.machine.spread(), to, low))?;
        let add = self.machine.binary(Binary::Add).ok_or(TooLarge)?;
        self.put(Instruction::with3(add, to, to, lanes))
    }

    /// Ones in the same lanes of each vector.
    pub(super) fn some_lanes(&mut self, at: usize, lanes: u16) -> Result<(), TooLarge> {
        let to = self.target(at)?;
        if self.machine.wide {
            let bits = self.constant(self.plan.pool.place(lanes.into())?);
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, bits))?;
            return self.put(Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, to, Register::K1));
        }
        let ones = self.constant(self.plan.pool.vector(words(lanes))?);
        self.put(Instruction::with2(self.machine.load(), to, ones))
    }
}
