//! pair before v_add_nc_u32 entry:dispatch_ptr
// Preloaded arguments move back.
  s_branch .Lstart
  .p2align 8
.Lstart:
  s_mov_b32 s40, s0
  s_mov_b32 s40, s1
  s_mov_b32 s40, s2
  s_mov_b32 s40, s3
  s_mov_b32 s40, s4
  v_add_nc_u32_e32 v4, v0, v0
  s_endpgm
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_kernarg_preload_length 3
.amdhsa_user_sgpr_kernarg_preload_offset 1
.amdhsa_system_sgpr_workgroup_id_x 1
.amdhsa_system_sgpr_workgroup_id_y 0
.amdhsa_system_sgpr_workgroup_id_z 0
.amdhsa_system_vgpr_workitem_id 0

//| expects: KernargPtr in s[0:1], Argument(4) in s2, Argument(8) in s3, Argument(12) in s4, WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, PlaceInCluster in ttmp6, WorkitemId(X) in v0 bits 0..10
//| starts with: DispatchPtr in s[0:1], KernargPtr in s[2:3], Argument(4) in s4, Argument(8) in s5, Argument(12) in s6, WorkgroupId(X) in ttmp9, WorkgroupId(Y) in ttmp7 bits 0..16, WorkgroupId(Z) in ttmp7 bits 16..32, WaveInGroup in ttmp8 bits 25..30, PlaceInCluster in ttmp6, WorkitemId(X) in v0 bits 0..10
//| k.instrumented:
//| 0x3000          s_mov_b64 s[8:9], s[0:1]
//| 0x3004          s_mov_b64 s[0:1], s[2:3]
//| 0x3008          s_mov_b32 s2, s4
//| 0x300c          s_mov_b32 s3, s5
//| 0x3010          s_mov_b32 s4, s6
//| 0x3014  0x1500  s_branch 63  -> 0x3114
//| 0x3018  0x1504  s_nop 0
//| 0x301c  0x1508  s_nop 0
//| 0x3114  0x1600  s_mov_b32 s40, s0
//| 0x3118  0x1604  s_mov_b32 s40, s1
//| 0x311c  0x1608  s_mov_b32 s40, s2
//| 0x3120  0x160c  s_mov_b32 s40, s3
//| 0x3124  0x1610  s_mov_b32 s40, s4
//| 0x3128          v_nop
//| 0x312c          v_cmp_eq_u64_e64 vcc_lo, s[8:9], 0
//| 0x3134  0x1614  v_add_nc_u32_e32 v4, v0, v0
//| 0x3138  0x1618  s_endpgm
//| k: 106 to 106 SGPRs, 16 to 16 VGPRs, 16 to 16 waves
