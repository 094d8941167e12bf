; target: gfx1100
; kernel: k
; print: counters pending
; RDNA counts what only writes apart from what comes back, and waits for it with an instruction of its own.
.globl k
.p2align 8
.type k,@function
k:
  s_load_b128 s[4:7], s[0:1], null
  s_waitcnt lgkmcnt(0)
  global_load_b32 v1, v0, s[4:5]
  global_store_b32 v0, v9, s[6:7]
  global_store_b32 v0, v9, s[6:7] offset:4
  s_waitcnt vmcnt(0)
  global_atomic_add_u32 v0, v1, s[6:7]
  global_atomic_add_u32 v2, v0, v1, s[6:7] glc
  s_cbranch_scc1 join
  global_store_b32 v0, v9, s[6:7] offset:8
join:
  s_waitcnt_vscnt null, 0x2
  s_waitcnt_vmcnt null, 0x0
  flat_store_b32 v[10:11], v9
  flat_load_b32 v3, v[10:11]
  scratch_store_b32 off, v9, off
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_waitcnt_vscnt null, 0x0
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_load_b128 s[4:7], s[0:1], null             all at zero; pending none
;   8    s_waitcnt lgkmcnt(0)                         lgkmcnt <= 2; pending s4-7
;   c    global_load_b32 v1, v0, s[4:5]               all at zero; pending none
;   14   global_store_b32 v0, v9, s[6:7]              vmcnt <= 1; pending v1
;   1c   global_store_b32 v0, v9, s[6:7] offset:4     vmcnt <= 1 vscnt <= 1; pending v1
;   24   s_waitcnt vmcnt(0)                           vmcnt <= 1 vscnt <= 2; pending v1
;   28   global_atomic_add_u32 v0, v1, s[6:7]         vscnt <= 2; pending none
;   30   global_atomic_add_u32 v2, v0, v1, s[6:7] glc vscnt <= 3; pending none
;   38   s_cbranch_scc1 .LBB2                         vmcnt <= 1 vscnt <= 3; pending v2
; .LBB1: from k; to .LBB2 (Fallthrough)
;   3c   global_store_b32 v0, v9, s[6:7] offset:8     vmcnt <= 1 vscnt <= 3; pending v2
; .LBB2: from k .LBB1; to (End)
;   44   s_waitcnt_vscnt null, 0x2                    vmcnt <= 1 vscnt <= 4; pending v2
;   48   s_waitcnt_vmcnt null, 0x0                    vmcnt <= 1 vscnt <= 2; pending v2
;   4c   flat_store_b32 v[10:11], v9                  vscnt <= 2; pending none
;   54   flat_load_b32 v3, v[10:11]                   lgkmcnt <= 1 vscnt <= 3; pending none
;   5c   scratch_store_b32 off, v9, off               vmcnt <= 1 lgkmcnt <= 2 vscnt <= 3; pending v3
;   64   s_waitcnt vmcnt(0) lgkmcnt(0)                vmcnt <= 1 lgkmcnt <= 2 vscnt <= 4; pending v3
;   68   s_waitcnt_vscnt null, 0x0                    vscnt <= 4; pending none
;   6c   s_endpgm                                     all at zero; pending none
