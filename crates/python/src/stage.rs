//! Launches that stop anywhere and go back, and one launch under many schedules.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use luthier_emulator::choose::WaveId;
use luthier_emulator::explore::{By, Explored, Outcome, explore};
use luthier_emulator::observe::MemoryEvent;
use luthier_emulator::stage::{
    Did, Done, Register, Sought, Stage, StaleRead, Stopped, Until, Wanted, Watchpoint, Why, Wrote,
};
use luthier_emulator::workgroup::State;
use luthier_emulator::{EmuError, FindingKind, Pct};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::{Value, json};

use crate::device::{device_error, finding_to_json, source_to_json};
use crate::error::{Class, Signals, listening};
use crate::json::to_python;
use crate::observe::{bytes_of, registers_to_python};

/// Instructions after which signals are looked at.
const PIECE: u64 = 5_000_000;

/// A watchpoint as Python states it: kind (`memory`, `lds`, `register`), the accesses that are wanted, and what the kind
/// needs: first byte and count; the workgroup's number before them; the wave's two numbers, the register and the lane.
pub type WatchRequest = (String, String, u64, u64, u64, Option<u8>);

fn watchpoint((kind, wanted, a, b, c, lane): WatchRequest) -> PyResult<Watchpoint> {
    let unknown = |what: &str, known: &str| {
        Class::Argument.error(format!("there is no watchpoint of {what}: there are those of {known}"))
    };
    let accesses = || match wanted.as_str() {
        "read" => Ok(Wanted::Reads),
        "write" => Ok(Wanted::Writes),
        "access" => Ok(Wanted::Accesses),
        "change" => Ok(Wanted::Changes),
        other => Err(unknown(&format!("{other:?}"), "read, write, access, change")),
    };
    match kind.as_str() {
        "memory" => Ok(Watchpoint::Memory { start: a, len: b, wanted: accesses()? }),
        "lds" => Ok(Watchpoint::Lds { group: c, start: a, len: b, wanted: accesses()? }),
        "register" => {
            let register = register(&wanted).ok_or_else(|| {
                unknown(&format!("{wanted:?}"), "s0 to s105, v0 to v1023, a0 to a255, exec, vcc, scc, m0")
            })?;
            Ok(Watchpoint::Register { wave: WaveId { group: a, wave: b as u32 }, register, lane })
        }
        other => Err(unknown(other, "memory, lds, register")),
    }
}

fn register(name: &str) -> Option<Register> {
    let numbered =
        |prefix: &str, end: u16| name.strip_prefix(prefix)?.parse().ok().filter(|number: &u16| *number < end);
    match name {
        "exec" => Some(Register::Exec),
        "vcc" => Some(Register::Vcc),
        "scc" => Some(Register::Scc),
        "m0" => Some(Register::M0),
        _ => None,
    }
    .or_else(|| numbered("s", 106).map(|number| Register::Sgpr(number as u8)))
    .or_else(|| numbered("v", 1024).map(Register::Vgpr))
    .or_else(|| numbered("a", 256).map(Register::Agpr))
}

/// Asks Python's signal handlers now and then.
struct Patience<'a> {
    signals: &'a Signals,
    asked: Cell<Instant>,
}

impl<'a> Patience<'a> {
    const EVERY: Duration = Duration::from_millis(50);

    fn new(signals: &'a Signals) -> Patience<'a> {
        Patience { signals, asked: Cell::new(Instant::now()) }
    }

    fn goes_on(&self) -> bool {
        if self.asked.get().elapsed() < Patience::EVERY {
            return true;
        }
        self.asked.set(Instant::now());
        self.signals.quiet()
    }
}

/// A launch that stops anywhere and goes back, one thread at a time; see :class:`luthier.device.debug.stage.Stage`.
#[pyclass(name = "Stage", module = "luthier._core", frozen)]
pub struct PyStage {
    inner: Mutex<Stage>,
}

impl PyStage {
    pub fn new(inner: Stage) -> PyStage {
        PyStage { inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        // A panic while it went on left it as it was at that instruction.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyStage {
    /// Instructions executed so far, by all waves.
    #[getter]
    fn event(&self) -> u64 {
        self.lock().event()
    }

    /// Goes on until one of these holds: ``event`` instructions in all; the wave (its workgroup's number, its own, N) has
    /// executed N; one is about to be executed at an address; a watchpoint; strict mode finds something.
    fn resume<'py>(
        &self,
        py: Python<'py>,
        event: Option<u64>,
        retired: Option<(u64, u32, u64)>,
        addresses: Vec<u64>,
        watchpoints: Vec<WatchRequest>,
        findings: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let watchpoints = watchpoints.into_iter().map(watchpoint).collect::<PyResult<_>>()?;
        let retired = retired.map(|(group, wave, count)| (WaveId { group, wave }, count));
        let mut until = Until { event, retired, addresses: addresses.into_iter().collect(), watchpoints, findings };
        loop {
            let (stopped, here) = listening(py, || {
                let mut stage = self.lock();
                let piece = stage.event() + PIECE;
                until.event = Some(event.map_or(piece, |event| event.min(piece)));
                let stopped = stage.resume(&until).map_err(device_error)?;
                Ok((stopped, stage.event()))
            })?;
            let piece_over = matches!(stopped.why, Why::Reached) && Some(here) == until.event && Some(here) != event;
            let wave_there = || retired.is_some_and(|(id, count)| self.retired(id) >= count);
            if !piece_over || wave_there() {
                return stopped_to_python(py, &stopped);
            }
            py.check_signals()?;
        }
    }

    /// Goes to where all waves together have executed ``event`` instructions, before or behind.
    fn goto<'py>(&self, py: Python<'py>, event: u64) -> PyResult<Bound<'py, PyDict>> {
        let stopped = listening(py, || self.lock().goto(event).map_err(device_error))?;
        stopped_to_python(py, &stopped)
    }

