; target: gfx1250
; kernel: k across
; print: active
; Which VGPRs are meant depends on s_set_vgpr_msb, along every way.
.globl k
.p2align 8
.type k,@function
k:
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_co_u32 s4, s4, leaf-.Lpc
  s_add_co_ci_u32 s5, s5, 0
  ; first source in the second quarter, destination in the third
  s_set_vgpr_msb 0x81
  v_mov_b32_e32 v1, v2
  v_add_f32_e32 v3, v1, v4
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lother
  ; the same bits on both ways
  s_set_vgpr_msb 0x81
  v_mov_b32_e32 v5, v6
.Lother:
  v_mov_b32_e32 v7, v8
  s_set_vgpr_msb 0x40
  v_mov_b32_e32 v9, v10
  s_swap_pc_i64 s[30:31], s[4:5]
  ; as the callee has left them
  v_mov_b32_e32 v11, v1
  s_set_vgpr_msb 0
  global_store_b32 v0, v1, s[2:3]
  s_endpgm
.size k, .-k
.globl leaf
.p2align 8
.type leaf,@function
leaf:
  v_mov_b32_e32 v20, v21
  s_set_vgpr_msb 0x1
  s_set_pc_i64 s[30:31]
.size leaf, .-leaf
.globl merges
.p2align 8
.type merges,@function
merges:
  ; nobody calls it
  v_mov_b32_e32 v1, v2
  s_set_vgpr_msb 0
  v_mov_b32_e32 v3, v4
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lthere
  s_set_vgpr_msb 0xc0
.Lthere:
  ; two ways, two destinations
  v_mov_b32_e32 v5, v6
  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 0x3
  v_mov_b32_e32 v7, v8
  s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 12, 2), s0
  s_set_pc_i64 s[30:31]
.size merges, .-merges
.globl across
.p2align 8
.type across,@function
across:
  ; over the end of the first quarter, both by a tuple and by the bits
  global_load_b128 v[254:257], v0, s[0:1]
  s_wait_loadcnt 0x0
  v_mov_b32_e32 v2, v255
  s_set_vgpr_msb 0x1
  v_mov_b32_e32 v3, v1
  s_set_vgpr_msb 0
  global_store_b128 v0, v[254:257], s[0:1]
  global_store_b64 v0, v[2:3], s[0:1]
  s_endpgm
