; Arguments preloaded: two entries, filler in between that never runs.
; kernel: k
; preload: 4
; print: active pending
.globl k
.type k,@function
.p2align 8
k:
  s_load_dwordx4 s[8:11], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_branch start
  .fill 60, 4, 0xbf800000
start:
  global_load_dword v1, v0, s[8:9]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[10:11]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 (Branch)
;   0    s_load_dwordx4 s[8:11], s[4:5], 0x0          active s4-5 exec_lo exec_hi v0; pending none
;   8    s_waitcnt lgkmcnt(0)                         active s8-11 exec_lo exec_hi v0; pending s8-11
;   c    s_branch .LBB2                               active s8-11 exec_lo exec_hi v0; pending none
; .LBB1: from; to .LBB2 (Fallthrough)
;   10   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   14   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   18   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   1c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   20   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   24   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   28   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   2c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   30   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   34   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   38   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   3c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   40   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   44   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   48   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   4c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   50   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   54   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   58   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   5c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   60   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   64   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   68   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   6c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   70   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   74   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   78   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   7c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   80   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   84   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   88   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   8c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   90   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   94   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   98   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   9c   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   a0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   a4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   a8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   ac   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   b0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   b4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   b8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   bc   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   c0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   c4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   c8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   cc   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   d0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   d4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   d8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   dc   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   e0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   e4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   e8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   ec   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   f0   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   f4   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   f8   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
;   fc   s_nop 0                                      active s8-11 exec_lo exec_hi v0; pending none
; .LBB2: from k .LBB1; to (End)
;   100  global_load_dword v1, v0, s[8:9]             active s8-11 exec_lo exec_hi v0; pending none
;   108  s_waitcnt vmcnt(0)                           active s10-11 exec_lo exec_hi v0-1; pending v1
;   10c  global_store_dword v0, v1, s[10:11]          active s10-11 exec_lo exec_hi v0-1; pending none
;   114  s_endpgm                                     active none; pending none
