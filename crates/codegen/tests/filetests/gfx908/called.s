//! called
//! memory before 2
//! memory after 4
//! scribble after 5 state
//! count before 8 counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx908"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[2:3]
  v_cmp_eq_u32_e32 vcc, 3, v1
  s_cmp_eq_u32 s2, 7
  s_waitcnt vmcnt(0)
  v_cndmask_b32_e32 v2, v1, v2, vcc
  s_cbranch_scc1 .Lend
  global_store_dword v1, v2, s[2:3]
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
//| 0x3004  0x1300  s_load_dwordx2 s[2:3], s[0:1], 0x0
//| 0x300c  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x3010          s_call_b64 s[8:9], 45  -> 0x30c8
//| 0x3014  0x130c  s_waitcnt lgkmcnt(0)
//| 0x3018  0x1310  global_load_dword v2, v1, s[2:3]
//| 0x3020  0x1318  v_cmp_eq_u32_e32 vcc, 3, v1
//| 0x3024          s_mov_b64 s[0:1], vcc
//| 0x3028          s_call_b64 s[10:11], 54  -> 0x3104
//| 0x302c          s_mov_b64 vcc, s[0:1]
//| 0x3030  0x131c  s_cmp_eq_u32 s2, 7
//| 0x3034          s_cselect_b32 s0, 1, 0
//| 0x3038          s_mov_b64 s[6:7], vcc
//| 0x303c          s_mov_b32 s1, m0
//| 0x3040          s_getreg_b32 s8, hwreg(HW_REG_MODE)
//| 0x3044          s_mov_b32 s9, s0
//| 0x3048          s_mov_b32 s18, s6
//| 0x304c          s_mov_b32 s19, s1
//| 0x3050          s_mov_b32 s20, s8
//| 0x3054          s_mov_b32 s10, exec_lo
//| 0x3058          s_mov_b32 s11, exec_hi
//| 0x305c          s_call_b64 s[22:23], 56  -> 0x3140
//| 0x3060          s_setreg_b32 hwreg(HW_REG_MODE), s8
//| 0x3064          s_mov_b32 m0, s1
//| 0x3068          s_mov_b64 vcc, s[6:7]
//| 0x306c          s_cmp_lg_u32 s0, 0
//| 0x3070  0x1320  s_waitcnt vmcnt(0)
//| 0x3074  0x1324  v_cndmask_b32_e32 v2, v1, v2, vcc
//| 0x3078          s_cselect_b32 s0, 1, 0
//| 0x307c          s_call_b64 s[6:7], 92  -> 0x31f0
//| 0x3080          s_cmp_lg_u32 s0, 0
//| 0x3084  0x1328  s_cbranch_scc1 2  -> 0x3090
//| 0x3088  0x132c  global_store_dword v1, v2, s[2:3]
//| 0x3090          s_mov_b64 s[2:3], exec
//| 0x3094          s_mov_b64 exec, 1
//| 0x3098          v_mov_b32_e32 v2, 0
//| 0x309c          v_mov_b32_e32 v0, s4
//| 0x30a0          v_mov_b32_e32 v1, s5
//| 0x30a4          s_getpc_b64 s[0:1]
//| 0x30a8          s_add_u32 s0, s0, 0xf58
//| 0x30b0          s_addc_u32 s1, s1, lit(0x0)
//| 0x30b8          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x30c0          s_mov_b64 exec, s[2:3]
//| 0x30c4  0x1334  s_endpgm
//| 0x30c8          s_mov_b64 s[6:7], exec
//| 0x30cc          s_mov_b64 exec, 1
//| 0x30d0          s_getpc_b64 s[0:1]
//| 0x30d4          s_add_u32 s0, s0, 0xf2c
//| 0x30dc          s_addc_u32 s1, s1, lit(0x0)
//| 0x30e4          v_mov_b32_e32 v2, 1
//| 0x30e8          v_mov_b32_e32 v3, 0
//| 0x30ec          v_mov_b32_e32 v0, 0
//| 0x30f0          v_cmp_eq_u32_e32 vcc, 0, v0
//| 0x30f4          global_atomic_add_x2 v0, v[2:3], s[0:1]
//| 0x30fc          s_mov_b64 exec, s[6:7]
//| 0x3100          s_setpc_b64 s[8:9]
//| 0x3104          s_mov_b64 s[8:9], exec
//| 0x3108          s_mov_b64 exec, 1
//| 0x310c          s_getpc_b64 s[6:7]
//| 0x3110          s_add_u32 s6, s6, 0xef0
//| 0x3118          s_addc_u32 s7, s7, lit(0x0)
//| 0x3120          v_mov_b32_e32 v4, 1
//| 0x3124          v_mov_b32_e32 v5, 0
//| 0x3128          v_mov_b32_e32 v0, 0
//| 0x312c          v_cmp_eq_u32_e32 vcc, 0, v0
//| 0x3130          global_atomic_add_x2 v0, v[4:5], s[6:7]
//| 0x3138          s_mov_b64 exec, s[8:9]
//| 0x313c          s_setpc_b64 s[10:11]
//| 0x3140          s_mov_b64 s[16:17], exec
//| 0x3144          s_mov_b64 exec, -1
//| 0x3148          v_mov_b32_e32 v3, 0x5eed0003
//| 0x3150          v_mov_b32_e32 v4, 0x5eed0004
//| 0x3158          v_mov_b32_e32 v5, 0x5eed0005
//| 0x3160          s_mov_b64 exec, s[16:17]
//| 0x3164          v_mov_b32_e32 v0, 0xdead0000
//| 0x316c          v_mov_b32_e32 v6, 0xdead0001
//| 0x3174          v_mov_b32_e32 v7, 0xdead0002
//| 0x317c          v_cmp_eq_u32_e64 vcc, v0, v6
//| 0x3184          s_mov_b32 m0, 0xbad
//| 0x318c          s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xa5
//| 0x3194          s_xor_b32 s9, s9, 0x1234567
//| 0x319c          s_xor_b32 s18, s18, 0x1234567
//| 0x31a4          s_xor_b32 s19, s19, 0x1234567
//| 0x31ac          s_xor_b32 s20, s20, 0x1234567
//| 0x31b4          s_xor_b32 s10, s10, 0x1234567
//| 0x31bc          s_xor_b32 s11, s11, 0x1234567
//| 0x31c4          s_xor_b32 s16, s16, 0x1234567
//| 0x31cc          s_xor_b32 s12, s12, 0x1234567
//| 0x31d4          s_xor_b32 s13, s13, 0x1234567
//| 0x31dc          s_xor_b32 s14, s14, 0x1234567
//| 0x31e4          s_xor_b32 s15, s15, 0x1234567
//| 0x31ec          s_setpc_b64 s[22:23]
//| 0x31f0          s_add_u32 s4, s4, 1
//| 0x31f4          s_addc_u32 s5, s5, 0
//| 0x31f8          s_setpc_b64 s[6:7]
//| k: 40 to 40 SGPRs, 24 to 24 VGPRs, 10 to 10 waves
