//! Lifted code as Python sees it: a program, its functions, their blocks, their instructions.
//!
//! The objects hold the program and a number each, so that making one costs little; sequences hold ranges of numbers,
//! and make an object when one is asked for. What many objects need (source lines, liveness) is worked out once and
//! kept with the program.
//!
//! | module | one idea |
//! |---|---|
//! | `function`, `block`, `instruction` | one of each |
//! | `operand` | registers and typed operands |
//! | `modifiers` | what stands behind the operands in assembly |
//! | `sequence` | many instructions or blocks, without an object for each |
//! | `columns` | many instructions as arrays |
//! | `counting` | where to count so that a sum over blocks is exact |
//! | `lengths` | the same of the blocks' lengths, as a plan has it |
//! | `mir` | LLVM MIR, and the way back |
//! | `live` | the live registers of a function, kept |
//! | `loops` | the loops of a function |
//! | `source` | source lines, for Python and for listings |

mod block;
mod columns;
mod counting;
mod function;
mod instruction;
mod lengths;
mod live;
mod loops;
mod mir;
mod modifiers;
mod operand;
mod sequence;
mod source;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use luthier_codegen::machine::Machine;
use luthier_isa::Mode;
use luthier_lifter::{BlockIds, FuncId, FunctionKind, Program};
use luthier_loader::{CodeObject, SourceMap};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use block::PyBlock;
pub use columns::{flag_bits, instruction_columns};
pub use counting::{counting_tree, length_increments, may_not_return};
pub use function::PyFunction;
pub use instruction::PyInstruction;
pub use lengths::{length_amounts, length_records};
pub use loops::PyLoop;
pub use mir::PyMir;
pub use operand::{PyOperand, PyRegister};
pub use sequence::{PyBlocks, PyInstructions};
pub use source::{PyFrame, on_one_line};

use crate::error::{Class, guard};
use crate::object::PyCodeObject;
use crate::text;

/// A program, and what was worked out of it.
pub struct Shared {
    pub program: Program,
    pub object: Arc<CodeObject>,
    /// Or why the lines cannot be read.
    lines: OnceLock<Result<Option<SourceMap>, String>>,
    live: Mutex<Option<Arc<live::FunctionLive>>>,
    loops: Mutex<Option<Arc<loops::FunctionLoops>>>,
    counted: lengths::Counted,
    /// The kernels' functions by name: each kernel is asked for by its own.
    kernels: OnceLock<HashMap<String, FuncId>>,
}

impl Shared {
    /// The source lines, read when first asked for; `None` without DWARF. An error where DWARF is damaged.
    pub fn lines(&self) -> Result<Option<&SourceMap>, &str> {
        let lines = self.lines.get_or_init(|| self.object.source_map().map_err(|error| error.to_string()));
        lines.as_ref().map(Option::as_ref).map_err(String::as_str)
    }

    /// The first kernel of that name.
    fn kernel(&self, name: &str) -> Option<FuncId> {
        let program = &self.program;
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels = HashMap::new();
            let ids = program.function_ids().filter(|id| program.function(*id).kind == FunctionKind::Kernel);
            ids.for_each(|id| _ = kernels.entry(program.function(id).name.clone()).or_insert(id));
            kernels
        });
        kernels.get(name).copied()
    }

    fn known_lines(&self) -> PyResult<Option<&SourceMap>> {
        self.lines().map_err(|error| Class::Load.error(error))
    }
}

/// The code of a code object, taken apart.
#[pyclass(name = "Program", module = "luthier._core", frozen)]
pub struct PyProgram {
    pub inner: Arc<Shared>,
}

#[pymethods]
impl PyProgram {
    #[new]
    fn new(py: Python<'_>, code_object: &PyCodeObject) -> PyResult<PyProgram> {
        let object = code_object.inner.clone();
        guard(py, move || {
            let program = Program::lift(&object).map_err(|e| Class::Lift.error(e))?;
            let shared = Shared {
                program,
                object,
                lines: OnceLock::new(),
                live: Mutex::default(),
                loops: Mutex::default(),
                counted: lengths::Counted::default(),
                kernels: OnceLock::new(),
            };
            Ok(PyProgram { inner: Arc::new(shared) })
        })
    }

