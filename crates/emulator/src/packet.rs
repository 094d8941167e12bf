//! Launches as a packet processor gets them: descriptor, code, arguments and the packet itself lie in the memory of a host
//! process, and so does all that the kernel touches.
//!
//! The thread that runs a packet works on it itself, so every queue that has a thread makes progress, whatever the other
//! ones run. Other workers help where they are free; one that has not come when the work is done is not waited for.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};

use luthier_loader::{EntryState, KernelDescriptor};

use crate::device::{Device, ModuleId};
use crate::dispatch::Dispatch;
use crate::error::EmuError;
use crate::facts::Facts;
use crate::gws::{self, lock};
use crate::launch::{COOPERATIVE_WAVES, MORE_SCRATCH, Strict};
use crate::memory::Memory;
use crate::program::Program;
use crate::report::LaunchReport;
use crate::sched::{self, Outcome, RESIDENT, Shared, Slots};
use crate::schedule::Schedule;
use crate::strict::Looks;

/// One launch, all of it in the host's memory.
#[derive(Clone, Debug)]
pub struct Packet {
    pub descriptor: KernelDescriptor,
    /// Where the code begins.
    pub entry: u64,
    /// Work-items.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub workgroup: [u32; 3],
    /// Addresses of the AQL packet, of the queue (`amd_queue_t`) and of the arguments.
    pub packet: u64,
    pub queue: u64,
    pub kernarg: u64,
    /// Bytes of LDS of a workgroup, and of scratch of a work-item.
    pub lds: u32,
    pub private: u32,
    pub strict: Strict,
    /// All workgroups are under way together; the launch comes alone.
    pub cooperative: bool,
    /// The report is to have the number of instructions; others leave it zero.
    pub count: bool,
    /// Set by whoever gives the launch up: its waves go no further. Set as well where one of them has stopped it.
    pub stop: Arc<AtomicBool>,
}

/// Whose kernel a packet has, for people.
#[derive(Clone, Debug)]
pub struct Identity {
    pub name: String,
    pub module: Option<ModuleId>,
}

/// Kernels whose translated code is kept.
const MOST_KERNELS: usize = 1024;

/// Translated code by descriptor and entry, with strict mode or without, and when it was last known to be the memory's.
pub(crate) type PacketPrograms = HashMap<(KernelDescriptor, u64, Option<Looks>), (u64, Vec<Program>)>;

/// A launch that several threads work on.
struct Crew {
    shared: Shared,
    state: Mutex<CrewState>,
    gone: Condvar,
}

#[derive(Default)]
struct CrewState {
    /// Nobody may begin any more.
    closed: bool,
    at_work: usize,
    /// Code that nobody works with, and what the others brought home.
    programs: Vec<Program>,
    outcomes: Vec<Outcome>,
    panicked: bool,
}

impl Crew {
    /// A helper comes, unless it is too late.
    fn help(&self, slot0: usize) {
        let program = {
            let mut state = lock(&self.state);
            if state.closed {
                return;
            }
            let Some(program) = state.programs.pop() else { return };
            state.at_work += 1;
            program
        };
        let done = work(&self.shared, program, slot0);
        let mut state = lock(&self.state);
        state.at_work -= 1;
        match done {
            Some((program, outcome)) => {
                state.programs.push(program);
                state.outcomes.push(outcome);
            }
            None => state.panicked = true,
        }
        self.gone.notify_all();
    }
}

/// Works until nothing is left; `None` if that panics, which is a mistake of the emulator's and stops the launch.
fn work(shared: &Shared, mut program: Program, slot0: usize) -> Option<(Program, Outcome)> {
    let outcome = catch_unwind(AssertUnwindSafe(|| sched::work(shared, &mut program, slot0, None)));
    if outcome.is_err() {
        shared.stop.store(true, Relaxed);
    }
    outcome.ok().map(|outcome| (program, outcome))
}

