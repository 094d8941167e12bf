//! What the device has to know of a processor beyond its instructions.

use std::ops::Range;

use luthier_isa::{Generation, Mode, Target, Wave};
use luthier_loader::{KernelDescriptor, TargetId, descriptor};

use crate::lower::Limits;
use crate::registers::rows;
use crate::registers::scalar;

/// The processors that the device can be.
pub const TARGETS: [Target; 33] = [
    Target::Gfx90a,
    Target::Gfx900,
    Target::Gfx902,
    Target::Gfx904,
    Target::Gfx906,
    Target::Gfx908,
    Target::Gfx909,
    Target::Gfx90c,
    Target::Gfx942,
    Target::Gfx950,
    Target::Gfx1010,
    Target::Gfx1011,
    Target::Gfx1012,
    Target::Gfx1013,
    Target::Gfx1030,
    Target::Gfx1031,
    Target::Gfx1032,
    Target::Gfx1033,
    Target::Gfx1034,
    Target::Gfx1035,
    Target::Gfx1036,
    Target::Gfx1100,
    Target::Gfx1101,
    Target::Gfx1102,
    Target::Gfx1103,
    Target::Gfx1150,
    Target::Gfx1151,
    Target::Gfx1152,
    Target::Gfx1153,
    Target::Gfx1200,
    Target::Gfx1201,
    Target::Gfx1250,
    Target::Gfx1251,
];

/// VGPRs of a block where waves ask for them, and blocks that a wave may have. The hardware has blocks of 16 or 32, which
/// is a setting of the whole chip, no kernel's; 16 is what it starts with.
const VGPR_BLOCK: u16 = 16;
const VGPR_BLOCKS: u16 = 8;

/// Those of [`TARGETS`] that run code for a processor: itself, or the members of a generic one (`gfx11-generic`).
pub fn devices_for(processor: &str) -> impl Iterator<Item = Target> {
    TARGETS.into_iter().filter(move |target| {
        target.name() == processor || TargetId::of_processor(target.name()).generic() == Some(processor)
    })
}

/// Who says where a wave's scratch memory begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScratchBase {
    /// Code computes it from user SGPRs, into a pair of SGPRs.
    Sgprs,
    /// Code computes it from user SGPRs, into hardware registers.
    Setreg,
    /// The dispatch sets it. No SGPR tells the wave's offset.
    Set,
}

/// How a processor starts waves, and what it has room for.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub target: Target,
    pub scratch: ScratchBase,
    /// Code of the scalar pair that holds the scratch base.
    pub scratch_code: u8,
    /// Bytes of LDS that a workgroup may have.
    pub lds: u32,
    /// SRAM-ECC is on, where a card may have it on or off.
    pub sramecc: bool,
    /// How kernel descriptors are read.
    described: descriptor::Generation,
    /// Waves have 32 lanes, whatever a descriptor says.
    only32: bool,
}

impl Facts {
    pub fn of(target: Target) -> Facts {
        let generation = target.generation();
        let gfx9 = generation.is_gfx9_family();
        Facts {
            target,
            scratch: match generation {
                Generation::Gfx9 | Generation::Gfx90a => ScratchBase::Sgprs,
                Generation::Gfx10 => ScratchBase::Setreg,
                _ => ScratchBase::Set,
            },
            scratch_code: if gfx9 { scalar::FLAT_SCRATCH } else { scalar::FLAT_SCRATCH_BASE },
            lds: match generation {
                _ if target == Target::Gfx950 => 160 << 10,
                Generation::Gfx1250 => 320 << 10,
                _ => 64 << 10,
            },
            sramecc: true,
            // Every processor of TARGETS has a name that the loader knows.
            described: descriptor::Generation::of(target.name()).unwrap_or(descriptor::Generation::Gfx90a),
            only32: target.waves() == [Wave::W32],
        }
    }

