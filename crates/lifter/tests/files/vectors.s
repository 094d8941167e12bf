; Call targets that go through VGPRs. In the first kernel some lane is on at the start, so v_readfirstlane_b32 reads what
; v_mov_b32 wrote; in a divergent region only where a branch says that some lane is on; in a function that was called,
; not at all.
; kernel: k
.globl k
.type k,@function
k:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, leaf@rel32@lo+4
  s_addc_u32 s5, s5, leaf@rel32@hi+12
  v_mov_b32_e32 v0, s4
  v_mov_b32_e32 v1, s5
  v_mov_b32_e32 v2, v0
  v_readfirstlane_b32 s6, v2
  v_readfirstlane_b32 s7, v1
  s_swappc_b64 s[30:31], s[6:7]
  s_and_saveexec_b64 s[8:9], vcc
  v_readfirstlane_b32 s10, v2
  v_readfirstlane_b32 s11, v1
  s_cbranch_execz out
  v_readfirstlane_b32 s6, v2
  v_readfirstlane_b32 s7, v1
  s_swappc_b64 s[30:31], s[6:7]
out:
  s_swappc_b64 s[30:31], s[10:11]
  s_or_b64 exec, exec, s[8:9]
  v_readfirstlane_b32 s6, v2
  v_readfirstlane_b32 s7, v1
  s_swappc_b64 s[30:31], s[6:7]
  s_endpgm
.size k, .-k
.type leaf,@function
leaf:
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
.type called,@function
called:
  s_mov_b64 s[40:41], s[30:31]
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, leaf@rel32@lo+4
  s_addc_u32 s5, s5, leaf@rel32@hi+12
  v_mov_b32_e32 v0, s4
  v_mov_b32_e32 v1, s5
  v_readfirstlane_b32 s6, v0
  v_readfirstlane_b32 s7, v1
  s_swappc_b64 s[30:31], s[6:7]
  s_setpc_b64 s[40:41]
.size called, .-called
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_getpc_b64 s[4:5]
;   4    s_add_u32 s4, s4, 0x5c
;   c    s_addc_u32 s5, s5, lit(0x0)                  s[4:5] = +60 leaf
;   14   v_mov_b32_e32 v0, s4
;   18   v_mov_b32_e32 v1, s5
;   1c   v_mov_b32_e32 v2, v0
;   20   v_readfirstlane_b32 s6, v2
;   24   v_readfirstlane_b32 s7, v1
;   28   s_swappc_b64 s[30:31], s[6:7]                call of leaf
; .LBB1: from k; to .LBB3 .LBB2 (CondBranch)
;   2c   s_and_saveexec_b64 s[8:9], vcc
;   30   v_readfirstlane_b32 s10, v2
;   34   v_readfirstlane_b32 s11, v1
;   38   s_cbranch_execz .LBB3
; .LBB2: from .LBB1; to .LBB3 (Call)
;   3c   v_readfirstlane_b32 s6, v2
;   40   v_readfirstlane_b32 s7, v1
;   44   s_swappc_b64 s[30:31], s[6:7]                call of leaf
; .LBB3: from .LBB1 .LBB2; to .LBB4 (Call)
;   48   s_swappc_b64 s[30:31], s[10:11]              call of an unknown function
; .LBB4: from .LBB3; to .LBB5 (Call)
;   4c   s_or_b64 exec, exec, s[8:9]
;   50   v_readfirstlane_b32 s6, v2
;   54   v_readfirstlane_b32 s7, v1
;   58   s_swappc_b64 s[30:31], s[6:7]                call of an unknown function
; .LBB5: from .LBB4; to (End)
;   5c   s_endpgm
;
; Device leaf (address taken)
; leaf: from; to (Return { proven: true })
;   60   s_setpc_b64 s[30:31]                         return
;
; Device called
; called: from; to .LBB1 (Call)
;   64   s_mov_b64 s[40:41], s[30:31]
;   68   s_getpc_b64 s[4:5]
;   6c   s_add_u32 s4, s4, lit(0xfffffff4)
;   74   s_addc_u32 s5, s5, lit(0xffffffff)           s[4:5] = +60 leaf
;   7c   v_mov_b32_e32 v0, s4
;   80   v_mov_b32_e32 v1, s5
;   84   v_readfirstlane_b32 s6, v0
;   88   v_readfirstlane_b32 s7, v1
;   8c   s_swappc_b64 s[30:31], s[6:7]                call of an unknown function
; .LBB1: from called; to (UnknownJump)
;   90   s_setpc_b64 s[40:41]                         jump to an unknown address
; issue +48 the call's target is not known: s_add_u32 at +4 makes it
; issue +58 the call's target is not known: it comes out of the call at +48
; issue +8c the call's target is not known: s_add_u32 at +6c makes it
; issue +90 the jump's target is not known: it comes out of the call at +8c
