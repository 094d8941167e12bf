//! pair before v_add_nc_u32 entry:kernarg_ptr
//! scalar before v_add_nc_u32 entry:workgroup_id_x
// What the kernel asks for already does not move.
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0
//| starts with: KernargPtr in s[0:1], WorkgroupId(X) in s2, WorkitemId(X) in v0
//| k.instrumented:
//| 0x3000          s_mov_b64 s[4:5], s[0:1]
//| 0x3004          s_mov_b32 s3, s2
//| 0x3008  0x1500  s_mov_b32 s40, s0
//| 0x300c  0x1504  s_mov_b32 s40, s1
//| 0x3010  0x1508  s_mov_b32 s40, s2
//| 0x3014          v_cmp_eq_u64_e64 vcc, s[4:5], 0
//| 0x301c          s_mov_b32 s0, s3
//| 0x3020          s_add_u32 s0, s0, 1
//| 0x3024  0x150c  v_add_nc_u32_e32 v4, v0, v0
//| 0x3028  0x1510  s_endpgm
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
