//! Containers and code objects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use luthier_loader::lines::{NumberKind, Parameter, ParameterType};
use luthier_loader::{Bytes, CodeObject, CodeObjectUri, Container, ContainerKind, LoadError, TargetId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::json;

use crate::descriptor::{PyDescriptor, PyTargetId};
use crate::ending::without_gil;
use crate::error::{Class, guard};
use crate::json::to_python;

/// A LoadError that begins with the file's name.
fn load_error(source: &Option<String>, error: LoadError) -> PyErr {
    match (source, &error) {
        (Some(path), LoadError::Io { source, .. }) => {
            let reason = source.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default();
            Class::Load.error(format!("{path}: {}", reason.to_lowercase()))
        }
        (Some(path), _) => Class::Load.error(format!("{path}: {error}")),
        (None, _) => Class::Load.error(error),
    }
}

/// A file that holds code objects: a code object itself, a host binary with ``.hip_fatbin``, an offload bundle.
#[pyclass(name = "Container", module = "luthier._core", frozen)]
pub struct PyContainer {
    inner: Container,
    source: Option<String>,
}

#[pymethods]
impl PyContainer {
    /// Reads a file and lists what is in it; nothing is decompressed yet.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<PyContainer> {
        let source = Some(path.display().to_string());
        guard(py, move || {
            let inner = Container::open(&path).map_err(|e| load_error(&source, e))?;
            Ok(PyContainer { inner, source })
        })
    }

    /// The same from bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<PyContainer> {
        guard(py, || {
            let inner = Container::from_bytes(data).map_err(|e| load_error(&None, e))?;
            Ok(PyContainer { inner, source: None })
        })
    }

    /// A part of a file.
    #[staticmethod]
    fn open_range(py: Python<'_>, path: PathBuf, offset: u64, size: u64) -> PyResult<PyContainer> {
        let source = Some(path.display().to_string());
        guard(py, move || {
            let inner = Container::open_range(&path, offset, size).map_err(|e| load_error(&source, e))?;
            Ok(PyContainer { inner, source })
        })
    }

    /// A range of a process's memory, by default this one's.
    #[staticmethod]
    #[pyo3(signature = (address, size, process=None))]
    fn from_memory(py: Python<'_>, address: u64, size: u64, process: Option<u32>) -> PyResult<PyContainer> {
        guard(py, move || {
            let inner = Container::from_memory(process, address, size).map_err(|e| load_error(&None, e))?;
            Ok(PyContainer { inner, source: None })
        })
    }

    /// What the runtime's name of a loaded code object stands for: ``file:///...`` or ``memory://...``.
    #[staticmethod]
    fn open_uri(py: Python<'_>, uri: &str) -> PyResult<PyContainer> {
        let source = Some(uri.to_owned());
        guard(py, move || {
            let parsed: CodeObjectUri = uri.parse().map_err(|e| load_error(&None, e))?;
            let inner = parsed.open().map_err(|e| load_error(&source, e))?;
            Ok(PyContainer { inner, source })
        })
    }

    /// The bytes of an entry, decompressed. Of a file nothing else is read.
    fn read<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = guard(py, || self.inner.read(index).map_err(|e| load_error(&self.source, e)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The whole file with other code objects as some of its entries, by their numbers. Everything else stays as it
    /// is; of a host binary only ``.hip_fatbin`` and the pointers to it change.
    fn with_entries<'py>(&self, py: Python<'py>, new: BTreeMap<usize, Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
        let new = new.into_iter().map(|(index, bytes)| (index, bytes.into())).collect();
        let bytes = guard(py, || self.inner.with_entries(&new).map_err(|e| load_error(&self.source, e)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// ``code object``, ``fat binary`` or ``offload bundle``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner.kind() {
            ContainerKind::CodeObject => "code object",
            ContainerKind::FatBinary => "fat binary",
            ContainerKind::Bundle => "offload bundle",
        }
    }

    /// ``index``, ``bundle``, ``id``, ``target`` (None for the host's) and ``size`` of each entry.
    #[getter]
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for entry in self.inner.entries() {
            let target = entry.target.as_ref().map(TargetId::to_string);
            let item = json!({
                "index": entry.index, "bundle": entry.bundle, "id": entry.id, "target": target, "size": entry.size,
            });
            list.append(to_python(py, &item)?)?;
        }
        Ok(list)
    }

    /// The entries to load for a target id: of each bundle the one that suits it best. At least one.
    fn select(&self, py: Python<'_>, target: &str) -> PyResult<Vec<usize>> {
        guard(py, || {
            let target: TargetId = target.parse().map_err(|e| load_error(&None, e))?;
            let found = self.inner.select(&target).map_err(|e| load_error(&self.source, e))?;
            Ok(found.iter().map(|entry| entry.index).collect())
        })
    }

    /// The code object of an entry.
    fn code_object(&self, py: Python<'_>, index: usize) -> PyResult<PyCodeObject> {
        guard(py, || {
            let inner = self.inner.code_object(index).map_err(|e| load_error(&self.source, e))?;
            Ok(PyCodeObject { inner: Arc::new(inner), source: self.source.clone() })
        })
    }

    fn __repr__(&self) -> String {
        format!("<Container {}, {} entries>", self.kind(), self.inner.entries().len())
    }
}

