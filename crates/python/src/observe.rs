//! Watched launches, and launches that go on a step at a time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use luthier_emulator::observe::{Listener, Observation, Registers, Snapshot, Watch};
use luthier_emulator::session::Session;
use luthier_emulator::workgroup::State;
use luthier_emulator::{EmuError, Observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::device::{device_error, report_to_python};
use crate::ending::without_gil;
use crate::error::{Class, Signals, listening};

/// What Python asks for: kinds of events, addresses to copy registers at, addresses that alone make events, how many, and
/// where basic blocks begin if events of theirs are wanted.
pub type Request = (Vec<String>, Vec<u64>, Vec<u64>, usize, Vec<u64>);

pub fn watch(request: Request) -> PyResult<Watch> {
    let (events, snapshots, only, limit, blocks) = request;
    let (snapshots, only): (BTreeSet<u64>, BTreeSet<u64>) = (BTreeSet::from_iter(snapshots), BTreeSet::from_iter(only));
    let mut watch = Watch { snapshots, only, limit, ..Watch::default() };
    for event in events {
        match event.as_str() {
            "instructions" => watch.instructions = true,
            "blocks" => watch.blocks = blocks.iter().copied().collect(),
            "memory" => watch.memory = true,
            other => {
                let known = "instructions, blocks, memory";
                return Err(Class::Argument.error(format!("there are no events {other:?}; there are {known}")));
            }
        }
    }
    Ok(watch)
}

/// The bytes of a list of plain structures, as NumPy reads them.
pub fn bytes_of<'py, T: Copy>(py: Python<'py>, list: &[T]) -> Bound<'py, PyBytes> {
    // SAFETY: the event structures are `repr(C)`, without padding (their sizes are asserted where they are defined),
    // and plain integers throughout.
    PyBytes::new(py, unsafe { std::slice::from_raw_parts(list.as_ptr().cast::<u8>(), size_of_val(list)) })
}

pub fn observed_to_python<'py>(py: Python<'py>, observed: &Observed) -> PyResult<Bound<'py, PyDict>> {
    let seen = seen_to_python(py, &observed.observation)?;
    seen.set_item("counts", bytes_of(py, &observed.counts))?;
    let dict = report_to_python(py, &observed.report)?;
    dict.set_item("seen", seen)?;
    Ok(dict)
}

fn seen_to_python<'py>(py: Python<'py>, observation: &Observation) -> PyResult<Bound<'py, PyDict>> {
    let Observation { instructions, blocks, memory, waves, snapshots, dropped } = observation;
    let seen = PyDict::new(py);
    seen.set_item("instructions", bytes_of(py, instructions))?;
    seen.set_item("blocks", bytes_of(py, blocks))?;
    seen.set_item("memory", bytes_of(py, memory))?;
    seen.set_item("waves", bytes_of(py, waves))?;
    seen.set_item("dropped", dropped)?;
    let list = PyList::empty(py);
    for Snapshot { workgroup, wave, pc, registers, lds } in snapshots {
        let snapshot = registers_to_python(py, registers)?;
        snapshot.set_item("workgroup", workgroup)?;
        snapshot.set_item("wave", wave)?;
        snapshot.set_item("pc", pc)?;
        snapshot.set_item("lds", PyBytes::new(py, lds))?;
        list.append(snapshot)?;
    }
    seen.set_item("snapshots", list)?;
    Ok(seen)
}

/// A function of Python's that hears of events while a launch runs, one call at a time, until it has raised.
#[derive(Clone)]
pub struct Hearing {
    function: Arc<Py<PyAny>>,
    signals: Arc<Signals>,
    /// Held during a call, by threads that do not hold the GIL when they wait for it. Whether it has raised.
    raised: Arc<Mutex<bool>>,
}

impl Hearing {
    pub fn new(function: Py<PyAny>, signals: Arc<Signals>) -> Hearing {
        Hearing { function: Arc::new(function), signals, raised: Arc::default() }
    }

    fn hear(&self, seen: &Observation) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        *raised = *raised
            || !self.signals.ask(|py| {
                let seen = seen_to_python(py, seen)?;
                self.function.call1(py, (seen,)).map(drop)
            });
    }

    /// Whether the function has not raised. A call that is under way has not.
    pub fn goes_on(&self) -> bool {
        self.raised.try_lock().map_or(true, |raised| !*raised)
    }

    pub fn listener(&self) -> Listener {
        let hearing = self.clone();
        Listener::new(move |seen| hearing.hear(&seen))
    }
}

