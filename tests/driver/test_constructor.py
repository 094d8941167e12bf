"""HIP in a library's constructor: its thread has the loader's lock, for which no thread of ours may wait."""

from __future__ import annotations

import subprocess
import sys

import pytest
import rocm
import timed

LIBRARY = r"""
#include <dlfcn.h>
#include <stdio.h>
#define TAKE(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(hip, #name)
__attribute__((constructor)) static void begin(void) {
    void *hip = dlopen("libamdhip64.so.5", RTLD_NOW);
    if (!hip) { puts(dlerror()); return; }
    TAKE(int, hipInit, unsigned);
    TAKE(int, hipGetDeviceCount, int *);
    TAKE(int, hipMalloc, void **, unsigned long);
    TAKE(int, hipMemset, void *, int, unsigned long);
    TAKE(int, hipMemcpy, void *, const void *, unsigned long, int);
    int count = -1;
    int failed = hipInit(0) | hipGetDeviceCount(&count);
    printf("%d GPUs, %d\n", count, failed);
    unsigned char back[4096] = {0};
    void *memory = 0;
    failed = hipMalloc(&memory, 4096) | hipMemset(memory, 7, 4096) | hipMemcpy(back, memory, 4096, 2);
    printf("%d in the last byte, %d\n", back[4095], failed);
    fflush(stdout);
}
int used(void) { return 0; }
"""
LOADS = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) { void *found = dlopen(words[1], RTLD_NOW); puts(found ? "loaded" : dlerror()); return !found; }
"""
LINKED = """
#include <stdio.h>
int used(void);
int main(void) { puts("loaded"); return used(); }
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    rocm.need("hipcc")
    folder = tmp_path_factory.mktemp("constructor")
    for name, text in (("library", LIBRARY), ("loads", LOADS), ("linked", LINKED)):
        (folder / f"{name}.c").write_text(text)
    library = folder / "library.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "library.c", "-ldl"], check=True)
    subprocess.run(["cc", "-o", folder / "loads", folder / "loads.c", "-ldl"], check=True)
    subprocess.run(["cc", "-o", folder / "linked", folder / "linked.c", library], check=True)
    return {"loads": [folder / "loads", library], "linked": [folder / "linked"]}


@pytest.mark.parametrize("how", ["loads", "linked"])
@pytest.mark.parametrize("options", [(), ("--tool", "instr_count"), ("--tool", "instr_count", "--no-wait"), ("--strict",)])
def test_a_constructor_may_load_hip_and_run_kernels(programs, how, options):
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a,2", *options, "--", *map(str, programs[how])]
    # One that waits for the lock hears of no signal but this: a timeout of subprocess sends it.
    done = timed.run(command, rocm.TIMEOUT, env=rocm.ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, "2 GPUs, 0\n7 in the last byte, 0\nloaded\n"), done.stderr
