; A call through the global offset table, a variable reached through it, and a function whose address is stored.
; kernel: k
.globl k
.type k,@function
k:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, exported@gotpcrel32@lo+4
  s_addc_u32 s5, s5, exported@gotpcrel32@hi+12
  s_load_dwordx2 s[4:5], s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[4:5]
  s_getpc_b64 s[6:7]
  s_add_u32 s6, s6, variable@gotpcrel32@lo+4
  s_addc_u32 s7, s7, variable@gotpcrel32@hi+12
  s_load_dwordx2 s[6:7], s[6:7], 0x0
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, stored@rel32@lo+4
  s_addc_u32 s9, s9, stored@rel32@hi+12
  v_mov_b32_e32 v2, s8
  v_mov_b32_e32 v3, s9
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v0, 0
  global_store_dwordx2 v0, v[2:3], s[6:7]
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, copied@rel32@lo+4
  s_addc_u32 s11, s11, copied@rel32@hi+12
  s_mov_b64 s[12:13], s[10:11]
  s_swappc_b64 s[30:31], s[12:13]
  s_endpgm
.size k, .-k

.globl exported
.type exported,@function
exported:
  s_setpc_b64 s[30:31]
.size exported, .-exported

.type stored,@function
stored:
  s_setpc_b64 s[30:31]
.size stored, .-stored

.type copied,@function
copied:
  s_setpc_b64 s[30:31]
.size copied, .-copied

.data
.globl variable
.type variable,@object
.p2align 3
variable:
  .quad 0
.size variable, 8
; expect:
;
; Kernel k
; k: from; to .LBB1 (Call)
;   0    s_getpc_b64 s[4:5]
;   4    s_add_u32 s4, s4, 0x1134
;   c    s_addc_u32 s5, s5, lit(0x0)                  s[4:5] = +1138 .got slot of exported
;   14   s_load_dwordx2 s[4:5], s[4:5], 0x0           s[4:5] = +8c exported
;   1c   s_waitcnt lgkmcnt(0)
;   20   s_swappc_b64 s[30:31], s[4:5]                call of exported
; .LBB1: from k; to .LBB2 (Call)
;   24   s_getpc_b64 s[6:7]
;   28   s_add_u32 s6, s6, 0x1118
;   30   s_addc_u32 s7, s7, lit(0x0)                  s[6:7] = +1140 .got slot of variable
;   38   s_load_dwordx2 s[6:7], s[6:7], 0x0           s[6:7] = +2148 variable
;   40   s_getpc_b64 s[8:9]
;   44   s_add_u32 s8, s8, 0x4c
;   4c   s_addc_u32 s9, s9, lit(0x0)                  s[8:9] = +90 stored
;   54   v_mov_b32_e32 v2, s8
;   58   v_mov_b32_e32 v3, s9
;   5c   s_waitcnt lgkmcnt(0)
;   60   v_mov_b32_e32 v0, 0
;   64   global_store_dwordx2 v0, v[2:3], s[6:7]
;   6c   s_getpc_b64 s[10:11]
;   70   s_add_u32 s10, s10, lit(0x24)
;   78   s_addc_u32 s11, s11, lit(0x0)                s[10:11] = +94 copied
;   80   s_mov_b64 s[12:13], s[10:11]
;   84   s_swappc_b64 s[30:31], s[12:13]              call of copied
; .LBB2: from .LBB1; to (End)
;   88   s_endpgm
;
; Device exported
; exported: from; to (Return { proven: true })
;   8c   s_setpc_b64 s[30:31]                         return
;
; Device stored (address taken)
; stored: from; to (Return { proven: true })
;   90   s_setpc_b64 s[30:31]                         return
;
; Device copied
; copied: from; to (Return { proven: true })
;   94   s_setpc_b64 s[30:31]                         return
