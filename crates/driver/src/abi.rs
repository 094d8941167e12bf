//! What passes between ROCr and its thunk: structures and numbers of hsakmt.h of ROCm 5.2.3, which versions up to 6.1
//! extend at their ends. [`newer`] has what ROCm 7 changed. (Packets, queues and signals are the crate `abi`'s.)

pub mod newer;

/// `HSAKMT_STATUS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Status {
    Success = 0,
    Error = 1,
    InvalidParameter = 3,
    InvalidHandle = 4,
    InvalidNode = 5,
    NoMemory = 6,
    NotSupported = 11,
    NotOpened = 20,
    WaitTimeout = 31,
    NotRegistered = 36,
}

/// `HsaMemFlags`.
pub mod flags {
    pub const READ_ONLY: u32 = 1 << 3;
    pub const HOST_ACCESS: u32 = 1 << 6;
    pub const SCRATCH: u32 = 1 << 9;
    pub const EXECUTE: u32 = 1 << 12;
    pub const AQL_QUEUE: u32 = 1 << 14;
    pub const FIXED_ADDRESS: u32 = 1 << 15;
    pub const NO_ADDRESS: u32 = 1 << 18;
    pub const ONLY_ADDRESS: u32 = 1 << 19;
}

/// `HSA_POINTER_TYPE`.
pub mod pointer {
    pub const UNKNOWN: u32 = 0;
    pub const ALLOCATED: u32 = 1;
    pub const REGISTERED: u32 = 2;
    pub const SHARED: u32 = 4;
    pub const RESERVED: u32 = 5;
}

/// `HSA_HEAPTYPE`.
pub mod heap {
    pub const SYSTEM: u32 = 0;
    pub const LOCAL: u32 = 1;
    pub const LDS: u32 = 4;
    pub const SCRATCH: u32 = 5;
}

/// `HSA_QUEUE_TYPE`.
pub mod queue_type {
    pub const SDMA: u32 = 2;
    pub const SDMA_XGMI: u32 = 5;
    pub const SDMA_BY_ENGINE: u32 = 6;
    pub const AQL: u32 = 21;
}

/// `HSA_EVENTTYPE`.
pub mod event_type {
    pub const MEMORY: u32 = 8;
    pub const MAX: u32 = 9;
}

pub const NAME: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct SystemProperties {
    pub nodes: u32,
    pub oem: u32,
    pub id: u32,
    pub revision: u32,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct NodeProperties {
    pub cpu_cores: u32,
    pub simds: u32,
    pub memory_banks: u32,
    pub caches: u32,
    pub links: u32,
    pub cpu_id: u32,
    pub simd_id: u32,
    pub capability: u32,
    pub waves_per_simd: u32,
    pub lds_kb: u32,
    pub gds_kb: u32,
    pub wave_size: u32,
    pub shader_banks: u32,
    pub arrays: u32,
    pub cus_per_array: u32,
    pub simds_per_cu: u32,
    pub scratch_slots_per_cu: u32,
    pub engine_id: u32,
    pub vendor: u16,
    pub device: u16,
    pub location: u32,
    pub local_memory: u64,
    pub max_clock_gpu: u32,
    pub max_clock_cpu: u32,
    pub render_minor: i32,
    pub marketing_name: [u16; NAME],
    pub amd_name: [u8; NAME],
    pub engine_versions: u32,
    pub debug_properties: u64,
    pub hive: u64,
    pub sdma_engines: u32,
    pub xgmi_engines: u32,
    pub sdma_queues_per_engine: u8,
    pub cp_queues: u8,
    pub gws: u8,
    pub reserved2: u8,
    pub domain: u32,
    pub unique_id: u64,
    pub vgpr_bytes_per_cu: u32,
    pub sgpr_bytes_per_cu: u32,
    /// These three since ROCm 6.
    pub xccs: u32,
    pub gpu_id: u32,
    pub family: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct MemoryProperties {
    pub heap: u32,
    pub size: u64,
    pub flags: u32,
    pub width: u32,
    pub clock: u32,
    pub virtual_base: u64,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct CacheProperties {
    pub processor: u32,
    pub level: u32,
    /// KB.
    pub size: u32,
    pub line: u32,
    pub lines_per_tag: u32,
    pub associativity: u32,
    pub latency: u32,
    pub kind: u32,
    pub siblings: [u32; 256],
}

#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct LinkProperties {
    pub kind: u32,
    pub version_major: u32,
    pub version_minor: u32,
    pub from: u32,
    pub to: u32,
    pub weight: u32,
    pub min_latency: u32,
    pub max_latency: u32,
    pub min_bandwidth: u32,
    pub max_bandwidth: u32,
    pub transfer_size: u32,
    pub flags: u32,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct ClockCounters {
    pub gpu: u64,
    pub cpu: u64,
    pub system: u64,
    pub frequency: u64,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct TileConfig {
    pub tile: *mut u32,
    pub macro_tile: *mut u32,
    pub tiles: u32,
    pub macro_tiles: u32,
    pub address_config: u32,
    pub banks: u32,
    pub ranks: u32,
    pub reserved: [u32; 7],
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct PointerInfo {
    pub kind: u32,
    pub node: u32,
    pub flags: u32,
    pub cpu_address: u64,
    pub gpu_address: u64,
    pub size: u64,
    pub registered_nodes: u32,
    pub mapped_nodes: u32,
    pub registered: *const u32,
    pub mapped: *const u32,
    pub user_data: *mut libc::c_void,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct EventDescriptor {
    pub kind: u32,
    pub node: u32,
    pub sync_var: u64,
    pub sync_var_size: u64,
}

/// The part of `HsaEventData` that a memory fault fills in.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct MemoryFault {
    pub node: u32,
    pub address: u64,
    /// Bit 0: not present; bit 1: read only.
    pub failure: u32,
    pub flags: u32,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct Event {
    pub id: u32,
    pub kind: u32,
    pub fault: MemoryFault,
    pub hw1: u64,
    /// Where the hardware writes the event's number before it interrupts.
    pub mailbox: u64,
    pub hw3: u32,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct QueueResource {
    pub id: u64,
    pub doorbell: u64,
    pub write: u64,
    pub read: u64,
    pub error_reason: u64,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct MemoryRange {
    pub address: u64,
    pub size: u64,
}

/// `HsaGraphicsResourceInfo`.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct GraphicsResource {
    pub address: u64,
    pub size: u64,
    pub metadata: u64,
    pub metadata_size: u32,
    pub node: u32,
}

pub type SharedHandle = [u32; 8];

// Sizes as a C compiler has them.
const _: () = assert!(size_of::<NodeProperties>() == 356);
const _: () = assert!(size_of::<MemoryProperties>() == 32);
const _: () = assert!(size_of::<CacheProperties>() == 1056);
const _: () = assert!(size_of::<LinkProperties>() == 48);
const _: () = assert!(size_of::<PointerInfo>() == 68);
const _: () = assert!(size_of::<Event>() == 48);
const _: () = assert!(size_of::<MemoryFault>() == 20);
const _: () = assert!(size_of::<QueueResource>() == 40);
