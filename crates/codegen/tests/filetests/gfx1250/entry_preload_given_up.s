//! pair before v_add_nc_u32 entry:dispatch_ptr
// All user SGPRs are taken: code loads the arguments.
  s_branch .Lstart
  .p2align 8
.Lstart:
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  s_mov_b32 s40, s3
  s_mov_b32 s40, s31
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_kernarg_preload_length 30
.amdhsa_user_sgpr_kernarg_preload_offset 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], Argument(4) in s2, Argument(8) in s3, Argument(12) in s4, Argument(16) in s5, Argument(20) in s6, Argument(24) in s7, Argument(28) in s8, Argument(32) in s9, Argument(36) in s10, Argument(40) in s11, Argument(44) in s12, Argument(48) in s13, Argument(52) in s14, Argument(56) in s15, Argument(60) in s16, Argument(64) in s17, Argument(68) in s18, Argument(72) in s19, Argument(76) in s20, Argument(80) in s21, Argument(84) in s22, Argument(88) in s23, Argument(92) in s24, Argument(96) in s25, Argument(100) in s26, Argument(104) in s27, Argument(108) in s28, Argument(112) in s29, Argument(116) in s30, Argument(120) in s31, WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, PlaceInCluster in ttmp6, WorkitemId(X) in v0 bits 0..10
//| starts with: DispatchPtr in s[0:1], KernargPtr in s[2:3], WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, PlaceInCluster in ttmp6, WorkitemId(X) in v0 bits 0..10
//| k.instrumented:
//| 0x3000          s_mov_b64 s[32:33], s[0:1]
//| 0x3004          s_mov_b64 s[0:1], s[2:3]
//| 0x3008          s_load_b64 s[2:3], s[0:1], 0x4
//| 0x3010          s_load_b256 s[4:11], s[0:1], 0xc
//| 0x3018          s_load_b256 s[12:19], s[0:1], 0x2c
//| 0x3020          s_load_b256 s[20:27], s[0:1], 0x4c
//| 0x3028          s_load_b128 s[28:31], s[0:1], 0x6c
//| 0x3030          s_wait_kmcnt 0x0
//| 0x3034  0x1500  s_branch 63  -> 0x3134
//| 0x3038  0x1504  s_nop 0
//| 0x303c  0x1508  s_nop 0
//| 0x3134  0x1600  s_mov_b32 s40, s0
//| 0x3138  0x1604  s_mov_b32 s40, s1
//| 0x313c  0x1608  s_mov_b32 s40, s2
//| 0x3140  0x160c  s_mov_b32 s40, s3
//| 0x3144  0x1610  s_mov_b32 s40, s31
//| 0x3148          v_nop
//| 0x314c          v_cmp_eq_u64_e64 vcc_lo, s[32:33], 0
//| 0x3154  0x1614  v_add_nc_u32_e32 v4, v0, v0
//| 0x3158  0x1618  s_endpgm
//| k: 106 to 106 SGPRs, 16 to 16 VGPRs, 16 to 16 waves
