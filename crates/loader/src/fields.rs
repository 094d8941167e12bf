//! The simple values of a metadata note and of its kernels, each under the key that it has in the note. Key names and
//! meanings: LLVM AMDGPU usage page, "Code Object Metadata".

use rmpv::Value;

use crate::msgpack;
use crate::record::record;

record! {
    /// The fields of one kernel that are simple values.
    pub struct KernelFields {
        language: String = ".language",
        language_version: Vec<u64> = ".language_version",
        reqd_workgroup_size: Vec<u64> = ".reqd_workgroup_size",
        workgroup_size_hint: Vec<u64> = ".workgroup_size_hint",
        vec_type_hint: String = ".vec_type_hint",
        device_enqueue_symbol: String = ".device_enqueue_symbol",
        /// In bytes, hidden arguments included.
        kernarg_segment_size: u64 = ".kernarg_segment_size",
        kernarg_segment_align: u64 = ".kernarg_segment_align",
        /// Static LDS of a workgroup, in bytes.
        group_segment_fixed_size: u64 = ".group_segment_fixed_size",
        /// Scratch of a work-item, in bytes.
        private_segment_fixed_size: u64 = ".private_segment_fixed_size",
        wavefront_size: u64 = ".wavefront_size",
        sgpr_count: u64 = ".sgpr_count",
        /// gfx90a, gfx94x: VGPRs and AGPRs of the unified file together.
        vgpr_count: u64 = ".vgpr_count",
        agpr_count: u64 = ".agpr_count",
        sgpr_spill_count: u64 = ".sgpr_spill_count",
        vgpr_spill_count: u64 = ".vgpr_spill_count",
        max_flat_workgroup_size: u64 = ".max_flat_workgroup_size",
        uniform_work_group_size: u64 = ".uniform_work_group_size",
        uses_dynamic_stack: bool = ".uses_dynamic_stack",
        workgroup_processor_mode: u64 = ".workgroup_processor_mode",
        cluster_dims: Vec<u64> = ".cluster_dims",
        kind: String = ".kind",
    }
}

record! {
    /// What the note says besides kernels.
    pub struct MetadataFields {
        /// `amdhsa.version`: major, minor.
        version: Vec<u64> = "amdhsa.version",
        /// `amdhsa.target`: `amdgcn-amd-amdhsa--gfx90a:sramecc+` (from v4 on).
        target: String = "amdhsa.target",
        printf: Vec<String> = "amdhsa.printf",
    }
}

/// A value that was checked to be one.
pub(crate) fn value(mut bytes: &[u8]) -> Value {
    rmpv::decode::read_value_with_max_depth(&mut bytes, 2 * msgpack::MAX_DEPTH).unwrap_or(Value::Nil)
}
