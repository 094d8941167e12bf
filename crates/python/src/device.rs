//! The mock device.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use luthier_emulator::buffer::Buffer;
use luthier_emulator::environment;
use luthier_emulator::memory::unwritten;
use luthier_emulator::observe::Watch;
use luthier_emulator::{
    Device, DeviceConfig, EmuError, Finding, FindingKind, Kinds, Launch, LaunchReport, ModuleId, Progress, Reached,
    Schedule, SourceFrame, Strict, TARGETS,
};
use luthier_isa::Target;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde_json::{Value, json};

use crate::error::{Class, Signals, guard, listening};
use crate::json::to_python;
use crate::link::PyMockLoader;
use crate::object::PyCodeObject;
use crate::observe::{Hearing, PySession, Request, observed_to_python, watch};
use crate::stage::{PyStage, explored};

/// A `DeviceError`; that of a fault says in its attributes what the text says in words.
pub fn device_error(error: EmuError) -> PyErr {
    let raised = Class::Device.error(&error);
    if let EmuError::Fault { kernel, pc, workgroup, wave, lane, address, frames, .. } = error {
        Python::attach(|py| {
            let value = raised.value(py);
            let source = to_python(py, &source_to_json(&frames));
            // Attributes of an exception of ours can always be set; where not, the text is all there is.
            let _ = value.setattr("kernel", &*kernel);
            let _ = value.setattr("pc", pc);
            let _ = value.setattr("workgroup", (workgroup[0], workgroup[1], workgroup[2]));
            let _ = value.setattr("wave", wave);
            let _ = value.setattr("lane", lane);
            let _ = value.setattr("address", address);
            let _ = source.and_then(|source| value.setattr("source", source));
        });
    }
    raised
}

