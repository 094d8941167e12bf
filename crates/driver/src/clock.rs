//! The clock of all nodes: nanoseconds since the machine was started.

/// Ticks of it in a second.
pub const FREQUENCY: u64 = 1_000_000_000;

pub fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in a structure of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(FREQUENCY).wrapping_add(time.tv_nsec as u64)
}
