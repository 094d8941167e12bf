; Spills of a called function: its stack pointer is not known, and still the same. A call that may write scratch memory
; ends what is known of it.
; target: gfx942
.type f,@function
f:
  s_add_i32 s32, s32, 32
  s_mov_b64 s[40:41], s[30:31]
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, leaf@rel32@lo+4
  s_addc_u32 s5, s5, leaf@rel32@hi+12
  s_mov_b64 exec, -1
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  scratch_store_dwordx2 off, v[2:3], s32 offset:-16
  s_add_i32 s33, s32, -32
  scratch_load_dwordx2 v[4:5], off, s33 offset:16
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  v_readfirstlane_b32 s7, v5
  s_swappc_b64 s[30:31], s[6:7]
  s_call_b64 s[30:31], writer
  scratch_load_dwordx2 v[4:5], off, s33 offset:16
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  v_readfirstlane_b32 s7, v5
  s_swappc_b64 s[30:31], s[6:7]
  s_setpc_b64 s[40:41]
.size f, .-f
.type leaf,@function
leaf:
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
.type writer,@function
writer:
  scratch_store_dword v0, v1, off
  s_setpc_b64 s[30:31]
.size writer, .-writer
; expect:
;
; Device f
; f: from; to .LBB1 (Call)
;   0    s_add_i32 s32, s32, 32
;   4    s_mov_b64 s[40:41], s[30:31]
;   8    s_getpc_b64 s[4:5]
;   c    s_add_u32 s4, s4, 0x64
;   14   s_addc_u32 s5, s5, lit(0x0)                  s[4:5] = +70 leaf
;   1c   s_mov_b64 exec, -1
;   20   v_mov_b32_e32 v2, s4
;   24   v_mov_b32_e32 v3, s5
;   28   scratch_store_dwordx2 off, v[2:3], s32 offset:-16
;   30   s_add_i32 s33, s32, 0xffffffe0
;   38   scratch_load_dwordx2 v[4:5], off, s33 offset:16
;   40   s_waitcnt vmcnt(0)
;   44   v_readfirstlane_b32 s6, v4
;   48   v_readfirstlane_b32 s7, v5
;   4c   s_swappc_b64 s[30:31], s[6:7]                call of leaf
; .LBB1: from f; to .LBB2 (Call)
;   50   s_call_b64 s[30:31], writer                  call of writer
; .LBB2: from .LBB1; to .LBB3 (Call)
;   54   scratch_load_dwordx2 v[4:5], off, s33 offset:16
;   5c   s_waitcnt vmcnt(0)
;   60   v_readfirstlane_b32 s6, v4
;   64   v_readfirstlane_b32 s7, v5
;   68   s_swappc_b64 s[30:31], s[6:7]                call of an unknown function
; .LBB3: from .LBB2; to (UnknownJump)
;   6c   s_setpc_b64 s[40:41]                         jump to an unknown address
;
; Device leaf (address taken)
; leaf: from; to (Return { proven: true })
;   70   s_setpc_b64 s[30:31]                         return
;
; Device writer
; writer: from; to (Return { proven: true })
;   74   scratch_store_dword v0, v1, off
;   7c   s_setpc_b64 s[30:31]                         return
; issue +68 the call's target is not known: it is loaded at +54
; issue +6c the jump's target is not known: it comes out of the call at +68
