//! Why the device refuses or stops.

use crate::report::SourceFrame;

/// What went wrong, and where.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EmuError {
    #[error("the mock device cannot be {0}; it can be {known}", known = crate::TARGETS.map(|t| t.name()).join(", "))]
    Target(String),
    #[error("the code object is for {found}, the device is {device}")]
    WrongTarget { found: String, device: &'static str },
    #[error("the code object cannot be loaded: {0}")]
    Load(String),
    #[error("no module {0} is loaded")]
    NoModule(u32),
    #[error("the code object has no kernel {name}; it has {known}")]
    NoKernel { name: String, known: String },
    #[error("{what} of {value} is not possible: {why}")]
    Geometry { what: &'static str, value: String, why: String },
    #[error("kernel {kernel}: {given} bytes of arguments, the kernel takes {wanted} before its hidden ones")]
    Arguments { kernel: String, given: usize, wanted: usize },
    #[error("kernel {kernel}: {what}")]
    Unsupported { kernel: String, what: String },
    #[error("the host has no memory for {0} bytes")]
    OutOfMemory(u64),
    #[error("device address {0:#x} is in no allocation")]
    Address(u64),
    #[error("the process's memory from {start:#x} to {end:#x} cannot be the device's: it has these addresses already")]
    Occupied { start: u64, end: u64 },
    /// An instruction that cannot go on.
    #[error("kernel {kernel}: {message}, at {pc:#x}: {text} (workgroup {workgroup:?}, wave {wave}{}){}", lane.map(|l| format!(", lane {l}")).unwrap_or_default(), line_of(frames))]
    Fault {
        kernel: Box<str>,
        /// Address within the code object.
        pc: u64,
        text: Box<str>,
        workgroup: [u32; 3],
        wave: u32,
        lane: Option<u32>,
        address: Option<u64>,
        message: Box<str>,
        kind: FaultKind,
        /// Where it is in the source, innermost call first; empty without DWARF.
        frames: Box<[SourceFrame]>,
    },
    #[error("a cooperative launch of {groups} workgroups of this size does not fit: {most} do")]
    Cooperative { groups: u64, most: u64 },
    /// The caller who waited for the launch did not want it to go on.
    #[error("the launch was interrupted")]
    Interrupted,
    #[error("the device was copied by a fork in the middle of another thread's launch; make a new device in the child")]
    Forked,
    #[error("no threads for workgroups: {0}")]
    Threads(String),
    #[error("kernel {kernel}: deadlock in workgroup {workgroup:?}: {waits}")]
    Deadlock { kernel: String, workgroup: [u32; 3], waits: String },
    #[error("kernel {kernel}: stopped after {limit}; {places}")]
    Watchdog {
        kernel: String,
        instructions: u64,
        /// Which limit it was.
        limit: String,
        /// Where its waves are, with the instruction and its source line.
        places: String,
    },
}

/// `, FILE:LINE`; nothing without DWARF.
pub(crate) fn line_of(frames: &[SourceFrame]) -> String {
    let Some(frame) = frames.first() else { return String::new() };
    format!(", {}:{}", frame.file.as_deref().unwrap_or("??"), frame.line)
}

/// Why one instruction of a wave cannot go on; the scheduler adds where.
#[derive(Debug, Clone)]
pub struct Fault {
    pub message: String,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    /// What strict mode calls it; such faults are findings there, and the wave goes on.
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to memory that is not there.
    Memory,
    /// A write to memory that may only be read.
    ReadOnly,
    /// The program has stopped itself.
    Trap,
    Unsupported,
}
