; Calls: direct, by a PC-relative sum, through a pointer in read-only data, and of nobody knows whom. A leaf that keeps
; its return address in a lane over a call is followed.
; kernel: k
; print: active
.globl k
.type k,@function
k:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, twice@rel32@lo+4
  s_addc_u32 s5, s5, twice@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_call_b64 s[30:31], leaf
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, table@rel32@lo+4
  s_addc_u32 s7, s7, table@rel32@hi+12
  s_load_dwordx2 s[8:9], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[8:9]
  v_mov_b32_e32 v5, v0
  s_endpgm
.size k, .-k

.type leaf,@function
leaf:
  v_add_u32_e32 v0, v0, v1
  s_setpc_b64 s[30:31]
.size leaf, .-leaf

.type twice,@function
twice:
  v_writelane_b32 v40, s30, 0
  v_writelane_b32 v40, s31, 1
  s_getpc_b64 s[16:17]
  s_add_u32 s16, s16, leaf@rel32@lo+4
  s_addc_u32 s17, s17, leaf@rel32@hi+12
  s_swappc_b64 s[30:31], s[16:17]
  v_readlane_b32 s30, v40, 0
  v_readlane_b32 s31, v40, 1
  s_setpc_b64 s[30:31]
.size twice, .-twice

.type pointed,@function
pointed:
  v_mov_b32_e32 v0, 9
  s_setpc_b64 s[30:31]
.size pointed, .-pointed

.type stranger,@function
stranger:
  s_mov_b32 s40, s30
  s_mov_b32 s41, s31
  s_swappc_b64 s[30:31], s[20:21]
  s_setpc_b64 s[40:41]
.size stranger, .-stranger

.section .data.rel.ro,"aw"
.p2align 3
table:
  .quad pointed
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_getpc_b64 s[4:5]                           active exec_lo exec_hi v0-1 v40
;   4    s_add_u32 s4, s4, 0x4c                       active s4-5 exec_lo exec_hi v0-1 v40
;   c    s_addc_u32 s5, s5, lit(0x0)                  s[4:5] = +50 twice; active s4-5 exec_lo exec_hi scc v0-1 v40
;   14   s_swappc_b64 s[30:31], s[4:5]                call of twice; active s4-5 exec_lo exec_hi v0-1 v40
; .LBB1: from k; to .LBB2 (Call)
;   18   s_call_b64 s[30:31], leaf                    call of leaf; active exec_lo exec_hi v0-1
; .LBB2: from .LBB1; to .LBB3 (Call)
;   1c   s_getpc_b64 s[6:7]                           active exec_lo exec_hi v0
;   20   s_add_u32 s6, s6, 0x1088                     active s6-7 exec_lo exec_hi v0
;   28   s_addc_u32 s7, s7, lit(0x0)                  s[6:7] = +10a8 .data.rel.ro slot of pointed; active s6-7 exec_lo exec_hi scc v0
;   30   s_load_dwordx2 s[8:9], s[6:7], 0x0           s[8:9] = +8c pointed; active s6-7 exec_lo exec_hi v0
;   38   s_waitcnt lgkmcnt(0)                         active s8-9 exec_lo exec_hi v0
;   3c   s_swappc_b64 s[30:31], s[8:9]                call of pointed; active s8-9 exec_lo exec_hi v0
; .LBB3: from .LBB2; to (End)
;   40   v_mov_b32_e32 v5, v0                         active exec_lo exec_hi v0
;   44   s_endpgm                                     active none
;
; Device leaf
; leaf: from; to (Return { proven: true })
;   48   v_add_u32_e32 v0, v0, v1                     active s30-31 exec_lo exec_hi v0-1 v40
;   4c   s_setpc_b64 s[30:31]                         return; active s30-31 exec_lo exec_hi v0-1 v40
;
; Device twice
; twice: from; to .LBB1 (Call)
;   50   v_writelane_b32 v40, s30, 0                  active s30-31 exec_lo exec_hi v0-1 v40
;   58   v_writelane_b32 v40, s31, 1                  active s31 exec_lo exec_hi v0-1 v40
;   60   s_getpc_b64 s[16:17]                         active exec_lo exec_hi v0-1 v40
;   64   s_add_u32 s16, s16, 0xffffffe4               active s16-17 exec_lo exec_hi v0-1 v40
;   6c   s_addc_u32 s17, s17, lit(0xffffffff)         s[16:17] = +48 leaf; active s16-17 exec_lo exec_hi scc v0-1 v40
;   74   s_swappc_b64 s[30:31], s[16:17]              call of leaf; active s16-17 exec_lo exec_hi v0-1 v40
; .LBB1: from twice; to (Return { proven: true })
;   78   v_readlane_b32 s30, v40, 0                   active exec_lo exec_hi v0-1 v40
;   80   v_readlane_b32 s31, v40, 1                   active s30 exec_lo exec_hi v0-1 v40
;   88   s_setpc_b64 s[30:31]                         return; active s30-31 exec_lo exec_hi v0-1
;
; Device pointed (address taken)
; pointed: from; to (Return { proven: true })
;   8c   v_mov_b32_e32 v0, 9                          active all but 132
;   90   s_setpc_b64 s[30:31]                         return; active all but 131
;
; Device stranger
; stranger: from; to .LBB1 (Call)
;   94   s_mov_b32 s40, s30                           active all but 133
;   98   s_mov_b32 s41, s31                           active all but 133
;   9c   s_swappc_b64 s[30:31], s[20:21]              call of an unknown function; active all but 133
; .LBB1: from stranger; to (UnknownJump)
;   a0   s_setpc_b64 s[40:41]                         jump to an unknown address; active all but 131
; issue +9c the call's target is not known: s20 is what the function was given
; issue +a0 the jump's target is not known: it comes out of the call at +9c
