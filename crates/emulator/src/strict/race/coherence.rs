//! How far an access to device memory, or an instruction for caches, reaches.
//!
//! Source: LLVM "User Guide for AMDGPU Backend", the memory models; what llc makes of atomics and fences of each scope.
//! Up to gfx90a and on RDNA1 to 3, stores do not say whether they are atomic.

use luthier_isa::{Field, Flags, Generation, Inst, Op};

/// Who sees it without further ado.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Scope {
    /// Nobody: not an atomic access.
    #[default]
    Plain,
    Group,
    Device,
}

/// What an instruction does to the caches between workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheControl {
    /// What the wave knows of becomes visible to other workgroups.
    WriteBack,
    /// What others made visible can be seen: on RDNA1 to 3 after both caches, by these bits.
    Invalidate(u8),
    Both,
}

/// All that an acquire needs.
pub const ALL: u8 = 3;
const INNER: u8 = 1;
const OUTER: u8 = 2;

/// Whether a release has to write caches back.
pub fn writes_back(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx940 | Generation::Gfx1250)
}

/// Whether stores say whether they are atomic.
pub fn marks_stores(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx940 | Generation::Gfx12 | Generation::Gfx1250)
}

/// The scope of an access to memory. `Field::Scc` is what gfx942 calls sc1.
pub fn scope(inst: &Inst) -> Scope {
    let info = inst.info();
    let set = |field| inst.field(field).unwrap_or(0) != 0;
    let either = |device, group| match () {
        () if device => Scope::Device,
        () if group => Scope::Group,
        () => Scope::Plain,
    };
    match info.mode.target().generation() {
        // The cache that all share makes the change, whatever the scope: Triton gives none on gfx12.
        _ if info.flags.contains(Flags::ATOMIC) => Scope::Device,
        _ if info.flags.contains(Flags::SMEM) => Scope::Plain,
        Generation::Gfx12 | Generation::Gfx1250 => {
            let scope = inst.field(Field::Scope).unwrap_or(0);
            either(scope >= 2, scope == 1)
        }
        Generation::Gfx940 => either(set(Field::Scc), set(Field::Glc)),
        _ if !info.flags.contains(Flags::LOAD) => Scope::Plain,
        Generation::Gfx10 => either(set(Field::Glc) && set(Field::Dlc), set(Field::Glc)),
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx11 => either(set(Field::Glc), false),
    }
}

/// What an instruction does to caches, as far as other workgroups are concerned.
pub fn cache_control(inst: &Inst) -> Option<CacheControl> {
    let op = inst.info().op();
    if !op.is_cache_control() {
        return None;
    }
    let device = match inst.info().mode.target().generation() {
        Generation::Gfx12 | Generation::Gfx1250 => inst.field(Field::Scope).unwrap_or(0) >= 2,
        Generation::Gfx940 => inst.field(Field::Scc).unwrap_or(0) != 0,
        _ => true,
    };
    let control = match op {
        Op::BufferWbl2 | Op::GlobalWb => CacheControl::WriteBack,
        Op::GlobalWbinv => CacheControl::Both,
        Op::BufferInv | Op::GlobalInv | Op::BufferWbinvl1 | Op::BufferWbinvl1Vol => CacheControl::Invalidate(ALL),
        Op::BufferGl0Inv => CacheControl::Invalidate(INNER),
        Op::BufferGl1Inv => CacheControl::Invalidate(OUTER),
        _ => return None,
    };
    device.then_some(control)
}
