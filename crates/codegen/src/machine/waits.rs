//! Waiting for memory results: the instructions that bring a set of counters down.

use luthier_isa::op::Op;
use luthier_isa::{EncodeError, Field, Generation, Inst};
use luthier_lifter::Wait;

use super::Machine;

impl Machine {
    /// The instructions that wait for this.
    pub fn wait(&self, wait: Wait) -> Result<Vec<Inst>, EncodeError> {
        let generation = self.mode.target().generation();
        let one = |op: Op, value: u32| -> Result<Inst, EncodeError> {
            let missing = EncodeError::NoField { mnemonic: op.name(), field: Field::Simm16 };
            let mut inst = Inst::new(self.mode.plain(op).ok_or(missing)?);
            inst.set_field(Field::Simm16, value)?;
            Ok(inst)
        };
        if generation < Generation::Gfx12 {
            let together = Wait { vscnt: None, ..wait };
            return if together.is_none() {
                Ok(Vec::new())
            } else {
                Ok(vec![one(Op::SWaitcnt, wait.encode_for(generation).into())?])
            };
        }
        [
            (Op::SWaitLoadcnt, wait.vmcnt),
            (Op::SWaitSamplecnt, wait.samplecnt),
            (Op::SWaitBvhcnt, wait.bvhcnt),
            (Op::SWaitDscnt, wait.dscnt),
            (Op::SWaitKmcnt, wait.kmcnt),
            (Op::SWaitExpcnt, wait.expcnt),
        ]
        .into_iter()
        .filter_map(|(op, value)| value.map(|value| one(op, value.into())))
        .collect()
    }
}
