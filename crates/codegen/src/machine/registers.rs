//! How many registers a wave gets: what the kernels of a component have, how far that may grow, and what growing costs.
//!
//! Sources: LLVM's AMDGPU usage page ("Kernel Descriptor") and, for the sizes of the files and the steps in which they
//! are allocated, its `AMDGPUBaseInfo` (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU).

use luthier_isa::{Generation as Isa, RegSet, Target, Wave};
use luthier_lifter::RegisterCounts;
use luthier_loader::{Generation, Kernel, KernelDescriptor};

use super::Machine;
use crate::report::KernelRegisters;

/// One more than the highest register of each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub sgprs: u16,
    pub vgprs: u16,
    pub agprs: u16,
}

impl Counts {
    pub fn note(&mut self, range: luthier_isa::RegRange) {
        let end = range.first.number() + u16::from(range.count);
        match range.first {
            reg if reg.is_sgpr() => self.sgprs = self.sgprs.max(end),
            reg if reg.is_vgpr() => self.vgprs = self.vgprs.max(end),
            reg if reg.is_agpr() => self.agprs = self.agprs.max(end),
            _ => {}
        }
    }
    /// Of a register that is in no file, yes.
    pub fn has(self, reg: luthier_isa::Reg) -> bool {
        match reg {
            reg if reg.is_sgpr() => reg.number() < self.sgprs,
            reg if reg.is_vgpr() => reg.number() < self.vgprs,
            reg if reg.is_agpr() => reg.number() < self.agprs,
            _ => true,
        }
    }
    pub fn least(self, other: Counts) -> Counts {
        Counts {
            sgprs: self.sgprs.min(other.sgprs),
            vgprs: self.vgprs.min(other.vgprs),
            agprs: self.agprs.min(other.agprs),
        }
    }
    pub fn merge(&mut self, other: &Counts) {
        self.sgprs = self.sgprs.max(other.sgprs);
        self.vgprs = self.vgprs.max(other.vgprs);
        self.agprs = self.agprs.max(other.agprs);
    }
}

/// How AGPRs are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Accumulators {
    None,
    /// A file of their own, as large a share of it as of the VGPRs (CDNA1).
    Beside,
    /// The same file, behind ACCUM_OFFSET (CDNA2 on).
    Behind,
}

/// The register files of a processor.
#[derive(Clone, Copy, Debug)]
struct Files {
    /// SGPRs that hooks may name, and those that an allocation holds beyond the numbered ones. Zero where every wave
    /// has all SGPRs.
    special_sgprs: u32,
    /// Vector registers of a lane on one SIMD, and the step in which a wave gets them.
    vector_file: u32,
    vector_step: u32,
    accumulators: Accumulators,
    max_waves: u32,
    simds: u32,
}

const NUMBERED_SGPRS: u16 = 102;
const SGPR_FILE: u32 = 800;

impl Files {
    fn of(machine: &Machine) -> Files {
        let target = machine.mode.target();
        let wave32 = machine.mode.wave() == Wave::W32;
        let halved = |n: u32| if wave32 { n } else { n / 2 };
        let gcn = Files {
            special_sgprs: 6,
            vector_file: 256,
            vector_step: 4,
            accumulators: Accumulators::None,
            max_waves: 10,
            simds: 4,
        };
        let rdna = Files {
            special_sgprs: 0,
            vector_file: halved(1024),
            vector_step: halved(16),
            accumulators: Accumulators::None,
            max_waves: 16,
            simds: 2,
        };
        match target.generation() {
            Isa::Gfx9 if target.has_agprs() => Files { accumulators: Accumulators::Beside, ..gcn },
            Isa::Gfx9 => gcn,
            Isa::Gfx90a | Isa::Gfx940 => {
                Files { vector_file: 512, vector_step: 8, accumulators: Accumulators::Behind, max_waves: 8, ..gcn }
            }
            Isa::Gfx10 if is_rdna1(target) => Files { vector_step: halved(8), max_waves: 20, ..rdna },
            Isa::Gfx10 => rdna,
            Isa::Gfx11 | Isa::Gfx12 if has_larger_file(target) => {
                Files { vector_file: halved(1536), vector_step: halved(24), ..rdna }
            }
            Isa::Gfx11 | Isa::Gfx12 => rdna,
            Isa::Gfx1250 => rdna,
        }
    }
}

fn is_rdna1(target: Target) -> bool {
    use Target::*;
    matches!(target, Gfx1010 | Gfx1011 | Gfx1012 | Gfx1013 | Gfx10_1Generic)
}

/// LLVM's feature `1_5xVGPRs`.
fn has_larger_file(target: Target) -> bool {
    use Target::*;
    matches!(target, Gfx1100 | Gfx1101 | Gfx1151 | Gfx1200 | Gfx1201 | Gfx12Generic)
}

