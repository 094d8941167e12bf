//! What a launch reports.

use crate::strict::race::footprint::Footprint;

/// What strict mode found wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum FindingKind {
    /// Memory outside any allocation, or a write to read-only memory.
    OutOfBounds,
    /// A register that was never written.
    UndefinedRegister,
    /// A value of LDS that was never written decides something.
    UndefinedLds,
    /// A register that a load in flight may still write.
    MissingWait,
    /// Too few wait states between two instructions.
    Hazard,
    /// An LDS or memory access that is not aligned as the instruction demands.
    Misaligned,
    /// A register beyond those that the kernel's descriptor allocates.
    Unallocated,
    /// Two waves access the same bytes of LDS, one of them writing, with no barrier in between.
    LdsRace,
    /// The waves of a workgroup do not all come to its barrier.
    BarrierDivergence,
    /// Memory that was freed.
    UseAfterFree,
    /// They all come, but not at the same instruction.
    BarrierPlace,
    /// Two waves access the same bytes of device memory, one of them writing, and nothing orders the accesses.
    MemoryRace,
    /// A buffer access beyond a buffer whose size its descriptor does not say.
    BufferRange,
    /// LDS beyond the workgroup's, where reads give zeros and writes are dropped.
    LdsBounds,
    /// A read of LDS that was never written, whatever becomes of it.
    UndefinedLdsRead,
    /// A value of device memory that nothing has written decides something.
    UndefinedMemory,
    /// Two launches, or a launch and a copy, access the same bytes, one of them writing, and nothing orders the two.
    LaunchRace,
}

bitflags::bitflags! {
    /// Kinds of findings, as a set.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Kinds: u32 {
        const ALL = (1 << FindingKind::ALL.len()) - 1;
        /// What is looked for by default: not what programs may well mean to do.
        const USUAL = Self::ALL.bits() & !Self::ON_REQUEST.bits();
        /// What has to be asked for by name.
        const ON_REQUEST = 1 << FindingKind::BarrierPlace as u32
            | 1 << FindingKind::UndefinedLdsRead as u32
            | 1 << FindingKind::UndefinedMemory as u32
            | 1 << FindingKind::LaunchRace as u32;
    }
}

impl Kinds {
    /// The kind with this name, or `all` of them.
    pub fn named(name: &str) -> Option<Kinds> {
        if name == "all" { Some(Kinds::ALL) } else { FindingKind::from_name(name).map(Kinds::from) }
    }
}

impl From<FindingKind> for Kinds {
    fn from(kind: FindingKind) -> Kinds {
        Kinds::from_bits_retain(1 << kind as u32)
    }
}

impl FindingKind {
    pub const ALL: [FindingKind; 17] = [
        FindingKind::OutOfBounds,
        FindingKind::UndefinedRegister,
        FindingKind::UndefinedLds,
        FindingKind::MissingWait,
        FindingKind::Hazard,
        FindingKind::Misaligned,
        FindingKind::Unallocated,
        FindingKind::LdsRace,
        FindingKind::BarrierDivergence,
        FindingKind::UseAfterFree,
        FindingKind::BarrierPlace,
        FindingKind::MemoryRace,
        FindingKind::BufferRange,
        FindingKind::LdsBounds,
        FindingKind::UndefinedLdsRead,
        FindingKind::UndefinedMemory,
        FindingKind::LaunchRace,
    ];
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<FindingKind> {
        FindingKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
    /// The name in reports: `out-of-bounds`, `missing-wait`, ...
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out-of-bounds",
            FindingKind::UndefinedRegister => "undefined-register",
            FindingKind::UndefinedLds => "undefined-lds",
            FindingKind::MissingWait => "missing-wait",
            FindingKind::Hazard => "hazard",
            FindingKind::Misaligned => "misaligned",
            FindingKind::Unallocated => "unallocated-register",
            FindingKind::LdsRace => "lds-race",
            FindingKind::BarrierDivergence => "barrier-divergence",
            FindingKind::UseAfterFree => "use-after-free",
            FindingKind::BarrierPlace => "barrier-place",
            FindingKind::BufferRange => "buffer-range",
            FindingKind::MemoryRace => "memory-race",
            FindingKind::LdsBounds => "lds-bounds",
            FindingKind::UndefinedLdsRead => "undefined-lds-read",
            FindingKind::UndefinedMemory => "undefined-memory",
            FindingKind::LaunchRace => "launch-race",
        }
    }
}

