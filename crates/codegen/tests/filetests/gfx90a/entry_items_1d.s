//! vector before v_add_u32 entry:workitem_ids
// The code expects the first one of the work-item's ids.
  s_mov_b32 s40, s0
  v_add_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0 bits 0..10
//| starts with: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0 bits 0..10, WorkitemId(Y) in v0 bits 10..20, WorkitemId(Z) in v0 bits 20..30
//| k.instrumented:
//| 0x3000          s_mov_b64 s[4:5], exec
//| 0x3004          s_mov_b64 exec, -1
//| 0x3008          v_mov_b32_e32 v3, v0
//| 0x300c          s_mov_b64 exec, s[4:5]
//| 0x3010          v_and_b32_e32 v0, 0x3ff, v0
//| 0x3018  0x1500  s_mov_b32 s40, s0
//| 0x301c          v_add_u32_e32 v1, 1, v3
//| 0x3020  0x1504  v_add_u32_e32 v4, v0, v0
//| 0x3024  0x1508  s_endpgm
//| k: 56 to 56 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
