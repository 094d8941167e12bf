  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
  .amdhsa_code_object_version 5
  .text
  .globl  tdm_mbarrier
  .p2align  8
  .type  tdm_mbarrier,@function
tdm_mbarrier:
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1
  s_mov_b64 s[64:65], 0
  v_nop
  global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
  v_and_b32_e32 v4, 0x3ff, v0
  s_delay_alu instid0(VALU_DEP_1)
  v_cmp_eq_u32_e32 vcc_lo, 0, v4
  s_and_saveexec_b32 s0, vcc_lo
  s_cbranch_execz .LBB0_2
  v_mov_b64_e32 v[0:1], 0x8300000083
  v_mov_b32_e32 v2, 0
  s_wait_alu depctr_va_vdst(0)
  ds_store_b64 v2, v[0:1] offset:9216
.LBB0_2:
  s_or_b32 exec_lo, exec_lo, s0
  s_wait_dscnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_and_saveexec_b32 s0, vcc_lo
  s_cbranch_execz .LBB0_4
  s_wait_alu depctr_vm_vsrc(0)
  v_mov_b64_e32 v[0:1], 0x8300000083
  v_mov_b32_e32 v2, 0
  s_wait_alu depctr_va_vdst(0)
  ds_store_b64 v2, v[0:1] offset:9224
.LBB0_4:
  s_or_b32 exec_lo, exec_lo, s0
  s_wait_dscnt 0x0
  s_barrier_signal -1
  s_wait_alu depctr_vm_vsrc(0)
  v_mov_b64_e32 v[0:1], 1
  s_bfe_u32 s26, ttmp8, 0x50019
  s_lshl_b32 s24, ttmp9, 5
  s_lshl_b32 s0, ttmp7, 7
  s_mov_b32 s7, 0
  s_mov_b32 s16, 1
  s_mov_b32 s12, 8
  s_mov_b32 s8, 0x2d50000
  s_and_b32 s6, s0, 0x7fff80
  s_ashr_i32 s25, s24, 31
  s_mov_b32 s11, s7
  s_mov_b32 s15, s7
  s_movk_i32 s33, 0x2408
  s_mov_b32 s23, s7
  s_mov_b32 s27, s7
  s_clause 0x1
  s_load_b64 s[20:21], s[4:5], 0x10 nv
  s_load_b128 s[0:3], s[4:5], 0x0 nv
  v_mov_b32_e32 v2, 0
  s_barrier_wait -1
  s_barrier_signal -1
  s_wait_kmcnt 0x0
  s_ashr_i32 s5, s21, 31
  s_bitset1_b32 s1, 31
  s_mov_b32 s18, s21
  s_mov_b32 s19, s20
  s_and_b32 s9, s20, 0xffff0000
  s_mov_b32 s4, s21
  s_mov_b32 s13, s21
  s_and_b32 s5, s5, 0xffff
  s_lshr_b64 s[18:19], s[18:19], 16
  s_mul_u64 s[28:29], s[4:5], s[24:25]
  s_lshr_b32 s10, s18, 16
  s_mov_b32 s14, s5
  s_add_nc_u64 s[30:31], s[28:29], s[6:7]
  s_or_b32 s10, s10, s9
  s_lshl_b64 s[30:31], s[30:31], 1
  s_sub_co_i32 s9, s10, s24
  s_add_nc_u64 s[30:31], s[30:31], s[0:1]
  s_max_i32 s9, s9, 0
  s_cmp_gt_i32 s24, -1
  s_cselect_b32 s35, s9, 0
  s_and_b32 s9, s21, 0xffff
  s_lshl_b32 s10, s18, 16
  s_and_b32 s18, s26, 3
  s_or_b32 s22, s6, 64
  s_or_b32 s9, s10, s9
  s_and_b32 s25, s35, 0x7fff0000
  s_lshl_b32 s40, s18, 3
  s_mul_i32 s17, s18, 0x480
  s_lshl_b32 s10, s18, 4
  s_sub_co_i32 s18, s9, s6
  s_sub_co_i32 s19, s35, s40
  s_max_i32 s34, s18, 0
  s_max_i32 s37, s19, 0
  s_barrier_wait -1
  s_mul_u64 s[38:39], s[4:5], s[10:11]
  s_sub_co_i32 s4, s9, s22
  s_add_nc_u64 s[18:19], s[30:31], s[38:39]
  s_max_i32 s4, s4, 0
  s_cmp_lt_i32 s6, 0
  s_add_nc_u64 s[28:29], s[28:29], s[22:23]
  s_cselect_b32 s36, 0, s34
  s_cselect_b32 s34, 0, s4
  s_lshr_b32 s4, s37, 16
  s_lshl_b32 s9, s36, 16
  s_lshr_b64 s[10:11], s[36:37], 16
  s_addk_co_i32 s9, 0x480
  s_or_b32 s11, s4, 0x400000
  s_lshl_b64 s[28:29], s[28:29], 1
  tensor_load_to_lds s[16:19], s[8:15]
  s_bfe_u32 s4, s33, 0x100003
  s_add_nc_u64 s[0:1], s[28:29], s[0:1]
  s_lshr_b64 s[10:11], s[34:35], 16
  s_lshl_b32 s9, s34, 16
  s_and_b32 s11, s10, 0x7fff
  s_lshr_b32 s10, s10, 16
  s_addk_co_i32 s17, 0x1200
  s_or_b32 s10, s10, s25
  s_add_nc_u64 s[18:19], s[0:1], s[38:39]
  s_sub_co_i32 s0, s10, s40
  s_or_b32 s9, s9, s4
  s_max_i32 s0, s0, 0
  s_delay_alu instid0(SALU_CYCLE_1)
  s_lshl_b32 s1, s0, 16
  s_lshr_b32 s0, s0, 16
  s_or_b32 s10, s1, s11
  s_or_b32 s11, s0, 0x400000
  s_wait_tensorcnt 0xa
  tensor_load_to_lds s[16:19], s[8:15]
  s_barrier_signal -1
  s_barrier_wait -1
  s_wait_alu depctr_va_vdst(0)
  ds_atomic_barrier_arrive_rtn_b64 v[0:1], v2, v[0:1] offset:9216
