; With VGPR indexing on, an operand may stand for any VGPR: everything is read, nothing is overwritten.
; kernel: k
; print: active
.globl k
.type k,@function
k:
  v_mov_b32_e32 v4, 1
  v_mov_b32_e32 v5, 2
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_mov_b32_e32 v1, v4
  s_set_gpr_idx_off
  v_mov_b32_e32 v2, v1
  global_store_dword v0, v2, s[2:3]
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to (End)
;   0    v_mov_b32_e32 v4, 1                          active s2-4 m0 exec_lo exec_hi v0-3 v6-255 mode
;   4    v_mov_b32_e32 v5, 2                          active s2-4 m0 exec_lo exec_hi v0-4 v6-255 mode
;   8    s_set_gpr_idx_on s4, gpr_idx(SRC0)           active s2-4 m0 exec_lo exec_hi v0-255 mode
;   c    v_mov_b32_e32 v1, v4                         active s2-3 exec_lo exec_hi v0-255 mode
;   10   s_set_gpr_idx_off                            active s2-3 exec_lo exec_hi v0-1 mode
;   14   v_mov_b32_e32 v2, v1                         active s2-3 exec_lo exec_hi v0-1
;   18   global_store_dword v0, v2, s[2:3]            active s2-3 exec_lo exec_hi v0 v2
;   20   s_endpgm                                     active none
