; A function with bytes that are no instruction, one that is entered in its middle, one that runs off its end, and a
; branch into an instruction.
; kernel: bad
.globl bad
.type bad,@function
bad:
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc1 over
  .long 0xfffffff0
over:
  s_branch inner
.size bad, .-bad
.type other,@function
other:
  v_mov_b32_e32 v0, 1
inner:
  v_mov_b32_e32 v1, 1
  s_setpc_b64 s[30:31]
.size other, .-other
.type off,@function
off:
  v_mov_b32_e32 v0, 1
.size off, .-off
.type split,@function
split:
  s_mov_b32 s0, 0x11223344
  s_branch 0xfffe
.size split, .-split
; expect:
;
; Kernel bad (refused: the bytes at +8 are no instruction)
; bad: from; to .LBB1 (CondBranch)
;   0    s_cmp_eq_u32 s0, 0
;   4    s_cbranch_scc1 .LBB1
; .LBB1: from bad; to (Branch)
;   c    s_branch other+0x4
;
; Device other
; other: from; to .LBB1 (Fallthrough)
;   10   v_mov_b32_e32 v0, 1
; .LBB1: from other; to (Return { proven: false })
;   14   v_mov_b32_e32 v1, 1
;   18   s_setpc_b64 s[30:31]                         return, not proven
;
; Device off
; off: from; to (OffEnd)
;   1c   v_mov_b32_e32 v0, 1                          the function does not end here
;
; Device split (refused: control at +28 leads into the instruction at +20)
; split: from; to (Branch)
;   20   s_mov_b32 s0, 0x11223344
;   28   s_branch +24
; issue +4 the function does not end; execution goes on at +8
; issue +4 control leaves for +8, no function's start
; issue +8 not an instruction: no gfx90a instruction has the encoding 0xfffffff0
; issue +c control leaves for +14, no function's start
; issue +14 control enters from outside at +14
; issue +18 a return whose address is not proven to be the caller's
; issue +1c the function does not end; execution goes on at +20
; issue +28 overlaps the instruction at +20
; issue +28 control leaves for +24, no function's start
