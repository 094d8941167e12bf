//! The end of a phase for some lanes: results are looked at, and then stored.

use iced_x86::{Code, Instruction, Register};

use super::super::nodes::{Node, Value};
use super::body::Body;
use super::{EXEC, TooLarge, masked};
use crate::registers::scalar;

/// Wide vectors: lanes with NaNs.
const NAN: Register = Register::K4;

impl Body<'_> {
    /// Leaves if a result is a NaN that the host has chosen.
    pub(super) fn look_for_nans(&mut self) -> Result<(), TooLarge> {
        let checks = &self.plan.checks;
        if checks.is_empty() {
            return Ok(());
        }
        let (doubles, singles): (Vec<Value>, Vec<Value>) = checks.iter().partition(|&&v| self.graph.of(v).is_double());
        let pairs = singles.chunks(2).map(|pair| (pair, false)).chain(doubles.chunks(2).map(|pair| (pair, true)));
        for (number, (pair, double)) in pairs.enumerate() {
            self.pinned.clear();
            let (one, other) = (self.vector(pair[0])?, self.vector(pair[pair.len() - 1])?);
            const UNORDERED: i32 = 3;
            if self.machine.wide {
                let to = if number == 0 { NAN } else { Register::K1 };
                let code = match double {
                    false => Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
                    true => self.machine.compare_double(),
                };
                // What lanes that are off hold does not matter; the halves of f64 have them in another order.
                let compare = Instruction::with4(code, to, one, other, UNORDERED);
                self.put(if double { compare } else { masked(compare, EXEC) })?;
                if number != 0 {
                    self.put(Instruction::with3(Code::VEX_Korw_kr_kr_kr, NAN, NAN, Register::K1))?;
                }
            } else {
                let to = if number == 0 { self.nans() } else { self.passing(0) };
                let code = match double {
                    false => Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
                    true => self.machine.compare_double(),
                };
                self.put(Instruction::with4(code, to, one, other, UNORDERED))?;
                if number != 0 {
                    let all = self.nans();
                    self.put(Instruction::with3(Code::VEX_Vpor_ymm_ymm_ymmm256, all, all, to))?;
                }
            }
            pair.iter().for_each(|&value| self.used(value));
        }
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, NAN, NAN))?;
        } else {
            let all = self.nans();
            let on = if self.full || !doubles.is_empty() { all } else { self.exec() };
            self.put(Instruction::with2(Code::VEX_Vtestps_ymm_ymmm256, all, on))?;
        }
        self.put(Instruction::with_branch(Code::Jne_rel32_64, self.plan.exit as u64))
    }

    /// Puts the results where they belong.
    pub(super) fn store(&mut self) -> Result<(), TooLarge> {
        let graph = self.graph;
        self.storing = true;
        // What rows held before is to be had no more once they are written.
        for (&row, &value) in &graph.rows {
            if graph.of(value).is_source() && graph.of(value) != Node::Row(row) {
                self.pinned.clear();
                self.register(value)?;
            }
        }
        for (&code, &value) in &graph.masks {
            self.pinned.clear();
            if let Some(mask) = self.masks.register(value) {
                self.store_lanes(code, mask)?;
            } else {
                let mask = self.vector(value)?;
                self.store_mask(code, mask)?;
            }
            self.used(value);
        }
        let is_kept = |(&row, &value): (&u16, &Value)| graph.of(value) == Node::Row(row);
        if self.machine.wide && !graph.rows.iter().all(is_kept) {
            // What some lanes have stored the host's processor does not give to a load behind it before it is in the cache.
            let held =
                (self.homes.clone(), self.held.clone(), self.slots.clone(), self.uses.clone(), self.masks.clone());
            self.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
            let some = self.asm.jump(Code::Jae_rel32_64)?;
            self.store_rows(true)?;
            let end = self.asm.jump(Code::Jmp_rel32_64)?;
            self.asm.land(some);
            (self.homes, self.held, self.slots, self.uses, self.masks) = held;
            self.store_rows(false)?;
            self.asm.land(end);
        } else {
            self.store_rows(self.full)?;
        }
        self.storing = false;
        Ok(())
    }

    /// Puts rows' results there; `full`: all lanes are on.
    fn store_rows(&mut self, full: bool) -> Result<(), TooLarge> {
        let graph = self.graph;
        for (&row, &value) in &graph.rows {
            // A row that keeps what it held is not written.
            if graph.of(value) == Node::Row(row) {
                self.used(value);
                continue;
            }
            self.pinned.clear();
            let from = self.vector(value)?;
            self.store_row(row, from, full)?;
            self.used(value);
        }
        Ok(())
    }

    fn store_mask(&mut self, code: u8, mask: Register) -> Result<(), TooLarge> {
        if self.machine.wide {
            self.put(Instruction::with2(Code::EVEX_Vpmovd2m_kr_zmm, Register::K1, mask))?;
            return self.store_lanes(code, Register::K1);
        }
        let piece = self.piece(code);
        self.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, mask))?;
        if !self.full {
            let exec = self.piece(scalar::EXEC);
            self.put(Instruction::with2(Code::And_r8_rm8, Register::AL, exec))?;
        }
        self.put(Instruction::with2(Code::Mov_rm8_r8, piece, Register::AL))
    }

    /// Stores what a mask register has, of the lanes that are on.
    fn store_lanes(&mut self, code: u8, mask: Register) -> Result<(), TooLarge> {
        self.put(Instruction::with3(Code::VEX_Kandw_kr_kr_kr, Register::K1, mask, EXEC))?;
        self.put(Instruction::with2(Code::VEX_Kmovw_m16_kr, self.piece(code), Register::K1))
    }

    fn store_row(&mut self, row: u16, from: Register, full: bool) -> Result<(), TooLarge> {
        let to = self.row(row);
        if full {
            return self.put(Instruction::with2(self.machine.store(), to, from));
        }
        if self.machine.wide {
            return self.put(masked(Instruction::with2(self.machine.store(), to, from), EXEC));
        }
        let (old, exec) = (self.passing(0), self.exec());
        self.put(Instruction::with2(self.machine.load(), old, to))?;
        self.put(Instruction::with4(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, old, old, from, exec))?;
        self.put(Instruction::with2(self.machine.store(), to, old))
    }
}
