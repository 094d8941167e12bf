  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
  .amdhsa_code_object_version 5
  .text
  .globl  tdm_gather
  .p2align  8
  .type  tdm_gather,@function
tdm_gather:
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1
  s_mov_b64 s[64:65], 0
  v_nop
  global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
  s_bfe_u32 s24, ttmp8, 0x50019
  s_lshl_b32 s6, ttmp9, 6
  s_mov_b32 s21, 0
  s_ashr_i32 s7, s6, 31
  s_mov_b32 s8, 16
  s_lshl_b64 s[12:13], s[6:7], 1
  s_mov_b32 s4, 0x10000
  s_mov_b32 s11, s21
  s_clause 0x1
  s_load_b64 s[2:3], s[0:1], 0x18 nv
  s_load_b128 s[28:31], s[0:1], 0x0 nv
  v_lshlrev_b32_e32 v1, 3, v0
  s_delay_alu instid0(VALU_DEP_1)
  v_and_or_b32 v2, v1, 56, s6
  s_wait_kmcnt 0x0
  s_ashr_i32 s5, s3, 31
  s_bitset1_b32 s29, 31
  s_mov_b32 s14, s3
  s_mov_b32 s15, s2
  s_and_b32 s2, s2, 0xffff0000
  s_and_b32 s7, s3, 0xffff
  s_and_b32 s10, s5, 0xffff
  s_lshr_b64 s[14:15], s[14:15], 16
  s_add_nc_u64 s[22:23], s[28:29], s[12:13]
  s_lshr_b32 s5, s14, 16
  s_lshl_b32 s9, s14, 16
  s_or_b32 s5, s5, s2
  s_or_b32 s9, s9, s7
  s_max_i32 s27, s5, 0
  s_sub_co_i32 s2, s9, s6
  s_mov_b32 s9, s3
  s_max_i32 s2, s2, 0
  s_cmp_gt_i32 s6, -1
  s_load_b256 s[12:19], s[30:31], 0x0
  s_cselect_b32 s26, s2, 0
  s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_2) | instid1(SALU_CYCLE_1)
  s_lshr_b64 s[6:7], s[26:27], 16
  s_and_b32 s2, s24, 3
  s_cselect_b32 s2, 0, -1
  s_and_b32 s2, s2, exec_lo
  s_cselect_b32 s2, 1, 0
  s_and_b32 s23, s23, 0xc1ffffff
  s_or_b32 s20, s2, 0x80000000
  s_lshl_b32 s5, s26, 16
  s_wait_xcnt 0x0
  s_mov_b64 s[30:31], s[22:23]
  s_mov_b64 s[28:29], s[20:21]
  s_lshr_b32 s2, s27, 16
  s_or_b32 s7, s2, 0x400000
  s_mov_b32 s29, s21
  s_wait_kmcnt 0x0
  tensor_load_to_lds s[28:31], s[4:11], s[12:15], s[16:19]
  s_wait_tensorcnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_mov_b32 s2, exec_lo
  v_cmpx_gt_i32_e32 s3, v2
  s_cbranch_execz .LBB0_2
  s_lshl_b32 s2, s24, 5
  v_ashrrev_i32_e32 v3, 31, v2
  v_and_or_b32 v0, v0, 31, s2
  s_load_b64 s[0:1], s[0:1], 0x10 nv
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_lshlrev_b32_e32 v1, 4, v0
  v_bfe_u32 v0, v0, 3, 4
  v_and_b32_e32 v1, 0x7f0, v1
  s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_mul_lo_u32 v0, s3, v0
  v_dual_add_nc_u32 v4, 0, v1 :: v_dual_ashrrev_i32 v1, 31, v0
  s_wait_kmcnt 0x0
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_lshl_add_u64 v[0:1], v[0:1], 1, s[0:1]
  v_lshl_add_u64 v[0:1], v[2:3], 1, v[0:1]
  s_wait_alu depctr_va_vdst(2)
  ds_load_b128 v[4:7], v4
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[0:1], v[4:7], off
.LBB0_2:
  s_endpgm
.Lfunc_end0:
  .size  tdm_gather, .Lfunc_end0-tdm_gather
  .section  .rodata,"a",@progbits
  .p2align  6, 0x0
  .amdhsa_kernel tdm_gather
    .amdhsa_group_segment_fixed_size 0
    .amdhsa_private_segment_fixed_size 0
    .amdhsa_kernarg_size 48
    .amdhsa_user_sgpr_count 2
    .amdhsa_user_sgpr_dispatch_ptr 0
    .amdhsa_user_sgpr_queue_ptr 0
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_id 0
    .amdhsa_user_sgpr_kernarg_preload_length 0
    .amdhsa_user_sgpr_kernarg_preload_offset 0
    .amdhsa_user_sgpr_private_segment_size 0
    .amdhsa_wavefront_size32 1
    .amdhsa_uses_dynamic_stack 0
    .amdhsa_enable_private_segment 0
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_system_sgpr_workgroup_id_y 1
    .amdhsa_system_sgpr_workgroup_id_z 1
    .amdhsa_system_sgpr_workgroup_info 0
    .amdhsa_system_vgpr_workitem_id 0
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 66
    .amdhsa_named_barrier_count 0
    .amdhsa_reserve_vcc 0
    .amdhsa_reserve_xnack_mask 1
    .amdhsa_float_round_mode_32 0
    .amdhsa_float_round_mode_16_64 0
    .amdhsa_float_denorm_mode_32 3
    .amdhsa_float_denorm_mode_16_64 3
    .amdhsa_fp16_overflow 0
    .amdhsa_memory_ordered 1
    .amdhsa_forward_progress 1
    .amdhsa_round_robin_scheduling 0
    .amdhsa_exception_fp_ieee_invalid_op 0
    .amdhsa_exception_fp_denorm_src 0
    .amdhsa_exception_fp_ieee_div_zero 0
    .amdhsa_exception_fp_ieee_overflow 0
    .amdhsa_exception_fp_ieee_underflow 0
    .amdhsa_exception_fp_ieee_inexact 0
    .amdhsa_exception_int_div_zero 0
  .end_amdhsa_kernel
  .text
  .text
  .text
  .amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
      - .offset:         24
        .size:           4
        .value_kind:     by_value
      - .offset:         28
        .size:           4
        .value_kind:     by_value
      - .address_space:  global
        .offset:         32
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         40
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 48
    .max_flat_workgroup_size: 128
    .name:           tdm_gather
    .private_segment_fixed_size: 0
    .sgpr_count:     66
    .sgpr_spill_count: 0
    .symbol:         tdm_gather.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     8
    .vgpr_spill_count: 0
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--gfx1250
amdhsa.version:
  - 1
  - 2
...
  .end_amdgpu_metadata
