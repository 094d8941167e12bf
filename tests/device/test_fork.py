"""Devices after os.fork(), as multiprocessing's "fork" method has it."""

from __future__ import annotations

import multiprocessing
import os
import sys

import compiled
import numpy as np
import pytest
import timed
from places import ROOT

import luthier as lt

GRID = dict(blocks=64, block=64)


@pytest.fixture(scope="module")
def vecadd():
    return str(compiled.code_object("vecadd"))


def _sum(module) -> float:
    n = 64 * 64
    a, b, c = np.arange(n, dtype="f4"), np.ones(n, "f4"), np.zeros(n, "f4")
    module.run("vecadd", args=[a, b, c, np.uint32(n)], **GRID)
    return float(c.sum())


def _in_child(work) -> str:
    """What ``work`` gives in a child of fork, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def test_a_device_that_has_run_goes_on_in_a_child(vecadd):
    module = lt.Device("gfx90a", threads=2).load(vecadd)
    expected = _sum(module)
    assert _in_child(lambda: _sum(module)) == str(expected)
    assert _sum(module) == expected


def test_a_new_device_and_instrumenting_work_in_a_child(vecadd):
    tool = lt.tools.load("instr_count")
    expected = _sum(lt.Device("gfx90a").load(vecadd, tools=[tool]))

    def work():
        again = lt.tools.load("instr_count")
        return _sum(lt.Device("gfx90a").load(vecadd, tools=[again])), int(again.count)

    assert _in_child(work) == str((expected, int(tool.count)))


def _worker(path):
    return _sum(lt.Device("gfx90a").load(path))


def test_multiprocessing_with_fork(vecadd):
    expected = _sum(lt.Device("gfx90a").load(vecadd))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_worker, [vecadd] * 4).get(timeout=60) == [expected] * 4


FORKED_IN_A_LAUNCH = """
import os, sys, threading, time
import numpy as np
import luthier as lt

device = lt.Device("gfx90a", threads=2)
module = device.load(sys.argv[1])
flags = np.zeros(2, np.uint32)
threading.Thread(target=lambda: module.run("spin", blocks=4, block=64, args=[flags])).start()
while flags[1] == 0:
    time.sleep(0.001)
read, write = os.pipe()
if os.fork() == 0:
    try:
        module.run("spin", blocks=4, block=64, args=[np.ones(2, np.uint32)])
    except lt.DeviceError as error:
        os.write(write, str(error).encode())
    again = lt.Device("gfx90a").load(sys.argv[1])
    again.run("spin", blocks=4, block=64, args=[np.ones(2, np.uint32)])
    os._exit(0)
os.close(write)
print(os.fdopen(read).read())
flags[0] = 1
"""


def test_a_fork_in_the_middle_of_another_threads_launch_is_an_error_at_once():
    spin = compiled.build("KERNEL spin(volatile unsigned *p) { p[1] = 7; while (p[0] == 0) {} }", "gfx90a")
    command = [sys.executable, "-W", "ignore", "-c", FORKED_IN_A_LAUNCH, str(spin)]
    done = timed.run(command, 240)
    assert done.stdout.strip() == (
        "the device was copied by a fork in the middle of another thread's launch; make a new device in the child"
    ), done.stderr


FORKED_IN_NATIVE_CODE = """
import os, sys, threading
import luthier as lt

def size():
    return lt.CodeObject.open(sys.argv[1]).size

def take():
    while True:
        size()

for _ in range(3):
    threading.Thread(target=take, daemon=True).start()
expected = size()
for _ in range(40):
    child = os.fork()
    if child == 0:
        os._exit(0 if size() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
os._exit(0)
"""


def test_a_child_can_take_memory_that_other_threads_were_taking_at_the_fork(vecadd):
    command = [sys.executable, "-W", "ignore", "-c", FORKED_IN_NATIVE_CODE, vecadd]
    assert timed.run(command, 240).stdout.strip() == "done"


def test_what_rayons_threads_begin_with_is_what_the_import_has_made():
    """Of two versions of the crate, the other one's would be half made in a child of an unlucky fork."""
    assert (ROOT / "Cargo.lock").read_text().count('name = "crossbeam-epoch"') == 1
