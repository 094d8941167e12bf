//! count before all counter
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
//| 0x3004          s_add_co_u32 s4, s4, 1
//| 0x3008          s_add_co_ci_u32 s5, s5, 0
//| 0x300c  0x1300  s_load_b64 s[2:3], s[0:1], 0x0
//| 0x3014          s_add_co_u32 s4, s4, 1
//| 0x3018          s_add_co_ci_u32 s5, s5, 0
//| 0x301c  0x1308  v_lshlrev_b32_e32 v1, 2, v0
//| 0x3020          s_add_co_u32 s4, s4, 1
//| 0x3024          s_add_co_ci_u32 s5, s5, 0
//| 0x3028  0x130c  s_wait_kmcnt 0x0
//| 0x302c          s_add_co_u32 s4, s4, 1
//| 0x3030          s_add_co_ci_u32 s5, s5, 0
//| 0x3034  0x1310  global_load_b32 v2, v1, s[2:3]
//| 0x3040          s_add_co_u32 s4, s4, 1
//| 0x3044          s_add_co_ci_u32 s5, s5, 0
//| 0x3048  0x131c  v_cmp_eq_u32_e32 vcc_lo, 3, v1
//| 0x304c          s_add_co_u32 s4, s4, 1
//| 0x3050          s_add_co_ci_u32 s5, s5, 0
//| 0x3054  0x1320  s_cmp_eq_u32 s2, 7
//| 0x3058          s_cselect_b32 s0, 1, 0
//| 0x305c          s_add_co_u32 s4, s4, 1
//| 0x3060          s_add_co_ci_u32 s5, s5, 0
//| 0x3064          s_cmp_lg_u32 s0, 0
//| 0x3068  0x1324  s_wait_loadcnt 0x0
//| 0x306c          s_cselect_b32 s0, 1, 0
//| 0x3070          s_add_co_u32 s4, s4, 1
//| 0x3074          s_add_co_ci_u32 s5, s5, 0
//| 0x3078          s_cmp_lg_u32 s0, 0
//| 0x307c  0x1328  v_cndmask_b32_e32 v2, v1, v2, vcc_lo
//| 0x3080          s_cselect_b32 s0, 1, 0
//| 0x3084          s_add_co_u32 s4, s4, 1
//| 0x3088          s_add_co_ci_u32 s5, s5, 0
//| 0x308c          s_cmp_lg_u32 s0, 0
//| 0x3090  0x132c  s_cbranch_scc1 5  -> 0x30a8
//| 0x3094          s_add_co_u32 s4, s4, 1
//| 0x3098          s_add_co_ci_u32 s5, s5, 0
//| 0x309c  0x1330  global_store_b32 v1, v2, s[2:3]
//| 0x30a8          s_add_co_u32 s4, s4, 1
//| 0x30ac          s_add_co_ci_u32 s5, s5, 0
//| 0x30b0          s_mov_b32 s2, exec_lo
//| 0x30b4          s_mov_b32 exec_lo, 1
//| 0x30b8          v_mov_b32_e32 v2, 0
//| 0x30bc          v_mov_b32_e32 v0, s4
//| 0x30c0          v_mov_b32_e32 v1, s5
//| 0x30c4          s_get_pc_i64 s[0:1]
//| 0x30c8          s_add_co_u32 s0, s0, 0xf38
//| 0x30d0          s_add_co_ci_u32 s1, s1, lit(0x0)
//| 0x30d8          global_atomic_add_u64 v2, v[0:1], s[0:1]
//| 0x30e4          s_mov_b32 exec_lo, s2
//| 0x30e8  0x133c  s_endpgm
//| k: 106 to 106 SGPRs, 32 to 32 VGPRs, 16 to 16 waves
