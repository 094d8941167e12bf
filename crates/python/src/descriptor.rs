//! Kernel descriptors and target ids, as values of their own.

use std::hash::{DefaultHasher, Hash, Hasher};

use luthier_codegen::machine::Machine;
use luthier_isa::{Mode, Target};
use luthier_loader::{Generation, KernelDescriptor, LoadError, TargetId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{Class, guard};

fn argument(error: LoadError) -> PyErr {
    Class::Argument.error(error)
}

/// A processor and what is required of its features: ``gfx90a:sramecc+:xnack-``.
///
/// >>> TargetId("gfx90a:xnack-").runs_on(TargetId("gfx90a:sramecc+:xnack-"))
/// True
#[pyclass(name = "TargetId", module = "luthier._core", frozen, eq, hash, skip_from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyTargetId(pub TargetId);

#[pymethods]
impl PyTargetId {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<PyTargetId> {
        guard(py, || text.parse().map(PyTargetId).map_err(argument))
    }

    /// LLVM's name: ``gfx90a``, ``gfx9-generic``.
    #[getter]
    fn processor(&self) -> &str {
        &self.0.processor
    }

    /// Required on or off; None where either will do, or the processor has no such feature.
    #[getter]
    fn sramecc(&self) -> Option<bool> {
        self.0.sramecc
    }

    /// Required on or off; None where either will do, or the processor has no such feature.
    #[getter]
    fn xnack(&self) -> Option<bool> {
        self.0.xnack
    }

    /// It stands for several processors.
    #[getter]
    fn is_generic(&self) -> bool {
        self.0.is_generic()
    }

    /// The generic processor whose code this one runs too.
    #[getter]
    fn generic(&self) -> Option<&'static str> {
        self.0.generic()
    }

    /// Raises ArgumentError unless LLVM knows the processor, and it has the features.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        guard(py, || self.0.check().map_err(argument))
    }

    /// Whether the HSA runtime would load code for this on such an agent.
    fn runs_on(&self, agent: &PyTargetId) -> bool {
        self.0.runs_on(&agent.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("TargetId('{}')", self.0)
    }
}

/// The 64 bytes that tell the hardware how to start a kernel. Never changes: :meth:`replace` makes another one.
///
/// >>> descriptor = code_object.descriptor("vecadd")
/// >>> descriptor["enable_sgpr_dispatch_ptr"], descriptor.vgpr_count
/// (0, 8)
/// >>> code_object.with_descriptor("vecadd", descriptor.replace(enable_sgpr_dispatch_ptr=1)).save("out.hsaco")
#[pyclass(name = "KernelDescriptor", module = "luthier._core", frozen, skip_from_py_object)]
#[derive(Clone)]
pub struct PyDescriptor {
    pub inner: KernelDescriptor,
    processor: String,
    generation: Generation,
}

impl PyDescriptor {
    pub fn of(inner: KernelDescriptor, processor: &str) -> PyResult<PyDescriptor> {
        let generation = Generation::of(processor)
            .ok_or_else(|| Class::Argument.error(format!("{processor} is no AMDGCN processor")))?;
        Ok(PyDescriptor { inner, processor: processor.to_owned(), generation })
    }

    fn with(&self, inner: KernelDescriptor) -> PyDescriptor {
        PyDescriptor { inner, ..self.clone() }
    }
}

#[pymethods]
impl PyDescriptor {
    #[new]
    fn new(py: Python<'_>, data: &[u8], processor: &str) -> PyResult<PyDescriptor> {
        guard(py, || {
            let bytes: [u8; 64] = data
                .try_into()
                .map_err(|_| Class::Argument.error(format!("a kernel descriptor has 64 bytes, not {}", data.len())))?;
            PyDescriptor::of(KernelDescriptor::from_bytes(bytes), processor)
        })
    }

