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

from collections.abc import Sequence

#: With -fglobal-isel, RegBankSelect gives a phi of constants one scalar register though the branches before it diverge
#: (`llc -global-isel`: s_mov_b32 s2, 0 before the branch, s_movk_i32 s2, 0xff80 inside): all lanes have the last path's.
#: A selection by uniformity (llvm/llvm-project#112863) is there to replace it, and is an option in LLVM 22.
PHI_OF_CONSTANTS = "-fglobal-isel"
#: SIFoldOperands folds the copy that keeps each lane's value of a scalar as it leaves a divergent loop into uses after
#: the loop, where the scalar is the last lane's: llvm/llvm-project#203256, later than LLVM 22. Seen where a copy's class is
#: of both VGPRs and AGPRs.
LEFT_LOOP = "gfx90a gfx942 gfx950"
#: Programs whose code is wrong, and on which processors or with which option.
WRONG_CODE = {"program_1000_3": [PHI_OF_CONSTANTS, LEFT_LOOP]}


def wrong_code(program: str, target: str, flags: Sequence[str]) -> bool:
    """Whether clang is known to compile this program wrongly in this way."""
    return any(target in fault.split() or fault in flags for fault in WRONG_CODE.get(program, []))


#: Parts of what clang says when it fails itself, and the option without which, or the processor on which, it does. On
#: gfx1250 that is a compare and exchange of 8 or 16 bits of scratch.
NOT_COMPILED = {
    "Segmentation fault": "-fglobal-isel",
    "ran out of registers": "-DSPILL",
    "cannot find enough VGPRs": "-DSPILL",
    "AtomicCmpSwap": "gfx1250",
}
