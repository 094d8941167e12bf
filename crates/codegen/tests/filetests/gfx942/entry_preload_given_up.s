//! pair before v_add_u32 entry:dispatch_ptr
// All user SGPRs are taken: code loads the arguments.
  s_branch .Lstart
  .p2align 8
.Lstart:
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  s_mov_b32 s40, s3
  s_mov_b32 s40, s15
  v_add_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_kernarg_preload_length 14
.amdhsa_user_sgpr_kernarg_preload_offset 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], Argument(4) in s2, Argument(8) in s3, Argument(12) in s4, Argument(16) in s5, Argument(20) in s6, Argument(24) in s7, Argument(28) in s8, Argument(32) in s9, Argument(36) in s10, Argument(40) in s11, Argument(44) in s12, Argument(48) in s13, Argument(52) in s14, Argument(56) in s15, WorkgroupId(X) in s16, WorkitemId(X) in v0 bits 0..10
//| starts with: DispatchPtr in s[0:1], KernargPtr in s[2:3], WorkgroupId(X) in s16, WorkitemId(X) in v0 bits 0..10
//| k.instrumented:
//| 0x3000          s_branch 73  -> 0x3128
//| 0x3004          s_nop 0
//| 0x3008          s_nop 0
//| 0x3100          s_mov_b64 s[18:19], s[0:1]
//| 0x3104          s_mov_b64 s[0:1], s[2:3]
//| 0x3108          s_load_dwordx2 s[2:3], s[0:1], 0x4
//| 0x3110          s_load_dwordx8 s[4:11], s[0:1], 0xc
//| 0x3118          s_load_dwordx4 s[12:15], s[0:1], 0x2c
//| 0x3120          s_waitcnt lgkmcnt(0)
//| 0x3124          s_branch 73  -> 0x324c
//| 0x3128          s_mov_b64 s[18:19], s[0:1]
//| 0x312c          s_mov_b64 s[0:1], s[2:3]
//| 0x3130          s_load_dwordx2 s[2:3], s[0:1], 0x4
//| 0x3138          s_load_dwordx8 s[4:11], s[0:1], 0xc
//| 0x3140          s_load_dwordx4 s[12:15], s[0:1], 0x2c
//| 0x3148          s_waitcnt lgkmcnt(0)
//| 0x314c  0x1500  s_branch 63  -> 0x324c
//| 0x3150  0x1504  s_nop 0
//| 0x3154  0x1508  s_nop 0
//| 0x324c  0x1600  s_mov_b32 s40, s0
//| 0x3250  0x1604  s_mov_b32 s40, s1
//| 0x3254  0x1608  s_mov_b32 s40, s2
//| 0x3258  0x160c  s_mov_b32 s40, s3
//| 0x325c  0x1610  s_mov_b32 s40, s15
//| 0x3260          v_cmp_eq_u64_e64 vcc, s[18:19], 0
//| 0x3268  0x1614  v_add_u32_e32 v4, v0, v0
//| 0x326c  0x1618  s_endpgm
//| k: 56 to 56 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
