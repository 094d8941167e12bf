//! vector after global_load_dword v2
//! scalar after s_load_dword s0
//! scalar before 5 s0
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_load_dword s0, s[4:5], 0x0
  global_load_dword v2, v[0:1], off
  global_load_dword v3, v[0:1], off
  v_mov_b32_e32 v4, 0
  s_waitcnt vmcnt(1)
  v_add_u32_e32 v4, v2, v4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v3, v4
  v_add_u32_e32 v4, s0, v4
  global_store_dword v[0:1], v4, off
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
//| 0x3000  0x1500  s_load_dword s0, s[4:5], 0x0
//| 0x3008          s_waitcnt lgkmcnt(0)
//| 0x300c          s_mov_b32 s1, s0
//| 0x3010          s_add_u32 s1, s1, 1
//| 0x3014  0x1508  global_load_dword v2, v[0:1], off
//| 0x301c          s_waitcnt vmcnt(0)
//| 0x3020          v_add_u32_e32 v3, 1, v2
//| 0x3024  0x1510  global_load_dword v3, v[0:1], off
//| 0x302c          s_waitcnt vmcnt(1)
//| 0x3030          v_add_u32_e32 v4, 1, v2
//| 0x3034  0x1518  v_mov_b32_e32 v4, 0
//| 0x3038  0x151c  s_waitcnt vmcnt(1)
//| 0x303c          s_waitcnt lgkmcnt(0)
//| 0x3040          s_mov_b32 s1, s0
//| 0x3044          s_add_u32 s1, s1, 1
//| 0x3048  0x1520  v_add_u32_e32 v4, v2, v4
//| 0x304c  0x1524  s_waitcnt vmcnt(0) lgkmcnt(0)
//| 0x3050  0x1528  v_add_u32_e32 v4, v3, v4
//| 0x3054  0x152c  v_add_u32_e32 v4, s0, v4
//| 0x3058  0x1530  global_store_dword v[0:1], v4, off
//| 0x3060  0x1538  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
