//! What the agent and the controller say to each other: JSON, one message a datagram, with open files beside it for
//! whatever is large. What is said of calls, since a program waits for each, is in words of 64 bits instead, the first of
//! which says what it is: no JSON begins with its byte.

use serde::{Deserialize, Serialize};

use crate::calls::Made;

/// Both sides have to be of one version.
pub const VERSION: u32 = 12;
/// Bytes of a message, and files that come with one.
pub const LONGEST: usize = 64 << 10;
pub const MOST_FILES: usize = 2;

/// A GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Gpu {
    pub agent: u64,
    pub name: String,
}

/// Which queue a launch is put into, by its address, and the thread that does so, by the kernel's number.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct By {
    pub queue: u64,
    pub thread: u64,
}

/// What the agent says.
#[derive(Debug, Serialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum Said<'a> {
    /// The first one, with the ledger of launches and a word for each function that can be wrapped; `functions`
    /// says how many there are.
    Hello {
        version: u32,
        functions: usize,
        pid: u32,
        parent: u32,
        program: &'a str,
    },
    /// After the welcome, if the tools hear of launches: the memory of [`ring`](crate::ring), in a file.
    Ring,
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
    /// A kernel was launched, and is not instrumented any more, since the process, or what it was in, will be gone.
    Left {
        object: u64,
        kernel: u64,
        slot: usize,
    },
    /// A kernel that can run instrumented, or of whose launches tools are to hear, is about to be launched, by a packet of
    /// these words; `number` counts launches, and `instrumented` is what it runs by the rules. An answer is waited for.
    Deciding {
        slot: usize,
        number: u64,
        packet: [u64; 8],
        #[serde(flatten)]
        by: By,
        instrumented: bool,
    },
    /// What stands in front of a launch is over, and it has not begun. An answer is waited for.
    Begins {
        slot: usize,
        number: u64,
    },
    /// A launch is over; when it began and ended, in nanoseconds of the runtime's clock. An answer is waited for before the
    /// program is told.
    Completed {
        slot: usize,
        number: u64,
        start: u64,
        end: u64,
    },
    /// A function that is wanted is about to be called. An answer is waited for.
    #[serde(skip)]
    Calling {
        call: u64,
        function: usize,
        thread: u64,
        words: &'a [u64],
        /// Return addresses, if they are wanted.
        stack: &'a [u64],
    },
    /// It was called; an answer is waited for if `answer` says so.
    #[serde(skip)]
    Called {
        call: &'a Made<'a>,
        thread: u64,
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

/// What wakes a controller that waits for messages while there are launches in the ring; it is no message itself.
pub const WAKE: u64 = 3;

/// First words of what is said of calls.
mod calls {
    pub const CALLING: u64 = 1;
    pub const CALLED: u64 = 2;
    pub const GO: u64 = 1;
    pub const SKIP: u64 = 2;
    pub const RETURN: u64 = 3;
}

impl Said<'_> {
    /// The message.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let length = |list: &[u64]| list.len() as u64;
        let (head, lists): (Vec<u64>, [&[u64]; 3]) = match self {
            Said::Calling { call, function, thread, words, stack } => {
                (vec![calls::CALLING, *call, *function as u64, *thread, length(words)], [words, stack, &[]])
            }
            Said::Called { call, thread, answer } => {
                let Made { number, function, words, result, pointees, stack } = **call;
                let mut head = vec![calls::CALLED, number, function as u64, *thread, result, u64::from(*answer)];
                head.extend([length(words), length(pointees)]);
                (head, [words, pointees, stack])
            }
            other => return serde_json::to_vec(other).map_err(|e| e.to_string()),
        };
        Ok(head.iter().chain(lists.into_iter().flatten()).flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// Which launches of a kernel are instrumented.
#[derive(Debug, Deserialize, PartialEq, Eq, Clone)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only those of this size, in work-items; 0 for any.
    pub grid: [u32; 3],
    /// At most this many of those; 0 for all.
    pub first: u64,
    /// Of those, the first and then every n-th.
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
        /// The program is told of a launch's end when they have heard of it.
        hold: bool,
        /// A kernel's first launch waits until it is instrumented.
        wait: bool,
        /// Numbers of functions that are to be wrapped.
        wrap: Vec<usize>,
    },
    /// Zeroed memory of `size` bytes for the object of the launch that is waiting.
    Allocate { size: u64 },
    /// The launch runs the kernel with its descriptor at this vaddr in the object that comes with this, and so do later ones,
    /// if one of the rules, where there are any, has it so. The private segment grows by `private` bytes, LDS by `group`:
    /// a launch that would then have more than the most runs the original. At `signal`, as GPUs have it, is a signal in memory that was allocated for the launch: it counts down
    /// for each launch that is over.
    Instrumented { descriptor: u64, private: u32, group: u32, most_group: u32, signal: u64, rules: Vec<Rule> },
    /// The launch runs the original, and so do later ones. If `heard`, tools are to hear of those that the rules have, as of
    /// instrumented ones.
    Original { heard: bool, rules: Vec<Rule> },
    /// The answer to [`Said::Deciding`]: what the launch runs, and its packet if that is changed.
    Run { original: bool, packet: Option<[u64; 8]> },
    /// The answer to [`Said::Begins`] and [`Said::Completed`].
    Heard {},
    /// The answer to [`Said::Calling`]: the function is called, with these words if there are any.
    #[serde(skip)]
    Go { words: Option<Vec<u64>> },
    /// The answer to [`Said::Calling`]: it is not called, and has this result.
    #[serde(skip)]
    Skip { result: u64 },
    /// The answer to [`Said::Called`]: its result.
    #[serde(skip)]
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

impl Asked {
    /// The message that bytes are.
    pub fn of_bytes(bytes: &[u8]) -> Result<Asked, String> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        match (&words[..], rest) {
            ([calls::GO], []) => Ok(Asked::Go { words: None }),
            ([calls::GO, words @ ..], []) => Ok(Asked::Go { words: Some(words.to_vec()) }),
            ([calls::SKIP, result], []) => Ok(Asked::Skip { result: *result }),
            ([calls::RETURN, result], []) => Ok(Asked::Return { result: *result }),
            _ => serde_json::from_slice(bytes).map_err(|e| e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn what_is_said_of_calls_is_words() {
        let calling = Said::Calling { call: 7, function: 8, thread: 9, words: &[10, u64::MAX], stack: &[11] };
        assert_eq!(calling.to_bytes(), Ok(bytes(&[1, 7, 8, 9, 2, 10, u64::MAX, 11])));
        let call = Made { number: 7, function: 8, words: &[1, 2], result: 3, pointees: &[4], stack: &[5, 6] };
        let called = Said::Called { call: &call, thread: 9, answer: true };
        assert_eq!(called.to_bytes(), Ok(bytes(&[2, 7, 8, 9, 3, 1, 2, 1, 1, 2, 4, 5, 6])));
        assert_eq!(Said::Done.to_bytes().as_deref(), Ok(&br#"{"message":"done"}"#[..]));
    }

    #[test]
    fn answers_about_calls_are_words_of_their_number() {
        let heard = |words: &[u64]| Asked::of_bytes(&bytes(words)).ok();
        assert_eq!(heard(&[1]), Some(Asked::Go { words: None }));
        assert_eq!(heard(&[1, 5, 6]), Some(Asked::Go { words: Some(vec![5, 6]) }));
        assert_eq!(heard(&[2, 5]), Some(Asked::Skip { result: 5 }));
        assert_eq!(heard(&[3, 5]), Some(Asked::Return { result: 5 }));
        for wrong in [&[][..], &[2], &[2, 5, 6], &[3], &[3, 5, 6], &[4, 5]] {
            assert_eq!(heard(wrong), None, "{wrong:?}");
        }
        assert!(Asked::of_bytes(&bytes(&[2, 5])[..15]).is_err());
        assert!(Asked::of_bytes(br#"{"message":"go","words":null}"#).is_err());
        let original = br#"{"message":"original","heard":true,"rules":[]}"#;
        assert_eq!(Asked::of_bytes(original), Ok(Asked::Original { heard: true, rules: Vec::new() }));
    }
}
