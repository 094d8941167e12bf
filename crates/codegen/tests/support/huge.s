.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected huge
.globl huge
.p2align 8
.type huge,@function
huge:
  s_mov_b32 s0, 3
  v_mov_b32_e32 v1, 0
.Lloop:
  s_cmp_eq_u32 s0, 2
  s_cbranch_scc1 .Lnear
BODY
.Lnear:
  s_sub_u32 s0, s0, 1
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc1 .Lend
  s_getpc_b64 s[2:3]
.Lpc:
  s_add_u32 s2, s2, (.Lloop-.Lpc)&4294967295
  s_addc_u32 s3, s3, 4294967295
  s_setpc_b64 s[2:3]
.Lend:
  s_endpgm
.size huge, .-huge
.rodata
.p2align 6
.amdhsa_kernel huge
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: huge
    .symbol: huge.kd
    .kernarg_segment_size: 0
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
