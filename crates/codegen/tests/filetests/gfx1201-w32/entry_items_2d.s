//! vector before v_add_nc_u32 entry:workitem_ids
// The code expects the first two of the work-item's ids.
  s_mov_b32 s40, s0
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 1
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 1

//| expects: KernargPtr in s[0:1], WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, WorkitemId(X) in v0 bits 0..10, WorkitemId(Y) in v0 bits 10..20
//| starts with: KernargPtr in s[0:1], WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, WorkitemId(X) in v0 bits 0..10, WorkitemId(Y) in v0 bits 10..20, WorkitemId(Z) in v0 bits 20..30
//| k.instrumented:
//| 0x3000          s_mov_b32 s2, exec_lo
//| 0x3004          s_mov_b32 exec_lo, -1
//| 0x3008          v_mov_b32_e32 v3, v0
//| 0x300c          s_wait_alu 0xf1fc
//| 0x3010          s_mov_b32 exec_lo, s2
//| 0x3014          v_and_b32_e32 v0, 0xfffff, v0
//| 0x301c  0x1500  s_mov_b32 s40, s0
//| 0x3020          v_add_nc_u32_e32 v1, 1, v3
//| 0x3024  0x1504  v_add_nc_u32_e32 v4, v0, v0
//| 0x3028  0x1508  s_endpgm
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
