"""What hooks in HIP are told of where they are is what hooks in Python are told, and LDS of the tool's is theirs, too."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = [("gfx90a", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1201", 32), ("gfx1250", 32)]
#: The kernel's own stores race.
FINDINGS = ["hazard", "missing-wait", "undefined-register", "out-of-bounds"]
#: Three dimensions, with workgroups that are not whole at every edge.
GRID, BLOCK = (20, 7, 5), (8, 4, 3)
KERNEL = "KERNEL idle(u32 *out) { out[local_x()] = 1; }"
NAMES = [
    *(f"{what}.{a}" for what in ("threadIdx", "blockIdx", "blockDim", "gridDim") for a in "xyz"), "__lane_id()", "warpSize",
]  # fmt: skip
COUNT = len(NAMES)

HIP = f"""
#include <luthier/hooks.h>

// Not inlined by clang: what it asks for the hook is given.
static __device__ __attribute__((noinline)) unsigned line() {{ return blockIdx.y * gridDim.x + blockIdx.x; }}

LT_HOOK void where(unsigned *rows, unsigned *next) {{
  unsigned *row = rows + {COUNT + 1} * atomicAdd(next, 1u);
  {" ".join(f"row[{n}] = {name};" for n, name in enumerate(NAMES))}
  row[{COUNT}] = line();
}}

LT_HOOK void share(unsigned __attribute__((address_space(3))) *own, unsigned *most) {{
  unsigned seen = __hip_atomic_fetch_add(own, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  atomicMax(most + blockIdx.x, seen + 1);
}}
"""


@lt.hook
def where(rows: lt.ptr[lt.u32], next_row: lt.ptr[lt.u32]):
    row = 15 * lt.atomic_add(next_row, 1)
    rows[row] = lt.workitem_id_x()
    rows[row + 1] = lt.workitem_id_y()
    rows[row + 2] = lt.workitem_id_z()
    rows[row + 3] = lt.workgroup_id_x()
    rows[row + 4] = lt.workgroup_id_y()
    rows[row + 5] = lt.workgroup_id_z()
    rows[row + 6] = lt.workgroup_size_x()
    rows[row + 7] = lt.workgroup_size_y()
    rows[row + 8] = lt.workgroup_size_z()
    rows[row + 9] = lt.num_workgroups_x()
    rows[row + 10] = lt.num_workgroups_y()
    rows[row + 11] = lt.num_workgroups_z()
    rows[row + 12] = lt.lane_id()
    rows[row + 13] = lt.wave_size()
    rows[row + 14] = lt.workgroup_id_y() * lt.num_workgroups_x() + lt.workgroup_id_x()


class Where(lt.Tool):
    """The hook at one instruction."""

    rows = lt.DeviceArray(lt.u32, (COUNT + 1) * 1024)
    next_row = lt.DeviceArray(lt.u32, 1)

    def __init__(self, hook, at):
        self.hook, self.at = hook, at

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[self.at], self.hook, self.rows, self.next_row)

    def read(self):
        count = int(self.next_row[0])
        return sorted(map(tuple, self.rows.read()[: count * (COUNT + 1)].reshape(count, -1).tolist()))


def told(target, wave, hook, at, grid=GRID, block=BLOCK, **launch):
    tool = Where(hook, at)
    flags = ("-mwavefrontsize64",) if wave == 64 and target.startswith("gfx1") else ()
    path = compiled.build(KERNEL, target, flags)
    module = lt.Device(target).load(path, tools=[tool], check=True, on_rejected="raise")
    result = module.run("idle", grid=grid, block=block, args=[np.zeros(1024, np.uint32)], strict=FINDINGS, **launch)
    assert not result.findings, result.findings[0]
    return tool.read()


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("at", [0, -1], ids=["first instruction", "last instruction"])
def test_ids_and_sizes_in_hip_are_those_of_hooks_in_python(target, wave, at):
    in_hip = told(target, wave, lt.HookLibrary(HIP, "hip")["where"], at)
    assert in_hip == told(target, wave, where, at)
    assert len(in_hip) == np.prod(GRID) and len({row[:6] for row in in_hip}) == np.prod(GRID)


@pytest.mark.parametrize("cluster", [(2, 4), (4, 1)])
def test_workgroups_of_clusters_have_their_places_in_the_grid(cluster):
    grid, block = (8 * 32, 4, 1), (32, 1, 1)
    library = lt.HookLibrary(HIP, "hip")
    in_hip = told("gfx1250", 32, library["where"], -1, grid, block, cluster=cluster)
    assert in_hip == told("gfx1250", 32, where, -1, grid, block, cluster=cluster)
    assert {row[3:5] for row in in_hip} == {(x, y) for x in range(8) for y in range(4)} and in_hip[0][9:12] == (8, 4, 1)


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_lds_of_the_tools_own_is_given_to_hooks_in_hip(target, wave):
    class Sharing(lt.Tool):
        own = lt.shared(lt.u32, 1)
        most = lt.DeviceArray(lt.u32, 4)
        hooks = lt.HookLibrary(HIP, "hip")

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], self.hooks["share"], self.own, self.most)

    tool = Sharing()
    module = lt.Device(target).load(compiled.build(KERNEL, target), tools=[tool], on_rejected="raise")
    module.run("idle", blocks=3, block=100, args=[np.zeros(100, np.uint32)], strict=True)
    assert tool.most.read().tolist() == [100, 100, 100, 0]
