//! Descriptors of all shapes.

use luthier_loader::KernelDescriptor;

/// One that asks for user SGPRs and places of the workgroup as the lowest eleven bits say.
pub fn asking(bits: u32) -> KernelDescriptor {
    let mut d = KernelDescriptor::from_bytes([0; 64]);
    let on = |bit: u32| bits >> bit & 1 != 0;
    d.set_enable_sgpr_private_segment_buffer(on(0));
    d.set_enable_sgpr_dispatch_ptr(on(1));
    d.set_enable_sgpr_queue_ptr(on(2));
    d.set_enable_sgpr_kernarg_segment_ptr(on(3));
    d.set_enable_sgpr_dispatch_id(on(4));
    d.set_enable_sgpr_flat_scratch_init(on(5));
    d.set_enable_sgpr_private_segment_size(on(6));
    d.set_enable_sgpr_workgroup_id_x(on(7));
    d.set_enable_sgpr_workgroup_id_y(on(8));
    d.set_enable_sgpr_workgroup_id_z(on(9));
    d.set_enable_sgpr_workgroup_info(on(10));
    d
}
