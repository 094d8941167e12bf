"""What hooks cost: to compile one, nothing being kept from before; to ask for ids, to have a stack, to record, to be called.

``python tools/bench/hooks.py [WORD]`` measures some of the rows alone: ``python_hook``, ``hip_hook``, ``preambles``, ``stacks``, ``traces``, ``records``, ``bodies``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import takewhile

from inputs import LLVM, ROOT, WORK, compile_kernel  # isort: skip  # it says where the next one is
import kernel_cases
import numpy
from placing import PROCESSORS, LaneSums

import luthier as lt
from luthier.tools.mem_trace import MemTrace

#: At most this many instructions a record of a memory trace, where bodies are called.
RECORD = 12
#: At most this many for all ids together.
PREAMBLE = 40
#: At most this many milliseconds to compile a hook in Python, and for one in HIP on top of clang's own.
PYTHON, HIP = 20, 50
#: How often every wave comes to the place.
ROUNDS = 1000


class OneHook(lt.Tool):
    """One hook at one place."""

    def __init__(self, number: int):
        self.number = number

    @lt.hook
    def add(count: lt.ptr[lt.u64], n: lt.u64):
        lt.wave_atomic_add(count, n)

    def on_kernel(self, kernel):
        self.count = lt.DeviceArray(lt.u64, 1)
        # Another number is another shape, which is compiled anew.
        kernel.insert_before(kernel.instructions[0], self.add, self.count.at(0), self.number)


HIP_HOOK = """extern "C" __attribute__((device)) void add{n}(unsigned long long *count) {{
    __atomic_fetch_add(count, {n}ull, __ATOMIC_RELAXED);
}}
"""


class OneHipHook(lt.Tool):
    """The same in HIP."""

    def __init__(self, number: int):
        self.count = lt.DeviceArray(lt.u64, 1)
        self.hook = lt.HookLibrary(HIP_HOOK.format(n=number), language="hip")[f"add{number}"]

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[0], self.hook, self.count.at(0))


def compiled(make: Callable[[int], lt.Tool], times: int) -> list[float]:
    """Milliseconds from tools with one hook at one place of a small kernel to the new objects, one after another: nearly all of it
    is the hooks' compilation."""
    source = lt.CodeObject.open(compile_kernel(ROOT / "tests/kernels/vecadd.hip"))
    took = []
    for number in range(1, times + 1):
        start = time.perf_counter()
        lt.instrument(source, [make(number)])
        took.append((time.perf_counter() - start) * 1e3)
    return took


def cold(what: str) -> list[float]:
    """The same in a process that keeps no compiled hooks and finds none."""
    command = [sys.executable, __file__, "--compile", what]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LUTHIER_CACHE": "off"})
    return json.loads(done.stdout)


