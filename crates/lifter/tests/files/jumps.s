; A long branch through a register, a jump whose target is not known, a trap, a tail call.
; kernel: k
; print: active
.globl k
.type k,@function
k:
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc1 near
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, far-.
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
near:
  s_trap 2
  s_setpc_b64 s[10:11]
far:
  s_call_b64 s[30:31], first
  s_endpgm
.size k, .-k

.type first,@function
first:
  v_mov_b32_e32 v3, v2
  s_branch second
.size first, .-first
.type second,@function
second:
  v_mov_b32_e32 v4, v3
  s_setpc_b64 s[30:31]
.size second, .-second
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_cmp_eq_u32 s0, 0                           active all but 132
;   4    s_cbranch_scc1 .LBB2                         active all but 131
; .LBB1: from k; to .LBB4 (Jump)
;   8    s_getpc_b64 s[4:5]                           active exec_lo exec_hi v2-3
;   c    s_add_u32 s4, s4, lit(0x18)                  active s4-5 exec_lo exec_hi v2-3
;   14   s_addc_u32 s5, s5, 0                         s[4:5] = +24 k+0x24; active s4-5 exec_lo exec_hi scc v2-3
;   18   s_setpc_b64 s[4:5]                           jump to .LBB4; active s4-5 exec_lo exec_hi v2-3
; .LBB2: from k; to .LBB3 (Trap)
;   1c   s_trap 2                                     active all but 131
; .LBB3: from .LBB2; to (UnknownJump)
;   20   s_setpc_b64 s[10:11]                         jump to an unknown address; active all but 131
; .LBB4: from .LBB1; to .LBB5 (Call)
;   24   s_call_b64 s[30:31], first                   call of first; active exec_lo exec_hi v2-3
; .LBB5: from .LBB4; to (End)
;   28   s_endpgm                                     active none
;
; Device first
; first: from; to (Branch)
;   2c   v_mov_b32_e32 v3, v2                         active s30-31 exec_lo exec_hi v2
;   30   s_branch second                              active s30-31 exec_lo exec_hi v3
;
; Device second
; second: from; to (Return { proven: true })
;   34   v_mov_b32_e32 v4, v3                         active s30-31 exec_lo exec_hi v3
;   38   s_setpc_b64 s[30:31]                         return; active s30-31
; issue +20 the jump's target is not known: s10 is what the function was given
