//! The loops of a function.

use std::sync::{Arc, PoisonError};

use luthier_lifter::{BlockIds, FuncId, LoopForest, LoopId};
use pyo3::prelude::*;

use super::{PyBlock, PyBlocks, Shared, hash_of, identity};

/// The loops of the function asked for last, which is mostly the one asked for next.
pub struct FunctionLoops {
    func: FuncId,
    forest: LoopForest,
}

impl Shared {
    pub fn loops(&self, func: FuncId) -> Arc<FunctionLoops> {
        let kept = self.loops.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(kept) = kept.filter(|kept| kept.func == func) {
            return kept;
        }
        let found = Arc::new(FunctionLoops { func, forest: LoopForest::of(&self.program, func) });
        *self.loops.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        found
    }
}

/// A natural loop: blocks that control goes round in, and enters through one of them only.
#[pyclass(name = "Loop", module = "luthier._core", frozen)]
pub struct PyLoop {
    program: Arc<Shared>,
    loops: Arc<FunctionLoops>,
    id: LoopId,
}

#[pymethods]
impl PyLoop {
    /// The block that it is entered through.
    #[getter]
    fn header(&self) -> PyBlock {
        PyBlock { program: self.program.clone(), id: self.inner().header }
    }
    /// 1 for a loop in no other.
    #[getter]
    fn depth(&self) -> u32 {
        self.inner().depth
    }
    /// The next loop around it.
    #[getter]
    fn parent(&self) -> Option<PyLoop> {
        self.inner().parent.map(|id| self.other(id))
    }
    /// Its blocks, those of inner loops included, by address.
    #[getter]
    fn blocks(&self) -> PyBlocks {
        let mut members = self.loops.forest.members(self.id).to_vec();
        members.sort_unstable();
        PyBlocks::new(self.program.clone(), members.iter().map(|block| BlockIds::new(block.0, block.0 + 1)))
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    fn __hash__(&self) -> u64 {
        hash_of(self.key())
    }
    fn __repr__(&self) -> String {
        let header = self.program.program.block_vaddr(self.inner().header);
        format!("<Loop at {header:#x}, depth {}>", self.inner().depth)
    }
}

impl PyLoop {
    /// All loops of a function, and the innermost around a block.
    pub fn all_of(program: &Arc<Shared>, func: FuncId) -> Vec<PyLoop> {
        let loops = program.loops(func);
        let ids = (0..loops.forest.loops().len() as u32).map(LoopId);
        ids.map(|id| PyLoop { program: program.clone(), loops: loops.clone(), id }).collect()
    }
    pub fn around(block: &PyBlock) -> Option<PyLoop> {
        let program = &block.program;
        let loops = program.loops(program.program.block(block.id).func);
        let id = loops.forest.of_block(block.id)?;
        Some(PyLoop { program: program.clone(), loops, id })
    }
    fn other(&self, id: LoopId) -> PyLoop {
        PyLoop { program: self.program.clone(), loops: self.loops.clone(), id }
    }
    fn inner(&self) -> &luthier_lifter::Loop {
        self.loops.forest.get(self.id)
    }
    /// A block is the header of one loop only.
    fn key(&self) -> (usize, u32) {
        identity(&self.program, self.inner().header.0)
    }
}
