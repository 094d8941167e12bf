//! From instructions to micro-operations.
//!
//! [`Builder::instruction`] appends the micro-ops of one instruction; what it cannot lower it says in words, and the
//! block then ends in a micro-op that stops with them.

use luthier_isa::op::Op as IsaOp;

mod dual;
mod finish;
mod gfx1250;
mod image;
mod memory;
mod prepare;
mod scalar;
mod scalar_float;
#[cfg(test)]
mod tests;
mod vector;

pub(crate) use prepare::dpp_source;
pub(crate) use vector::{places_half, target_is_half};

use luthier_isa::{Flags, Format, Inst, MsbChange, OpcodeInfo, Operand, Reg, VgprMsb, msb};

use crate::error::FaultKind;
use crate::mode::Mode;
use crate::op::{Flow, Handler, Kind, Op, OpFlags, Semantics, Variants};
use crate::registers::rows;
use crate::registry;
use crate::report::FindingKind;
use crate::scalar::NONE;
use crate::wave::Wave;

/// How many registers a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// What a wave may have at most.
    pub vgprs: u16,
    pub agprs: u16,
    /// VGPRs of a block, where a wave begins with one block and asks for more; 0 where it has them all.
    pub vgpr_block: u16,
    /// The row of a0: 256, or where the descriptor's ACCUM_OFFSET has AGPRs begin in the file of VGPRs (CDNA2 on).
    pub first_agpr: u16,
}

impl Limits {
    /// Both files, whole.
    pub const WHOLE: Limits = Limits { vgprs: 256, agprs: 256, vgpr_block: 0, first_agpr: rows::AGPR };

    /// The first row of a vector register.
    pub(crate) fn row_of(self, reg: Reg) -> Option<u16> {
        if reg.is_vgpr() {
            Some(rows::VGPR + reg.number())
        } else if reg.is_agpr() {
            Some(self.first_agpr + reg.number())
        } else {
            None
        }
    }

    /// VGPRs that instructions may name: behind ACCUM_OFFSET they are AGPRs by another name. No manual says so; the softmax
    /// kernels of AMD's hipBLASLt for gfx90a use them.
    fn nameable_vgprs(self) -> u16 {
        if self.vgprs == self.first_agpr { self.vgprs + self.agprs } else { self.vgprs }
    }
}

/// What follows a block's last instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The block goes on.
    Open,
    /// A branch: taken to an address, else the next instruction.
    Branch { taken: Option<u64> },
    /// Anything else that the last micro-op decides; execution goes on, if it does, at the next instruction.
    Stop,
}

impl Op {
    /// Does nothing; the start of every micro-op.
    pub const NOTHING: Op = Op {
        run: nothing,
        dst: 0,
        src: [0; 3],
        imm: 0,
        imm2: 0,
        sdst: crate::registers::scalar::VCC,
        ssrc: crate::registers::scalar::VCC,
        flags: OpFlags::empty(),
        inst: 0,
        kind: Kind::OPAQUE,
    };
}

fn nothing(_w: &mut Wave, _op: &Op) -> Flow {
    Flow::Next
}

/// MODE's copy of the upper bits of VGPR numbers, which the lowering knows from the code itself.
pub fn put_msb(w: &mut Wave, bits: u8) {
    w.mode = Mode(VgprMsb::from_bits(bits).in_mode(w.mode.0));
}
fn set_msb(w: &mut Wave, op: &Op) -> Flow {
    put_msb(w, op.imm as u8);
    Flow::Next
}

/// The wave must have this many VGPRs.
fn needs_vgprs(w: &mut Wave, op: &Op) -> Flow {
    let allocated = u64::from(w.allocated);
    if op.imm <= allocated {
        return Flow::Next;
    }
    let message = format!("v{} is beyond the {allocated} VGPRs that the wave has allocated", op.imm - 1);
    if let Some(strict) = &mut w.strict {
        strict.be_at(op.imm2);
        strict.report(FindingKind::Unallocated, None, None, message);
        return Flow::Next;
    }
    w.fault(FaultKind::Unsupported, message)
}

/// Collects the micro-ops of a block.
pub struct Builder {
    pub ops: Vec<Op>,
    limits: Limits,
    /// Registers beyond the limits are another finding's: the device has them.
    pub lenient: bool,
    /// Number of the instruction being lowered, within its block.
    inst: u16,
    next_temp: u16,
    /// Which VALU operands M0 indexes (`s_set_gpr_idx_on`): src0 1, src1 2, src2 4, dst 8.
    pub index_mode: u8,
    /// The upper bits of VGPR numbers (gfx1250).
    pub msb: VgprMsb,
    /// The next instruction sets them.
    pub msb_follows: bool,
}

