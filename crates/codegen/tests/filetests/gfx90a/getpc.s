//! count before all counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_getpc_b64 s[2:3]
  s_add_u32 s2, s2, data@rel32@lo+4
  s_addc_u32 s3, s3, data@rel32@hi+12
  s_load_dword s4, s[2:3], 0x0
  s_cmp_eq_u32 s0, 0
  s_getpc_b64 s[6:7]
  s_cbranch_scc1 .Lend
  s_getpc_b64 s[8:9]
.Lend:
  s_waitcnt lgkmcnt(0)
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
.rodata
data: .long 1

//| k.instrumented:
//| 0x3000          s_mov_b64 s[10:11], 0
//| 0x3004          s_add_u32 s10, s10, 1
//| 0x3008          s_addc_u32 s11, s11, 0
//| 0x300c  0x1500  s_getpc_b64 s[2:3]
//| 0x3010          s_add_u32 s10, s10, 1
//| 0x3014          s_addc_u32 s11, s11, 0
//| 0x3018  0x1504  s_add_u32 s2, s2, 0xffffd430
//| 0x3020          s_cselect_b32 s1, 1, 0
//| 0x3024          s_add_u32 s10, s10, 1
//| 0x3028          s_addc_u32 s11, s11, 0
//| 0x302c          s_cmp_lg_u32 s1, 0
//| 0x3030  0x150c  s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x3038          s_add_u32 s10, s10, 1
//| 0x303c          s_addc_u32 s11, s11, 0
//| 0x3040  0x1514  s_load_dword s4, s[2:3], 0x0
//| 0x3048          s_add_u32 s10, s10, 1
//| 0x304c          s_addc_u32 s11, s11, 0
//| 0x3050  0x151c  s_cmp_eq_u32 s0, 0
//| 0x3054          s_cselect_b32 s0, 1, 0
//| 0x3058          s_add_u32 s10, s10, 1
//| 0x305c          s_addc_u32 s11, s11, 0
//| 0x3060          s_cmp_lg_u32 s0, 0
//| 0x3064  0x1520  s_getpc_b64 s[6:7]
//| 0x3068          s_cselect_b32 s0, 1, 0
//| 0x306c          s_add_u32 s6, s6, 0xffffe4bc
//| 0x3074          s_addc_u32 s7, s7, lit(0xffffffff)
//| 0x307c          s_cmp_lg_u32 s0, 0
//| 0x3080          s_cselect_b32 s0, 1, 0
//| 0x3084          s_add_u32 s10, s10, 1
//| 0x3088          s_addc_u32 s11, s11, 0
//| 0x308c          s_cmp_lg_u32 s0, 0
//| 0x3090  0x1524  s_cbranch_scc1 7  -> 0x30b0
//| 0x3094          s_add_u32 s10, s10, 1
//| 0x3098          s_addc_u32 s11, s11, 0
//| 0x309c  0x1528  s_getpc_b64 s[8:9]
//| 0x30a0          s_add_u32 s8, s8, 0xffffe48c
//| 0x30a8          s_addc_u32 s9, s9, lit(0xffffffff)
//| 0x30b0          s_add_u32 s10, s10, 1
//| 0x30b4          s_addc_u32 s11, s11, 0
//| 0x30b8  0x152c  s_waitcnt lgkmcnt(0)
//| 0x30bc          s_add_u32 s10, s10, 1
//| 0x30c0          s_addc_u32 s11, s11, 0
//| 0x30c4          s_mov_b64 s[2:3], exec
//| 0x30c8          s_mov_b64 exec, 1
//| 0x30cc          v_mov_b32_e32 v2, 0
//| 0x30d0          v_mov_b32_e32 v0, s10
//| 0x30d4          v_mov_b32_e32 v1, s11
//| 0x30d8          s_getpc_b64 s[0:1]
//| 0x30dc          s_add_u32 s0, s0, 0xf24
//| 0x30e4          s_addc_u32 s1, s1, lit(0x0)
//| 0x30ec          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x30f4          s_mov_b64 exec, s[2:3]
//| 0x30f8  0x1530  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
