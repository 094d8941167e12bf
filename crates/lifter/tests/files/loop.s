; A loop with a counter, and a lane read that looks at lanes which are off.
; kernel: k
; print: active inactive
.globl k
.type k,@function
k:
  s_mov_b32 s4, 10
  v_mov_b32_e32 v1, 0
again:
  v_add_u32_e32 v1, v1, v0
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 again
  v_readfirstlane_b32 s6, v1
  v_writelane_b32 v7, s6, 3
  v_mov_b32_e32 v2, s6
  global_store_dword v0, v2, s[2:3]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB1 (Fallthrough)
;   0    s_mov_b32 s4, 10                             active s2-3 exec_lo exec_hi v0; inactive v1
;   4    v_mov_b32_e32 v1, 0                          active s2-4 exec_lo exec_hi v0; inactive v1
; .LBB1: from k .LBB1; to .LBB1 .LBB2 (CondBranch)
;   8    v_add_u32_e32 v1, v1, v0                     active s2-4 exec_lo exec_hi v0-1; inactive v1
;   c    s_sub_u32 s4, s4, 1                          active s2-4 exec_lo exec_hi v0-1; inactive v1
;   10   s_cmp_lg_u32 s4, 0                           active s2-4 exec_lo exec_hi v0-1; inactive v1
;   14   s_cbranch_scc1 .LBB1                         active s2-4 exec_lo exec_hi scc v0-1; inactive v1
; .LBB2: from .LBB1; to (End)
;   18   v_readfirstlane_b32 s6, v1                   active s2-3 exec_lo exec_hi v0-1; inactive v1
;   1c   v_writelane_b32 v7, s6, 3                    active s2-3 s6 exec_lo exec_hi v0; inactive none
;   24   v_mov_b32_e32 v2, s6                         active s2-3 s6 exec_lo exec_hi v0; inactive none
;   28   global_store_dword v0, v2, s[2:3]            active s2-3 exec_lo exec_hi v0 v2; inactive none
;   30   s_endpgm                                     active none; inactive none
