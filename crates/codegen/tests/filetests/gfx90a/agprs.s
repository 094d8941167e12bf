//! memory before 1
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_accvgpr_write_b32 a0, v0
  s_nop 0
  v_accvgpr_read_b32 v1, a0
  v_add_u32_e32 v1, v2, v3
  global_store_dwordx2 v[0:1], v[2:3], off
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
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
//| 0x3000  0x1500  v_accvgpr_write_b32 a0, v0
//| 0x3008          s_mov_b64 s[2:3], exec
//| 0x300c          s_mov_b64 exec, 1
//| 0x3010          s_getpc_b64 s[0:1]
//| 0x3014          s_add_u32 s0, s0, 0xfec
//| 0x301c          s_addc_u32 s1, s1, lit(0x0)
//| 0x3024          v_mov_b32_e32 v4, 1
//| 0x3028          v_mov_b32_e32 v5, 0
//| 0x302c          v_mov_b32_e32 v1, 0
//| 0x3030          v_cmp_eq_u32_e32 vcc, 0, v1
//| 0x3034          global_atomic_add_x2 v1, v[4:5], s[0:1]
//| 0x303c          s_mov_b64 exec, s[2:3]
//| 0x3040  0x1508  s_nop 0
//| 0x3044  0x150c  v_accvgpr_read_b32 v1, a0
//| 0x304c  0x1514  v_add_u32_e32 v1, v2, v3
//| 0x3050  0x1518  global_store_dwordx2 v[0:1], v[2:3], off
//| 0x3058  0x1520  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 16 VGPRs, 8 to 8 waves
