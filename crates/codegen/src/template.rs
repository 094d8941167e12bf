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
//! - A template waits for its own loads before it ends.

use luthier_isa::{Inst, RegRange, RegSet};

/// What a hook's argument is bound to. Together with the target it decides the code that is generated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgSpec {
    /// Raw bits of the parameter's type, known now: baked in before optimisation.
    Const(i128),
    /// The address of a device variable: left in the template as relocations against `symbol`.
    Variable { symbol: String },
    /// A wave-level 64-bit counter: read and updated in an SGPR pair.
    Counter,
    /// The value of an application register at that point, uniform (SGPRs) or one per lane (VGPRs, AGPRs).
    Reg(RegRange),
    /// The same, and the hook's final value of the parameter is written back.
    RegInOut(RegRange),
}

/// Where an argument has to be while the template runs.
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
}

/// A literal that depends on where things are loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TemplateReloc {
    /// Index into [`Template::insts`]; the instruction's trailing literal is the word to fill in.
    pub inst: usize,
    pub symbol: String,
    pub kind: RelocKind,
    pub addend: i64,
}

/// Registers that must stay neighbours: overlapping operands of several units joined together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegGroup {
    pub range: RegRange,
    /// The new first register's number must be congruent to the old one's, modulo this (1, 2 or 4).
    pub align: u8,
}

/// A compiled hook. Register names in all fields are the template's own, before renaming.
#[derive(Clone, Debug)]
pub struct Template {
    /// The hook's name, for reports.
    pub name: String,
    pub insts: Vec<Inst>,
    pub relocs: Vec<TemplateReloc>,
    /// One for each [`ArgSpec`], in order; `None` where the argument is baked in or never looked at.
    pub args: Vec<Option<ArgPlace>>,
    /// The renamable registers (SGPRs, VGPRs, AGPRs), each in exactly one group.
    pub groups: Vec<RegGroup>,
    /// Every unit read or written, fixed ones included.
    pub uses: RegSet,
    /// Every unit whose value may differ at the end from that at the start. EXEC is not among them: it is restored.
    pub clobbers: RegSet,
    /// Units whose value at entry matters: the arguments' places, and special registers that are read (EXEC, MODE).
    pub live_in: RegSet,
    /// Vector units of which lanes that are inactive at entry may change as well. Elsewhere these lanes are kept.
    pub writes_inactive_lanes: RegSet,
    /// Scratch bytes per lane; 0 for nearly every hook.
    pub scratch_bytes: u32,
    /// A result depends on MODE's rounding or denormal bits: it means what Python's does with all denormals kept and
    /// rounding to nearest.
    pub uses_fp_mode: bool,
}

impl Template {
    /// Bytes of code.
    pub fn size(&self) -> usize {
        self.insts.iter().map(Inst::size).sum()
    }
    /// The places whose new values are to be kept, with the index of their argument.
    pub fn results(&self) -> impl Iterator<Item = (usize, RegRange)> + '_ {
        self.args.iter().enumerate().filter_map(|(i, a)| a.filter(|a| a.written).map(|a| (i, a.range)))
    }
}
