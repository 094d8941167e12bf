//! A function.

use std::sync::Arc;

use luthier_lifter::{FuncId, FunctionKind};
use pyo3::prelude::*;

use super::{PyBlocks, PyInstructions, PyLoop, Shared, hash_of, identity};
use crate::error::guard;

#[pyclass(name = "Function", module = "luthier._core", frozen)]
pub struct PyFunction {
    pub program: Arc<Shared>,
    pub id: FuncId,
}

#[pymethods]
impl PyFunction {
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }
    #[getter]
    fn name(&self) -> &str {
        &self.inner().name
    }
    #[getter]
    fn address(&self) -> u64 {
        self.inner().vaddr
    }
    #[getter]
    fn size(&self) -> u64 {
        self.inner().size
    }
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner().kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "device",
        }
    }
    #[getter]
    fn copied_from(&self) -> Option<u64> {
        self.program.program.copied_from(self.id)
    }
    #[getter]
    fn refusal(&self) -> Option<&str> {
        self.inner().refusal.as_deref()
    }
    #[getter]
    fn blocks(&self) -> PyBlocks {
        let ids = self.inner().blocks;
        PyBlocks::new(self.program.clone(), [ids])
    }
    #[getter]
    fn instructions(&self) -> PyInstructions {
        let ids = self.program.program.function_instrs(self.id);
        PyInstructions::new(self.program.clone(), [ids])
    }
    #[getter]
    fn calls(&self) -> Vec<(u64, Option<&str>)> {
        let program = &self.program.program;
        let calls = program.calls_of(self.id).iter();
        calls
            .map(|call| {
                let callee = call.callee.map(|f| program.function(f).name.as_str());
                (program.vaddr(call.instr), callee)
            })
            .collect()
    }
    #[getter]
    fn callees(&self) -> Vec<PyFunction> {
        self.program.program.callees(self.id).iter().map(|&id| self.other(id)).collect()
    }
    #[getter]
    fn callers(&self) -> Vec<PyFunction> {
        let program = &self.program.program;
        let ids = program.function_ids().filter(|&id| program.callees(id).contains(&self.id));
        ids.map(|id| self.other(id)).collect()
    }
    #[getter]
    fn entered_inside(&self) -> Vec<u64> {
        self.inner().entered_inside.iter().chain(&self.inner().second_entry).copied().collect()
    }
    #[getter]
    fn has_unresolved_calls(&self) -> bool {
        self.program.program.has_unresolved(self.id)
    }
    #[getter]
    fn loops(&self, py: Python<'_>) -> PyResult<Vec<PyLoop>> {
        guard(py, || Ok(PyLoop::all_of(&self.program, self.id)))
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    fn __hash__(&self) -> u64 {
        hash_of(self.key())
    }
    fn __repr__(&self) -> String {
        format!("<Function {} at {:#x}>", self.name(), self.address())
    }
}

impl PyFunction {
    fn inner(&self) -> &luthier_lifter::Function {
        self.program.program.function(self.id)
    }
    fn other(&self, id: FuncId) -> PyFunction {
        PyFunction { program: self.program.clone(), id }
    }
    fn key(&self) -> (usize, u32) {
        identity(&self.program, self.id.0)
    }
}
