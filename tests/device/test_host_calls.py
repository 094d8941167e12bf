"""What kernels ask of their host: printf, assert, malloc and free, by AMD's device library."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest
from cli import luthier
from device_library import build
from printing import assert_prints_as_in_c, listening

import luthier as lt

#: Statements that mean the same to C on the host.
STATEMENTS = r"""
printf("plain text, 100%%\n");
printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d|% d|%#x|%#o\n", -1, 2, 3u, 255u, 255u, 8u, 'q', 7, 7, 7, 7, 7, 255u, 8u);
printf("%hhd %hd %ld %lld %hhu %hu %lu %llu %zu\n", 300, 70000, -5l, 1ll << 40, 300, 70000, 5ul, 1ull << 63, (size_t)9);
printf("%*d|%-*d|%.*f|%.3d|%8.3d|%*d\n", 6, 42, 6, 42, 2, 3.14159, 5, 5, -6, 42);
printf("%f %.2f %e %E %g %G %a %10.3f|%-10.1f|%+.0f\n", 1.5, 2.675, 1e10, 1e-10, 0.1, 1e20, 1.0, 3.14159, 2.5, 0.5);
printf("%f %f %g\n", __builtin_inf(), -__builtin_inf(), 1e308 * 10);
printf("%s, %s and %s|%10s|%-10s|%.3s\n", "a string of more than eight bytes", "", "b", "right", "left", "truncated");
printf("%p %p\n", (void *)0x1234, (void *)0);
printf("%s\n", "\xc3\xa4 \xe2\x82\xac");
printf("a line that is long enough for several packets of the host call, of fifty-six bytes each, %d", 1);
printf("\n");
"""


@pytest.mark.parametrize("target, version", [("gfx90a", 4), ("gfx90a", 5), ("gfx1030", 5)])
def test_printf_prints_what_it_prints_in_c(target, version, tmp_path):
    code = build("KERNEL say() { if (ITEM == 3) {" + STATEMENTS + "} }", target, version)
    assert_prints_as_in_c(code, target, STATEMENTS, "", tmp_path)


SAY = """KERNEL say(int *counts, int n) {
    int i = GROUP * 64 + ITEM;
    if (i % 7 < n) counts[i] = printf("work-item %d: %s%g\\n", i, i & 1 ? "odd " : "", i * 0.5);
}"""


@pytest.mark.parametrize("schedule", [None, "alternate", "random:3"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1030"])
def test_every_lane_of_every_wave_prints(target, schedule):
    device, output = listening(target)
    counts = np.zeros(64 * 40, np.int32)
    device.run(build(SAY, target), "say", blocks=40, block=64, args=[counts, np.int32(3)], schedule=schedule)
    expected = {i: f"work-item {i}: {'odd ' if i & 1 else ''}{i * 0.5:g}\n" for i in range(64 * 40) if i % 7 < 3}
    lines = output.getvalue().splitlines(keepends=True)
    assert sorted(lines) == sorted(expected.values())
    assert [len(expected.get(i, "")) for i in range(64 * 40)] == counts.tolist()


def test_a_kernel_prints_to_standard_output_while_sessions_and_traces_run(capsys):
    module = lt.Device("gfx90a").load(build(SAY))
    counts = np.zeros(64, np.int32)
    launch = {"grid": 64, "block": 64, "args": [counts, np.int32(1)]}
    module.trace("say", **launch)
    traced = capsys.readouterr().out
    assert traced.startswith("work-item 0: 0\nwork-item 7: odd 3.5\n") and traced.count("\n") == 10
    with module.session("say", **launch) as session:
        while session.workgroup is not None:
            session.step(count=100)
    assert capsys.readouterr().out == traced


def test_the_command_line_prints_it():
    words = ["run", str(build(SAY)), "--kernel", "say", "--grid", "64", "--block", "64"]
    words += ["--arg", "buf:i32[64]=zeros", "--arg", "i32=1"]
    done = luthier(*words)
    assert done.returncode == 0 and "work-item 63: odd 31.5\n" in done.stdout, done.stderr
    done = luthier(*words, "--json", "-")
    assert json.loads(done.stdout)["kernel"] == "say" and "work-item 63: odd 31.5\n" in done.stderr


def test_what_an_output_raises_ends_the_launch():
    class Full:
        def write(self, text):
            raise OSError("no room for it")

    device = lt.Device("gfx90a", output=Full())
    with pytest.raises(OSError, match="no room for it"):
        device.run(build(SAY), "say", grid=64, block=64, args=[np.zeros(64, np.int32), np.int32(1)])


def test_a_failed_assertion_is_the_error_of_the_launch():
    source = r"""
    __device__ static void fail(const char *text, const char *file, int line, const char *function) {
        printf("%s:%u: %s: Device-side assertion `%s' failed.\n", file, line, function, text);
        __builtin_trap();
    }
    KERNEL check(int *p) { if (p[ITEM] < 0) fail("p[i] >= 0", __FILE__, 4, __func__); }
    """
    device, output = listening()
    module = device.load(build(source))
    values = np.zeros(64, np.int32)
    module.run("check", grid=64, block=64, args=[values])
    values[5] = -1
    for strict in (False, True):
        with pytest.raises(lt.DeviceError, match=r"check: Device-side assertion `p\[i\] >= 0' failed. \(trap 2"):
            module.run("check", grid=64, block=64, args=[values], strict=strict)
        assert output.getvalue().count("assertion") == 1 + strict


def test_what_goes_to_standard_error_does(capsys):
    source = """KERNEL say(int trap) {
        if (ITEM == 0) __ockl_fprintf_append_string_n(__ockl_fprintf_stderr_begin(), "it is over\\n", 12, 1);
        if (trap) __builtin_trap();
    }"""
    module = lt.Device("gfx90a").load(build(source))
    module.run("say", grid=64, block=64, args=[np.int32(0)])
    assert capsys.readouterr() == ("", "it is over\n")
    with pytest.raises(lt.DeviceError, match="it is over .trap 2 is raised"):
        module.run("say", grid=64, block=64, args=[np.int32(1)])


HEAP = """
KERNEL grow(unsigned **where, int n) {
    unsigned *p = (unsigned *)__ockl_dm_alloc(n * 4ul);
    for (int k = 0; p && k < n; k++) p[k] = k + ITEM;
    where[ITEM] = p;
}
KERNEL harvest(unsigned **where, unsigned *out, int n) {
    unsigned sum = 0;
    for (int k = 0; k < n; k++) sum += where[ITEM][k];
    out[ITEM] = sum;
}
KERNEL release(unsigned **where) { __ockl_dm_dealloc((size_t)where[ITEM]); }
KERNEL plenty(unsigned **where, size_t size) { where[ITEM] = (unsigned *)__ockl_dm_alloc(size); }
"""


@pytest.mark.parametrize("n", [5, 1000])
@pytest.mark.parametrize("target, version", [("gfx90a", 4), ("gfx90a", 5), ("gfx1030", 5)])
def test_memory_of_malloc_lasts_until_it_is_freed(target, version, n):
    module = lt.Device(target).load(build(HEAP, target, version))
    where, out = np.zeros(64, np.uint64), np.zeros(64, np.uint32)
    for strict in (False, True):
        launch = {"grid": 64, "block": 64, "strict": strict}
        assert module.run("grow", args=[where, np.int32(n)], **launch).findings == []
        assert len(set(where.tolist())) == 64
        assert module.run("harvest", args=[where, out, np.int32(n)], **launch).findings == []
        assert out.tolist() == [sum(range(n)) + n * i for i in range(64)]
        assert module.run("release", args=[where], **launch).findings == []
    if n == 1000:  # small blocks are parts of larger pieces, which stay
        with pytest.raises(lt.DeviceError, match="it was freed before"):
            module.run("harvest", grid=64, block=64, args=[where, out, np.int32(n)])
        with pytest.raises(lt.DeviceError, match=r"free\(\) of 0x[0-9a-f]+, which malloc\(\) has not given"):
            module.run("release", grid=64, block=64, args=[where])


def test_malloc_has_a_null_pointer_where_there_is_no_room():
    module = lt.Device("gfx90a").load(build(HEAP))
    where = np.ones(64, np.uint64)
    module.run("plenty", grid=64, block=64, args=[where, np.uint64(1 << 50)])
    assert not where.any()


def test_what_an_output_lets_go_of_stays_while_a_kernel_runs():
    class Letting:
        def write(self, text):
            if held:
                held.clear()
                gc.collect()

    device = lt.Device("gfx90a", threads=1, output=Letting())
    held = [device.array(np.zeros(64 * 400, np.int32))]
    address = held[0].ctypes.data
    device.run(build(SAY), "say", blocks=400, block=64, args=[address, np.int32(7)])
    assert not held
    with pytest.raises(lt.DeviceError, match="it was freed before"):
        device.run(build(SAY), "say", blocks=400, block=64, args=[address, np.int32(7)])


@pytest.mark.parametrize(
    "service, what", [(1, "a call of a function"), (4, "the address sanitizer"), (9, "LLVM does not define")]
)
def test_other_services_are_refused_by_name(service, what):
    source = f"""
    typedef long answer __attribute__((ext_vector_type(2)));
    extern "C" __device__ answer __ockl_hostcall_preview(unsigned, size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t);
    KERNEL ask(long *p) {{ p[ITEM] = __ockl_hostcall_preview({service}, 1, 2, 3, 4, 5, 6, 7, 8).x; }}"""
    with pytest.raises(lt.DeviceError, match=f"service {service}, .*{what}.* is not supported"):
        lt.Device("gfx90a").run(build(source), "ask", grid=64, block=64, args=[np.zeros(64, np.int64)])
