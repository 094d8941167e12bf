; target: gfx1201
; kernel: k
; print: counters pending
; A counter of its own for loads, samples, stores, LDS and scalar loads.
.globl k
.p2align 8
.type k,@function
k:
  s_load_b64 s[4:5], s[0:1], 0x0
  global_load_b32 v1, v0, s[2:3]
  ds_load_b32 v2, v0
  global_store_b32 v0, v3, s[2:3]
  s_wait_kmcnt 0x0
  s_wait_loadcnt 0x0
  v_add_f32_e32 v4, v1, v1
  s_wait_dscnt 0x0
  v_add_f32_e32 v4, v4, v2
  s_wait_storecnt 0x0
  global_load_b32 v5, v0, s[4:5]
  ds_load_b32 v6, v0
  s_wait_loadcnt_dscnt 0x0
  v_add_f32_e32 v4, v5, v6
  s_endpgm
.size k, .-k
; expect:
;
; Kernel k
; k: from; to (End)
;   0    s_load_b64 s[4:5], s[0:1], 0x0               all at zero; pending none
;   8    global_load_b32 v1, v0, s[2:3]               kmcnt <= 2; pending s4-5
;   14   ds_load_b32 v2, v0                           loadcnt <= 1 kmcnt <= 2; pending s4-5 v1
;   1c   global_store_b32 v0, v3, s[2:3]              loadcnt <= 1 dscnt <= 1 kmcnt <= 2; pending s4-5 v1-2
;   28   s_wait_kmcnt 0x0                             loadcnt <= 1 storecnt <= 1 dscnt <= 1 kmcnt <= 2; pending s4-5 v1-2
;   2c   s_wait_loadcnt 0x0                           loadcnt <= 1 storecnt <= 1 dscnt <= 1; pending v1-2
;   30   v_add_f32_e32 v4, v1, v1                     storecnt <= 1 dscnt <= 1; pending v2
;   34   s_wait_dscnt 0x0                             storecnt <= 1 dscnt <= 1; pending v2
;   38   v_add_f32_e32 v4, v4, v2                     storecnt <= 1; pending none
;   3c   s_wait_storecnt 0x0                          storecnt <= 1; pending none
;   40   global_load_b32 v5, v0, s[4:5]               all at zero; pending none
;   4c   ds_load_b32 v6, v0                           loadcnt <= 1; pending v5
;   54   s_wait_loadcnt_dscnt 0x0                     loadcnt <= 1 dscnt <= 1; pending v5-6
;   58   v_add_f32_e32 v4, v5, v6                     all at zero; pending none
;   5c   s_endpgm                                     all at zero; pending none
