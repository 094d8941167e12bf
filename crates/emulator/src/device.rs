//! The device: memory, loaded code objects, launches.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use luthier_isa::Target;
use luthier_loader::{CodeObject, Image, Kernel, OriginMap};

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
    object: CodeObject,
    image_base: u64,
    image_size: u64,
    allocations: Vec<u64>,
    symbols: HashMap<String, (u64, u64)>,
    origins: Option<OriginMap>,
    sources: Sources,
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
        let mut state = lock(&self.state);
        let align = object.segments().iter().map(|s| s.align).max().unwrap_or(1).max(1 << 12);
        if !align.is_power_of_two() || align > 1 << 30 {
            return Err(EmuError::Load(format!("a segment alignment of {align:#x}")));
        }
        let base = state.memory.next_address().next_multiple_of(align);
        let image = Image::load(object, base).map_err(|e| EmuError::Load(e.to_string()))?;
        let origins = object.origin_map().map_err(|e| EmuError::Load(e.to_string()))?;
        let mut allocations = Vec::new();
        // Segments may share a page, which the guard between allocations would not allow: they are placed exactly.
        let mut segments: Vec<_> = image.segments.iter().filter(|s| !s.bytes.is_empty()).collect();
        segments.sort_by_key(|s| s.addr);
        for segment in segments {
            let len = segment.bytes.len() as u64;
            let buffer = Arc::new(Buffer::zeroed(len).ok_or(EmuError::OutOfMemory(len))?);
            state.memory.insert_exact(segment.addr, len, segment.writable, buffer);
            state.memory.write(segment.addr, &segment.bytes).map_err(EmuError::Address)?;
            allocations.push(segment.addr);
        }
        let symbols = object.symbols().iter();
        let symbols = symbols
            .filter(|s| s.section.is_some())
            .map(|s| (s.name.clone(), (base.wrapping_add(s.value), s.size)))
            .collect();
        let id = ModuleId(state.modules.len() as u32);
        let module = Module {
            object: object.clone(),
            image_base: base,
            image_size: image.size,
            allocations,
            symbols,
            origins,
            sources: Sources::default(),
        };
        state.modules.push(Some(Arc::new(module)));
        Ok(id)
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
        lock(&self.programs).retain(|(module, ..), _| *module != id);
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
        Ok(self.module(id)?.image_base)
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
            entry: module.image_base + kernel.entry,
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
        let packet = dispatch::packet(&dispatch, module.image_base + kernel.descriptor_vaddr);
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
        let vaddr = |pc: u64| match pc.checked_sub(module.image_base) {
            Some(offset) if offset < module.image_size => offset,
            _ => pc,
        };
        let mut report = LaunchReport::default();
        let (mut counts, mut app_counts) = (HashMap::new(), HashMap::new());
        for program in programs.iter_mut() {
            program.visit_counts(|pc, inst, count| {
                let name = inst.info().mnemonic;
                *counts.entry(name).or_insert(0) += count;
                report.instructions += count;
                if module.origins.as_ref().is_none_or(|o| o.is_application(vaddr(pc))) {
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
            let locate = |pc: u64| module.sources.locate(&module.object, module.origins.as_ref(), vaddr(pc));
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
