//! change before 1 &v1 v1
//! sum before 2 v1 v1
//! both before 3 &v1 &v1
//! count before 3 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_mov_b32_e32 v1, 1
  v_add_u32_e32 v2, v1, v2
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
//| 0x3000          s_mov_b64 s[0:1], 0
//| 0x3004  0x1500  v_mov_b32_e32 v1, 1
//| 0x3008          v_mov_b32_e32 v0, v1
//| 0x300c          v_lshlrev_b32_e32 v1, 1, v1
//| 0x3010          v_add_u32_e32 v1, v1, v0
//| 0x3014  0x1504  v_add_u32_e32 v2, v1, v2
//| 0x3018          v_add_u32_e32 v0, v1, v1
//| 0x301c  0x1508  v_add_u32_e32 v2, v1, v2
//| 0x3020          s_add_u32 s0, s0, 1
//| 0x3024          s_addc_u32 s1, s1, 0
//| 0x3028  0x150c  global_store_dword v[4:5], v2, off
//| 0x3030          s_mov_b64 s[4:5], exec
//| 0x3034          s_mov_b64 exec, 1
//| 0x3038          v_mov_b32_e32 v2, 0
//| 0x303c          v_mov_b32_e32 v0, s0
//| 0x3040          v_mov_b32_e32 v1, s1
//| 0x3044          s_getpc_b64 s[2:3]
//| 0x3048          s_add_u32 s2, s2, 0xfb8
//| 0x3050          s_addc_u32 s3, s3, lit(0x0)
//| 0x3058          global_atomic_add_x2 v2, v[0:1], s[2:3]
//| 0x3060          s_mov_b64 exec, s[4:5]
//| 0x3064  0x1514  s_endpgm
//| rejected at 0x150c: the hook both has two new values for v1: give it to one argument
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
