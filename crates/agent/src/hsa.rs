//! What passes between ROCr and its tools: handles, the packet, the functions that the agent calls or wraps.
//!
//! From the HSA runtime's specification and its public headers (`hsa.h`, `hsa_ext_amd.h`, `hsa_ven_amd_loader.h`).

use std::ffi::{c_char, c_void};

use luthier_abi as abi;
use luthier_abi::packet::{self, Barrier, Dispatch};

pub type Status = u32;
pub const SUCCESS: Status = 0;
/// `HSA_STATUS_INFO_BREAK`: a callback has seen enough.
pub const BREAK: Status = 1;
/// `HSA_STATUS_ERROR`.
pub const ERROR: Status = 0x1000;

/// Agents, executables, readers, loaded code objects, signals: all are a number in a structure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Handle(pub u64);

impl Handle {
    /// In the place of a pointer that is never followed.
    pub fn to_pointer(self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.0 as usize)
    }
    pub fn of_pointer(pointer: *mut c_void) -> Handle {
        Handle(pointer.addr() as u64)
    }
}

/// `HSA_QUEUE_TYPE_COOPERATIVE`.
pub const COOPERATIVE: u32 = 2;

/// A queue, whose contents only ROCr knows.
#[repr(C)]
pub struct Queue {
    _opaque: [u8; 0],
}

/// Of a packet's header: it waits for all packets in front of it.
const BARRIER_BIT: u16 = 1 << 8;

/// An AQL packet, of whatever kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Packet(pub abi::Packet);

impl Packet {
    /// A dispatch packet of HSA's own format; what follows is of these.
    pub fn is_dispatch(&self) -> bool {
        self.0.kind() == packet::kind::DISPATCH
    }
    /// It is of a kind that is known to have a completion signal.
    pub fn has_signal(&self) -> bool {
        use packet::{format, kind};
        match self.0.kind() {
            kind::DISPATCH | kind::BARRIER_AND | kind::BARRIER_OR => true,
            kind::VENDOR => matches!(self.0.format(), format::BARRIER_VALUE | format::CLUSTER_DISPATCH),
            _ => false,
        }
    }
    fn dispatch(&self) -> Dispatch {
        self.0.read()
    }
    fn change(&mut self, change: impl FnOnce(&mut Dispatch)) {
        let mut dispatch = self.dispatch();
        change(&mut dispatch);
        self.0.write(dispatch);
    }
    /// Work-items of a workgroup.
    pub fn block(&self) -> [u32; 3] {
        self.dispatch().workgroup.map(u32::from)
    }
    /// A packet that waits for all packets in front of it and for a signal to be 0, and changes another one.
    pub fn barrier(gate: Option<Handle>, completion: Option<Handle>) -> Packet {
        let mut packet = Packet(abi::Packet([0; packet::SIZE]));
        packet.0.write(Barrier {
            header: u16::from(packet::kind::BARRIER_AND) | BARRIER_BIT | packet::SYSTEM_FENCES,
            signals: [gate.map_or(0, |gate| gate.0), 0, 0, 0, 0],
            completion_signal: completion.map_or(0, |signal| signal.0),
            ..Barrier::default()
        });
        packet
    }
    /// A packet that does nothing but change a signal, and that nothing waits for.
    pub fn mark(reached: Handle) -> Packet {
        let mut packet = Packet(abi::Packet([0; packet::SIZE]));
        packet.0.write(Barrier {
            header: u16::from(packet::kind::BARRIER_AND),
            completion_signal: reached.0,
            ..Barrier::default()
        });
        packet
    }
    /// Work-items in all.
    pub fn grid(&self) -> [u32; 3] {
        self.dispatch().grid
    }
    /// Adds bytes to the scratch of a work-item.
    pub fn grow_private(&mut self, bytes: u32) {
        self.change(|dispatch| dispatch.private = dispatch.private.saturating_add(bytes));
    }
    /// Bytes of LDS of a workgroup.
    pub fn group(&self) -> u32 {
        self.dispatch().group
    }
    /// Adds bytes to the LDS of a workgroup.
    pub fn grow_group(&mut self, bytes: u32) {
        self.change(|dispatch| dispatch.group = dispatch.group.saturating_add(bytes));
    }
    /// The address of the kernel's descriptor.
    pub fn kernel_object(&self) -> u64 {
        self.dispatch().kernel_object
    }
    pub fn set_kernel_object(&mut self, address: u64) {
        self.change(|dispatch| dispatch.kernel_object = address);
    }
    /// The signal that waits for the kernel's end, or 0.
    pub fn completion_signal(&self) -> u64 {
        self.0.completion_signal()
    }
    pub fn set_completion_signal(&mut self, signal: u64) {
        self.change(|dispatch| dispatch.completion_signal = signal);
    }
    pub fn words(&self) -> [u64; 8] {
        self.0.words()
    }
    pub fn set_words(&mut self, words: [u64; 8]) {
        self.0.set_words(words);
    }
}

pub type Writer = unsafe extern "C" fn(packets: *const c_void, count: u64);
pub type Handler = unsafe extern "C" fn(*const c_void, u64, u64, *mut c_void, Writer);
pub type QueueError = Option<unsafe extern "C" fn(Status, *mut Queue, *mut c_void)>;

