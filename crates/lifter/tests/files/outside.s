; Code without a symbol that is called, and branched to; padding; bytes that nothing reaches.
; kernel: k
.globl k
.type k,@function
k:
  s_call_b64 s[30:31], helper
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc1 tail
  s_endpgm
.size k, .-k
  .fill 4, 4, 0xbf800000
helper:
  v_mov_b32_e32 v0, 1
  s_setpc_b64 s[30:31]
tail:
  s_nop 1
  s_endpgm
  .long 0x12345678
  .long 0xffffffff
  .p2align 8, 0
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_call_b64 s[30:31], sub_1320                call of sub_1320
; .LBB1: from k; to .LBB2 (CondBranch)
;   4    s_cmp_eq_u32 s0, 0
;   8    s_cbranch_scc1 sub_1328
; .LBB2: from .LBB1; to (End)
;   c    s_endpgm
;
; Device sub_1320
; sub_1320: from; to (Return { proven: true })
;   20   v_mov_b32_e32 v0, 1
;   24   s_setpc_b64 s[30:31]                         return
;
; Device sub_1328
; sub_1328: from; to (End)
;   28   s_nop 1
;   2c   s_endpgm
; gap +10 16 bytes Padding
; gap +30 208 bytes Unknown
; issue +30 208 bytes outside of every function
