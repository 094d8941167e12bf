; Loops in loops, one of a single block, and a cycle with two ways in, which is no loop.
; kernel: k
; print: loops
.globl k
.type k,@function
k:
  s_mov_b32 s0, 0
outer:
  s_add_i32 s0, s0, 1
  s_mov_b32 s1, 0
inner:
  s_add_i32 s1, s1, 1
  s_cmp_lt_i32 s1, 8
  s_cbranch_scc1 inner
middle:
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 skip
  s_add_i32 s2, s2, 1
  s_branch middle
skip:
  s_cmp_lt_i32 s0, 8
  s_cbranch_scc1 outer
  s_cmp_lt_i32 s3, 0
  s_cbranch_scc1 second
first:
  s_sub_i32 s3, s3, 1
second:
  s_sub_i32 s3, s3, 2
  s_cmp_gt_i32 s3, 0
  s_cbranch_scc1 first
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; loop .LBB1 .LBB2 .LBB3 .LBB4 .LBB5; back from .LBB5
;   loop .LBB2; back from .LBB2
;   loop .LBB3 .LBB4; back from .LBB4
; no loop: back from .LBB7 to .LBB8
; k: from; to .LBB1 (Fallthrough)
;   0    s_mov_b32 s0, 0
; .LBB1: from k .LBB5; to .LBB2 (Fallthrough)
;   4    s_add_i32 s0, s0, 1
;   8    s_mov_b32 s1, 0
; .LBB2: from .LBB1 .LBB2; to .LBB2 .LBB3 (CondBranch)
;   c    s_add_i32 s1, s1, 1
;   10   s_cmp_lt_i32 s1, 8
;   14   s_cbranch_scc1 .LBB2
; .LBB3: from .LBB2 .LBB4; to .LBB5 .LBB4 (CondBranch)
;   18   s_cmp_eq_u32 s2, 0
;   1c   s_cbranch_scc1 .LBB5
; .LBB4: from .LBB3; to .LBB3 (Branch)
;   20   s_add_i32 s2, s2, 1
;   24   s_branch .LBB3
; .LBB5: from .LBB3; to .LBB1 .LBB6 (CondBranch)
;   28   s_cmp_lt_i32 s0, 8
;   2c   s_cbranch_scc1 .LBB1
; .LBB6: from .LBB5; to .LBB8 .LBB7 (CondBranch)
;   30   s_cmp_lt_i32 s3, 0
;   34   s_cbranch_scc1 .LBB8
; .LBB7: from .LBB6 .LBB8; to .LBB8 (Fallthrough)
;   38   s_sub_i32 s3, s3, 1
; .LBB8: from .LBB6 .LBB7; to .LBB7 .LBB9 (CondBranch)
;   3c   s_sub_i32 s3, s3, 2
;   40   s_cmp_gt_i32 s3, 0
;   44   s_cbranch_scc1 .LBB7
; .LBB9: from .LBB8; to (End)
;   48   s_endpgm
