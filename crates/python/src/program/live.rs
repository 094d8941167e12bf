//! The live registers of a function at every point of it.
//!
//! Working them out takes a fixpoint over the whole function, and code that asks at one point of a function mostly asks
//! at the next one too. So the answers for one function, the one asked for last, are kept.

use std::sync::{Arc, PoisonError};

use luthier_isa::RegSet;
use luthier_lifter::{BlockId, FuncId, InstrId, Liveness, Program};

use super::Shared;

/// Registers that are live in any lane.
pub struct FunctionLive {
    func: FuncId,
    first_block: BlockId,
    /// At the start and at the end of each block.
    blocks: Vec<(RegSet, RegSet)>,
    first_instr: InstrId,
    /// Before and behind each instruction.
    points: Vec<(RegSet, RegSet)>,
}

impl FunctionLive {
    fn of(program: &Program, func: FuncId) -> FunctionLive {
        let liveness = Liveness::of(program, func);
        let blocks = program.function(func).blocks;
        FunctionLive {
            func,
            first_block: blocks.first,
            blocks: blocks.iter().map(|block| (liveness.live_in(block), liveness.live_out(block))).collect(),
            first_instr: program.function_instrs(func).first,
            points: blocks
                .iter()
                .flat_map(|block| {
                    let points = liveness.points(block);
                    points.iter().map(|point| (point.before.any(), point.after.any())).collect::<Vec<_>>()
                })
                .collect(),
        }
    }

    pub fn at_start(&self, block: BlockId) -> RegSet {
        self.blocks[(block.0 - self.first_block.0) as usize].0
    }
    pub fn at_end(&self, block: BlockId) -> RegSet {
        self.blocks[(block.0 - self.first_block.0) as usize].1
    }
    pub fn before(&self, instr: InstrId) -> RegSet {
        self.points[(instr.0 - self.first_instr.0) as usize].0
    }
    pub fn after(&self, instr: InstrId) -> RegSet {
        self.points[(instr.0 - self.first_instr.0) as usize].1
    }
}

impl Shared {
    /// The live registers of a function of the program.
    pub fn live(&self, func: FuncId) -> Arc<FunctionLive> {
        let kept = self.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(kept) = kept.filter(|kept| kept.func == func) {
            return kept;
        }
        // Without the lock: another thread may want another function.
        let found = Arc::new(FunctionLive::of(&self.program, func));
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }
}
