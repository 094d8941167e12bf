//! Launches: run to their end, watched, or a step at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use luthier_isa::Mode;
use luthier_loader::{EntryState, Kernel};
use zerocopy::IntoBytes;

use crate::attention::{Attention, Latch};
use crate::code::{Code, Key};
use crate::device::{Device, Module, ModuleId};
use crate::dispatch::{self, Dispatch, Pointers};
use crate::error::EmuError;
use crate::facts::Facts;
use crate::gws::Gws;
use crate::hostcall::buffered::PrintBuffer;
use crate::interleave::Interleaving;
use crate::lower::Limits;
use crate::observe::Observed;
use crate::observe::{Observation, Watch};
use crate::outcome::Outcome;
use crate::outcome::trouble_at;
use crate::pool::pool;
use crate::probe::Probing;
use crate::program::Program;
use crate::report::{Finding, FindingKind, Kinds, LaunchReport, OtherParty, SourceFrame};
use crate::sched;
use crate::schedule::Schedule;
use crate::services::{self, Services};
use crate::session::Session;
use crate::shared::{Shared, Terms};
use crate::stage::Stage;
use crate::strict::{Looks, Party, RawFinding};
use crate::watchdog::Progress;

/// Whether a launch is judged by strict mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strict {
    #[default]
    Off,
    On,
    /// Judged, but only these kinds of findings are reported.
    Only(Kinds),
}

impl Strict {
    pub fn kinds(self) -> Option<Kinds> {
        match self {
            Strict::Off => None,
            Strict::On => Some(Kinds::USUAL),
            Strict::Only(kinds) => Some(kinds),
        }
    }

    /// Whether findings of this kind are reported.
    pub fn looks_for(self, kind: FindingKind) -> bool {
        self.kinds().is_some_and(|kinds| kinds.contains(kind.into()))
    }

