//! load before 2 s[2:3]
//! store before 2 s[2:3] v0
//! store before 4 s[2:3] v0
//! wide before 8 s[2:3]
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_readfirstlane_b32 s2, v0
  v_readfirstlane_b32 s3, v1
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
  v_mov_b32_e32 v0, s2
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
//| 0x3000  0x1500  v_readfirstlane_b32 s2, v0
//| 0x3004  0x1504  v_readfirstlane_b32 s3, v1
//| 0x3008          s_load_dword s0, s[2:3], 0x0
//| 0x3010          s_waitcnt lgkmcnt(0)
//| 0x3014          s_nop 2
//| 0x3018          global_store_dword v0, v0, s[2:3]
//| 0x3020  0x1508  v_mov_b32_e32 v2, 0
//| 0x3024  0x150c  v_mov_b32_e32 v3, 0
//| 0x3028          global_store_dword v0, v0, s[2:3]
//| 0x3030  0x1510  v_mov_b32_e32 v4, 0
//| 0x3034  0x1514  v_mov_b32_e32 v5, 0
//| 0x3038  0x1518  v_mov_b32_e32 v6, 0
//| 0x303c  0x151c  v_mov_b32_e32 v7, 0
//| 0x3040          v_mov_b32_e32 v6, 0
//| 0x3044          global_store_dwordx4 v1, v[2:5], s[2:3]
//| 0x304c  0x1520  v_mov_b32_e32 v0, s2
//| 0x3050  0x1524  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