    /// All functions, by address.
    #[getter]
    fn functions(&self) -> Vec<PyFunction> {
        self.inner.program.function_ids().map(|id| self.function(id)).collect()
    }

    /// All basic blocks, by address. A block's :attr:`Block.id` is its place here.
    #[getter]
    fn blocks(&self) -> PyBlocks {
        let all = BlockIds::new(0, self.inner.program.blocks().len() as u32);
        PyBlocks::new(self.inner.clone(), [all])
    }

    /// All instructions in functions, by address. An instruction's :attr:`Instruction.id` is its place here.
    #[getter]
    fn instructions(&self) -> PyInstructions {
        let all = self.inner.program.instrs();
        PyInstructions::new(self.inner.clone(), [all])
    }

    /// A kernel's code, then the device functions that it may reach; everything for None.
    #[pyo3(signature = (kernel=None))]
    fn select(&self, kernel: Option<&str>) -> PyResult<Vec<PyFunction>> {
        let Some(name) = kernel else { return Ok(self.functions()) };
        let program = &self.inner.program;
        let id = self.inner.kernel(name);
        let id = id.ok_or_else(|| Class::Argument.error(format!("there is no code of a kernel {name}")))?;
        let others = program.reachable(id).into_iter().filter(|&other| other != id);
        Ok(std::iter::once(id).chain(others).map(|id| self.function(id)).collect())
    }

    /// The blocks of these functions, one function after the other.
    fn blocks_of(&self, functions: &Bound<'_, PyAny>) -> PyResult<PyBlocks> {
        let ids = self.own(functions)?;
        Ok(PyBlocks::new(self.inner.clone(), ids.map(|id| self.inner.program.function(id).blocks)))
    }

    /// The instructions of these functions, one function after the other.
    fn instructions_of(&self, functions: &Bound<'_, PyAny>) -> PyResult<PyInstructions> {
        let ids = self.own(functions)?;
        Ok(PyInstructions::new(self.inner.clone(), ids.map(|id| self.inner.program.function_instrs(id))))
    }

    /// The instruction that begins there.
    fn instruction_at(&self, address: u64) -> Option<PyInstruction> {
        let id = self.inner.program.instr_at(address)?;
        Some(PyInstruction { program: self.inner.clone(), id })
    }

