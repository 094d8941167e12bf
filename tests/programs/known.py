"""What is clang's fault. Each entry was reduced by hand, and the code that clang makes is wrong to read.

What the generator avoids, as it would come up again and again:

* llvm.copysign.bf16 on x86 loses the sign at -O1 (`fcopysign` makes it of f32's).
* A pair of halves (x, -0.0) becomes (x, +0.0) on GPUs with packed halves: v_and_b32 with 0xffff. No half is -0.0 as
  written, for that.
* Cases that fall through: StructurizeCFG hoists what it must not (llvm/llvm-project#183792), and values of one path
  are those of another or undefined. `break` at the end of every case makes it rare.
* llvm.bswap.i64 on gfx11 at -O0 copies 16 bits of each word where it needs 32 (v_mov_b16). `byte_swap` swaps two words.
* On gfx1250 f32's FMA of two halves, rounded to bf16, becomes v_fma_mixlo_bf16 that reads the halves as f32: `mixed` is
  not made for bf16.
* VCVTNEPS2BF16 (-march=native) takes denormals for zeros, which C does not.
"""

from __future__ import annotations

#: Programs whose code is wrong, with the reason.
WRONG_CODE: dict[str, str] = {}

#: Parts of what clang says when it fails itself, and the option without which it should not.
NOT_COMPILED = {
    "Segmentation fault": "-fglobal-isel",
    "ran out of registers": "-DSPILL",
    "cannot find enough VGPRs": "-DSPILL",
}
