//! The device: memory, loaded code objects, launches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use luthier_isa::{Inst, Target};
use luthier_loader::link::{ObjectId, Region};
use luthier_loader::{CodeObject, LinkError, LoadOptions, MockLoader, OriginMap};

use crate::buffer::Buffer;
use crate::code::{Code, CodeCache, Key};
use crate::error::EmuError;
use crate::facts::devices_for;
use crate::gws::Gws;
use crate::hostcall::{Output, Printed, heap};
use crate::memory::{Host, Memory};
use crate::outcome::{Trouble, trouble_at};
use crate::poison::Poison;
use crate::pool::{Home, pool};
use crate::probe::Probing;
use crate::report::SourceFrame;
use crate::source::Sources;
use crate::spare::Spare;
use crate::watchdog::Watchdog;

/// How a device behaves.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Workers; 0: one for each of the host's cores.
    pub threads: usize,
    /// Instructions after which a workgroup that has not ended is given up, with the addresses of its waves.
    pub watchdog: u64,
    /// How long a launch may take.
    pub time: Option<Duration>,
    /// Registers to overwrite before each instruction.
    pub poison: Option<Poison>,
}

impl Default for DeviceConfig {
    fn default() -> DeviceConfig {
        DeviceConfig { threads: 0, watchdog: 100_000_000_000, time: None, poison: None }
    }
}

/// A loaded code object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

pub(crate) struct Module {
    pub object: Arc<CodeObject>,
    /// Added to a vaddr, modulo 2^64, it gives the address.
    base: u64,
    pub span: Range<u64>,
    allocations: Vec<u64>,
    symbols: HashMap<String, (u64, u64)>,
    origins: Option<OriginMap>,
    sources: Sources,
}

impl Module {
    pub fn address(&self, vaddr: u64) -> u64 {
        self.base.wrapping_add(vaddr)
    }

    /// Of an address in the module.
    pub fn vaddr(&self, address: u64) -> Option<u64> {
        self.span.contains(&address).then(|| address.wrapping_sub(self.base))
    }

    /// Address in the module, or the device's for what lies elsewhere.
    pub fn place(&self, address: u64) -> u64 {
        self.vaddr(address).unwrap_or(address)
    }

    /// Where the instruction at an address is in the original code object, if that is another one, and in the source.
    pub fn locate(&self, address: u64) -> (Option<u64>, Vec<SourceFrame>) {
        self.sources.locate(&self.object, self.origins.as_ref(), self.place(address))
    }

    /// Why a launch of a kernel was stopped; `frames` tells where in the source an address is.
    pub fn error(&self, kernel: &str, trouble: Trouble, frames: impl Fn(u64) -> Vec<SourceFrame>) -> EmuError {
        trouble_at(kernel, trouble, |pc| self.place(pc), frames)
    }

    /// Whether the instruction at an address of the module is the application's.
    pub fn is_application(&self, address: u64) -> bool {
        self.origins.as_ref().is_none_or(|o| o.is_application(address.wrapping_sub(self.base)))
    }

    /// The application's instruction that the one at an address of the module stands for, if that is another operation.
    pub fn original(&self, address: u64, stands: &Inst) -> Option<Inst> {
        let words = self.origins.as_ref()?.original_words(address.wrapping_sub(self.base))?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Inst::decode(stands.info().mode, &bytes).ok()
    }
}

#[derive(Default)]
struct State {
    memory: Memory,
    modules: Vec<Option<Arc<Module>>>,
    /// What the device library keeps of its heap; 0 as long as no kernel has asked for it.
    heap: u64,
}

/// A mock GPU. All methods take `&self`; launches of several threads run side by side.
pub struct Device {
    target: Target,
    config: DeviceConfig,
    state: Mutex<State>,
    code: CodeCache,
    spare: Arc<Spare>,
    gws: Arc<Gws>,
    home: Home,
    output: Arc<Output>,
}

