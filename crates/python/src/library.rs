//! Libraries of hooks: modules of LLVM IR, and their functions as hooks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use luthier_codegen::hook::{Bitcode, Contents, HookModule, HookSource, contents};
use luthier_isa::Target;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::background::in_background;
use crate::error::Class;

/// A module of LLVM IR, text or bitcode, that was read and verified.
#[pyclass(frozen, module = "luthier._core", name = "HookModule")]
pub struct PyHookModule {
    bytes: Vec<u8>,
    contents: Contents,
    hooks: Mutex<HashMap<Which, Py<PyLibraryHook>>>,
}

/// A function, the symbols of what it refers to, and its parameters that are LDS of the hooks' own.
type Which = (String, BTreeMap<String, String>, Vec<usize>);

/// A name, a type in LLVM's words.
type Parameter = (String, String);
/// ``name``, ``spoken`` name, ``size``, ``align``, first bytes, ``element`` type, ``count``, managed.
type Described<'py> = (String, String, u64, u64, Bound<'py, PyBytes>, String, u64, bool);

#[pymethods]
impl PyHookModule {
    /// Reads a module. ``ArgumentError`` if that cannot be.
    #[new]
    fn new(py: Python<'_>, bytes: Vec<u8>) -> PyResult<PyHookModule> {
        let (bytes, contents) = in_background::<_, Refused>(py, move || {
            let contents = contents(&bytes).map_err(Refused)?;
            Ok((bytes, contents))
        })?;
        Ok(PyHookModule { bytes, contents, hooks: Mutex::default() })
    }

    /// Its functions that can be hooks: names, parameters, and why a function cannot be a hook after all.
    #[getter]
    fn functions(&self) -> Vec<(String, Vec<Parameter>, Option<String>)> {
        let functions = self.contents.functions.iter();
        functions.map(|f| (f.name.clone(), f.params.clone(), f.refused.clone())).collect()
    }

    /// Its variables; those that begin with addresses are named in ``with_addresses``.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> Vec<Described<'py>> {
        let variables = self.contents.variables.iter();
        variables
            .map(|v| {
                let (name, spoken, init) = (v.name.clone(), v.spoken.clone(), PyBytes::new(py, &v.init));
                (name, spoken, v.size, v.align, init, v.element.clone(), v.count, v.is_managed)
            })
            .collect()
    }

    /// Variables that begin with addresses, which nothing fills in.
    #[getter]
    fn with_addresses(&self) -> Vec<String> {
        let variables = self.contents.variables.iter().filter(|v| v.has_addresses);
        variables.map(|v| v.spoken.clone()).collect()
    }

    /// Variables that it uses and does not define.
    #[getter]
    fn externals(&self) -> Vec<String> {
        self.contents.externals.clone()
    }

    /// What the compiler has marked it with, the same for all builds of one source.
    #[getter]
    fn identity(&self) -> Option<String> {
        self.contents.identity.clone()
    }

    /// What it prints by the ``printf`` of ``luthier/hooks.h``.
    #[getter]
    fn texts<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.contents.texts.iter().map(|text| PyBytes::new(py, text)).collect()
    }

    /// Whether a function prints so.
    fn prints(&self, function: &str) -> bool {
        self.contents.functions.iter().any(|f| f.name == function && f.prints)
    }

    /// What a function asks the processor ``target`` for, and hooks are given as arguments behind their own: names of the
    /// hook language's facts. ``shared``: some of those are LDS of the hooks' own.
    fn given(&self, function: &str, target: &str, shared: bool) -> PyResult<Vec<&'static str>> {
        let found = self.contents.functions.iter().find(|f| f.name == function);
        let target =
            Target::from_name(target).ok_or_else(|| Class::Argument.error(format!("{target} is no processor")))?;
        Ok(found.map(|f| f.given(target, shared)).unwrap_or_default())
    }

    /// One of its functions, with other names for the variables that it refers to. The parameters ``shared``, from 0, are
    /// given as distances from where the hooks' LDS begins.
    fn hook(
        &self,
        py: Python<'_>,
        function: String,
        symbols: BTreeMap<String, String>,
        shared: Vec<usize>,
    ) -> PyResult<Py<PyLibraryHook>> {
        let which = (function, symbols, shared);
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hooks.get(&which) {
            return Ok(known.clone_ref(py));
        }
        let (function, symbols, shared) = which.clone();
        let source = HookSource::Bitcode(Bitcode { bytes: self.bytes.clone(), function, symbols, shared });
        let module = HookModule::new(&source).map_err(|error| Class::Argument.error(error.message))?;
        let hook = Py::new(py, PyLibraryHook { module: Arc::new(module) })?;
        hooks.insert(which, hook.clone_ref(py));
        Ok(hook)
    }
}

struct Refused(String);

impl From<Refused> for PyErr {
    fn from(Refused(why): Refused) -> PyErr {
        Class::Argument.error(why)
    }
}

/// A function of a library, as :func:`instrument` takes it.
#[pyclass(frozen, module = "luthier._core", name = "LibraryHook")]
pub struct PyLibraryHook {
    pub module: Arc<HookModule>,
}
