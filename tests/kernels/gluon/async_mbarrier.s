  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
  .amdhsa_code_object_version 5
  .text
  .globl  async_mbarrier
  .p2align  8
  .type  async_mbarrier,@function
async_mbarrier:
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 25, 1), 1
  s_mov_b64 s[64:65], 0
  v_nop
  global_prefetch_b8 v0, s[64:65] scope:SCOPE_SE
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
  s_mov_b32 s3, 0
  v_and_b32_e32 v2, 0x3ff, v0
  s_mov_b32 s0, exec_lo
  s_delay_alu instid0(VALU_DEP_1)
  v_cmpx_eq_u32_e32 0, v2
  s_cbranch_execz .LBB0_2
  v_mov_b64_e32 v[0:1], 0xff000000ff
  v_mov_b32_e32 v3, 0
  s_wait_alu depctr_va_vdst(0)
  ds_store_b64 v3, v[0:1] offset:4096
.LBB0_2:
  s_or_b32 exec_lo, exec_lo, s0
  s_wait_dscnt 0x0
  s_barrier_signal -1
  s_wait_alu depctr_vm_vsrc(0)
  v_mov_b64_e32 v[0:1], 1
  s_load_b64 s[8:9], s[4:5], 0x10 nv
  v_dual_lshlrev_b32 v4, 3, v2 :: v_dual_bitop2_b32 v3, 31, v2 bitop3:0x40
  v_mov_b32_e32 v2, 0
  s_wait_xcnt 0x0
  s_load_b128 s[4:7], s[4:5], 0x0 nv
  s_bfe_u32 s0, ttmp8, 0x50019
  s_lshl_b32 s1, ttmp9, 5
  s_lshl_b32 s0, s0, 5
  s_and_b32 s2, ttmp7, 0xffff
  v_or_b32_e32 v5, s0, v3
  v_bitop3_b32 v3, v3, 48, s0 bitop3:0xc8
  s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_dual_lshrrev_b32 v6, 3, v5 :: v_dual_lshlrev_b32 v5, 4, v5
  v_and_or_b32 v6, v6, 15, s1
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_and_b32_e32 v5, 0x7f0, v5
  s_wait_kmcnt 0x0
  v_cmp_gt_i32_e32 vcc_lo, s8, v6
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_xad_u32 v8, v5, v3, 0
  v_or_b32_e32 v5, 16, v6
  v_add_nc_u32_e32 v3, 0x800, v8
  s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_2) | instid1(SALU_CYCLE_1)
  v_cmp_gt_i32_e64 s1, s8, v5
  s_barrier_wait -1
  s_lshl_b32 s0, s2, 6
  v_and_or_b32 v4, v4, 56, s0
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)
  v_cmp_gt_i32_e64 s2, s9, v4
  v_mad_u32 v6, v6, s9, v4
  v_mad_u32 v4, v5, s9, v4
  v_dual_ashrrev_i32 v7, 31, v6 :: v_dual_ashrrev_i32 v5, 31, v4
  s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
  v_lshl_add_u64 v[10:11], v[6:7], 1, s[4:5]
  s_and_b32 s0, vcc_lo, s2
  v_lshl_add_u64 v[12:13], v[4:5], 1, s[4:5]
  v_cndmask_b32_e64 v9, 0x7fffffff, v8, s0
  s_and_b32 vcc_lo, s2, s1
  v_cndmask_b32_e32 v14, 0x7fffffff, v3, vcc_lo
  s_wait_alu depctr_va_vdst(1)
  global_load_async_to_lds_b128 v9, v[10:11], off
  s_wait_alu depctr_va_vdst(0)
  global_load_async_to_lds_b128 v14, v[12:13], off
  s_wait_alu depctr_vm_vsrc(0)
  ds_atomic_async_barrier_arrive_b64 v2 offset:4096
  s_wait_alu depctr_vm_vsrc(0)
  ds_atomic_barrier_arrive_rtn_b64 v[0:1], v2, v[0:1] offset:4096
.LBB0_3:
  s_sleep 1
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0) depctr_vm_vsrc(0)
  ds_load_b32 v1, v2 offset:4096
  s_wait_dscnt 0x0
  v_xor_b32_e32 v1, v1, v0
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_and_b32_e32 v1, 0x20000000, v1
  v_cmp_ne_u32_e64 s1, 0, v1
  s_or_b32 s3, s1, s3
  s_delay_alu instid0(SALU_CYCLE_1)
  s_and_not1_b32 exec_lo, exec_lo, s3
  s_cbranch_execnz .LBB0_3
  s_or_b32 exec_lo, exec_lo, s3
  s_barrier_signal -1
  s_barrier_wait -1
  s_wait_alu depctr_va_vdst(0) depctr_vm_vsrc(0)
  ds_load_b128 v[0:3], v3
  s_and_saveexec_b32 s1, s0
  s_cbranch_execnz .LBB0_7
  s_or_b32 exec_lo, exec_lo, s1
  s_and_saveexec_b32 s0, vcc_lo
  s_cbranch_execnz .LBB0_8
.LBB0_6:
  s_endpgm
.LBB0_7:
  v_lshl_add_u64 v[6:7], v[6:7], 1, s[6:7]
  ds_load_b128 v[8:11], v8
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[6:7], v[8:11], off
  s_wait_xcnt 0x0
  s_or_b32 exec_lo, exec_lo, s1
  s_and_saveexec_b32 s0, vcc_lo
  s_cbranch_execz .LBB0_6
.LBB0_8:
  v_lshl_add_u64 v[4:5], v[4:5], 1, s[6:7]
  s_wait_dscnt 0x0
  s_wait_alu depctr_va_vdst(0)
  global_store_b128 v[4:5], v[0:3], off
  s_endpgm
.Lfunc_end0:
  .size  async_mbarrier, .Lfunc_end0-async_mbarrier
  .section  .rodata,"a",@progbits
  .p2align  6, 0x0
  .amdhsa_kernel async_mbarrier
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
    .amdhsa_next_free_vgpr 15
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
    .name:           async_mbarrier
    .private_segment_fixed_size: 0
    .sgpr_count:     68
    .sgpr_spill_count: 0
    .symbol:         async_mbarrier.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     15
    .vgpr_spill_count: 0
    .wavefront_size: 32
amdhsa.target:   amdgcn-amd-amdhsa--gfx1250
amdhsa.version:
  - 1
  - 2
...
  .end_amdgpu_metadata
