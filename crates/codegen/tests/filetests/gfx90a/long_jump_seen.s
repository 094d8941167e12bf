//! count before all counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
.Lback:
  v_mov_b32_e32 v0, 0
  s_getpc_b64 s[2:3]
.Lpc:
  s_add_u32 s2, s2, (.Lout-.Lpc)&4294967295
  s_addc_u32 s3, s3, (.Lout-.Lpc)>>32
  s_setpc_b64 s[2:3]
  s_nop 0
.Lout:
  v_mov_b32_e32 v1, s2
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
//| 0x3004          s_add_u32 s0, s0, 1
//| 0x3008          s_addc_u32 s1, s1, 0
//| 0x300c  0x1500  v_mov_b32_e32 v0, 0
//| 0x3010          s_add_u32 s0, s0, 1
//| 0x3014          s_addc_u32 s1, s1, 0
//| 0x3018  0x1504  s_getpc_b64 s[2:3]
//| 0x301c          s_add_u32 s0, s0, 1
//| 0x3020          s_addc_u32 s1, s1, 0
//| 0x3024  0x1508  s_add_u32 s2, s2, 0xffffe504
//| 0x302c          s_cselect_b32 s4, 1, 0
//| 0x3030          s_add_u32 s0, s0, 1
//| 0x3034          s_addc_u32 s1, s1, 0
//| 0x3038          s_cmp_lg_u32 s4, 0
//| 0x303c  0x1510  s_addc_u32 s3, s3, lit(0xffffffff)
//| 0x3044          s_add_u32 s0, s0, 1
//| 0x3048          s_addc_u32 s1, s1, 0
//| 0x304c  0x1518  s_branch 3  -> 0x305c
//| 0x3050          s_add_u32 s0, s0, 1
//| 0x3054          s_addc_u32 s1, s1, 0
//| 0x3058  0x151c  s_nop 0
//| 0x305c          s_add_u32 s0, s0, 1
//| 0x3060          s_addc_u32 s1, s1, 0
//| 0x3064  0x1520  v_mov_b32_e32 v1, s2
//| 0x3068          s_add_u32 s0, s0, 1
//| 0x306c          s_addc_u32 s1, s1, 0
//| 0x3070          s_nop 15
//| 0x3074          s_nop 3
//| 0x3078          s_mov_b64 s[4:5], exec
//| 0x307c          s_mov_b64 exec, 1
//| 0x3080          v_mov_b32_e32 v2, 0
//| 0x3084          v_mov_b32_e32 v0, s0
//| 0x3088          v_mov_b32_e32 v1, s1
//| 0x308c          s_getpc_b64 s[2:3]
//| 0x3090          s_add_u32 s2, s2, 0xf70
//| 0x3098          s_addc_u32 s3, s3, lit(0x0)
//| 0x30a0          global_atomic_add_x2 v2, v[0:1], s[2:3]
//| 0x30a8          s_mov_b64 exec, s[4:5]
//| 0x30ac  0x1524  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
