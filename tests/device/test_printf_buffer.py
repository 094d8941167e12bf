"""What kernels print into a buffer: OpenCL's printf, and HIP's with -mprintf-kind=buffered."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from cli import luthier
from device_library import build
from printing import assert_prints_as_in_c, listening

import luthier as lt

#: Statements that mean the same to C on the host. OpenCL keeps a constant for ``%f`` as a float.
STATEMENTS = r"""
printf("plain text: 100%%\n");
printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", -1, 2, 3u, 255u, 255u, 8u, 'q', 7, 7, 7, 7, 7, 255u, 8u);
printf("%hhd %hd %ld %hhu %hu %lu %lx\n", 300, 70000, -5l, 300, 70000, 5ul, 1ul << 63);
printf("%f %.2f %e %E %g %G %a %10.3f|%-10.1f|%+.0f\n", 1.5, 2.625, 1e10, 1e-10, 0.1, 1e20, 1.0, 3.140625, 2.5, 0.5);
printf("%f %f %g\n", __builtin_inf(), -__builtin_inf(), 1e308 * 10);
printf("%s, %s and %s|%10s|%-10s|%.3s\n", "a string of more than eight bytes", "", "b", "right", "left", "truncated");
printf("%p %p\n", (global int *)0x1234, (global int *)0);
printf("%s:%d\n", "\xc3\xa4 \xe2\x82\xac", 1);
printf("\n");
"""


#: As the device library has it: the bytes that are taken, the size, and behind them the calls.
_ALLOC = """
global char *__printf_alloc(uint size) {
    global uint *buffer = ((global uint *constant *)__builtin_amdgcn_implicitarg_ptr())[WHERE];
    uint at = __scoped_atomic_load_n(buffer, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    do {
        if (at + size + 8 > buffer[1]) return 0;
    } while (!__scoped_atomic_compare_exchange_n(
        buffer, &at, at + size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
    return (global char *)buffer + 8 + at;
}
#define ITEM ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
"""


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-opencl-")


@functools.cache
def _opencl(source: str, target: str = "gfx90a", version: int = 6) -> Path:
    """The code object of OpenCL source text. (The printf of Debian's device library, for LLVM 14, hides LLVM 22's.)"""
    out = Path(_folder().name) / f"{len(list(Path(_folder().name).iterdir()))}.hsaco"
    command = [
        "clang-22", "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-w", "-O2",
        f"-mcode-object-version={version}", f"-DWHERE={3 if version == 4 else 9}", "-", "-o", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True, input=(_ALLOC + source).encode())
    return out


@pytest.mark.parametrize("target, version", [("gfx90a", 4), ("gfx90a", 5), ("gfx1201", 6)])
def test_opencl_prints_what_c_prints(target, version, tmp_path):
    code = _opencl("kernel void say() { if (ITEM == 3) {" + STATEMENTS + "} }", target, version)
    assert_prints_as_in_c(code, target, STATEMENTS, "#define global", tmp_path)


def test_opencl_prints_vectors_with_commas():
    code = _opencl(r"""
    kernel void say(global float4 *p) {
        printf("%v4f|%5.1v3hlf|%v2lf\n", p[0], p[0].xyz, __builtin_convertvector(p[0].xy, double2));
        printf("%v2hhd %v3hhu %v4hhx %v8hd\n", (char2)(-1, 2), (uchar3)(3, 4, 255), (uchar4)(16), (short8)(-9));
        printf("%v2hld|%-4v16hld|%v2lu\n", (int2)(1, -2), (int16)(7), (ulong2)(1, ~0ul));
    }""")
    device, output = listening()
    device.run(code, "say", grid=1, block=1, args=[np.array([1, -2.5, 3.25, 4], np.float32)])
    sixteen = ",".join(["7   "] * 16)
    assert output.getvalue().splitlines() == [
        "1.000000,-2.500000,3.250000,4.000000|  1.0, -2.5,  3.2|1.000000,-2.500000",
        "-1,2 3,4,255 10,10,10,10 -9,-9,-9,-9,-9,-9,-9,-9",
        f"1,-2|{sixteen}|1,18446744073709551615",
    ]


MANY = r"""kernel void say(global int *counts) {
    int i = GROUP * 64 + ITEM;
    if (i % 7 < 3) counts[i] = printf("work-item %d: %g\n", i, i * 0.5f);
}"""


@pytest.mark.parametrize("schedule", [None, "alternate"])
def test_every_lane_of_every_wave_prints_once(schedule):
    device, output = listening()
    counts = np.ones(64 * 40, np.int32)
    device.run(_opencl(MANY), "say", blocks=40, block=64, args=[counts], schedule=schedule)
    expected = [f"work-item {i}: {i * 0.5:g}" for i in range(64 * 40) if i % 7 < 3]
    assert sorted(output.getvalue().splitlines()) == sorted(expected)
    assert counts.tolist() == [int(i % 7 >= 3) for i in range(64 * 40)]


def test_sessions_and_the_command_line_print_as_well(capsys):
    module = lt.Device("gfx90a").load(_opencl(MANY))
    with module.session("say", grid=64, block=64, args=[np.zeros(64, np.int32)]) as session:
        while session.workgroup is not None:
            session.step(count=100)
    text = capsys.readouterr().out
    assert text.startswith("work-item 0: 0\nwork-item 1: 0.5\n") and text.count("\n") == 28
    done = luthier(*("run", str(_opencl(MANY)), "--kernel", "say", "--grid", "64", "--block", "64", "--arg", "buf:i32[64]=zeros"))
    assert done.returncode == 0 and text in done.stdout, done.stderr


def test_what_was_printed_before_a_trap_is_shown():
    code = _opencl(r'kernel void say() { printf("so far: %d\n", 7); __builtin_trap(); }')
    device, output = listening()
    with pytest.raises(lt.DeviceError, match="trap 2"):
        device.run(code, "say", grid=1, block=1)
    assert output.getvalue() == "so far: 7\n"


def test_a_format_that_c_does_not_have_is_refused_by_name():
    device, output = listening()
    with pytest.raises(lt.DeviceError, match=r"say: printf has fewer arguments than its format asks for"):
        device.run(_opencl(r'kernel void say() { printf("first\n"); printf("%d %d\n", 1); }'), "say", grid=1, block=1)
    assert output.getvalue() == "first\n"


HIP = r"""
extern "C" __device__ __attribute__((address_space(1))) char *__printf_alloc(unsigned size) {
    unsigned *buffer = ((unsigned *const *)__builtin_amdgcn_implicitarg_ptr())[9];
    unsigned at = __scoped_atomic_fetch_add(buffer, size, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    return at + size + 8 > buffer[1] ? 0 : (__attribute__((address_space(1))) char *)((char *)buffer + 8 + at);
}
KERNEL say(int *counts, const char *text) {
    int i = GROUP * 64 + ITEM;
    counts[i] = printf("work-item %d: %s%g%%, %s: %.2f %ld\n", i, i & 1 ? "odd " : "", i * 0.5, "fixed", 0.1f, -1l);
    if (i == 3) printf(text, 7, 8);
}"""


def test_hip_prints_into_a_buffer():
    # Newer device libraries have `__printf_alloc` for HIP as well.
    code = build(HIP, flags=("-mprintf-kind=buffered",))
    for strict in (False, True):
        device, output = listening()
        counts = np.ones(128, np.int32)
        text = np.frombuffer(b"a format of its own: %d, %5x|\n\0", np.uint8).copy()
        device.run(code, "say", blocks=2, block=64, args=[counts, text], strict=strict)
        expected = [f"work-item {i}: {'odd ' if i & 1 else ''}{i * 0.5:g}%, fixed: 0.10 -1" for i in range(128)]
        assert sorted(output.getvalue().splitlines()) == sorted([*expected, "a format of its own: 7,     8|"])
        assert not counts.any()
