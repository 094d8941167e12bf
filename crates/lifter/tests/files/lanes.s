; Two sides of a divergent branch: under an EXEC that can only shrink and grow, a register written on one side is
; dead before it in the lanes that are on, but not in those that are off.
; kernel: k
; print: active inactive exec
.globl k
.type k,@function
k:
  v_mov_b32_e32 v1, 1
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz skip
  v_mov_b32_e32 v1, 2
  v_add_u32_e32 v1, v1, v0
skip:
  s_or_b64 exec, exec, s[4:5]
  s_mov_b64 s[6:7], exec
  s_mov_b64 exec, -1
  v_mov_b32_e32 v9, v1
  v_mov_b32_e32 v1, v9
  s_mov_b64 exec, s[6:7]
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    v_mov_b32_e32 v1, 1                          active s2-3 exec_lo exec_hi v0; inactive v0-1; entry
;   4    v_cmp_gt_u32_e32 vcc, 8, v0                  active s2-3 exec_lo exec_hi v0-1; inactive v0-1; entry
;   8    s_and_saveexec_b64 s[4:5], vcc               active s2-3 vcc_lo vcc_hi exec_lo exec_hi v0-1; inactive v0-1; entry
;   c    s_cbranch_execz .LBB2                        active s2-5 exec_lo exec_hi v0-1; inactive v0-1; partial
; .LBB1: from k; to .LBB2 (Fallthrough)
;   10   v_mov_b32_e32 v1, 2                          active s2-5 exec_lo exec_hi v0; inactive v0-1; partial
;   14   v_add_u32_e32 v1, v1, v0                     active s2-5 exec_lo exec_hi v0-1; inactive v0-1; partial
; .LBB2: from k .LBB1; to (End)
;   18   s_or_b64 exec, exec, s[4:5]                  active s2-5 exec_lo exec_hi v0-1; inactive v0-1; partial
;   1c   s_mov_b64 s[6:7], exec                       active s2-3 exec_lo exec_hi v0-1; inactive v0-1; entry
;   20   s_mov_b64 exec, -1                           active s2-3 s6-7 v0-1; inactive v0-1; entry
;   24   v_mov_b32_e32 v9, v1                         active s2-3 s6-7 exec_lo exec_hi v0-1; inactive none; full
;   28   v_mov_b32_e32 v1, v9                         active s2-3 s6-7 exec_lo exec_hi v0 v9; inactive none; full
;   2c   s_mov_b64 exec, s[6:7]                       active s2-3 s6-7 v0-1; inactive none; full
;   30   global_store_dword v0, v1, s[2:3]            active s2-3 exec_lo exec_hi v0-1; inactive none; entry
;   38   s_endpgm                                     active none; inactive none; entry
