; Why a target is not known.
; kernel: k
.globl k
.type k,@function
k:
  s_load_dwordx2 s[8:9], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[8:9]
  s_mov_b64 s[10:11], s[4:5]
  s_swappc_b64 s[30:31], s[10:11]
  s_endpgm
.size k, .-k
.type f,@function
f:
  s_mov_b64 s[40:41], s[30:31]
  v_readfirstlane_b32 s4, v0
  v_readfirstlane_b32 s5, v1
  s_swappc_b64 s[30:31], s[4:5]
  s_lshl_b64 s[4:5], s[6:7], 2
  s_swappc_b64 s[30:31], s[4:5]
  s_mov_b64 s[4:5], s[12:13]
  s_cbranch_scc1 other
  s_load_dwordx2 s[4:5], s[6:7], 0x0
other:
  s_setpc_b64 s[4:5]
.size f, .-f
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_load_dwordx2 s[8:9], s[6:7], 0x0
;   8    s_waitcnt lgkmcnt(0)
;   c    s_swappc_b64 s[30:31], s[8:9]                call of an unknown function
; .LBB1: from k; to .LBB2 (Call)
;   10   s_mov_b64 s[10:11], s[4:5]
;   14   s_swappc_b64 s[30:31], s[10:11]              call of an unknown function
; .LBB2: from .LBB1; to (End)
;   18   s_endpgm
;
; Device f
; f: from; to .LBB1 (Call)
;   1c   s_mov_b64 s[40:41], s[30:31]
;   20   v_readfirstlane_b32 s4, v0
;   24   v_readfirstlane_b32 s5, v1
;   28   s_swappc_b64 s[30:31], s[4:5]                call of an unknown function
; .LBB1: from f; to .LBB2 (Call)
;   2c   s_lshl_b64 s[4:5], s[6:7], 2
;   30   s_swappc_b64 s[30:31], s[4:5]                call of an unknown function
; .LBB2: from .LBB1; to .LBB4 .LBB3 (CondBranch)
;   34   s_mov_b64 s[4:5], s[12:13]
;   38   s_cbranch_scc1 .LBB4
; .LBB3: from .LBB2; to .LBB4 (Fallthrough)
;   3c   s_load_dwordx2 s[4:5], s[6:7], 0x0
; .LBB4: from .LBB2 .LBB3; to (UnknownJump)
;   44   s_setpc_b64 s[4:5]                           jump to an unknown address
; issue +c the call's target is not known: it is loaded at +0
; issue +14 the call's target is not known: it comes out of the call at +c
; issue +28 the call's target is not known: v0 is what the function was given
; issue +30 the call's target is not known: s_lshl_b64 at +2c makes it
; issue +44 the jump's target is not known: it comes from 2 places
