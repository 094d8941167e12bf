//! What passes between ROCr and its tools: handles, the packet, the functions that the agent calls or wraps.
//!
//! From the HSA runtime's specification and its public headers (`hsa.h`, `hsa_ext_amd.h`, `hsa_ven_amd_loader.h`).

use std::ffi::{c_char, c_void};

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
    /// In the place of a pointer that nobody follows.
    pub fn to_pointer(self) -> *mut c_void {
        std::ptr::without_provenance_mut(self.0 as usize)
    }
    pub fn of_pointer(pointer: *mut c_void) -> Handle {
        Handle(pointer.addr() as u64)
    }
}

/// A queue, whose contents only ROCr knows.
#[repr(C)]
pub struct Queue {
    _opaque: [u8; 0],
}

/// An AQL packet, of whatever kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Packet(pub [u8; 64]);

/// The packet's type, in the low byte of its header.
pub const KERNEL_DISPATCH: u8 = 2;

impl Packet {
    pub fn is_dispatch(&self) -> bool {
        self.0[0] == KERNEL_DISPATCH
    }
    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
    fn set_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    /// Work-items of a workgroup.
    pub fn block(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.u16(4 + 2 * i).into())
    }
    /// Work-items in all.
    pub fn grid(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.u32(12 + 4 * i))
    }
    /// Adds bytes to the scratch of a work-item.
    pub fn grow_private(&mut self, bytes: u32) {
        self.set_u32(24, self.u32(24).saturating_add(bytes));
    }
    /// The address of the kernel's descriptor.
    pub fn kernel_object(&self) -> u64 {
        u64::from(self.u32(32)) | u64::from(self.u32(36)) << 32
    }
    pub fn set_kernel_object(&mut self, address: u64) {
        self.0[32..40].copy_from_slice(&address.to_le_bytes());
    }
    /// The signal that waits for the kernel's end, or 0.
    pub fn completion_signal(&self) -> u64 {
        self.words()[7]
    }
    pub fn set_completion_signal(&mut self, signal: u64) {
        self.0[56..].copy_from_slice(&signal.to_le_bytes());
    }
    pub fn words(&self) -> [u64; 8] {
        std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|byte| self.0[8 * i + byte])))
    }
    pub fn set_words(&mut self, words: [u64; 8]) {
        for (to, word) in self.0.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
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
    pub iterate_loaded_code_objects: usize,
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
    fn fields_of_a_dispatch_packet_are_where_the_specification_has_them() {
        let mut packet = Packet(std::array::from_fn(|i| i as u8));
        assert_eq!(packet.block(), [0x0504, 0x0706, 0x0908]);
        assert_eq!(packet.grid(), [0x0f0e_0d0c, 0x1312_1110, 0x1716_1514]);
        assert_eq!(packet.kernel_object(), 0x2726_2524_2322_2120);
        packet.set_kernel_object(1);
        packet.grow_private(0x100);
        assert_eq!((packet.kernel_object(), packet.u32(24)), (1, 0x1b1a_1a18));
        assert_eq!((packet.0[23], packet.0[28], packet.0[40]), (23, 28, 40));
        assert_eq!(packet.completion_signal(), 0x3f3e_3d3c_3b3a_3938);
        let words = packet.words();
        packet.set_words(std::array::from_fn(|i| words[i] + 1));
        assert_eq!((packet.completion_signal(), packet.0[0]), (0x3f3e_3d3c_3b3a_3939, 1));
    }
}