    /// How many registers of each file a kernel can name: ``s``, ``v``, ``a``. None of a kernel that is not there, and
    /// where hooks cannot be placed.
    fn named_registers<'py>(&self, py: Python<'py>, kernel: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (object, program) = (&self.inner.object, &self.inner.program);
        let found = object.kernels().iter().find(|k| k.name == kernel);
        let (Some(kernel), Ok(machine)) = (found, Machine::of(program.mode())) else { return Ok(None) };
        let counts = machine.named(object, program, kernel);
        let dict = PyDict::new(py);
        for (file, count) in [("s", counts.sgprs), ("v", counts.vgprs), ("a", counts.agprs)] {
            dict.set_item(file, count)?;
        }
        Ok(Some(dict))
    }

    /// Lanes of its waves: 32 or 64.
    #[getter]
    fn wavefront_size(&self) -> u32 {
        self.mode().wave().lanes()
    }

    /// The source files that lines are in; empty without DWARF. LoadError where DWARF is damaged.
    #[getter]
    fn source_files(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, || Ok(self.inner.known_lines()?.map_or_else(Vec::new, |lines| lines.files().to_vec())))
    }

    /// By ``opcode_id``.
    #[getter]
    fn mnemonics(&self) -> Vec<&'static str> {
        self.inner.program.target().opcodes().iter().map(|info| info.mnemonic).collect()
    }

    /// By ``opcode_id``: the operations without encoding suffixes.
    #[getter]
    fn opcodes(&self) -> Vec<&'static str> {
        self.inner.program.target().opcodes().iter().map(|info| info.base).collect()
    }

    /// Assembly text of a function, with its blocks, where branches go, and source lines.
    fn disasm(&self, py: Python<'_>, function: &PyFunction) -> PyResult<String> {
        let (shared, id) = (function.program.clone(), function.id);
        guard(py, move || Ok(text::function(&shared.program, id, shared.lines().unwrap_or_default())))
    }

    /// Functions, blocks, edges, calls, liveness and source lines as JSON (``luthier lift --emit json``).
    #[pyo3(signature = (kernel=None))]
    fn to_json(&self, py: Python<'_>, kernel: Option<&str>) -> PyResult<String> {
        let only: Option<Vec<FuncId>> = match kernel {
            None => None,
            Some(_) => Some(self.select(kernel)?.iter().map(|f| f.id).collect()),
        };
        guard(py, || {
            let document = source::document(&self.inner, only.as_deref());
            serde_json::to_string_pretty(&document).map_err(|e| Class::Internal.error(e))
        })
    }

    /// The control flow graph of a function in Graphviz's language.
    fn to_dot(&self, py: Python<'_>, function: &PyFunction) -> PyResult<String> {
        let (shared, id) = (function.program.clone(), function.id);
        guard(py, move || Ok(luthier_lifter::export::dot(&shared.program, id)))
    }

    /// A kernel's code and the functions that it may reach, or everything, as LLVM MIR (``luthier lift --emit mir``).
    #[pyo3(signature = (kernel=None))]
    fn to_mir(&self, py: Python<'_>, kernel: Option<&str>) -> PyResult<PyMir> {
        let functions: Vec<FuncId> = self.select(kernel)?.iter().map(|f| f.id).collect();
        guard(py, || Ok(PyMir::new(self.inner.clone(), &functions)))
    }

    /// What could not be settled when the code was taken apart.
    fn remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(py, || {
            let program = &self.inner.program;
            let issues = program.issues().iter().map(|issue| issue.to_string());
            let gaps = program.gaps().iter().filter(|g| g.kind != luthier_lifter::GapKind::Padding);
            let gaps = gaps.map(|g| format!("{:#x}: {} bytes in no function", g.vaddr, g.size));
            let lines = self.inner.lines().err().map(|error| format!("no source lines: {error}"));
            Ok(issues.chain(gaps).chain(lines).collect())
        })
    }

    fn __repr__(&self) -> String {
        let program = &self.inner.program;
        format!("<Program of {} functions, {} instructions>", program.functions().len(), program.instrs().len())
    }
}

impl PyProgram {
    pub fn mode(&self) -> Mode {
        self.inner.program.mode()
    }

    fn function(&self, id: FuncId) -> PyFunction {
        PyFunction { program: self.inner.clone(), id }
    }

    /// The functions' numbers, if they are this program's.
    fn own(&self, functions: &Bound<'_, PyAny>) -> PyResult<impl Iterator<Item = FuncId> + use<>> {
        // One at a time: what says that it is long need not hold functions.
        let mut ids = Vec::new();
        for function in functions.try_iter()? {
            let function = function?;
            let Ok(function) = function.cast::<PyFunction>() else {
                let what = function.get_type().name()?;
                return Err(Class::Argument.error(format!("functions of the program are needed, not {what}")));
            };
            let function = function.get();
            if !Arc::ptr_eq(&function.program, &self.inner) {
                let name = &function.program.program.function(function.id).name;
                return Err(Class::Argument.error(format!("{name} is a function of another program")));
            }
            ids.push(function.id);
        }
        Ok(ids.into_iter())
    }
}

/// Two objects are equal when they stand for the same thing of the same program.
fn identity(program: &Arc<Shared>, number: u32) -> (usize, u32) {
    (Arc::as_ptr(program).addr(), number)
}

fn hash_of(key: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
