//! The runtime's own functions, as they were before anything was put in their place.

use std::ffi::{CStr, CString, c_void};
use std::mem::size_of;

use crate::hsa::{self, Handle, Status};
use crate::memory::Shared;
use crate::message::Gpu;
use crate::table::{Part, Table, TableError};

macro_rules! originals {
    ($($field:ident: $kind:ty = $part:ident $name:literal,)*) => {
        /// Each as ROCr, or a tool that came before, has it.
        pub struct Runtime {
            $(pub $field: $kind,)*
        }

        impl Runtime {
            /// # Errors
            /// A function that the agent needs is not there.
            pub fn of(table: &Table) -> Result<Runtime, TableError> {
                $(
                    let address = table.get(Part::$part, $name)?;
                    // SAFETY: the table's entry for this name has this type; it is not null.
                    let $field = unsafe { std::mem::transmute::<usize, $kind>(address) };
                )*
                Ok(Runtime { $($field,)* })
            }
        }
    };
}

originals! {
    iterate_agents: hsa::IterateAgents = Core "hsa_iterate_agents",
    agent_info: hsa::GetInfo = Core "hsa_agent_get_info",
    queue_create: hsa::QueueCreate = Core "hsa_queue_create",
    queue_destroy: hsa::QueueDestroy = Core "hsa_queue_destroy",
    extension_table: hsa::ExtensionTable = Core "hsa_system_get_major_extension_table",
    executable_create: hsa::ExecutableCreate = Core "hsa_executable_create_alt",
    executable_destroy: hsa::OfHandle = Core "hsa_executable_destroy",
    executable_freeze: hsa::Freeze = Core "hsa_executable_freeze",
    executable_load: hsa::Load = Core "hsa_executable_load_agent_code_object",
    executable_load_deserialized: hsa::LoadDeserialized = Core "hsa_executable_load_code_object",
    define_global: hsa::GlobalDefine = Core "hsa_executable_global_variable_define",
    define_agent_global: hsa::AgentDefine = Core "hsa_executable_agent_global_variable_define",
    define_read_only: hsa::AgentDefine = Core "hsa_executable_readonly_variable_define",
    reader_create: hsa::ReaderFromMemory = Core "hsa_code_object_reader_create_from_memory",
    reader_destroy: hsa::OfHandle = Core "hsa_code_object_reader_destroy",
    memory_lock: hsa::MemoryLock = AmdExt "hsa_amd_memory_lock",
    memory_unlock: hsa::MemoryUnlock = AmdExt "hsa_amd_memory_unlock",
    intercept_create: hsa::QueueCreate = AmdExt "hsa_amd_queue_intercept_create",
    intercept_register: hsa::InterceptRegister = AmdExt "hsa_amd_queue_intercept_register",
    system_info: hsa::SystemInfo = Core "hsa_system_get_info",
    signal_create: hsa::SignalCreate = Core "hsa_signal_create",
    signal_load: hsa::SignalLoad = Core "hsa_signal_load_scacquire",
    signal_store: hsa::SignalValue = Core "hsa_signal_store_relaxed",
    signal_subtract: hsa::SignalValue = Core "hsa_signal_subtract_screlease",
    signal_handler: hsa::AsyncHandler = AmdExt "hsa_amd_signal_async_handler",
    profile: hsa::Profile = AmdExt "hsa_amd_profiling_set_profiler_enabled",
    dispatch_time: hsa::DispatchTime = AmdExt "hsa_amd_profiling_get_dispatch_time",
}

const NO_FUNCTIONS: &str = "AMD's loader extension has no functions";

/// A status as an error that says what was tried.
pub fn check(status: Status, what: &str) -> Result<(), String> {
    if status == hsa::SUCCESS { Ok(()) } else { Err(format!("{what}: the runtime's status is {status:#x}")) }
}

/// A variable that the application defines for an executable.
#[derive(Clone, Debug)]
pub struct Definition {
    pub kind: Defined,
    pub name: CString,
    pub address: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defined {
    Global,
    AgentGlobal(Handle),
    ReadOnly(Handle),
}

/// What a loaded code object is called, and where it is.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub base: u64,
    pub size: u64,
    /// Added to a vaddr, gives its address.
    pub delta: u64,
    pub uri: String,
}