/// The mock device; see :class:`luthier.Device`. Addresses are the device's.
#[pyclass(name = "Device", module = "luthier._core", frozen)]
pub struct PyDevice {
    inner: Device,
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (processor, threads=0, watchdog=None, seconds=None))]
    fn new(
        py: Python<'_>,
        processor: &str,
        threads: usize,
        watchdog: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<PyDevice> {
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| Class::Argument.error(format!("a time limit: {error}")))?;
        guard(py, || {
            let target = Target::from_name(processor).filter(|target| TARGETS.contains(target));
            let target = target.ok_or_else(|| device_error(EmuError::Target(processor.to_owned())))?;
            environment::check().map_err(|why| Class::Argument.error(why))?;
            let config = DeviceConfig::default();
            let config = DeviceConfig { threads, watchdog: watchdog.unwrap_or(config.watchdog), time, ..config };
            Ok(PyDevice { inner: Device::new(target, config) })
        })
    }

    /// Loads it and gives the module's number; its vaddr 0 is at ``base``, a multiple of 4096, or wherever there is room.
    #[pyo3(signature = (code_object, base=None))]
    fn load(&self, py: Python<'_>, code_object: &PyCodeObject, base: Option<u64>) -> PyResult<u32> {
        let object = code_object.inner.clone();
        let load = || base.map_or_else(|| self.inner.load(&object), |base| self.inner.load_at(&object, base));
        guard(py, || Ok(load().map_err(device_error)?.0))
    }

    /// The address of a loaded module's vaddr 0.
    fn load_address(&self, py: Python<'_>, module: u32) -> PyResult<u64> {
        guard(py, || self.inner.load_address(ModuleId(module)).map_err(device_error))
    }

    /// Loads the objects of a finalized loader that are for this device: each object's number and its module's.
    fn load_linked(&self, py: Python<'_>, loader: &PyMockLoader) -> PyResult<Vec<(u32, u32)>> {
        guard(py, || {
            let loaded = self.inner.load_linked(&loader.lock()).map_err(device_error)?;
            Ok(loaded.into_iter().map(|(object, module)| (object.0, module.0)).collect())
        })
    }

    /// Address and size of a symbol of a loaded module.
    fn symbol(&self, py: Python<'_>, module: u32, name: &str) -> PyResult<Option<(u64, u64)>> {
        guard(py, || Ok(self.inner.symbol(ModuleId(module), name)))
    }

    /// The address of ``size`` bytes of zeros; whether kernels may write them.
    #[pyo3(signature = (size, writable=true))]
    fn alloc(&self, py: Python<'_>, size: u64, writable: bool) -> PyResult<u64> {
        let alloc = || if writable { self.inner.alloc(size) } else { self.inner.alloc_read_only(size) };
        guard(py, || alloc().map_err(device_error))
    }

    /// ``size`` bytes of zeros at a chosen address, a multiple of 16; whether kernels may write them.
    #[pyo3(signature = (address, size, writable=true))]
    fn alloc_at(&self, py: Python<'_>, address: u64, size: u64, writable: bool) -> PyResult<()> {
        guard(py, || self.inner.alloc_at(address, size, writable).map_err(device_error))
    }

    /// The address on the device of ``size`` bytes at the host's ``address``, a multiple of 16, that are there as long
    /// as ``owner`` lives; whether kernels may write them.
    #[pyo3(signature = (address, size, owner, writable=true))]
    fn share(&self, py: Python<'_>, address: usize, size: u64, owner: Py<PyAny>, writable: bool) -> PyResult<u64> {
        if !address.is_multiple_of(Buffer::HOST_ALIGN) {
            return Err(Class::Argument.error(format!("host memory at {address:#x} is not aligned")));
        }
        let ptr = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the caller, `luthier.device.arguments`, passes an array's own address and size, and the array as the
        // owner: a NumPy array that is referenced cannot be resized.
        let buffer = unsafe { Buffer::shared(ptr, size, Box::new(owner)) };
        listening(py, || self.inner.share(buffer, writable).map_err(device_error))
    }

    /// Has kernels find ``size`` bytes of the process's at the process's own ``address``, wherever it is, until it is freed;
    /// whether they may write them.
    #[pyo3(signature = (address, size, writable=true))]
    fn share_in_place(&self, py: Python<'_>, address: usize, size: u64, writable: bool) -> PyResult<()> {
        let ptr = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the caller, `luthier.device.memory`, passes an array's own address and size, frees them when the array goes,
        // and keeps the array while a kernel runs.
        let buffer = unsafe { Buffer::in_place(ptr, size) };
        guard(py, || self.inner.share_in_place(buffer, size, writable).map_err(device_error))
    }

    /// Gives back what :meth:`alloc`, :meth:`share` or :meth:`share_in_place` has taken in.
    fn free(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        listening(py, || self.inner.free(address).map_err(device_error))
    }

    /// Says that the host takes part in what kernels do with these bytes: strict mode looks for no races there.
    fn host_takes_part(&self, py: Python<'_>, address: u64, size: u64) -> PyResult<()> {
        guard(py, || {
            self.inner.host_takes_part(address, size);
            Ok(())
        })
    }

    /// Copies bytes to the device.
    fn write(&self, py: Python<'_>, address: u64, data: &[u8]) -> PyResult<()> {
        guard(py, || self.inner.write(address, data).map_err(device_error))
    }

    /// Copies bytes from the device.
    fn read<'py>(&self, py: Python<'py>, address: u64, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| device_error(EmuError::OutOfMemory(size as u64)))?;
        data.resize(size, 0);
        guard(py, || self.inner.read(address, &mut data).map_err(device_error))?;
        Ok(PyBytes::new(py, &data))
    }

    /// Runs a kernel as ``told`` has it. ``kernarg`` holds its explicit arguments. Gives ``instructions``, ``app_instructions``,
    /// ``seconds``, ``workgroups``, ``waves``, ``histogram``, ``app_histogram`` and ``findings``.
    /// ``watched`` are kinds of events, addresses to copy registers at, addresses
    /// that alone make events (none: all), how many events to keep, and where basic blocks begin; what was seen is in ``seen``.
    /// ``progress`` is called
    /// about once a second with the seconds so far, the instructions, the workgroups that have ended, and all of them.
    /// ``printed`` is called now and then with what :meth:`take_printed` would give, if there is something.
    /// ``heard`` is called with events as ``seen`` has them, some of one wave at a time; ``seen`` has none then.
    #[pyo3(signature = (module, told, kernarg, *, watched=None, progress=None, printed=None, heard=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's own two are among them")]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        module: u32,
        told: LaunchOptions,
        kernarg: Vec<u8>,
        watched: Option<Request>,
        progress: Option<Py<PyAny>>,
        printed: Option<Py<PyAny>>,
        heard: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let launch = told.launch(module, kernarg)?;
        let is_watched = watched.is_some();
        let signals = Arc::new(Signals::default());
        let hearing = heard.map(|function| Hearing::new(function, Arc::clone(&signals)));
        let listener = hearing.as_ref().map(Hearing::listener);
        let watch = watched.map(watch).transpose()?.map(|watch| Watch { listener, ..watch });
        let hears = || hearing.as_ref().is_none_or(Hearing::goes_on);
        let done = listening(py, || {
            let teller = progress.map(Teller::new);
            let tell = |done| teller.as_ref().is_none_or(|teller| teller.tell(done, &signals));
            let show = || printed.as_ref().is_none_or(|function| self.show(function, &signals));
            self.inner
                .launch_while(&launch, watch, &|done| hears() && signals.quiet() && tell(done) && show())
                .map_err(device_error)
        });
        let observed = signals.or(done)?;
        if is_watched { observed_to_python(py, &observed) } else { report_to_python(py, &observed.report) }
    }

    /// What kernels have printed since it was asked for last: text, and whether it is for standard error.
    fn take_printed<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, bool)> {
        let printed = self.inner.take_printed();
        printed.into_iter().map(|one| (PyBytes::new(py, &one.text), one.is_error)).collect()
    }

    /// A launch that goes on when told to. It is not judged, and has no schedule.
    fn session(&self, module: u32, told: LaunchOptions, kernarg: Vec<u8>) -> PyResult<PySession> {
        let told = LaunchOptions { kinds: None, schedule: None, ..told };
        Ok(PySession::new(self.inner.session(&told.launch(module, kernarg)?).map_err(device_error)?))
    }

    /// A launch that stops anywhere and goes back.
    fn stage(&self, py: Python<'_>, module: u32, told: LaunchOptions, kernarg: Vec<u8>) -> PyResult<PyStage> {
        let launch = told.launch(module, kernarg)?;
        guard(py, || Ok(PyStage::new(self.inner.stage(&launch, false).map_err(device_error)?)))
    }

    /// One launch under ``most`` schedules at most: ``by`` is ``pct`` with a seed and a depth, ``order``, or ``preemptions``
    /// with their number. A workgroup that runs more than ``watchdog`` instructions is taken for endless. ``weak``: memory answers
    /// as weakly as caches let it, by seeds, for ``pct`` only. Memory is what it was afterwards.
    #[expect(clippy::too_many_arguments, reason = "Python's own two are among them")]
    fn explore<'py>(
        &self,
        py: Python<'py>,
        module: u32,
        told: LaunchOptions,
        kernarg: Vec<u8>,
        by: (String, u64, u32),
        most: u64,
        watchdog: u64,
        weak: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let schedule = Some(if weak { format!("weak:{}:choices:", by.1) } else { "choices:".to_owned() });
        let launch = LaunchOptions { schedule, ..told }.launch(module, kernarg)?;
        let stage = guard(py, || {
            let mut stage = self.inner.stage(&launch, true).map_err(device_error)?;
            stage.limit(watchdog);
            Ok(stage)
        })?;
        explored(py, stage, (&by.0, by.1, by.2), most)
    }
}

