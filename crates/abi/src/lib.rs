//! What programs, the runtime, packet processors and kernels have laid down among each other: structures in memory whose
//! fields have places of their own.
//!
//! The mock device makes them, the driver and the agent read them in a program's memory, hooks load from them. Each stands
//! here once, as a typed layout whose size and offsets the compiler checks.
//!
//! | module | one idea |
//! |---|---|
//! | [`packet`] | the 64 bytes of an AQL packet |
//! | [`queue`] | `amd_queue_t` |
//! | [`signal`] | `amd_signal_t` |
//! | [`hidden`] | the arguments of a kernel that the runtime fills in |

pub mod hidden;
pub mod packet;
pub mod queue;
pub mod signal;

pub use hidden::{Axis, Hidden, ImplicitArgs, ImplicitArgsV3};
pub use packet::Packet;
pub use queue::Queue;
pub use signal::Signal;