/// `hsa_amd_profiling_dispatch_time_t`: in ticks of the runtime's clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Times {
    pub start: u64,
    pub end: u64,
}

impl Runtime {
    /// A new signal.
    pub fn signal(&self) -> Option<Handle> {
        let mut made = Handle(0);
        // SAFETY: a signal that any thread may wait for.
        let status = unsafe { (self.signal_create)(1, 0, std::ptr::null(), &raw mut made) };
        (status == hsa::SUCCESS).then_some(made)
    }

    /// No tool has put something in the place of the runtime's way to create queues.
    pub fn creates_queues_itself(&self) -> bool {
        // SAFETY: a plain structure of pointers.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: looks an address up.
        let known = unsafe { libc::dladdr(self.queue_create as *const c_void, &raw mut found) } != 0;
        if !known || found.dli_fname.is_null() {
            return false;
        }
        // SAFETY: a string of the dynamic linker's.
        unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().contains("libhsa-runtime64")
    }

    fn loader(&self) -> Result<hsa::Loader, String> {
        let mut loader = hsa::Loader::default();
        let at = (&raw mut loader).cast();
        // SAFETY: as large as it says.
        let status = unsafe { (self.extension_table)(hsa::LOADER_EXTENSION, 1, size_of::<hsa::Loader>(), at) };
        check(status, "AMD's loader extension").map(|()| loader)
    }

    fn loaded_info(&self) -> Result<hsa::GetInfo, String> {
        self.loader()?.loaded_code_object_info.ok_or_else(|| NO_FUNCTIONS.into())
    }

    /// The code objects that an executable has.
    pub fn loaded_into(&self, executable: Handle) -> Result<Vec<Handle>, String> {
        unsafe extern "C" fn add(_executable: Handle, object: Handle, to: *mut c_void) -> Status {
            // SAFETY: the loader hands on what it is given below.
            unsafe { (*to.cast::<Vec<Handle>>()).push(object) };
            hsa::SUCCESS
        }
        let iterate = self.loader()?.iterate_loaded_code_objects.ok_or(NO_FUNCTIONS)?;
        let mut objects: Vec<Handle> = Vec::new();
        // SAFETY: `add` gets the list.
        check(unsafe { iterate(executable, add, (&raw mut objects).cast()) }, "an executable's code objects")?;
        Ok(objects)
    }

    fn number(&self, info: hsa::GetInfo, object: Handle, which: u32) -> Result<u64, String> {
        let mut value = 0u64;
        // SAFETY: these attributes have 64 bits, or 32 of a little-endian number.
        check(unsafe { info(object, which, (&raw mut value).cast()) }, "a loaded code object")?;
        Ok(value)
    }

    /// The file that a code object was just loaded from: where its bytes are now.
    pub fn storage(&self, object: Handle) -> Result<(*const u8, usize), String> {
        let info = self.loaded_info()?;
        let base = self.number(info, object, hsa::loaded::STORAGE_BASE)?;
        let size = self.number(info, object, hsa::loaded::STORAGE_SIZE)?;
        if base == 0 || size == 0 {
            return Err("a loaded code object has no bytes".into());
        }
        Ok((std::ptr::with_exposed_provenance(base as usize), size as usize))
    }

    /// Where a code object is, of an executable that is frozen.
    pub fn loaded(&self, object: Handle) -> Result<Loaded, String> {
        let info = self.loaded_info()?;
        let number = |which| self.number(info, object, which);
        let mut uri = vec![0u8; number(hsa::loaded::URI_LENGTH)? as u32 as usize + 1];
        // SAFETY: as long as the runtime says, and a byte.
        check(unsafe { info(object, hsa::loaded::URI, uri.as_mut_ptr().cast()) }, "the URI of a code object")?;
        let uri = CStr::from_bytes_until_nul(&uri).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let uri = crate::session::of_program(uri);
        Ok(Loaded {
            base: number(hsa::loaded::BASE)?,
            size: number(hsa::loaded::SIZE)?,
            delta: number(hsa::loaded::DELTA)?,
            uri,
        })
    }

