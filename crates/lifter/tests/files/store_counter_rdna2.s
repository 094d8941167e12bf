; target: gfx1030
; kernel: k
; print: counters pending
; As store_counter.s: a loop that stores, and a call, after which stores of the callee may be out.
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], null
  s_waitcnt lgkmcnt(0)
again:
  buffer_store_dword v1, v0, s[8:11], 0 offen
  global_store_dword v0, v1, s[4:5]
  buffer_load_dword v2, v0, s[8:11], 0 offen
  s_waitcnt_vscnt null, 0x1
  s_cbranch_scc1 again
  s_waitcnt vmcnt(0)
  s_waitcnt_vscnt null, 0x0
  s_call_b64 s[30:31], leaf
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_waitcnt_vscnt null, 0x0
  s_waitcnt_vscnt s20, 0x0
  s_endpgm
.size k, .-k
.type leaf,@function
leaf:
  global_store_dword v0, v1, s[4:5]
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
; expect:
;
; Kernel k
; k: from; to .LBB1 (Fallthrough)
;   0    s_load_dwordx2 s[4:5], s[0:1], null          all at zero; pending none
;   8    s_waitcnt lgkmcnt(0)                         lgkmcnt <= 2; pending s4-5
; .LBB1: from k .LBB1; to .LBB1 .LBB2 (CondBranch)
;   c    buffer_store_dword v1, v0, s[8:11], 0 offen  vmcnt any vscnt <= 1; pending v2
;   14   global_store_dword v0, v1, s[4:5]            vmcnt any vscnt <= 2; pending v2
;   1c   buffer_load_dword v2, v0, s[8:11], 0 offen   vmcnt any vscnt <= 3; pending v2
;   24   s_waitcnt_vscnt null, 0x1                    vmcnt any vscnt <= 3; pending v2
;   28   s_cbranch_scc1 .LBB1                         vmcnt any vscnt <= 1; pending v2
; .LBB2: from .LBB1; to .LBB3 (Call)
;   2c   s_waitcnt vmcnt(0)                           vmcnt any vscnt <= 1; pending v2
;   30   s_waitcnt_vscnt null, 0x0                    vscnt <= 1; pending none
;   34   s_call_b64 s[30:31], leaf                    call of leaf; all at zero; pending none
; .LBB3: from .LBB2; to (End)
;   38   s_waitcnt vmcnt(0) lgkmcnt(0)                vmcnt any lgkmcnt any expcnt any vscnt any; pending s4-5 v2
;   3c   s_waitcnt_vscnt null, 0x0                    expcnt any vscnt any; pending none
;   40   s_waitcnt_vscnt s20, 0x0                     expcnt any; pending none
;   44   s_endpgm                                     expcnt any; pending none
;
; Device leaf
; leaf: from; to (Return { proven: true })
;   48   global_store_dword v0, v1, s[4:5]            vmcnt any lgkmcnt any expcnt any vscnt any; pending s4-5 v2
;   50   s_setpc_b64 s[30:31]                         return; vmcnt any lgkmcnt any expcnt any vscnt any; pending s4-5 v2
