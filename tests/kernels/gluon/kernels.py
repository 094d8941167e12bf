"""Kernels in Gluon, Triton's language of explicit layouts, that use what gfx1250 moves bytes with.

The assembly files beside this one are what Triton 3.9.0 makes of them, without comments and debug sections, in the words
of LLVM 22; so the tests need no Triton. To make them anew: `python kernels.py FOLDER`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl

amd = ttgl.amd.cdna5


@gluon.jit
def tdm_copy(a_ptr, b_ptr, M, N, BLOCK_M: ttgl.constexpr, BLOCK_N: ttgl.constexpr):
    SHARED: ttgl.constexpr = ttgl.PaddedSharedLayout.with_identity_for([[32, 4]], [BLOCK_M, BLOCK_N], [1, 0])
    OUT: ttgl.constexpr = ttgl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    REG: ttgl.constexpr = ttgl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    pid_m = ttgl.program_id(0)
    pid_n = ttgl.program_id(1)
    a = amd.tdm.make_tensor_descriptor(base=a_ptr, shape=(M, N), strides=(N, 1), block_shape=(BLOCK_M, BLOCK_N), layout=SHARED)
    b = amd.tdm.make_tensor_descriptor(base=b_ptr, shape=(M, N), strides=(N, 1), block_shape=(BLOCK_M, BLOCK_N), layout=OUT)
    buf = ttgl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    out = ttgl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    amd.tdm.async_load(a, [pid_m * BLOCK_M, pid_n * BLOCK_N], buf)
    amd.tdm.async_wait(0)
    x = buf.load(REG)
    out.store(x + x)
    amd.tdm.async_store(b, [pid_m * BLOCK_M, pid_n * BLOCK_N], out)
    amd.tdm.async_wait(0)


@gluon.jit
def tdm_mbarrier(a_ptr, b_ptr, M, N, BLOCK_M: ttgl.constexpr, BLOCK_N: ttgl.constexpr, BUFFERS: ttgl.constexpr):
    SHARED: ttgl.constexpr = ttgl.PaddedSharedLayout.with_identity_for([[32, 4]], [BLOCK_M, BLOCK_N], [1, 0])
    REG: ttgl.constexpr = ttgl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    pid_m = ttgl.program_id(0)
    pid_n = ttgl.program_id(1)
    a = amd.tdm.make_tensor_descriptor(base=a_ptr, shape=(M, N), strides=(N, 1), block_shape=(BLOCK_M, BLOCK_N), layout=SHARED)
    bars = ttgl.allocate_shared_memory(ttgl.int64, [BUFFERS, 1], amd.mbarrier.MBarrierLayout())
    buf = ttgl.allocate_shared_memory(a.dtype, [BUFFERS] + a.block_shape, a.layout)
    for i in ttgl.static_range(0, BUFFERS):
        amd.mbarrier.init(bars.index(i), count=4 + 128)
    for i in ttgl.static_range(0, BUFFERS):
        amd.tdm.async_load(a, [pid_m * BLOCK_M, (pid_n * BUFFERS + i) * BLOCK_N], buf.index(i), mbarrier=bars.index(i))
    for i in ttgl.static_range(0, BUFFERS):
        phase = amd.mbarrier.arrive(bars.index(i))
        amd.mbarrier.wait(bars.index(i), phase)
        x = buf.index(i).load(REG)
        m = pid_m * BLOCK_M + ttgl.arange(0, BLOCK_M, layout=ttgl.SliceLayout(1, REG))
        n = (pid_n * BUFFERS + i) * BLOCK_N + ttgl.arange(0, BLOCK_N, layout=ttgl.SliceLayout(0, REG))
        ttgl.store(b_ptr + m[:, None] * N + n[None, :], x, mask=(m[:, None] < M) & (n[None, :] < N))


@gluon.jit
def tdm_gather(a_ptr, rows_ptr, b_ptr, M, N, ROWS: ttgl.constexpr, BLOCK_N: ttgl.constexpr):
    SHARED: ttgl.constexpr = ttgl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    REG: ttgl.constexpr = ttgl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    IDX: ttgl.constexpr = ttgl.SliceLayout(0, ttgl.BlockedLayout([1, ROWS], [32, 1], [4, 1], [1, 0]))
    a = amd.tdm.make_tensor_descriptor(base=a_ptr, shape=(M, N), strides=(N, 1), block_shape=(ROWS, BLOCK_N), layout=SHARED)
    buf = ttgl.allocate_shared_memory(a.dtype, [ROWS, BLOCK_N], SHARED)
    rows = ttgl.load(rows_ptr + ttgl.arange(0, ROWS, layout=IDX))
    a = amd.tdm.update_tensor_descriptor(a, add_offsets=[0, ttgl.program_id(0) * BLOCK_N], clamp_bounds=True, pred=1)
    amd.tdm.async_gather(a, rows, buf)
    amd.tdm.async_wait(0)
    x = buf.load(REG)
    m = ttgl.arange(0, ROWS, layout=ttgl.SliceLayout(1, REG))
    n = ttgl.program_id(0) * BLOCK_N + ttgl.arange(0, BLOCK_N, layout=ttgl.SliceLayout(0, REG))
    ttgl.store(b_ptr + m[:, None] * N + n[None, :], x, mask=n[None, :] < N)


@gluon.jit
def async_mbarrier(a_ptr, out_ptr, M, N, BLOCK_M: ttgl.constexpr, BLOCK_N: ttgl.constexpr):
    L: ttgl.constexpr = ttgl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    S: ttgl.constexpr = ttgl.SwizzledSharedLayout(8, 2, 4, [1, 0])
    m = ttgl.program_id(0) * BLOCK_M + ttgl.arange(0, BLOCK_M, layout=ttgl.SliceLayout(1, L))
    n = ttgl.program_id(1) * BLOCK_N + ttgl.arange(0, BLOCK_N, layout=ttgl.SliceLayout(0, L))
    bar = ttgl.allocate_shared_memory(ttgl.int64, [1], amd.mbarrier.MBarrierLayout())
    buf = ttgl.allocate_shared_memory(a_ptr.type.element_ty, [BLOCK_M, BLOCK_N], S)
    amd.mbarrier.init(bar, count=256)
    at = m[:, None] * N + n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    amd.async_copy.global_to_shared(buf, a_ptr + at, mask)
    amd.async_copy.mbarrier_arrive(bar)
    phase = amd.mbarrier.arrive(bar)
    amd.mbarrier.wait(bar, phase)
    ttgl.store(out_ptr + at, buf.load(L), mask)


@gluon.jit
def async_store(a_ptr, out_ptr, M, N, BLOCK_M: ttgl.constexpr, BLOCK_N: ttgl.constexpr):
    L: ttgl.constexpr = ttgl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    S: ttgl.constexpr = ttgl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    m = ttgl.program_id(0) * BLOCK_M + ttgl.arange(0, BLOCK_M, layout=ttgl.SliceLayout(1, L))
    n = ttgl.program_id(1) * BLOCK_N + ttgl.arange(0, BLOCK_N, layout=ttgl.SliceLayout(0, L))
    buf = ttgl.allocate_shared_memory(a_ptr.type.element_ty, [BLOCK_M, BLOCK_N], S)
    at = m[:, None] * N + n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    amd.async_copy.global_to_shared(buf, a_ptr + at, mask)
    amd.async_copy.commit_group()
    amd.async_copy.wait_group(0)
    x = buf.load(L)
    buf.store(x * 3)
    amd.async_copy.shared_to_global(out_ptr + at, buf, mask)
    amd.async_copy.commit_group()
    amd.async_copy.wait_group(0)


DROPPED = (
    ".loc",
    ".file",
    ".cfi",
    ".ident",
    ".addrsig",
    ".Ltmp",
    ".Lfunc_begin",
    ".amdhsa_inst_pref_size",
    ".set .L",
    ".p2alignl",
    ".fill",
)


def plain(text: str) -> str:
    """Assembly without what says nothing to the device, as LLVM 22 reads it."""
    lines, skipped = [], False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith((".section", ".text", ".amdgpu_metadata")):
            skipped = "debug" in stripped or ".note" in stripped or ".AMDGPU" in stripped
        if skipped or not stripped or stripped.startswith((";", *DROPPED)):
            continue
        if stripped.startswith(".amdgcn_target"):
            line = '  .amdgcn_target "amdgcn-amd-amdhsa--gfx1250"'
        elif stripped.startswith("amdhsa.target"):
            line = "amdhsa.target:   amdgcn-amd-amdhsa--gfx1250"
        lines.append((line if '"' in line else line.split(";")[0]).rstrip().replace("\t", "  "))
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Compiles every kernel."""
    halves, words = "*i16", "*i32"
    tile = {"BLOCK_M": 32, "BLOCK_N": 64}
    rows = {"ROWS": 16, "BLOCK_N": 64}
    copied = [halves, halves, "i32", "i32"]
    kernels = {
        "tdm_copy": (tdm_copy, copied, tile),
        "tdm_mbarrier": (tdm_mbarrier, copied, tile | {"BUFFERS": 2}),
        "tdm_gather16": (tdm_gather, [halves, halves, halves, "i32", "i32"], rows),
        "tdm_gather32": (tdm_gather, [halves, words, halves, "i32", "i32"], rows),
        "async_mbarrier": (async_mbarrier, copied, tile),
        "async_store": (async_store, copied, tile),
    }
    for name, (kernel, types, constants) in kernels.items():
        signature = dict(zip(kernel.arg_names, types + ["constexpr"] * len(constants), strict=True))
        attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(types))}
        source = gluon._runtime.GluonASTSource(fn=kernel, signature=signature, attrs=attributes, constexprs=constants)
        made = triton.compile(source, target=GPUTarget("hip", "gfx1250", 32))
        (folder / f"{name}.s").write_text(plain(made.asm["amdgcn"]))
        print(name, "LDS:", made.metadata.shared, "waves:", made.metadata.num_warps)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
