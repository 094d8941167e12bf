//! count before all counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
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
//| 0x3004          s_add_u32 s4, s4, 1
//| 0x3008          s_addc_u32 s5, s5, 0
//| 0x300c  0x1300  s_load_dwordx2 s[2:3], s[0:1], 0x0
//| 0x3014          s_add_u32 s4, s4, 1
//| 0x3018          s_addc_u32 s5, s5, 0
//| 0x301c  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x3020          s_add_u32 s4, s4, 1
//| 0x3024          s_addc_u32 s5, s5, 0
//| 0x3028  0x130c  s_waitcnt lgkmcnt(0)
//| 0x302c          s_add_u32 s4, s4, 1
//| 0x3030          s_addc_u32 s5, s5, 0
//| 0x3034  0x1310  global_load_dword v2, v1, s[2:3]
//| 0x303c          s_add_u32 s4, s4, 1
//| 0x3040          s_addc_u32 s5, s5, 0
//| 0x3044  0x1318  v_cmp_eq_u32_e32 vcc, 3, v1
//| 0x3048          s_add_u32 s4, s4, 1
//| 0x304c          s_addc_u32 s5, s5, 0
//| 0x3050  0x131c  s_cmp_eq_u32 s2, 7
//| 0x3054          s_cselect_b32 s0, 1, 0
//| 0x3058          s_add_u32 s4, s4, 1
//| 0x305c          s_addc_u32 s5, s5, 0
//| 0x3060          s_cmp_lg_u32 s0, 0
//| 0x3064  0x1320  s_waitcnt vmcnt(0)
//| 0x3068          s_cselect_b32 s0, 1, 0
//| 0x306c          s_add_u32 s4, s4, 1
//| 0x3070          s_addc_u32 s5, s5, 0
//| 0x3074          s_cmp_lg_u32 s0, 0
//| 0x3078  0x1324  v_cndmask_b32_e32 v2, v1, v2, vcc
//| 0x307c          s_cselect_b32 s0, 1, 0
//| 0x3080          s_add_u32 s4, s4, 1
//| 0x3084          s_addc_u32 s5, s5, 0
//| 0x3088          s_cmp_lg_u32 s0, 0
//| 0x308c  0x1328  s_cbranch_scc1 4  -> 0x30a0
//| 0x3090          s_add_u32 s4, s4, 1
//| 0x3094          s_addc_u32 s5, s5, 0
//| 0x3098  0x132c  global_store_dword v1, v2, s[2:3]
//| 0x30a0          s_add_u32 s4, s4, 1
//| 0x30a4          s_addc_u32 s5, s5, 0
//| 0x30a8          s_mov_b64 s[2:3], exec
//| 0x30ac          s_mov_b64 exec, 1
//| 0x30b0          v_mov_b32_e32 v2, 0
//| 0x30b4          v_mov_b32_e32 v0, s4
//| 0x30b8          v_mov_b32_e32 v1, s5
//| 0x30bc          s_getpc_b64 s[0:1]
//| 0x30c0          s_add_u32 s0, s0, 0xf40
//| 0x30c8          s_addc_u32 s1, s1, lit(0x0)
//| 0x30d0          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x30d8          s_mov_b64 exec, s[2:3]
//| 0x30dc  0x1334  s_endpgm
//| k: 40 to 40 SGPRs, 24 to 24 VGPRs, 10 to 10 waves
