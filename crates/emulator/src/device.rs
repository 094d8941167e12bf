//! The device: memory, loaded code objects, launches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use luthier_isa::Target;
use luthier_loader::link::{ObjectId, Region};
use luthier_loader::{CodeObject, Kernel, LinkError, LoadOptions, MockLoader, OriginMap};

use crate::dispatch::{self, Dispatch, WAVE};
use crate::error::{EmuError, FaultKind};
use crate::lower::Limits;
use crate::memory::{Buffer, Memory};
use crate::poison::Poison;
use crate::program::Program;
use crate::report::{Finding, Kinds, LaunchReport, OtherParty};
use crate::sched::{self, Outcome, RESIDENT, Shared, Trouble};
use crate::source::Sources;
use crate::strict::Party;

/// How a device behaves.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Workers; 0: one for each of the host's cores.
    pub threads: usize,
    /// Instructions after which a workgroup that has not ended is given up, with the addresses of its waves.
    pub watchdog: u64,
    /// Registers to overwrite before each instruction.
    pub poison: Option<Poison>,
}

impl Default for DeviceConfig {
    fn default() -> DeviceConfig {
        DeviceConfig { threads: 0, watchdog: 100_000_000_000, poison: None }
    }
}

/// A loaded code object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

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
    fn kinds(self) -> Option<Kinds> {
        match self {
            Strict::Off => None,
            Strict::On => Some(Kinds::ALL),
            Strict::Only(kinds) => Some(kinds),
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
}

struct Module {
    object: Arc<CodeObject>,
    /// Added to a vaddr, modulo 2^64, it gives the address.
    base: u64,
    span: Range<u64>,
    allocations: Vec<u64>,
    symbols: HashMap<String, (u64, u64)>,
    origins: Option<OriginMap>,
    sources: Sources,
}

impl Module {
    fn address(&self, vaddr: u64) -> u64 {
        self.base.wrapping_add(vaddr)
    }

    /// Of an address in the module.
    fn vaddr(&self, address: u64) -> Option<u64> {
        self.span.contains(&address).then(|| address.wrapping_sub(self.base))
    }

    /// Whether the instruction at an address of the module is the application's.
    fn is_application(&self, address: u64) -> bool {
        self.origins.as_ref().is_none_or(|o| o.is_application(address.wrapping_sub(self.base)))
    }
}

#[derive(Default)]
struct State {
    memory: Memory,
    modules: Vec<Option<Arc<Module>>>,
}

/// Translated code of a kernel, kept from launch to launch.
type Programs = HashMap<(ModuleId, String, bool), Vec<Program>>;

/// A mock GPU. All methods take `&self`; launches of several threads run side by side.
pub struct Device {
    target: Target,
    config: DeviceConfig,
    state: Mutex<State>,
    programs: Mutex<Programs>,
}

impl State {
    /// Takes objects of a loader, and the externals that it keeps, into memory. Nothing changes when this fails.
    fn adopt(&mut self, loader: &MockLoader, ids: &[ObjectId]) -> Result<Vec<ModuleId>, EmuError> {
        let mut modules = Vec::with_capacity(ids.len());
        for &id in ids {
            let failed = |e: String| EmuError::Load(e);
            let loaded = loader.object(id).map_err(|e| failed(e.to_string()))?;
            let object = loaded.object().clone();
            let origins = object.origin_map().map_err(|e| failed(e.to_string()))?;
            let mut symbols = HashMap::new();
            for symbol in object.symbols().iter().filter(|s| s.section.is_some()) {
                symbols.entry(symbol.name.clone()).or_insert((loaded.address(symbol.value), symbol.size));
            }
            let (base, span, allocations) = (loaded.base(), loaded.span(), Vec::new());
            modules.push(Module { object, base, span, allocations, symbols, origins, sources: Sources::default() });
        }
        let mut placed = Vec::new();
        for region in loader.regions().filter(|r| !r.bytes.is_empty() && r.object.is_none_or(|o| ids.contains(&o))) {
            if let Err(error) = self.place(&region) {
                placed.iter().for_each(|&(start, _)| {
                    self.memory.free(start);
                });
                return Err(error);
            }
            placed.push((region.addr, region.object));
        }
        let mut numbers = Vec::with_capacity(modules.len());
        for (mut module, id) in modules.into_iter().zip(ids) {
            module.allocations = placed.iter().filter(|p| p.1 == Some(*id)).map(|p| p.0).collect();
            numbers.push(ModuleId(self.modules.len() as u32));
            self.modules.push(Some(Arc::new(module)));
        }
        Ok(numbers)
    }

    fn place(&mut self, region: &Region<'_>) -> Result<(), EmuError> {
        let len = region.bytes.len() as u64;
        let buffer = Arc::new(Buffer::zeroed(len).ok_or(EmuError::OutOfMemory(len))?);
        // Segments may share a page, which the guard between allocations would not allow: they are placed exactly.
        if !self.memory.insert_exact(region.addr, len, region.writable, buffer) {
            return Err(EmuError::Load(format!(
                "the device has something at its addresses already ({:#x} to {:#x}); give the loader another base",
                region.addr,
                region.addr + len
            )));
        }
        self.memory.write(region.addr, region.bytes).map_err(EmuError::Address)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves these consistent: every change is a single insertion or removal.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    pub fn new(target: Target, config: DeviceConfig) -> Device {
        let state = State { memory: Memory::new(), modules: Vec::new() };
        Device { target, config, state: Mutex::new(state), programs: Mutex::default() }
    }

    pub fn target(&self) -> Target {
        self.target
    }

    /// Loads a code object: its segments get addresses and are relocated.
    pub fn load(&self, object: &CodeObject) -> Result<ModuleId, EmuError> {
        let found = &object.target().processor;
        if *found != self.target.name() {
            return Err(EmuError::WrongTarget { found: found.clone(), device: self.target.name() });
        }
        let failed = |e: LinkError| EmuError::Load(e.to_string());
        let mut state = lock(&self.state);
        let mut loader = MockLoader::at(state.memory.next_address());
        let name = Some("the object".to_owned());
        let id = loader.load(object.clone(), &LoadOptions { name, ..LoadOptions::default() }).map_err(failed)?;
        loader.finalize().map_err(failed)?;
        state.adopt(&loader, &[id]).map(|modules| modules[0])
    }

    /// Loads the objects of a finalized loader that are for this device, at the addresses that they have there, with
    /// the externals that the loader keeps: one module for each object, in the loader's order. Objects of agents with
    /// another processor stay out. What kernels write is not written back to the loader. The externals' memory stays
    /// until the device goes.
    pub fn load_linked(&self, loader: &MockLoader) -> Result<Vec<(ObjectId, ModuleId)>, EmuError> {
        if !loader.is_finalized() {
            let error = LinkError::NotFinalized { what: "running it" };
            return Err(EmuError::Load(error.to_string()));
        }
        let mut ids = Vec::new();
        for (number, object) in loader.objects().iter().enumerate() {
            let found = &object.object().target().processor;
            if loader.agents()[object.agent().0 as usize].processor != self.target.name() {
                continue;
            }
            if *found != self.target.name() {
                return Err(EmuError::WrongTarget { found: found.clone(), device: self.target.name() });
            }
            ids.push(ObjectId(number as u32));
        }
        if ids.is_empty() {
            let mut found: Vec<&str> = loader.agents().iter().map(|agent| agent.processor.as_str()).collect();
            found.dedup();
            let found = if found.is_empty() { "no target at all".to_owned() } else { found.join(", ") };
            return Err(EmuError::WrongTarget { found, device: self.target.name() });
        }
        let modules = lock(&self.state).adopt(loader, &ids)?;
        Ok(ids.into_iter().zip(modules).collect())
    }

    /// Forgets a module and its memory.
    pub fn unload(&self, id: ModuleId) -> Result<(), EmuError> {
        let mut state = lock(&self.state);
        let slot = state.modules.get_mut(id.0 as usize).and_then(Option::take);
        let module = slot.ok_or(EmuError::NoModule(id.0))?;
        module.allocations.iter().for_each(|&start| {
            state.memory.free(start);
        });
        drop(state);
        // Programs of other modules' kernels may have translated code of this one, which they call.
        lock(&self.programs).clear();
        Ok(())
    }

    fn module(&self, id: ModuleId) -> Result<Arc<Module>, EmuError> {
        lock(&self.state).modules.get(id.0 as usize).cloned().flatten().ok_or(EmuError::NoModule(id.0))
    }

    /// Address and size of a symbol that a module defines.
    pub fn symbol(&self, id: ModuleId, name: &str) -> Option<(u64, u64)> {
        self.module(id).ok()?.symbols.get(name).copied()
    }

    /// The address that a module's vaddr 0 got.
    pub fn load_address(&self, id: ModuleId) -> Result<u64, EmuError> {
        Ok(self.module(id)?.base)
    }

    /// `bytes` bytes of zero, at an address that is a multiple of 4096 and was never used before.
    pub fn alloc(&self, bytes: u64) -> Result<u64, EmuError> {
        lock(&self.state).memory.allocate(bytes, true).ok_or(EmuError::OutOfMemory(bytes))
    }

    pub fn free(&self, address: u64) -> Result<(), EmuError> {
        if lock(&self.state).memory.free(address) { Ok(()) } else { Err(EmuError::Address(address)) }
    }

    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), EmuError> {
        lock(&self.state).memory.read(address, out).map_err(EmuError::Address)
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), EmuError> {
        lock(&self.state).memory.write(address, bytes).map_err(EmuError::Address)
    }

    /// Runs a kernel to its end.
    pub fn launch(&self, launch: &Launch) -> Result<LaunchReport, EmuError> {
        let module = self.module(launch.module)?;
        let kernel = module.object.kernel(&launch.kernel).ok_or_else(|| EmuError::NoKernel {
            name: launch.kernel.clone(),
            known: match module.object.kernels() {
                [] => "none".into(),
                kernels => kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(", "),
            },
        })?;
        let lds = kernel.descriptor.group_segment_fixed_size().saturating_add(launch.dynamic_lds);
        dispatch::check_geometry(kernel, launch.grid, launch.workgroup, lds)?;
        let start = Instant::now();
        let strict = launch.strict.kinds();
        let shared = self.prepare(&module, kernel, launch, lds, strict)?;

        let key = (launch.module, launch.kernel.clone(), strict.is_some());
        let workers = self.workers().min(shared.groups.min(1 << 16) as usize).max(1);
        let mut programs = lock(&self.programs).remove(&key).unwrap_or_default();
        let limits = limits(kernel);
        while programs.len() < workers {
            programs.push(Program::new(self.target, limits, strict.is_some(), self.config.poison.clone()));
        }
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        outcomes.resize_with(workers, || None);
        if workers == 1 {
            outcomes[0] = Some(sched::work(&shared, &mut programs[0], 0));
        } else {
            rayon::scope(|scope| {
                for (i, (outcome, program)) in outcomes.iter_mut().zip(&mut programs).enumerate() {
                    let shared = &shared;
                    scope.spawn(move |_| *outcome = Some(sched::work(shared, program, i * RESIDENT)));
                }
            });
        }
        let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
        let report = self.report(&module, kernel, &mut programs, outcomes, start);
        lock(&self.programs).insert(key, programs);
        report
    }

    fn workers(&self) -> usize {
        let cores = rayon::current_num_threads();
        if self.config.threads == 0 { cores } else { self.config.threads.min(cores) }
    }

    fn prepare(
        &self,
        module: &Module,
        kernel: &Kernel,
        launch: &Launch,
        lds: u32,
        strict: Option<Kinds>,
    ) -> Result<Shared, EmuError> {
        // The launch's own buffers live in a copy of the allocation table, so they vanish with it.
        let mut memory = lock(&self.state).memory.clone();
        let mut allocate = |bytes: &[u8], len: u64, writable: bool| -> Result<u64, EmuError> {
            let len = len.max(bytes.len() as u64);
            let address = memory.allocate(len, writable).ok_or(EmuError::OutOfMemory(len))?;
            memory.write(address, bytes).map_err(EmuError::Address)?;
            Ok(address)
        };
        let queue = allocate(&dispatch::queue(), 256, false)?;
        let kernarg_bytes = dispatch::kernarg_segment(
            kernel,
            &launch.kernarg,
            launch.grid,
            launch.workgroup,
            launch.dynamic_lds,
            queue,
        )?;
        // Compilers widen loads of arguments up to the segment's alignment.
        let kernarg = allocate(&kernarg_bytes, (kernarg_bytes.len() as u64).next_multiple_of(64).max(64), true)?;
        let mut dispatch = Dispatch {
            descriptor: kernel.descriptor,
            grid: launch.grid,
            workgroup: launch.workgroup,
            entry: module.address(kernel.entry),
            packet: 0,
            queue,
            kernarg,
            kernarg_bytes,
            lds,
            private: dispatch::private_size(kernel),
        };
        if kernel.descriptor.kernarg_preload_length() > 0 {
            // Code before this loads the arguments, for firmware that cannot preload them.
            dispatch.entry += 256;
        }
        let packet = dispatch::packet(&dispatch, module.address(kernel.descriptor_vaddr));
        dispatch.packet = allocate(&packet, 64, false)?;
        let waves = u64::from(launch.workgroup.iter().product::<u32>().div_ceil(WAVE));
        let scratch_slot = dispatch.wave_scratch() * waves;
        let slots = (self.workers() * RESIDENT) as u64;
        let total = scratch_slot.checked_mul(slots).ok_or(EmuError::OutOfMemory(u64::MAX))?;
        let scratch = if scratch_slot == 0 { 0 } else { allocate(&[], total, true)? };
        let groups = dispatch.groups().iter().map(|&n| u64::from(n)).product();
        Ok(Shared {
            dispatch,
            memory: Arc::new(memory),
            next_group: AtomicU64::new(0),
            groups,
            stop: AtomicBool::new(false),
            strict,
            watchdog: self.config.watchdog,
            scratch,
            scratch_slot,
        })
    }

    fn report(
        &self,
        module: &Module,
        kernel: &Kernel,
        programs: &mut [Program],
        outcomes: Vec<Outcome>,
        start: Instant,
    ) -> Result<LaunchReport, EmuError> {
        // What lies in another module, or in none, keeps the device's address.
        let vaddr = |pc: u64| module.vaddr(pc).unwrap_or(pc);
        let others: Vec<Arc<Module>> = lock(&self.state).modules.iter().flatten().cloned().collect();
        let owner = |pc: u64| {
            let mut all = std::iter::once(module).chain(others.iter().map(|m| &**m));
            all.find(|m| m.span.contains(&pc))
        };
        let mut report = LaunchReport::default();
        let (mut counts, mut app_counts) = (HashMap::new(), HashMap::new());
        for program in programs.iter_mut() {
            program.visit_counts(|pc, inst, count| {
                let name = inst.info().mnemonic;
                *counts.entry(name).or_insert(0) += count;
                report.instructions += count;
                if owner(pc).is_none_or(|m| m.is_application(pc)) {
                    *app_counts.entry(name).or_insert(0) += count;
                    report.app_instructions += count;
                }
            });
        }
        report.histogram = sorted(counts);
        report.app_histogram = sorted(app_counts);
        for outcome in outcomes {
            report.workgroups += outcome.groups;
            report.waves += outcome.waves;
            let text_at = |pc: u64| programs.iter().find_map(|p| p.text_at(pc)).unwrap_or_default();
            let locate = |pc: u64| match owner(pc) {
                Some(m) => m.sources.locate(&m.object, m.origins.as_ref(), m.vaddr(pc).unwrap_or(pc)),
                None => (None, Vec::new()),
            };
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
                    kernel: kernel.name.clone(),
                    pc: vaddr(raw.pc),
                    text: text_at(raw.pc),
                    workgroup,
                    wave,
                    lane: raw.lane,
                    address: raw.address,
                    message: raw.message,
                    other: raw.other.map(party),
                    original_pc,
                    source,
                });
            }
            match outcome.trouble {
                None => {}
                Some(Trouble::Fault { pc, text, workgroup, wave, fault }) => {
                    let message = match fault.kind {
                        FaultKind::Memory | FaultKind::Unsupported => fault.message,
                    };
                    return Err(EmuError::Fault {
                        kernel: kernel.name.clone(),
                        pc: vaddr(pc),
                        text,
                        workgroup,
                        wave,
                        lane: fault.lane,
                        address: fault.address,
                        message,
                        frames: locate(pc).1,
                    });
                }
                Some(Trouble::Watchdog { instructions, pcs }) => {
                    let pcs = pcs.join(", ");
                    return Err(EmuError::Watchdog { kernel: kernel.name.clone(), instructions, pcs });
                }
            }
        }
        // One finding for each kind and place, the first workgroup's.
        report.findings.sort_by_key(|f| (f.pc, f.kind, f.workgroup, f.wave));
        report.findings.dedup_by_key(|f| (f.pc, f.kind));
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }
}

/// The registers that a descriptor allocates.
fn limits(kernel: &Kernel) -> Limits {
    // gfx90a: one file, in granules of 8; AGPRs begin at the accumulation offset.
    let total = (kernel.descriptor.granulated_workitem_vgpr_count() + 1) * 8;
    let offset = kernel.descriptor.accum_offset();
    Limits { vgprs: offset.min(total).min(256) as u16, agprs: total.saturating_sub(offset).min(256) as u16 }
}

fn sorted(counts: HashMap<&'static str, u64>) -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    counts
}
