//! The mock loader.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use luthier_loader::link::{AgentId, ExecutableId, LoadedSymbol, ObjectId};
use luthier_loader::{LinkError, LoadOptions, MockLoader, TargetId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use serde_json::{Value, json};

use crate::error::{Class, guard};
use crate::json::to_python;
use crate::object::PyCodeObject;

fn link_error(error: LinkError) -> PyErr {
    use LinkError::*;
    match &error {
        Object { .. } => Class::Load.error(error),
        LoadAfterFinalize { .. } | DefineAfterFinalize { .. } | AlreadyFinalized | NotFinalized { .. } => {
            Class::Finalized.error(error)
        }
        DuplicateSymbol { .. } | DuplicateExternal { .. } => Class::DuplicateSymbol.error(error),
        Unresolved { symbols } => {
            // Several objects may miss the same.
            let mut names: Vec<String> = Vec::new();
            for symbol in symbols.iter().filter(|s| !s.symbol.is_empty()) {
                if !names.contains(&symbol.symbol) {
                    names.push(symbol.symbol.clone());
                }
            }
            let raised = Class::Unresolved.error(error);
            Python::attach(|py| match raised.value(py).setattr("symbols", names) {
                Ok(()) => raised,
                Err(other) => other,
            })
        }
        BadRelocationSection { .. }
        | UnknownRelocation { .. }
        | RelocationOutside { .. }
        | Overflow { .. }
        | MisalignedBranch { .. }
        | ThreadLocal { .. }
        | AmbiguousAddend { .. } => Class::Relocation.error(error),
        _ => Class::Link.error(error),
    }
}

/// Code objects in memory, linked; see :class:`luthier.MockLoader`. Agents, executables and objects are numbers.
#[pyclass(name = "MockLoader", module = "luthier._core", frozen)]
pub struct PyMockLoader {
    inner: Mutex<MockLoader>,
}

fn options(name: Option<String>, agent: Option<u32>, executable: u32, base: Option<u64>) -> LoadOptions {
    LoadOptions { name, agent: agent.map(AgentId), executable: ExecutableId(executable), base }
}

fn numbers(ids: Vec<ObjectId>) -> Vec<u32> {
    ids.into_iter().map(|id| id.0).collect()
}

fn symbol_to_json(symbol: &LoadedSymbol<'_>) -> Value {
    json!({
        "name": symbol.name, "address": symbol.address, "size": symbol.size, "kind": symbol.kind.to_string(),
        "binding": symbol.binding.to_string(), "exported": symbol.exported, "object": symbol.object.map(|id| id.0),
        "agent": symbol.agent.map(|id| id.0), "executable": symbol.executable.0,
    })
}

impl PyMockLoader {
    pub fn lock(&self) -> MutexGuard<'_, MockLoader> {
        // A panic elsewhere is reported where it happened; what it leaves behind is refused or read, never trusted.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs something on the loader, without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut MockLoader) -> Result<T, LinkError> + Send,
    ) -> PyResult<T> {
        guard(py, || work(&mut self.lock()).map_err(link_error))
    }
}

#[pymethods]
impl PyMockLoader {
    #[new]
    #[pyo3(signature = (base=None))]
    fn new(base: Option<u64>) -> PyMockLoader {
        PyMockLoader { inner: Mutex::new(base.map_or_else(MockLoader::new, MockLoader::at)) }
    }

    /// One more agent, with this target id.
    fn add_agent(&self, py: Python<'_>, target: &str) -> PyResult<u32> {
        guard(py, || {
            let target: TargetId = target.parse().map_err(|e| Class::Argument.error(e))?;
            if !target.is_known() {
                return Err(Class::Argument.error(format!("there is no AMDGPU processor {}", target.processor)));
            }
            Ok(self.lock().add_agent(target).0)
        })
    }

    /// One more set of objects that see each other. Number 0 is there from the beginning.
    fn add_executable(&self, py: Python<'_>, name: String) -> PyResult<u32> {
        guard(py, || Ok(self.lock().add_executable(name).0))
    }

    /// The agents' target ids.
    #[getter]
    fn agents(&self) -> Vec<String> {
        self.lock().agents().iter().map(TargetId::to_string).collect()
    }

    /// The executables' names.
    #[getter]
    fn executables(&self) -> Vec<String> {
        self.lock().executables().to_vec()
    }

    /// Everything is linked, and nothing can be added any more.
    #[getter]
    fn finalized(&self) -> bool {
        self.lock().is_finalized()
    }

    /// Copies an object into memory.
    #[pyo3(signature = (code_object, name=None, agent=None, executable=0, base=None))]
    fn load(
        &self,
        py: Python<'_>,
        code_object: &PyCodeObject,
        name: Option<String>,
        agent: Option<u32>,
        executable: u32,
        base: Option<u64>,
    ) -> PyResult<u32> {
        let object = code_object.inner.clone();
        self.with(py, |loader| Ok(loader.load(object, &options(name, agent, executable, base))?.0))
    }

    /// What a file holds for the agent: of a fat binary, one object of each translation unit.
    #[pyo3(signature = (path, name=None, agent=None, executable=0, base=None))]
    fn load_path(
        &self,
        py: Python<'_>,
        path: PathBuf,
        name: Option<String>,
        agent: Option<u32>,
        executable: u32,
        base: Option<u64>,
    ) -> PyResult<Vec<u32>> {
        self.with(py, |loader| Ok(numbers(loader.load_path(path, &options(name, agent, executable, base))?)))
    }

