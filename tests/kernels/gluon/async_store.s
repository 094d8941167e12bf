  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
  .amdhsa_code_object_version 5
  .text
  .globl  async_store
  .p2align  8
  .type  async_store,@function
async_store:
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1
  s_mov_b64 s[64:65], 0
  v_nop
  global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
  s_bfe_u32 s8, ttmp8, 0x50019
  s_clause 0x1
  s_load_b64 s[2:3], s[0:1], 0x10 nv
  s_load_b128 s[4:7], s[0:1], 0x0 nv
  v_lshlrev_b32_e32 v1, 3, v0
  s_wait_xcnt 0x0
  s_lshl_b32 s0, s8, 5
  s_lshl_b32 s1, ttmp9, 5
  v_and_or_b32 v0, v0, 31, s0
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)
  v_dual_lshrrev_b32 v2, 3, v0 :: v_dual_lshlrev_b32 v0, 4, v0
  s_and_b32 s8, ttmp7, 0xffff
  v_and_or_b32 v2, v2, 15, s1
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_and_b32_e32 v0, 0x7f0, v0
  s_wait_kmcnt 0x0
  v_cmp_gt_i32_e32 vcc_lo, s2, v2
  s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_dual_add_nc_u32 v5, 0, v0 :: v_dual_bitop2_b32 v0, 16, v2 bitop3:0x54
  v_add_nc_u32_e32 v4, 0x800, v5
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)
  v_cmp_gt_i32_e64 s0, s2, v0
  s_lshl_b32 s1, s8, 6
  v_and_or_b32 v1, v1, 56, s1
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)
  v_cmp_gt_i32_e64 s1, s3, v1
  v_mad_u32 v2, v2, s3, v1
  v_mad_u32 v0, v0, s3, v1
  v_dual_ashrrev_i32 v3, 31, v2 :: v_dual_ashrrev_i32 v1, 31, v0
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_lshl_add_u64 v[14:15], v[2:3], 1, s[4:5]
  s_and_b32 s2, vcc_lo, s1
  v_lshl_add_u64 v[16:17], v[0:1], 1, s[4:5]
  v_cndmask_b32_e64 v18, 0x7fffffff, v5, s2
  s_and_b32 vcc_lo, s1, s0
  v_cndmask_b32_e32 v19, 0x7fffffff, v4, vcc_lo
  s_wait_alu depctr_va_vdst(1)
  global_load_async_to_lds_b128 v18, v[14:15], off
  s_wait_alu depctr_va_vdst(0)
  global_load_async_to_lds_b128 v19, v[16:17], off
  s_wait_asynccnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  ds_load_b128 v[6:9], v5
  ds_load_b128 v[10:13], v5 offset:2048
  s_wait_dscnt 0x1
  v_pk_mul_lo_u16 v6, v6, 3 op_sel_hi:[1,0]
  s_wait_dscnt 0x0
  s_barrier_signal -1
  v_pk_mul_lo_u16 v7, v7, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v8, v8, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v9, v9, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v10, v10, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v11, v11, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v12, v12, 3 op_sel_hi:[1,0]
  v_pk_mul_lo_u16 v13, v13, 3 op_sel_hi:[1,0]
  s_barrier_wait -1
  s_wait_alu depctr_va_vdst(4)
  ds_store_b128 v5, v[6:9]
  s_wait_alu depctr_va_vdst(0)
  ds_store_b128 v5, v[10:13] offset:2048
  s_wait_dscnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_and_saveexec_b32 s0, s2
  s_cbranch_execz .LBB0_2
  v_lshl_add_u64 v[2:3], v[2:3], 1, s[6:7]
  s_wait_alu depctr_va_vdst(0)
  global_store_async_from_lds_b128 v[2:3], v5, off
.LBB0_2:
  s_or_b32 exec_lo, exec_lo, s0
  s_and_saveexec_b32 s0, vcc_lo
  s_cbranch_execz .LBB0_4
  v_lshl_add_u64 v[0:1], v[0:1], 1, s[6:7]
  s_wait_alu depctr_va_vdst(0)
  global_store_async_from_lds_b128 v[0:1], v4, off
.LBB0_4:
  s_or_b32 exec_lo, exec_lo, s0
  s_wait_asynccnt 0x0
  s_barrier_signal -1
  s_barrier_wait -1
  s_endpgm
.Lfunc_end0:
  .size  async_store, .Lfunc_end0-async_store
  .section  .rodata,"a",@progbits
  .p2align  6, 0x0
  .amdhsa_kernel async_store
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
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 40
    .max_flat_workgroup_size: 128
    .name:           async_store
    .private_segment_fixed_size: 0
    .sgpr_count:     68
    .sgpr_spill_count: 0
    .symbol:         async_store.kd
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
