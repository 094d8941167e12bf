//! sum before 3 v4 v4
//! count before all counter
//! scalar before 3 scc
//! vector after 4 old:v2
//! m0 before 5 v4
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, v2
  s_cmp_eq_u32 s0, 0
  v_add_u32_e32 v3, v3, v4
  v_mov_b32_e32 v2, v3
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
//| 0x3000          s_mov_b64 s[2:3], 0
//| 0x3004          s_cselect_b32 s1, 1, 0
//| 0x3008          s_add_u32 s2, s2, 1
//| 0x300c          s_addc_u32 s3, s3, 0
//| 0x3010          s_cmp_lg_u32 s1, 0
//| 0x3014  0x1500  v_mov_b32_e32 v2, 1
//| 0x3018          s_cselect_b32 s1, 1, 0
//| 0x301c          s_add_u32 s2, s2, 1
//| 0x3020          s_addc_u32 s3, s3, 0
//| 0x3024          s_cmp_lg_u32 s1, 0
//| 0x3028  0x1504  v_mov_b32_e32 v3, v2
//| 0x302c          s_cselect_b32 s1, 1, 0
//| 0x3030          s_add_u32 s2, s2, 1
//| 0x3034          s_addc_u32 s3, s3, 0
//| 0x3038          s_cmp_lg_u32 s1, 0
//| 0x303c  0x1508  s_cmp_eq_u32 s0, 0
//| 0x3040          s_cselect_b32 s0, 1, 0
//| 0x3044          v_add_u32_e32 v0, v4, v4
//| 0x3048          s_add_u32 s2, s2, 1
//| 0x304c          s_addc_u32 s3, s3, 0
//| 0x3050          s_mov_b32 s1, s0
//| 0x3054          s_add_u32 s1, s1, 1
//| 0x3058          s_cmp_lg_u32 s0, 0
//| 0x305c  0x150c  v_add_u32_e32 v3, v3, v4
//| 0x3060          s_cselect_b32 s0, 1, 0
//| 0x3064          s_add_u32 s2, s2, 1
//| 0x3068          s_addc_u32 s3, s3, 0
//| 0x306c          s_cmp_lg_u32 s0, 0
//| 0x3070          v_mov_b32_e32 v0, v2
//| 0x3074  0x1510  v_mov_b32_e32 v2, v3
//| 0x3078          v_add_u32_e32 v1, 1, v0
//| 0x307c          s_cselect_b32 s0, 1, 0
//| 0x3080          s_add_u32 s2, s2, 1
//| 0x3084          s_addc_u32 s3, s3, 0
//| 0x3088          s_mov_b32 m0, 0
//| 0x308c          ds_write_b32 v4, v4
//| 0x3094          s_waitcnt lgkmcnt(0)
//| 0x3098          s_cmp_lg_u32 s0, 0
//| 0x309c  0x1514  global_store_dword v[4:5], v2, off
//| 0x30a4          s_cselect_b32 s0, 1, 0
//| 0x30a8          s_add_u32 s2, s2, 1
//| 0x30ac          s_addc_u32 s3, s3, 0
//| 0x30b0          s_cmp_lg_u32 s0, 0
//| 0x30b4          s_cselect_b32 s0, 1, 0
//| 0x30b8          s_mov_b64 s[6:7], exec
//| 0x30bc          s_mov_b64 exec, 1
//| 0x30c0          v_mov_b32_e32 v2, 0
//| 0x30c4          v_mov_b32_e32 v0, s2
//| 0x30c8          v_mov_b32_e32 v1, s3
//| 0x30cc          s_getpc_b64 s[4:5]
//| 0x30d0          s_add_u32 s4, s4, 0xf30
//| 0x30d8          s_addc_u32 s5, s5, lit(0x0)
//| 0x30e0          global_atomic_add_x2 v2, v[0:1], s[4:5]
//| 0x30e8          s_mov_b64 exec, s[6:7]
//| 0x30ec          s_cmp_lg_u32 s0, 0
//| 0x30f0  0x151c  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