impl State {
    /// Takes objects of a loader, and the externals that it keeps, into memory. Nothing changes when this fails.
    fn adopt(&mut self, loader: &MockLoader, ids: &[ObjectId]) -> Result<Vec<ModuleId>, EmuError> {
        let (mut modules, mut zones) = (Vec::with_capacity(ids.len()), Vec::new());
        for &id in ids {
            let failed = |e: String| EmuError::Load(e);
            let loaded = loader.object(id).map_err(|e| failed(e.to_string()))?;
            let object = loaded.object().clone();
            let origins = object.origin_map().map_err(|e| failed(e.to_string()))?;
            let mut symbols = HashMap::new();
            for symbol in object.symbols().iter().filter(|s| !s.is_undefined() && !s.is_absolute()) {
                symbols.entry(symbol.name.clone()).or_insert((loaded.address(symbol.value), symbol.size));
            }
            let (base, span, allocations) = (loaded.base(), loaded.span(), Vec::new());
            let hooks = object.hook_map().map_err(|e| failed(e.to_string()))?;
            zones.extend(hooks.iter().flat_map(|map| map.gaps()).map(|gap| base + gap.start..base + gap.end));
            let sources = Sources::new(hooks);
            modules.push(Module { object, base, span, allocations, symbols, origins, sources });
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
        self.memory.add_red_zones(zones);
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
        // Up to a whole word, for atomics that compilers have widened.
        let whole = len.checked_next_multiple_of(8).and_then(|whole| Buffer::zeroed_for(region.addr, whole));
        let buffer = Arc::new(whole.ok_or(EmuError::OutOfMemory(len))?);
        // Segments may share a page, which the guard between allocations would not allow: they are placed exactly.
        if !self.memory.insert_exact(region.addr, len, region.writable, buffer) {
            return Err(EmuError::Load(format!(
                "the device has something at its addresses already ({:#x} to {:#x}); give the loader another base",
                region.addr,
                region.addr + len
            )));
        }
        // Zeros are there already; memory that is only written zeros need not be had from the host.
        for (number, piece) in region.bytes.chunks(PIECE).enumerate() {
            if piece.iter().any(|&byte| byte != 0) {
                self.memory.write(region.addr + (number * PIECE) as u64, piece).map_err(EmuError::Address)?;
            }
        }
        Ok(())
    }
}

/// Bytes that are copied together: a page of the host's.
const PIECE: usize = 1 << 12;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves these consistent: every change is a single insertion or removal.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    pub fn new(target: Target, config: DeviceConfig) -> Device {
        Device::with_memory(target, config, Memory::new())
    }

    /// A device that runs packets in the memory of a host process ([`crate::packet`]).
    pub fn of_host(target: Target, config: DeviceConfig, host: Arc<dyn Host>) -> Device {
        Device::with_memory(target, config, Memory::of_host(host))
    }

    fn with_memory(target: Target, config: DeviceConfig, memory: Memory) -> Device {
        let state = State { memory, modules: Vec::new(), heap: 0 };
        Device {
            target,
            config,
            state: Mutex::new(state),
            code: CodeCache::default(),
            spare: Arc::default(),
            gws: Arc::default(),
            home: Home::here(),
            output: Arc::default(),
        }
    }

    pub fn target(&self) -> Target {
        self.target
    }

    /// Loads a code object: its segments get addresses and are relocated.
    pub fn load(&self, object: &CodeObject) -> Result<ModuleId, EmuError> {
        let end = object.segments().iter().map(|s| s.vaddr.saturating_add(s.memsz)).max().unwrap_or(0);
        let mut state = lock(&self.state);
        let base = state.memory.next_address(end);
        self.load_into(&mut state, object, base)
    }

    /// Loads a code object so that its vaddr 0 is at an address, a multiple of 4096.
    ///
    /// # Errors
    /// As of [`Device::load`]; the device has something at these addresses.
    pub fn load_at(&self, object: &CodeObject, base: u64) -> Result<ModuleId, EmuError> {
        self.load_into(&mut lock(&self.state), object, base)
    }

    fn load_into(&self, state: &mut State, object: &CodeObject, base: u64) -> Result<ModuleId, EmuError> {
        self.check_target(object)?;
        let failed = |e: LinkError| EmuError::Load(e.to_string());
        let mut loader = MockLoader::at(base);
        let name = Some("the object".to_owned());
        let id = loader.load(object.clone(), &LoadOptions { name, ..LoadOptions::default() }).map_err(failed)?;
        loader.finalize().map_err(failed)?;
        state.adopt(&loader, &[id]).map(|modules| modules[0])
    }

    /// Makes known whose code lies at an address of the host's: kernels and lines of the source have names then. `base` is
    /// what its vaddrs count from.
    pub fn attach(&self, object: CodeObject, base: u64) -> Result<ModuleId, EmuError> {
        let origins = object.origin_map().map_err(|e| EmuError::Load(e.to_string()))?;
        let end = object.segments().iter().map(|s| s.vaddr.saturating_add(s.memsz)).max().unwrap_or(0);
        let (span, symbols, allocations) = (base..base.saturating_add(end), HashMap::new(), Vec::new());
        let object = Arc::new(object);
        let sources = Sources::new(object.hook_map().map_err(|e| EmuError::Load(e.to_string()))?);
        let module = Module { object, base, span, allocations, symbols, origins, sources };
        let mut state = lock(&self.state);
        state.modules.push(Some(Arc::new(module)));
        Ok(ModuleId(state.modules.len() as u32 - 1))
    }

    /// The name of the kernel of an attached module whose descriptor is at an address.
    pub fn kernel_at(&self, id: ModuleId, descriptor: u64) -> Option<String> {
        let module = self.module(id).ok()?;
        let kernels = module.object.kernels();
        kernels.iter().find(|k| module.address(k.descriptor_vaddr) == descriptor).map(|k| k.name.clone())
    }

    /// That the code is for this processor, or for a generic one that it belongs to.
    fn check_target(&self, object: &CodeObject) -> Result<(), EmuError> {
        let processor = &object.target().processor;
        if devices_for(processor).any(|target| target == self.target) {
            return Ok(());
        }
        Err(EmuError::WrongTarget { found: processor.clone(), device: self.target.name() })
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
            if loader.agents()[object.agent().0 as usize].processor != self.target.name() {
                continue;
            }
            self.check_target(object.object())?;
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
        state.memory.remove_red_zones(module.span.clone());
        drop(state);
        self.code.forget();
        Ok(())
    }

