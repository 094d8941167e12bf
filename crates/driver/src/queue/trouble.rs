//! Why a packet cannot be done, and what the queue's error signal says of it.

use crate::memory::Access;

/// Why a packet cannot be done.
pub enum Trouble {
    /// Not yet.
    Blocked,
    /// The queue was destroyed meanwhile.
    Stopped,
    /// The packet itself leads to memory that the GPU does not see.
    Access(Access, &'static str),
    /// What the packet processor says to the runtime, and its reason for people.
    Error(i64, String),
    /// Everything was said already.
    Reported,
}

/// What the queue's error signal says.
pub mod code {
    pub const DIMENSIONS: i64 = 2;
    pub const GROUP_MEMORY: i64 = 4;
    pub const CODE: i64 = 8;
    pub const FORMAT: i64 = 32;
    pub const GROUP_SIZE: i64 = 64;
    pub const VENDOR_FORMAT: i64 = 256;
    pub const ILLEGAL_INSTRUCTION: i64 = 0x4000_0000;
    pub const TRAP: i64 = 0x8000_0000;
}