    /// Of each wave under way: its workgroup's number and its own, the workgroup's three, ``ready``, ``barrier`` or ``ended``,
    /// the address of its next instruction, and how many it has executed.
    #[expect(clippy::type_complexity, reason = "what a stub says better")]
    fn waves(&self) -> Vec<(u64, u32, (u32, u32, u32), &'static str, u64, u64)> {
        let seen = self.lock().waves();
        let state = |state| match state {
            State::Ready => "ready",
            State::AtBarrier => "barrier",
            State::Ended => "ended",
        };
        seen.iter().map(|w| (w.id.group, w.id.wave, w.workgroup.into(), state(w.state), w.pc, w.retired)).collect()
    }

    /// A wave's registers, as of a session.
    fn registers<'py>(&self, py: Python<'py>, group: u64, wave: u32) -> PyResult<Bound<'py, PyDict>> {
        let registers = self.lock().registers(WaveId { group, wave });
        let registers = registers.ok_or_else(|| no_wave(group, wave))?;
        registers_to_python(py, &registers)
    }

    /// Where a wave's scratch memory begins, and how many bytes it has for all lanes together: a word of each lane, one after
    /// another, then the next word.
    fn scratch(&self, group: u64, wave: u32) -> PyResult<(u64, u64)> {
        self.lock().scratch(WaveId { group, wave }).ok_or_else(|| no_wave(group, wave))
    }

    /// The LDS of a workgroup.
    fn lds<'py>(&self, py: Python<'py>, group: u64) -> PyResult<Bound<'py, PyBytes>> {
        let lds = self.lock().lds(group);
        Ok(PyBytes::new(py, &lds.ok_or_else(|| no_wave(group, 0))?))
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

    /// Where in all the wave's instruction is that follows ``retired`` others of its own; None if it has not come there.
    fn event_of(&self, group: u64, wave: u32, retired: u64) -> Option<u64> {
        self.lock().event_of(WaveId { group, wave }, retired)
    }

    /// What a wave has executed, but for its ``first`` instructions: three numbers of 64 bits each, event, address and EXEC.
    fn trace<'py>(&self, py: Python<'py>, group: u64, wave: u32, first: u64) -> PyResult<Bound<'py, PyBytes>> {
        let signals = Signals::default();
        let done = listening(py, || {
            let patience = Patience::new(&signals);
            self.lock().trace(WaveId { group, wave }, first, &|| patience.goes_on()).map_err(device_error)
        });
        Ok(bytes_of(py, &signals.or(done)?))
    }

    /// The last instruction at one of some addresses that a wave executed among its first ``retired``: its event, how many the
    /// wave had executed before, its address, and EXEC. Those in ``masked`` count where ``lane`` is on. The launch stands elsewhere
    /// afterwards.
    #[expect(clippy::too_many_arguments, reason = "a list of names is what Python gives")]
    fn last_executed(
        &self,
        py: Python<'_>,
        group: u64,
        wave: u32,
        retired: u64,
        masked: Vec<u64>,
        always: Vec<u64>,
        lane: Option<u8>,
    ) -> PyResult<Option<(u64, u64, u64, u64)>> {
        let (masked, always) = (masked.into_iter().collect(), always.into_iter().collect());
        let sought = Sought { wave: WaveId { group, wave }, masked, always, lane };
        let signals = Signals::default();
        let found = listening(py, || {
            let patience = Patience::new(&signals);
            self.lock().last_executed(&sought, retired, &|| patience.goes_on()).map_err(device_error)
        });
        Ok(signals.or(found)?.map(|Done { event, retired, pc, exec }| (event, retired, pc, exec)))
    }

    /// The last store or atomic before an event that a watchpoint on memory or LDS sees, as of :meth:`resume`, with the ``event``
    /// behind it. The launch stands elsewhere afterwards.
    fn last_write<'py>(
        &self,
        py: Python<'py>,
        watch: WatchRequest,
        event: u64,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let watch = watchpoint(watch)?;
        let signals = Signals::default();
        let found = listening(py, || {
            let patience = Patience::new(&signals);
            self.lock().last_write(watch, event, &|| patience.goes_on()).map_err(device_error)
        });
        let Some(Wrote { event, wave, pc, access }) = signals.or(found)? else { return Ok(None) };
        let dict = stopped_to_python(py, &Stopped { why: Why::Watchpoint(0, access, pc), wave })?;
        dict.set_item("event", event)?;
        Ok(Some(dict))
    }

    /// The wave whose turn it is executes one instruction; its accesses, as :data:`luthier.device.observe.MEMORY_EVENT` has
    /// them.
    fn accesses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let accesses = listening(py, || self.lock().accesses().map_err(device_error))?;
        Ok(bytes_of(py, &accesses))
    }

    /// From now on a kernel that calls its host is stopped: the launch will be taken back.
    fn hold_calls(&self) {
        self.lock().hold_calls();
    }

    /// Calls are made again, now that the launch was taken back; an error if the kernel was stopped for one.
    fn go_on_with_calls(&self) -> PyResult<()> {
        self.lock().go_on_with_calls().map_err(device_error)
    }

    /// The schedule that leads here again.
    fn choices(&self) -> String {
        self.lock().choices().to_string()
    }

    /// What strict mode has found so far.
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let findings = self.lock().findings();
        to_python(py, &findings.iter().map(finding_to_json).collect())
    }
}