pub fn registers_to_python<'py>(py: Python<'py>, registers: &Registers) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("sgprs", bytes_of(py, &registers.sgprs))?;
    dict.set_item("vgprs", bytes_of(py, &registers.vgprs))?;
    dict.set_item("agprs", bytes_of(py, &registers.agprs))?;
    dict.set_item("exec", registers.exec)?;
    dict.set_item("vcc", registers.vcc)?;
    dict.set_item("m0", registers.m0)?;
    dict.set_item("scc", registers.scc)?;
    dict.set_item("mode", registers.mode)?;
    dict.set_item("flat_scratch", registers.flat_scratch)?;
    Ok(dict)
}

/// A launch that goes on when told to, by one thread at a time.
#[pyclass(name = "Session", module = "luthier._core", frozen)]
pub struct PySession {
    inner: Mutex<Session>,
}

impl PySession {
    pub fn new(inner: Session) -> PySession {
        PySession { inner: Mutex::new(inner) }
    }

    /// No thread that has it waits for the interpreter, as making an exception does.
    fn lock(&self) -> MutexGuard<'_, Session> {
        // A panic while it went on left it as it was at that instruction.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it knows of a wave of its workgroup.
    fn of_wave<T>(&self, wave: usize, known: impl FnOnce(&Session, usize) -> Option<T>) -> PyResult<T> {
        let session = self.lock();
        let (found, waves) = (known(&session, wave), session.waves());
        drop(session);
        found.ok_or_else(|| no_wave(wave, waves))
    }
}

fn no_wave(wave: usize, waves: usize) -> PyErr {
    Class::Argument.error(format!("the workgroup has no wave {wave}; it has {waves}"))
}

#[pymethods]
impl PySession {
    /// The workgroup under way; None when the launch is over.
    #[getter]
    fn workgroup(&self) -> Option<(u32, u32, u32)> {
        self.lock().workgroup().map(Into::into)
    }

    /// How many waves it has.
    #[getter]
    fn waves(&self) -> usize {
        self.lock().waves()
    }

    /// Retired so far by all waves.
    #[getter]
    fn instructions(&self) -> u64 {
        self.lock().instructions()
    }

    /// ``ready``, ``barrier`` or ``ended``.
    fn state(&self, wave: usize) -> PyResult<&'static str> {
        Ok(match self.of_wave(wave, Session::state)? {
            State::Ready => "ready",
            State::AtBarrier => "barrier",
            State::Ended => "ended",
        })
    }

    /// Address of the instruction that the wave executes next.
    fn pc(&self, wave: usize) -> PyResult<u64> {
        self.of_wave(wave, Session::pc)
    }

    /// Instructions that the wave has retired.
    fn retired(&self, wave: usize) -> PyResult<u64> {
        self.of_wave(wave, Session::retired)
    }

    /// The wave's registers: bytes of ``sgprs``, ``vgprs`` and ``agprs`` (64 lanes each), numbers for the rest.
    fn registers<'py>(&self, py: Python<'py>, wave: usize) -> PyResult<Bound<'py, PyDict>> {
        let registers = self.of_wave(wave, Session::registers)?;
        registers_to_python(py, &registers)
    }

    /// The workgroup's LDS.
    fn lds<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lds = self.lock().lds();
        PyBytes::new(py, &lds)
    }

    /// Device memory as the launch sees it.
    fn read<'py>(&self, py: Python<'py>, address: u64, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| device_error(EmuError::OutOfMemory(size as u64)))?;
        data.resize(size, 0);
        let read = self.lock().read(address, &mut data);
        read.map_err(|at| device_error(EmuError::Address(at)))?;
        Ok(PyBytes::new(py, &data))
    }

    /// One instruction of the wave, if it can go on.
    fn step(&self, py: Python<'_>, wave: usize) -> PyResult<()> {
        let stepped = listening(py, || {
            let mut session = self.lock();
            Ok(if wave < session.waves() { Ok(session.step(wave)) } else { Err(session.waves()) })
        })?;
        stepped.map_err(|waves| no_wave(wave, waves))?.map_err(device_error)
    }

    /// Steps all waves until one is about to execute the instruction at ``pc``; gives the wave.
    fn run_to(&self, py: Python<'_>, pc: u64, limit: u64) -> PyResult<Option<usize>> {
        // A piece at a time, so that Ctrl-C is heard.
        let mut left = limit;
        loop {
            let piece = left.min(10_000);
            let (found, is_over) = listening(py, || {
                let mut session = self.lock();
                Ok((session.run_to(pc, piece), session.workgroup().is_none()))
            })?;
            let found = found.map_err(device_error)?;
            left -= piece;
            if found.is_some() || left == 0 || is_over {
                return Ok(found);
            }
            // Other threads of Python's, too.
            without_gil(py, std::thread::yield_now);
            py.check_signals()?;
        }
    }
}
