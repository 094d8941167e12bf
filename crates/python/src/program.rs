//! Lifted code as Python sees it: a program, its functions, their blocks, their instructions.
//!
//! The objects hold the program and a number each, so that making one costs little.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use luthier_isa::{Flags, Inst, RegSet};
use luthier_lifter::{BlockId, FuncId, FunctionKind, InstrId, Liveness, Program, Terminator};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFrozenSet};

use crate::error::{Class, guard};
use crate::object::PyCodeObject;
use crate::text;

/// Instructions after which nothing runs at the next address, or not at once.
const LEAVES: Flags = Flags::BRANCH
    .union(Flags::COND_BRANCH)
    .union(Flags::INDIRECT)
    .union(Flags::CALL)
    .union(Flags::END)
    .union(Flags::TRAP);

#[pyclass(name = "Program", module = "luthier._core", frozen)]
pub struct PyProgram {
    inner: Arc<Program>,
}

#[pymethods]
impl PyProgram {
    #[new]
    fn new(py: Python<'_>, code_object: &PyCodeObject) -> PyResult<PyProgram> {
        let object = code_object.inner.clone();
        guard(py, move || {
            let inner = Program::lift(&object).map_err(|e| Class::Lift.error(e))?;
            Ok(PyProgram { inner: Arc::new(inner) })
        })
    }

    #[getter]
    fn functions(&self) -> Vec<PyFunction> {
        self.inner.function_ids().map(|id| self.function(id)).collect()
    }

    /// The kernel first, then the device functions that it may reach.
    #[pyo3(signature = (kernel=None))]
    fn select(&self, kernel: Option<&str>) -> PyResult<Vec<PyFunction>> {
        let Some(name) = kernel else { return Ok(self.functions()) };
        let id = self.inner.function_ids().find(|&id| {
            let function = self.inner.function(id);
            function.kind == FunctionKind::Kernel && function.name == name
        });
        let id = id.ok_or_else(|| Class::Argument.error(format!("there is no code of a kernel {name}")))?;
        let others = self.inner.reachable(id).into_iter().filter(|&other| other != id);
        Ok(std::iter::once(id).chain(others).map(|id| self.function(id)).collect())
    }

    fn disasm(&self, py: Python<'_>, function: &PyFunction) -> PyResult<String> {
        let (program, id) = (function.program.clone(), function.id);
        guard(py, move || Ok(text::function(&program, id)))
    }

    /// Functions, blocks, calls, liveness as JSON text.
    #[pyo3(signature = (kernel=None))]
    fn to_json(&self, py: Python<'_>, kernel: Option<&str>) -> PyResult<String> {
        let only: Option<Vec<FuncId>> = match kernel {
            None => None,
            Some(_) => Some(self.select(kernel)?.iter().map(|f| f.id).collect()),
        };
        guard(py, || {
            let document = luthier_lifter::export::document(&self.inner, only.as_deref());
            serde_json::to_string_pretty(&document).map_err(|e| Class::Internal.error(e))
        })
    }

    /// The control flow graph of a function for Graphviz.
    fn to_dot(&self, py: Python<'_>, function: &PyFunction) -> PyResult<String> {
        let (program, id) = (function.program.clone(), function.id);
        guard(py, move || Ok(luthier_lifter::export::dot(&program, id)))
    }

    fn remarks(&self) -> Vec<String> {
        let issues = self.inner.issues().iter().map(|issue| issue.to_string());
        let gaps = self.inner.gaps().iter().filter(|g| g.kind != luthier_lifter::GapKind::Padding);
        issues.chain(gaps.map(|g| format!("{:#x}: {} bytes in no function", g.vaddr, g.size))).collect()
    }

    fn __repr__(&self) -> String {
        let (functions, instrs) = (self.inner.functions().len(), self.inner.instrs().iter().len());
        format!("<Program of {functions} functions, {instrs} instructions>")
    }
}

impl PyProgram {
    fn function(&self, id: FuncId) -> PyFunction {
        PyFunction { program: self.inner.clone(), id }
    }
}

/// Two objects are equal when they stand for the same thing of the same program.
macro_rules! identity {
    ($ty:ident) => {
        impl $ty {
            fn key(&self) -> (usize, u32) {
                (Arc::as_ptr(&self.program).addr(), self.id.0)
            }
        }
    };
}
identity!(PyFunction);
identity!(PyBlock);
identity!(PyInstruction);

fn hash_of(key: (usize, u32)) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[pyclass(name = "Function", module = "luthier._core", frozen)]
pub struct PyFunction {
    program: Arc<Program>,
    id: FuncId,
}

