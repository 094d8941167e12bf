//! Kernel descriptors and the metadata note of what has become of kernels.

use luthier_loader::KernelDescriptor;

use super::Component;
use crate::plan::KernelRegisters;
use luthier_loader::Kernel;

impl Component<'_> {
    /// The descriptor of one of its kernels, whose code is now at `entry`.
    pub fn describe(&self, kernel: &Kernel, entry: u64) -> (KernelDescriptor, KernelRegisters) {
        let machine = self.env.machine;
        let (mut descriptor, mut registers) = machine.raise(kernel, &self.used, &self.highest);
        if self.scratch > 0 {
            machine.raise_scratch(&mut descriptor, self.env.scratch.unwrap_or(0) + self.scratch);
            registers.scratch_after = descriptor.private_segment_fixed_size();
        }
        descriptor.set_kernel_code_entry_byte_offset(entry.wrapping_sub(kernel.descriptor_vaddr) as i64);
        (descriptor, registers)
    }
}
