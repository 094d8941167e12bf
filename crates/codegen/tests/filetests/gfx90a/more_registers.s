//! vector before 9 v0
//! memory before 9
//! count before 9 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_mov_b64 s[0:1], 0
  s_mov_b64 s[2:3], 0
  s_mov_b64 s[4:5], 0
  s_mov_b64 s[6:7], 0
  s_mov_b64 s[8:9], 0
  v_mov_b32_e32 v0, 0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
  s_nop 0
  global_store_dwordx2 v[0:1], v[2:3], off
  global_store_dwordx2 v[2:3], v[4:5], off
  global_store_dwordx2 v[4:5], v[6:7], off
  global_store_dwordx2 v[6:7], v[0:1], off
  v_mov_b32_e32 v0, s0
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s1
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s2
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s3
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s4
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s5
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s6
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s7
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s8
  global_store_dword v[0:1], v0, off
  v_mov_b32_e32 v0, s9
  global_store_dword v[0:1], v0, off
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
//| 0x3000          s_mov_b64 s[10:11], 0
//| 0x3004  0x1500  s_mov_b64 s[0:1], 0
//| 0x3008  0x1504  s_mov_b64 s[2:3], 0
//| 0x300c  0x1508  s_mov_b64 s[4:5], 0
//| 0x3010  0x150c  s_mov_b64 s[6:7], 0
//| 0x3014  0x1510  s_mov_b64 s[8:9], 0
//| 0x3018  0x1514  v_mov_b32_e32 v0, 0
//| 0x301c  0x1518  v_mov_b32_e32 v1, 0
//| 0x3020  0x151c  v_mov_b32_e32 v2, 0
//| 0x3024  0x1520  v_mov_b32_e32 v3, 0
//| 0x3028          v_add_u32_e32 v4, 1, v0
//| 0x302c          s_mov_b64 s[14:15], exec
//| 0x3030          s_mov_b64 exec, 1
//| 0x3034          s_getpc_b64 s[12:13]
//| 0x3038          s_add_u32 s12, s12, 0xfc8
//| 0x3040          s_addc_u32 s13, s13, lit(0x0)
//| 0x3048          v_mov_b32_e32 v4, 1
//| 0x304c          v_mov_b32_e32 v5, 0
//| 0x3050          v_mov_b32_e32 v6, 0
//| 0x3054          v_cmp_eq_u32_e32 vcc, 0, v6
//| 0x3058          global_atomic_add_x2 v6, v[4:5], s[12:13]
//| 0x3060          s_mov_b64 exec, s[14:15]
//| 0x3064          s_add_u32 s10, s10, 1
//| 0x3068          s_addc_u32 s11, s11, 0
//| 0x306c  0x1524  v_mov_b32_e32 v4, 0
//| 0x3070  0x1528  v_mov_b32_e32 v5, 0
//| 0x3074  0x152c  v_mov_b32_e32 v6, 0
//| 0x3078  0x1530  v_mov_b32_e32 v7, 0
//| 0x307c  0x1534  s_nop 0
//| 0x3080  0x1538  global_store_dwordx2 v[0:1], v[2:3], off
//| 0x3088  0x1540  global_store_dwordx2 v[2:3], v[4:5], off
//| 0x3090  0x1548  global_store_dwordx2 v[4:5], v[6:7], off
//| 0x3098  0x1550  global_store_dwordx2 v[6:7], v[0:1], off
//| 0x30a0  0x1558  v_mov_b32_e32 v0, s0
//| 0x30a4  0x155c  global_store_dword v[0:1], v0, off
//| 0x30ac  0x1564  v_mov_b32_e32 v0, s1
//| 0x30b0  0x1568  global_store_dword v[0:1], v0, off
//| 0x30b8  0x1570  v_mov_b32_e32 v0, s2
//| 0x30bc  0x1574  global_store_dword v[0:1], v0, off
//| 0x30c4  0x157c  v_mov_b32_e32 v0, s3
//| 0x30c8  0x1580  global_store_dword v[0:1], v0, off
//| 0x30d0  0x1588  v_mov_b32_e32 v0, s4
//| 0x30d4  0x158c  global_store_dword v[0:1], v0, off
//| 0x30dc  0x1594  v_mov_b32_e32 v0, s5
//| 0x30e0  0x1598  global_store_dword v[0:1], v0, off
//| 0x30e8  0x15a0  v_mov_b32_e32 v0, s6
//| 0x30ec  0x15a4  global_store_dword v[0:1], v0, off
//| 0x30f4  0x15ac  v_mov_b32_e32 v0, s7
//| 0x30f8  0x15b0  global_store_dword v[0:1], v0, off
//| 0x3100  0x15b8  v_mov_b32_e32 v0, s8
//| 0x3104  0x15bc  global_store_dword v[0:1], v0, off
//| 0x310c  0x15c4  v_mov_b32_e32 v0, s9
//| 0x3110  0x15c8  global_store_dword v[0:1], v0, off
//| 0x3118          s_mov_b64 s[2:3], exec
//| 0x311c          s_mov_b64 exec, 1
//| 0x3120          v_mov_b32_e32 v2, 0
//| 0x3124          v_mov_b32_e32 v0, s10
//| 0x3128          v_mov_b32_e32 v1, s11
//| 0x312c          s_getpc_b64 s[0:1]
//| 0x3130          s_add_u32 s0, s0, 0xed0
//| 0x3138          s_addc_u32 s1, s1, lit(0x0)
//| 0x3140          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x3148          s_mov_b64 exec, s[2:3]
//| 0x314c  0x15d0  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