/// The family that the descriptor's fields are those of.
fn family(machine: &Machine) -> Generation {
    match machine.mode.target().generation() {
        Isa::Gfx9 => Generation::Gfx9,
        Isa::Gfx90a | Isa::Gfx940 => Generation::Gfx90a,
        Isa::Gfx10 => Generation::Gfx10,
        Isa::Gfx11 => Generation::Gfx11,
        Isa::Gfx12 => Generation::Gfx120,
        Isa::Gfx1250 => Generation::Gfx125,
    }
}

impl Machine {
    /// AGPRs that the kernel has.
    fn agprs(&self, descriptor: &KernelDescriptor, uses_agprs: bool) -> u32 {
        let vgprs = descriptor.vgpr_count(family(self));
        match Files::of(self).accumulators {
            Accumulators::None => 0,
            Accumulators::Beside => vgprs,
            Accumulators::Behind if uses_agprs => vgprs.saturating_sub(descriptor.accum_offset()),
            Accumulators::Behind => 0,
        }
    }

    /// Vector registers that a lane may have at most if the kernel's largest workgroup is still to fit on a compute unit.
    fn most_vector_registers(&self, kernel: &Kernel) -> u32 {
        let files = Files::of(self);
        let threads = kernel.metadata().and_then(|m| m.max_flat_workgroup_size).unwrap_or(1024).clamp(1, 1024) as u32;
        // In workgroup processor mode a workgroup is spread over the SIMDs of two compute units.
        let wide = files.special_sgprs == 0 && kernel.descriptor.wgp_mode();
        let simds = if wide { 2 * files.simds } else { files.simds };
        let waves = threads.div_ceil(u32::from(self.lanes())).div_ceil(simds);
        (files.vector_file / waves) / files.vector_step * files.vector_step
    }

    /// VGPRs that all of the kernels can be given, those from v256 on as well.
    pub fn most_vgprs(&self, kernels: &[&Kernel]) -> u16 {
        let most = |k: &&Kernel| self.most_vector_registers(k).max(k.descriptor.vgpr_count(family(self)));
        kernels.iter().map(most).min().unwrap_or(0).min(self.mode.target().vgprs().into()) as u16
    }

    /// AGPRs that all of the kernels can be given beside all the VGPRs that hooks may go to.
    pub fn most_agprs(&self, kernels: &[&Kernel], used: &RegSet) -> u16 {
        let limits = self.limits(kernels, used);
        match Files::of(self).accumulators {
            Accumulators::None => 0,
            // As many as VGPRs.
            Accumulators::Beside => limits.vgprs,
            Accumulators::Behind if limits.vgprs == 256 => {
                let most = kernels.iter().map(|k| self.most_vector_registers(k)).min().unwrap_or(0);
                (most.saturating_sub(256).min(256) as u16).max(limits.agprs)
            }
            Accumulators::Behind => limits.agprs,
        }
    }

    /// How far hooks may go in a component. `used` are the registers that its code touches.
    pub fn limits(&self, kernels: &[&Kernel], used: &RegSet) -> Counts {
        let unified = Files::of(self).accumulators == Accumulators::Behind;
        let with_agprs = used.iter().any(|r| r.is_agpr());
        let agprs = |k: &Kernel| self.agprs(&k.descriptor, with_agprs);
        let room = kernels.iter().map(|k| {
            let allocated = k.descriptor.vgpr_count(family(self));
            let most = self.most_vector_registers(k).max(allocated);
            let behind = if unified { agprs(k).min(most) } else { 0 };
            (most - behind).min(256) & !3
        });
        let vgprs = room.min().unwrap_or(0) as u16;
        let agprs = kernels.iter().map(|k| agprs(k)).min().unwrap_or(0).min(256) as u16;
        Counts { sgprs: NUMBERED_SGPRS, vgprs, agprs }
    }

    /// VGPRs of this code reach behind the kernel's ACCUM_OFFSET, where a number means an AGPR by another name.
    pub fn reaches_accumulators(&self, kernel: &Kernel, used: &RegSet) -> bool {
        Files::of(self).accumulators == Accumulators::Behind
            && u32::from(RegisterCounts::of(used).vgprs) > kernel.descriptor.accum_offset()
    }

    /// Why nothing can be done to a component's kernels, whose waves use these registers: moving ACCUM_OFFSET up would part
    /// what is one register under two names.
    pub fn refused(&self, kernels: &[&Kernel], used: impl Fn(&Kernel) -> RegSet) -> Option<String> {
        let names_both = |k: &Kernel| {
            let used = used(k);
            RegisterCounts::of(&used).agprs > 0 && self.reaches_accumulators(k, &used)
        };
        let kernel = kernels.iter().find(|k| names_both(k))?;
        let offset = kernel.descriptor.accum_offset();
        Some(format!("{} names AGPRs, and as VGPRs from v{offset} on also by another name", kernel.name))
    }