pub type Init = unsafe extern "C" fn() -> Status;
pub type QueueCreate =
    unsafe extern "C" fn(Handle, u32, u32, QueueError, *mut c_void, u32, u32, *mut *mut Queue) -> Status;
pub type QueueDestroy = unsafe extern "C" fn(*mut Queue) -> Status;
pub type InterceptRegister = unsafe extern "C" fn(*mut Queue, Handler, *mut c_void) -> Status;
pub type AgentCallback = unsafe extern "C" fn(Handle, *mut c_void) -> Status;
pub type IterateAgents = unsafe extern "C" fn(AgentCallback, *mut c_void) -> Status;
pub type GetInfo = unsafe extern "C" fn(Handle, u32, *mut c_void) -> Status;
pub type ExtensionTable = unsafe extern "C" fn(u16, u16, usize, *mut c_void) -> Status;
pub type MemoryLock = unsafe extern "C" fn(*mut c_void, usize, *mut Handle, i32, *mut *mut c_void) -> Status;
pub type MemoryUnlock = unsafe extern "C" fn(*mut c_void) -> Status;
pub type ReaderFromMemory = unsafe extern "C" fn(*const c_void, usize, *mut Handle) -> Status;
pub type OfHandle = unsafe extern "C" fn(Handle) -> Status;
pub type ExecutableCreate = unsafe extern "C" fn(u32, u32, *const c_char, *mut Handle) -> Status;
pub type Load = unsafe extern "C" fn(Handle, Handle, Handle, *const c_char, *mut Handle) -> Status;
/// The deprecated way, by a code object that was deserialized.
pub type LoadDeserialized = unsafe extern "C" fn(Handle, Handle, Handle, *const c_char) -> Status;
pub type LoadedCallback = unsafe extern "C" fn(Handle, Handle, *mut c_void) -> Status;
pub type IterateLoaded = unsafe extern "C" fn(Handle, LoadedCallback, *mut c_void) -> Status;
pub type Freeze = unsafe extern "C" fn(Handle, *const c_char) -> Status;
pub type AgentDefine = unsafe extern "C" fn(Handle, Handle, *const c_char, *mut c_void) -> Status;
pub type GlobalDefine = unsafe extern "C" fn(Handle, *const c_char, *mut c_void) -> Status;

pub type SignalCreate = unsafe extern "C" fn(i64, u32, *const Handle, *mut Handle) -> Status;
pub type SignalLoad = unsafe extern "C" fn(Handle) -> i64;
pub type SignalValue = unsafe extern "C" fn(Handle, i64);
pub type SignalHandler = unsafe extern "C" fn(i64, *mut c_void) -> bool;
pub type AsyncHandler = unsafe extern "C" fn(Handle, u32, i64, SignalHandler, *mut c_void) -> Status;
pub type Profile = unsafe extern "C" fn(*mut Queue, i32) -> Status;
pub type DispatchTime = unsafe extern "C" fn(Handle, Handle, *mut crate::runtime::Times) -> Status;
pub type SystemInfo = unsafe extern "C" fn(u32, *mut c_void) -> Status;

/// `HSA_SIGNAL_CONDITION_LT`.
pub const LESS: u32 = 2;
/// `HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY`.
pub const TIMESTAMP_FREQUENCY: u32 = 3;

/// `HSA_EXTENSION_AMD_LOADER`.
pub const LOADER_EXTENSION: u16 = 0x201;

/// The functions of `hsa_ven_amd_loader_1_01_pfn_t`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Loader {
    pub query_host_address: usize,
    pub query_segment_descriptors: usize,
    pub query_executable: usize,
    pub iterate_loaded_code_objects: Option<IterateLoaded>,
    pub loaded_code_object_info: Option<GetInfo>,
}

/// `hsa_ven_amd_loader_loaded_code_object_info_t`.
pub mod loaded {
    pub const STORAGE_BASE: u32 = 5;
    pub const STORAGE_SIZE: u32 = 6;
    pub const DELTA: u32 = 8;
    pub const BASE: u32 = 9;
    pub const SIZE: u32 = 10;
    pub const URI_LENGTH: u32 = 11;
    pub const URI: u32 = 12;
}

/// `hsa_agent_info_t`.
pub mod agent {
    pub const PROFILE: u32 = 4;
    pub const DEVICE: u32 = 17;
    pub const NAME: u32 = 0;
    /// The value of [`DEVICE`] that a GPU has.
    pub const GPU: u32 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_dispatch_packet_touch_nothing_else() {
        let mut packet = Packet(abi::Packet(std::array::from_fn(|i| i as u8)));
        packet.set_kernel_object(1);
        packet.grow_private(0x100);
        let dispatch = packet.dispatch();
        assert_eq!((packet.kernel_object(), dispatch.private), (1, 0x1b1a_1a18));
        let bytes = packet.0.0;
        assert_eq!((bytes[23], bytes[28], bytes[40]), (23, 28, 40));
        assert_eq!(packet.completion_signal(), 0x3f3e_3d3c_3b3a_3938);
        let words = packet.words();
        packet.set_words(std::array::from_fn(|i| words[i] + 1));
        assert_eq!((packet.completion_signal(), packet.0.0[0]), (0x3f3e_3d3c_3b3a_3939, 1));
    }
}
