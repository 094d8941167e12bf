//! The driver: `libhsakmt.so.1`, which puts AMD's runtime ROCr, and so HIP, on mock GPUs.
//!
//! ROCr reaches the kernel's driver through the functions `hsaKmt...` of a library, the thunk. This crate has them all, over
//! GPUs that the emulator runs: memory of the process is device memory at the same addresses, queues are threads that take
//! packets from the rings that ROCr writes, and a dispatch is a launch of the emulator. ROCr and HIP themselves are not
//! changed: docs/driver.md has how to use it.
//!
//! | module | one idea |
//! |---|---|
//! | [`api`] | the exported functions |
//! | [`abi`] | structures that pass between ROCr and us |
//! | [`config`], [`card`], [`topology`] | what the mock GPUs are, and what the machine looks like |
//! | [`runtime`] | AMD's libraries that use this one |
//! | [`heard`] | the sizes that programs ask for, which ROCr makes whole pages of |
//! | [`memory`] | blocks, which GPU sees them, sharing them between processes |
//! | [`events`], [`polling`] | what threads sleep on, of runtimes that wait for interrupts and of those that poll |
//! | [`handlers`] | handlers of signals, which a process that ends waits for |
//! | [`order`] | what orders launches and copies, and which nothing orders |
//! | [`touches`] | what the host itself does to memory that GPUs have |
//! | [`queue`] | AQL and SDMA queues: their packets, signals, scratch memory, errors |
//! | [`crash`] | what HIP does not say of a program without code for the GPU |
//! | [`gpu`], [`code`] | one mock GPU, and the code objects that are loaded on it |
//! | [`clock`], [`log`], [`report`] | time, lines on standard error, what they say |
//! | [`account`] | what `luthier trace` hears of launches and findings |
//! | [`state`] | all of it, of this process |
//!
//! Invariants:
//! * No address that a program or a kernel gives is used before the memory of its node has it.
//! * What is freed while something runs that may know of it stays mapped until that has ended.
//! * The value of a signal changes last: the program may destroy the signal at once.
//! * Locks are held for moments; nothing waits under one, but for threads that a destroyed queue ends.
//! * Threads of ours take no signals of the process's.
//! * No thread waits for a thread of ours while the driver is opened, and none of them needs the loader: a library may open the
//!   driver when it is loaded, and holds the loader's lock meanwhile.
//! * The GPUs are the process's: a child after `fork` has none until it opens the driver itself.

pub mod abi;
pub mod account;
pub mod api;
pub mod card;
pub mod clock;
pub mod code;
pub mod config;
pub mod crash;
pub mod events;
pub mod gpu;
pub mod handlers;
pub mod heard;
pub mod log;
pub mod memory;
pub mod order;
pub mod partition;
pub mod polling;
pub mod queue;
pub mod report;
pub mod runtime;
pub mod state;
mod sysfs;
pub mod told;
pub mod topology;
pub mod touches;
