//! pair before s_addc_u32 s[2:3]
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
//| 0x3000  0x1500  s_getpc_b64 s[2:3]
//| 0x3004          s_add_u32 s2, s2, 0xffffe500
//| 0x300c          s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x3014  0x1504  s_add_u32 s2, s2, 0xffffef3c
//| 0x301c          v_cmp_eq_u64_e64 vcc, s[2:3], 0
//| 0x3024  0x150c  s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x302c  0x1514  s_load_dword s4, s[2:3], 0x0
//| 0x3034  0x151c  s_waitcnt lgkmcnt(0)
//| 0x3038  0x1520  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