/// A launch as Python states it: the attributes of :class:`luthier.device.launching.Launch`.
#[derive(FromPyObject)]
pub struct LaunchOptions {
    kernel: String,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    lds: u32,
    /// The findings to look for; None for none.
    kinds: Option<Vec<String>>,
    /// All workgroups are under way together.
    cooperative: bool,
    /// Workgroups of a cluster.
    cluster: Option<(u32, u32, u32)>,
    schedule: Option<String>,
}

impl LaunchOptions {
    fn launch(self, module: u32, kernarg: Vec<u8>) -> PyResult<Launch> {
        let schedule = self.schedule.map_or(Ok(Schedule::Fair), |text| text.parse());
        Ok(Launch {
            module: ModuleId(module),
            kernel: self.kernel,
            grid: self.grid.into(),
            workgroup: self.block.into(),
            kernarg,
            dynamic_lds: self.lds,
            strict: self.kinds.map_or(Ok(Strict::Off), |names| kinds(&names))?,
            cooperative: self.cooperative,
            cluster: self.cluster.map(Into::into),
            schedule: schedule.map_err(|error: String| Class::Argument.error(format!("schedule: {error}")))?,
        })
    }
}

impl PyDevice {
    /// Gives a Python function what was printed; false if it has raised.
    fn show(&self, function: &Py<PyAny>, signals: &Signals) -> bool {
        let printed = self.inner.take_printed();
        printed.is_empty()
            || signals.ask(|py| {
                let all: Vec<_> = printed.iter().map(|one| (PyBytes::new(py, &one.text), one.is_error)).collect();
                function.call1(py, (all,)).map(drop)
            })
    }
}

/// Tells a Python function how far a launch is, about once a second.
struct Teller {
    function: Py<PyAny>,
    start: Instant,
    told: Cell<Instant>,
}

impl Teller {
    const EVERY: Duration = Duration::from_secs(1);

    fn new(function: Py<PyAny>) -> Teller {
        Teller { function, start: Instant::now(), told: Cell::new(Instant::now()) }
    }

