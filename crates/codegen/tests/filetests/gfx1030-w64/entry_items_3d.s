//! vector before v_add_nc_u32 entry:workitem_ids
// The code expects all of the work-item's ids.
  s_mov_b32 s40, s0
  v_add_nc_u32_e32 v4, v0, v0
  v_add_nc_u32_e32 v4, v1, v1
  v_add_nc_u32_e32 v4, v2, v2
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 1
.amdhsa_system_sgpr_workgroup_id_z 1
.amdhsa_system_vgpr_workitem_id 2

//| expects: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkgroupId(Y) in s3, WorkgroupId(Z) in s4, WorkitemId(X) in v0, WorkitemId(Y) in v1, WorkitemId(Z) in v2
//| starts with: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkgroupId(Y) in s3, WorkgroupId(Z) in s4, WorkitemId(X) in v0, WorkitemId(Y) in v1, WorkitemId(Z) in v2
//| k.instrumented:
//| 0x3000          s_mov_b64 s[6:7], exec
//| 0x3004          s_mov_b64 exec, -1
//| 0x3008          v_lshl_or_b32 v3, v1, 10, v0
//| 0x3010          v_lshl_or_b32 v3, v2, 20, v3
//| 0x3018          s_mov_b64 exec, s[6:7]
//| 0x301c  0x1500  s_mov_b32 s40, s0
//| 0x3020          v_add_nc_u32_e32 v4, 1, v3
//| 0x3024  0x1504  v_add_nc_u32_e32 v4, v0, v0
//| 0x3028          v_add_nc_u32_e32 v0, 1, v3
//| 0x302c  0x1508  v_add_nc_u32_e32 v4, v1, v1
//| 0x3030          v_add_nc_u32_e32 v0, 1, v3
//| 0x3034  0x150c  v_add_nc_u32_e32 v4, v2, v2
//| 0x3038  0x1510  s_endpgm
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
