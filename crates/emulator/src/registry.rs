//! The table of vector operations, and how a family contributes its own.

use std::sync::LazyLock;

use luthier_isa::OpcodeInfo;
use luthier_isa::op::Op as IsaOp;

use crate::matrix;
use crate::op::{Semantics, Variants};
use crate::valu;

/// What an instruction does, if it is a vector ALU or matrix operation of ours.
pub fn vector(info: &OpcodeInfo) -> Option<ValuOp> {
    /// By operation. Of matrix operations some are not the same on all processors.
    static ALL: LazyLock<Vec<Option<ValuOp>>> =
        LazyLock::new(|| IsaOp::all().iter().map(|&op| valu::lookup(op)).collect());
    let op = info.op();
    ALL[op as usize].or_else(|| matrix::lookup(op, info.mode.target().generation()))
}

/// What a vector ALU or matrix operation needs from the lowering. The operands' places, widths and types come from
/// the isa tables; this says only what those do not.
#[derive(Clone, Copy)]
pub struct ValuOp {
    pub variants: Variants,
    /// The handler reads the modifiers itself, from `op.imm` ([`crate::op::RawMods`]); the lowering applies none (no
    /// neg, abs, op_sel, clamp, omod). For `v_mad_mix`, `v_fma_mix`, MFMA, dot products and the like.
    pub raw_mods: bool,
    /// A 16-bit result leaves the high half of its destination alone (the gfx9 forms of `v_mad_f16`, `v_fma_f16`,
    /// `v_div_fixup_f16`, `v_mad_u16`, `v_mad_i16`, ...), instead of clearing it.
    pub keep_high: bool,
    /// The operation also reads its destination (`v_mac_f32`, `v_fmac_f64`, `v_dot2c`): the lowering passes it as src2.
    pub accumulates: bool,
    /// The operation ignores EXEC or writes no row (`v_readlane`, `v_readfirstlane`, `v_writelane`): scalar operands
    /// stay scalar: for those in `src`, `op.src[k]` is then a scalar code, not a row.
    pub scalar_sources: bool,
    /// The handler replaces some bits of its destination: it finds the others in `op.dst`.
    pub merges: bool,
    /// For the handler, in `op.imm2`: which of several operations it is.
    pub variant: u64,
    /// Modifiers ([`crate::op::RawMods`]) that no manual gives a meaning: the lowering refuses them.
    pub refuses: u64,
    /// The handler itself puts its 16-bit results into the half of the register that they belong to.
    pub places_halves: bool,
}

impl ValuOp {
    pub const fn of<K: Semantics>() -> ValuOp {
        ValuOp::with(Variants::of::<K>())
    }
    /// See [`Variants::up_to_avx2`].
    pub const fn up_to_avx2<K: Semantics>() -> ValuOp {
        ValuOp::with(Variants::up_to_avx2::<K>())
    }
    /// One variant: for operations that share a function, which knows by itself what processor it is on.
    pub const fn shared<K: Semantics>() -> ValuOp {
        ValuOp::with(Variants::scalar::<K>())
    }
    const fn with(variants: Variants) -> ValuOp {
        ValuOp {
            variants,
            raw_mods: false,
            keep_high: false,
            accumulates: false,
            scalar_sources: false,
            merges: false,
            variant: 0,
            refuses: 0,
            places_halves: false,
        }
    }
    pub const fn raw_mods(mut self) -> ValuOp {
        self.raw_mods = true;
        self
    }
    pub const fn keep_high(mut self) -> ValuOp {
        self.keep_high = true;
        self
    }
    pub const fn accumulates(mut self) -> ValuOp {
        self.accumulates = true;
        self
    }
    pub const fn merges(mut self) -> ValuOp {
        self.merges = true;
        self
    }
    pub const fn variant(mut self, variant: u64) -> ValuOp {
        self.variant = variant;
        self
    }
    pub const fn refuses(mut self, mods: u64) -> ValuOp {
        self.refuses = mods;
        self
    }
    pub const fn places_halves(mut self) -> ValuOp {
        self.places_halves = true;
        self
    }
    pub const fn scalar_sources(mut self) -> ValuOp {
        self.scalar_sources = true;
        self
    }
}