def python_hook() -> dict[str, dict]:
    """A hook in Python."""
    took = cold("python")
    row = {"ours": min(took), "other": PYTHON, "ratio": PYTHON / min(took), "unit": "ms", "against": "the target", "least": 1}
    return {"compile a hook and place it": {**row, "first": took[0], "middle": sorted(took)[len(took) // 2]}}


def hip_hook() -> dict[str, dict]:
    """A hook in HIP, beside clang's own time for that source."""
    clang = []
    for number in range(12):
        path = WORK / "hook.hip"
        path.write_text(HIP_HOOK.format(n=number))
        command = [LLVM / "bin/clang", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"]
        start = time.perf_counter()
        subprocess.run([*command, "-O2", "-emit-llvm", "-c", path, "-o", WORK / "hook.bc"], check=True, capture_output=True)
        clang.append((time.perf_counter() - start) * 1e3)
    took, bound = cold("hip"), min(clang) + HIP
    row = {
        "ours": min(took),
        "other": bound,
        "ratio": bound / min(took),
        "unit": "ms",
        "against": f"clang and {HIP} ms",
        "least": 1,
    }
    return {"compile a HIP hook and place it": {**row, "first": took[0], "clang": min(clang)}}


class Ids(lt.Tool):
    """All that hooks can ask about where they are, at a kernel's end."""

    out = lt.DeviceArray(lt.u64, 8)

    @lt.hook
    def tell(out: lt.ptr[lt.u64]):
        group = lt.workgroup_id_x() + lt.workgroup_id_y() + lt.workgroup_id_z()
        sizes = lt.workgroup_size_x() + lt.grid_size_y() + lt.num_workgroups_z()
        lt.atomic_add(out, lt.u64(group + sizes + lt.workitem_id_x() + lt.workitem_id_y() + lt.workitem_id_z()))
        lt.atomic_add(out + 1, lt.wave_id() + lt.dispatch_id() + lt.queue_ptr() + lt.kernarg_ptr() + lt.implicitarg_ptr())

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[-1], self.tell, self.out)


def preambles() -> dict[str, dict]:
    """Instructions that stand in front of a kernel so that a hook at its end can have every id, size and address."""
    rows = {}
    for processor in (*PROCESSORS, "gfx908", "gfx942", "gfx1030", "gfx1250"):
        module = lt.Device(processor).load(compile_kernel(ROOT / "tests/kernels/vecadd.hip", processor), tools=[Ids()])
        entry = next(f for f in module.loaded.program.functions if f.name == "vecadd")
        added = sum(1 for _ in takewhile(lambda instr: instr.is_inserted, entry.instructions))
        rows[f"in front of a kernel for all ids, {processor}"] = {
            "ours": added, "other": PREAMBLE, "ratio": PREAMBLE / added, "unit": "instructions", "against": "the target", "least": 1,
        }  # fmt: skip
    return rows


class AtPlace(lt.Tool):
    """A hook at the place of a loop that every wave comes to again and again."""

    def at(self, kernel, *args):
        (place,) = (i for i in kernel.instructions if i.mnemonic == "s_nop" and i.text.endswith("7"))
        kernel.insert_before(place, *args)


class Recording(AtPlace):
    """A record of each lane, or one of the wave."""

    out = lt.Channel(1 << 17, mask=lt.u64, number=lt.u32)

    @lt.hook
    def of_lanes(out: lt.channel):
        lt.record(out, lt.exec_mask(), lt.lane_id())

    @lt.hook
    def of_wave(out: lt.channel):
        lt.record(out, lt.exec_mask(), 5, per_wave=True)

    def __init__(self, per_wave: bool):
        self.per_wave, self.count = per_wave, 0

    def on_kernel(self, kernel):
        self.at(kernel, self.of_wave if self.per_wave else self.of_lanes, self.out)

    def on_records(self, channel, records):
        self.count += len(records)


class Stacked(AtPlace):
    """Numbers of each lane, some of which are put away and taken back in another order: on a stack, or in registers."""

    out = lt.DeviceArray(lt.u32, 64)

    @lt.hook
    def on_stack(out: lt.ptr[lt.u32], n: lt.u32, other: lt.u32):
        kept = lt.array(lt.u32, 100)
        kept[n] = lt.lane_id() * 3
        kept[other] = lt.lane_id() * 5
        lt.atomic_add(out + lt.lane_id(), kept[n] + kept[other])

    @lt.hook
    def in_registers(out: lt.ptr[lt.u32], n: lt.u32, other: lt.u32):
        lt.atomic_add(out + lt.lane_id(), lt.lane_id() * 3 + lt.lane_id() * 5)

    def __init__(self, is_stacked: bool):
        self.is_stacked = is_stacked

    def on_kernel(self, kernel):
        self.at(kernel, self.on_stack if self.is_stacked else self.in_registers, self.out, lt.Literal(7), lt.Literal(9))


def at_places(tool: AtPlace, processor: str, bodies: str = "in-place") -> lt.RunResult:
    """A launch in which every wave comes to the place again and again."""
    code = lt.CodeObject.open(compile_kernel(ROOT / "tools/bench/record.hip", processor))
    module = lt.Device(processor, threads=1).load(code, tools=[tool], on_rejected="raise", bodies=bodies)
    return module.run("record", blocks=1, block=64, args=[numpy.uint32(ROUNDS)])


def stacks() -> dict[str, dict]:
    """Instructions of a hook that has a stack, beside those of one that does the same in registers and those that reach the stack."""
    rows = {}
    for processor in PROCESSORS:
        visits = ROUNDS * (1 if processor == "gfx90a" else 2)
        on_stack, plain = (at_places(Stacked(is_stacked), processor) for is_stacked in (True, False))
        names = ("scratch_", "buffer_load", "buffer_store")
        reach = sum(count for name, count in on_stack.histogram.items() if name.startswith(names)) / visits
        ours, without = ((r.instructions - r.app_instructions) / visits for r in (on_stack, plain))
        rows[f"a hook with a stack, {processor}"] = {
            "ours": ours, "other": without + reach, "ratio": (without + reach) / ours, "unit": "instructions retired",
            "against": "without, and its accesses", "without": without, "accesses": reach,
        }  # fmt: skip
    return rows


def traces() -> dict[str, dict]:
    """Instructions that ``mem_trace`` adds to what is retired, for each record of an access, with all lanes on and a quarter of them."""
    rows = {}
    for processor in (*PROCESSORS, "gfx942", "gfx1250"):
        code = lt.CodeObject.open(compile_kernel(ROOT / "tools/bench/trace.hip", processor))
        for kernel, lanes in (("full", "all lanes"), ("quarter", "a quarter of the lanes")):
            given = {"blocks": 1, "block": 64, "args": [numpy.zeros(128, numpy.uint32), numpy.uint32(ROUNDS)]}
            plain = lt.Device(processor, threads=1).load(code).run(kernel, **given).instructions
            each = {}
            for how in ("called", "in-place"):
                tool = MemTrace(most=0, scalar=False)
                module = lt.Device(processor, threads=1).load(code, tools=[tool], on_rejected="raise", bodies=how)
                each[how] = (module.run(kernel, **given).instructions - plain) / tool.counted
            rows[f"a record of mem_trace, {lanes}, {processor}"] = {
                "ours": each["called"], "other": RECORD, "ratio": RECORD / each["called"], "unit": "instructions retired",
                "against": "the target", "least": 1, "in place": each["in-place"],
            }  # fmt: skip
    return rows


def records() -> dict[str, dict]:
    """Instructions retired for a record of no more than two values, with hooks in place and called. One of the wave is made by one
    lane of it, so that all that a record costs is its own: docs/architecture.md says what each instruction is for."""
    rows = {}
    for processor in PROCESSORS:
        for what, per_wave in (("lane", False), ("wave", True)):
            each = {}
            for bodies in ("in-place", "called"):
                tool = Recording(per_wave)
                result = at_places(tool, processor, bodies)
                each[bodies] = (result.instructions - result.app_instructions) / tool.count
            rows[f"a record of a {what}, {processor}"] = {
                "ours": each["in-place"], "other": each["called"], "ratio": each["called"] / each["in-place"],
                "unit": "instructions retired", "against": "called",
            }  # fmt: skip
    return rows


def bodies() -> dict[str, dict]:
    """A hook of some length at every instruction of the test kernels that stores: in place and called."""
    rows = {}
    for processor in PROCESSORS:
        size = {"in-place": 0, "called": 0}
        count = dict(size)
        for name in kernel_cases.CASES:
            code_object = lt.CodeObject.open(compile_kernel(ROOT / f"tests/kernels/{name}.hip", processor))
            for how in size:
                module = lt.Device(processor).load(code_object, tools=[LaneSums()], on_rejected="raise", bodies=how)
                size[how] += len(module.loaded.data)
                for launch in kernel_cases.launches(name):
                    count[how] += module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args).instructions
        rows[f"a hook in each lane, called, {processor}"] = {
            "ours": count["called"] / count["in-place"], "other": 1, "ratio": count["in-place"] / count["called"],
            "unit": "x instructions retired", "against": "in place", "bytes": size,
        }  # fmt: skip
    return rows


def measured(word: str = "") -> dict[str, dict]:
    """All rows, or those of the functions that have a word in their names."""
    every = (python_hook, hip_hook, preambles, stacks, traces, records, bodies)
    chosen: Iterator[Callable[[], dict[str, dict]]] = (one for one in every if word in one.__name__)
    return {name: row for one in chosen for name, row in one().items()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        print(json.dumps(compiled(OneHipHook, 12) if sys.argv[2] == "hip" else compiled(OneHook, 30)))
    else:
        print(json.dumps(measured(*sys.argv[1:]), indent=1))
