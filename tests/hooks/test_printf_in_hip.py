"""``printf`` of ``luthier/hooks.h`` in hooks in HIP: what it prints is what C prints; text and values are checked by the compiler."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import compiled
import numpy as np
import pytest
from instrumented import TARGETS

import luthier as lt
from luthier.lang.records import CLOSED, HEAD, PRINTED, RECORDS, TAIL, PrintedInHip

KERNEL = "KERNEL idle(u32 *out) { out[global_x()] = 7; }"
HEADER = Path(lt.__file__).parent / "include/luthier/hooks.h"

SAYS = r"""
#include <luthier/hooks.h>
static __device__ __attribute__((noinline)) void tell(unsigned lane) {
  if (lane < 2) printf("lane %u of %d%%\n", lane, -3);
}
template <typename T> static __device__ void any(T value) { printf("%d;", value); }
LT_HOOK void say(unsigned n) {
  unsigned lane = __lane_id();
  tell(lane);
  if (lane) return;
  printf("no values\n");
  any(true), any((signed char)-5), any((short)n);
  printf("%d %u %x %lld %llu %hhu\n", -1, -1, 0xbeef, -5ll, -1ll, 511);
  printf("%hd|%5d|%-5d|%05u\n", 98304 + 5, 42, 42, 42u);
}
LT_HOOK void floats(float x, double y) {
  if (__lane_id() == 0) printf("%f %.3e %g %8.2f %c\n", x, y, (_Float16)0.5, -x, 'z');
}
LT_HOOK void silent(unsigned *p) { atomicAdd(p, 1u); }
LT_HOOK void number(unsigned n) { printf("%u\n", n + __lane_id()); }
"""


class Says(lt.Tool):
    library = lt.HookLibrary(SAYS, "hip")

    def __init__(self, hook, *args):
        self.hook, self.args = hook, args

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.library[self.hook], *self.args)


def c(text: str, *values) -> str:
    """What C's library prints."""
    buffer = ctypes.create_string_buffer(200)
    ctypes.CDLL(None).snprintf(buffer, 200, text.encode(), *values)
    return buffer.value.decode()


def wave_size(target) -> int:
    return 32 if target[0].startswith("gfx1") and not target[1] else 64


def printed(capsys, target, tool, blocks=1):
    module = lt.Device(target[0]).load(compiled.build(KERNEL, *target), tools=[tool], on_rejected="raise", check=True)
    out = np.zeros(64 * blocks, np.uint32)
    result = module.run("idle", blocks=blocks, block=64, args=[out], strict=True)
    assert not result.findings and (out == 7).all()
    return capsys.readouterr().out


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_each_lane_prints_what_c_does(target, capsys):
    said = printed(capsys, target, Says("say", 12))
    waves = 64 // wave_size(target)
    numbers = c(
        "%d %u %x %lld %llu %hhu\n", *map(ctypes.c_int, (-1, -1, 0xBEEF)), *map(ctypes.c_longlong, (-5, -1)), ctypes.c_int(511)
    )
    padded = c("%hd|%5d|%-5d|%05u\n", *map(ctypes.c_int, (98304 + 5, 42, 42, 42)))
    each = "lane 0 of -3%\nlane 1 of -3%\nno values\n1;-5;12;" + numbers + padded
    # Waves print in any order among themselves.
    assert sorted(re.findall(r"[^;\n]*[;\n]", said)) == sorted(re.findall(r"[^;\n]*[;\n]", each) * waves)
    if waves == 1:
        assert said == each


def test_floats_are_what_c_prints(capsys):
    x, y = float(np.float32(3.7)), 1e-9
    in_c = c("%f %.3e %g %8.2f %c\n", *map(ctypes.c_double, (x, y, 0.5, -x)), ctypes.c_int(ord("z")))
    assert printed(capsys, TARGETS[0], Says("floats", x, y)) == in_c


