//! Floating-point operations on scalars: RDNA3.5's SALU, RDNA4's `v_s_*`.
//!
//! They compute what their vector counterparts do, so they are run as these, in rows of their own with all lanes on.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::{DataType, Field, Inst};

use super::prepare::{AndXor, Extract};
use super::vector::target_is_half;
use super::{Builder, destination_of};
use crate::op::{Flow, Op};
use crate::registers::scalar;
use crate::valu;
use crate::wave::Wave;

/// Switches all lanes on.
fn widen(w: &mut Wave, _op: &Op) -> Flow {
    w.saved_exec = w.exec();
    w.set_exec(!0);
    Flow::Next
}

/// The scalar sdst = lane 0 of src0; EXEC as it was, unless that is sdst.
fn take(w: &mut Wave, op: &Op) -> Flow {
    w.set_exec(w.saved_exec);
    w.s[usize::from(op.sdst)] = w.row(op.src[0]).0[0];
    Flow::Next
}

/// As [`take`], 16 bits: the upper half of sdst stays.
fn take_half(w: &mut Wave, op: &Op) -> Flow {
    w.set_exec(w.saved_exec);
    let (value, to) = (w.row(op.src[0]).0[0], &mut w.s[usize::from(op.sdst)]);
    *to = *to & 0xffff_0000 | value & 0xffff;
    Flow::Next
}

/// SCC = lane 0 of a mask; EXEC as it was.
fn decide(w: &mut Wave, _op: &Op) -> Flow {
    let scc = w.s[usize::from(scalar::NULL_SINK)] & 1 != 0;
    w.set_scc(scc);
    w.set_exec(w.saved_exec);
    Flow::Next
}

/// The vector operation that does the same.
fn vector_operation(name: &str) -> Option<IsaOp> {
    let rest = name.strip_prefix("v_s_").or_else(|| name.strip_prefix("s_"))?;
    let is_float = rest.ends_with("_f32") || rest.ends_with("_f16") || rest.starts_with("cvt_f32_");
    if rest == "cvt_hi_f32_f16" {
        return Some(IsaOp::VCvtF32F16);
    }
    if is_float { IsaOp::from_name(&format!("v_{rest}")) } else { None }
}

impl Builder {
    /// False if it is no such operation.
    pub(super) fn scalar_float(&mut self, inst: &Inst) -> Result<bool, String> {
        let info = inst.info();
        let Some(valu) = vector_operation(info.base).and_then(valu::lookup) else { return Ok(false) };
        let compares = info.base.starts_with("s_cmp");
        let mut op = Op { run: valu.variants.select(), sdst: scalar::NULL_SINK, ..Op::NOTHING };
        let (mut destination, mut n) = (None, 0);
        for (operand, value) in inst.operands() {
            if operand.access.writes() {
                destination = Some(destination_of(inst, value)?);
                if operand.access.reads() || valu.accumulates {
                    op.src[2] = self.source(inst, operand, value)?;
                }
                continue;
            }
            let mut row = self.source(inst, operand, value)?;
            if info.op() == IsaOp::SCvtHiF32F16 {
                let temp = self.temp(1)?;
                self.push_kernel::<Extract>(Op { dst: temp, src: [row, 0, 0], imm: 16, imm2: 16, ..Op::NOTHING }, 1);
                row = temp;
            }
            // Only v_s_* have modifiers.
            let sign = if operand.ty == DataType::F16 { 0x8000 } else { 0x8000_0000u32 };
            let bit = |field| inst.field(field).unwrap_or(0) >> n & 1 != 0;
            let (absolute, negative) = (bit(Field::Abs), bit(Field::Neg));
            if absolute || negative {
                let temp = self.temp(1)?;
                let (and, xor) = (if absolute { !sign } else { !0 }, if negative { sign } else { 0 });
                let op = Op { dst: temp, src: [row, 0, 0], imm: and.into(), imm2: xor.into(), ..Op::NOTHING };
                self.push_kernel::<AndXor>(op, 1);
                row = temp;
            }
            op.src[n.min(2)] = row;
            n += 1;
        }
        self.push_handler(widen, Op::NOTHING, 1);
        let dst = self.temp(1)?;
        if valu.accumulates {
            let old = op.src[2];
            self.push_kernel::<AndXor>(Op { dst, src: [old, 0, 0], imm: 0xffff_ffff, ..Op::NOTHING }, 1);
        }
        op.dst = dst;
        self.push(op, 1);
        if compares {
            self.push_handler(decide, Op::NOTHING, 1);
            return Ok(true);
        }
        self.modify_result(inst, info.base, dst);
        let sdst = destination.ok_or_else(|| format!("{} writes nothing", info.mnemonic))?;
        let take: crate::op::Handler = if target_is_half(info.base) { take_half } else { take };
        self.push_handler(take, Op { src: [dst, 0, 0], sdst, ..Op::NOTHING }, 1);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_compute_what_vectors_do() {
        assert_eq!(vector_operation("s_add_f32").map(IsaOp::name), Some("v_add_f32"));
        assert_eq!(vector_operation("s_cvt_f32_i32").map(IsaOp::name), Some("v_cvt_f32_i32"));
        assert_eq!(vector_operation("s_cvt_pk_rtz_f16_f32").map(IsaOp::name), Some("v_cvt_pkrtz_f16_f32"));
        assert_eq!(vector_operation("v_s_exp_f32").map(IsaOp::name), Some("v_exp_f32"));
        assert_eq!(vector_operation("s_cmp_neq_f16").map(IsaOp::name), Some("v_cmp_neq_f16"));
        assert_eq!(vector_operation("s_add_u32"), None);
    }
}
