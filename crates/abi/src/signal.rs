//! Signals.
//!
//! Source: ROCr's `amd_hsa_signal.h`.

use std::sync::atomic::AtomicI64;

/// Kinds of signals whose value is the address of a doorbell.
pub const DOORBELL: i64 = -1;
pub const OLD_DOORBELL: i64 = -2;

/// `amd_signal_t`.
#[repr(C, align(64))]
pub struct Signal {
    pub kind: i64,
    pub value: AtomicI64,
    /// Where the hardware writes `event` before it interrupts; 0 where it does not.
    pub mailbox: u64,
    pub event: u32,
    pub reserved1: u32,
    /// When the packet began and ended, in ticks.
    pub start: u64,
    pub end: u64,
    pub queue: u64,
    pub reserved2: [u32; 2],
}

const _: () = assert!(size_of::<Signal>() == 64);
const _: () = assert!(std::mem::offset_of!(Signal, value) == 8);
const _: () = assert!(std::mem::offset_of!(Signal, event) == 24);
const _: () = assert!(std::mem::offset_of!(Signal, start) == 32);
const _: () = assert!(std::mem::offset_of!(Signal, queue) == 48);
