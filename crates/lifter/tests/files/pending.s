; Loads under way: counted, out of order, over a join.
; kernel: k
; print: pending
.globl k
.type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_waitcnt lgkmcnt(1)
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  global_load_dwordx2 v[2:3], v0, s[6:7]
  global_store_dword v0, v9, s[8:9]
  s_waitcnt vmcnt(2)
  s_waitcnt vmcnt(1)
  ds_read_b32 v4, v0
  ds_read_b32 v5, v0 offset:4
  s_waitcnt lgkmcnt(1)
  s_cmp_eq_u32 s4, 0
  s_cbranch_scc1 join
  global_load_dword v6, v0, s[4:5]
  global_load_dword v7, v0, s[4:5]
join:
  s_waitcnt vmcnt(1)
  flat_load_dword v8, v[10:11]
  s_waitcnt vmcnt(1) lgkmcnt(1)
  s_waitcnt vmcnt(0)
  s_waitcnt lgkmcnt(0)
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_load_dwordx4 s[4:7], s[0:1], 0x0           pending none
;   8    s_load_dwordx2 s[8:9], s[0:1], 0x10          pending s4-7
;   10   s_waitcnt lgkmcnt(1)                         pending s4-9
;   14   s_waitcnt lgkmcnt(0)                         pending s4-9
;   18   global_load_dword v1, v0, s[4:5]             pending none
;   20   global_load_dwordx2 v[2:3], v0, s[6:7]       pending v1
;   28   global_store_dword v0, v9, s[8:9]            pending v1-3
;   30   s_waitcnt vmcnt(2)                           pending v1-3
;   34   s_waitcnt vmcnt(1)                           pending v2-3
;   38   ds_read_b32 v4, v0                           pending none
;   40   ds_read_b32 v5, v0 offset:4                  pending v4
;   48   s_waitcnt lgkmcnt(1)                         pending v4-5
;   4c   s_cmp_eq_u32 s4, 0                           pending v5
;   50   s_cbranch_scc1 .LBB2                         pending v5
; .LBB1: from k; to .LBB2 (Fallthrough)
;   54   global_load_dword v6, v0, s[4:5]             pending v5
;   5c   global_load_dword v7, v0, s[4:5]             pending v5-6
; .LBB2: from k .LBB1; to (End)
;   64   s_waitcnt vmcnt(1)                           pending v5-7
;   68   flat_load_dword v8, v[10:11]                 pending v5 v7
;   70   s_waitcnt vmcnt(1) lgkmcnt(1)                pending v5 v7-8
;   74   s_waitcnt vmcnt(0)                           pending v5 v7-8
;   78   s_waitcnt lgkmcnt(0)                         pending v5 v8
;   7c   s_endpgm                                     pending none
