//! A compiled hook: instructions that can be placed anywhere once their registers are renamed.
//!
//! Invariants that the placer may rely on:
//!
//! - Control enters at the first instruction and leaves past the last one; every branch stays inside, and the
//!   template has no `s_endpgm`. Its instructions stay together, in order, each with its size (PC-relative pairs
//!   measure distances inside the template).
//! - At entry EXEC may be anything, zero included. At exit EXEC has its value of entry again.
//! - Registers are named from the bottom of each file. A renaming moves each [`RegGroup`] as a whole; registers
//!   outside every group (`vcc`, `scc`, `exec`, `m0`, ...) are fixed, and are found in [`Template::clobbers`] when the
//!   template changes them.
//! - A template waits for its own loads before it ends, and leaves no hazard of its own inside: only its borders are
//!   left to placement. VGPR indexing that it turns on it turns off again; upper bits of VGPR numbers (gfx1250) are zero
//!   all along.

pub(crate) mod address;
mod error;
pub(crate) mod paths;
pub(crate) mod prepared;
mod range;
pub(crate) mod renamed;

use std::sync::Arc;

use luthier_isa::{Inst, Mode, Part, RegRange, RegSet};
use luthier_loader::HookLine;

pub use address::{AddressInput, AddressPart, AddressRole, AddressShape};
pub use error::{HookError, Place};
pub use range::RangeShape;

/// What the hook compiler has to know of an argument. Together with the target and the wave size it decides the code
/// that is generated; which registers and numbers are bound to it at a place does not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgSpec {
    /// Raw bits of the parameter's type, known now: baked in before optimisation.
    Const(i128),
    /// A number that is bound at each place: in SGPRs, as many as the parameter's type takes.
    Literal,
    /// The address of a variable: left in the template as relocations against the argument. Equal slots are the same
    /// variable; different ones do not overlap.
    Variable { slot: usize },
    /// State of the wave's own, or of each lane: read and updated in registers.
    Slot {
        per_lane: bool,
        /// 32-bit units.
        units: u8,
    },
    /// The value of application registers, uniform (one for the wave) or of each lane.
    Value {
        per_lane: bool,
        /// 32-bit units.
        units: u8,
        /// Half of a unit: the parameter has 16 bits.
        part: Part,
        /// The hook's final value of the parameter is written back.
        written: bool,
    },
    /// Some bits of a register that is the same in all lanes, as a number.
    Bits { shift: u8, bits: u8 },
    /// The address that an instruction accesses, 64 bits, computed in the template from its parts.
    Address(AddressShape),
    /// Whether the access is in its buffer, computed in the same way.
    InRange(RangeShape),
}

impl ArgSpec {
    /// Of the value of registers.
    pub fn value(range: RegRange, written: bool) -> ArgSpec {
        let per_lane = range.first.is_vgpr() || range.first.is_agpr();
        ArgSpec::Value { per_lane, units: range.count, part: range.part, written }
    }

    /// The hook's new value is kept.
    pub fn is_written(&self) -> bool {
        matches!(self, ArgSpec::Slot { .. } | ArgSpec::Value { written: true, .. })
    }
}

/// Where an input of an argument has to be while the template runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgPlace {
    /// In the template's own register names.
    pub range: RegRange,
    /// The template reads the value it finds there. (If not, nothing needs to be put there.)
    pub read: bool,
    /// The argument's new value is in the same place when the template ends.
    pub written: bool,
    /// The template overwrites the place, be it with the new value or with anything else.
    pub clobbered: bool,
}

/// How a relocated literal is computed from S (the symbol's address), A (the addend) and P (the literal's own
/// address, four bytes before the end of its instruction).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelocKind {
    /// `(S + A - P) & 0xffffffff` (R_AMDGPU_REL32, R_AMDGPU_REL32_LO).
    Rel32Lo,
    /// `(S + A - P) >> 32` (R_AMDGPU_REL32_HI).
    Rel32Hi,
    /// `(S + A) & 0xffffffff` (R_AMDGPU_ABS32, R_AMDGPU_ABS32_LO).
    Abs32Lo,
    /// `(S + A) >> 32` (R_AMDGPU_ABS32_HI).
    Abs32Hi,
    /// All 64 bits of `S + A - P` in a literal of two words (R_AMDGPU_REL64), from gfx1250 on.
    Rel64,
    /// All 64 bits of `S + A` (R_AMDGPU_ABS64).
    Abs64,
}

