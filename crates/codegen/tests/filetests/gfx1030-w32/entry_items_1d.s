//! vector before v_add_nc_u32 entry:workitem_ids
// The code expects the first one of the work-item's ids.
  s_mov_b32 s40, s0
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0
//| starts with: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0, WorkitemId(Y) in v1, WorkitemId(Z) in v2
//| k.instrumented:
//| 0x3000          s_mov_b32 s3, exec_lo
//| 0x3004          s_mov_b32 exec_lo, -1
//| 0x3008          v_lshl_or_b32 v3, v1, 10, v0
//| 0x3010          v_lshl_or_b32 v3, v2, 20, v3
//| 0x3018          s_mov_b32 exec_lo, s3
//| 0x301c  0x1500  s_mov_b32 s40, s0
//| 0x3020          v_add_nc_u32_e32 v1, 1, v3
//| 0x3024  0x1504  v_add_nc_u32_e32 v4, v0, v0
//| 0x3028  0x1508  s_endpgm
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
