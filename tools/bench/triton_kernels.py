"""Triton's kernels on one core: those of the corpus as Triton has compiled them, larger than the corpus' own launches are, and
attention, compiled here; beside the same without native code. And what a launch costs over what Triton itself does.

``python tools/bench/triton_kernels.py`` prints the rows alone. Without the corpus, or without Triton, its rows are not there,
and a line on standard error says so."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import inputs  # makes the tests' support importable
import numpy as np
from places import CORPUS
from rows import at_most, row

import luthier as lt

HERE = Path(__file__).parent
PROCESSORS = ("gfx942", "gfx1100")
HAS_TRITON = importlib.util.find_spec("triton") is not None


class Loaded:
    """A kernel of the corpus on one thread."""

    def __init__(self, name: str, processor: str):
        folder = CORPUS / "triton" / processor
        about = json.loads((folder / f"{name}.json").read_text())
        self._module = lt.Device(processor, threads=1).load(lt.CodeObject.open(folder / f"{name}.hsaco"))
        self._kernel, self._lds, self._block = about["name"], about["shared"], about["num_warps"] * about["warp_size"]

    def __call__(self, grid: tuple[int, ...], args: list) -> None:
        """Launches workgroups. Two scratch pointers of Triton's follow the arguments."""
        whole = (grid[0] * self._block, *grid[1:])
        self._module.run(self._kernel, grid=whole, block=self._block, args=[*args, None, None], lds=self._lds)


def least(launch: Callable[[], object], rounds: int = 10) -> float:
    """Milliseconds of the processor's time, of the fastest launch: others may use the processor meanwhile."""
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        launch()
        best = min(best, time.thread_time() - start)
    return best * 1e3


def softmax(processor: str, rows: int = 1024, columns: int = 777) -> float:
    """Of each row of a matrix."""
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    out, kernel = np.zeros_like(x), Loaded("softmax_f32", processor)
    found = least(lambda: kernel((rows,), [out, x, np.int32(columns), np.int32(columns)]))
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=1e-4)
    return found


def normalization(processor: str, rows: int = 1024, columns: int = 700) -> float:
    """Of each row of a matrix, with weights and biases."""
    generator = np.random.default_rng(1)
    x = generator.standard_normal((rows, columns)).astype(np.float32)
    weights, biases = (generator.standard_normal(columns).astype(np.float32) for _ in range(2))
    out, kernel = np.zeros_like(x), Loaded("layernorm_f32", processor)
    args = [x, out, weights, biases, np.int32(columns), np.int32(columns), np.float32(1e-5)]
    found = least(lambda: kernel((rows,), args))
    wide = x.astype(np.float64)
    centred = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, centred * weights + biases, rtol=1e-3, atol=1e-4)
    return found


