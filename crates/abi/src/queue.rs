//! Queues.
//!
//! Sources: ROCr's `amd_hsa_queue.h` and `hsa.h`. Kernels read the apertures in it.

use std::sync::atomic::AtomicU64;

use zerocopy::{FromBytes, IntoBytes, KnownLayout};

/// `amd_queue_t`, which begins with an `hsa_queue_t` (up to `id`).
#[derive(Debug, FromBytes, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Queue {
    pub kind: u32,
    pub features: u32,
    pub ring: u64,
    pub doorbell_signal: u64,
    /// Packets that the ring has room for.
    pub size: u32,
    pub reserved0: u32,
    pub id: u64,
    pub reserved1: [u32; 4],
    pub write_dispatch_id: AtomicU64,
    /// The upper halves of the addresses that LDS and scratch have as flat memory.
    pub group_aperture_high: u32,
    pub private_aperture_high: u32,
    pub max_cu_id: u32,
    pub max_wave_id: u32,
    pub max_legacy_doorbell: AtomicU64,
    pub legacy_doorbell_lock: u32,
    pub reserved2: [u32; 9],
    pub read_dispatch_id: AtomicU64,
    pub read_offset: u32,
    pub tmpring_size: u32,
    pub scratch_descriptor: [u32; 4],
    pub scratch_location: u64,
    pub scratch_bytes: u64,
    pub scratch_wave64_lane_bytes: u32,
    pub properties: u32,
    pub reserved3: [u32; 2],
    pub inactive_signal: u64,
    pub reserved4: [u32; 14],
}

const _: () = assert!(size_of::<Queue>() == 256);
const _: () = assert!(std::mem::offset_of!(Queue, id) == 32);
const _: () = assert!(std::mem::offset_of!(Queue, write_dispatch_id) == 56);
const _: () = assert!(std::mem::offset_of!(Queue, group_aperture_high) == 64);
const _: () = assert!(std::mem::offset_of!(Queue, read_dispatch_id) == 128);
const _: () = assert!(std::mem::offset_of!(Queue, inactive_signal) == 192);

/// [`Queue::properties`]: scratch is to be given back after one launch.
pub const USE_SCRATCH_ONCE: u32 = 1 << 4;
