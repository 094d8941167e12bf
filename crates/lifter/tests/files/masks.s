; EXEC narrows and is known again where the saved copy comes back; a copy that is overwritten is of no use.
; kernel: k
; print: exec
.globl k
.type k,@function
k:
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz join
  v_mov_b32_e32 v1, 2
  v_cmp_gt_u32_e32 vcc, 4, v0
  s_and_saveexec_b64 s[6:7], vcc
  s_xor_b64 s[6:7], exec, s[6:7]
  v_mov_b32_e32 v1, 3
  s_or_saveexec_b64 s[6:7], s[6:7]
  v_mov_b32_e32 v1, 4
  s_or_b64 exec, exec, s[6:7]
join:
  s_or_b64 exec, exec, s[4:5]
  v_mov_b32_e32 v2, v1
  s_mov_b64 s[8:9], exec
  s_mov_b64 exec, -1
  v_mov_b32_e32 v3, v1
  s_and_saveexec_b64 s[10:11], s[12:13]
  v_mov_b32_e32 v3, v2
  s_or_b64 exec, exec, s[10:11]
  v_mov_b32_e32 v3, v1
  s_mov_b64 exec, s[8:9]
  v_mov_b32_e32 v3, v1
  s_mov_b32 s9, 0
  s_mov_b64 exec, s[8:9]
  v_mov_b32_e32 v3, v1
  s_mov_b64 exec, s[2:3]
  v_mov_b32_e32 v3, v1
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    v_cmp_gt_u32_e32 vcc, 8, v0                  entry
;   4    s_and_saveexec_b64 s[4:5], vcc               entry
;   8    s_cbranch_execz .LBB2                        partial
; .LBB1: from k; to .LBB2 (Fallthrough)
;   c    v_mov_b32_e32 v1, 2                          partial
;   10   v_cmp_gt_u32_e32 vcc, 4, v0                  partial
;   14   s_and_saveexec_b64 s[6:7], vcc               partial
;   18   s_xor_b64 s[6:7], exec, s[6:7]               partial
;   1c   v_mov_b32_e32 v1, 3                          partial
;   20   s_or_saveexec_b64 s[6:7], s[6:7]             partial
;   24   v_mov_b32_e32 v1, 4                          partial
;   28   s_or_b64 exec, exec, s[6:7]                  partial
; .LBB2: from k .LBB1; to (End)
;   2c   s_or_b64 exec, exec, s[4:5]                  partial
;   30   v_mov_b32_e32 v2, v1                         entry
;   34   s_mov_b64 s[8:9], exec                       entry
;   38   s_mov_b64 exec, -1                           entry
;   3c   v_mov_b32_e32 v3, v1                         full
;   40   s_and_saveexec_b64 s[10:11], s[12:13]        full
;   44   v_mov_b32_e32 v3, v2                         partial
;   48   s_or_b64 exec, exec, s[10:11]                partial
;   4c   v_mov_b32_e32 v3, v1                         full
;   50   s_mov_b64 exec, s[8:9]                       full
;   54   v_mov_b32_e32 v3, v1                         entry
;   58   s_mov_b32 s9, 0                              entry
;   5c   s_mov_b64 exec, s[8:9]                       entry
;   60   v_mov_b32_e32 v3, v1                         unknown
;   64   s_mov_b64 exec, s[2:3]                       unknown
;   68   v_mov_b32_e32 v3, v1                         unknown
;   6c   s_endpgm                                     unknown
