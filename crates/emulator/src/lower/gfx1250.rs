//! Memory instructions that gfx1250 adds.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::{Field, Inst, Operand};

use super::memory::{Fields, bytes, flat_op};
use super::{Builder, code_of};
use crate::mem::flat::{self, Encoded, NO_ROW};
use crate::mem::{Action, Transfer, action, gfx1250, tensor_ops};
use crate::op::{Handler, Op};
use crate::scalar::NONE;

/// Room for what is on its way, and for whatever registers an instruction has.
const WIDEST: u16 = 8;

impl Builder {
    /// False if it is none of them.
    pub(super) fn flat_of_gfx1250(&mut self, inst: &Inst, fields: &Fields) -> Result<bool, String> {
        let info = inst.info();
        let unknown = || format!("the mock device does not implement {}", info.mnemonic);
        let (segment, suffix) = info.base.split_once('_').ok_or_else(unknown)?;
        let (run, action, words): (Handler, Action, u8) = if let Some((run, words)) = gfx1250::transposing(info.op()) {
            (run, Action::Load(Transfer::Words), words)
        } else if let Some(width) = suffix.strip_prefix("load_async_to_lds_") {
            let width = if width == "b8" { "u8" } else { width };
            let (action, words) = action(&format!("load_{width}"), true).ok_or_else(unknown)?;
            (if segment == "cluster" { gfx1250::cluster_load_to_lds } else { gfx1250::load_to_lds }, action, words)
        } else if let Some(width) = suffix.strip_prefix("store_async_from_lds_") {
            let (action, words) = action(&format!("store_{width}"), false).ok_or_else(unknown)?;
            (gfx1250::store_from_lds, action, words)
        } else if let Some(width) = suffix.strip_prefix("load_monitor_") {
            let (action, words) = action(&format!("load_{width}"), true).ok_or_else(unknown)?;
            (if segment == "flat" { flat::flat } else { flat::global }, action, words)
        } else if segment == "cluster" {
            let (action, words) = action(suffix, true).ok_or_else(unknown)?;
            (gfx1250::cluster_load, action, words)
        } else {
            return Ok(false);
        };
        if fields.addr == NO_ROW {
            return Err(unknown());
        }
        let op = flat_op(inst, fields, segment, Some(bytes(action, words)))?;
        self.push_handler(run, Op { imm2: Encoded::new(action, words).0, ..op }, WIDEST);
        Ok(true)
    }

    /// The tensor data mover; false if the instruction is none of its.
    pub(super) fn tensor(&mut self, inst: &Inst) -> Result<bool, String> {
        let run: Handler = match inst.info().op() {
            IsaOp::TensorLoadToLds => tensor_ops::load,
            IsaOp::TensorStoreFromLds => tensor_ops::store,
            IsaOp::TensorSave | IsaOp::TensorStop => {
                return Err(format!("{} is not modelled: no wave is saved and restored", inst.info().mnemonic));
            }
            _ => return Ok(false),
        };
        let group = |field| match inst.operand_in(field) {
            Some(Operand::Reg(range)) => code_of(range.first),
            _ => None,
        };
        let (Some(first), Some(second)) = (group(Field::Vaddr), group(Field::Vaddr1)) else {
            return Err(format!("{} needs the first two groups of its descriptor", inst.info().mnemonic));
        };
        let higher = [group(Field::Vaddr2), group(Field::Vaddr3)].map(|code| code.map_or(NONE, u16::from));
        let op = Op { sdst: first, ssrc: second, src: [higher[0], higher[1], NONE], ..Op::NOTHING };
        self.push_handler(run, op, 1);
        Ok(true)
    }
}
