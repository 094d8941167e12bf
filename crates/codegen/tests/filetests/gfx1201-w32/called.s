//! called
//! memory before 2
//! memory after 4
//! scribble after 5 state
//! count before 8 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx1201"
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
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel

//| k.instrumented:
//| 0x3000          s_mov_b64 s[4:5], 0
//| 0x3004  0x1300  s_load_b64 s[2:3], s[0:1], 0x0
//| 0x300c  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x3010          s_call_b64 s[10:11], 53  -> 0x30e8
//| 0x3014  0x130c  s_wait_kmcnt 0x0
//| 0x3018  0x1310  global_load_b32 v2, v1, s[2:3]
//| 0x3024  0x131c  v_cmp_eq_u32_e32 vcc_lo, 3, v1
//| 0x3028          s_mov_b64 s[6:7], vcc
//| 0x302c          s_call_b64 s[12:13], 64  -> 0x3130
//| 0x3030          s_mov_b64 vcc, s[6:7]
//| 0x3034          s_wait_alu 0xf1fc
//| 0x3038  0x1320  s_cmp_eq_u32 s2, 7
//| 0x303c          s_cselect_b32 s6, 1, 0
//| 0x3040          s_mov_b64 s[8:9], vcc
//| 0x3044          s_mov_b32 s7, m0
//| 0x3048          s_getreg_b32 s10, hwreg(HW_REG_WAVE_MODE)
//| 0x304c          s_wait_alu 0xf1fc
//| 0x3050          s_mov_b32 s11, s6
//| 0x3054          s_mov_b32 s17, s8
//| 0x3058          s_mov_b32 s19, s7
//| 0x305c          s_mov_b32 s20, s10
//| 0x3060          s_mov_b32 s16, exec_lo
//| 0x3064          s_call_b64 s[22:23], 68  -> 0x3178
//| 0x3068          s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s10
//| 0x306c          s_mov_b32 m0, s7
//| 0x3070          s_mov_b64 vcc, s[8:9]
//| 0x3074          s_cmp_lg_u32 s6, 0
//| 0x3078          s_wait_alu 0xf1fc
//| 0x307c  0x1324  s_wait_loadcnt 0x0
//| 0x3080  0x1328  v_cndmask_b32_e32 v2, v1, v2, vcc_lo
//| 0x3084          s_cselect_b32 s6, 1, 0
//| 0x3088          s_call_b64 s[8:9], 104  -> 0x322c
//| 0x308c          s_wait_alu 0xf1fc
//| 0x3090          s_cmp_lg_u32 s6, 0
//| 0x3094  0x132c  s_cbranch_scc1 3  -> 0x30a4
//| 0x3098  0x1330  global_store_b32 v1, v2, s[2:3]
//| 0x30a4          s_mov_b32 s8, exec_lo
//| 0x30a8          s_mov_b32 exec_lo, 1
//| 0x30ac          v_mov_b32_e32 v2, 0
//| 0x30b0          s_wait_alu 0xf1fc
//| 0x30b4          v_mov_b32_e32 v0, s4
//| 0x30b8          v_mov_b32_e32 v1, s5
//| 0x30bc          s_getpc_b64 s[6:7]
//| 0x30c0          s_wait_alu 0xf1fc
//| 0x30c4          s_add_co_u32 s6, s6, 0xf40
//| 0x30cc          s_add_co_ci_u32 s7, s7, lit(0x0)
//| 0x30d4          global_atomic_add_u64 v2, v[0:1], s[6:7]
//| 0x30e0          s_mov_b32 exec_lo, s8
//| 0x30e4  0x133c  s_endpgm
//| 0x30e8          s_mov_b32 s8, exec_lo
//| 0x30ec          s_mov_b32 exec_lo, 1
//| 0x30f0          s_getpc_b64 s[6:7]
//| 0x30f4          s_wait_alu 0xfffe
//| 0x30f8          s_add_co_u32 s6, s6, 0xf0c
//| 0x3100          s_add_co_ci_u32 s7, s7, lit(0x0)
//| 0x3108          v_mov_b32_e32 v2, 1
//| 0x310c          v_mov_b32_e32 v3, 0
//| 0x3110          v_mov_b32_e32 v0, 0
//| 0x3114          v_cmp_eq_u32_e32 vcc_lo, 0, v0
//| 0x3118          global_atomic_add_u64 v0, v[2:3], s[6:7]
//| 0x3124          s_wait_alu 0xfffe
//| 0x3128          s_mov_b32 exec_lo, s8
//| 0x312c          s_setpc_b64 s[10:11]
//| 0x3130          s_mov_b32 s10, exec_lo
//| 0x3134          s_mov_b32 exec_lo, 1
//| 0x3138          s_getpc_b64 s[8:9]
//| 0x313c          s_wait_alu 0xfffe
//| 0x3140          s_add_co_u32 s8, s8, 0xec4
//| 0x3148          s_add_co_ci_u32 s9, s9, lit(0x0)
//| 0x3150          v_mov_b32_e32 v4, 1
//| 0x3154          v_mov_b32_e32 v5, 0
//| 0x3158          v_mov_b32_e32 v0, 0
//| 0x315c          v_cmp_eq_u32_e32 vcc_lo, 0, v0
//| 0x3160          global_atomic_add_u64 v0, v[4:5], s[8:9]
//| 0x316c          s_wait_alu 0xfffe
//| 0x3170          s_mov_b32 exec_lo, s10
//| 0x3174          s_setpc_b64 s[12:13]
//| 0x3178          s_mov_b32 s18, exec_lo
//| 0x317c          s_wait_alu 0xfffe
//| 0x3180          s_mov_b32 exec_lo, -1
//| 0x3184          v_mov_b32_e32 v3, 0x5eed0003
//| 0x318c          v_mov_b32_e32 v4, 0x5eed0004
//| 0x3194          v_mov_b32_e32 v5, 0x5eed0005
//| 0x319c          s_mov_b32 exec_lo, s18
//| 0x31a0          v_mov_b32_e32 v0, 0xdead0000
//| 0x31a8          v_mov_b32_e32 v6, 0xdead0001
//| 0x31b0          v_mov_b32_e32 v7, 0xdead0002
//| 0x31b8          v_cmp_eq_u32_e64 vcc_lo, v0, v6
//| 0x31c0          s_mov_b32 m0, 0xbad
//| 0x31c8          s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 8), 0xa5
//| 0x31d0          s_xor_b32 s11, s11, 0x1234567
//| 0x31d8          s_xor_b32 s17, s17, 0x1234567
//| 0x31e0          s_xor_b32 s19, s19, 0x1234567
//| 0x31e8          s_xor_b32 s20, s20, 0x1234567
//| 0x31f0          s_xor_b32 s16, s16, 0x1234567
//| 0x31f8          s_xor_b32 s21, s21, 0x1234567
//| 0x3200          s_xor_b32 s18, s18, 0x1234567
//| 0x3208          s_xor_b32 s12, s12, 0x1234567
//| 0x3210          s_xor_b32 s13, s13, 0x1234567
//| 0x3218          s_xor_b32 s14, s14, 0x1234567
//| 0x3220          s_xor_b32 s15, s15, 0x1234567
//| 0x3228          s_setpc_b64 s[22:23]
//| 0x322c          s_add_co_u32 s4, s4, 1
//| 0x3230          s_add_co_ci_u32 s5, s5, 0
//| 0x3234          s_setpc_b64 s[8:9]
//| k: 106 to 106 SGPRs, 24 to 24 VGPRs, 16 to 16 waves
