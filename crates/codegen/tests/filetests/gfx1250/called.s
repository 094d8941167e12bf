//! called
//! memory before 2
//! memory after 4
//! scribble after 5 state
//! count before 8 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx1250"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_load_b64 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_wait_kmcnt 0x0
  global_load_b32 v2, v1, s[2:3]
  v_cmp_eq_u32_e32 vcc_lo, 3, v1
  s_cmp_eq_u32 s2, 7
  s_wait_loadcnt 0x0
  v_cndmask_b32_e32 v2, v1, v2, vcc_lo
  s_cbranch_scc1 .Lend
  global_store_b32 v1, v2, s[2:3]
.Lend:
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr 32
.end_amdhsa_kernel

//| k.instrumented:
//| 0x3000          s_mov_b64 s[4:5], 0
//| 0x3004  0x1300  s_load_b64 s[2:3], s[0:1], 0x0
//| 0x300c  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x3010          s_call_i64 s[8:9], 52  -> 0x30e4
//| 0x3014  0x130c  s_wait_kmcnt 0x0
//| 0x3018  0x1310  global_load_b32 v2, v1, s[2:3]
//| 0x3024  0x131c  v_cmp_eq_u32_e32 vcc_lo, 3, v1
//| 0x3028          s_mov_b64 s[0:1], vcc
//| 0x302c          s_call_i64 s[10:11], 61  -> 0x3124
//| 0x3030          s_mov_b64 vcc, s[0:1]
//| 0x3034  0x1320  s_cmp_eq_u32 s2, 7
//| 0x3038          s_cselect_b32 s0, 1, 0
//| 0x303c          s_mov_b64 s[6:7], vcc
//| 0x3040          s_mov_b32 s1, m0
//| 0x3044          s_getreg_b32 s8, hwreg(HW_REG_WAVE_MODE)
//| 0x3048          s_mov_b32 s9, s0
//| 0x304c          s_mov_b32 s11, s6
//| 0x3050          s_mov_b32 s17, s1
//| 0x3054          s_mov_b32 s18, s8
//| 0x3058          s_mov_b32 s10, exec_lo
//| 0x305c          v_nop
//| 0x3060          v_nop
//| 0x3064          v_nop
//| 0x3068          v_nop
//| 0x306c          s_call_i64 s[20:21], 61  -> 0x3164
//| 0x3070          s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s8
//| 0x3074          s_set_vgpr_msb 0
//| 0x3078          s_mov_b32 m0, s1
//| 0x307c          s_mov_b64 vcc, s[6:7]
//| 0x3080          s_cmp_lg_u32 s0, 0
//| 0x3084  0x1324  s_wait_loadcnt 0x0
//| 0x3088  0x1328  v_cndmask_b32_e32 v2, v1, v2, vcc_lo
//| 0x308c          s_cselect_b32 s0, 1, 0
//| 0x3090          s_call_i64 s[6:7], 96  -> 0x3214
//| 0x3094          s_cmp_lg_u32 s0, 0
//| 0x3098  0x132c  s_cbranch_scc1 3  -> 0x30a8
//| 0x309c  0x1330  global_store_b32 v1, v2, s[2:3]
//| 0x30a8          s_mov_b32 s2, exec_lo
//| 0x30ac          s_mov_b32 exec_lo, 1
//| 0x30b0          v_mov_b32_e32 v2, 0
//| 0x30b4          v_mov_b32_e32 v0, s4
//| 0x30b8          v_mov_b32_e32 v1, s5
//| 0x30bc          s_get_pc_i64 s[0:1]
//| 0x30c0          s_add_co_u32 s0, s0, 0xf40
//| 0x30c8          s_add_co_ci_u32 s1, s1, lit(0x0)
//| 0x30d0          global_atomic_add_u64 v2, v[0:1], s[0:1]
//| 0x30dc          s_mov_b32 exec_lo, s2
//| 0x30e0  0x133c  s_endpgm
//| 0x30e4          s_mov_b32 s6, exec_lo
//| 0x30e8          s_mov_b32 exec_lo, 1
//| 0x30ec          s_get_pc_i64 s[0:1]
//| 0x30f0          s_add_co_u32 s0, s0, 0xf10
//| 0x30f8          s_add_co_ci_u32 s1, s1, lit(0x0)
//| 0x3100          v_mov_b32_e32 v2, 1
//| 0x3104          v_mov_b32_e32 v3, 0
//| 0x3108          v_mov_b32_e32 v0, 0
//| 0x310c          v_cmp_eq_u32_e32 vcc_lo, 0, v0
//| 0x3110          global_atomic_add_u64 v0, v[2:3], s[0:1]
//| 0x311c          s_mov_b32 exec_lo, s6
//| 0x3120          s_set_pc_i64 s[8:9]
//| 0x3124          s_mov_b32 s8, exec_lo
//| 0x3128          s_mov_b32 exec_lo, 1
//| 0x312c          s_get_pc_i64 s[6:7]
//| 0x3130          s_add_co_u32 s6, s6, 0xed0
//| 0x3138          s_add_co_ci_u32 s7, s7, lit(0x0)
//| 0x3140          v_mov_b32_e32 v4, 1
//| 0x3144          v_mov_b32_e32 v5, 0
//| 0x3148          v_mov_b32_e32 v0, 0
//| 0x314c          v_cmp_eq_u32_e32 vcc_lo, 0, v0
//| 0x3150          global_atomic_add_u64 v0, v[4:5], s[6:7]
//| 0x315c          s_mov_b32 exec_lo, s8
//| 0x3160          s_set_pc_i64 s[10:11]
//| 0x3164          s_mov_b32 s16, exec_lo
//| 0x3168          s_mov_b32 exec_lo, -1
//| 0x316c          v_mov_b32_e32 v3, 0x5eed0003
//| 0x3174          v_mov_b32_e32 v4, 0x5eed0004
//| 0x317c          v_mov_b32_e32 v5, 0x5eed0005
//| 0x3184          s_mov_b32 exec_lo, s16
//| 0x3188          v_mov_b32_e32 v0, 0xdead0000
//| 0x3190          v_mov_b32_e32 v6, 0xdead0001
//| 0x3198          v_mov_b32_e32 v7, 0xdead0002
//| 0x31a0          v_cmp_eq_u32_e64 vcc_lo, v0, v6
//| 0x31a8          s_mov_b32 m0, 0xbad
//| 0x31b0          s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 8), 0xa5
//| 0x31b8          s_xor_b32 s9, s9, 0x1234567
//| 0x31c0          s_xor_b32 s11, s11, 0x1234567
//| 0x31c8          s_xor_b32 s17, s17, 0x1234567
//| 0x31d0          s_xor_b32 s18, s18, 0x1234567
//| 0x31d8          s_xor_b32 s10, s10, 0x1234567
//| 0x31e0          s_xor_b32 s19, s19, 0x1234567
//| 0x31e8          s_xor_b32 s16, s16, 0x1234567
//| 0x31f0          s_xor_b32 s12, s12, 0x1234567
//| 0x31f8          s_xor_b32 s13, s13, 0x1234567
//| 0x3200          s_xor_b32 s14, s14, 0x1234567
//| 0x3208          s_xor_b32 s15, s15, 0x1234567
//| 0x3210          s_set_pc_i64 s[20:21]
//| 0x3214          s_add_co_u32 s4, s4, 1
//| 0x3218          s_add_co_ci_u32 s5, s5, 0
//| 0x321c          s_set_pc_i64 s[6:7]
//| k: 106 to 106 SGPRs, 32 to 32 VGPRs, 16 to 16 waves