    /// All GPUs, in the runtime's order.
    pub fn gpus(&self) -> Vec<Gpu> {
        unsafe extern "C" fn add(agent: Handle, to: *mut c_void) -> Status {
            // SAFETY: `iterate_agents` hands on what it is given below.
            unsafe { (*to.cast::<Vec<Handle>>()).push(agent) };
            hsa::SUCCESS
        }
        let mut agents: Vec<Handle> = Vec::new();
        // SAFETY: `add` gets the list.
        unsafe { (self.iterate_agents)(add, (&raw mut agents).cast()) };
        let gpu = |agent: Handle| {
            let (mut device, mut name) = (0u32, [0u8; 64]);
            // SAFETY: these attributes have 32 bits and 64 characters.
            let done = unsafe {
                (self.agent_info)(agent, hsa::agent::DEVICE, (&raw mut device).cast()) == hsa::SUCCESS
                    && (self.agent_info)(agent, hsa::agent::NAME, name.as_mut_ptr().cast()) == hsa::SUCCESS
            };
            let text = CStr::from_bytes_until_nul(&name).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            (done && device == hsa::agent::GPU).then_some(Gpu { agent: agent.0, name: text })
        };
        agents.into_iter().filter_map(gpu).collect()
    }

    /// Gives all GPUs some memory; where they have it.
    pub fn lock(&self, memory: &Shared) -> Result<u64, String> {
        let mut agents: Vec<Handle> = self.gpus().iter().map(|gpu| Handle(gpu.agent)).collect();
        let mut there = std::ptr::null_mut();
        let count = agents.len() as i32;
        // SAFETY: the memory is mapped, and stays so until it is unlocked.
        let status =
            unsafe { (self.memory_lock)(memory.start(), memory.len(), agents.as_mut_ptr(), count, &raw mut there) };
        check(status, "memory for the tools' variables")?;
        Ok(there.expose_provenance() as u64)
    }

    /// Takes it back.
    pub fn unlock(&self, memory: &Shared) {
        // SAFETY: it was locked; what used it has been destroyed.
        unsafe { (self.memory_unlock)(memory.start()) };
    }

    /// Loads a code object for a GPU as an executable of its own; gives that and where it is.
    pub fn load(&self, agent: Handle, bytes: &Shared, defined: &[Definition]) -> Result<(Handle, Loaded), String> {
        let mut profile = 0u32;
        // SAFETY: the attribute has 32 bits.
        check(unsafe { (self.agent_info)(agent, hsa::agent::PROFILE, (&raw mut profile).cast()) }, "a GPU's profile")?;
        let (mut executable, mut reader, mut object) = (Handle(0), Handle(0), Handle(0));
        // SAFETY: results are written where they are to be.
        let status = unsafe { (self.executable_create)(profile, 0, c"".as_ptr(), &raw mut executable) };
        check(status, "an executable for the instrumented kernel")?;
        let loaded = (|| {
            for definition in defined {
                let (name, to) = (definition.name.as_ptr(), std::ptr::with_exposed_provenance_mut(definition.address));
                // SAFETY: as the application defined it for its own executable.
                let status = unsafe {
                    match definition.kind {
                        Defined::Global => (self.define_global)(executable, name, to),
                        Defined::AgentGlobal(agent) => (self.define_agent_global)(executable, agent, name, to),
                        Defined::ReadOnly(agent) => (self.define_read_only)(executable, agent, name, to),
                    }
                };
                check(status, "a variable of the application's")?;
            }
            // SAFETY: the bytes stay mapped as long as the executable.
            let status = unsafe { (self.reader_create)(bytes.start(), bytes.len(), &raw mut reader) };
            check(status, "the instrumented code object")?;
            // SAFETY: all of them are there.
            let status = unsafe { (self.executable_load)(executable, agent, reader, c"".as_ptr(), &raw mut object) };
            // SAFETY: made above, and not needed any more.
            unsafe { (self.reader_destroy)(reader) };
            check(status, "loading the instrumented code object")?;
            // SAFETY: as above.
            check(unsafe { (self.executable_freeze)(executable, c"".as_ptr()) }, "the instrumented executable")?;
            self.loaded(object)
        })();
        if loaded.is_err() {
            // SAFETY: made above, and nothing else has it.
            unsafe { (self.executable_destroy)(executable) };
        }
        loaded.map(|loaded| (executable, loaded))
    }
}
