//! count before 4 counter
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
.type g,@object
g: .fill 50000, 4, 0xffffffff
.size g, .-g
.data
far: .fill 40000, 4, 0

//| k.instrumented:
//| 0x5c000          s_mov_b64 s[0:1], 0
//| 0x5c004  0x1500  s_getpc_b64 s[2:3]
//| 0x5c008  0x1504  s_add_u32 s2, s2, 0xfffa5514
//| 0x5c010  0x150c  s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x5c018  0x1514  s_swappc_b64 s[30:31], s[2:3]
//| 0x5c01c          s_add_u32 s0, s0, 1
//| 0x5c020          s_addc_u32 s1, s1, 0
//| 0x5c024          s_nop 15
//| 0x5c028          s_nop 3
//| 0x5c02c          s_mov_b64 s[4:5], exec
//| 0x5c030          s_mov_b64 exec, 1
//| 0x5c034          v_mov_b32_e32 v2, 0
//| 0x5c038          v_mov_b32_e32 v0, s0
//| 0x5c03c          v_mov_b32_e32 v1, s1
//| 0x5c040          s_getpc_b64 s[2:3]
//| 0x5c044          s_add_u32 s2, s2, 0xfbc
//| 0x5c04c          s_addc_u32 s3, s3, lit(0x0)
//| 0x5c054          global_atomic_add_x2 v2, v[0:1], s[2:3]
//| 0x5c05c          s_mov_b64 exec, s[4:5]
//| 0x5c060  0x1518  s_endpgm
//| f.instrumented:
//| 0x5c080  0x151c  v_mov_b32_e32 v0, 0
//| 0x5c084  0x1520  s_setpc_b64 s[30:31]
//| patched:
//| 0x1500          s_getpc_b64 s[4:5]
//| 0x1504          s_add_u32 s4, s4, 0x5ab7c
//| 0x150c          s_addc_u32 s5, s5, lit(0x0)
//| 0x1514          s_setpc_b64 s[4:5]
//| patched:
//| 0x151c          s_branch 65528  -> 0x1500
//| k: 40 to 40 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
