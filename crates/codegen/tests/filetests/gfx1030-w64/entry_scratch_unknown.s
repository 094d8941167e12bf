//! stack before v_add_nc_u32 v0
//! pair before v_add_nc_u32 entry:dispatch_ptr
// Nothing that the kernel asks for leads to scratch.
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
//| starts with: DispatchPtr in s[0:1], KernargPtr in s[2:3], WorkgroupId(X) in s4, WorkitemId(X) in v0
//| k.instrumented:
//| 0x3000          s_mov_b64 s[6:7], s[0:1]
//| 0x3004          s_mov_b64 s[0:1], s[2:3]
//| 0x3008          s_mov_b32 s2, s4
//| 0x300c  0x1500  s_mov_b32 s40, s0
//| 0x3010  0x1504  s_mov_b32 s40, s1
//| 0x3014  0x1508  s_mov_b32 s40, s2
//| 0x3018          v_cmp_eq_u64_e64 vcc, s[6:7], 0
//| 0x3020  0x150c  v_add_nc_u32_e32 v4, v0, v0
//| 0x3024  0x1510  s_endpgm
//| rejected at 0x150c: the hook stack needs a stack of 16 bytes for each lane, and the kernel cannot be given so much scratch: it has none left, or it is not known where its waves' scratch is or ends
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