    /// Registers of each file that the kernel is allocated.
    pub fn allocated(&self, kernel: &Kernel, used: &RegSet) -> Counts {
        let family = family(self);
        let descriptor = &kernel.descriptor;
        let agprs = self.agprs(descriptor, used.iter().any(|r| r.is_agpr()));
        let unified = Files::of(self).accumulators == Accumulators::Behind;
        let mut vgprs = descriptor.vgpr_count(family);
        if unified && !self.reaches_accumulators(kernel, used) {
            // What lies behind ACCUM_OFFSET are accumulators, whether or not the code uses them.
            vgprs = (vgprs - agprs).min(descriptor.accum_offset());
        }
        Counts { sgprs: descriptor.sgpr_count(family).min(106) as u16, vgprs: vgprs as u16, agprs: agprs as u16 }
    }

    /// The kernel's descriptor with room for the hooks' registers, and what became of its counts.
    pub fn raise(&self, kernel: &Kernel, used: &RegSet, highest: &Counts) -> (KernelDescriptor, KernelRegisters) {
        let (files, family) = (Files::of(self), family(self));
        let old = &kernel.descriptor;
        let mut new = *old;
        let sgprs_before = old.sgpr_count(family);
        let sgprs = u32::from(highest.sgprs) + files.special_sgprs;
        if highest.sgprs > 0 && files.special_sgprs > 0 && sgprs > sgprs_before {
            new.set_sgpr_count(family, sgprs);
        }
        let vgprs_before = old.vgpr_count(family);
        let highest_vgprs =
            u32::from(highest.vgprs.max(if files.accumulators == Accumulators::Beside { highest.agprs } else { 0 }));
        if files.accumulators == Accumulators::Behind {
            // Where the kernel's own code reaches behind ACCUM_OFFSET, AGPRs of hooks have to lie behind that.
            let reached =
                if self.reaches_accumulators(kernel, used) { RegisterCounts::of(used).vgprs.into() } else { 0 };
            let highest_vgprs = highest_vgprs.max(reached);
            let own_agprs = self.agprs(old, used.iter().any(|r| r.is_agpr())).max(highest.agprs.into());
            let offset = highest_vgprs.next_multiple_of(4);
            if offset > old.accum_offset() {
                new.set_accum_offset(offset);
            }
            let total = new.accum_offset() + own_agprs;
            let grows = offset > old.accum_offset() || u32::from(highest.agprs) > 0;
            if grows && total > vgprs_before || highest_vgprs > vgprs_before {
                new.set_vgpr_count(family, total);
            }
        } else if highest_vgprs > vgprs_before {
            new.set_vgpr_count(family, highest_vgprs);
        }
        let registers = KernelRegisters {
            kernel: kernel.name.clone(),
            sgprs_before,
            sgprs_after: new.sgpr_count(family),
            vgprs_before,
            vgprs_after: new.vgpr_count(family),
            occupancy_before: self.occupancy(old),
            occupancy_after: self.occupancy(&new),
            scratch_before: old.private_segment_fixed_size(),
            scratch_after: new.private_segment_fixed_size(),
            lds_before: old.group_segment_fixed_size(),
            lds_after: new.group_segment_fixed_size(),
            lds_most: self.most_lds(),
        };
        (new, registers)
    }

    /// Waves that fit on a SIMD, as far as registers decide.
    pub fn occupancy(&self, descriptor: &KernelDescriptor) -> u32 {
        let (files, family) = (Files::of(self), family(self));
        let by_vgprs = files.vector_file / descriptor.vgpr_count(family).next_multiple_of(files.vector_step).max(1);
        let by_sgprs = match files.special_sgprs {
            0 => files.max_waves,
            _ => SGPR_FILE / descriptor.sgpr_count(family).next_multiple_of(16).max(1),
        };
        by_vgprs.min(by_sgprs).clamp(1, files.max_waves)
    }

    /// Rounding and denormal bits are those that templates are compiled for.
    pub fn has_default_fp_mode(&self, descriptor: &KernelDescriptor) -> bool {
        descriptor.float_round_mode_32() == 0
            && descriptor.float_round_mode_16_64() == 0
            && descriptor.float_denorm_mode_32() == 3
            && descriptor.float_denorm_mode_16_64() == 3
    }

    /// Bytes of LDS that a workgroup can have.
    pub fn most_lds(&self) -> u32 {
        match self.mode.target() {
            Target::Gfx950 => 160 << 10,
            _ if self.mode.target().generation() == Isa::Gfx1250 => 320 << 10,
            _ => 64 << 10,
        }
    }

    /// Memory instructions may be replayed after a page fault.
    pub fn replays(&self) -> bool {
        self.mode.target().generation().is_gfx9_family()
    }

    /// Kernel arguments may be preloaded, so that the kernel has a second entry.
    pub fn preloads(&self, descriptor: &KernelDescriptor) -> bool {
        descriptor.preloaded_entry(family(self)).is_some()
    }
}