/// Bytes of a code object that was made here. Python gets a copy of them when it asks for one.
#[pyclass(name = "NativeBytes", module = "luthier._core", frozen)]
pub struct PyNativeBytes {
    inner: Bytes,
}

#[cfg(feature = "llvm")]
impl PyNativeBytes {
    pub fn new(bytes: Vec<u8>) -> PyNativeBytes {
        PyNativeBytes { inner: bytes.into() }
    }
}

#[pymethods]
impl PyNativeBytes {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner)
    }

    /// The code object that they are: it has them without a copy.
    fn code_object(&self, py: Python<'_>) -> PyResult<PyCodeObject> {
        guard(py, || {
            let inner = CodeObject::parse(self.inner.clone()).map_err(|e| load_error(&None, e))?;
            Ok(PyCodeObject { inner: Arc::new(inner), source: None })
        })
    }

    /// Writes all of them to a file that is open, from where it stands on. OSError if it cannot be written.
    fn write_to(&self, py: Python<'_>, descriptor: i32) -> PyResult<()> {
        let mut rest: &[u8] = &self.inner;
        while !rest.is_empty() {
            let done = without_gil(py, || {
                // SAFETY: the bytes live as long as the call, which only reads them.
                let done = unsafe { libc::write(descriptor, rest.as_ptr().cast(), rest.len()) };
                usize::try_from(done).map_err(|_| std::io::Error::last_os_error())
            });
            match done {
                Ok(done) => rest = &rest[done..],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            // A handler may want to end what takes long: a pipe's reader may never read.
            py.check_signals()?;
        }
        Ok(())
    }
}

/// A parsed code object; see :class:`luthier.CodeObject`.
#[pyclass(name = "CodeObject", module = "luthier._core", frozen)]
pub struct PyCodeObject {
    pub inner: Arc<CodeObject>,
    source: Option<String>,
}

impl PyCodeObject {
    /// One that was read from somewhere else than a file of its own.
    pub fn new(inner: Arc<CodeObject>) -> PyCodeObject {
        PyCodeObject { inner, source: None }
    }
}

#[pymethods]
impl PyCodeObject {
    /// From the bytes of one ELF file.
    #[staticmethod]
    fn parse(py: Python<'_>, data: &[u8]) -> PyResult<PyCodeObject> {
        guard(py, || {
            let inner = CodeObject::parse(data).map_err(|e| load_error(&None, e))?;
            Ok(PyCodeObject { inner: Arc::new(inner), source: None })
        })
    }

