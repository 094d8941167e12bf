//! VOPD: two operations of one instruction, both of which read their sources before either writes.

use luthier_isa::{Field, Inst, Operand, OperandInfo};

use super::prepare::Copy;
use super::{Builder, row_of};
use crate::names;
use crate::op::Op;
use crate::valu;
use crate::wave::scalar;

/// One of the two.
struct Part {
    /// The micro-op, its sources in rows.
    op: Op,
    dst: u16,
}

impl Builder {
    pub(super) fn dual(&mut self, inst: &Inst) -> Result<(), String> {
        let unknown = |name: &str| format!("the mock device does not implement {name}");
        let (first, second) = inst.info().mnemonic.split_once(" :: ").ok_or_else(|| unknown(inst.info().mnemonic))?;
        // The second half's operands start at its destination.
        let split = inst.info().operands.iter().position(|o| o.field == Field::VdstY);
        let split = split.ok_or_else(|| unknown(inst.info().mnemonic))?;
        let operands: Vec<_> = inst.operands().collect();
        let x = self.half(inst, first, &operands[..split])?;
        let y = self.half(inst, second, &operands[split..])?;
        let reads = |part: &Part, row: u16| part.op.src.contains(&row);
        let (x_op, y_op) = (Op { dst: x.dst, ..x.op }, Op { dst: y.dst, ..y.op });
        if !reads(&y, x.dst) && x.dst != y.dst {
            self.push(x_op, 1);
            self.push(y_op, 1);
            return Ok(());
        }
        if !reads(&x, y.dst) {
            self.push(y_op, 1);
            self.push(x_op, 1);
            return Ok(());
        }
        // The first one's result waits in a row of its own until the second one has read its sources.
        let temp = self.temp(1)?;
        self.push(Op { dst: temp, ..x.op }, 1);
        self.push(y_op, 1);
        self.push_kernel::<Copy>(Op { dst: x.dst, src: [temp, 0, 0], ..Op::NOTHING }, 1);
        Ok(())
    }

    fn half(&mut self, inst: &Inst, name: &str, operands: &[(&'static OperandInfo, Operand)]) -> Result<Part, String> {
        let unknown = || format!("the mock device does not implement {name}");
        let single = name.replacen("v_dual_", "v_", 1);
        let valu = valu::lookup(names::on_gfx9(&single)).ok_or_else(unknown)?;
        let mut op = Op { run: valu.variants.select(), ssrc: scalar::VCC, ..Op::NOTHING };
        let mut dst = None;
        let mut n = 0;
        for &(operand, value) in operands {
            if operand.access.writes() {
                dst = value.reg().and_then(|range| row_of(range.first));
                continue;
            }
            op.src[n.min(2)] = self.source(inst, operand, value)?;
            n += 1;
        }
        let dst = dst.ok_or_else(unknown)?;
        if valu.accumulates {
            op.src[2] = dst;
        }
        Ok(Part { op, dst })
    }
}
