//! whole before 2
//! memory after 2
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_mov_b32_e32 v1, 1
  s_and_saveexec_b64 s[0:1], vcc
  v_mov_b32_e32 v2, 1
  s_or_b64 exec, exec, s[0:1]
  global_store_dword v[4:5], v1, off
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
//| 0x3004  0x1504  s_and_saveexec_b64 s[0:1], vcc
//| 0x3008          s_mov_b64 s[2:3], exec
//| 0x300c          s_mov_b64 exec, -1
//| 0x3010          v_mov_b32_e32 v6, 0
//| 0x3014          v_mov_b32_e32 v9, 0
//| 0x3018          s_mov_b64 exec, s[2:3]
//| 0x301c  0x1508  v_mov_b32_e32 v2, 1
//| 0x3020          s_mov_b64 s[4:5], exec
//| 0x3024          s_mov_b64 exec, 1
//| 0x3028          s_getpc_b64 s[2:3]
//| 0x302c          s_add_u32 s2, s2, 0xfd4
//| 0x3034          s_addc_u32 s3, s3, lit(0x0)
//| 0x303c          v_mov_b32_e32 v2, 1
//| 0x3040          v_mov_b32_e32 v3, 0
//| 0x3044          v_mov_b32_e32 v0, 0
//| 0x3048          v_cmp_eq_u32_e32 vcc, 0, v0
//| 0x304c          global_atomic_add_x2 v0, v[2:3], s[2:3]
//| 0x3054          s_mov_b64 exec, s[4:5]
//| 0x3058  0x150c  s_or_b64 exec, exec, s[0:1]
//| 0x305c  0x1510  global_store_dword v[4:5], v1, off
//| 0x3064  0x1518  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 16 VGPRs, 8 to 8 waves
