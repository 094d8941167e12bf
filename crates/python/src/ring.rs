//! Launches that a program's agent tells while the program goes on: the controller's side of their memory.
//!
//! What is in it was written by another process, which may be no agent: all of it is looked at before it is used.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The memory, as crates/agent/src/ring.rs has it: entries that there is room for, words of 64 bits of each, and where there
/// are how many were written, how many were read, whether this side sleeps, and the first entry.
const ENTRIES: u64 = 2048;
const WORDS: usize = 16;
const WRITTEN: usize = 0;
const READ: usize = 16;
const SLEEPS: usize = 32;
const FIRST: usize = 48;
const LEN: usize = 8 * (FIRST + WORDS * ENTRIES as usize);
/// First words of entries.
const LAUNCHED: u64 = 1;
const COMPLETED: u64 = 2;

/// Launches that a program's agent tells while the program goes on. Another process writes there: ValueError for what no
/// agent writes.
#[pyclass(name = "Ring", module = "luthier._core")]
pub struct PyRing {
    memory: Memory,
    read: u64,
}

#[pymethods]
impl PyRing {
    #[new]
    fn new(file: i32) -> PyResult<PyRing> {
        Ok(PyRing { memory: Memory::of_file(file)?, read: 0 })
    }

    /// How many entries there may be that were not taken.
    #[getter]
    fn room(&self) -> u64 {
        ENTRIES
    }

    /// Takes at most ``most`` entries before which the agent has said as many messages as ``said``: whether it is the end of
    /// a launch, the kernel's slot and the launch's number; of a launch its queue and thread, its packet's 8 words, its grid
    /// and its block, of an end the times at which the launch began and ended, in nanoseconds, and three empty tuples.
    fn take<'py>(&mut self, py: Python<'py>, said: u64, most: u64) -> PyResult<Bound<'py, PyList>> {
        let taken = PyList::empty(py);
        for _ in 0..self.unread()?.min(most) {
            let words = self.memory.entry(self.read);
            match words[1] {
                before if before == said => taken.append(entry(py, &words)?)?,
                before if before > said => break,
                before => {
                    let told = format!("a launch that was told after {before} messages comes after {said}");
                    return Err(PyValueError::new_err(told));
                }
            }
            self.read += 1;
        }
        self.memory.word(READ).store(self.read, Ordering::Release);
        Ok(taken)
    }

    /// From now on the next entry comes with a message that wakes; False, without that, if there is one to be taken.
    fn sleep(&self, said: u64) -> PyResult<bool> {
        let sleeps = self.memory.word(SLEEPS);
        sleeps.store(1, Ordering::SeqCst);
        // The agent writes an entry, and looks at the word then.
        fence(Ordering::SeqCst);
        if self.unread()? == 0 || self.memory.entry(self.read)[1] > said {
            return Ok(true);
        }
        sleeps.store(0, Ordering::Relaxed);
        Ok(false)
    }

    /// Entries come without a message again.
    fn wake(&self) {
        self.memory.word(SLEEPS).store(0, Ordering::Relaxed);
    }

    /// Nothing is taken any more: the next entry comes with a message, for which there is no connection then.
    fn leave(&self) {
        self.memory.word(SLEEPS).store(1, Ordering::SeqCst);
    }
}

impl PyRing {
    fn unread(&self) -> PyResult<u64> {
        let unread = self.memory.word(WRITTEN).load(Ordering::Acquire).wrapping_sub(self.read);
        if unread > ENTRIES {
            let told = format!("there are {unread} launches in a memory that has room for {ENTRIES}");
            return Err(PyValueError::new_err(told));
        }
        Ok(unread)
    }
}

/// What [`PyRing::take`] makes of an entry.
fn entry<'py>(py: Python<'py>, words: &[u64; WORDS]) -> PyResult<Bound<'py, PyTuple>> {
    let [kind, _, slot, number, first, second, packet @ .., _, _] = *words;
    let none = PyTuple::empty(py);
    let (packet, grid, block) = match kind {
        LAUNCHED => {
            let half = |n: usize, at: u32| (packet[n] >> at) as u16;
            let block = (half(0, 32), half(0, 48), half(1, 0));
            let grid = ((packet[1] >> 32) as u32, packet[2] as u32, (packet[2] >> 32) as u32);
            (PyTuple::new(py, packet)?, grid.into_pyobject(py)?, block.into_pyobject(py)?)
        }
        COMPLETED => (none.clone(), none.clone(), none),
        _ => return Err(PyValueError::new_err(format!("a launch's entry is of no known kind: {kind}"))),
    };
    (kind == COMPLETED, slot, number, first, second, packet, grid, block).into_pyobject(py)
}

/// A mapping of the whole.
struct Memory(NonNull<AtomicU64>);

// SAFETY: atomic words; they may be used from anywhere.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn of_file(file: i32) -> PyResult<Memory> {
        // SAFETY: asks of a file by its number, whatever that is.
        let seals = unsafe { libc::fcntl(file, libc::F_GET_SEALS) };
        if seals < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // If it could be cut short, a process that reads what was there would be killed.
        if seals & libc::F_SEAL_SHRINK == 0 {
            return Err(PyValueError::new_err("it is not sealed against being cut short"));
        }
        // SAFETY: `stat` is a plain structure that the call fills in.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if unsafe { libc::fstat(file, &raw mut stat) } != 0 {
            return Err(io::Error::last_os_error().into());
        }
        if usize::try_from(stat.st_size).is_ok_and(|size| size < LEN) {
            return Err(PyValueError::new_err(format!("it has {} bytes, and launches take {LEN}", stat.st_size)));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: takes addresses that nothing has.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), LEN, access, libc::MAP_SHARED, file, 0) };
        match NonNull::new(at.cast()).filter(|_| at != libc::MAP_FAILED) {
            Some(start) => Ok(Memory(start)),
            None => Err(io::Error::last_os_error().into()),
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(8 * index < LEN);
        // SAFETY: within the mapping, which is aligned and lives as long as this.
        unsafe { self.0.add(index).as_ref() }
    }

    fn entry(&self, number: u64) -> [u64; WORDS] {
        let at = FIRST + WORDS * (number % ENTRIES) as usize;
        std::array::from_fn(|n| self.word(at + n).load(Ordering::Relaxed))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.0.as_ptr().cast(), LEN) };
    }
}