    /// The same of a ``file://`` or ``memory://`` name.
    #[pyo3(signature = (uri, name=None, agent=None, executable=0, base=None))]
    fn load_uri(
        &self,
        py: Python<'_>,
        uri: &str,
        name: Option<String>,
        agent: Option<u32>,
        executable: u32,
        base: Option<u64>,
    ) -> PyResult<Vec<u32>> {
        self.with(py, |loader| Ok(numbers(loader.load_uri(uri, &options(name, agent, executable, base))?)))
    }

    /// The same of bytes.
    #[pyo3(signature = (data, name=None, agent=None, executable=0, base=None))]
    fn load_bytes(
        &self,
        py: Python<'_>,
        data: &[u8],
        name: Option<String>,
        agent: Option<u32>,
        executable: u32,
        base: Option<u64>,
    ) -> PyResult<Vec<u32>> {
        self.with(py, |loader| Ok(numbers(loader.load_bytes(data, &options(name, agent, executable, base))?)))
    }

    /// Says where a symbol is that objects refer to; ``agent`` None: for all agents.
    #[pyo3(signature = (name, address, size, agent=None, executable=0))]
    fn define(
        &self,
        py: Python<'_>,
        name: &str,
        address: u64,
        size: u64,
        agent: Option<u32>,
        executable: u32,
    ) -> PyResult<()> {
        self.with(py, |loader| loader.define(name, address, size, agent.map(AgentId), ExecutableId(executable)))
    }

    /// A variable that the loader keeps; gives its address.
    #[pyo3(signature = (name, data, agent=None, executable=0))]
    fn define_data(
        &self,
        py: Python<'_>,
        name: &str,
        data: &[u8],
        agent: Option<u32>,
        executable: u32,
    ) -> PyResult<u64> {
        self.with(py, |loader| loader.define_data(name, data, agent.map(AgentId), ExecutableId(executable)))
    }

    /// Links and relocates everything, or changes nothing.
    fn finalize(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, MockLoader::finalize)
    }

    /// ``name``, ``agent``, ``executable``, ``base``, ``start``, ``end``, ``segments``, ``got`` of an object.
    fn object<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyAny>> {
        let facts = self.with(py, |loader| {
            let object = loader.object(ObjectId(number))?;
            let segments: Vec<Value> = object
                .segments()
                .iter()
                .map(|s| {
                    json!({
                        "address": s.addr, "size": s.bytes.len(), "readable": s.readable, "writable": s.writable,
                        "executable": s.executable,
                    })
                })
                .collect();
            Ok(json!({
                "name": object.name(), "agent": object.agent().0, "executable": object.executable().0,
                "base": object.base(), "start": object.span().start, "end": object.span().end, "segments": segments,
                "got": object.got().map(|got| got.addr),
            }))
        })?;
        to_python(py, &facts)
    }

    /// What was loaded.
    fn code_object(&self, py: Python<'_>, number: u32) -> PyResult<PyCodeObject> {
        self.with(py, |loader| Ok(PyCodeObject::new(loader.object(ObjectId(number))?.object().clone())))
    }

    /// How many objects are loaded.
    #[getter]
    fn object_count(&self) -> usize {
        self.lock().objects().len()
    }

    /// ``name``, ``address``, ``size``, ``kind``, ``binding``, ``exported``, ``object``, ``agent``, ``executable`` of
    /// what all objects define, then of the externals.
    fn symbols<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all: Vec<Value> = self.with(py, |loader| Ok(loader.symbols().map(|s| symbol_to_json(&s)).collect()))?;
        let list = PyList::empty(py);
        all.iter().try_for_each(|symbol| list.append(to_python(py, symbol)?))?;
        Ok(list)
    }

    /// The same of an object's symbol, or of the only exported definition or external of this name.
    #[pyo3(signature = (name, object=None))]
    fn symbol<'py>(&self, py: Python<'py>, name: &str, object: Option<u32>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.with(py, |loader| Ok(symbol_to_json(&loader.symbol(name, object.map(ObjectId))?)))?;
        to_python(py, &found)
    }

    /// The address that a symbol of an object stands for.
    fn resolve(&self, py: Python<'_>, object: u32, name: &str) -> PyResult<Option<u64>> {
        self.with(py, |loader| Ok(loader.resolution(ObjectId(object), name)?.map(|r| r.address())))
    }

    /// Bytes of one segment or external.
    fn read<'py>(&self, py: Python<'py>, address: u64, size: u64) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.with(py, |loader| Ok(loader.memory(address, size)?.to_vec()))?;
        Ok(PyBytes::new(py, &data))
    }

    /// Overwrites bytes of one segment or external.
    fn write(&self, py: Python<'_>, address: u64, data: &[u8]) -> PyResult<()> {
        self.with(py, |loader| loader.write(address, data))
    }

    /// ``object``, ``name``, ``vaddr``, ``section``, ``symbol``, ``offset``, ``file_offset`` and permissions.
    fn locate<'py>(&self, py: Python<'py>, address: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.with(py, |loader| {
            Ok(loader.locate(address).map(|l| {
                json!({
                    "object": l.object.map(|id| id.0), "name": l.name, "vaddr": l.vaddr, "section": l.section,
                    "symbol": l.symbol.map(|s| s.0), "offset": l.symbol.map(|s| s.1), "file_offset": l.file_offset,
                    "readable": l.readable, "writable": l.writable, "executable": l.executable,
                })
            }))
        })?;
        found.map(|found| to_python(py, &found)).transpose()
    }

    fn __repr__(&self) -> String {
        let loader = self.lock();
        let state = if loader.is_finalized() { ", finalized" } else { "" };
        format!("<MockLoader {} objects{state}>", loader.objects().len())
    }
}
