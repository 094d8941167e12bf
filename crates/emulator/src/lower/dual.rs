//! VOPD: two operations of one instruction. Both read their sources before either writes.

use luthier_isa::op::Op as IsaOp;
use luthier_isa::{DataType, Field, Format, Generation, Inst, Operand, OperandInfo};

use super::prepare::{AndXor, Copy};
use super::{Builder, code_of};
use crate::op::{Kind, Op};
use crate::registers::{rows, scalar};
use crate::valu;

/// One of the two.
struct Part {
    /// The micro-op, its sources in rows.
    op: Op,
    dst: u16,
    /// Rows of the result.
    units: u16,
}

/// Where the three words of one of the two have their modifiers and their truth table.
struct Places {
    neg: Field,
    third: Field,
}

impl Builder {
    pub(super) fn dual(&mut self, inst: &Inst) -> Result<(), String> {
        let unknown = |name: &str| format!("the mock device does not implement {name}");
        let (first, second) = inst.info().mnemonic.split_once(" :: ").ok_or_else(|| unknown(inst.info().mnemonic))?;
        // The second half's operands start at its destination.
        let split = inst.info().operands.iter().position(|o| o.field == Field::VdstY);
        let split = split.ok_or_else(|| unknown(inst.info().mnemonic))?;
        let operands: Vec<_> = inst.operands().collect();
        let x = Places { neg: Field::NegX, third: Field::Vsrc2X };
        let y = Places { neg: Field::NegY, third: Field::Vsrc2Y };
        let x = self.half(inst, first, &operands[..split], &x)?;
        let y = self.half(inst, second, &operands[split..], &y)?;
        let single = x.units == 1 && y.units == 1;
        let reads = |part: &Part, row: u16| part.op.src.contains(&row);
        let (x_op, y_op) = (Op { dst: x.dst, ..x.op }, Op { dst: y.dst, ..y.op });
        if single && !reads(&y, x.dst) && x.dst != y.dst {
            self.push(x_op, 1);
            self.push(y_op, 1);
            return Ok(());
        }
        if single && !reads(&x, y.dst) {
            self.push(y_op, 1);
            self.push(x_op, 1);
            return Ok(());
        }
        // The first one's result waits in rows of its own until the second one has read its sources.
        let temp = self.temp(x.units)?;
        self.push(Op { dst: temp, ..x.op }, 2);
        self.push(y_op, 2);
        for k in 0..x.units {
            self.push_kernel::<Copy>(Op { dst: x.dst + k, src: [temp + k, 0, 0], ..Op::NOTHING }, 1);
        }
        Ok(())
    }

    fn half(
        &mut self,
        inst: &Inst,
        name: &str,
        operands: &[(&'static OperandInfo, Operand)],
        places: &Places,
    ) -> Result<Part, String> {
        let unknown = || format!("the mock device does not implement {name}");
        // Two sources and a table for three; the third source is zero.
        let table = (name == "v_dual_bitop2_b32").then(|| inst.field(places.third)).flatten();
        let single = if table.is_some() { "v_bitop3_b32".to_owned() } else { name.replacen("v_dual_", "v_", 1) };
        let (valu, kind) = match IsaOp::from_name(&single) {
            Some(operation) => (valu::lookup(operation).ok_or_else(unknown)?, Kind::of(operation)),
            None if single == "v_dot2acc_f32_bf16" => (valu::dot::dot2acc_f32_bf16(), Kind::OPAQUE),
            None => return Err(unknown()),
        };
        let mut op = Op { run: valu.variants.select(), ssrc: scalar::VCC, kind, ..Op::NOTHING };
        op.imm = table.unwrap_or(0).into();
        let (mut dst, mut units) = (None, 1);
        let mut n = 0;
        for &(operand, value) in operands {
            if operand.access.writes() {
                dst = value.reg().and_then(|range| self.limits.row_of(range.first));
                units = u16::from(operand.units.max(1));
                continue;
            }
            // The mask of v_cndmask, where it is not VCC.
            if let (Field::Vsrc2X | Field::Vsrc2Y, Operand::Reg(range)) = (operand.field, value)
                && self.limits.row_of(range.first).is_none()
            {
                op.ssrc = code_of(range.first).ok_or_else(|| format!("{name}: mask in {range}"))?;
                continue;
            }
            let row = match (pair_of(inst, name, value), n) {
                (Some(bits), 0) => self.splat_constant(bits, 1)?,
                _ => self.source(inst, operand, value)?,
            };
            op.src[n.min(2)] = self.negated(inst, name, operand, places, n, row)?;
            n += 1;
        }
        let dst = dst.ok_or_else(unknown)?;
        if table.is_some() {
            op.src[2] = rows::CONST;
        }
        if valu.accumulates {
            op.src[2] = dst;
        }
        Ok(Part { op, dst, units })
    }

    /// Source `n` of one of the two with the sign that its modifier gives it.
    fn negated(
        &mut self,
        inst: &Inst,
        name: &str,
        operand: &OperandInfo,
        places: &Places,
        n: usize,
        row: u16,
    ) -> Result<u16, String> {
        if inst.info().format != Format::Vopd3 || inst.field(places.neg).unwrap_or(0) >> n & 1 == 0 {
            return Ok(row);
        }
        if name.contains("dot2") {
            return Err(format!("{name}: negating a pair is not modelled"));
        }
        let units = u16::from(operand.units.max(1));
        let temp = self.temp(units)?;
        for k in 0..units {
            let sign = if k + 1 == units { 1 << 31 } else { 0 };
            let op = Op { dst: temp + k, src: [row + k, 0, 0], imm: 0xffff_ffff, imm2: sign, ..Op::NOTHING };
            self.push_kernel::<AndXor>(op, 1);
        }
        Ok(temp)
    }
}

/// A constant that is a source of a dot product is in both halves: measured on gfx1100 and gfx1201 (see
/// [`crate::fp::dot`]).
fn pair_of(inst: &Inst, name: &str, value: Operand) -> Option<u64> {
    let measured = matches!(inst.info().mode.target().generation(), Generation::Gfx11 | Generation::Gfx12);
    let ty = match name {
        "v_dual_dot2acc_f32_f16" => DataType::F16,
        "v_dual_dot2acc_f32_bf16" => DataType::Bf16,
        _ => return None,
    };
    let is_inline = measured && matches!(value, Operand::Inline(_));
    value.bits(ty).filter(|_| is_inline).map(|bits| (bits & 0xffff) * 0x1_0001)
}