def test_more_than_the_ring_holds_comes_whole(capsys):
    said = printed(capsys, ("gfx90a", ()), Says("number", 100), blocks=200).split()
    assert len(said) == 64 * 200 > PRINTED.capacity
    assert sorted(map(int, said)) == sorted([*range(100, 164)] * 200)


def test_a_hook_that_does_not_print_can_be_in_an_object_by_itself():
    class Silent(Says):
        count = lt.DeviceArray(lt.u32, 1)

    code = compiled.build(KERNEL, "gfx90a")
    lt.instrument(code, [Silent("silent", Silent.count)])
    with pytest.raises(lt.ToolError, match="is a channel .of lt.printf., which nothing reads"):
        lt.instrument(code, [Says("number", 3)])


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('printf("%d\\n")', "prints another number of values"),
        ('printf("%d\\n", 1, 2)', "prints another number of values"),
        ('printf("%d%d%d%d%d%d%d\\n", 1, 2, 3, 4, 5, 6, 7)', "or more than six"),
        ('printf("%s\\n", "text")', "printf knows %d"),
        ('printf("%d\\n", 2.5f)', "is not of the type that the text prints"),
        ('printf("%f\\n", 2)', "is not of the type that the text prints"),
        ("const char *text = 0; printf(text)", "array initializer must be an initializer list or string literal"),
    ],
)
def test_what_it_cannot_print_is_shown_at_its_line(call, why):
    text = f"#include <luthier/hooks.h>\nLT_HOOK void f() {{\n  {call};\n}}\n"

    class Wrong(lt.Tool):
        def on_kernel(self, kernel):
            kernel.insert_at_entry(lt.HookLibrary(text, "hip")["f"])

    with pytest.raises(lt.HookError) as error:
        lt.Device("gfx90a").load(compiled.build(KERNEL, "gfx90a"), tools=[Wrong()])
    assert why in error.value.message and error.value.line == 3 and not error.value.message.startswith("static")


BOTH = r"""
#include <assert.h>
#include <stdio.h>
#include <luthier/hooks.h>
__device__ unsigned long long total;
LT_HOOK void count() { lt::wave_atomic_add(&total, 1ull); }
int main(int, char **argv) {
  assert(argv);
  return printf("%s has %p\n", argv[0], (void *)argv);
}
"""


@pytest.mark.parametrize("side", ["--cuda-host-only", "--cuda-device-only"])
def test_a_tool_module_keeps_printf_and_assert_of_the_host(side):
    command = [
        "clang-22",
        "-x",
        "hip",
        side,
        "--offload-arch=gfx90a",
        "-nogpuinc",
        "-nogpulib",
        "-DLT_WAVE_SIZE=64",
        "-fsyntax-only",
    ]
    done = subprocess.run([*command, f"-I{HEADER.parents[1]}", "-"], input=BOTH, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_header_and_the_host_agree_about_the_ring():
    text = HEADER.read_text()
    has = {name: int(n) for name, n in re.findall(r"\bprinted_(\w+) = (\d+)", text)}
    offsets, stamp, size = PRINTED.places
    assert has == {
        "capacity": PRINTED.capacity, "size": size, "text": offsets[0], "stamp": stamp, "most": len(offsets) - 1,
        "tail": TAIL, "head": HEAD, "closed": CLOSED, "records": RECORDS,
    }  # fmt: skip
    assert list(offsets[1:]) == [8 * n for n in range(len(offsets) - 1)]


def test_a_hook_in_python_prints_long_integers(capsys):
    class Long(lt.Tool):
        @lt.hook
        def say(n: lt.i64):
            lt.printf("%lld %zu %05hd\n", n, lt.u64(7), lt.i16(-3), per_wave=True)

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.say, -(1 << 40))

    assert printed(capsys, ("gfx90a", ()), Long()) == f"{-(1 << 40)} 7 -0003\n"


def test_a_text_has_the_number_that_the_header_gives_it():
    # FNV-1a of 32 bits, from its own specification.
    assert PrintedInHip.of(b"").number == 0x811C9DC5 and PrintedInHip.of(b"foobar").number == 0xBF9CF968
