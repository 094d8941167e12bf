//! How far an access to device memory, or an instruction for caches, reaches.
//!
//! Source: LLVM "User Guide for AMDGPU Backend", the memory models; what llc makes of atomics and fences of each scope.
//! Up to gfx90a and on RDNA1 to 3, stores do not say whether they are atomic.

use luthier_isa::{Field, Flags, Generation, Inst, Op};

/// Who sees it without further ado.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Scope {
    /// None: not an atomic access.
    #[default]
    Plain,
    Group,
    Device,
}

/// What an instruction does to caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheControl {
    /// What the wave knows of becomes visible to other workgroups.
    WriteBack,
    /// What others made visible can be seen: within the workgroup after the inner cache, by other workgroups after all.
    Invalidate(u8),
    Both,
}

/// All that an acquire needs.
pub const ALL: u8 = 3;
/// What the waves of a workgroup share as long as they run on one compute unit.
pub const INNER: u8 = 1;
const OUTER: u8 = 2;

/// What the waves of a workgroup have to do before one accesses memory that another has accessed, besides meeting at a
/// barrier: what LLVM makes of a workgroup's fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Within {
    /// The one has waited for its access.
    pub waits: bool,
    /// The other, if it reads, has invalidated its cache: the workgroup may run on several compute units.
    pub invalidates: bool,
}

impl Within {
    /// For a workgroup in WGP mode (RDNA), or split over compute units (`tg_split`, from gfx90a to gfx950), or not.
    pub fn of(generation: Generation, wgp: bool, split: bool) -> Within {
        match generation {
            Generation::Gfx9 => Within::default(),
            Generation::Gfx90a | Generation::Gfx940 => Within { waits: split, invalidates: split },
            // In CU mode the wait serves a third wave: another workgroup's, which the second one tells of it.
            Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => Within { waits: true, invalidates: wgp },
            Generation::Gfx1250 => Within { waits: true, invalidates: false },
        }
    }
}

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

/// What an instruction does to caches.
pub fn cache_control(inst: &Inst) -> Option<CacheControl> {
    let op = inst.info().op();
    if !op.is_cache_control() {
        return None;
    }
    let set = |field| inst.field(field).unwrap_or(0);
    let (device, group) = match inst.info().mode.target().generation() {
        Generation::Gfx12 | Generation::Gfx1250 => (set(Field::Scope) >= 2, set(Field::Scope) == 1),
        Generation::Gfx940 => (set(Field::Scc) != 0, set(Field::Glc) != 0),
        _ => (true, true),
    };
    let control = match op {
        Op::BufferWbl2 | Op::GlobalWb => CacheControl::WriteBack,
        Op::GlobalWbinv => CacheControl::Both,
        Op::BufferInv | Op::GlobalInv | Op::BufferWbinvl1 | Op::BufferWbinvl1Vol => CacheControl::Invalidate(ALL),
        Op::BufferGl0Inv => CacheControl::Invalidate(INNER),
        Op::BufferGl1Inv => CacheControl::Invalidate(OUTER),
        _ => return None,
    };
    match control {
        _ if device => Some(control),
        CacheControl::Invalidate(_) | CacheControl::Both if group => Some(CacheControl::Invalidate(INNER)),
        _ => None,
    }
}
