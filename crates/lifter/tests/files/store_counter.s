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