    /// Its 64 bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.as_bytes())
    }

    /// Whose meaning the fields have.
    #[getter]
    fn processor(&self) -> &str {
        &self.processor
    }

    /// Every field that the processor has, by LLVM's name, as it is encoded: first whole words, then their bits.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.inner.fields_for(self.generation) {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __getitem__(&self, name: &str) -> PyResult<i64> {
        self.inner.get(self.generation, name).map_err(argument)
    }

    /// A copy with some fields changed. ArgumentError for fields that the processor does not have, and for values
    /// that a field cannot hold. What has no field stays as it is.
    #[pyo3(signature = (**fields))]
    fn replace(&self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<PyDescriptor> {
        let mut wanted: Vec<(String, i128)> = Vec::new();
        for (name, value) in fields.into_iter().flatten() {
            wanted.push((name.extract()?, value.extract()?));
        }
        guard(py, move || {
            let mut inner = self.inner;
            // Whole words first: what is said of their bits counts.
            let is_word = |name: &str| wide_fields().contains(&name);
            wanted.sort_by_key(|(name, _)| !is_word(name));
            for (name, value) in wanted {
                inner.set(self.generation, &name, value).map_err(argument)?;
            }
            Ok(self.with(inner))
        })
    }

    /// Byte offset and mask of the bits that are set and that no field of the processor has.
    #[getter]
    fn reserved_bits(&self) -> Vec<(usize, u8)> {
        self.inner.reserved_bits(self.generation)
    }

    /// Work-items of a wave.
    #[getter]
    fn wavefront_size(&self) -> u32 {
        self.inner.wavefront_size(self.generation)
    }

    /// Vector registers allocated; on gfx90a and gfx94x AGPRs too.
    #[getter]
    fn vgpr_count(&self) -> u32 {
        self.inner.vgpr_count(self.generation)
    }

    /// Scalar registers allocated, VCC and its kin included; the addressable ones from gfx10 on.
    #[getter]
    fn sgpr_count(&self) -> u32 {
        self.inner.sgpr_count(self.generation)
    }

    /// Waves that fit on a SIMD, as far as registers decide. None where hooks cannot be placed.
    #[getter]
    fn occupancy(&self) -> Option<u32> {
        let target = Target::from_name(&self.processor)?;
        let wave = target.waves().iter().copied().find(|wave| wave.lanes() == self.wavefront_size())?;
        Some(Machine::of(Mode::new(target, wave)?).ok()?.occupancy(&self.inner))
    }

    /// gfx90a, gfx94x: where the AGPRs begin in the unified register file.
    #[getter]
    fn accum_offset(&self) -> Option<u32> {
        (self.generation == Generation::Gfx90a).then(|| self.inner.accum_offset())
    }

    /// Which bytes of the kernel arguments are in SGPRs when the kernel starts.
    #[getter]
    fn preloaded_arguments(&self) -> Option<(u32, u32)> {
        self.inner.preloaded_arguments(self.generation).map(|range| (range.start, range.end))
    }

    /// A copy with at least `registers` vector registers, rounded up to what the field can say.
    fn with_vgpr_count(&self, registers: u32) -> PyDescriptor {
        let mut inner = self.inner;
        inner.set_vgpr_count(self.generation, registers);
        self.with(inner)
    }

    /// A copy with at least `registers` scalar registers, rounded up to what the field can say.
    fn with_sgpr_count(&self, registers: u32) -> PyDescriptor {
        let mut inner = self.inner;
        inner.set_sgpr_count(self.generation, registers);
        self.with(inner)
    }

    fn __eq__(&self, other: &PyDescriptor) -> bool {
        self.inner == other.inner && self.generation == other.generation
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.inner.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<KernelDescriptor {}: {} VGPRs, {} SGPRs>", self.processor, self.vgpr_count(), self.sgpr_count())
    }
}

/// The words that have other fields in them.
fn wide_fields() -> [&'static str; 5] {
    ["compute_pgm_rsrc1", "compute_pgm_rsrc2", "compute_pgm_rsrc3", "kernel_code_properties", "kernarg_preload"]
}
