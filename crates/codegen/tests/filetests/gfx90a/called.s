//! called
//! memory before all
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_getpc_b64 s[2:3]
  s_add_u32 s2, s2, f@rel32@lo+4
  s_addc_u32 s3, s3, f@rel32@hi+12
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 32
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
    .sgpr_count: 32
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: []
...
.end_amdgpu_metadata
.text
.type f,@function
f:
  v_mov_b32_e32 v0, 0
  s_setpc_b64 s[30:31]
.size f, .-f

//| k.instrumented:
//| 0x3000          s_call_b64 s[4:5], 15  -> 0x3040
//| 0x3004  0x1500  s_getpc_b64 s[2:3]
//| 0x3008          s_call_b64 s[6:7], 28  -> 0x307c
//| 0x300c  0x1504  s_add_u32 s2, s2, 0xffffe514
//| 0x3014          s_cselect_b32 s0, 1, 0
//| 0x3018          s_call_b64 s[8:9], 39  -> 0x30b8
//| 0x301c          s_cmp_lg_u32 s0, 0
//| 0x3020  0x150c  s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x3028          s_call_b64 s[6:7], 20  -> 0x307c
//| 0x302c  0x1514  s_swappc_b64 s[30:31], s[2:3]
//| 0x3030          s_nop 15
//| 0x3034          s_nop 3
//| 0x3038          s_call_b64 s[4:5], 1  -> 0x3040
//| 0x303c  0x1518  s_endpgm
//| 0x3040          s_mov_b64 s[2:3], exec
//| 0x3044          s_mov_b64 exec, 1
//| 0x3048          s_getpc_b64 s[0:1]
//| 0x304c          s_add_u32 s0, s0, 0xfb4
//| 0x3054          s_addc_u32 s1, s1, lit(0x0)
//| 0x305c          v_mov_b32_e32 v0, 1
//| 0x3060          v_mov_b32_e32 v1, 0
//| 0x3064          v_mov_b32_e32 v2, 0
//| 0x3068          v_cmp_eq_u32_e32 vcc, 0, v2
//| 0x306c          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x3074          s_mov_b64 exec, s[2:3]
//| 0x3078          s_setpc_b64 s[4:5]
//| 0x307c          s_mov_b64 s[4:5], exec
//| 0x3080          s_mov_b64 exec, 1
//| 0x3084          s_getpc_b64 s[0:1]
//| 0x3088          s_add_u32 s0, s0, 0xf78
//| 0x3090          s_addc_u32 s1, s1, lit(0x0)
//| 0x3098          v_mov_b32_e32 v0, 1
//| 0x309c          v_mov_b32_e32 v1, 0
//| 0x30a0          v_mov_b32_e32 v2, 0
//| 0x30a4          v_cmp_eq_u32_e32 vcc, 0, v2
//| 0x30a8          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x30b0          s_mov_b64 exec, s[4:5]
//| 0x30b4          s_setpc_b64 s[6:7]
//| 0x30b8          s_mov_b64 s[6:7], exec
//| 0x30bc          s_mov_b64 exec, 1
//| 0x30c0          s_getpc_b64 s[4:5]
//| 0x30c4          s_add_u32 s4, s4, 0xf3c
//| 0x30cc          s_addc_u32 s5, s5, lit(0x0)
//| 0x30d4          v_mov_b32_e32 v0, 1
//| 0x30d8          v_mov_b32_e32 v1, 0
//| 0x30dc          v_mov_b32_e32 v2, 0
//| 0x30e0          v_cmp_eq_u32_e32 vcc, 0, v2
//| 0x30e4          global_atomic_add_x2 v2, v[0:1], s[4:5]
//| 0x30ec          s_mov_b64 exec, s[6:7]
//| 0x30f0          s_setpc_b64 s[8:9]
//| f.instrumented:
//| 0x3100          s_nop 15
//| 0x3104          s_nop 3
//| 0x3108          s_call_b64 s[4:5], 3  -> 0x3118
//| 0x310c  0x151c  v_mov_b32_e32 v0, 0
//| 0x3110          s_call_b64 s[4:5], 1  -> 0x3118
//| 0x3114  0x1520  s_setpc_b64 s[30:31]
//| 0x3118          s_mov_b64 s[2:3], exec
//| 0x311c          s_mov_b64 exec, 1
//| 0x3120          s_getpc_b64 s[0:1]
//| 0x3124          s_add_u32 s0, s0, 0xedc
//| 0x312c          s_addc_u32 s1, s1, lit(0x0)
//| 0x3134          v_mov_b32_e32 v0, 1
//| 0x3138          v_mov_b32_e32 v1, 0
//| 0x313c          v_mov_b32_e32 v2, 0
//| 0x3140          v_cmp_eq_u32_e32 vcc, 0, v2
//| 0x3144          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x314c          s_mov_b64 exec, s[2:3]
//| 0x3150          s_setpc_b64 s[4:5]
//| patched:
//| 0x151c          s_branch 1784  -> 0x3100
//| k: 40 to 40 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