    /// The same without findings of this kind.
    #[must_use]
    pub fn without(self, kind: FindingKind) -> Strict {
        match self.kinds() {
            Some(kinds) if kinds.contains(kind.into()) => Strict::Only(kinds - kind.into()),
            _ => self,
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    pub module: ModuleId,
    pub kernel: String,
    /// Work-items.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub workgroup: [u32; 3],
    /// The explicit arguments, laid out as the kernel's metadata say; the device adds the hidden ones.
    pub kernarg: Vec<u8>,
    /// Bytes of LDS beyond the kernel's own.
    pub dynamic_lds: u32,
    pub strict: Strict,
    /// All workgroups are under way together, so that they may wait for one another; refused if they are too many.
    pub cooperative: bool,
    /// Workgroups of a cluster (gfx1250); `None` for what the kernel demands, or one.
    pub cluster: Option<[u32; 3]>,
    /// In which order its waves take turns.
    pub schedule: Schedule,
}

/// A launch that is ready to run.
struct Ready {
    module: Arc<Module>,
    /// Which of the module's; a copy would have to decode its metadata again.
    kernel: usize,
    shared: Shared,
    limits: Limits,
}

impl Device {
    /// Runs a kernel to its end.
    pub fn launch(&self, launch: &Launch) -> Result<LaunchReport, EmuError> {
        Ok(self.run(launch, None, &|_| true)?.report)
    }

    /// The same, watched or not. `go_on` is told now and then, on this thread, how far the launch is; the launch ends soon
    /// after it says no, with memory as it is then.
    ///
    /// # Errors
    /// [`EmuError::Interrupted`], or as [`Device::launch`].
    pub fn launch_while(
        &self,
        launch: &Launch,
        watch: Option<Watch>,
        go_on: &dyn Fn(Progress) -> bool,
    ) -> Result<Observed, EmuError> {
        self.run(launch, watch, go_on)
    }

    /// The same, and says what happened on the way. The addresses in `watch`, and those of the events, are the code
    /// object's.
    pub fn observe(&self, launch: &Launch, watch: Watch) -> Result<Observed, EmuError> {
        self.run(launch, Some(watch), &|_| true)
    }

    /// A launch that stops anywhere and goes back, in the order of its schedule. `listens` is for those who want to hear of
    /// all accesses to memory, whole blocks' too.
    ///
    /// # Errors
    /// As of [`Device::launch`]; its schedule is one of long turns that has no choices.
    pub fn stage(&self, launch: &Launch, listens: bool) -> Result<Stage, EmuError> {
        if matches!(launch.schedule, Schedule::Alternate | Schedule::Random(_)) {
            let what = format!("a stage has no schedule {}, only fair, pct, choices and weak", launch.schedule);
            return Err(EmuError::Unsupported { kernel: launch.kernel.clone(), what });
        }
        let gws = self.gws().copy();
        let watch = Watch { memory: true, limit: usize::MAX, ..Watch::default() };
        let ready = self.ready_for(launch, Some(watch), Arc::new(gws.copy()), true)?;
        let Ready { module, kernel, shared, limits } = ready;
        let kernel = &module.object.kernels()[kernel];
        let name = kernel.name.clone();
        let mode = shared.dispatch.facts.mode(&kernel.descriptor);
        let key = key_of(&shared, mode, limits);
        let probing = |watch| Probing { strict: key.looks, poison: self.poison(), watch, weak: key.weak };
        let watch = shared.watch.clone();
        let code =
            if listens { Arc::new(Code::of(key, probing(watch.clone()))) } else { self.code(key, || probing(None)) };
        let steps = Code::of(Key { apart: false, ..key }, probing(watch)).stepping();
        let starts = self.memory().allocations().iter().map(|a| a.start).collect();
        let mut play = Interleaving::new(shared, Program::new(code, 0), Some(Program::new(Arc::new(steps), 0)));
        play.hears = listens;
        Ok(Stage::new(module, name, play, gws, starts))
    }

    /// A launch that goes on only when it is told to. It is not judged and has no schedule, whatever `launch` says.
    pub fn session(&self, launch: &Launch) -> Result<Session, EmuError> {
        let Ready { module, kernel, shared, limits } = self.ready(
            &Launch { strict: Strict::Off, schedule: Schedule::Fair, ..launch.clone() },
            None,
            Arc::new(self.gws().copy()),
        )?;
        let kernel = &module.object.kernels()[kernel];
        let code = Code::new(shared.dispatch.facts.mode(&kernel.descriptor), limits, Probing::default());
        let program = Program::new(Arc::new(code.stepping()), 0);
        let name = kernel.name.clone();
        Ok(Session::new(module, name, shared, program))
    }

    fn ready(&self, launch: &Launch, watch: Option<Watch>, gws: Arc<Gws>) -> Result<Ready, EmuError> {
        self.ready_for(launch, watch, gws, false)
    }

    /// `alone` if one worker runs it.
    fn ready_for(&self, launch: &Launch, watch: Option<Watch>, gws: Arc<Gws>, alone: bool) -> Result<Ready, EmuError> {
        let module = self.module(launch.module)?;
        let named = |kernel: &Kernel| kernel.name == launch.kernel.strip_suffix(".kd").unwrap_or(&launch.kernel);
        let number = module.object.kernels().iter().position(named).ok_or_else(|| EmuError::NoKernel {
            name: launch.kernel.clone(),
            known: match module.object.kernels() {
                [] => "none".into(),
                kernels => kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(", "),
            },
        })?;
        let kernel = &module.object.kernels()[number];
        let lds = kernel.descriptor.group_segment_fixed_size().saturating_add(launch.dynamic_lds);
        let facts = Facts::of(self.target());
        dispatch::check_geometry(kernel, launch.grid, launch.workgroup, lds, &facts)?;
        let own = Arc::clone(&module);
        let back = move |pc| own.vaddr(pc).unwrap_or(pc);
        let watch = watch.map(|watch| watch.relocated(|vaddr| module.address(vaddr), back));
        let shared = self.prepare(&module, kernel, launch, lds, watch, (gws, alone))?;
        let limits = facts.registers(&kernel.descriptor);
        Ok(Ready { module, kernel: number, shared, limits })
    }

    fn run(
        &self,
        launch: &Launch,
        watch: Option<Watch>,
        go_on: &dyn Fn(Progress) -> bool,
    ) -> Result<Observed, EmuError> {
        let start = Instant::now();
        let _under_way = self.home().enter()?;
        let attention = Attention::new(go_on);
        let mut turn = None;
        if launch.cooperative {
            let early = AtomicBool::new(false);
            turn = self.gws().take_turn(|| attention.nap(&early));
            if turn.is_none() {
                return Err(EmuError::Interrupted);
            }
        }
        let _turn = turn;
        let Ready { module, kernel, shared, limits } = self.ready(launch, watch, Arc::clone(self.gws()))?;
        let kernel = &module.object.kernels()[kernel];
        attention.begin(&shared.done, shared.clusters * u64::from(shared.dispatch.cluster_size()));
        let watched = shared.watch.is_some();
        let mode = shared.dispatch.facts.mode(&kernel.descriptor);
        let key = key_of(&shared, mode, limits);
        let probing =
            || Probing { strict: key.looks, poison: self.poison(), watch: shared.watch.clone(), weak: key.weak };
        // Translated code that makes events is good for this launch only.
        let code = if watched { Arc::new(Code::of(key, probing())) } else { self.code(key, probing) };
        if shared.schedule.is_chosen() {
            let (shared, program, outcome) =
                Interleaving::new(shared, Program::new(code, 0), None).finish(Some(&attention));
            if attention.refused() {
                return Err(EmuError::Interrupted);
            }
            let observed = self.report(&module, kernel, &[program], vec![outcome], start, watched);
            return told(observed, &shared, &kernel.name);
        }
        let workers = shared.workers;
        let mut programs: Vec<Program> = (0..workers).map(|_| Program::new(Arc::clone(&code), 0)).collect();
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        outcomes.resize_with(workers, || None);
        if workers == 1 {
            outcomes[0] = Some(sched::work(&shared, &mut programs[0], 0, Some(&attention)));
        } else {
            let latch = Latch::new(workers);
            pool()?.in_place_scope(|scope| {
                for (i, (outcome, program)) in outcomes.iter_mut().zip(&mut programs).enumerate() {
                    let (shared, away) = (&shared, latch.worker());
                    scope.spawn(move |_| {
                        let _away = away;
                        *outcome = Some(sched::work(shared, program, i * shared.resident, None));
                    });
                }
                attention.wait(&latch, &shared.stop);
            });
        }
        if attention.refused() {
            return Err(EmuError::Interrupted);
        }
        let mut outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
        sched::agree(&mut outcomes);
        let observed = self.report(&module, kernel, &programs, outcomes, start, watched);
        told(observed, &shared, &kernel.name)
    }

    fn prepare(
        &self,
        module: &Module,
        kernel: &Kernel,
        launch: &Launch,
        lds: u32,
        watch: Option<Watch>,
        (gws, alone): (Arc<Gws>, bool),
    ) -> Result<Shared, EmuError> {
        let strict = launch.strict.kinds();
        // The launch's own buffers live in a copy of the allocation table, so they vanish with it.
        let mut memory = self.memory();
        let services = self.services(module, kernel, launch, &mut memory)?;
        let mut allocate = |bytes: &[u8], len: u64, writable: bool| -> Result<u64, EmuError> {
            let len = len.max(bytes.len() as u64);
            let address = memory.allocate(len, writable).ok_or(EmuError::OutOfMemory(len))?;
            memory.write(address, bytes).map_err(EmuError::Address)?;
            Ok(address)
        };
        let Services { calls, heap, prints } = services;
        let queue = allocate(dispatch::queue().as_mut_bytes(), 0, false)?;
        let mut pointers =
            Pointers { queue, sync: 0, calls, heap, prints: prints.as_ref().map_or(0, PrintBuffer::start) };
        if launch.cooperative {
            let all = allocate(&[], 64, true)?;
            pointers.sync = allocate(&dispatch::grid_sync(all, launch.grid, launch.workgroup), 64, true)?;
        }
        let kernarg_bytes = dispatch::kernarg_segment(
            kernel,
            &launch.kernarg,
            launch.grid,
            launch.workgroup,
            launch.dynamic_lds,
            pointers,
        )?;
        // Compilers widen loads of arguments, of three dwords to four. Strict mode allows no more than that.
        let round = if strict.is_some() { 16 } else { 64 };
        let kernarg = allocate(&kernarg_bytes, (kernarg_bytes.len() as u64).max(1).next_multiple_of(round), true)?;
        let facts = Facts::of(self.target()).with_sramecc(module.object.target().sramecc);
        let cluster = dispatch::cluster(kernel, launch.cluster, launch.grid, launch.workgroup, &facts)?;
        dispatch::check_numbers(launch.grid, launch.workgroup, cluster, &facts)?;
        let entry_state = EntryState::of(&kernel.descriptor, facts.mode(&kernel.descriptor));
        let mut dispatch = Dispatch {
            descriptor: kernel.descriptor,
            entry: module.address(kernel.entry).wrapping_add(entry_state.offset),
            entry_state,
            facts,
            grid: launch.grid,
            workgroup: launch.workgroup,
            cluster,
            packet: 0,
            queue: pointers.queue,
            kernarg,
            kernarg_bytes,
            lds,
            private: dispatch::private_size(kernel),
        };
        let packet = dispatch::packet(&dispatch, module.address(kernel.descriptor_vaddr));
        dispatch.packet = allocate(&packet.0, 0, false)?;
        Shared::new(
            self,
            Terms {
                dispatch,
                memory,
                cooperative: launch.cooperative,
                schedule: launch.schedule.clone(),
                stop: Arc::default(),
                strict,
                footprint: false,
                watch,
                prints,
                gws,
                alone,
            },
        )
    }

    fn report(
        &self,
        module: &Module,
        kernel: &Kernel,
        programs: &[Program],
        outcomes: Vec<Outcome>,
        start: Instant,
        watched: bool,
    ) -> Result<Observed, EmuError> {
        // What lies in another module, or in none, keeps the device's address.
        let vaddr = |pc: u64| module.vaddr(pc).unwrap_or(pc);
        let others: Vec<Arc<Module>> = self.modules();
        let owner = |pc: u64| {
            let mut all = std::iter::once(module).chain(others.iter().map(|m| &**m));
            all.find(|m| m.span.contains(&pc))
        };
        let mut report = LaunchReport::default();
        let mut by_address: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut counts, mut app_counts) = (HashMap::new(), HashMap::new());
        for program in programs {
            program.visit_counts(|pc, inst, count| {
                let name = inst.info().mnemonic;
                *counts.entry(name).or_insert(0) += count;
                if watched {
                    *by_address.entry(vaddr(pc)).or_insert(0) += count;
                }
                report.instructions += count;
                let owner = owner(pc);
                if owner.is_none_or(|m| m.is_application(pc)) {
                    let name = owner.and_then(|m| m.original(pc, inst)).map_or(name, |i| i.info().mnemonic);
                    *app_counts.entry(name).or_insert(0) += count;
                    report.app_instructions += count;
                }
            });
        }
        report.histogram = sorted(counts);
        report.app_histogram = sorted(app_counts);
        let observations = self.judge(Some(module), &kernel.name, programs, outcomes, &mut report)?;
        report.seconds = start.elapsed().as_secs_f64();
        let mut observation = Observation::merge(observations);
        observation.relocate(vaddr);
        Ok(Observed { report, observation, counts: by_address.into_iter().collect() })
    }

    /// Adds to a report what workers bring home. A kernel of an unknown `module` keeps the device's addresses.
    pub(crate) fn judge(
        &self,
        module: Option<&Module>,
        kernel: &str,
        programs: &[Program],
        outcomes: Vec<Outcome>,
        report: &mut LaunchReport,
    ) -> Result<Vec<Observation>, EmuError> {
        let vaddr = |pc: u64| module.and_then(|m| m.vaddr(pc)).unwrap_or(pc);
        let others: Vec<Arc<Module>> = self.modules();
        let owner = |pc: u64| {
            let mut all = module.into_iter().chain(others.iter().map(|m| &**m));
            all.find(|m| m.span.contains(&pc))
        };
        let mut observations = Vec::new();
        for outcome in outcomes {
            observations.push(outcome.observation);
            report.workgroups += outcome.groups;
            report.waves += outcome.waves;
            let locate = |pc: u64| owner(pc).map_or_else(Default::default, |m| m.locate(pc));
            let places = InPrograms { vaddr, locate, programs };
            for (raw, workgroup, wave) in outcome.findings {
                report.findings.push(told_finding(kernel, raw, (workgroup, wave), &places));
            }
            if let Some(trouble) = outcome.trouble {
                return Err(trouble_at(kernel, trouble, vaddr, |pc| locate(pc).1));
            }
        }
        // One finding for each kind and place, the first workgroup's, with what there is of others.
        report.findings.sort_by_key(|f| (f.pc, f.kind, f.workgroup, f.wave));
        report.findings.dedup_by(|later, first| {
            let same = (later.pc, later.kind) == (first.pc, first.kind);
            if same {
                first.extent.merge(&later.extent);
            }
            same
        });
        Ok(observations)
    }
}

/// What the translated code of a launch depends on.
fn key_of(shared: &Shared, mode: Mode, limits: Limits) -> Key {
    let (looks, schedule) = (shared.strict.map(Looks::of), &shared.schedule);
    Key { mode, limits, looks, apart: schedule.is_chosen(), weak: schedule.weak().is_some() }
}

/// Where instructions are that findings are about.
pub(crate) trait Places {
    /// What people call an address.
    fn vaddr(&self, pc: u64) -> u64;
    /// Where it is in the original, if that is another code object, and in the source.
    fn locate(&self, pc: u64) -> (Option<u64>, Vec<SourceFrame>);
    /// The instruction.
    fn text_at(&self, pc: u64) -> String;
}

struct InPrograms<'a, V, L> {
    vaddr: V,
    locate: L,
    programs: &'a [Program],
}