/// Where one of several lanes accessed memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    pub address: u64,
    pub workgroup: [u32; 3],
    pub wave: u32,
    pub lane: Option<u32>,
}

/// How far a finding reaches: one instruction may be wrong in many lanes, waves and workgroups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// How often it was found: for each lane, if it is one of lanes, else for each wave; each time that the instruction ran.
    pub count: u64,
    /// Of those with addresses, the lowest and the highest.
    pub lowest: Option<Reached>,
    pub highest: Option<Reached>,
}

impl Extent {
    /// Of one lane, whose wave is not told yet.
    pub fn one(lane: Option<u32>, address: Option<u64>) -> Extent {
        let reached = address.map(|address| Reached { address, workgroup: [0; 3], wave: 0, lane });
        Extent { count: 1, lowest: reached, highest: reached }
    }

    /// The same of a wave.
    pub fn of(mut self, workgroup: [u32; 3], wave: u32) -> Extent {
        for reached in [&mut self.lowest, &mut self.highest].into_iter().flatten() {
            (reached.workgroup, reached.wave) = (workgroup, wave);
        }
        self
    }

    pub fn merge(&mut self, other: &Extent) {
        self.count += other.count;
        let both = |own: Option<Reached>| own.into_iter();
        self.lowest = both(self.lowest).chain(other.lowest).min_by_key(|reached| reached.address);
        // Of equals the first stays.
        self.highest = both(other.highest).chain(self.highest).max_by_key(|reached| reached.address);
    }
}

/// One thing that strict mode found wrong. One is kept for each kind and program counter, the first.
#[derive(Clone, Debug)]
pub struct Finding {
    pub kind: FindingKind,
    pub kernel: String,
    /// Address within the code object.
    pub pc: u64,
    /// The instruction.
    pub text: String,
    pub workgroup: [u32; 3],
    pub wave: u32,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    pub message: String,
    /// In which lanes besides.
    pub extent: Extent,
    /// Of a race: who else has a part in it, if that is no copy. Of a hazard: the first of the instructions. Of undefined LDS and memory: the read.
    pub other: Option<OtherParty>,
    /// In an instrumented code object: where the instruction is in the original.
    pub original_pc: Option<u64>,
    /// Where it is in the source, innermost call first; empty without DWARF.
    pub source: Vec<SourceFrame>,
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFrame {
    pub function: Option<String>,
    pub file: Option<String>,
    /// From 1; 0 if the compiler did not say, as for the column.
    pub line: u32,
    pub column: u32,
}

/// Another wave of the same workgroup, and its instruction.
#[derive(Clone, Debug)]
pub struct OtherParty {
    pub pc: u64,
    pub text: String,
    pub wave: u32,
    pub source: Vec<SourceFrame>,
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct LaunchReport {
    /// Instructions retired, one for each wave that executed it.
    pub instructions: u64,
    /// Those of them that are the original kernel's; all, if the code object is not instrumented.
    pub app_instructions: u64,
    pub seconds: f64,
    pub workgroups: u64,
    pub waves: u64,
    /// Instructions retired by mnemonic, most frequent first.
    pub histogram: Vec<(&'static str, u64)>,
    pub app_histogram: Vec<(&'static str, u64)>,
    pub findings: Vec<Finding>,
    /// Of a packet in strict mode: the address of the first access that would have ended the launch without it, if there is
    /// one, whatever findings are wanted.
    pub would_end: Option<u64>,
    /// Of a packet that asks for it: what it has touched of device memory.
    pub footprint: Option<Footprint>,
}
