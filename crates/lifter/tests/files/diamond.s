; A branch on SCC, a join, a value that is live on one side only.
; kernel: k
; print: active
.globl k
.type k,@function
k:
  s_load_dword s4, s[0:1], 0x0
  v_mov_b32_e32 v1, 7
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s4, 3
  s_cbranch_scc0 other
  v_add_u32_e32 v2, v0, v1
  s_branch join
other:
  v_mov_b32_e32 v2, 5
join:
  v_mov_b32_e32 v3, 0
  global_store_dword v3, v2, s[2:3]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_load_dword s4, s[0:1], 0x0                 active s0-3 exec_lo exec_hi v0
;   8    v_mov_b32_e32 v1, 7                          active s2-4 exec_lo exec_hi v0
;   c    s_waitcnt lgkmcnt(0)                         active s2-4 exec_lo exec_hi v0-1
;   10   s_cmp_eq_u32 s4, 3                           active s2-4 exec_lo exec_hi v0-1
;   14   s_cbranch_scc0 .LBB2                         active s2-3 exec_lo exec_hi scc v0-1
; .LBB1: from k; to .LBB3 (Branch)
;   18   v_add_u32_e32 v2, v0, v1                     active s2-3 exec_lo exec_hi v0-1
;   1c   s_branch .LBB3                               active s2-3 exec_lo exec_hi v2
; .LBB2: from k; to .LBB3 (Fallthrough)
;   20   v_mov_b32_e32 v2, 5                          active s2-3 exec_lo exec_hi
; .LBB3: from .LBB1 .LBB2; to (End)
;   24   v_mov_b32_e32 v3, 0                          active s2-3 exec_lo exec_hi v2
;   28   global_store_dword v3, v2, s[2:3]            active s2-3 exec_lo exec_hi v2-3
;   30   s_endpgm                                     active none
