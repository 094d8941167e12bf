//! Kernel descriptors and the metadata note of what has become of kernels.

use luthier_isa::{Reg, RegRange};
use luthier_lifter::RegisterCounts;
use luthier_loader::{Kernel, KernelDescriptor};

use super::{Component, used_by};
use crate::machine::scratch::ScratchInputs;
use crate::plan::KernelRegisters;

impl Component<'_> {
    /// The descriptor of one of its kernels, whose code is now at `entry`.
    pub fn describe(&self, kernel: &Kernel, entry: u64) -> (KernelDescriptor, KernelRegisters) {
        let machine = self.env.machine;
        let mut highest = self.highest;
        let begins = self.env.carried.asked.begins(kernel.entry).filter(|begins| begins.before != begins.after);
        if let Some(begins) = begins {
            highest.note(RegRange::new(Reg::sgpr(begins.after.end.saturating_sub(1)), 1));
            let vgprs = begins.after.fields.iter().filter(|field| field.range.first.is_vgpr());
            vgprs.for_each(|field| highest.note(field.range));
            highest.sgprs =
                highest.sgprs.max(RegisterCounts::of(&self.used).sgprs).min(self.env.registers.limits.sgprs);
        }
        if let Some(inputs) = self.sets_scratch_base(kernel) {
            // FLAT_SCRATCH lies behind all numbered SGPRs.
            highest.sgprs =
                highest.sgprs.max(RegisterCounts::of(&self.used).sgprs).min(self.env.registers.limits.sgprs);
            highest.note(RegRange::new(inputs.offset, 1));
        }
        let used = used_by(&self.env.given, kernel, &self.used);
        let (mut descriptor, mut registers) = machine.raise(kernel, &used, &highest);
        if let Some(begins) = self.env.carried.asked.begins(kernel.entry) {
            begins.ask(&mut descriptor);
        }
        if let Some(own) = self.env.scratch.filter(|_| self.scratch > 0) {
            machine.raise_scratch(&mut descriptor, own.end(self.scratch));
            registers.scratch_after = descriptor.private_segment_fixed_size();
        }
        let (own, shared) = (descriptor.group_segment_fixed_size(), self.env.carried.asked.shared_bytes());
        if self.env.carried.asked.shared(shared, machine).is_ok() {
            descriptor.set_group_segment_fixed_size(own + shared);
            registers.lds_after = own + shared;
        }
        descriptor.set_kernel_code_entry_byte_offset(entry.wrapping_sub(kernel.descriptor_vaddr) as i64);
        (descriptor, registers)
    }

    /// The kernel has to set the base of its scratch for the hooks' sake, out of this.
    pub fn sets_scratch_base(&self, kernel: &Kernel) -> Option<ScratchInputs> {
        self.env.scratch.filter(|own| own.set_at_entry && self.scratch > 0)?;
        let begins = self.env.carried.asked.begins(kernel.entry)?;
        ScratchInputs::of(&begins.descriptor, self.env.machine.mode)
    }
}
