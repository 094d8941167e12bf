//! Everything that can go wrong between loading and the end of `finalize`, and where.

use std::fmt;

use crate::types::RelocKind;
use crate::{LoadError, TargetId};

/// A place in a loaded object that a relocation record changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub object: String,
    /// Empty where no section covers the place.
    pub section: String,
    /// Within the section; of a place without section, its vaddr.
    pub offset: u64,
    pub vaddr: u64,
    pub kind: RelocKind,
    /// Empty for a record without symbol.
    pub symbol: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site { object, section, offset, vaddr, kind, symbol } = self;
        write!(f, "{kind} in {object}, ")?;
        match section.as_str() {
            "" => write!(f, "vaddr {vaddr:#x} (in no section), ")?,
            name => write!(f, "section {name}, offset {offset:#x} (vaddr {vaddr:#x}), ")?,
        }
        if symbol.is_empty() { f.write_str("without symbol") } else { write!(f, "symbol {symbol}") }
    }
}

/// A symbol of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    pub object: String,
    /// Empty for an absolute symbol, and in an object without section headers.
    pub section: String,
    pub vaddr: u64,
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object)?;
        if !self.section.is_empty() {
            write!(f, ", section {}", self.section)?;
        }
        write!(f, ", vaddr {:#x}", self.vaddr)
    }
}

/// A name that nothing defines, and the first place that needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unresolved {
    pub symbol: String,
    pub object: String,
    pub site: Box<Site>,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.symbol, self.site)
    }
}

/// Why something was not loaded, defined or linked. Objects are called by the name that they were loaded under.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    // The life of a loader.
    #[error("{object} cannot be loaded: the loader is finalized, and its addresses are settled; use a new loader")]
    LoadAfterFinalize { object: String },
    #[error("symbol {symbol} cannot be defined: the loader is finalized, and its references are settled")]
    DefineAfterFinalize { symbol: String },
    #[error("the loader is finalized already")]
    AlreadyFinalized,
    #[error("the loader is not finalized: nothing is relocated yet, so {what} is not possible")]
    NotFinalized { what: &'static str },
    #[error("there is no agent {agent}: the loader has {count}")]
    NoSuchAgent { agent: usize, count: usize },
    #[error("there is no executable {executable}: the loader has {count}")]
    NoSuchExecutable { executable: usize, count: usize },
    #[error("there is no object {object}: the loader has {count}")]
    NoSuchObject { object: usize, count: usize },
    #[error(
        "{object} holds code for several targets ({}): say which of the loader's agents it is for",
        available.join(", ")
    )]
    AgentNeeded { object: String, available: Vec<String> },
    #[error("{object} is for {target}: it cannot run on agent {agent}, which is {device}")]
    WrongAgent { object: String, target: TargetId, agent: usize, device: TargetId },

    // What is loaded.
    #[error("{object}: {source}")]
    Object { object: String, source: LoadError },
    #[error("{object} has no PT_LOAD segment with anything in it: there is nothing to load")]
    NoLoadSegment { object: String },
    #[error(
        "{object} needs {size:#x} bytes from its first segment to its last: more than {limit:#x}, or than there are"
    )]
    TooLarge { object: String, size: u64, limit: u64 },
    #[error("{object} at base {base:#x} passes the end of the address space: its last segment ends at vaddr {end:#x}")]
    BaseTooHigh { object: String, base: u64, end: u64 },
    #[error("the load base {base:#x} of {object} is not a multiple of {align:#x}, its largest segment alignment")]
    BaseMisaligned { object: String, base: u64, align: u64 },
    #[error("{object} cannot have the addresses {start:#x} to {end:#x}: {other} is there")]
    AddressTaken { object: String, start: u64, end: u64, other: String },
    #[error("symbol {symbol} is defined twice for one agent: in {second}, and before that in {first}")]
    DuplicateSymbol { symbol: String, first: Box<Definition>, second: Box<Definition> },

    // Externals.
    #[error("an external needs a name")]
    ExternalWithoutName,
    #[error("external {symbol} is defined twice for {}", agent.map_or("all agents".into(), |a| format!("agent {a}")))]
    DuplicateExternal { symbol: String, agent: Option<usize> },
    #[error("external {symbol} at {address:#x} with {size:#x} bytes passes the end of the address space")]
    ExternalTooLarge { symbol: String, address: u64, size: u64 },

    // Relocations.
    #[error("{object}, section {section}: {reason}")]
    BadRelocationSection { object: String, section: String, reason: String },
    #[error(
        "undefined symbols: {}; load the objects that define them, or define them",
        symbols.iter().map(Unresolved::to_string).collect::<Vec<_>>().join("; ")
    )]
    Unresolved { symbols: Vec<Unresolved> },
    #[error("{site}: LLVM's AMDGPU back end has no relocation of this type")]
    UnknownRelocation { site: Box<Site> },
    #[error("{site}: its {width} bytes lie in no loadable segment")]
    RelocationOutside { site: Box<Site>, width: u64 },
    #[error("{site}: the value {value:#x} does not fit {bits} bits; load the two closer to each other, or lower")]
    Overflow { site: Box<Site>, value: i64, bits: u32 },
    #[error("{site}: the distance {value:#x} from the next instruction is not a multiple of 4")]
    MisalignedBranch { site: Box<Site>, value: i64 },
    #[error("{site}: the symbol is thread-local, and AMDGPU code has no such storage")]
    ThreadLocal { site: Box<Site> },
    #[error(
        "{site}: a REL record against an absolute symbol in a linked object; whether the place holds the addend or the \
         linker's sum cannot be told"
    )]
    AmbiguousAddend { site: Box<Site> },

    // Looking into what is loaded.
    #[error("{len:#x} bytes at {address:#x} are not inside of one loaded segment")]
    NoSuchAddress { address: u64, len: u64 },
    #[error("nothing that is loaded defines symbol {symbol}")]
    NoSuchSymbol { symbol: String },
    #[error("symbol {symbol} is defined by several: {}; name the object", objects.join(", "))]
    AmbiguousSymbol { symbol: String, objects: Vec<String> },
    #[error("variable {symbol} has {size} bytes, not {given}")]
    WrongSize { symbol: String, size: u64, given: u64 },
}
