//! What the agent and the controller say to each other: JSON, one message a datagram, with open files beside it for
//! whatever is large.

use serde::{Deserialize, Serialize};

/// Both sides have to be of one version.
pub const VERSION: u32 = 1;
/// Bytes of a message, and files that come with one.
pub const LONGEST: usize = 64 << 10;
pub const MOST_FILES: usize = 2;

/// A GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Gpu {
    pub agent: u64,
    pub name: String,
}

/// What the agent says.
#[derive(Debug, Serialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Said<'a> {
    /// The first one, with the ledger of launches.
    Hello {
        version: u32,
        pid: u32,
        parent: u32,
        program: &'a str,
    },
    /// A code object is loaded, with its bytes. Numbers of objects go up and are never used again.
    Loaded {
        object: u64,
        gpu: &'a Gpu,
        number: usize,
        base: u64,
        uri: &'a str,
    },
    Unloaded {
        object: u64,
    },
    /// A kernel is about to be launched: `kernel` is the vaddr of its descriptor, `slot` its place in the ledger. An answer
    /// is waited for.
    Launch {
        object: u64,
        kernel: u64,
        slot: usize,
        grid: [u32; 3],
        block: [u32; 3],
    },
    /// The instrumented kernel of a slot is launched again.
    Launched {
        slot: usize,
        grid: [u32; 3],
        block: [u32; 3],
    },
    /// Memory that was asked for, which GPUs have at this address.
    Allocated {
        address: u64,
    },
    /// Something that was asked for cannot be done.
    Failed {
        reason: String,
    },
    /// The instrumented kernel is in use.
    Done,
    /// The process ends in the usual way.
    Ended,
}

/// What the controller says.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// The answer to [`Said::Hello`].
    Welcome {
        version: u32,
        /// Tools are to hear of each launch, not only of a kernel's first.
        every_launch: bool,
    },
    /// Memory of so many bytes for the object of the launch that is waiting, all zero.
    Allocate { size: u64 },
    /// The launch runs the kernel with its descriptor at this vaddr in the object that comes with this, and so do later ones.
    /// The segments grow by so many bytes.
    Instrumented { descriptor: u64, private: u32, group: u32 },
    /// The launch runs the original, and so do later ones.
    Original {},
}
