//! count before 4 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx1201"
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
  .rept 8
  v_mov_b32_e32 v1, 0
  .endr
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 32
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1201
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
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
  s_cselect_b32 s0, s1, s2
  s_setpc_b64 s[30:31]
.size f, .-f
.type g,@object
g: .fill 50000, 4, 0xffffffff
.size g, .-g
.data
far: .fill 40000, 4, 0

//| k.instrumented:
//| 0x5c000          s_mov_b64 s[4:5], 0
//| 0x5c004  0x1500  s_getpc_b64 s[2:3]
//| 0x5c008          s_wait_alu 0xf1fc
//| 0x5c00c          s_add_co_u32 s2, s2, 0xfffa54fc
//| 0x5c014          s_add_co_ci_u32 s3, s3, lit(0xffffffff)
//| 0x5c01c          s_wait_alu 0xf1fc
//| 0x5c020  0x1504  s_add_co_u32 s2, s2, lit(0x38)
//| 0x5c028  0x150c  s_add_co_ci_u32 s3, s3, lit(0x0)
//| 0x5c030  0x1514  s_swappc_b64 s[30:31], s[2:3]
//| 0x5c034          s_nop 15
//| 0x5c038          s_nop 3
//| 0x5c03c          s_wait_alu 0xfff
//| 0x5c040          s_wait_alu 0xffe3
//| 0x5c044          s_wait_alu 0xf1fc
//| 0x5c048          v_mov_b32_e32 v0, v0
//| 0x5c04c          s_add_co_u32 s4, s4, 1
//| 0x5c050          s_add_co_ci_u32 s5, s5, 0
//| 0x5c054  0x1518  v_mov_b32_e32 v1, 0
//| 0x5c058  0x151c  v_mov_b32_e32 v1, 0
//| 0x5c05c  0x1520  v_mov_b32_e32 v1, 0
//| 0x5c060  0x1524  v_mov_b32_e32 v1, 0
//| 0x5c064  0x1528  v_mov_b32_e32 v1, 0
//| 0x5c068  0x152c  v_mov_b32_e32 v1, 0
//| 0x5c06c  0x1530  v_mov_b32_e32 v1, 0
//| 0x5c070  0x1534  v_mov_b32_e32 v1, 0
//| 0x5c074          s_mov_b32 s8, exec_lo
//| 0x5c078          s_mov_b32 exec_lo, 1
//| 0x5c07c          v_mov_b32_e32 v2, 0
//| 0x5c080          s_wait_alu 0xf1fc
//| 0x5c084          v_mov_b32_e32 v0, s4
//| 0x5c088          v_mov_b32_e32 v1, s5
//| 0x5c08c          s_getpc_b64 s[6:7]
//| 0x5c090          s_wait_alu 0xf1fc
//| 0x5c094          s_add_co_u32 s6, s6, 0xf70
//| 0x5c09c          s_add_co_ci_u32 s7, s7, lit(0x0)
//| 0x5c0a4          global_atomic_add_u64 v2, v[0:1], s[6:7]
//| 0x5c0b0          s_mov_b32 exec_lo, s8
//| 0x5c0b4  0x1538  s_endpgm
//| f.instrumented:
//| 0x5c0c0  0x153c  v_mov_b32_e32 v0, 0
//| 0x5c0c4  0x1540  s_cselect_b32 s0, s1, s2
//| 0x5c0c8  0x1544  s_setpc_b64 s[30:31]
//| patched:
//| 0x1500          s_cselect_b32 s8, 1, 0
//| 0x1504          s_getpc_b64 s[6:7]
//| 0x1508          s_wait_alu 0xf1fc
//| 0x150c          s_add_co_u32 s6, s6, 0x5abb8
//| 0x1514          s_add_co_ci_u32 s7, s7, lit(0x0)
//| 0x151c          s_cmp_lg_u32 s8, 0
//| 0x1520          s_wait_alu 0xf1fc
//| 0x1524          s_setpc_b64 s[6:7]
//| patched:
//| 0x153c          s_branch 65520  -> 0x1500
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
