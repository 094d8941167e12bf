//! What a wave finds in its registers: which of them a kernel has by number, and which hold nothing unless its code sets
//! them.
//!
//! Sources: LLVM's AMDGPU usage page ("Initial Kernel Execution State", "Trap Handler ABI"), and its `AMDGPUBaseInfo`
//! (getNumExtraSGPRs) for what an allocation of SGPRs ends with.

use luthier_isa::{Generation, Reg, RegRange, RegSet};
use luthier_lifter::Program;
use luthier_loader::{CodeObject, Kernel};

use super::Machine;
use super::registers::Counts;

/// SGPRs that have numbers of their own where an allocation ends with VCC, FLAT_SCRATCH and XNACK_MASK.
const NUMBERED: u16 = 102;

impl Machine {
    /// Registers that nothing has set when a kernel starts, and that code which touches only `touched` never sets.
    pub fn unset(&self, kernels: &[&Kernel], touched: &RegSet) -> RegSet {
        let generation = self.mode.target().generation();
        let mut found: RegSet = (0..16).map(Reg::ttmp).collect();
        if matches!(generation, Generation::Gfx12 | Generation::Gfx1250) {
            let all = |enabled: fn(&Kernel) -> bool| !kernels.is_empty() && kernels.iter().all(|k| enabled(k));
            // The wave's number; the workgroup's in each dimension; where in its cluster that is.
            let set = [
                (8, true),
                (9, all(|k| k.descriptor.enable_sgpr_workgroup_id_x())),
                (7, all(|k| k.descriptor.enable_sgpr_workgroup_id_y() || k.descriptor.enable_sgpr_workgroup_id_z())),
                (6, generation == Generation::Gfx1250),
            ];
            set.into_iter().filter(|(_, is_set)| *is_set).for_each(|(number, _)| found.remove(Reg::ttmp(number)));
        }
        if generation.is_gfx9_family() {
            found.insert_range(RegRange::new(Reg::XNACK_MASK_LO, 2));
            // From CDNA3 on hardware knows the wave's scratch.
            if generation != Generation::Gfx940 {
                found.insert_range(RegRange::new(Reg::FLAT_SCRATCH_LO, 2));
            }
        } else if generation == Generation::Gfx10 {
            found.insert_range(RegRange::new(Reg::FLAT_SCRATCH_BASE_LO, 2));
        }
        found.subtract(touched);
        found
    }

    /// The registers that a kernel has by number: those that it is allocated, without what its code or hardware has at the
    /// end of an allocation of SGPRs.
    pub fn named(&self, object: &CodeObject, program: &Program, kernel: &Kernel) -> Counts {
        let mut used = RegSet::EMPTY;
        if let Some(entry) = program.function_at(kernel.entry) {
            let functions = program.reachable(entry);
            let instrs = functions.into_iter().flat_map(|function| program.function_instrs(function).iter());
            instrs.for_each(|instr| program.inst(instr).for_each_access(|a| used.insert(a.reg)));
        }
        let allocated = self.allocated(kernel, &used);
        if !self.mode.target().generation().is_gfx9_family() {
            return allocated;
        }
        let uses = |first: Reg| RegRange::new(first, 2).units().any(|unit| used.contains(unit));
        let replays = object.xnack().may_be_on();
        let ending = match () {
            () if uses(Reg::FLAT_SCRATCH_LO) || self.mode.target().generation() == Generation::Gfx940 => 6,
            () if uses(Reg::XNACK_MASK_LO) || replays => 4,
            () if uses(Reg::VCC_LO) => 2,
            () => 0,
        };
        let named = used.iter().filter(|reg| reg.is_sgpr() && reg.number() < NUMBERED).map(|reg| reg.number() + 1);
        let named = named.max().unwrap_or(0).min(allocated.sgprs);
        Counts { sgprs: allocated.sgprs.saturating_sub(ending).max(named).min(NUMBERED), ..allocated }
    }
}
