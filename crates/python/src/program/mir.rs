//! Lifted code as LLVM MIR, with the way from an instruction there and back.

use std::sync::Arc;

use luthier_lifter::{FuncId, Mir, MirPlace};
use pyo3::prelude::*;

use super::{PyFunction, PyInstruction, Shared};
use crate::error::Class;

/// Functions as LLVM MIR. Blocks and instructions are those of the program, one for one.
#[pyclass(name = "Mir", module = "luthier._core", frozen)]
pub struct PyMir {
    program: Arc<Shared>,
    mir: Mir,
}

impl PyMir {
    pub fn new(program: Arc<Shared>, functions: &[FuncId]) -> PyMir {
        let mir = Mir::of(&program.program, functions);
        PyMir { program, mir }
    }
    fn function(&self, id: FuncId) -> PyFunction {
        PyFunction { program: self.program.clone(), id }
    }
    fn own(&self, program: &Arc<Shared>) -> PyResult<()> {
        match Arc::ptr_eq(program, &self.program) {
            true => Ok(()),
            false => Err(Class::Argument.error("this is from another program than the MIR")),
        }
    }
}

#[pymethods]
impl PyMir {
    /// What ``llc -x mir`` reads.
    #[getter]
    fn text(&self) -> &str {
        &self.mir.text
    }
    /// Those in the text, by address.
    #[getter]
    fn functions(&self) -> Vec<PyFunction> {
        self.mir.functions.iter().map(|id| self.function(*id)).collect()
    }
    /// Those that MIR cannot say, and why.
    #[getter]
    fn left_out(&self) -> Vec<(PyFunction, &str)> {
        self.mir.left_out.iter().map(|(id, why)| (self.function(*id), why.as_str())).collect()
    }
    /// Instructions that assembling gives back with other values in bits that have no effect: the text has the original
    /// words behind them.
    #[getter]
    fn normalized(&self) -> Vec<PyInstruction> {
        let instruction = |&id| PyInstruction { program: self.program.clone(), id };
        self.mir.normalized.iter().map(instruction).collect()
    }
    /// The machine instruction; None if its function is left out. ArgumentError for another program's.
    fn line(&self, instruction: &PyInstruction) -> PyResult<Option<&str>> {
        self.own(&instruction.program)?;
        Ok(self.mir.line(instruction.id))
    }
    /// Function, number of the machine basic block (``%bb.N``), and place in it from 0; None if left out.
    fn place(&self, instruction: &PyInstruction) -> PyResult<Option<(PyFunction, u32, u32)>> {
        self.own(&instruction.program)?;
        let place = self.mir.place(&self.program.program, instruction.id);
        Ok(place.map(|place| (self.function(place.func), place.block, place.index)))
    }
    /// The instruction at such a place; None if there is none.
    fn instruction(&self, function: &PyFunction, block: u32, index: u32) -> PyResult<Option<PyInstruction>> {
        self.own(&function.program)?;
        let place = MirPlace { func: function.id, block, index };
        let id = self.mir.instruction(&self.program.program, place);
        Ok(id.map(|id| PyInstruction { program: self.program.clone(), id }))
    }
    fn __repr__(&self) -> String {
        format!("<Mir of {} functions, {} left out>", self.mir.functions.len(), self.mir.left_out.len())
    }
}
