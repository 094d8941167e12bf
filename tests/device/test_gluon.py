"""Gluon's kernels for gfx1250 (tests/kernels/gluon): tensors, rows by number, asynchronous copies and barriers in LDS, as
Triton uses them, against NumPy and under strict mode, with each of their waits gone too."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from places import TESTS
from waits import S_NOP, waits_of

import luthier as lt

FOLDER = TESTS / "kernels" / "gluon"
THREADS = 128
# The bytes of LDS that Triton says, and the rows and columns of a workgroup.
LDS = {
    "tdm_copy": 8704,
    "tdm_mbarrier": 9232,
    "tdm_gather16": 2048,
    "tdm_gather32": 2048,
    "async_mbarrier": 4104,
    "async_store": 4096,
}
BLOCK = (32, 64)
# Waits that nothing needs: for the stores before a kernel's end; that no more than ten tensors are under way (LLVM's
# FeatureNeedsTDMDrain); between two of which the second is soon enough, or that stand behind one on every path.
SPARE = {
    "tdm_copy": ["s_wait_tensorcnt"],
    "tdm_mbarrier": ["s_wait_dscnt"] * 6 + ["s_wait_tensorcnt"],
    "tdm_gather32": ["s_wait_tensorcnt"],
    "async_mbarrier": ["s_wait_dscnt"] * 2,
    "async_store": ["s_wait_asynccnt"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("gluon")
    for name in LDS:
        command = ["clang-22", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-x", "assembler", FOLDER / f"{name}.s"]
        subprocess.run([*command, "-o", folder / f"{name}.hsaco"], check=True)
    return folder


def _launch(code: lt.CodeObject, name: str, shape: tuple[int, int], strict) -> tuple[list, np.ndarray, np.ndarray]:
    """Findings, what the kernel made, and what it should have."""
    rng = np.random.default_rng([*shape, len(name)])
    a = rng.integers(1, 1000, shape).astype(np.int16)
    out, want, across = np.zeros_like(a), a, BLOCK[1]
    down, inputs = -(-shape[0] // BLOCK[0]), [a]
    if name.startswith("tdm_gather"):
        rows = rng.permutation(shape[0])[:16].astype(f"int{name[-2:]}")
        out, want, down = np.zeros((16, shape[1]), np.int16), a[rows], 1
        inputs = [a, rows]
    elif name == "tdm_copy":
        want = a + a
    elif name == "async_store":
        want = 3 * a
    elif name == "tdm_mbarrier":
        across *= 2
    columns = -(-shape[1] // across)
    grid = (columns * THREADS, 1, 1) if down == 1 and len(inputs) == 2 else (down * THREADS, columns, 1)
    (kernel,) = code.kernels
    args = [*inputs, out, np.int32(shape[0]), np.int32(shape[1]), None, None]
    module = lt.Device("gfx1250", watchdog=10_000_000).load(code)
    result = module.run(kernel.name, grid=grid, block=THREADS, args=args, lds=LDS[name], strict=strict)
    return result.findings, out, want


@pytest.mark.parametrize("name", LDS)
@pytest.mark.parametrize("shape", [(64, 128), (48, 136), (40, 72)])
def test_results(folder: Path, name: str, shape: tuple[int, int]) -> None:
    code = lt.CodeObject.open(folder / f"{name}.hsaco")
    for strict in (False, True):
        findings, out, want = _launch(code, name, shape, strict)
        assert np.array_equal(out, want)
        # Asynchronous copies leave alone what their mask excludes; the registers get it all the same, and nothing else does.
        assert findings == []


@pytest.mark.parametrize("name", LDS)
def test_every_wait_is_missed(folder: Path, name: str) -> None:
    path = folder / f"{name}.hsaco"
    data = path.read_bytes()
    unnoticed = []
    for at, mnemonic in waits_of(lt.CodeObject.open(path)).items():
        broken = bytearray(data)
        struct.pack_into("<I", broken, at, S_NOP)
        try:
            findings, _, _ = _launch(lt.CodeObject.open(bytes(broken)), name, (64, 128), True)
        except lt.DeviceError:
            continue  # it went astray, which is hard to miss
        if not {f["kind"] for f in findings} & {"missing-wait", "lds-race"}:
            unnoticed.append(mnemonic)
    assert sorted(unnoticed) == SPARE.get(name, [])
