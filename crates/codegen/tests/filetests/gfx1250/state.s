//! scribble before 6 state
//! memory after 7
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
//| 0x3000  0x1300  s_load_b64 s[2:3], s[0:1], 0x0
//| 0x3008  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x300c  0x130c  s_wait_kmcnt 0x0
//| 0x3010  0x1310  global_load_b32 v2, v1, s[2:3]
//| 0x301c  0x131c  v_cmp_eq_u32_e32 vcc_lo, 3, v1
//| 0x3020  0x1320  s_cmp_eq_u32 s2, 7
//| 0x3024          s_cselect_b32 s0, 1, 0
//| 0x3028          s_mov_b64 s[4:5], vcc
//| 0x302c          s_mov_b32 s1, m0
//| 0x3030          s_getreg_b32 s6, hwreg(HW_REG_WAVE_MODE)
//| 0x3034          s_mov_b32 s7, s0
//| 0x3038          s_mov_b32 s13, s4
//| 0x303c          s_mov_b32 s15, s1
//| 0x3040          s_mov_b32 s16, s6
//| 0x3044          s_mov_b32 s12, exec_lo
//| 0x3048          s_mov_b32 s14, exec_lo
//| 0x304c          s_mov_b32 exec_lo, -1
//| 0x3050          v_mov_b32_e32 v3, 0x5eed0003
//| 0x3058          v_mov_b32_e32 v4, 0x5eed0004
//| 0x3060          v_mov_b32_e32 v5, 0x5eed0005
//| 0x3068          s_mov_b32 exec_lo, s14
//| 0x306c          v_mov_b32_e32 v0, 0xdead0000
//| 0x3074          v_mov_b32_e32 v6, 0xdead0001
//| 0x307c          v_mov_b32_e32 v7, 0xdead0002
//| 0x3084          v_cmp_eq_u32_e64 vcc_lo, v0, v6
//| 0x308c          s_mov_b32 m0, 0xbad
//| 0x3094          s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 8), 0xa5
//| 0x309c          s_xor_b32 s7, s7, 0x1234567
//| 0x30a4          s_xor_b32 s13, s13, 0x1234567
//| 0x30ac          s_xor_b32 s15, s15, 0x1234567
//| 0x30b4          s_xor_b32 s16, s16, 0x1234567
//| 0x30bc          s_xor_b32 s12, s12, 0x1234567
//| 0x30c4          s_xor_b32 s17, s17, 0x1234567
//| 0x30cc          s_xor_b32 s14, s14, 0x1234567
//| 0x30d4          s_xor_b32 s8, s8, 0x1234567
//| 0x30dc          s_xor_b32 s9, s9, 0x1234567
//| 0x30e4          s_xor_b32 s10, s10, 0x1234567
//| 0x30ec          s_xor_b32 s11, s11, 0x1234567
//| 0x30f4          s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s6
//| 0x30f8          s_set_vgpr_msb 0
//| 0x30fc          s_mov_b32 m0, s1
//| 0x3100          s_mov_b64 vcc, s[4:5]
//| 0x3104          s_cmp_lg_u32 s0, 0
//| 0x3108  0x1324  s_wait_loadcnt 0x0
//| 0x310c  0x1328  v_cndmask_b32_e32 v2, v1, v2, vcc_lo
//| 0x3110          s_cselect_b32 s0, 1, 0
//| 0x3114          v_nop
//| 0x3118          v_nop
//| 0x311c          v_nop
//| 0x3120          v_nop
//| 0x3124          v_nop
//| 0x3128          v_nop
//| 0x312c          v_nop
//| 0x3130          s_mov_b32 s6, exec_lo
//| 0x3134          s_mov_b32 exec_lo, 1
//| 0x3138          s_get_pc_i64 s[4:5]
//| 0x313c          s_add_co_u32 s4, s4, 0xec4
//| 0x3144          s_add_co_ci_u32 s5, s5, lit(0x0)
//| 0x314c          v_mov_b32_e32 v4, 1
//| 0x3150          v_mov_b32_e32 v5, 0
//| 0x3154          v_mov_b32_e32 v0, 0
//| 0x3158          v_cmp_eq_u32_e32 vcc_lo, 0, v0
//| 0x315c          global_atomic_add_u64 v0, v[4:5], s[4:5]
//| 0x3168          s_mov_b32 exec_lo, s6
//| 0x316c          s_cmp_lg_u32 s0, 0
//| 0x3170  0x132c  s_cbranch_scc1 3  -> 0x3180
//| 0x3174  0x1330  global_store_b32 v1, v2, s[2:3]
//| 0x3180  0x133c  s_endpgm
//| k: 106 to 106 SGPRs, 32 to 32 VGPRs, 16 to 16 waves
