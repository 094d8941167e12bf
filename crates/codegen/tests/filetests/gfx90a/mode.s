//! float before 1 v0
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  v_mov_b32_e32 v0, 0
  v_add_f32_e32 v0, v0, v0
  global_store_dword v[2:3], v0, off
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_float_denorm_mode_32 0
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
//| 0x3000  0x1500  v_mov_b32_e32 v0, 0
//| 0x3004          s_getreg_b32 s0, hwreg(HW_REG_MODE)
//| 0x3008          s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
//| 0x3010          v_add_f32_e32 v1, 1.0, v0
//| 0x3014          s_nop 0
//| 0x3018          s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0
//| 0x301c  0x1504  v_add_f32_e32 v0, v0, v0
//| 0x3020  0x1508  global_store_dword v[2:3], v0, off
//| 0x3028  0x1510  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
