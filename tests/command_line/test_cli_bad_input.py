"""Bad input: one line that says what is wrong and where, exit status 2, and no file left behind."""

from __future__ import annotations

import subprocess
import sys

import compiled
import pytest
from cli import fails

ARGS = ["--arg", "buf:f32[64]=arange", "--arg", "buf:f32[64]=ones", "--arg", "buf:f32[64]=zeros", "--arg", "u32=64"]
SIZES = ["--grid", "64", "--block", "64"]
RUN = ["--kernel", "vecadd", *SIZES, *ARGS]


@pytest.fixture(scope="module")
def vecadd():
    return compiled.code_object("vecadd")


def every_command(path, tmp_path):
    """The error line of each command that reads a file; they must all refuse it, with the same reason."""
    out = tmp_path / "out" / "written"
    out.parent.mkdir(exist_ok=True)
    lines = [
        fails("inspect", path),
        fails("inspect", path, "--json"),
        fails("disasm", path),
        fails("lift", path, "--emit", "json"),
        fails("run", path, *RUN, "--json", out),
        fails("instrument", path, "--tool", "instr_count", "-o", out),
    ]
    assert not list(out.parent.iterdir())
    assert all(str(path) in line for line in lines), lines
    return lines


def test_truncated(vecadd, tmp_path):
    data = vecadd.read_bytes()
    path = tmp_path / "cut.hsaco"
    for size in (0, 3, 20, 64, 200, len(data) // 2):
        path.write_bytes(data[:size])
        every_command(path, tmp_path)


def test_no_elf(tmp_path):
    path = tmp_path / "text.hsaco"
    path.write_text("this is not a code object\n" * 20)
    assert all("not an ELF file" in line for line in every_command(path, tmp_path))


def test_x86_elf(tmp_path):
    path = tmp_path / "true"
    path.write_bytes(open("/bin/true", "rb").read())
    assert all("x86" in line for line in every_command(path, tmp_path))


def test_object_file_without_program_headers(tmp_path):
    path = tmp_path / "vecadd.o"
    command = ["clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "-c", "-fno-gpu-rdc",
               "--no-gpu-bundle-output", "-O3", "-S", str(compiled.SOURCES / "vecadd.hip"), "-o", str(tmp_path / "vecadd.s")]  # fmt: skip
    subprocess.run(command, check=True)
    assemble = ["clang-22", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-c", str(tmp_path / "vecadd.s"), "-o", str(path)]
    subprocess.run(assemble, check=True)
    assert all("program headers" in line for line in every_command(path, tmp_path))


def test_code_object_v2(vecadd, tmp_path):
    data = bytearray(vecadd.read_bytes())
    data[8] = 0  # EI_ABIVERSION
    path = tmp_path / "v2.hsaco"
    path.write_bytes(data)
    assert all("version 2" in line for line in every_command(path, tmp_path))


def test_missing_file_and_directory(tmp_path):
    assert "no such file" in fails("inspect", tmp_path / "nothing")
    assert "directory" in fails("inspect", tmp_path)


def test_unknown_kernel(vecadd):
    line = fails("run", vecadd, "--kernel", "vecsub", *SIZES)
    assert "no kernel vecsub" in line and "vecadd" in line
    fails("disasm", vecadd, "--kernel", "vecsub")
    fails("instrument", vecadd, "--kernel", "vecsub", "--tool", "instr_count", "-o", "/dev/null")


def test_argument_count_and_types(vecadd):
    base = ["run", vecadd, "--kernel", "vecadd", *SIZES]
    assert "takes 4 arguments" in fails(*base)
    assert "takes 4 arguments" in fails(*base, *ARGS, "--arg", "u32=1")
    assert "argument 3" in fails(*base, *ARGS[:6], "--arg", "u64=64")
    assert "argument 3" in fails(*base, *ARGS[:6], "--arg", "null")
    assert "argument 0" in fails(*base, "--arg", "f32=1", *ARGS[2:])
    assert "f33" in fails(*base, "--arg", "buf:f33[4]=zeros")


def test_sizes(vecadd):
    rest = ["--kernel", "vecadd", *ARGS]
    assert "--grid: the x size is 0" in fails("run", vecadd, "--grid", "0", "--block", "64", *rest)
    assert "--grid: the y size is 0" in fails("run", vecadd, "--grid", "64,0", "--block", "64", *rest)
    assert "--block" in fails("run", vecadd, "--grid", "64", "--block", "0", *rest)
    assert "--block" in fails("run", vecadd, "--grid", "64", "--block", "x", *rest)
    assert "2048 work-items" in fails("run", vecadd, "--grid", "64", "--block", "2048", *rest)
    assert "--lds" in fails("run", vecadd, *RUN, "--lds", "-1")


def test_outputs_that_cannot_be_written(vecadd, tmp_path):
    nowhere = tmp_path / "missing" / "file"
    assert "cannot write" in fails("run", vecadd, *RUN, "--json", nowhere)
    assert "cannot write" in fails("run", vecadd, *RUN, "--dump", f"2={nowhere}.npy")
    assert "directory" in fails("instrument", vecadd, "--tool", "instr_count", "-o", tmp_path)
    assert not list(tmp_path.iterdir())
    # One output that can be written is not left behind when another cannot.
    fails("run", vecadd, *RUN, "--json", tmp_path / "fine.json", "--dump", f"2={nowhere}.npy")
    assert not list(tmp_path.iterdir())
    assert "full" in fails("instrument", vecadd, "--tool", "instr_count", "-o", "/dev/full") or not sys.platform.startswith(
        "linux"
    )


def test_dump_of_what_is_no_buffer(vecadd, tmp_path):
    assert "argument 3 is not a buffer" in fails("run", vecadd, *RUN, "--dump", f"3={tmp_path}/a.npy")
    assert "argument 9 is not a buffer" in fails("run", vecadd, *RUN, "--dump", f"9={tmp_path}/a.npy")


def test_tools(vecadd, tmp_path):
    for tool, why in (
        ("nothing", "no tool 'nothing'"),
        ("instr_count:per=never", "block or instruction"),
        ("instr_count:color=red", "no option 'color'"),
        ("instr_count:per", "not option=value"),
        (str(tmp_path / "none.py"), "no such file"),
    ):
        assert why in fails("run", vecadd, *RUN, "--tool", tool)
    path = tmp_path / "broken.py"
    path.write_text("import luthier as lt\ndef f(:\n")
    assert f"{path}:2" in fails("run", vecadd, *RUN, "--tool", path)
    path.write_text("x = 1\n")
    assert "no class" in fails("run", vecadd, *RUN, "--tool", path)


def test_usage():
    assert "--kernel" in fails("run", "x")
    assert "invalid choice" in fails("fly")
    assert "choose from" in fails("")
