//! stack before v_add_nc_u32 v0
//! pair before v_add_nc_u32 entry:dispatch_ptr
// Scratch is found by the buffer that the kernel asks for; the offset comes last and moves back.
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  s_mov_b32 s40, s3
  s_mov_b32 s40, s4
  s_mov_b32 s40, s5
  s_mov_b32 s40, s6
  s_mov_b32 s40, s7
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_private_segment_buffer 1
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_system_sgpr_private_segment_wavefront_offset 1
.amdhsa_private_segment_fixed_size 32
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: PrivateSegmentBuffer in s[0:3], KernargPtr in s[4:5], WorkgroupId(X) in s6, ScratchOffset in s7, WorkitemId(X) in v0
//| starts with: PrivateSegmentBuffer in s[0:3], DispatchPtr in s[4:5], KernargPtr in s[6:7], WorkgroupId(X) in s8, ScratchOffset in s9, WorkitemId(X) in v0
//| k.instrumented:
//| 0x3000          s_and_b32 s13, s1, 0xffff
//| 0x3008          s_add_u32 s12, s0, s9
//| 0x300c          s_addc_u32 s13, s13, 0
//| 0x3010          s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s12
//| 0x3014          s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s13
//| 0x3018          s_mov_b64 s[10:11], s[4:5]
//| 0x301c          s_mov_b64 s[4:5], s[6:7]
//| 0x3020          s_mov_b32 s6, s8
//| 0x3024          s_mov_b32 s7, s9
//| 0x3028  0x1500  s_mov_b32 s40, s0
//| 0x302c  0x1504  s_mov_b32 s40, s1
//| 0x3030  0x1508  s_mov_b32 s40, s2
//| 0x3034  0x150c  s_mov_b32 s40, s3
//| 0x3038  0x1510  s_mov_b32 s40, s4
//| 0x303c  0x1514  s_mov_b32 s40, s5
//| 0x3040  0x1518  s_mov_b32 s40, s6
//| 0x3044  0x151c  s_mov_b32 s40, s7
//| 0x3048          s_mov_b32 s0, 32
//| 0x304c          scratch_store_dword off, v0, s0
//| 0x3054          v_cmp_eq_u64_e64 vcc, s[10:11], 0
//| 0x305c  0x1520  v_add_nc_u32_e32 v4, v0, v0
//| 0x3060  0x1524  s_endpgm
//| k: 106 to 106 SGPRs, 8 to 8 VGPRs, 16 to 16 waves
