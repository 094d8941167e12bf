//! What ends hazards: the instructions that wait for what a wave has issued.

use luthier_isa::hazard::{Cure, Facts, Hazards, Remedy};
use luthier_isa::op::Op;
use luthier_isa::wait::{Counter, Wait};
use luthier_isa::{EncodeError, Field, Generation, Inst, Mode, Reg, VgprMsb};

use super::Operations;
use super::operations::{NULL, one, small};

/// Instructions that far back matter: no hazard lasts longer, s_nop aside.
pub const WINDOW: usize = 20;

/// The code of [`NULL`] on RDNA1 and RDNA2.
const NULL_CODE: u32 = 125;

/// VALU instructions beside which gfx1250's longest matrix instructions run.
const LONGEST_BESIDE: usize = 9;

/// In front of one instruction.
const MOST_WAITS: usize = 8;

/// Of one processor, at one place.
#[derive(Clone, Copy)]
pub struct Cures {
    pub mode: Mode,
    /// A VGPR that no memory result is about to land in, to move to itself.
    pub idle: Option<Reg>,
    /// The upper bits of VGPR numbers there.
    pub msb: VgprMsb,
}

impl Cures {
    /// What ends every hazard, whatever was issued before.
    pub fn everything(&self, ops: &Operations) -> Result<Vec<Inst>, EncodeError> {
        let mut slate = vec![ops.nop(16)?, ops.nop(WINDOW as u32 - 16)?];
        let cures: &[Cure] = match self.mode.target().generation() {
            generation if generation.is_gfx9_family() => &[],
            Generation::Gfx10 => &[Cure::Vector, Cure::Scalar, Cure::VmVsrc, Cure::SaSdst, Cure::Stores],
            // Nothing there ends with time.
            Generation::Gfx1250 => return self.insts(ops, Cure::Vector),
            // The vector instruction is one that may read a result too early.
            _ => &[Cure::VaVdst, Cure::VmVsrc, Cure::SaSdst, Cure::Vector],
        };
        for cure in cures {
            slate.extend(self.insts(ops, *cure)?);
        }
        Ok(slate)
    }

    /// What has to be waited for in front of an instruction, of a wave that is left behind the waits.
    pub fn waits(&self, ops: &Operations, wave: &mut Hazards, facts: &Facts) -> Result<Vec<Inst>, EncodeError> {
        let mut waits = Vec::new();
        for _ in 0..MOST_WAITS {
            let Some(Remedy::Cure(cure)) = wave.needed(facts).map(|missing| missing.remedy) else { break };
            for wait in self.insts(ops, cure)? {
                wave.check(&Facts::of(&wait), 0, |_| {});
                waits.push(wait);
            }
        }
        Ok(waits)
    }

    /// Writes of scalars that vector instructions have read have to be waited for.
    fn holds_reads(&self) -> bool {
        self.mode.target().generation() >= Generation::Gfx11
    }

    fn vector_nop(&self) -> Result<Inst, EncodeError> {
        let missing = EncodeError::NoField { mnemonic: Op::VNop.name(), field: Field::Simm16 };
        Ok(Inst::new(self.mode.plain(Op::VNop).ok_or(missing)?))
    }

    /// What makes a hazard of this kind end.
    pub fn insts(&self, ops: &Operations, cure: Cure) -> Result<Vec<Inst>, EncodeError> {
        let with = |op: Op, value: u32| {
            let missing = EncodeError::NoField { mnemonic: op.name(), field: Field::Simm16 };
            let mut inst = Inst::new(self.mode.plain(op).ok_or(missing)?);
            inst.set_field(Field::Simm16, value)?;
            Ok(inst)
        };
        let depctr = Op::SWaitcntDepctr;
        let inst = match cure {
            Cure::Nop => ops.nop(1)?,
            Cure::VectorNop => self.vector_nop()?,
            // An identity under any EXEC, unless a memory result lands in between; v_nop would be dropped.
            Cure::Vector => {
                let mut insts = Vec::new();
                if self.idle.is_none() {
                    // Stores alone leave registers alone.
                    let counters = Counter::ALL.into_iter().filter(|counter| *counter != Counter::Vs);
                    let all = counters.fold(Wait::NONE, |wait, counter| wait.and(counter, 0));
                    insts.extend(all.instructions(self.mode)?);
                }
                // A matrix instruction may still be at work on the register.
                if self.mode.target().generation() == Generation::Gfx1250 {
                    insts.extend(vec![self.vector_nop()?; LONGEST_BESIDE]);
                }
                // Under upper bits that differ it would be another register that is written.
                let under = |msb: VgprMsb| (self.msb != VgprMsb::ZERO).then(|| ops.set_vgpr_msb(msb.bits())).flatten();
                insts.extend(under(VgprMsb::ZERO).transpose()?);
                let idle = self.idle.unwrap_or(Reg::vgpr(0));
                insts.push(ops.vector_mov(idle, one(idle))?);
                insts.extend(under(self.msb).transpose()?);
                return Ok(insts);
            }
            // To nowhere, since any other scalar may be about to be loaded.
            Cure::Scalar => Inst::build(ops.s_mov_b32, &[NULL, small(0)])?,
            Cure::VmVsrc => with(depctr, 0xffe3)?,
            Cure::VaVdst => with(depctr, 0x0fff)?,
            Cure::SaSdst if !self.holds_reads() => with(depctr, 0xfffe)?,
            // Whichever unit wrote last: one wait for all results in scalars.
            Cure::SaSdst | Cure::VaSdst | Cure::VaVcc | Cure::AluSaSdst | Cure::AluVaSdst | Cure::AluVaVcc => {
                with(depctr, 0xf1fc)?
            }
            Cure::Stores => {
                let mut inst = with(Op::SWaitcntVscnt, 0)?;
                inst.set_field(Field::Sdst, NULL_CODE)?;
                inst
            }
        };
        Ok(vec![inst])
    }
}
