"""Strict mode on each generation: every wait of good kernels is missed when it is gone, and what is broken is found."""

from __future__ import annotations

import struct
import subprocess

import compiled
import kernel_cases
import numpy as np
import pytest
from waits import S_NOP, waits_of

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
# Each wait of these is needed whenever they run. The other kernels have some that are not: behind a branch that has
# waited already, at the entry of functions, or before a barrier behind which one wave works on its own data.
WAITING = ("vecadd", "saxpy", "matmul", "histogram", "collatz", "scratch", "half", "double", "wide", "table", "pair")
# RDNA4's fence waits a second time for loads whose values have long been stored.
WAITED_TWICE = {("gfx1201", "matmul"): ["s_wait_loadcnt"]}
#: gfx1250 alone has no waves of 64 lanes.
WAVES = [(t, w) for t in TARGETS for w in (64, 32) if (w == 64 or t.startswith("gfx1")) and (t, w) != ("gfx1250", 64)]


#: No value waits for these: s_waitcnt_depctr and s_wait_alu are about the ALU's own pipelines, s_wait_xcnt keeps the sources
#: of an access as they are until its addresses are translated, for a page fault would do it again. There are none here.
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WAITING)
def test_every_wait_is_missed(name, target):
    path = compiled.code_object(name, "O3", target=target)
    data = path.read_bytes()
    waits = waits_of(lt.CodeObject.open(path))
    assert waits
    unnoticed = []
    for at, mnemonic in waits.items():
        broken = bytearray(data)
        struct.pack_into("<I", broken, at, S_NOP)
        module = lt.Device(target).load(lt.CodeObject.open(bytes(broken)))
        findings = []
        try:
            for launch in kernel_cases.launches(name):
                result = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, strict=True)
                findings += result.findings
        except lt.DeviceError:
            continue  # it went astray, which is hard to miss
        if not any(f["kind"] == "missing-wait" for f in findings):
            unnoticed.append(mnemonic)
    assert unnoticed == WAITED_TWICE.get((target, name), [])


# At -O0 nothing is folded away.
SOURCE = """
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED static __attribute__((shared))
#define lane __builtin_amdgcn_workitem_id_x()
KERNEL undefined(unsigned *out, unsigned which) {
    unsigned a[4];
    a[1] = 5;
    out[lane] = a[which];
}
KERNEL undefined_lds(unsigned *out, unsigned which) {
    SHARED unsigned words[256];
    words[lane] = lane;
    out[lane] = words[lane + which];
}
KERNEL race(unsigned *out, unsigned which) {
    SHARED unsigned words[128];
    words[lane] = lane;
    if (which) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    out[lane] = words[127 - lane];
}
KERNEL beyond(unsigned *out, unsigned which) {
    out[lane + which] = 1;
}
"""
# The kernel, a good and a bad second argument, and what is found of the bad one.
BROKEN = [
    ("undefined", 1, 2, "undefined-register"),
    ("undefined_lds", 0, 128, "undefined-lds"),
    ("race", 1, 0, "lds-race"),
    ("beyond", 0, 64, "out-of-bounds"),
]


@pytest.fixture(scope="module", params=WAVES)
def broken(request, tmp_path_factory):
    target, wave = request.param
    folder = tmp_path_factory.mktemp("broken")
    source, path = folder / "broken.hip", folder / "broken.hsaco"
    source.write_text(SOURCE)
    options = ["-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "--no-gpu-bundle-output"]
    options += ["-mwavefrontsize64"] if wave == 64 and target.startswith("gfx1") else []
    subprocess.run(["clang-22", *options, "-O0", "-g", source, "-o", path], check=True)
    return lt.Device(target).load(lt.CodeObject.open(path))


@pytest.mark.parametrize(("kernel", "good", "bad", "kind"), BROKEN)
def test_what_is_broken_is_found(broken, kernel, good, bad, kind):
    def kinds(which: int) -> set[str]:
        args = [np.zeros(128, np.uint32), np.uint32(which)]
        return {f["kind"] for f in broken.run(kernel, grid=128, block=128, args=args, strict=True).findings}

    assert kinds(good) == set()
    assert kind in kinds(bad)


def test_undefined_lds_names_the_read_and_its_line(broken):
    args = [np.zeros(128, np.uint32), np.uint32(128)]
    found = broken.run("undefined_lds", grid=128, block=128, args=args, strict=True).findings
    (finding,) = [f for f in found if f["kind"] == "undefined-lds" and f["text"].split()[0].split("_")[1] == "store"]
    read = finding["other"]
    assert finding["address"] == 4 * 128 and read["text"].split("_")[1] in ("read", "load"), finding
    assert {frame["line"] for frame in read["source"]} == {frame["line"] for frame in finding["source"]} == {13}
