//! How many registers a wave gets: what the kernels of a component have, how far that may grow, and what growing costs.
//!
//! gfx90a: SGPRs in steps of 16, VCC, FLAT_SCRATCH and XNACK_MASK counted; VGPRs and AGPRs from one file of 512 a lane
//! and SIMD in steps of 8, the AGPRs behind ACCUM_OFFSET (LLVM AMDGPU usage, "Kernel Descriptor").

use luthier_isa::RegSet;
use luthier_loader::{Generation, Kernel, KernelDescriptor};

use super::point::Highest;
use super::pool::Limits;
use crate::plan::KernelRegisters;

const GENERATION: Generation = Generation::Gfx90a;
/// SGPRs that the allocation holds beyond the numbered ones.
const SPECIAL_SGPRS: u32 = 6;
const NUMBERED_SGPRS: u16 = 102;
const VECTOR_FILE: u32 = 512;
const MAX_WAVES: u32 = 8;
const SIMDS: u32 = 4;

fn agprs(descriptor: &KernelDescriptor, uses_agprs: bool) -> u32 {
    if uses_agprs { descriptor.vgpr_count(GENERATION).saturating_sub(descriptor.accum_offset()) } else { 0 }
}

fn uses_agprs(used: &RegSet) -> bool {
    used.iter().any(|r| r.is_agpr())
}

/// Vector registers that a lane may have at most if the kernel's largest workgroup is still to fit on a compute unit.
fn most_vector_registers(kernel: &Kernel) -> u32 {
    let threads = kernel.metadata().and_then(|m| m.max_flat_workgroup_size).unwrap_or(1024).clamp(1, 1024) as u32;
    let waves = threads.div_ceil(64).div_ceil(SIMDS);
    (VECTOR_FILE / waves) & !7
}

/// How far hooks may go in a component. `used` are the registers that its code touches.
pub fn limits(kernels: &[&Kernel], used: &RegSet) -> Limits {
    let with_agprs = uses_agprs(used);
    let room = kernels.iter().map(|k| {
        let allocated = k.descriptor.vgpr_count(GENERATION);
        let most = most_vector_registers(k).max(allocated);
        (most - agprs(&k.descriptor, with_agprs).min(most)).min(256) & !3
    });
    let vgprs = room.min().unwrap_or(0) as u16;
    let agprs = kernels.iter().map(|k| agprs(&k.descriptor, with_agprs)).min().unwrap_or(0).min(256) as u16;
    Limits { sgprs: NUMBERED_SGPRS, vgprs, agprs }
}

/// The kernel's descriptor with room for the hooks' registers, and what became of its counts.
pub fn raise(kernel: &Kernel, used: &RegSet, highest: &Highest) -> (KernelDescriptor, KernelRegisters) {
    let old = &kernel.descriptor;
    let mut new = *old;
    let sgprs = if highest.sgprs == 0 { 0 } else { (u32::from(highest.sgprs) + SPECIAL_SGPRS).next_multiple_of(16) };
    let sgprs_before = old.sgpr_count(GENERATION);
    if sgprs > sgprs_before {
        new.set_sgpr_count(GENERATION, sgprs);
    }
    let own_agprs = agprs(old, uses_agprs(used));
    let offset = u32::from(highest.vgprs).next_multiple_of(4);
    if offset > old.accum_offset() {
        new.set_accum_offset(offset);
    }
    let vgprs_before = old.vgpr_count(GENERATION);
    let total = new.accum_offset() + own_agprs;
    if offset > old.accum_offset() && total > vgprs_before || u32::from(highest.vgprs) > vgprs_before {
        new.set_vgpr_count(GENERATION, total);
    }
    let registers = KernelRegisters {
        kernel: kernel.name.clone(),
        sgprs_before,
        sgprs_after: new.sgpr_count(GENERATION),
        vgprs_before,
        vgprs_after: new.vgpr_count(GENERATION),
        occupancy_before: occupancy(old),
        occupancy_after: occupancy(&new),
    };
    (new, registers)
}

/// Waves that fit on a SIMD, as far as registers decide.
fn occupancy(descriptor: &KernelDescriptor) -> u32 {
    let by_vgprs = VECTOR_FILE / descriptor.vgpr_count(GENERATION).max(1);
    let by_sgprs = 800 / descriptor.sgpr_count(GENERATION).next_multiple_of(16).max(1);
    by_vgprs.min(by_sgprs).clamp(1, MAX_WAVES)
}

/// Rounding and denormal bits are those that templates are compiled for.
pub fn has_default_fp_mode(descriptor: &KernelDescriptor) -> bool {
    descriptor.float_round_mode_32() == 0
        && descriptor.float_round_mode_16_64() == 0
        && descriptor.float_denorm_mode_32() == 3
        && descriptor.float_denorm_mode_16_64() == 3
}
