//! Launches as a packet processor gets them: descriptor, code, arguments and the packet itself lie in the memory of a host
//! process, and so does all that the kernel touches.
//!
//! The thread that runs a packet works on it itself, so every queue that has a thread makes progress, whatever the other
//! ones run. Other workers help where they are free; one that has not come when the work is done is not waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use luthier_isa::Decoder;
use luthier_loader::{EntryState, KernelDescriptor};

use crate::code::{Code, Key};
use crate::device::{Device, ModuleId};
use crate::dispatch::Dispatch;
use crate::error::EmuError;
use crate::facts::Facts;
use crate::gws::lock;
use crate::launch::Strict;
use crate::memory::Memory;
use crate::outcome::Outcome;
use crate::probe::Probing;
use crate::program::Program;
use crate::report::{LaunchReport, SourceFrame};
use crate::sched;
use crate::schedule::Schedule;
use crate::shared::{Shared, Terms};
use crate::strict::Looks;
use crate::translate::MAX_SIZE;

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
    /// The report is to have what the launch touches of device memory.
    pub footprint: bool,
    /// All workgroups are under way together; the launch comes alone.
    pub cooperative: bool,
    /// How its waves take turns; not one where each turn is a choice.
    pub schedule: Schedule,
    /// The report is to have the number of instructions; others leave it zero.
    pub count: bool,
    /// Set by the thread that gives the launch up: its waves go no further. Set as well where one of them has stopped it.
    pub stop: Arc<AtomicBool>,
}

/// Whose kernel a packet has, for people.
#[derive(Clone, Debug)]
pub struct Identity {
    pub name: String,
    pub module: Option<ModuleId>,
}

/// Where an instruction is, for people.
#[derive(Clone, Debug, Default)]
pub struct Spot {
    /// Within its code object.
    pub pc: u64,
    pub text: String,
    pub source: Vec<SourceFrame>,
    pub original_pc: Option<u64>,
}

/// A launch that several threads work on.
struct Crew {
    shared: Shared,
    code: Arc<Code>,
    epoch: u64,
    state: Mutex<CrewState>,
    gone: Condvar,
}

#[derive(Default)]
struct CrewState {
    /// No worker may begin any more.
    closed: bool,
    at_work: usize,
    /// What those who have been at work brought home.
    done: Vec<(Program, Outcome)>,
    panicked: bool,
}

impl Crew {
    /// A helper comes, unless it is too late.
    fn help(&self, slot0: usize) {
        {
            let mut state = lock(&self.state);
            if state.closed {
                return;
            }
            state.at_work += 1;
        }
        let done = self.work(slot0);
        let mut state = lock(&self.state);
        state.at_work -= 1;
        state.panicked |= done.is_none();
        state.done.extend(done);
        self.gone.notify_all();
    }

    /// Works until nothing is left; `None` if that panics, which is a mistake of the emulator's and stops the launch.
    fn work(&self, slot0: usize) -> Option<(Program, Outcome)> {
        let mut program = Program::new(Arc::clone(&self.code), self.epoch);
        let outcome = catch_unwind(AssertUnwindSafe(|| sched::work(&self.shared, &mut program, slot0, None)));
        if outcome.is_err() {
            self.shared.stop.store(true, Relaxed);
        }
        outcome.ok().map(|outcome| (program, outcome))
    }
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
        let shared = self.shared(packet, memory)?;
        let memory = Arc::clone(&shared.memory);
        let facts = Facts::of(self.target());
        let (mode, limits) = (facts.mode(&packet.descriptor), facts.registers(&packet.descriptor));
        let races = shared.races.clone().filter(|_| packet.footprint);
        let looks = shared.strict.map(Looks::of);
        let key = Key { mode, limits, looks, apart: false, weak: false };
        let code = self.code(key, || Probing { strict: key.looks, poison: self.poison(), watch: None, weak: false });
        let (done, panicked) = run(shared, code, epoch, packet.cooperative);
        if panicked {
            let what = "the emulator itself failed; this is a mistake in it, please report it".into();
            return Err(EmuError::Unsupported { kernel: identify().name, what });
        }
        let (programs, mut outcomes): (Vec<Program>, Vec<Outcome>) = done.into_iter().unzip();
        sched::agree(&mut outcomes);
        let mut report = LaunchReport::default();
        if packet.count {
            programs.iter().for_each(|program| program.visit_counts(|_, _, count| report.instructions += count));
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
        report.footprint = races.map(|races| races.footprint(packet.entry));
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Where the instruction at an address is, of a kernel with this descriptor, which is of a module.
    pub fn spot(&self, module: Option<ModuleId>, kernel: &KernelDescriptor, pc: u64) -> Spot {
        let module = module.and_then(|id| self.module(id).ok());
        let others = self.modules();
        let owner = module.iter().chain(&others).find(|module| module.span.contains(&pc));
        let (original_pc, source) = owner.map_or_else(Default::default, |owner| owner.locate(pc));
        let memory = self.memory().renewed();
        let mut bytes = [0; MAX_SIZE as usize];
        let left = memory.find(pc).map_or(0, |allocation| allocation.end() - pc).min(MAX_SIZE) as usize;
        let read = memory.read(pc, &mut bytes[..left]).is_ok();
        let inst =
            read.then(|| Decoder::new(Facts::of(self.target()).mode(kernel)).decode(&bytes[..left]).ok()).flatten();
        Spot {
            pc: module.map_or(pc, |module| module.place(pc)),
            text: inst.map(|inst| inst.to_string()).unwrap_or_default(),
            source,
            original_pc,
        }
    }

    fn shared(&self, packet: &Packet, memory: Memory) -> Result<Shared, EmuError> {
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
        Shared::new(
            self,
            Terms {
                dispatch,
                memory,
                cooperative: packet.cooperative,
                // Packets have no caches.
                schedule: packet.schedule.turns().clone(),
                stop: Arc::clone(&packet.stop),
                strict: packet.strict.kinds(),
                footprint: packet.footprint,
                watch: None,
                prints: None,
                gws: Arc::clone(self.gws()),
                alone: false,
            },
        )
    }
}

/// All that is to do, by this thread and helpers; gives what all brought home, and whether one failed.
fn run(shared: Shared, code: Arc<Code>, epoch: u64, all_come: bool) -> (Vec<(Program, Outcome)>, bool) {
    let (resident, workers) = (shared.resident, shared.workers);
    let crew = Arc::new(Crew { shared, code, epoch, state: Mutex::default(), gone: Condvar::new() });
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
    let own = crew.work(0);
    let mut state = lock(&crew.state);
    if all_come && own.is_some() {
        while state.done.len() + 1 < workers && !state.panicked {
            state = crew.gone.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
    state.closed = true;
    while state.at_work > 0 {
        state = crew.gone.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    let panicked = state.panicked || own.is_none();
    let mut done = std::mem::take(&mut state.done);
    done.extend(own);
    (done, panicked)
}