    pub(crate) fn module(&self, id: ModuleId) -> Result<Arc<Module>, EmuError> {
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

    /// `bytes` bytes of zero at a chosen address, a multiple of 16.
    ///
    /// # Errors
    /// The device has something there, or these addresses are none of memory's.
    pub fn alloc_at(&self, start: u64, bytes: u64, writable: bool) -> Result<(), EmuError> {
        let whole = bytes.checked_next_multiple_of(8).and_then(|whole| Buffer::zeroed_for(start, whole));
        let buffer = Arc::new(whole.ok_or(EmuError::OutOfMemory(bytes))?);
        if lock(&self.state).memory.insert_exact(start, bytes, writable, buffer) {
            return Ok(());
        }
        Err(EmuError::Occupied { start, end: start.saturating_add(bytes) })
    }

    /// As [`Device::alloc`], of memory that kernels may only read; [`Device::write`] sets it.
    pub fn alloc_read_only(&self, bytes: u64) -> Result<u64, EmuError> {
        lock(&self.state).memory.allocate(bytes, false).ok_or(EmuError::OutOfMemory(bytes))
    }

    /// The address at which kernels find these bytes of the host's, without a copy: what they write is there at once.
    pub fn share(&self, buffer: Buffer, writable: bool) -> Result<u64, EmuError> {
        let bytes = buffer.len();
        lock(&self.state).memory.add(buffer, bytes, writable).ok_or(EmuError::OutOfMemory(bytes))
    }

    /// Has kernels find `asked` bytes of the process's ([`Buffer::in_place`]) at the process's own address.
    ///
    /// # Errors
    /// Something else of the device's is there.
    pub fn share_in_place(&self, buffer: Buffer, asked: u64, writable: bool) -> Result<(), EmuError> {
        let start = buffer.ptr().addr() as u64;
        if lock(&self.state).memory.add_in_place(buffer, asked, writable) {
            return Ok(());
        }
        Err(EmuError::Occupied { start, end: start.saturating_add(asked) })
    }

    pub fn free(&self, address: u64) -> Result<(), EmuError> {
        if lock(&self.state).memory.free(address) { Ok(()) } else { Err(EmuError::Address(address)) }
    }

    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), EmuError> {
        lock(&self.state).memory.read(address, out).map_err(EmuError::Address)
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), EmuError> {
        let state = lock(&self.state);
        let written = address..address.saturating_add(bytes.len() as u64);
        let is_code = |module: &Arc<Module>| module.span.start < written.end && written.start < module.span.end;
        if state.modules.iter().flatten().any(is_code) {
            self.code.forget();
        }
        state.memory.write(address, bytes).map_err(EmuError::Address)
    }

    /// The host reads and writes these bytes while kernels run, as a partner of theirs in a protocol: strict mode looks for no
    /// races there.
    pub fn host_takes_part(&self, address: u64, size: u64) {
        lock(&self.state).memory.add_ring(address..address.saturating_add(size));
    }

    pub(crate) fn workers(&self) -> Result<usize, EmuError> {
        let cores = pool()?.current_num_threads();
        Ok(if self.config.threads == 0 { cores } else { self.config.threads.min(cores) })
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn spare(&self) -> Arc<Spare> {
        Arc::clone(&self.spare)
    }

    pub(crate) fn gws(&self) -> &Arc<Gws> {
        &self.gws
    }

    pub(crate) fn poison(&self) -> Option<Poison> {
        self.config.poison.clone()
    }

    pub(crate) fn watchdog(&self) -> Watchdog {
        Watchdog::new(self.config.watchdog, self.config.time)
    }

    /// The memory as it is now; the bytes are shared, the table of allocations is not.
    pub(crate) fn memory(&self) -> Memory {
        let state = lock(&self.state);
        // Every launch has a copy of this.
        if Arc::strong_count(state.memory.heap()) == 1 {
            state.memory.heap().clean();
        }
        state.memory.clone()
    }

    /// What kernels of all launches have printed since it was last taken.
    pub fn take_printed(&self) -> Vec<Printed> {
        self.output.take()
    }

    pub(crate) fn output(&self) -> &Arc<Output> {
        &self.output
    }

    /// Where the device library keeps what it knows of its heap, which lasts from launch to launch.
    pub(crate) fn heap_state(&self) -> Result<u64, EmuError> {
        let mut state = lock(&self.state);
        if state.heap == 0 {
            state.heap = state.memory.allocate(heap::STATE, true).ok_or(EmuError::OutOfMemory(heap::STATE))?;
        }
        Ok(state.heap)
    }

    pub(crate) fn modules(&self) -> Vec<Arc<Module>> {
        lock(&self.state).modules.iter().flatten().cloned().collect()
    }

    /// The translated code of launches of this key.
    pub(crate) fn code(&self, key: Key, probing: impl FnOnce() -> Probing) -> Arc<Code> {
        self.code.code(key, probing)
    }
}
