//! Lanes that read others of the wave, beyond their vector: from copies on the stack, made before a phase begins, of what rows
//! hold then. Where a lane is off the copy has zero.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::graph::Graph;
use super::super::nodes::{Node, Value};
use super::body::Body;
use super::frame::{COPIES, COPY};
use super::{TooLarge, crossing::zeroed, masked};
use crate::registers::scalar;

/// What is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    Row {
        row: u16,
        fetches: bool,
    },
    /// Ones in the lanes that are on.
    Exec,
}

/// What lanes of a phase read elsewhere.
fn copies(graph: &Graph) -> Vec<Copy> {
    let mut all = Vec::new();
    for node in &graph.nodes {
        let copy = match *node {
            Node::Elsewhere { row, fetches, .. } => Copy::Row { row, fetches },
            Node::Reached(_) => Copy::Exec,
            _ => continue,
        };
        if !all.contains(&copy) {
            all.push(copy);
        }
    }
    all
}

impl Body<'_> {
    fn copy_at(&self, copy: Copy) -> Result<i64, TooLarge> {
        let number = self.copies.iter().position(|&other| other == copy).ok_or(TooLarge)?;
        Ok(self.plan.frame.copies + (COPY * number) as i64)
    }

    /// Makes the copies.
    pub(super) fn copy_rows(&mut self) -> Result<(), TooLarge> {
        self.copies = copies(self.graph);
        if self.copies.len() > COPIES {
            return Err(TooLarge);
        }
        let vectors = if self.plan.wave64 { 64 } else { 32 } / self.machine.lanes();
        for copy in self.copies.clone() {
            for vector in 0..vectors {
                let at = i64::from(vector) * i64::from(self.machine.bytes());
                let to = MemoryOperand::with_base_displ(Register::RSP, self.copy_at(copy)? + at);
                let some = self.copied(copy, vector, at)?;
                self.put(Instruction::with2(self.machine.store(), to, some))?;
            }
        }
        Ok(())
    }

    /// A vector of a copy.
    fn copied(&mut self, copy: Copy, vector: u32, at: i64) -> Result<Register, TooLarge> {
        let some = self.passing(0);
        let piece = MemoryOperand::with_base_displ(
            Register::RSI,
            i64::from(scalar::EXEC) * 4 + i64::from(vector * self.machine.lanes() / 8),
        );
        let row = |row: u16| MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * 256 + at);
        if let Copy::Row { row: number, fetches: true } = copy {
            self.put(Instruction::with2(self.machine.load(), some, row(number)))?;
            return Ok(some);
        }
        if self.machine.wide {
            self.put(Instruction::with2(Code::VEX_Kmovw_kr_km16, Register::K1, piece))?;
            self.put(match copy {
                Copy::Exec => Instruction::with2(Code::EVEX_Vpmovm2d_zmm_kr, some, Register::K1),
                Copy::Row { row: number, .. } => {
                    zeroed(Instruction::with2(self.machine.load(), some, row(number)), Register::K1)
                }
            })?;
            return Ok(some);
        }
        self.expand_piece(some, piece)?;
        if let Copy::Row { row: number, .. } = copy {
            self.put(Instruction::with3(Code::VEX_Vpand_ymm_ymm_ymmm256, some, some, row(number)))?;
        }
        Ok(some)
    }

    /// What a copy has in other lanes.
    pub(super) fn elsewhere(&mut self, at: usize, copy: Copy, lanes: Value) -> Result<(), TooLarge> {
        let (index, copy) = (self.vector(lanes)?, self.copy_at(copy)?);
        // A gather must not write what it has its numbers in.
        let register = self.free()?;
        let to = self.machine.vector(register);
        let place = MemoryOperand::with_base_index_scale_displ_size(Register::RSP, index, 4, copy, 1);
        if self.machine.wide {
            self.put(Instruction::with3(Code::VEX_Kxnorw_kr_kr_kr, Register::K1, Register::K1, Register::K1))?;
            let gather = Instruction::with2(Code::EVEX_Vpgatherdd_zmm_k1_vm32z, to, place);
            self.put(masked(gather, Register::K1))?;
        } else {
            let all = self.passing(0);
            self.put(Instruction::with3(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, all, all, all))?;
            self.put(Instruction::with3(Code::VEX_Vpgatherdd_ymm_vm32y_ymm, to, place, all))?;
        }
        self.used(lanes);
        self.hold(Value(at as u32), register);
        Ok(())
    }

    /// The numbers of a vector's lanes: R10 goes on by a byte for eight lanes.
    pub(super) fn table(&mut self, at: usize, numbers: [u8; 64]) -> Result<(), TooLarge> {
        let table = self.constant(self.plan.pool.table(numbers)?);
        let to = self.target(at)?;
        self.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, Register::R10))?;
        self.put(Instruction::with2(Code::Sub_r64_rm64, Register::RAX, Register::RSI))?;
        self.put(Instruction::with2(Code::Shl_rm32_imm8, Register::EAX, 5))?;
        self.put(Instruction::with2(Code::Lea_r64_m, Register::R9, table))?;
        let from = MemoryOperand::with_base_index_scale_displ_size(Register::R9, Register::RAX, 1, 0, 1);
        self.put(Instruction::with2(self.machine.load(), to, from))
    }
}
