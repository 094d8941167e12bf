//! What a launch reports.

/// What strict mode found wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum FindingKind {
    /// Memory outside any allocation, or a write to read-only memory.
    OutOfBounds,
    /// A register that was never written.
    UndefinedRegister,
    /// LDS that was never written.
    UndefinedLds,
    /// A register that a load in flight may still write.
    MissingWait,
    /// Too few wait states between two instructions.
    Hazard,
    /// An LDS or memory access that is not aligned as the instruction demands.
    Misaligned,
    /// A register beyond those that the kernel's descriptor allocates.
    Unallocated,
}

impl FindingKind {
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
        }
    }
}

/// One thing that strict mode found wrong. One is kept for each kind and program counter.
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
}
