//! A function.

use std::sync::Arc;

use luthier_isa::hazard::Missing;
use luthier_lifter::hazards::{TooEarly, too_early};
use luthier_lifter::{FuncId, FunctionKind};
use pyo3::prelude::*;

use super::{PyBlocks, PyInstructions, PyLoop, Shared, hash_of, identity};
use crate::error::guard;

/// An instruction that comes too early, the other one, the rule, what was done there, and what is missing.
type Early = (u64, u64, &'static str, String, String);

/// A kernel's code or a device function.
#[pyclass(name = "Function", module = "luthier._core", frozen)]
pub struct PyFunction {
    pub program: Arc<Shared>,
    pub id: FuncId,
}

#[pymethods]
impl PyFunction {
    /// Its place in :attr:`Program.functions`.
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }
    /// The symbol's name, or ``sub_ADDRESS``.
    #[getter]
    fn name(&self) -> &str {
        &self.inner().name
    }
    /// Of its first instruction, as the code object states it.
    #[getter]
    fn address(&self) -> u64 {
        self.inner().vaddr
    }
    /// In bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.inner().size
    }
    /// ``kernel`` or ``device``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner().kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "device",
        }
    }
    /// Of an instrumented copy, the address of the original; else None.
    #[getter]
    fn copied_from(&self) -> Option<u64> {
        self.program.program.copied_from(self.id)
    }
    /// Why it cannot be instrumented, if it cannot.
    #[getter]
    fn refusal(&self) -> Option<&str> {
        self.inner().refusal.as_deref()
    }
    /// Its basic blocks, by address.
    #[getter]
    fn blocks(&self) -> PyBlocks {
        let ids = self.inner().blocks;
        PyBlocks::new(self.program.clone(), [ids])
    }
    /// Its instructions, by address.
    #[getter]
    fn instructions(&self) -> PyInstructions {
        let ids = self.program.program.function_instrs(self.id);
        PyInstructions::new(self.program.clone(), [ids])
    }
    /// The address of each call and the name of the function called, None where it is not known.
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
    /// The functions that it is known to call or to jump to, each once.
    #[getter]
    fn callees(&self) -> Vec<PyFunction> {
        self.program.program.callees(self.id).iter().map(|&id| self.other(id)).collect()
    }
    /// The functions that are known to call it.
    #[getter]
    fn callers(&self) -> Vec<PyFunction> {
        let program = &self.program.program;
        let ids = program.function_ids().filter(|&id| program.callees(id).contains(&self.id));
        ids.map(|id| self.other(id)).collect()
    }
    /// Addresses other than the function's own where control may come in from outside: jumps into it, and the second
    /// entry of a kernel with preloaded arguments.
    #[getter]
    fn entered_inside(&self) -> Vec<u64> {
        self.inner().entered_inside.iter().chain(&self.inner().second_entry).copied().collect()
    }
    /// It calls or jumps somewhere that is not known.
    #[getter]
    fn has_unresolved_calls(&self) -> bool {
        self.program.program.has_unresolved(self.id)
    }
    /// Its natural loops. A cycle with more ways in than one is none.
    #[getter]
    fn loops(&self, py: Python<'_>) -> PyResult<Vec<PyLoop>> {
        guard(py, || Ok(PyLoop::all_of(&self.program, self.id)))
    }
    /// The instructions that come too early behind others, on some way through the function: the address, the other one's, the
    /// rule, what was done there, and what is missing. See :mod:`luthier.objects.missing_hazards`.
    fn too_early(&self, py: Python<'_>) -> PyResult<Vec<Early>> {
        guard(py, || {
            let program = &self.program.program;
            let told = |early: TooEarly| {
                let Missing { rule, what, remedy, first } = early.missing;
                (program.vaddr(early.instr), first, rule, what, remedy.to_string())
            };
            Ok(too_early(program, self.id).into_iter().map(told).collect())
        })
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
