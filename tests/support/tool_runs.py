"""A launch with a tool beside the same launch without one, as the mock device sees it."""

from __future__ import annotations

from collections import Counter

import compiled
import kernel_cases
import numpy as np
import pytest
import triton_cases

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
KERNELS = ("vecadd", "collatz", "matmul", "histogram", "call")
TRITON = ("softmax_f32", "matmul_f16_64", "vadd_f16")
TRITON_TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250")


class Seen:
    """What the device says of a launch: lanes of each instruction, and accesses by wave and time."""

    #: Workgroups in x and y.
    groups: tuple[int, ...] = ()

    def __init__(self, trace: lt.Trace):
        self.counts, self.memory = trace.counts, trace.memory
        self.lanes: Counter[int] = Counter()
        for pc, mask in zip(trace.instructions["pc"].tolist(), trace.instructions["exec"].tolist()):
            self.lanes[pc] += mask.bit_count()
        self.instructions = trace.instructions
        self.waves = len(trace.waves)
        self.arguments = trace.memory_arguments()

    def accesses(self, pc: int):
        """The addresses of each time that a wave ran the access, by lane."""
        events = self.memory[self.memory["pc"] == pc]
        for wave in np.unique(events[["workgroup", "wave"]]):
            own = events[(events["workgroup"] == wave["workgroup"]) & (events["wave"] == wave["wave"])]
            cuts = np.flatnonzero(np.diff(own["lane"].astype(int)) <= 0) + 1
            yield from np.split(own, cuts)


def launches(name: str, target: str):
    """The code object and fresh launches of a kernel of ours, or of Triton's."""
    if name.startswith("triton-"):
        path = triton_cases.path(name[7:], target)
        return lt.CodeObject.open(path), lambda: triton_cases.launches(name[7:], target), triton_cases.check
    path = compiled.code_object(name, target=target, flags=("-g",))

    def check(made):
        for launch in made:
            launch.check(launch.args)

    return lt.CodeObject.open(path), lambda: kernel_cases.launches(name), check


def watched(name: str, target: str, tool: lt.Tool) -> tuple[dict, Seen, lt.Kernel]:
    """The tool's result and what the device has seen, of the same launch; with a tool the kernel computes what it did."""
    code, make, check = launches(name, target)
    (launch,) = make()[:1]
    given = {"grid": launch.grid, "block": launch.block, "lds": getattr(launch, "lds", 0)}
    device = lt.Device(target)
    seen = Seen(device.load(code).trace(launch.kernel, args=launch.args, events=["instructions", "memory"], **given))
    seen.groups = tuple(-(-g // b) for g, b in zip((*launch.grid, 1, 1), (*launch.block, 1, 1)))[:2]
    again = make()
    with_tool = device.load_alone(code, launch.kernel, [tool])
    for one in again[:1]:
        result = with_tool.run(one.kernel, args=one.args, strict=True, **given)
    plain = make()[:1]
    module = device.load(code)
    module.run(plain[0].kernel, args=plain[0].args, **given)
    for a, b in zip(again[0].args, plain[0].args):
        if hasattr(a, "tobytes"):
            assert a.tobytes() == b.tobytes()
    assert result.findings == []
    return result.tools[tool.name], seen, code.kernel(launch.kernel)


def every(test):
    ours = [(name, target) for target in TARGETS for name in KERNELS]
    tritons = [(f"triton-{name}", target) for target in TRITON_TARGETS for name in TRITON]
    return pytest.mark.parametrize(("name", "target"), [*ours, *tritons])(test)
