//! Scalar instructions and scalar memory.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::{Field, Flags, Generation, Inst, Operand};

use super::{Builder, Ending, code_of, destination_of};
use crate::mem::atomic::Atomic;
use crate::mem::flat::Encoded;
use crate::mem::{Action, has_no_effect, smem};
use crate::memory::{PRIVATE_BASE, SHARED_BASE};
use crate::op::{Flow, Kind, Op};
use crate::registers::scalar as codes;
use crate::scalar::{self, IMM, IMM2, NONE};
use crate::wave::Wave;

/// The 64-bit value of a special source that is a constant of the device.
pub(super) fn special_constant(code: u16) -> Option<u64> {
    match code {
        235 => Some(SHARED_BASE),
        super::NULL => Some(0),
        // The limit's low half is all ones: 4 GB less one.
        236 => Some(SHARED_BASE | 0xffff_ffff),
        237 => Some(PRIVATE_BASE),
        238 => Some(PRIVATE_BASE | 0xffff_ffff),
        _ => None,
    }
}

/// Brings the computed flags VCCZ and EXECZ up to date in the scalar file.
fn flags(w: &mut Wave, _op: &Op) -> Flow {
    w.s[usize::from(codes::VCCZ)] = u32::from(w.vcc() == 0);
    w.s[usize::from(codes::EXECZ)] = u32::from(w.exec() == 0);
    Flow::Next
}

/// Copies a flag to a pair, with zeros above it.
fn widen_flag(w: &mut Wave, op: &Op) -> Flow {
    w.set_s64(op.sdst, w.s[usize::from(op.src[0])].into());
    Flow::Next
}

/// Puts a constant into a free immediate and gives its source code.
fn constant(op: &mut Op, free: &mut [bool; 2], value: u64) -> Result<u16, String> {
    let slot = free.iter().position(|&free| free).ok_or("the instruction has too many constants")?;
    free[slot] = false;
    if slot == 0 {
        op.imm = value;
        Ok(IMM)
    } else {
        op.imm2 = value;
        Ok(IMM2)
    }
}

impl Builder {
    /// The scalar code where a flag (VCCZ, EXECZ, SCC) is found as an operand of that many registers; `position` is the
    /// source's.
    pub(super) fn flag_source(&mut self, code: u16, units: u8, position: usize) -> u16 {
        self.push_handler(flags, Op::NOTHING, 1);
        if units < 2 {
            return code;
        }
        let wide = codes::WIDE_FLAGS[position.min(1)];
        self.push_handler(widen_flag, Op { sdst: wide, src: [code, 0, 0], ..Op::NOTHING }, 1);
        wide.into()
    }

