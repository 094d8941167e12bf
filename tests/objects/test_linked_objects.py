"""Objects that a linker has made of several, and undefined symbols that nothing uses: they run as on ROCm."""

from __future__ import annotations

import json
import subprocess

import compiled
import numpy as np
import pytest
from cli import fails, succeeds

import luthier as lt

#: An undefined symbol, as Tensile's assembly has it and clang 14 leaves it behind with -g.
UNUSED = ".globl UNDEF\n"


def linked(tmp_path, count: int, more: str = UNUSED):
    """An object of several compilations, each of a kernel that adds its number."""
    target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a"]
    objects = []
    for n in range(count):
        source = f"KERNEL add{n}(u32 *p, {''.join(f'u32 a{i}, ' for i in range(n))}u32 last) {{ p[global_x()] += {n} + last; }}"
        command = [
            "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "-O2", "-S",
            f"-cuid=n{n}", "-include", str(compiled.SOURCES / "gpu.h"), "-", "-o", "-",
        ]  # fmt: skip
        text = subprocess.run(command, check=True, input=source, capture_output=True, text=True).stdout
        (tmp_path / f"{n}.s").write_text(text + more)
        objects.append(str(tmp_path / f"{n}.o"))
        subprocess.run(["clang-22", *target, "-c", str(tmp_path / f"{n}.s"), "-o", objects[-1]], check=True)
    path = tmp_path / "linked.hsaco"
    subprocess.run(["ld.lld-22", "-shared", *objects, "-o", str(path)], check=True)
    return path


@pytest.fixture
def object_of_five(tmp_path):
    return linked(tmp_path, 5)


def test_every_kernel_has_its_arguments(object_of_five):
    listed = json.loads(succeeds("kernels", object_of_five, "--json"))
    assert {k["name"]: k["arguments"] for k in listed} == {f"add{n}": n + 2 for n in range(5)}
    assert len(lt.CodeObject.open(object_of_five).metadata["amdhsa.kernels"]) == 5


@pytest.mark.parametrize("placement, written", [([], 5), (["--calling-convention"], 1)])
def test_every_kernel_runs_and_is_instrumented(object_of_five, tmp_path, placement, written):
    new = tmp_path / "counted.hsaco"
    succeeds("instrument", object_of_five, "--tool", "instr_count", *placement, "-o", new)
    for path in (object_of_five, new):
        for n in range(5):
            p = np.arange(64, dtype=np.uint32)
            lt.Device("gfx90a").run(path, f"add{n}", grid=64, block=64, args=[p, *[np.uint32(9)] * n, np.uint32(100)])
            assert np.array_equal(p, np.arange(64) + n + 100), (path, n)
    # Other readers find each kernel once, too. Where the metadata change (scratch, here), one note has all of them; else
    # the linker's notes stay.
    assert [notes(path).count("NT_AMDGPU_METADATA") for path in (object_of_five, new)] == [5, written]
    assert notes(new).count(".kd") == 5


def notes(path):
    """What LLVM reads of the object's notes."""
    return subprocess.run(["llvm-readelf-22", "--notes", str(path)], check=True, capture_output=True, text=True).stdout


def test_an_undefined_symbol_that_is_used_is_named(tmp_path):
    used = UNUSED + ".data\n.quad UNDEF\n"
    message = fails("run", linked(tmp_path, 1, used), "--kernel", "add0", "--grid", "64", "--block", "64",
                    "--arg", "buf:u32[64]=zeros", "--arg", "u32=1")  # fmt: skip
    assert "undefined symbols: UNDEF" in message
