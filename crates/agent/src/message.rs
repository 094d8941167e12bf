//! What the agent and the controller say to each other: JSON, one message a datagram, with open files beside it for
//! whatever is large.

use serde::{Deserialize, Serialize};

/// Both sides have to be of one version.
pub const VERSION: u32 = 4;
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
    /// The first one, with the ledger of launches and a word for each function that can be wrapped, of which `functions`
    /// says how many there are.
    Hello {
        version: u32,
        functions: usize,
        pid: u32,
        parent: u32,
        program: &'a str,
    },
    /// ROCr has loaded the agent.
    Runtime {
        gpus: &'a [Gpu],
    },
    /// A code object is loaded, with its bytes. Numbers of objects go up and are never used again.
    Loaded {
        object: u64,
        executable: u64,
        gpu: &'a Gpu,
        number: usize,
        /// The address of its vaddr 0.
        base: u64,
        start: u64,
        size: u64,
        uri: &'a str,
    },
    Unloaded {
        object: u64,
    },
    /// A kernel is launched for the first time: `kernel` is the vaddr of its descriptor, `slot` its place in the ledger. An
    /// answer is waited for.
    Launch {
        object: u64,
        kernel: u64,
        slot: usize,
    },
    /// An instrumented kernel is about to be launched, by a packet of these words. `number` counts launches.
    Launched {
        slot: usize,
        number: u64,
        packet: [u64; 8],
    },
    /// A kernel that can run instrumented, or `instrumented` by what the rules say, is about to be launched. An answer is
    /// waited for.
    Deciding {
        slot: usize,
        number: u64,
        packet: [u64; 8],
        instrumented: bool,
    },
    /// A launch is over; when it began and ended, in nanoseconds of the runtime's clock.
    Completed {
        slot: usize,
        number: u64,
        start: u64,
        end: u64,
    },
    /// A function that is wanted is about to be called. An answer is waited for.
    Calling {
        call: u64,
        function: usize,
        thread: u64,
        words: &'a [u64],
    },
    /// It was called; an answer is waited for if `answer` says so. `pointees` are what marked words point to.
    Called {
        call: u64,
        function: usize,
        thread: u64,
        words: &'a [u64],
        result: u64,
        pointees: &'a [u64],
        answer: bool,
    },
    /// Memory that was asked for, at this address: of GPUs, or of the process, as it was asked.
    Allocated {
        address: u64,
    },
    /// The contents of memory that were asked for, in a file.
    Contents,
    /// Something that was asked for cannot be done.
    Failed {
        reason: String,
    },
    /// Something that was asked for is done.
    Done,
    /// The process ends in the usual way.
    Ended,
}

/// Which launches of a kernel are instrumented.
#[derive(Debug, Deserialize, PartialEq, Eq, Clone)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only those of this size, in work-items; 0 for any.
    pub grid: [u32; 3],
    /// Of those, only so many; 0 for all.
    pub first: u64,
    /// Of those, the first and then each of so many.
    pub every: u64,
}

/// What the controller says.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// The answer to [`Said::Hello`].
    Welcome {
        version: u32,
        /// Tools are to hear of each launch.
        every_launch: bool,
        /// They are to say what it runs.
        decide: bool,
        /// They are to hear when it is over.
        complete: bool,
        /// A kernel's first launch waits until it is instrumented.
        wait: bool,
        /// Numbers of functions that are to be wrapped.
        wrap: Vec<usize>,
    },
    /// Memory of so many bytes for the object of the launch that is waiting, all zero.
    Allocate { size: u64 },
    /// The launch runs the kernel with its descriptor at this vaddr in the object that comes with this, and so do later ones,
    /// if one of the rules, where there are any, has it so. The segments grow by so many bytes. At `signal`, as GPUs have
    /// it, is a signal in memory that was allocated for the launch: it counts down for each launch that is over.
    Instrumented { descriptor: u64, private: u32, group: u32, signal: u64, rules: Vec<Rule> },
    /// The launch runs the original, and so do later ones.
    Original {},
    /// The answer to [`Said::Deciding`]: what the launch runs, and its packet if that is changed.
    Run { original: bool, packet: Option<[u64; 8]> },
    /// The answer to [`Said::Calling`]: the function is called, with these words if there are any.
    Go { words: Option<Vec<u64>> },
    /// The answer to [`Said::Calling`]: it is not called, and has this result.
    Skip { result: u64 },
    /// The answer to [`Said::Called`]: its result.
    Return { result: u64 },
    /// Memory of the process is read, and the answer waited for: [`Said::Contents`].
    Read { address: u64, size: u64 },
    /// Memory of the process is written, with the contents of the file that comes with this.
    Write { address: u64 },
    /// The contents of the file that comes with this are to be in the process's memory from now on.
    Keep {},
    /// The process's environment gets a variable.
    SetVariable { name: String, value: String },
    /// Functions are wrapped, or not any more.
    Wrap { functions: Vec<usize>, on: bool },
}
