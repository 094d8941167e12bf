//! A basic block.

use std::sync::Arc;

use luthier_isa::RegSet;
use luthier_lifter::{BlockId, Terminator};
use pyo3::prelude::*;

use super::live::FunctionLive;
use super::{PyFunction, PyInstructions, PyLoop, PyRegister, Shared, hash_of, identity};
use crate::error::guard;

/// A basic block: when its first instruction runs, all of them do.
#[pyclass(name = "Block", module = "luthier._core", frozen)]
pub struct PyBlock {
    pub program: Arc<Shared>,
    pub id: BlockId,
}

#[pymethods]
impl PyBlock {
    /// Its place in :attr:`Program.blocks`.
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }
    /// Of its first instruction.
    #[getter]
    fn address(&self) -> u64 {
        self.program.program.block_vaddr(self.id)
    }
    /// Within its function, from 0.
    #[getter]
    fn number(&self) -> u32 {
        self.program.program.block_number(self.id)
    }
    /// The function it belongs to.
    #[getter]
    fn function(&self) -> PyFunction {
        PyFunction { program: self.program.clone(), id: self.inner().func }
    }
    /// How it ends: ``fallthrough``, ``branch``, ``cond_branch``, ``call``, ``return``, ``jump``, ``end``, ...
    #[getter]
    fn terminator(&self) -> &'static str {
        match self.inner().terminator {
            Terminator::Fallthrough => "fallthrough",
            Terminator::Branch => "branch",
            Terminator::CondBranch => "cond_branch",
            Terminator::Call => "call",
            Terminator::Return { .. } => "return",
            Terminator::Jump => "jump",
            Terminator::UnknownJump => "unknown_jump",
            Terminator::End => "end",
            Terminator::Trap => "trap",
            Terminator::Unsupported => "unsupported",
            Terminator::OffEnd => "off_end",
        }
    }
    /// Where control may go from here; of a conditional branch, the taken one first.
    #[getter]
    fn successors(&self) -> Vec<PyBlock> {
        self.others(self.program.program.succs(self.id))
    }
    /// Where control may come from.
    #[getter]
    fn predecessors(&self) -> Vec<PyBlock> {
        self.others(self.program.program.preds(self.id))
    }
    /// At least one.
    #[getter]
    fn instructions(&self) -> PyInstructions {
        let ids = self.inner().instrs;
        PyInstructions::new(self.program.clone(), [ids])
    }
    /// Registers whose values at the block's start may still be read, neighbours joined.
    #[getter]
    fn live_in(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::at_start)
    }
    /// The same at its end.
    #[getter]
    fn live_out(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::at_end)
    }
    /// The innermost loop that it is in.
    #[getter]
    fn r#loop(&self, py: Python<'_>) -> PyResult<Option<PyLoop>> {
        guard(py, || Ok(PyLoop::around(self)))
    }
    fn __len__(&self) -> usize {
        self.inner().instrs.len()
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    fn __hash__(&self) -> u64 {
        hash_of(self.key())
    }
    fn __repr__(&self) -> String {
        format!("<Block at {:#x}, {} instructions>", self.address(), self.__len__())
    }
}

impl PyBlock {
    fn inner(&self) -> &luthier_lifter::Block {
        self.program.program.block(self.id)
    }
    fn others(&self, ids: &[BlockId]) -> Vec<PyBlock> {
        ids.iter().map(|&id| PyBlock { program: self.program.clone(), id }).collect()
    }
    fn key(&self) -> (usize, u32) {
        identity(&self.program, self.id.0)
    }
    fn live(&self, py: Python<'_>, get: impl Fn(&FunctionLive, BlockId) -> RegSet + Sync) -> PyResult<Vec<PyRegister>> {
        guard(py, || Ok(PyRegister::all_of(&get(&self.program.live(self.inner().func), self.id))))
    }
}
