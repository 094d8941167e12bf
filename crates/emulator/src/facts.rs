//! What the device has to know of a processor beyond its instructions.

use luthier_isa::{Generation, Target};
use luthier_loader::KernelDescriptor;
use luthier_loader::descriptor;

use crate::lower::Limits;

/// The processors that the device can be.
pub const TARGETS: [Target; 8] = [
    Target::Gfx90a,
    Target::Gfx900,
    Target::Gfx906,
    Target::Gfx908,
    Target::Gfx909,
    Target::Gfx90c,
    Target::Gfx942,
    Target::Gfx950,
];

/// How a processor starts waves, and what it has room for.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    target: Target,
    /// The work-item's ids share v0, ten bits each; else they are in v0, v1 and v2.
    pub packed_ids: bool,
    /// FLAT_SCRATCH holds where the wave's scratch begins, and no code has to set it.
    pub flat_scratch_is_set: bool,
    /// Bytes of LDS that a workgroup may have.
    pub lds: u32,
}

impl Facts {
    pub fn of(target: Target) -> Facts {
        let generation = target.generation();
        Facts {
            target,
            packed_ids: generation != Generation::Gfx9,
            flat_scratch_is_set: generation == Generation::Gfx940,
            lds: if target == Target::Gfx950 { 160 << 10 } else { 64 << 10 },
        }
    }

    /// The vector registers that a descriptor allocates.
    pub fn registers(&self, kernel: &KernelDescriptor) -> Limits {
        // Every processor of TARGETS has a name that the loader knows.
        let generation = descriptor::Generation::of(self.target.name()).unwrap_or(descriptor::Generation::Gfx90a);
        let total = kernel.vgpr_count(generation);
        let (vgprs, agprs) = match self.target {
            // A second file of the same size.
            Target::Gfx908 => (total, total),
            _ if generation == descriptor::Generation::Gfx90a => {
                let offset = kernel.accum_offset();
                (offset.min(total), total.saturating_sub(offset))
            }
            _ => (total, 0),
        };
        Limits { vgprs: vgprs.min(256) as u16, agprs: agprs.min(256) as u16 }
    }
}