/// What a relocated literal refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RelocTarget {
    /// The variable that is bound to the argument of this index.
    Arg(usize),
    /// A symbol by name, or a blob of the template's data.
    Symbol(String),
}

/// A literal that depends on where things are loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TemplateReloc {
    /// Index into [`Template::insts`]; the instruction's trailing literal is the word to fill in.
    pub inst: usize,
    pub target: RelocTarget,
    pub kind: RelocKind,
    pub addend: i64,
}

/// Registers that must stay neighbours: overlapping operands of several units joined together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegGroup {
    pub range: RegRange,
    /// The new first register's number must be congruent to the old one's, modulo this (1, 2 or 4).
    pub align: u8,
    /// No register of the group may have this number or a higher one: 256, or less where an encoding reaches fewer.
    pub limit: u16,
}

/// Constants that a template refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    /// Equal names are equal blobs.
    pub name: String,
    pub bytes: Vec<u8>,
    /// Of its address; a power of two.
    pub align: u64,
    pub relocs: Vec<BlobReloc>,
}

/// Bytes of a blob that say how far it is to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobReloc {
    pub at: u64,
    /// The other's name.
    pub to: String,
    /// Relative to the bytes themselves.
    pub kind: RelocKind,
    pub addend: i64,
}

/// Memory of each lane that a template works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// A multiple of 16, as is where it begins.
    pub bytes: u32,
    /// Where the template finds where it begins: the offset in the lane's scratch.
    pub base: Option<ArgPlace>,
}

/// A compiled hook. Register names in all fields are the template's own, before renaming.
#[derive(Clone, Debug)]
pub struct Template {
    /// The hook's name, for reports.
    pub name: String,
    pub insts: Vec<Inst>,
    pub relocs: Vec<TemplateReloc>,
    /// Where in the hook's source each instruction comes from, where that is known; none at all if nothing is.
    pub lines: Vec<Option<HookLine>>,
    /// For each [`ArgSpec`], in order, the places of its inputs: none where it is baked in, one for a value, as many as
    /// the shape has parts for an address. `None` where the template never looks at an input.
    pub args: Vec<Vec<Option<ArgPlace>>>,
    /// The renamable registers (SGPRs, VGPRs, AGPRs), each in exactly one group.
    pub groups: Vec<RegGroup>,
    /// Every unit whose value may differ at the end from that at the start. EXEC is not among them: it is restored.
    pub clobbers: RegSet,
    /// Units whose value at entry matters: the arguments' places, and special registers that are read (EXEC, MODE).
    pub live_in: RegSet,
    /// Vector units whose lanes that are inactive at entry may change as well. Elsewhere these lanes are kept.
    pub writes_inactive_lanes: RegSet,
    /// Constants, which its relocations refer to by name.
    pub data: Vec<Blob>,
    /// Nearly every hook has none.
    pub stack: Option<Stack>,
    /// A result depends on MODE's rounding or denormal bits: it means what Python's does with all denormals kept and
    /// rounding to nearest.
    pub uses_fp_mode: bool,
    /// A wave without active lanes is given one while it runs: that lane looks at arguments, too.
    pub gives_a_lane: bool,
}

impl Template {
    /// Bytes of code.
    pub fn size(&self) -> usize {
        self.insts.iter().map(Inst::size).sum()
    }
}

/// Makes templates of one hook: each shape of its arguments is another.
pub trait TemplateSource: Send + Sync {
    /// The hook's name, for reports.
    fn name(&self) -> &str;

    /// The template for these arguments. Asked again for the same, it gives the same.
    ///
    /// # Errors
    /// The hook cannot be compiled for the target or for arguments of these kinds.
    fn template(&self, mode: Mode, args: &[ArgSpec]) -> Result<Arc<Template>, HookError>;
}

impl TemplateSource for Arc<Template> {
    fn name(&self) -> &str {
        &self.name
    }
    fn template(&self, _: Mode, _: &[ArgSpec]) -> Result<Arc<Template>, HookError> {
        Ok(self.clone())
    }
}
