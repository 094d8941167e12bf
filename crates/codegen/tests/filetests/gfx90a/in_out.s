//! double before 1 &v1
//! double after 2 &v2
//! scalar before 2 s0
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_mov_b32_e32 v1, 1
  v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf
  v_add_u32_e32 v2, v1, v2
  global_store_dword v[4:5], v2, off
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: []
...
.end_amdgpu_metadata

//| k.instrumented:
//| 0x3000  0x1500  v_mov_b32_e32 v1, 1
//| 0x3004          v_lshlrev_b32_e32 v1, 1, v1
//| 0x3008          s_nop 1
//| 0x300c  0x1504  v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf
//| 0x3014          s_mov_b32 s1, s0
//| 0x3018          s_add_u32 s1, s1, 1
//| 0x301c  0x150c  v_add_u32_e32 v2, v1, v2
//| 0x3020          v_lshlrev_b32_e32 v2, 1, v2
//| 0x3024  0x1510  global_store_dword v[4:5], v2, off
//| 0x302c  0x1518  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