    /// False if the function has raised.
    fn tell(&self, done: Progress, signals: &Signals) -> bool {
        if self.told.get().elapsed() < Teller::EVERY {
            return true;
        }
        self.told.set(Instant::now());
        let facts = (self.start.elapsed().as_secs_f64(), done.instructions, done.workgroups, done.of);
        signals.ask(|py| self.function.call1(py, facts).map(drop))
    }
}

/// Strict mode for the kinds of findings with these names.
fn kinds(names: &[String]) -> PyResult<Strict> {
    let mut wanted = Kinds::empty();
    for name in names {
        wanted |= Kinds::named(name).ok_or_else(|| {
            let known = FindingKind::ALL.map(FindingKind::name).join(", ");
            Class::Argument.error(format!("strict mode knows no kind {name}; its kinds are all, {known}"))
        })?;
    }
    Ok(Strict::Only(wanted))
}

/// Every operation of a processor that the mock device can be, and why it is refused if it is.
#[pyfunction]
pub fn coverage(processor: &str) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let target = Target::from_name(processor).filter(|target| TARGETS.contains(target));
    let target = target.ok_or_else(|| device_error(EmuError::Target(processor.to_owned())))?;
    environment::check().map_err(|why| Class::Argument.error(why))?;
    Ok(luthier_emulator::coverage(target).into_iter().map(|c| (c.base, c.refusal)).collect())
}

/// The processors of the mock device that run code for a processor: itself, or the members of a generic one.
#[pyfunction]
pub fn devices_for(processor: &str) -> Vec<&'static str> {
    luthier_emulator::devices_for(processor).map(Target::name).collect()
}

/// The kinds of strict mode's findings, or those that it looks for by default.
#[pyfunction]
#[pyo3(signature = (usual=false))]
pub fn finding_kinds(usual: bool) -> Vec<&'static str> {
    let kinds = FindingKind::ALL.into_iter().filter(|&kind| !usual || Kinds::USUAL.contains(kind.into()));
    kinds.map(FindingKind::name).collect()
}

/// Fills ``size`` bytes of the process's at ``address``, which nothing has written: strict mode finds what depends on them,
/// where ``undefined-memory`` is wanted.
#[pyfunction]
pub fn forget_memory(address: usize, size: u64) {
    // SAFETY: the caller, `luthier.device.unwritten` or `luthier.triton.host`, has just allocated them.
    unsafe { unwritten::forget(std::ptr::with_exposed_provenance_mut(address), size) };
}

/// What was forgotten of these bytes counts as written: they are given back.
#[pyfunction]
pub fn remember_memory(address: usize, size: u64) {
    unwritten::remove(std::ptr::without_provenance(address), size);
}

pub fn source_to_json(frames: &[SourceFrame]) -> Value {
    frames.iter().map(|f| json!({"function": f.function, "file": f.file, "line": f.line, "column": f.column})).collect()
}

fn reached_to_json(at: Reached) -> Value {
    json!({"address": at.address, "workgroup": at.workgroup, "wave": at.wave, "lane": at.lane})
}

pub fn finding_to_json(f: &Finding) -> Value {
    let other = f
        .other
        .as_ref()
        .map(|o| json!({"pc": o.pc, "text": o.text, "wave": o.wave, "source": source_to_json(&o.source)}));
    json!({
        "kind": f.kind.name(), "kernel": f.kernel, "pc": f.pc, "text": f.text, "workgroup": f.workgroup,
        "wave": f.wave, "lane": f.lane, "address": f.address, "message": f.message, "other": other,
        "count": f.extent.count, "lowest": f.extent.lowest.map(reached_to_json),
        "highest": f.extent.highest.map(reached_to_json),
        "original_pc": f.original_pc, "source": source_to_json(&f.source),
    })
}

pub fn report_to_python<'py>(py: Python<'py>, report: &LaunchReport) -> PyResult<Bound<'py, PyDict>> {
    let histogram = |counts: &[(&'static str, u64)]| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, count) in counts {
            dict.set_item(PyString::intern(py, name), count)?;
        }
        Ok(dict)
    };
    let findings: Vec<_> = report.findings.iter().map(finding_to_json).collect();
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "instructions"), report.instructions)?;
    dict.set_item(intern!(py, "app_instructions"), report.app_instructions)?;
    dict.set_item(intern!(py, "seconds"), report.seconds)?;
    dict.set_item(intern!(py, "workgroups"), report.workgroups)?;
    dict.set_item(intern!(py, "waves"), report.waves)?;
    dict.set_item(intern!(py, "histogram"), histogram(&report.histogram)?)?;
    dict.set_item(intern!(py, "app_histogram"), histogram(&report.app_histogram)?)?;
    dict.set_item(intern!(py, "findings"), to_python(py, &findings.into())?)?;
    Ok(dict)
}