impl Builder {
    pub fn new(limits: Limits, index_mode: u8) -> Builder {
        Builder {
            ops: Vec::new(),
            limits,
            lenient: false,
            inst: 0,
            next_temp: rows::TEMP,
            index_mode,
            msb: VgprMsb::ZERO,
            msb_follows: false,
        }
    }

    /// Appends the micro-ops of the instruction at `pc`, the `number`th of the block.
    pub fn instruction(&mut self, inst: &Inst, pc: u64, number: u16) -> Result<Ending, String> {
        self.inst = number;
        self.next_temp = rows::TEMP;
        if !self.lenient {
            self.check_limits(inst)?;
        }
        self.check_allocation(inst, pc);
        if inst.info().flags.contains(Flags::DUAL) {
            self.dual(inst)?;
            return Ok(Ending::Open);
        }
        if let Some(op) = registry::vector(inst.info()) {
            self.vector(inst, op)?;
            return Ok(Ending::Open);
        }
        if self.scalar_float(inst)? {
            return Ok(Ending::Open);
        }
        if let Some(ending) = self.scalar(inst, pc)? {
            self.changed_msb(inst)?;
            return Ok(ending);
        }
        if self.global_wave_sync(inst)? {
            return Ok(Ending::Stop);
        }
        if self.memory(inst)? {
            return Ok(Ending::Open);
        }
        Err(absent(inst.info()))
    }

    /// What the instruction does to the upper bits of VGPR numbers.
    fn changed_msb(&mut self, inst: &Inst) -> Result<(), String> {
        match msb::change(inst) {
            MsbChange::Keeps => {}
            MsbChange::Sets(msb) => {
                self.msb = msb;
                self.push_handler(set_msb, Op { imm: msb.bits().into(), kind: Kind::SET_MSB, ..Op::NOTHING }, 1);
            }
            // What they are does not matter where they are set anew before anything names a VGPR.
            MsbChange::Unknown if self.msb_follows => {}
            MsbChange::Unknown => {
                return Err(format!("{}: upper bits of VGPR numbers from a register", inst.info().mnemonic));
            }
        }
        Ok(())
    }

    /// A micro-op that stops; its message is the block's.
    pub fn stop(&mut self, number: u16) {
        fn stop(_w: &mut Wave, _op: &Op) -> Flow {
            Flow::Fault
        }
        self.ops.push(Op { run: stop, inst: number, ..Op::NOTHING });
    }

    /// Appends a micro-op. `widest` is the number of rows that its widest vector operand spans.
    fn push(&mut self, op: Op, widest: u16) {
        let last = op.src.iter().copied().filter(|&r| r != NONE).chain([op.dst]).max().unwrap_or(0);
        assert!(usize::from(last) + usize::from(widest) <= rows::COUNT, "row out of the vector file");
        self.ops.push(Op { inst: self.inst, ..op });
    }

    /// Appends a micro-op of ours, compiled for the host's vectors.
    fn push_kernel<S: Semantics>(&mut self, op: Op, widest: u16) {
        self.push(Op { run: Variants::of::<S>().select(), kind: S::KIND, ..op }, widest);
    }

    fn push_handler(&mut self, run: Handler, op: Op, widest: u16) {
        self.push(Op { run, ..op }, widest);
    }

    /// `count` consecutive temporary rows.
    fn temp(&mut self, count: u16) -> Result<u16, String> {
        let row = self.next_temp;
        if row + count > rows::TEMP + rows::TEMPS {
            return Err("the instruction needs more temporary rows than the mock device has".into());
        }
        self.next_temp += count;
        Ok(row)
    }

    /// Where VGPRs come and go, a micro-op that looks whether those of the instruction are there.
    fn check_allocation(&mut self, inst: &Inst, pc: u64) {
        if self.limits.vgpr_block == 0 {
            return;
        }
        let end = |(_, operand)| match operand {
            Operand::Reg(range) if range.first.is_vgpr() => range.first.number() + u16::from(range.count.max(1)),
            _ => 0,
        };
        let end = inst.operands().map(end).max().unwrap_or(0);
        if end > self.limits.vgpr_block {
            self.push_handler(needs_vgprs, Op { imm: end.into(), imm2: pc, ..Op::NOTHING }, 1);
        }
    }

