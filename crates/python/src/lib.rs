//! The native module `luthier._core`: what the Rust crates offer, as Python classes, and no more.
//!
//! Invariants:
//! * Policy lives in Python (`python/luthier`): what a tool is, which kernel runs, how results look. This module
//!   converts values, releases the GIL around long work, and turns errors into the classes of `luthier.errors`.
//! * No panic gets out: every entry that runs our crates' code goes through [`error::guard`], which turns a panic into
//!   `InternalError` and keeps standard error quiet.
//! * `python/luthier/_core.pyi` states every name here; a test compares the two.
//!
//! | module | one idea |
//! |---|---|
//! | `array` | where NumPy's arrays have their elements |
//! | `background` | work that cannot listen to signals |
//! | `descriptor` | kernel descriptors and target ids |
//! | `device` | the mock device |
//! | `ending` | the interpreter's end, while other threads are in native code |
//! | `error` | Rust errors and panics as Python exceptions |
//! | `frames` | Zstandard frames |
//! | `json` | serde_json values as Python objects |
//! | `memory` | the allocator
//! | `object` | containers and code objects |
//! | `host` | host code: where calls of programs stand in their source; the environment |
//! | `inspect` | what `luthier inspect` shows, as data |
//! | `instrument` | hooks and points to an instrumented code object |
//! | `library` | hooks that are LLVM IR |
//! | `link` | the mock loader |
//! | `program` | lifted code: functions, blocks, instructions |
//! | `ring` | launches that a program's agent tells |
//! | `stage` | launches that stop anywhere; one launch under many schedules |
//! | `text` | annotated assembly |

mod array;
#[cfg(feature = "llvm")]
mod background;
mod descriptor;
mod device;
mod ending;
mod error;
mod frames;
mod host;
mod inspect;
#[cfg_attr(not(feature = "llvm"), path = "instrument_refused.rs")]
mod instrument;
mod json;
#[cfg(feature = "llvm")]
mod library;
mod link;
mod memory;
mod object;
mod observe;
mod program;
mod ring;
mod stage;
mod text;

use pyo3::prelude::*;

#[pymodule(name = "_core")]
mod core {
    #[pymodule_export]
    use crate::array::array_place;
    #[pymodule_export]
    use crate::descriptor::{PyDescriptor, PyTargetId};
    #[pymodule_export]
    use crate::device::{PyDevice, coverage, devices_for, finding_kinds, forget_memory, remember_memory};
    #[pymodule_export]
    use crate::frames::{compress, decompress};
    #[pymodule_export]
    use crate::host::{PyHostFile, environment};
    #[pymodule_export]
    use crate::inspect::demangled;
    #[pymodule_export]
    use crate::instrument::{assemble_text, can_instrument, instrument, keep_hooks, warm_up};
    #[cfg(feature = "llvm")]
    #[pymodule_export]
    use crate::library::{PyHookModule, PyLibraryHook};
    #[pymodule_export]
    use crate::link::PyMockLoader;
    #[pymodule_export]
    use crate::object::{PyCodeObject, PyContainer, PyNativeBytes};
    #[pymodule_export]
    use crate::observe::PySession;
    #[pymodule_export]
    use crate::program::{
        PyBlock, PyBlocks, PyFrame, PyFunction, PyInstruction, PyInstructions, PyLoop, PyMir, PyOperand, PyProgram,
        PyRegister, counting_tree, flag_bits, instruction_columns, length_amounts, length_increments, length_records,
        may_not_return,
    };
    #[pymodule_export]
    use crate::ring::PyRing;
    #[pymodule_export]
    use crate::stage::PyStage;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::keep_panics_quiet();
        luthier_emulator::prepare_for_forks();
        crate::ending::at_exit(module.py())?;
        let targets = luthier_emulator::TARGETS.map(|target| target.name());
        module.add("TARGETS", PyTuple::new(module.py(), targets)?)?;
        let sequence = module.py().import("collections.abc")?.getattr("Sequence")?;
        for class in [module.py().get_type::<PyBlocks>(), module.py().get_type::<PyInstructions>()] {
            sequence.call_method1("register", (class,))?;
        }
        Ok(())
    }
}
