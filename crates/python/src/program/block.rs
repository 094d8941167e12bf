//! A basic block.

use std::sync::Arc;

use luthier_isa::RegSet;
use luthier_lifter::{BlockId, Terminator};
use pyo3::prelude::*;

use super::live::FunctionLive;
use super::{PyFunction, PyInstructions, PyLoop, PyRegister, Shared, hash_of, identity};
use crate::error::guard;

#[pyclass(name = "Block", module = "luthier._core", frozen)]
pub struct PyBlock {
    pub program: Arc<Shared>,
    pub id: BlockId,
}

#[pymethods]
impl PyBlock {
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }
    #[getter]
    fn address(&self) -> u64 {
        self.program.program.block_vaddr(self.id)
    }
    #[getter]
    fn number(&self) -> u32 {
        self.program.program.block_number(self.id)
    }
    #[getter]
    fn function(&self) -> PyFunction {
        PyFunction { program: self.program.clone(), id: self.inner().func }
    }
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
    #[getter]
    fn successors(&self) -> Vec<PyBlock> {
        self.others(self.program.program.succs(self.id))
    }
    #[getter]
    fn predecessors(&self) -> Vec<PyBlock> {
        self.others(self.program.program.preds(self.id))
    }
    #[getter]
    fn instructions(&self) -> PyInstructions {
        let ids = self.inner().instrs;
        PyInstructions::new(self.program.clone(), [ids])
    }
    #[getter]
    fn live_in(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::at_start)
    }
    #[getter]
    fn live_out(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::at_end)
    }
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
