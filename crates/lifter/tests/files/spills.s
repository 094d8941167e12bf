; Call targets that are spilled: to lanes of a VGPR, and with it to scratch memory. With some lanes off, lanes are lost; a
; store that may go anywhere ends it all.
; kernel: k
; scratch: buffer
.globl k
.type k,@function
k:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, leaf@rel32@lo+4
  s_addc_u32 s5, s5, leaf@rel32@hi+12
  v_writelane_b32 v40, s4, 3
  v_writelane_b32 v40, s5, 4
  s_or_saveexec_b64 s[8:9], -1
  buffer_store_dword v40, off, s[0:3], 0 offset:16
  v_mov_b32_e32 v40, 0
  buffer_store_dword v41, off, s[0:3], 0 offset:20
  buffer_load_dword v42, off, s[0:3], 0 offset:16
  s_waitcnt vmcnt(0)
  v_readlane_b32 s6, v42, 3
  v_readlane_b32 s7, v42, 4
  s_swappc_b64 s[30:31], s[6:7]
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  buffer_store_dwordx2 v[2:3], off, s[0:3], 0 offset:32
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  buffer_load_dwordx2 v[4:5], off, s[0:3], 0 offset:32
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  v_readfirstlane_b32 s7, v5
  s_swappc_b64 s[30:31], s[6:7]
  buffer_store_dword v41, v6, s[0:3], 0 offen
  buffer_load_dwordx2 v[4:5], off, s[0:3], 0 offset:32
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  v_readfirstlane_b32 s7, v5
  s_swappc_b64 s[30:31], s[6:7]
  s_endpgm
.size k, .-k
.type leaf,@function
leaf:
  v_mov_b32_e32 v9, 1
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_getpc_b64 s[4:5]
;   4    s_add_u32 s4, s4, 0xac
;   c    s_addc_u32 s5, s5, lit(0x0)                  s[4:5] = +b0 leaf
;   14   v_writelane_b32 v40, s4, 3
;   1c   v_writelane_b32 v40, s5, 4
;   24   s_or_saveexec_b64 s[8:9], -1
;   28   buffer_store_dword v40, off, s[0:3], 0 offset:16
;   30   v_mov_b32_e32 v40, 0
;   34   buffer_store_dword v41, off, s[0:3], 0 offset:20
;   3c   buffer_load_dword v42, off, s[0:3], 0 offset:16
;   44   s_waitcnt vmcnt(0)
;   48   v_readlane_b32 s6, v42, 3
;   50   v_readlane_b32 s7, v42, 4
;   58   s_swappc_b64 s[30:31], s[6:7]                call of leaf
; .LBB1: from k; to .LBB2 (Call)
;   5c   v_mov_b32_e32 v2, s4
;   60   v_mov_b32_e32 v3, s5
;   64   buffer_store_dwordx2 v[2:3], off, s[0:3], 0 offset:32
;   6c   v_mov_b32_e32 v2, 0
;   70   v_mov_b32_e32 v3, 0
;   74   buffer_load_dwordx2 v[4:5], off, s[0:3], 0 offset:32
;   7c   s_waitcnt vmcnt(0)
;   80   v_readfirstlane_b32 s6, v4
;   84   v_readfirstlane_b32 s7, v5
;   88   s_swappc_b64 s[30:31], s[6:7]                call of leaf
; .LBB2: from .LBB1; to .LBB3 (Call)
;   8c   buffer_store_dword v41, v6, s[0:3], 0 offen
;   94   buffer_load_dwordx2 v[4:5], off, s[0:3], 0 offset:32
;   9c   s_waitcnt vmcnt(0)
;   a0   v_readfirstlane_b32 s6, v4
;   a4   v_readfirstlane_b32 s7, v5
;   a8   s_swappc_b64 s[30:31], s[6:7]                call of an unknown function
; .LBB3: from .LBB2; to (End)
;   ac   s_endpgm
;
; Device leaf (address taken)
; leaf: from; to (Return { proven: true })
;   b0   v_mov_b32_e32 v9, 1
;   b4   s_setpc_b64 s[30:31]                         return
; issue +a8 the call's target is not known: it is loaded at +94