impl Device {
    /// Runs a kernel to its end. `identify` is asked whose it is when there is something to say about it.
    ///
    /// # Errors
    /// Whatever stops the kernel, and grids that are none.
    pub fn run_packet(&self, packet: &Packet, identify: impl FnOnce() -> Identity) -> Result<LaunchReport, EmuError> {
        let start = std::time::Instant::now();
        let patiently = || {
            std::thread::sleep(std::time::Duration::from_millis(1));
            true
        };
        let _turn = packet.cooperative.then(|| self.gws().take_turn(patiently));
        let memory = self.memory().renewed();
        let epoch = memory.host().map_or(0, |host| host.code_epoch());
        let key = (packet.descriptor, packet.entry, packet.strict.kinds().map(Looks::of));
        let mut programs = match self.packet_programs().remove(&key) {
            Some((known, programs)) if known == epoch => programs,
            Some((_, programs)) if programs.iter().all(|program| program.is_current(&memory)) => programs,
            _ => Vec::new(),
        };
        let shared = self.shared(packet, memory)?;
        let memory = Arc::clone(&shared.memory);
        let workers = self.workers_for(shared.clusters, Schedule::Fair)?;
        let facts = Facts::of(self.target());
        while programs.len() < workers {
            let (mode, limits) = (facts.mode(&packet.descriptor), facts.registers(&packet.descriptor));
            programs.push(Program::new(mode, limits, key.2, self.poison()));
        }
        let (mut programs, mut outcomes, panicked) = run(shared, programs, workers, packet.cooperative);
        if panicked {
            let what = "the emulator itself failed; this is a mistake in it, please report it".into();
            return Err(EmuError::Unsupported { kernel: identify().name, what });
        }
        sched::agree(&mut outcomes);
        let mut report = LaunchReport::default();
        if packet.count {
            programs.iter_mut().for_each(|program| program.visit_counts(|_, _, count| report.instructions += count));
        }
        if outcomes.iter().any(|o| o.trouble.is_some() || !o.findings.is_empty()) {
            let Identity { name, module } = identify();
            let module = module.and_then(|id| self.module(id).ok());
            self.judge(module.as_deref(), &name, &programs, outcomes, &mut report)?;
            report.findings.sort_by_key(|f| (f.pc, f.kind, f.workgroup, f.wave));
            report.findings.dedup_by_key(|f| (f.pc, f.kind));
        } else {
            report.workgroups = outcomes.iter().map(|o| o.groups).sum();
            report.waves = outcomes.iter().map(|o| o.waves).sum();
        }
        report.would_end = memory.end_noted();
        let mut kept = self.packet_programs();
        if kept.len() >= MOST_KERNELS {
            kept.clear();
        }
        kept.insert(key, (epoch, programs));
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn shared(&self, packet: &Packet, mut memory: Memory) -> Result<Shared, EmuError> {
        let facts = Facts::of(self.target());
        let entry_state = EntryState::of(&packet.descriptor, facts.mode(&packet.descriptor));
        let preloaded = facts.preloaded(&packet.descriptor);
        let mut kernarg_bytes = vec![0; preloaded.end];
        let (from, bytes) = (packet.kernarg + preloaded.start as u64, &mut kernarg_bytes[preloaded]);
        memory.read(from, bytes).map_err(EmuError::Address)?;
        let dispatch = Dispatch {
            descriptor: packet.descriptor,
            entry: packet.entry.wrapping_add(entry_state.offset),
            entry_state,
            facts,
            grid: packet.grid,
            workgroup: packet.workgroup,
            cluster: [1; 3],
            packet: packet.packet,
            queue: packet.queue,
            kernarg: packet.kernarg,
            kernarg_bytes,
            lds: packet.lds,
            private: packet.private.next_multiple_of(16),
        };
        let waves = u64::from(dispatch.waves(packet.workgroup.iter().product::<u32>())).max(1);
        let scratch_slot = dispatch.wave_scratch() * waves;
        let clusters: u64 = dispatch.groups().iter().map(|&n| u64::from(n)).product();
        let most = COOPERATIVE_WAVES / waves;
        let workers = self.workers_for(clusters, Schedule::Fair)?;
        let mut resident = RESIDENT;
        if packet.cooperative {
            if clusters > most {
                return Err(EmuError::Cooperative { groups: clusters, most });
            }
            resident = resident.max(clusters.div_ceil(workers as u64) as usize);
        }
        let own_slots = workers * resident;
        let affordable = MORE_SCRATCH.checked_div(scratch_slot).unwrap_or(u64::MAX);
        let more = clusters.min(most).saturating_sub(resident as u64).min(affordable);
        let slots = own_slots as u64 + more;
        let total = scratch_slot.checked_mul(slots).ok_or(EmuError::OutOfMemory(u64::MAX))?;
        let scratch = match total {
            0 => 0,
            _ => memory.allocate(total, true).ok_or(EmuError::OutOfMemory(total))?,
        };
        let cooperative = packet.cooperative.then(|| (clusters, dispatch.all_waves()));
        let races = sched::races(&dispatch, packet.strict.kinds(), workers, &memory);
        Ok(Shared {
            prints: None,
            dispatch,
            memory: Arc::new(memory),
            next_cluster: AtomicU64::new(0),
            clusters,
            resident,
            cooperative: packet.cooperative,
            schedule: Schedule::Fair,
            stop: Arc::clone(&packet.stop),
            strict: packet.strict.kinds(),
            races,
            watch: None,
            watchdog: self.watchdog(),
            done: Arc::default(),
            scratch,
            scratch_slot,
            spare: self.spare(),
            under_way: AtomicU64::new(0),
            most,
            slots: slots as usize,
            more_slots: Mutex::new(Slots::new(own_slots..own_slots + more as usize)),
            global: Arc::new(gws::View::new(Arc::clone(self.gws()), cooperative, workers)),
        })
    }
}

/// All that is to do, by this thread and helpers; gives the code back, what all brought home, and whether one failed.
fn run(
    shared: Shared,
    mut programs: Vec<Program>,
    workers: usize,
    all_come: bool,
) -> (Vec<Program>, Vec<Outcome>, bool) {
    let resident = shared.resident;
    let Some(own) = programs.pop() else { return (programs, Vec::new(), false) };
    if workers == 1 {
        let done = work(&shared, own, 0);
        let panicked = done.is_none();
        let (own, outcome) = done.unzip();
        programs.extend(own);
        return (programs, outcome.into_iter().collect(), panicked);
    }
    let state = CrewState { programs, ..CrewState::default() };
    let crew = Arc::new(Crew { shared, state: Mutex::new(state), gone: Condvar::new() });
    for helper in 1..workers {
        let crew = Arc::clone(&crew);
        let help = move || crew.help(helper * resident);
        // Where workgroups wait for each other, none may have to wait for a worker.
        if all_come {
            std::thread::spawn(help);
        } else {
            rayon::spawn(help);
        }
    }
    let done = work(&crew.shared, own, 0);
    let mut state = lock(&crew.state);
    if all_come && done.is_some() {
        while state.outcomes.len() + 1 < workers && !state.panicked {
            state = crew.gone.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
    state.closed = true;
    while state.at_work > 0 {
        state = crew.gone.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
    }
    let (mut programs, mut outcomes) = (std::mem::take(&mut state.programs), std::mem::take(&mut state.outcomes));
    let panicked = state.panicked || done.is_none();
    if let Some((program, outcome)) = done {
        programs.push(program);
        outcomes.push(outcome);
    }
    (programs, outcomes, panicked)
}