.LBB0_5:
  s_sleep 1
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  ds_load_b32 v1, v2 offset:9216
  s_wait_dscnt 0x0
  v_xor_b32_e32 v1, v1, v0
  s_wait_alu depctr_vm_vsrc(1)
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_and_b32_e32 v1, 0x20000000, v1
  v_cmp_ne_u32_e32 vcc_lo, 0, v1
  s_or_b32 s27, vcc_lo, s27
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_not1_b32 exec_lo, exec_lo, s27
  s_cbranch_execnz .LBB0_5
  s_or_b32 exec_lo, exec_lo, s27
  s_lshl_b32 s0, s26, 5
  v_lshlrev_b32_e32 v5, 3, v4
  v_and_or_b32 v6, v4, 31, s0
  s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
  v_dual_mov_b32 v11, 0 :: v_dual_bitop2_b32 v4, 56, v5 bitop3:0x40
  v_dual_lshlrev_b32 v5, 4, v6 :: v_dual_lshlrev_b32 v7, 1, v6
  s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
  v_dual_lshrrev_b32 v6, 3, v6 :: v_dual_bitop2_b32 v8, s6, v4 bitop3:0x54
  v_and_b32_e32 v9, 0x7f0, v5
  s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_3)
  v_and_b32_e32 v7, 0xf8, v7
  v_and_or_b32 v5, v6, 15, s24
  s_delay_alu instid0(VALU_DEP_4) | instskip(NEXT) | instid1(VALU_DEP_3)
  v_cmp_gt_i32_e64 s1, s21, v8
  v_dual_lshlrev_b32 v10, 1, v8 :: v_dual_add_nc_u32 v6, v7, v9
  s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_2)
  v_mul_lo_u32 v8, v5, s21
  v_add_nc_u32_e32 v12, 0, v6
  v_cmp_gt_i32_e32 vcc_lo, s20, v5
  s_delay_alu instid0(VALU_DEP_3) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_ashrrev_i32_e32 v9, 31, v8
  v_lshl_add_u64 v[6:7], v[8:9], 1, s[2:3]
  s_wait_alu depctr_va_vdst(3) depctr_vm_vsrc(0)
  ds_load_b128 v[0:3], v12 offset:2304
  s_and_b32 s4, vcc_lo, s1
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_saveexec_b32 s0, s4
  s_cbranch_execz .LBB0_8
  v_add_nc_u64_e32 v[18:19], v[6:7], v[10:11]
  ds_load_b128 v[14:17], v12
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[18:19], v[14:17], off
.LBB0_8:
  s_wait_xcnt 0x0
  s_or_b32 exec_lo, exec_lo, s0
  v_lshl_add_u32 v8, s21, 4, v8
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_dual_ashrrev_i32 v9, 31, v8 :: v_dual_bitop2_b32 v5, 16, v5 bitop3:0x54
  v_cmp_gt_i32_e64 s0, s20, v5
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
  v_lshl_add_u64 v[8:9], v[8:9], 1, s[2:3]
  s_and_b32 s2, s1, s0
  s_and_saveexec_b32 s1, s2
  s_cbranch_execz .LBB0_10
  v_mov_b32_e32 v11, 0
  s_delay_alu instid0(VALU_DEP_1)
  v_add_nc_u64_e32 v[10:11], v[8:9], v[10:11]
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[10:11], v[0:3], off
.LBB0_10:
  s_wait_xcnt 0x0
  s_or_b32 exec_lo, exec_lo, s1
  s_wait_dscnt 0x0
  s_wait_alu depctr_vm_vsrc(0)
  v_mov_b64_e32 v[0:1], 1
  s_mov_b32 s2, 0
  v_mov_b32_e32 v2, 0
  s_wait_alu depctr_va_vdst(0)
  ds_atomic_barrier_arrive_rtn_b64 v[0:1], v2, v[0:1] offset:9224