.size across, .-across
; expect:
;
; Kernel k
; k: from; to .LBB2 .LBB1 (CondBranch)
;   0    s_get_pc_i64 s[4:5]                          active s2-3 exec_lo v0-1 v4 v10 v21 v257-258 v262 v264 mode
;   4    s_add_co_u32 s4, s4, 0xfc                    active s2-5 exec_lo v0-1 v4 v10 v21 v257-258 v262 v264 mode
;   c    s_add_co_ci_u32 s5, s5, 0                    s[4:5] = +100 leaf; active s2-5 exec_lo scc v0-1 v4 v10 v21 v257-258 v262 v264 mode
;   10   s_set_vgpr_msb 0x81                          active s2-5 exec_lo v0-1 v4 v10 v21 v257-258 v262 v264 mode
;   14   v_mov_b32_e32 v1 /*v513*/, v2 /*v258*/       active s2-5 exec_lo v0-1 v4 v10 v21 v257-258 v262 v264 mode
;   18   v_add_f32_e32 v3 /*v515*/, v1 /*v257*/, v4   active s2-5 exec_lo v0-1 v4 v10 v21 v257 v262 v264 mode
;   1c   s_cmp_lg_u32 s2, 0                           active s2-5 exec_lo v0-1 v10 v21 v257 v262 v264 mode
;   20   s_cbranch_scc1 .LBB2                         active s2-5 exec_lo scc v0-1 v10 v21 v257 v262 v264 mode
; .LBB1: from k; to .LBB2 (Fallthrough)
;   24   s_set_vgpr_msb 0x81                          active s2-5 exec_lo v0-1 v10 v21 v257 v262 v264 mode
;   28   v_mov_b32_e32 v5 /*v517*/, v6 /*v262*/       active s2-5 exec_lo v0-1 v10 v21 v257 v262 v264 mode
; .LBB2: from k .LBB1; to .LBB3 (Call)
;   2c   v_mov_b32_e32 v7 /*v519*/, v8 /*v264*/       active s2-5 exec_lo v0-1 v10 v21 v257 v264 mode
;   30   s_set_vgpr_msb 64                            active s2-5 exec_lo v0-1 v10 v21 v257 mode
;   34   v_mov_b32_e32 v9 /*v265*/, v10               active s2-5 exec_lo v0-1 v10 v21 v257 mode
;   38   s_swap_pc_i64 s[30:31], s[4:5]               call of leaf; active s2-5 exec_lo v0-1 v21 v257 mode
; .LBB3: from .LBB2; to (End)
;   3c   v_mov_b32_e32 v11, v1 /*v257*/               active s2-3 exec_lo v0-1 v257 mode
;   40   s_set_vgpr_msb 0                             active s2-3 exec_lo v0-1 mode
;   44   global_store_b32 v0, v1, s[2:3]              active s2-3 exec_lo v0-1 mode
;   50   s_endpgm                                     active none
;
; Device leaf
; leaf: from; to (Return { proven: true })
;   100  v_mov_b32_e32 v20 /*v276*/, v21              active s2-3 s30-31 exec_lo v0-1 v21 v257 mode
;   104  s_set_vgpr_msb 1                             active s2-3 s30-31 exec_lo v0-1 v257 mode
;   108  s_set_pc_i64 s[30:31]                        return; active s2-3 s30-31 exec_lo v0-1 v257 mode
;
; Device merges (refused: which VGPRs are meant from +200 on is not known)
; merges: from; to .LBB2 .LBB1 (CondBranch)
;   200  v_mov_b32_e32 v1, v2                         which VGPRs are meant is not known; active all but 134
;   204  s_set_vgpr_msb 0                             active all but 134
;   208  v_mov_b32_e32 v3, v4                         active all but 134
;   20c  s_cmp_lg_u32 s2, 0                           active all but 133
;   210  s_cbranch_scc1 .LBB2                         active all but 132
; .LBB1: from merges; to .LBB2 (Fallthrough)
;   214  s_set_vgpr_msb 0xc0                          active all but 132
; .LBB2: from merges .LBB1; to (Return { proven: true })
;   218  v_mov_b32_e32 v5, v6                         which VGPRs are meant is not known; active all but 132
;   21c  s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), 3 active all but 132
;   224  v_mov_b32_e32 v7, v8                         active all but 132
;   228  s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 12, 2), s0 active all but 131
;   22c  s_set_pc_i64 s[30:31]                        return; active all but 131
;
; Kernel across
; across: from; to (End)
;   300  global_load_b128 v[254:257], v0, s[0:1]      active s0-1 exec_lo v0 mode
;   30c  s_wait_loadcnt 0x0                           active s0-1 exec_lo v0 v254-257 mode
;   310  v_mov_b32_e32 v2, v255                       active s0-1 exec_lo v0 v254-257 mode
;   314  s_set_vgpr_msb 1                             active s0-1 exec_lo v0 v2 v254-257 mode
;   318  v_mov_b32_e32 v3, v1 /*v257*/                active s0-1 exec_lo v0 v2 v254-257 mode
;   31c  s_set_vgpr_msb 0                             active s0-1 exec_lo v0 v2-3 v254-257 mode
;   320  global_store_b128 v0, v[254:257], s[0:1]     active s0-1 exec_lo v0 v2-3 v254-257 mode
;   32c  global_store_b64 v0, v[2:3], s[0:1]          active s0-1 exec_lo v0 v2-3 mode
;   338  s_endpgm                                     active none
; gap +54 172 bytes Padding
; gap +10c 244 bytes Padding
; gap +230 208 bytes Padding
; issue +200 which VGPRs 2 instructions name is not known
