//! Watched launches, and launches that go on a step at a time.

use std::collections::BTreeSet;

use luthier_emulator::observe::{Observation, Registers, Snapshot, Watch};
use luthier_emulator::session::Session;
use luthier_emulator::workgroup::State;
use luthier_emulator::{EmuError, Observed};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::device::{device_error, report_to_python};
use crate::error::Class;

/// What Python asks for: kinds of events, addresses to copy registers at, addresses that alone make events, how many.
pub type Request = (Vec<String>, Vec<u64>, Vec<u64>, usize);

pub fn watch(request: Request) -> PyResult<Watch> {
    let (events, snapshots, only, limit) = request;
    let (snapshots, only): (BTreeSet<u64>, BTreeSet<u64>) = (BTreeSet::from_iter(snapshots), BTreeSet::from_iter(only));
    let mut watch = Watch { snapshots, only, limit, ..Watch::default() };
    for event in events {
        match event.as_str() {
            "instructions" => watch.instructions = true,
            "blocks" => watch.blocks = true,
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
fn bytes_of<'py, T: Copy>(py: Python<'py>, list: &[T]) -> Bound<'py, PyBytes> {
    // SAFETY: the event structures are `repr(C)`, without padding (their sizes are asserted where they are defined),
    // and plain integers throughout.
    PyBytes::new(py, unsafe { std::slice::from_raw_parts(list.as_ptr().cast::<u8>(), size_of_val(list)) })
}

pub fn observed_to_python<'py>(py: Python<'py>, observed: &Observed) -> PyResult<Bound<'py, PyDict>> {
    let Observation { instructions, blocks, memory, waves, snapshots, dropped } = &observed.observation;
    let seen = PyDict::new(py);
    seen.set_item("instructions", bytes_of(py, instructions))?;
    seen.set_item("blocks", bytes_of(py, blocks))?;
    seen.set_item("memory", bytes_of(py, memory))?;
    seen.set_item("waves", bytes_of(py, waves))?;
    seen.set_item("counts", bytes_of(py, &observed.counts))?;
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
    let dict = report_to_python(py, &observed.report)?;
    dict.set_item("seen", seen)?;
    Ok(dict)
}

fn registers_to_python<'py>(py: Python<'py>, registers: &Registers) -> PyResult<Bound<'py, PyDict>> {
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

/// A launch that goes on when told to. It belongs to the thread that began it.
#[pyclass(name = "Session", module = "luthier._core", unsendable)]
pub struct PySession {
    inner: Session,
}

impl PySession {
    pub fn new(inner: Session) -> PySession {
        PySession { inner }
    }

    fn registers_of(&self, wave: usize) -> PyResult<Registers> {
        self.inner.registers(wave).ok_or_else(|| no_wave(wave, self.inner.waves()))
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
        self.inner.workgroup().map(Into::into)
    }

    #[getter]
    fn waves(&self) -> usize {
        self.inner.waves()
    }

    #[getter]
    fn instructions(&self) -> u64 {
        self.inner.instructions()
    }

    fn state(&self, wave: usize) -> PyResult<&'static str> {
        match self.inner.state(wave) {
            Some(State::Ready) => Ok("ready"),
            Some(State::AtBarrier) => Ok("barrier"),
            Some(State::Ended) => Ok("ended"),
            None => Err(no_wave(wave, self.inner.waves())),
        }
    }

    fn pc(&self, wave: usize) -> PyResult<u64> {
        self.inner.pc(wave).ok_or_else(|| no_wave(wave, self.inner.waves()))
    }

    fn retired(&self, wave: usize) -> PyResult<u64> {
        self.inner.retired(wave).ok_or_else(|| no_wave(wave, self.inner.waves()))
    }

    fn registers<'py>(&self, py: Python<'py>, wave: usize) -> PyResult<Bound<'py, PyDict>> {
        registers_to_python(py, &self.registers_of(wave)?)
    }

    fn lds<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.lds())
    }

    fn read<'py>(&self, py: Python<'py>, address: u64, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| device_error(EmuError::OutOfMemory(size as u64)))?;
        data.resize(size, 0);
        self.inner.read(address, &mut data).map_err(|at| device_error(EmuError::Address(at)))?;
        Ok(PyBytes::new(py, &data))
    }

    /// One instruction of a wave.
    fn step(&mut self, wave: usize) -> PyResult<()> {
        self.state(wave)?;
        self.inner.step(wave).map_err(device_error)
    }

    /// Steps all waves in turns until one is about to execute the instruction at `pc`, or the launch is over, or so
    /// many instructions have been executed; gives the wave.
    fn run_to(&mut self, py: Python<'_>, pc: u64, limit: u64) -> PyResult<Option<usize>> {
        // A piece at a time, so that Ctrl-C is heard.
        let mut left = limit;
        loop {
            let piece = left.min(10_000);
            if let Some(wave) = self.inner.run_to(pc, piece).map_err(device_error)? {
                return Ok(Some(wave));
            }
            left -= piece;
            if left == 0 || self.inner.workgroup().is_none() {
                return Ok(None);
            }
            // Other threads of Python's, too.
            py.detach(std::thread::yield_now);
            py.check_signals()?;
        }
    }
}