    /// # Errors
    /// In words, which register the kernel's descriptor does not allocate.
    pub fn check_limits(&self, inst: &Inst) -> Result<(), String> {
        for (_, operand) in inst.operands() {
            let Operand::Reg(range) = operand else { continue };
            let end = range.first.number() + u16::from(range.count.max(1));
            let (limit, file) = if range.first.is_vgpr() {
                (self.limits.nameable_vgprs(), "VGPRs")
            } else if range.first.is_agpr() {
                (self.limits.agprs, "AGPRs")
            } else {
                continue;
            };
            if end > limit {
                return Err(format!("{range} is beyond the {limit} {file} that the kernel's descriptor allocates"));
            }
        }
        Ok(())
    }
}

/// `null` among the special operands, whatever its code.
const NULL: u16 = 125;

/// The scalar code of a destination: what is written to `null` is lost.
fn destination_of(inst: &Inst, value: Operand) -> Result<u8, String> {
    match value {
        Operand::Reg(range) => code_of(range.first),
        Operand::Special(NULL) => Some(crate::registers::scalar::NULL_SINK),
        _ => None,
    }
    .ok_or_else(|| format!("{} cannot write {value:?}", inst.info().mnemonic))
}

/// The scalar code of a scalar register.
fn code_of(reg: Reg) -> Option<u8> {
    u8::try_from(reg.index()).ok().filter(|&c| c < 128 || c == 253)
}

/// Why an operation that no family knows is refused.
fn absent(info: &OpcodeInfo) -> String {
    let what = match info.format {
        _ if info.flags.contains(Flags::MIMG) => return image::absent(info),
        Format::Exp => "exports",
        Format::Vintrp | Format::Vinterp | Format::Ldsdir => "attributes to interpolate",
        _ if info.base.starts_with("v_interp_") => "attributes to interpolate",
        _ => {
            let why = match info.op() {
                IsaOp::DsBvhStackRtnB32 | IsaOp::DsBvhStackPush8Pop1RtnB32 | IsaOp::DsBvhStackPush8Pop2RtnB64 => {
                    "how a stack of ray tracing wraps around is not documented"
                }
                IsaOp::DsLoadTr6B96 | IsaOp::GlobalLoadTr6B96 => {
                    "which lanes exchange six-bit elements is not documented"
                }
                IsaOp::GlobalAtomicOrderedAddB64 => "it counts to VGT_GS_MAX_WAVE_ID, which only graphics has",
                IsaOp::SBarrierInit | IsaOp::SBarrierJoin | IsaOp::SBarrierLeave => "RDNA4 has no named barriers",
                IsaOp::SSetvskip => "vector instructions are never skipped",
                IsaOp::SRfeB64 | IsaOp::SRfeRestoreB64 => "there is no trap handler to return from",
                IsaOp::SCodeEnd | IsaOp::VIllegal => "it is not meant to be carried out",
                IsaOp::VMfmaLdScaleB32 | IsaOp::VWmmaLdScalePairedB32 | IsaOp::VWmmaLdScale16PairedB64 => {
                    "it is the first half of a matrix operation with scales, and none follows"
                }
                _ => return format!("the mock device does not implement {}", info.mnemonic),
            };
            return format!("{} is not modelled: {why}", info.mnemonic);
        }
    };
    format!("{}: the mock device has no {what}", info.mnemonic)
}

/// Micro-ops of the lowering's, for tests of their native forms.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod native_tests {
    use super::finish::Merge;
    pub(crate) use super::prepare::dpp_enabled;
    use super::prepare::{AndXor, Extract, Permute, PermuteEight, PickHalves, RestoreExec, Splat, SplatImm};
    use crate::op::{Kind, Op, Semantics, Variants};

    fn of<S: Semantics>(op: Op) -> Op {
        Op { run: Variants::of::<S>().select(), kind: S::KIND, ..op }
    }
    pub fn splat(op: Op) -> Op {
        of::<Splat>(op)
    }
    pub fn splat_constant(op: Op) -> Op {
        of::<SplatImm>(op)
    }
    pub fn and_xor(op: Op) -> Op {
        of::<AndXor>(op)
    }
    pub fn extract(op: Op) -> Op {
        of::<Extract>(op)
    }
    pub fn pick_halves(op: Op) -> Op {
        of::<PickHalves>(op)
    }
    pub fn merge(op: Op) -> Op {
        of::<Merge>(op)
    }
    pub fn permute(op: Op) -> Op {
        of::<Permute>(op)
    }
    pub fn permute_eight(op: Op) -> Op {
        of::<PermuteEight>(op)
    }
    pub fn set_msb(bits: u8) -> Op {
        Op { run: super::set_msb, kind: Kind::SET_MSB, imm: bits.into(), ..Op::NOTHING }
    }
    pub fn restore_exec() -> Op {
        of::<RestoreExec>(Op::NOTHING)
    }
}