    /// SOP and SMEM instructions; `None` if it is neither.
    pub(super) fn scalar(&mut self, inst: &Inst, pc: u64) -> Result<Option<Ending>, String> {
        let info = inst.info();
        if info.flags.contains(Flags::SMEM) {
            return self.scalar_memory(inst);
        }
        let isa_op = info.op();
        let Some(run) = scalar::lookup(isa_op) else { return Ok(None) };
        let named = matches!(isa_op, IsaOp::SBarrierInit | IsaOp::SBarrierJoin | IsaOp::SBarrierLeave);
        if named && info.mode.target().generation() == Generation::Gfx12 {
            return Ok(None);
        }
        let gfx9 = info.mode.target().generation().is_gfx9_family();
        let next = pc + inst.size() as u64;
        let mut op = Op { src: [NONE; 3], imm2: next, ..Op::NOTHING };
        if let Some(simm) = inst.field(Field::Simm16) {
            op.imm = i64::from(simm as i16) as u64;
        }
        // Constants go to whichever immediate is free.
        let mut free = [inst.field(Field::Simm16).is_none(), true];
        let mut n = 0;
        for (operand, value) in inst.operands() {
            // The tables call the destination of s_movreld a source: which register is written depends on M0.
            if operand.access.writes() || (operand.field == Field::Sdst && info.base.starts_with("s_movreld")) {
                op.sdst = destination_of(inst, value)?;
                continue;
            }
            let source = match value {
                Operand::Reg(range) => {
                    let code = code_of(range.first);
                    u16::from(code.ok_or_else(|| format!("{} cannot read {range}", info.mnemonic))?)
                }
                Operand::Special(code @ 251..=253) => self.flag_source(code, operand.units, n),
                Operand::Special(code @ 230..=231) if !gfx9 => code,
                Operand::Special(code) => {
                    let value = special_constant(code)
                        .ok_or_else(|| format!("{}: source {code} is not modelled", info.mnemonic))?;
                    constant(&mut op, &mut free, if operand.units == 2 { value } else { value >> 32 })?
                }
                Operand::Inline(_) | Operand::Literal(_) | Operand::Literal64(_) => {
                    let value = value.bits(operand.ty).or(match value {
                        Operand::Literal(l) => Some(l.into()),
                        Operand::Literal64(l) => Some(l),
                        Operand::Inline(code) => crate::registers::inline_constant32(code as u8).map(u64::from),
                        _ => None,
                    });
                    let value = value.ok_or_else(|| format!("{}: a constant has no value", info.mnemonic))?;
                    constant(&mut op, &mut free, value)?
                }
                Operand::Imm(value) => {
                    if operand.field == Field::Simm16 {
                        continue;
                    }
                    if info.base.starts_with("s_sendmsg_rtn") {
                        op.imm2 = value as u64;
                        op.imm = if info.base.ends_with("64") { 64 } else { 32 };
                        continue;
                    }
                    // The index mode of s_set_gpr_idx_on, and fixed literals.
                    if isa_op == IsaOp::SSetGprIdxOn {
                        op.imm = value as u64;
                        free[0] = false;
                        continue;
                    }
                    constant(&mut op, &mut free, value as u64)?
                }
            };
            if n < 3 {
                op.src[n] = source;
                n += 1;
            }
        }
        let ending = if info.flags.intersects(Flags::BRANCH | Flags::COND_BRANCH) || isa_op == IsaOp::SCallB64 {
            Ending::Branch { taken: inst.branch_target(pc) }
        } else if info.flags.intersects(Flags::INDIRECT | Flags::END | Flags::BARRIER)
            || matches!(
                isa_op,
                IsaOp::SSleep | IsaOp::SSleepVar | IsaOp::SMonitorSleep | IsaOp::SSetpcB64 | IsaOp::SSwappcB64 | IsaOp::SAddPcI64 | IsaOp::SBarrier | IsaOp::SSetkill
                    // What a block has defined is lost.
                    | IsaOp::SAllocVgpr
            )
            || isa_op.name().starts_with("s_endpgm")
        {
            Ending::Stop
        } else {
            Ending::Open
        };
        match isa_op {
            IsaOp::SSetGprIdxOn => self.index_mode = op.imm as u8 & 15,
            IsaOp::SSetGprIdxMode => self.index_mode = op.imm as u8 & 15,
            IsaOp::SSetGprIdxOff => self.index_mode = 0,
            _ => {}
        }
        if scalar::orders(inst) {
            self.push_handler(scalar::wait, Op { kind: Kind::FENCE, ..Op::NOTHING }, 1);
        } else if !scalar::is_idle(isa_op) {
            self.push_handler(run, Op { kind: Kind::of(isa_op), ..op }, 1);
        }
        Ok(Some(ending))
    }

    fn scalar_memory(&mut self, inst: &Inst) -> Result<Option<Ending>, String> {
        let info = inst.info();
        if has_no_effect(info.op()) {
            return Ok(Some(Ending::Open));
        }
        let Some(run) = smem::lookup(info.op()) else {
            return Err(super::absent(info));
        };
        let mut op = Op { src: [NONE; 3], kind: Kind::of(info.op()), ..Op::NOTHING };
        for (operand, value) in inst.operands() {
            match (operand.field, value) {
                (Field::Sdata, Operand::Special(super::NULL)) => {
                    return Err(format!("{} to null is not modelled", info.mnemonic));
                }
                (Field::Sdata, Operand::Reg(range)) => {
                    op.sdst = code_of(range.first).ok_or_else(|| format!("{} on {range}", info.mnemonic))?;
                    op.imm2 = u64::from(range.count);
                }
                (Field::Sbase, Operand::Reg(range)) => {
                    op.src[0] = code_of(range.first).ok_or_else(|| format!("{} on {range}", info.mnemonic))?.into();
                }
                (_, Operand::Reg(range)) => {
                    op.src[1] = code_of(range.first).ok_or_else(|| format!("{} on {range}", info.mnemonic))?.into();
                }
                (_, Operand::Imm(offset)) => op.imm = offset as u64,
                _ => {}
            }
        }
        if let Some((_, name)) = info.base.split_once("atomic_") {
            let unknown = || format!("the mock device does not implement {}", info.mnemonic);
            let (atomic, words) = Atomic::from_name(name).ok_or_else(unknown)?;
            op.imm2 = Encoded::new(Action::Atomic(atomic, info.flags.contains(Flags::ATOMIC_RETURN)), words).0;
        }
        if inst.field(Field::Imm) == Some(1) {
            // 21 bits, signed.
            let raw = inst.field(Field::Offset).unwrap_or(0);
            op.imm = i64::from(((raw << 11) as i32) >> 11) as u64;
        }
        if info.base.starts_with("s_scratch_") {
            op.dst = 64;
        }
        if inst.field(Field::ScaleOffset) == Some(1) {
            let bytes = match info.base.rsplit_once('_') {
                Some((_, "u8" | "i8")) => 1,
                Some((_, "u16" | "i16")) => 2,
                _ => 4 * op.imm2 as u16,
            };
            if op.src[1] == NONE {
                return Err(format!("{}: what scale_offset scales here is not known", info.mnemonic));
            }
            op.dst = bytes;
        }
        self.push_handler(run, op, 1);
        Ok(Some(Ending::Open))
    }
}