#[pymethods]
impl PyFunction {
    #[getter]
    fn name(&self) -> &str {
        &self.program.function(self.id).name
    }
    #[getter]
    fn address(&self) -> u64 {
        self.program.function(self.id).vaddr
    }
    #[getter]
    fn size(&self) -> u64 {
        self.program.function(self.id).size
    }
    #[getter]
    fn kind(&self) -> &'static str {
        match self.program.function(self.id).kind {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "device",
        }
    }
    #[getter]
    fn refusal(&self) -> Option<&str> {
        self.program.function(self.id).refusal.as_deref()
    }
    #[getter]
    fn blocks(&self) -> Vec<PyBlock> {
        self.program.function(self.id).blocks.iter().map(|id| PyBlock { program: self.program.clone(), id }).collect()
    }
    #[getter]
    fn instructions(&self) -> Vec<PyInstruction> {
        let ids = self.program.function_instrs(self.id);
        ids.iter().map(|id| PyInstruction { program: self.program.clone(), id }).collect()
    }
    #[getter]
    fn calls(&self) -> Vec<(u64, Option<&str>)> {
        let calls = self.program.calls_of(self.id).iter();
        calls
            .map(|call| {
                let callee = call.callee.map(|f| self.program.function(f).name.as_str());
                (self.program.vaddr(call.instr), callee)
            })
            .collect()
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

#[pyclass(name = "Block", module = "luthier._core", frozen)]
pub struct PyBlock {
    program: Arc<Program>,
    id: BlockId,
}

#[pymethods]
impl PyBlock {
    #[getter]
    fn address(&self) -> u64 {
        self.program.block_vaddr(self.id)
    }
    #[getter]
    fn number(&self) -> u32 {
        self.program.block_number(self.id)
    }
    #[getter]
    fn function(&self) -> PyFunction {
        PyFunction { program: self.program.clone(), id: self.program.block(self.id).func }
    }
    #[getter]
    fn terminator(&self) -> &'static str {
        match self.program.block(self.id).terminator {
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
        self.program.succs(self.id).iter().map(|&id| PyBlock { program: self.program.clone(), id }).collect()
    }
    #[getter]
    fn predecessors(&self) -> Vec<PyBlock> {
        self.program.preds(self.id).iter().map(|&id| PyBlock { program: self.program.clone(), id }).collect()
    }
    #[getter]
    fn instructions(&self) -> Vec<PyInstruction> {
        let ids = self.program.block(self.id).instrs;
        ids.iter().map(|id| PyInstruction { program: self.program.clone(), id }).collect()
    }
    #[getter]
    fn live_in(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.live(py, |liveness, id| liveness.live_in(id))
    }
    #[getter]
    fn live_out(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.live(py, |liveness, id| liveness.live_out(id))
    }
    fn __len__(&self) -> usize {
        self.program.block(self.id).instrs.iter().len()
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
    fn live(&self, py: Python<'_>, get: impl Fn(&Liveness, BlockId) -> RegSet + Send + Sync) -> PyResult<Vec<String>> {
        guard(py, || {
            let liveness = Liveness::of(&self.program, self.program.block(self.id).func);
            Ok(text::registers(&get(&liveness, self.id)))
        })
    }
}

#[pyclass(name = "Instruction", module = "luthier._core", frozen)]
pub struct PyInstruction {
    program: Arc<Program>,
    id: InstrId,
}

#[pymethods]
impl PyInstruction {
    #[getter]
    fn address(&self) -> u64 {
        self.program.vaddr(self.id)
    }
    #[getter]
    fn size(&self) -> usize {
        self.inst().size()
    }
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut bytes = Vec::with_capacity(20);
        self.inst().encode_into(&mut bytes);
        PyBytes::new(py, &bytes)
    }
    #[getter]
    fn mnemonic(&self) -> &'static str {
        self.inst().info().mnemonic
    }
    #[getter]
    fn opcode(&self) -> &'static str {
        self.inst().info().base
    }
    #[getter]
    fn opcode_id(&self) -> u16 {
        self.inst().info().id.0
    }
    #[getter]
    fn text(&self) -> String {
        self.inst().to_string()
    }
    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.inst().info().flags.iter_names().map(|(name, _)| name.to_lowercase()))
    }
    #[getter]
    fn function(&self) -> PyFunction {
        PyFunction { program: self.program.clone(), id: self.program.func_of(self.id) }
    }
    #[getter]
    fn block(&self) -> PyBlock {
        PyBlock { program: self.program.clone(), id: self.program.block_of(self.id) }
    }
    #[getter]
    fn branch_target(&self) -> Option<u64> {
        self.inst().branch_target(self.address())
    }
    #[getter]
    fn goes_on(&self) -> bool {
        !self.inst().info().flags.intersects(LEAVES)
    }
    #[getter]
    fn is_branch(&self) -> bool {
        self.has(Flags::BRANCH | Flags::COND_BRANCH)
    }
    #[getter]
    fn is_call(&self) -> bool {
        self.has(Flags::CALL)
    }
    #[getter]
    fn is_end(&self) -> bool {
        self.has(Flags::END)
    }
    #[getter]
    fn is_load(&self) -> bool {
        self.has(Flags::LOAD)
    }
    #[getter]
    fn is_store(&self) -> bool {
        self.has(Flags::STORE)
    }
    #[getter]
    fn is_atomic(&self) -> bool {
        self.has(Flags::ATOMIC)
    }
    #[getter]
    fn is_barrier(&self) -> bool {
        self.has(Flags::BARRIER)
    }
    #[getter]
    fn is_valu(&self) -> bool {
        self.has(Flags::VALU)
    }
    #[getter]
    fn is_salu(&self) -> bool {
        self.has(Flags::SALU)
    }
    #[getter]
    fn reads(&self) -> Vec<String> {
        self.touched(|access| access.reads())
    }
    #[getter]
    fn writes(&self) -> Vec<String> {
        self.touched(|access| access.writes())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    fn __hash__(&self) -> u64 {
        hash_of(self.key())
    }
    fn __repr__(&self) -> String {
        format!("<Instruction {:#x}: {}>", self.address(), self.inst())
    }
}

impl PyInstruction {
    fn inst(&self) -> &Inst {
        self.program.inst(self.id)
    }
    fn has(&self, flags: Flags) -> bool {
        self.inst().info().flags.intersects(flags)
    }
    fn touched(&self, wanted: impl Fn(luthier_isa::Access) -> bool) -> Vec<String> {
        let mut set = RegSet::EMPTY;
        self.inst().for_each_access(|a| {
            if wanted(a.access) {
                set.insert(a.reg);
            }
        });
        text::registers(&set)
    }
}