.LBB0_11:
  s_sleep 1
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0) depctr_vm_vsrc(0)
  ds_load_b32 v1, v2 offset:9224
  s_wait_dscnt 0x0
  v_xor_b32_e32 v1, v1, v0
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_and_b32_e32 v1, 0x20000000, v1
  v_cmp_ne_u32_e64 s1, 0, v1
  s_or_b32 s2, s1, s2
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_not1_b32 exec_lo, exec_lo, s2
  s_cbranch_execnz .LBB0_11
  s_or_b32 exec_lo, exec_lo, s2
  v_dual_mov_b32 v5, 0 :: v_dual_bitop2_b32 v13, s22, v4 bitop3:0x54
  s_wait_alu depctr_va_vdst(1) depctr_vm_vsrc(0)
  ds_load_b128 v[0:3], v12 offset:6912
  v_add_nc_u64_e32 v[10:11], s[6:7], v[4:5]
  v_cmp_gt_i32_e64 s1, s21, v13
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
  v_lshlrev_b32_e32 v4, 1, v10
  s_and_b32 s3, vcc_lo, s1
  s_and_saveexec_b32 s2, s3
  s_cbranch_execnz .LBB0_15
  s_or_b32 exec_lo, exec_lo, s2
  s_and_b32 s0, s1, s0
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_saveexec_b32 s1, s0
  s_cbranch_execnz .LBB0_16
.LBB0_14:
  s_endpgm
.LBB0_15:
  s_delay_alu instid0(VALU_DEP_1)
  v_add_nc_u64_e32 v[6:7], v[6:7], v[4:5]
  s_wait_alu depctr_va_vdst(1) depctr_vm_vsrc(0)
  ds_load_b128 v[10:13], v12 offset:4608
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[6:7], v[10:13], off offset:128
  s_wait_xcnt 0x0
  s_or_b32 exec_lo, exec_lo, s2
  s_and_b32 s0, s1, s0
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_saveexec_b32 s1, s0
  s_cbranch_execz .LBB0_14
.LBB0_16:
  v_mov_b32_e32 v5, 0
  s_delay_alu instid0(VALU_DEP_1)
  v_add_nc_u64_e32 v[4:5], v[8:9], v[4:5]
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[4:5], v[0:3], off offset:128
  s_endpgm
.Lfunc_end0:
  .size  tdm_mbarrier, .Lfunc_end0-tdm_mbarrier
  .section  .rodata,"a",@progbits
  .p2align  6, 0x0
  .amdhsa_kernel tdm_mbarrier
    .amdhsa_group_segment_fixed_size 0
    .amdhsa_private_segment_fixed_size 0
    .amdhsa_kernarg_size 296
    .amdhsa_user_sgpr_count 8
    .amdhsa_user_sgpr_dispatch_ptr 1
    .amdhsa_user_sgpr_queue_ptr 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_id 1
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
    .amdhsa_system_vgpr_workitem_id 2
    .amdhsa_next_free_vgpr 20
    .amdhsa_next_free_sgpr 66
    .amdhsa_named_barrier_count 0
    .amdhsa_reserve_vcc 1
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
      - .offset:         16
        .size:           4
        .value_kind:     by_value
      - .offset:         20
        .size:           4
        .value_kind:     by_value
      - .address_space:  global
        .offset:         24
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         32
        .size:           8
        .value_kind:     global_buffer
      - .offset:         40
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         44
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         48
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         52
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         54
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         56
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         58
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         60
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         62
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         80
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         88
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         96
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         104
        .size:           2
        .value_kind:     hidden_grid_dims
      - .offset:         120
        .size:           8
        .value_kind:     hidden_hostcall_buffer
      - .offset:         128
        .size:           8
        .value_kind:     hidden_multigrid_sync_arg
      - .offset:         136
        .size:           8
        .value_kind:     hidden_heap_v1
      - .offset:         144
        .size:           8
        .value_kind:     hidden_default_queue
      - .offset:         152
        .size:           8
        .value_kind:     hidden_completion_action
      - .offset:         160
        .size:           4
        .value_kind:     hidden_dynamic_lds_size
      - .offset:         240
        .size:           8
        .value_kind:     hidden_queue_ptr
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 296
    .max_flat_workgroup_size: 128
    .name:           tdm_mbarrier
    .private_segment_fixed_size: 0
    .sgpr_count:     68
    .sgpr_spill_count: 0
    .symbol:         tdm_mbarrier.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     20
    .vgpr_spill_count: 0
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--gfx1250
amdhsa.version:
  - 1
  - 2
...
  .end_amdgpu_metadata
