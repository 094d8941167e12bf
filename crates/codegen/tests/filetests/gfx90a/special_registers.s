//! pair before v_cndmask_b32_e32 s[4:5]
//! m0 before v_cndmask_b32_e32 v2
//! vector before v_cndmask_b32_e32 v3
//! pair before s_movrels_b32 vcc
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_cmp_eq_u32_e32 vcc, 0, v0
  s_mov_b32 m0, s6
  s_cmp_eq_u32 s0, 0
  v_cndmask_b32_e32 v1, v2, v3, vcc
  s_cbranch_scc1 .Lend
  v_cndmask_b32_e32 v1, v2, v3, vcc
  ds_write_b32 v0, v1
.Lend:
  s_movrels_b32 s1, s2
  v_mov_b32_e32 v3, s1
  v_add_u32_e32 v2, v2, v3
  ds_write_b32 v0, v2
  v_cndmask_b32_e32 v1, v2, v3, vcc
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
//| 0x3000  0x1500  v_cmp_eq_u32_e32 vcc, 0, v0
//| 0x3004  0x1504  s_mov_b32 m0, s6
//| 0x3008  0x1508  s_cmp_eq_u32 s0, 0
//| 0x300c          v_writelane_b32 v1, s0, 0
//| 0x3014          v_writelane_b32 v1, s1, 1
//| 0x301c          v_writelane_b32 v1, s2, 2
//| 0x3024          s_mov_b64 s[0:1], vcc
//| 0x3028          s_mov_b32 s2, m0
//| 0x302c          v_cmp_eq_u64_e64 vcc, s[4:5], 0
//| 0x3034          s_mov_b32 m0, 0
//| 0x3038          ds_write_b32 v2, v2
//| 0x3040          s_waitcnt lgkmcnt(0)
//| 0x3044          v_add_u32_e32 v4, 1, v3
//| 0x3048          s_mov_b32 m0, s2
//| 0x304c          s_mov_b64 vcc, s[0:1]
//| 0x3050          v_readlane_b32 s0, v1, 0
//| 0x3058          v_readlane_b32 s1, v1, 1
//| 0x3060          v_readlane_b32 s2, v1, 2
//| 0x3068          s_nop 2
//| 0x306c  0x150c  v_cndmask_b32_e32 v1, v2, v3, vcc
//| 0x3070  0x1510  s_cbranch_scc1 27  -> 0x30e0
//| 0x3074          v_writelane_b32 v1, s0, 0
//| 0x307c          v_writelane_b32 v1, s1, 1
//| 0x3084          v_writelane_b32 v1, s2, 2
//| 0x308c          s_mov_b64 s[0:1], vcc
//| 0x3090          s_mov_b32 s2, m0
//| 0x3094          v_cmp_eq_u64_e64 vcc, s[4:5], 0
//| 0x309c          s_mov_b32 m0, 0
//| 0x30a0          ds_write_b32 v2, v2
//| 0x30a8          s_waitcnt lgkmcnt(0)
//| 0x30ac          v_add_u32_e32 v4, 1, v3
//| 0x30b0          s_mov_b32 m0, s2
//| 0x30b4          s_mov_b64 vcc, s[0:1]
//| 0x30b8          v_readlane_b32 s0, v1, 0
//| 0x30c0          v_readlane_b32 s1, v1, 1
//| 0x30c8          v_readlane_b32 s2, v1, 2
//| 0x30d0          s_nop 2
//| 0x30d4  0x1514  v_cndmask_b32_e32 v1, v2, v3, vcc
//| 0x30d8  0x1518  ds_write_b32 v0, v1
//| 0x30e0          v_writelane_b32 v1, s0, 0
//| 0x30e8          v_writelane_b32 v1, s1, 1
//| 0x30f0          s_mov_b64 s[0:1], vcc
//| 0x30f4          v_cmp_eq_u64_e64 vcc, s[0:1], 0
//| 0x30fc          s_mov_b64 vcc, s[0:1]
//| 0x3100          v_readlane_b32 s0, v1, 0
//| 0x3108          v_readlane_b32 s1, v1, 1
//| 0x3110  0x1520  s_movrels_b32 s1, s2
//| 0x3114  0x1524  v_mov_b32_e32 v3, s1
//| 0x3118  0x1528  v_add_u32_e32 v2, v2, v3
//| 0x311c  0x152c  ds_write_b32 v0, v2
//| 0x3124          s_mov_b64 s[0:1], vcc
//| 0x3128          v_cmp_eq_u64_e64 vcc, s[4:5], 0
//| 0x3130          s_mov_b32 m0, 0
//| 0x3134          ds_write_b32 v2, v2
//| 0x313c          s_waitcnt lgkmcnt(0)
//| 0x3140          v_add_u32_e32 v0, 1, v3
//| 0x3144          s_mov_b64 vcc, s[0:1]
//| 0x3148  0x1534  v_cndmask_b32_e32 v1, v2, v3, vcc
//| 0x314c  0x1538  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