impl<V: Fn(u64) -> u64, L: Fn(u64) -> (Option<u64>, Vec<SourceFrame>)> Places for InPrograms<'_, V, L> {
    fn vaddr(&self, pc: u64) -> u64 {
        (self.vaddr)(pc)
    }
    fn locate(&self, pc: u64) -> (Option<u64>, Vec<SourceFrame>) {
        (self.locate)(pc)
    }
    fn text_at(&self, pc: u64) -> String {
        self.programs.iter().find_map(|p| p.text_at(pc)).unwrap_or_default()
    }
}

impl Places for (&Module, &Interleaving) {
    fn vaddr(&self, pc: u64) -> u64 {
        self.0.place(pc)
    }
    fn locate(&self, pc: u64) -> (Option<u64>, Vec<SourceFrame>) {
        self.0.locate(pc)
    }
    fn text_at(&self, pc: u64) -> String {
        self.1.text_at(pc).unwrap_or_default()
    }
}

/// What strict mode found, for people; in which workgroup and wave.
pub(crate) fn told_finding(
    kernel: &str,
    raw: RawFinding,
    (workgroup, wave): ([u32; 3], u32),
    places: &impl Places,
) -> Finding {
    let (original_pc, source) = places.locate(raw.pc);
    let party = |o: Party| OtherParty {
        pc: places.vaddr(o.pc),
        text: places.text_at(o.pc),
        wave: o.wave,
        source: places.locate(o.pc).1,
    };
    Finding {
        kind: raw.kind,
        kernel: kernel.to_owned(),
        pc: places.vaddr(raw.pc),
        text: places.text_at(raw.pc),
        workgroup,
        wave,
        lane: raw.lane,
        address: raw.address,
        message: raw.message,
        extent: raw.extent.of(workgroup, wave),
        other: raw.other.map(party),
        original_pc,
        source,
    }
}

/// What a launch has come to, once what it has printed is shown: what it has before it was stopped is worth seeing, too.
fn told(observed: Result<Observed, EmuError>, shared: &Shared, kernel: &str) -> Result<Observed, EmuError> {
    let observed = observed.map_err(|error| services::explained(error, &shared.memory));
    let shown = shared.show(kernel);
    observed.and_then(|observed| shown.map(|()| observed))
}

fn sorted(counts: HashMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    counts
}
