; The counters of outstanding operations, over waits, a join and a call.
; kernel: k
; print: counters
.globl k
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  global_store_dword v0, v9, s[8:9]
  s_cbranch_scc1 join
  global_load_dword v6, v0, s[4:5]
join:
  ds_read_b32 v4, v0
  s_waitcnt vmcnt(2)
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_call_b64 s[30:31], leaf
  s_waitcnt vmcnt(0)
  s_endpgm
.size k, .-k
.type leaf,@function
leaf:
  s_setpc_b64 s[30:31]
.size leaf, .-leaf
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_load_dwordx4 s[4:7], s[0:1], 0x0           all at zero
;   8    s_load_dwordx2 s[8:9], s[0:1], 0x10          lgkmcnt <= 2
;   10   s_waitcnt lgkmcnt(0)                         lgkmcnt <= 4
;   14   global_load_dword v1, v0, s[4:5]             all at zero
;   1c   global_store_dword v0, v9, s[8:9]            vmcnt <= 1
;   24   s_cbranch_scc1 .LBB2                         vmcnt <= 2
; .LBB1: from k; to .LBB2 (Fallthrough)
;   28   global_load_dword v6, v0, s[4:5]             vmcnt <= 2
; .LBB2: from k .LBB1; to .LBB3 (Call)
;   30   ds_read_b32 v4, v0                           vmcnt <= 3
;   38   s_waitcnt vmcnt(2)                           vmcnt <= 3 lgkmcnt <= 1
;   3c   s_waitcnt vmcnt(0) lgkmcnt(0)                vmcnt <= 2 lgkmcnt <= 1
;   40   s_call_b64 s[30:31], leaf                    call of leaf; all at zero
; .LBB3: from .LBB2; to (End)
;   44   s_waitcnt vmcnt(0)                           vmcnt any lgkmcnt any expcnt any
;   48   s_endpgm                                     lgkmcnt any expcnt any
;
; Device leaf
; leaf: from; to (Return { proven: true })
;   4c   s_setpc_b64 s[30:31]                         return; vmcnt any lgkmcnt any expcnt any