impl PyStage {
    fn retired(&self, id: WaveId) -> u64 {
        self.lock().waves().iter().find(|wave| wave.id == id).map_or(u64::MAX, |wave| wave.retired)
    }
}

fn no_wave(group: u64, wave: u32) -> PyErr {
    Class::Argument.error(format!("wave {wave} of workgroup {group} is not under way"))
}

fn stopped_to_python<'py>(py: Python<'py>, stopped: &Stopped) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let why = match &stopped.why {
        Why::Reached => "reached",
        Why::Address(pc) => {
            dict.set_item("pc", pc)?;
            "address"
        }
        Why::Watchpoint(number, access, pc) => {
            dict.set_item("watchpoint", number)?;
            dict.set_item("pc", pc)?;
            if let Some(MemoryEvent { address, size, lane, kind, .. }) = access {
                dict.set_item("access", (address, size, lane, kind))?;
            }
            "watchpoint"
        }
        Why::Found(finding) => {
            dict.set_item("finding", to_python(py, &finding_to_json(finding))?)?;
            "finding"
        }
        Why::Failed(error) => {
            dict.set_item("error", device_error(error.clone()).into_value(py))?;
            "failed"
        }
        Why::Over => "over",
    };
    dict.set_item("why", why)?;
    dict.set_item("wave", stopped.wave.map(|id| (id.group, id.wave)))?;
    Ok(dict)
}

/// A load that had an older value than there was, and the store that it missed.
fn stale_to_json(StaleRead { load, store, address, why }: &StaleRead) -> Value {
    let did = |did: &Did| {
        json!({
            "pc": did.pc, "text": did.text, "workgroup": did.workgroup, "wave": did.wave,
            "source": source_to_json(&did.source),
        })
    };
    json!({"load": did(load), "store": did(store), "address": address, "why": why.name()})
}

/// Runs a stage under ``most`` schedules at most, those of ``by``: ``pct`` with a seed and a depth, ``order``, or
/// ``preemptions`` with how many.
pub fn explored<'py>(
    py: Python<'py>,
    mut stage: Stage,
    (by, number, depth): (&str, u64, u32),
    most: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let by = match by {
        "pct" => By::Pct { seed: number, depth: if depth == 0 { Pct::DEPTH } else { depth } },
        "order" => By::Order,
        "preemptions" => By::Preemptions(number.min(u32::MAX.into()) as u32),
        other => {
            let known = "pct, order, preemptions";
            return Err(Class::Argument.error(format!("schedules are not explored by {other:?}; there are {known}")));
        }
    };
    let signals = Signals::default();
    let done = listening(py, || {
        let patience = Patience::new(&signals);
        explore(&mut stage, by, most, &|| patience.goes_on()).map_err(device_error)
    });
    let Explored { outcomes, schedules, exhausted, choices } = signals.or(done)?;
    let list = PyList::empty(py);
    for Outcome { key, schedule, schedules, error, findings, kinds, stale } in outcomes {
        let dict = PyDict::new(py);
        dict.set_item("key", key)?;
        dict.set_item("schedule", schedule.to_string())?;
        dict.set_item("schedules", schedules)?;
        dict.set_item("error", error.map(|error| device_error(error).into_value(py)))?;
        dict.set_item("findings", to_python(py, &findings.iter().map(finding_to_json).collect())?)?;
        dict.set_item("stale", to_python(py, &stale.iter().map(stale_to_json).collect())?)?;
        dict.set_item("kinds", kinds.into_iter().map(FindingKind::name).collect::<Vec<_>>())?;
        list.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("outcomes", list)?;
    dict.set_item("schedules", schedules)?;
    dict.set_item("exhausted", exhausted)?;
    dict.set_item("choices", choices)?;
    Ok(dict)
}
