"""Ctrl-C while native code is at work, from Python: KeyboardInterrupt, and the device goes on being usable.

Each in a process of its own, whose main thread is interrupted by a timer of another thread.
"""

from __future__ import annotations

import os
import sys

import compiled
import pytest
import timed

# Seconds. It is some milliseconds; a machine that does much else may make it more.
LATE = 10

SPIN = """
KERNEL spin(volatile unsigned *p) { while (p[0] == 0) {} p[1] = 7; }
KERNEL store(unsigned *p) { p[0] = 5; }
"""

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import luthier as lt

code = lt.CodeObject.open(sys.argv[1])
device = lt.Device(threads=int(sys.argv[2]))
module = device.load(code)
flags = np.zeros(2, np.uint32)
launch = dict(blocks=4, block=64, args=[flags])
sent = []

def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

def work():
    {work}

timer = threading.Timer(0.5, interrupt)
timer.start()
try:
    work()
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
else:
    sys.exit("nothing was raised")
module.run("store", blocks=1, block=64, args=[flags])
assert flags[0] == 5
module.run("spin", blocks=4, block=64, args=[flags])
assert flags[1] == 7
histogram = module.run("store", blocks=1, block=64, args=[flags]).histogram
assert histogram["s_endpgm"] == 1, histogram
print(late)
"""

WORK = {
    "run": 'module.run("spin", **launch)',
    "device": 'device.run(code, "spin", **launch)',
    "trace": 'module.trace("spin", **launch)',
    "strict": 'module.run("spin", strict=True, **launch)',
    "cooperative": 'module.run("spin", cooperative=True, **launch)',
    "session": 'module.session("spin", **launch).run_to(0)',
}


@pytest.fixture(scope="module")
def spin():
    return compiled.build(SPIN, "gfx90a")


def _interrupted(folder, program: str, *args) -> float:
    """Seconds from the signal to the exception. Without one the program says so, or runs until the timeout."""
    file = folder / "program.py"
    file.write_text(program)
    done = timed.run([sys.executable, str(file), *map(str, args)], 240)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("how", WORK)
def test_a_spinning_kernel_is_interrupted(spin, how, threads, tmp_path):
    assert _interrupted(tmp_path, PROGRAM.format(work=WORK[how]), spin, threads) < LATE


def test_a_launch_that_waits_for_another_threads_cooperative_one_is_interrupted(spin, tmp_path):
    work = """
    def other():
        try:
            module.run("spin", cooperative=True, blocks=1, block=64, args=[flags])
        finally:
            pass
    threading.Thread(target=other, daemon=True).start()
    time.sleep(0.2)
    try:
        module.run("spin", cooperative=True, **launch)
    finally:
        flags[0] = 1
    """
    assert _interrupted(tmp_path, PROGRAM.format(work=work), spin, 2) < LATE


INSTRUMENTING = """
import os, signal, sys, threading, time
import luthier as lt

class Many(lt.Tool):
    '''Hooks that take LLVM long, as each has other constants.'''
    out = lt.DeviceArray(lt.u64, 4)

    @lt.hook
    def work(out: lt.ptr[lt.u64], n: lt.u64):
        x: lt.u64 = n
        for i in range(20):
            x = x * 3 + n
            if x % 7 == 3:
                x = x // 5
        lt.wave_atomic_add(out, x)

    def on_kernel(self, kernel):
        for n in range(20000):
            kernel.insert_before(kernel.instructions[0], self.work, self.out, n)
        threading.Timer(0.1, interrupt).start()

def interrupt():
    global sent
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

try:
    lt.instrument(sys.argv[1], [Many()], kernels=["store"])
except KeyboardInterrupt:
    late = time.perf_counter() - sent
else:
    sys.exit("nothing was raised")
counted = lt.instrument(sys.argv[1], [lt.tools.load("instr_count")])
assert counted.instrumentation["points"] > 0
print(late)
"""


def test_instrumenting_is_interrupted(spin, tmp_path):
    assert _interrupted(tmp_path, INSTRUMENTING, spin) < LATE


EXITING = """
import ctypes, os, signal, sys, threading, time
# Runs last of all that is done at exit: by then all of LLVM that can be destroyed is.
ctypes.CDLL(None).__cxa_atexit(ctypes.CDLL(None).usleep, ctypes.c_void_p(200_000), None)
import luthier as lt

class Slow(lt.Tool):
    '''A hook that LLVM compiles anew for each of its constants.'''
    out = lt.DeviceArray(lt.u64, 4)

    @lt.hook
    def work(out: lt.ptr[lt.u64], n: lt.u64):
        x: lt.u64 = n
        for i in range(20):
            x = x * 3 + n
            if x % 7 == 3:
                x = x // 5
        lt.wave_atomic_add(out, x)

    def on_kernel(self, kernel):
        for n in range(20):
            kernel.insert_before(kernel.instructions[0], self.work, self.out, n)
        compiling.set()

compiling = threading.Event()

def instrument():
    lt.instrument(sys.argv[1], [Slow()], kernels=["store"])

def interrupt():
    compiling.wait()
    time.sleep(float(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGINT)

if sys.argv[3] == "interrupted":
    threading.Thread(target=interrupt).start()
    try:
        instrument()
        time.sleep(60)
    except KeyboardInterrupt:
        pass
else:
    threading.Thread(target=instrument, daemon=True).start()
    compiling.wait()
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("how", ["interrupted", "daemon"])
@pytest.mark.parametrize("moment", [0, 0.01, 0.02, 0.03, 0.04])
def test_the_process_can_end_while_llvm_works(spin, moment, how, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(EXITING)
    command = [sys.executable, str(file), str(spin), str(moment), how]
    environment = os.environ | {"LUTHIER_CACHE": "off"}
    done = timed.run(command, 240, env=environment)
    assert done.returncode == 0, done.stderr
