//! pair before v_add_u32 entry:dispatch_ptr
//! scalar before v_add_u32 entry:workgroup_id_y
// The packet comes in front of the arguments, and a dimension of the workgroup in front of one that the code expects.
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  v_add_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_workgroup_id_x 0
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 1
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], WorkgroupId(Z) in s2, WorkitemId(X) in v0 bits 0..10
//| starts with: DispatchPtr in s[0:1], KernargPtr in s[2:3], WorkgroupId(Y) in s4, WorkgroupId(Z) in s5, WorkitemId(X) in v0 bits 0..10
//| k.instrumented:
//| 0x3000          s_mov_b64 s[6:7], s[0:1]
//| 0x3004          s_mov_b32 s8, s4
//| 0x3008          s_mov_b64 s[0:1], s[2:3]
//| 0x300c          s_mov_b32 s2, s5
//| 0x3010  0x1500  s_mov_b32 s40, s0
//| 0x3014  0x1504  s_mov_b32 s40, s1
//| 0x3018  0x1508  s_mov_b32 s40, s2
//| 0x301c          v_cmp_eq_u64_e64 vcc, s[6:7], 0
//| 0x3024          s_mov_b32 s0, s8
//| 0x3028          s_add_u32 s0, s0, 1
//| 0x302c  0x150c  v_add_u32_e32 v4, v0, v0
//| 0x3030  0x1510  s_endpgm
//| k: 56 to 56 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
