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
