  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
  .amdhsa_code_object_version 5
  .text
  .globl  tdm_copy
  .p2align  8
  .type  tdm_copy,@function
tdm_copy:
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1
  s_mov_b64 s[64:65], 0
  v_nop
  global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
  s_bfe_u32 s22, ttmp8, 0x50019
  s_lshl_b32 s2, ttmp9, 5
  s_lshl_b32 s3, ttmp7, 6
  s_mov_b32 s11, 0
  s_mov_b32 s12, 1
  s_mov_b32 s4, 0x2d10000
  s_and_b32 s10, s3, 0x3fffc0
  s_ashr_i32 s3, s2, 31
  v_and_b32_e32 v0, 31, v0
  s_clause 0x1
  s_load_b64 s[8:9], s[0:1], 0x10 nv
  s_load_b128 s[16:19], s[0:1], 0x0 nv
  s_wait_kmcnt 0x0
  s_mov_b32 s1, s8
  s_and_b32 s5, s8, 0xffff0000
  s_ashr_i32 s6, s9, 31
  s_bitset1_b32 s17, 31
  s_mov_b32 s0, s9
  s_bitset1_b32 s19, 31
  s_mov_b32 s20, s9
  s_and_b32 s21, s6, 0xffff
  s_lshr_b64 s[0:1], s[0:1], 16
  s_mul_u64 s[6:7], s[20:21], s[2:3]
  s_lshr_b32 s1, s0, 16
  s_add_nc_u64 s[6:7], s[6:7], s[10:11]
  s_or_b32 s1, s1, s5
  s_lshl_b64 s[6:7], s[6:7], 1
  s_sub_co_i32 s1, s1, s2
  s_mov_b32 s8, 8
  s_max_i32 s1, s1, 0
  s_cmp_gt_i32 s2, -1
  s_add_nc_u64 s[2:3], s[6:7], s[16:17]
  s_cselect_b32 s1, s1, 0
  s_and_b32 s5, s9, 0xffff
  s_lshl_b32 s0, s0, 16
  s_add_nc_u64 s[16:17], s[6:7], s[18:19]
  s_or_b32 s0, s0, s5
  s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)
  s_sub_co_i32 s0, s0, s10
  s_max_i32 s0, s0, 0
  s_cmp_gt_i32 s10, -1
  s_cselect_b32 s0, s0, 0
  s_and_b32 s5, s1, 0x7fff0000
  s_and_b32 s23, s22, 3
  s_lshr_b64 s[6:7], s[0:1], 16
  s_lshl_b32 s1, s23, 3
  s_and_b32 s7, s6, 0x7fff
  s_lshr_b32 s6, s6, 16
  s_mul_i32 s13, s23, 0x480
  s_or_b32 s6, s6, s5
  s_lshl_b32 s10, s23, 4
  s_sub_co_i32 s1, s6, s1
  s_mul_u64 s[18:19], s[20:21], s[10:11]
  s_max_i32 s1, s1, 0
  s_add_nc_u64 s[14:15], s[2:3], s[18:19]
  s_lshl_b32 s5, s0, 16
  s_lshl_b32 s0, s1, 16
  s_lshr_b32 s1, s1, 16
  s_or_b32 s6, s0, s7
  s_or_b32 s7, s1, 0x400000
  s_mov_b32 s10, s21
  s_lshl_b32 s0, s22, 5
  tensor_load_to_lds s[12:15], s[4:11]
  v_and_or_b32 v0, 0x60, s0, v0
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_2)
  v_lshlrev_b32_e32 v1, 1, v0
  v_lshl_add_u32 v10, v0, 4, 0
  s_lshl_b32 s0, s23, 10
  v_and_b32_e32 v0, 0xf8, v1
  s_add_co_i32 s13, s0, 0x1200
  s_add_nc_u64 s[14:15], s[16:17], s[18:19]
  s_mov_b32 s4, 0x10000
  s_delay_alu instid0(VALU_DEP_1)
  v_add_nc_u32_e32 v0, v10, v0
  s_wait_tensorcnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_wait_alu depctr_va_vdst(0)
  ds_load_b128 v[2:5], v0
  ds_load_b128 v[6:9], v0 offset:2304
  s_wait_dscnt 0x1
  s_wait_alu depctr_vm_vsrc(0)
  v_pk_lshlrev_b16 v0, 1, v2 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v1, 1, v3 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v2, 1, v4 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v3, 1, v5 op_sel_hi:[0,1]
  s_wait_dscnt 0x0
  v_pk_lshlrev_b16 v4, 1, v6 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v5, 1, v7 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v6, 1, v8 op_sel_hi:[0,1]
  v_pk_lshlrev_b16 v7, 1, v9 op_sel_hi:[0,1]
  s_wait_alu depctr_va_vdst(4)
  ds_store_b128 v10, v[0:3] offset:4608
  s_wait_alu depctr_va_vdst(0)
  ds_store_b128 v10, v[4:7] offset:6656
  s_wait_dscnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  tensor_store_from_lds s[12:15], s[4:11]
  s_wait_tensorcnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_endpgm
.Lfunc_end0:
  .size  tdm_copy, .Lfunc_end0-tdm_copy
  .section  .rodata,"a",@progbits
  .p2align  6, 0x0
  .amdhsa_kernel tdm_copy
    .amdhsa_group_segment_fixed_size 0
    .amdhsa_private_segment_fixed_size 0
    .amdhsa_kernarg_size 40
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
    .amdhsa_next_free_vgpr 11
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 40
    .max_flat_workgroup_size: 128
    .name:           tdm_copy
    .private_segment_fixed_size: 0
    .sgpr_count:     66
    .sgpr_spill_count: 0
    .symbol:         tdm_copy.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     11
    .vgpr_spill_count: 0
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--gfx1250
amdhsa.version:
  - 1
  - 2
...
  .end_amdgpu_metadata