    /// The same for code that demands SRAM-ECC on or off. What demands neither finds a card that has it on.
    #[must_use]
    pub fn with_sramecc(self, demanded: Option<bool>) -> Facts {
        Facts { sramecc: demanded.unwrap_or(true), ..self }
    }

    /// Whether loads into one half of a VGPR clear the other one.
    pub fn clears_halves(&self) -> bool {
        Mode::from(self.target).with_sramecc(Some(self.sramecc)).clears_halves()
    }

    pub fn generation(&self) -> Generation {
        self.target.generation()
    }

    /// The processor in the wave size that a kernel's code is for.
    pub fn mode(&self, kernel: &KernelDescriptor) -> Mode {
        let wave = if self.lanes(kernel) == 32 { Wave::W32 } else { Wave::W64 };
        Mode::new(self.target, wave).unwrap_or_else(|| self.target.into()).with_sramecc(Some(self.sramecc))
    }

    /// Lanes of a kernel's waves.
    pub fn lanes(&self, kernel: &KernelDescriptor) -> u32 {
        if self.only32 { 32 } else { kernel.wavefront_size(self.described) }
    }

    /// Bytes of scratch that a wave may have: what fits COMPUTE_TMPRING_SIZE.WAVESIZE, as LLVM's
    /// `getMaxWaveScratchSize` has it.
    pub fn wave_scratch(&self) -> u64 {
        match self.generation() {
            Generation::Gfx12 | Generation::Gfx1250 => 256 * ((1 << 18) - 1),
            Generation::Gfx11 => 256 * ((1 << 15) - 1),
            _ => 1024 * ((1 << 13) - 1),
        }
    }

    /// The named barriers of a kernel's workgroups.
    pub fn named_barriers(&self, kernel: &KernelDescriptor) -> u32 {
        // Four at a time; sixteen is what the hardware has.
        if self.has_clusters() { (4 * kernel.named_bar_cnt()).min(16) } else { 0 }
    }

    /// Whether workgroups can be launched in clusters.
    pub fn has_clusters(&self) -> bool {
        self.generation() == Generation::Gfx1250
    }

    /// The part of the arguments that the hardware puts into SGPRs, in bytes: what the length says, however large the
    /// descriptor says that the segment is, since zero means that it does not say.
    pub fn preloaded(&self, kernel: &KernelDescriptor) -> Range<usize> {
        let range = kernel.preloaded_arguments(self.described).unwrap_or_default();
        range.start as usize..range.end as usize
    }

    /// Whether waves begin with one block of VGPRs and ask for more: waves of 32 lanes only.
    fn is_dynamic(&self, kernel: &KernelDescriptor) -> bool {
        let asks = match self.generation() {
            Generation::Gfx12 => kernel.enable_dynamic_vgpr(),
            Generation::Gfx1250 => kernel.enable_dynamic_vgpr_gfx125(),
            _ => false,
        };
        asks && self.lanes(kernel) == 32
    }

    /// The vector registers that a descriptor allocates, or that a wave may have.
    pub fn registers(&self, kernel: &KernelDescriptor) -> Limits {
        let generation = self.described;
        let total = kernel.vgpr_count(generation);
        let (vgprs, agprs, first_agpr) = match self.target {
            // A second file of the same size.
            Target::Gfx908 => (total, total, rows::AGPR),
            _ if generation == descriptor::Generation::Gfx90a => {
                let offset = kernel.accum_offset();
                (offset.min(total), total.saturating_sub(offset), offset as u16)
            }
            _ => (total, 0, rows::AGPR),
        };
        let vgprs = vgprs.min(self.target.vgprs().into()) as u16;
        let vgpr_block = if self.is_dynamic(kernel) { VGPR_BLOCK } else { 0 };
        let vgprs = if vgpr_block != 0 { VGPR_BLOCK * VGPR_BLOCKS } else { vgprs };
        Limits { vgprs, agprs: agprs.min(256) as u16, vgpr_block, first_agpr }
    }
}