def product(processor: str, size: int = 512, tile: int = 64) -> float:
    """Of f16 matrices of small whole numbers, whose sums f32 holds: near the right ones on RDNA3, whose WMMA rounds in its own
    way."""
    generator = np.random.default_rng(2)
    a, b = (generator.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    return _product(processor, a, b, tile, 2**-6 if processor == "gfx1100" else 0)


def normal_product(processor: str, size: int = 512, tile: int = 64) -> float:
    """Of f16 matrices as those of networks are: CDNA3's sums of whole numbers are made otherwise."""
    generator = np.random.default_rng(4)
    a, b = (generator.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    return _product(processor, a, b, tile, 2**-9)


def _product(processor: str, a: np.ndarray, b: np.ndarray, tile: int, tolerance: float) -> float:
    """Each sum is within the tolerance."""
    size = len(a)
    out, kernel = np.zeros((size, size), np.float32), Loaded("matmul_f16_64", processor)
    numbers = [np.int32(n) for n in (size, size, size, size, 1, size, 1, size, 1)]
    found = least(lambda: kernel(((size // tile) ** 2,), [a, b, out, *numbers]), 6)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=0, atol=tolerance)
    return found


def attention(processor: str, heads: int = 4, length: int = 256, width: int = 64) -> float:
    """In f16, without a mask."""
    from triton_programs.matrices import attention_kernel, np_attention

    import luthier.triton

    generator = np.random.default_rng(3)
    with installed(processor):
        q, k, v = (generator.standard_normal((heads, length, width)).astype(np.float16) for _ in range(3))
        out, logs = np.zeros((heads, length, width), np.float32), np.zeros((heads, length), np.float32)
        tensors = [luthier.triton.tensor(array) for array in (q, k, v, out, logs)]
        grid, scale = (length // 32, heads), width**-0.5
        launch = lambda: attention_kernel[grid](*tensors, scale, length, CAUSAL=False, BM=32, BN=32, D=width)  # noqa: E731
        launch()  # compiles it
        found = least(launch)
    _, wanted = np_attention(*(array.astype(np.float64) for array in (q, k, v)), scale, False)
    np.testing.assert_allclose(tensors[3].numpy(), wanted, rtol=3e-3, atol=3e-3)
    return found


@contextmanager
def installed(processor: str) -> Iterator[None]:
    """A mock GPU with one worker for Triton's kernels."""
    import luthier.triton

    with patch.dict(os.environ, LUTHIER_THREADS="1"):
        luthier.triton.install(processor)
    try:
        yield
    finally:
        luthier.triton.uninstall()


def launch_cost(count: int = 2_000) -> dict[str, float]:
    """Microseconds of a launch of one wave that does nothing, with two tensors, and what of it Triton does before it calls its
    launcher."""
    from nothing_triton import nothing

    import luthier.triton
    from luthier.triton.launcher import Launcher

    with installed("gfx942"):
        a, b = (luthier.triton.tensor(np.zeros(64, np.float32)) for _ in range(2))

        def launches() -> None:
            for _ in range(count):
                nothing[(1,)](a, b, num_warps=1)

        launches()
        whole = least(launches) * 1e3 / count
        with patch.object(Launcher, "__call__", lambda *_: None):
            return {"whole": whole, "own": least(launches) * 1e3 / count}


KERNELS = {
    "softmax, 1,024 x 777": softmax,
    "layer normalization, 1,024 x 700": normalization,
    "product of 512, f16": product,
    "product of 512, f16, of normal numbers": normal_product,
}
COMPILED = {"attention, 4 x 256 x 64, f16": attention}


def times() -> dict[str, float]:
    """Milliseconds of all of them in this process."""
    kernels = (KERNELS if CORPUS else {}) | (COMPILED if HAS_TRITON else {})
    return {f"{name}, {processor}": kernel(processor) for processor in PROCESSORS for name, kernel in kernels.items()}


def _apart(what: str, **variables: str) -> dict[str, float]:
    """What a function of this file gives in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-c", f"import json, triton_kernels; print(json.dumps(triton_kernels.{what}()))"]
    done = subprocess.run(command, cwd=HERE, env=os.environ | variables, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def measured() -> dict[str, dict]:
    """A row for each kernel and processor, and one for a launch."""
    if not CORPUS:
        print("bench: the corpus is not here: its Triton kernels are not measured (LUTHIER_CORPUS)", file=sys.stderr)
    if not HAS_TRITON:
        print("bench: Triton is not here: its attention and launches are not measured (make setup-triton)", file=sys.stderr)
    rows: dict[str, dict] = {}
    if not CORPUS and not HAS_TRITON:
        return rows
    runs = [_apart("times", LUTHIER_NATIVE=native) for native in ("0", "", "0", "")]
    for name in runs[0]:
        off, on = (min(found[name] for found in some) for some in (runs[::2], runs[1::2]))
        rows[f"Triton: {name}"] = row(on, off, off / on, "ms, one core", "the same without native code", 0.9)
    if HAS_TRITON:
        found = _apart("launch_cost")
        rows["Triton: a launch"] = at_most(found["whole"] - found["own"], 20, "microseconds over Triton's own", **found)
    return rows


if __name__ == "__main__":
    assert inputs.ROOT
    for name, found in measured().items():
        print(
            f"{name}: {found['ours']:.2f} {found['unit']}, beside {found['other']:.2f} ({found['against']}): {found['ratio']:.2f}x"
        )
