//! The header before a kernel's code that objects before v3 and Mesa3D objects have: amd_kernel_code_t.
//!
//! Kept as bytes, like [`crate::KernelDescriptor`]. Names and places from llvm/lib/Target/AMDGPU/AMDKernelCodeT.h.

use std::fmt;

/// A kernel's header, lossless.
#[derive(Clone, PartialEq, Eq)]
pub struct KernelCode(Box<[u8; KernelCode::SIZE]>);

macro_rules! fields {
    ($($(#[$doc:meta])* $get:ident $set:ident $ty:ty, $offset:literal;)*) => {
        impl KernelCode {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> $ty {
                    let mut bytes = [0; size_of::<$ty>()];
                    bytes.copy_from_slice(&self.0[$offset..$offset + size_of::<$ty>()]);
                    <$ty>::from_le_bytes(bytes)
                }
                pub fn $set(&mut self, value: $ty) {
                    self.0[$offset..$offset + size_of::<$ty>()].copy_from_slice(&value.to_le_bytes());
                }
            )*

            /// Every named field with its value.
            pub fn fields(&self) -> Vec<(&'static str, i128)> {
                vec![$((stringify!($get), self.$get() as i128)),*]
            }
        }
    };
}

fields! {
    amd_code_version_major set_amd_code_version_major u32, 0;
    amd_code_version_minor set_amd_code_version_minor u32, 4;
    amd_machine_kind set_amd_machine_kind u16, 8;
    amd_machine_version_major set_amd_machine_version_major u16, 10;
    amd_machine_version_minor set_amd_machine_version_minor u16, 12;
    amd_machine_version_stepping set_amd_machine_version_stepping u16, 14;
    /// From the header's own address to the first instruction, in bytes: 256 as a rule.
    kernel_code_entry_byte_offset set_kernel_code_entry_byte_offset i64, 16;
    kernel_code_prefetch_byte_offset set_kernel_code_prefetch_byte_offset i64, 24;
    kernel_code_prefetch_byte_size set_kernel_code_prefetch_byte_size u64, 32;
    compute_pgm_rsrc1 set_compute_pgm_rsrc1 u32, 48;
    compute_pgm_rsrc2 set_compute_pgm_rsrc2 u32, 52;
    code_properties set_code_properties u32, 56;
    /// Scratch of a work-item, in bytes.
    workitem_private_segment_byte_size set_workitem_private_segment_byte_size u32, 60;
    /// Static LDS of a workgroup, in bytes.
    workgroup_group_segment_byte_size set_workgroup_group_segment_byte_size u32, 64;
    gds_segment_byte_size set_gds_segment_byte_size u32, 68;
    kernarg_segment_byte_size set_kernarg_segment_byte_size u64, 72;
    workgroup_fbarrier_count set_workgroup_fbarrier_count u32, 80;
    wavefront_sgpr_count set_wavefront_sgpr_count u16, 84;
    workitem_vgpr_count set_workitem_vgpr_count u16, 86;
    reserved_vgpr_first set_reserved_vgpr_first u16, 88;
    reserved_vgpr_count set_reserved_vgpr_count u16, 90;
    reserved_sgpr_first set_reserved_sgpr_first u16, 92;
    reserved_sgpr_count set_reserved_sgpr_count u16, 94;
    debug_wavefront_private_segment_offset_sgpr set_debug_wavefront_private_segment_offset_sgpr u16, 96;
    debug_private_segment_buffer_sgpr set_debug_private_segment_buffer_sgpr u16, 98;
    /// Alignments and the wave's size are powers of two: this is the exponent.
    kernarg_segment_alignment set_kernarg_segment_alignment u8, 100;
    group_segment_alignment set_group_segment_alignment u8, 101;
    private_segment_alignment set_private_segment_alignment u8, 102;
    wavefront_size set_wavefront_size u8, 103;
    call_convention set_call_convention i32, 104;
    runtime_loader_kernel_symbol set_runtime_loader_kernel_symbol u64, 120;
}

impl KernelCode {
    /// In bytes.
    pub const SIZE: usize = 256;

    /// `None` unless there are 256 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<KernelCode> {
        Some(KernelCode(Box::new(bytes.try_into().ok()?)))
    }

    pub fn as_bytes(&self) -> &[u8; KernelCode::SIZE] {
        &self.0
    }
}

impl fmt::Debug for KernelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.fields()).finish()
    }
}
