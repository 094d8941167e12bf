//! Launches: run to their end, watched, or a step at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use luthier_loader::{EntryState, Kernel};
use zerocopy::IntoBytes;

use crate::attention::{Attention, Latch};
use crate::code::{Code, Key};
use crate::device::{Device, Module, ModuleId, trouble_at};
use crate::dispatch::{self, Dispatch, Pointers};
use crate::error::EmuError;
use crate::facts::Facts;
use crate::gws::Gws;
use crate::hostcall::buffered::PrintBuffer;
use crate::hostcall::{self, Services};
use crate::lower::Limits;
use crate::observe::{Observation, Watch};
use crate::pool::pool;
use crate::probe::Probing;
use crate::program::Program;
use crate::report::{Finding, FindingKind, Kinds, LaunchReport, Observed, OtherParty};
use crate::sched::{self, Outcome};
use crate::schedule::Schedule;
use crate::session::Session;
use crate::shared::{Shared, Terms};
use crate::strict::{Looks, Party};
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
    pub(crate) fn kinds(self) -> Option<Kinds> {
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

    /// A launch that goes on only when it is told to. It is not judged, whatever `launch.strict` says.
    pub fn session(&self, launch: &Launch) -> Result<Session, EmuError> {
        let Ready { module, kernel, shared, limits } =
            self.ready(&Launch { strict: Strict::Off, ..launch.clone() }, None, Arc::new(self.gws().copy()))?;
        let kernel = &module.object.kernels()[kernel];
        let code = Code::new(shared.dispatch.facts.mode(&kernel.descriptor), limits, Probing::default());
        let program = Program::new(Arc::new(code.stepping()), 0);
        let name = kernel.name.clone();
        Ok(Session::new(module, name, shared, program))
    }

    fn ready(&self, launch: &Launch, watch: Option<Watch>, gws: Arc<Gws>) -> Result<Ready, EmuError> {
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
        let watch = watch.map(|watch| watch.relocated(|vaddr| module.address(vaddr)));
        let shared = self.prepare(&module, kernel, launch, lds, watch, gws)?;
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
        let key = Key { mode, limits, looks: shared.strict.map(Looks::of) };
        let probing = || Probing { strict: key.looks, poison: self.poison(), watch: shared.watch.clone() };
        // Translated code that makes events is good for this launch only.
        let code = if watched { Arc::new(Code::new(mode, limits, probing())) } else { self.code(key, probing) };
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
        let observed = observed.map_err(|error| hostcall::explained(error, &shared.memory));
        // What it has printed before it was stopped is worth seeing.
        let shown = shared.show(&kernel.name);
        observed.and_then(|observed| shown.map(|()| observed))
    }

    fn prepare(
        &self,
        module: &Module,
        kernel: &Kernel,
        launch: &Launch,
        lds: u32,
        watch: Option<Watch>,
        gws: Arc<Gws>,
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
                schedule: launch.schedule,
                stop: Arc::default(),
                strict,
                watch,
                prints,
                gws,
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
            let text_at = |pc: u64| programs.iter().find_map(|p| p.text_at(pc)).unwrap_or_default();
            let locate = |pc: u64| owner(pc).map_or_else(Default::default, |m| m.locate(pc));
            for (raw, workgroup, wave) in outcome.findings {
                let (original_pc, source) = locate(raw.pc);
                let party = |o: Party| OtherParty {
                    pc: vaddr(o.pc),
                    text: text_at(o.pc),
                    wave: o.wave,
                    source: locate(o.pc).1,
                };
                report.findings.push(Finding {
                    kind: raw.kind,
                    kernel: kernel.to_owned(),
                    pc: vaddr(raw.pc),
                    text: text_at(raw.pc),
                    workgroup,
                    wave,
                    lane: raw.lane,
                    address: raw.address,
                    message: raw.message,
                    extent: raw.extent.of(workgroup, wave),
                    other: raw.other.map(party),
                    original_pc,
                    source,
                });
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

fn sorted(counts: HashMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    counts
}