    /// The file it was read from.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The bytes of the ELF file.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.bytes())
    }

    /// How many these are.
    #[getter]
    fn size(&self) -> usize {
        self.inner.bytes().len()
    }

    /// The target id: ``gfx90a:xnack-``.
    #[getter]
    fn target(&self) -> String {
        self.inner.target().to_string()
    }

    /// The target id without features.
    #[getter]
    fn processor(&self) -> &str {
        &self.inner.target().processor
    }

    /// The code object version, 3 to 6.
    #[getter]
    fn version(&self) -> u8 {
        self.inner.version()
    }

    /// The target id, taken apart.
    #[getter]
    fn target_id(&self) -> PyTargetId {
        PyTargetId(self.inner.target().clone())
    }

    /// ``AMDHSA``, ``AMDPAL`` or ``Mesa3D``.
    #[getter]
    fn os_abi(&self) -> String {
        self.inner.os_abi().to_string()
    }

    /// The version of a generic processor's definition; 0 for other processors.
    #[getter]
    fn generic_version(&self) -> u8 {
        self.inner.generic_version()
    }

    /// Whether the HSA runtime would load it on such an agent.
    fn runs_on(&self, agent: &PyTargetId) -> bool {
        self.inner.runs_on(&agent.0)
    }

    /// Of each kernel ``name``, ``demangled``, ``code_size``, ``sgprs``, ``vgprs``, ``agprs``, ``lds``, ``scratch`` and
    /// ``arguments``; None where the metadata do not say it.
    fn kernel_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = guard(py, || Ok(self.inner.kernels().iter().map(crate::inspect::summary).collect()))?;
        to_python(py, &table)
    }

    /// What DWARF says of a kernel's parameters: of each ``name``, ``type`` as the source has it, ``kind`` (``bool``,
    /// ``float``, ``signed``, ``unsigned``, ``pointer``, ``other``), of numbers ``size``, of pointers ``to``. None where
    /// it says nothing.
    fn parameters<'py>(&self, py: Python<'py>, kernel: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = guard(py, || {
            let name = kernel.strip_suffix(".kd").unwrap_or(kernel);
            let Some(kernel) = self.inner.kernels().iter().find(|k| k.name == name) else { return Ok(None) };
            luthier_loader::lines::parameters(&self.inner, kernel.entry).map_err(|e| load_error(&self.source, e))
        })?;
        let list = found.map(|list| list.iter().map(parameter).collect::<serde_json::Value>());
        list.map(|list| to_python(py, &list)).transpose()
    }

    /// The metadata note, unknown keys included; None without one.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let metadata = guard(py, || Ok(self.inner.metadata().map(|m| m.to_json())))?;
        metadata.map(|m| to_python(py, &m)).transpose()
    }

    /// ``owner``, ``kind``, ``kind_name``, ``offset``, ``size`` and ``content`` of each note.
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = guard(py, || Ok(crate::inspect::notes(&self.inner)))?;
        to_python(py, &all)
    }

    /// A kernel's descriptor.
    fn descriptor(&self, py: Python<'_>, kernel: &str) -> PyResult<Option<PyDescriptor>> {
        guard(py, || {
            let found = self.inner.kernel(kernel);
            found.map(|k| PyDescriptor::of(k.descriptor, &self.inner.target().processor)).transpose()
        })
    }

    /// The code object with a kernel's descriptor replaced.
    fn with_descriptor(&self, py: Python<'_>, kernel: &str, descriptor: &PyDescriptor) -> PyResult<PyCodeObject> {
        guard(py, || {
            let missing = || Class::Argument.error(format!("there is no kernel {kernel}"));
            let changed = self.inner.with_descriptor(kernel, &descriptor.inner).ok_or_else(missing)?;
            let inner = changed.map_err(|e| load_error(&self.source, e))?;
            Ok(PyCodeObject { inner: Arc::new(inner), source: self.source.clone() })
        })
    }

    /// It has a ``.luthier.origin`` section.
    #[getter]
    fn instrumented(&self, py: Python<'_>) -> PyResult<bool> {
        guard(py, || Ok(self.inner.origin_map().map_err(|e| load_error(&self.source, e))?.is_some()))
    }

    /// The kernels' names, in the order of the metadata.
    #[getter]
    fn kernels(&self) -> Vec<&str> {
        self.inner.kernels().iter().map(|k| k.name.as_str()).collect()
    }

    /// What a launch has to know: ``args``, ``kernarg_size``, segment sizes, workgroup limits.
    fn kernel<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(kernel) = self.inner.kernel(name) else { return Ok(None) };
        let info = guard(py, || Ok(crate::inspect::launch_facts(kernel)))?;
        to_python(py, &info).map(Some)
    }

    /// ``name``, ``address`` (as the object states it), ``size`` and ``kind`` of a symbol.
    fn symbol<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(symbol) = self.inner.symbol(name) else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("name", &symbol.name)?;
        dict.set_item("address", symbol.value)?;
        dict.set_item("size", symbol.size)?;
        dict.set_item("kind", symbol.kind.to_string())?;
        Ok(Some(dict))
    }

    /// Everything: target, kernels with their descriptors, metadata, symbols, sections, segments, relocations.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = guard(py, || crate::inspect::everything(&self.inner))?;
        to_python(py, &all)
    }

    fn __repr__(&self) -> String {
        format!("<CodeObject {}, {} kernels>", self.inner.target(), self.inner.kernels().len())
    }
}

fn parameter(parameter: &Parameter) -> serde_json::Value {
    let mut described = described(&parameter.kind);
    described["name"] = json!(parameter.name);
    described
}

fn described(kind: &ParameterType) -> serde_json::Value {
    match kind {
        ParameterType::Number { kind, size, name } => {
            let kind = match kind {
                NumberKind::Bool => "bool",
                NumberKind::Float => "float",
                NumberKind::Signed => "signed",
                NumberKind::Unsigned => "unsigned",
            };
            json!({"type": name, "kind": kind, "size": size})
        }
        ParameterType::Pointer(to) => json!({"type": kind.to_string(), "kind": "pointer", "to": described(to)}),
        ParameterType::Other(name) => json!({"type": name, "kind": "other"}),
    }
}
