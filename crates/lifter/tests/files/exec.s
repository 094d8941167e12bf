; EXEC is full where an instruction has made it so, over joins too, and not after a call or a restore.
; kernel: k
; print: exec
.globl k
.type k,@function
k:
  v_mov_b32_e32 v0, 0
  s_or_saveexec_b64 s[4:5], -1
  v_mov_b32_e32 v0, 1
  s_cbranch_scc1 other
  v_mov_b32_e32 v0, 2
  s_branch join
other:
  s_or_b64 exec, exec, s[8:9]
join:
  v_mov_b32_e32 v0, 3
  s_mov_b32 exec_lo, -1
  v_mov_b32_e32 v0, 4
  s_mov_b64 exec, -1
  s_call_b64 s[30:31], leaf
  v_mov_b32_e32 v0, 5
  s_mov_b64 exec, s[4:5]
  v_mov_b32_e32 v0, 6
  s_endpgm
.size k, .-k
.type leaf,@function
leaf:
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    v_mov_b32_e32 v0, 0                          entry
;   4    s_or_saveexec_b64 s[4:5], -1                 entry
;   8    v_mov_b32_e32 v0, 1                          full
;   c    s_cbranch_scc1 .LBB2                         full
; .LBB1: from k; to .LBB3 (Branch)
;   10   v_mov_b32_e32 v0, 2                          full
;   14   s_branch .LBB3                               full
; .LBB2: from k; to .LBB3 (Fallthrough)
;   18   s_or_b64 exec, exec, s[8:9]                  full
; .LBB3: from .LBB1 .LBB2; to .LBB4 (Call)
;   1c   v_mov_b32_e32 v0, 3                          full
;   20   s_mov_b32 exec_lo, -1                        full
;   24   v_mov_b32_e32 v0, 4                          unknown
;   28   s_mov_b64 exec, -1                           unknown
;   2c   s_call_b64 s[30:31], leaf                    call of leaf; full
; .LBB4: from .LBB3; to (End)
;   30   v_mov_b32_e32 v0, 5                          unknown
;   34   s_mov_b64 exec, s[4:5]                       unknown
;   38   v_mov_b32_e32 v0, 6                          unknown
;   3c   s_endpgm                                     unknown
;
; Device leaf
; leaf: from; to (Return { proven: true })
;   40   s_setpc_b64 s[30:31]                         return; entry
