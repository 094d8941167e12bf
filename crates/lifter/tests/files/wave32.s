; target: gfx1100
; kernel: k
; print: exec active inactive
; Lane masks of one register; two operations at once, and halves of registers: writing one half keeps the other.
.globl k
.p2align 8
.type k,@function
k:
  v_cmp_gt_u32_e32 vcc_lo, 7, v0
  s_and_saveexec_b32 s2, vcc_lo
  s_cbranch_execz join
  v_dual_mov_b32 v1, v4 :: v_dual_add_f32 v2, v5, v6
  v_mov_b16_e32 v3.l, v1.l
  v_mov_b16_e32 v3.h, v2.l
  global_store_b32 v7, v3, s[0:1]
join:
  s_or_b32 exec_lo, exec_lo, s2
  v_mov_b32_e32 v3, 0
  global_store_b32 v7, v3, s[0:1]
  s_mov_b32 exec_lo, -1
  global_store_b32 v7, v8, s[0:1]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    v_cmp_gt_u32_e32 vcc_lo, 7, v0               entry; active s0-1 exec_lo v0 v3-8 mode; inactive v7-8
;   4    s_and_saveexec_b32 s2, vcc_lo                entry; active s0-1 vcc_lo exec_lo v3-8 mode; inactive v7-8
;   8    s_cbranch_execz .LBB2                        partial; active s0-2 exec_lo v3-8 mode; inactive v7-8
; .LBB1: from k; to .LBB2 (Fallthrough)
;   c    v_dual_mov_b32 v1, v4 :: v_dual_add_f32 v2, v5, v6 partial; active s0-2 exec_lo v3-8 mode; inactive v7-8
;   14   v_mov_b16_e32 v3.l, v1.l                     partial; active s0-2 exec_lo v1-3 v7-8; inactive v7-8
;   18   v_mov_b16_e32 v3.h, v2.l                     partial; active s0-2 exec_lo v2-3 v7-8; inactive v7-8
;   1c   global_store_b32 v7, v3, s[0:1]              partial; active s0-2 exec_lo v3 v7-8; inactive v7-8
; .LBB2: from k .LBB1; to (End)
;   24   s_or_b32 exec_lo, exec_lo, s2                partial; active s0-2 exec_lo v7-8; inactive v7-8
;   28   v_mov_b32_e32 v3, 0                          entry; active s0-1 exec_lo v7-8; inactive v7-8
;   2c   global_store_b32 v7, v3, s[0:1]              entry; active s0-1 exec_lo v3 v7-8; inactive v7-8
;   34   s_mov_b32 exec_lo, -1                        entry; active s0-1 v7-8; inactive v7-8
;   38   global_store_b32 v7, v8, s[0:1]              full; active s0-1 exec_lo v7-8; inactive none
;   40   s_endpgm                                     full; active none; inactive none
