"""What a kernel starts with is what it would have started with, whatever hooks ask for.

Kernels of every shape of descriptor write their registers down before anything else. With a tool that asks for all ids at
the last instruction, they have to write down the same.
"""

from __future__ import annotations

import itertools
import os
import random

import entry_kernels as ek
import numpy as np
import pytest
from test_where import expected

import luthier as lt

MODES = [
    ("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64),
    ("gfx1201", 32), ("gfx1201", 64), ("gfx1250", 32),
]  # fmt: skip
#: Three dimensions, workgroups that are not whole at every edge, and several waves.
GRID, BLOCK = (20, 7, 5), (8, 4, 3)
#: All shapes of each processor, not a sample.
DEEP = os.environ.get("LUTHIER_DEEP_ENTRY")


@lt.hook
def ids(rows: lt.ptr[lt.u32], next_row: lt.ptr[lt.u32]):
    row = 18 * lt.atomic_add(next_row, 1)
    rows[row] = lt.workgroup_id_x()
    rows[row + 1] = lt.workgroup_id_y()
    rows[row + 2] = lt.workgroup_id_z()
    rows[row + 3] = lt.workitem_id_x()
    rows[row + 4] = lt.workitem_id_y()
    rows[row + 5] = lt.workitem_id_z()
    rows[row + 15] = lt.wave_in_group()
    rows[row + 16] = lt.u32(lt.wave_id())
    rows[row + 17] = lt.lane_id()


class Ids(lt.Tool):
    """Asks for every id, where registers have been overwritten."""

    rows = lt.DeviceArray(lt.u32, 18 * 1024)
    next_row = lt.DeviceArray(lt.u32, 1)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], ids, self.rows, self.next_row)


def shapes(target, wave):
    """Some of all shapes; the empty one, and those that ask for most, always."""
    possible = []
    for count in range(len(ek.USER) + 1):
        for user in itertools.combinations(ek.USER, count):
            for preload in (0, 2, 5) if target in ek.PRELOADS else (0,):
                shape = ek.Shape(target, wave, user, preload=preload)
                if shape.is_possible and (preload == 0 or "kernarg_segment_ptr" in user):
                    possible.append(shape)
    chosen = possible if DEEP else random.Random(f"{target}{wave}").sample(possible, 7) + [possible[0], possible[-1]]
    made = random.Random(1)
    for shape in chosen:
        system = tuple(name for name in ek.SYSTEM if made.random() < 0.5)
        yield ek.Shape(target, wave, shape.user, system, made.randrange(3), shape.preload, made.choice((0, 0, 32)))


def dumped(shape, tools):
    """What each wave has written down, in an order that does not depend on which one came first."""
    given = bytes(range(128))
    module = lt.Device(shape.target).load(lt.CodeObject.open(ek.kernel(shape)), tools=tools, check=True, on_rejected="report")
    module.run("dump", grid=GRID, block=BLOCK, args=[given])
    words = module.read_symbol("out", "uint32").reshape(ek.WAVES + 1, ek.STRIDE // 4)
    count = int(words[0, 0])
    rows = np.zeros((count, ek.SGPRS + 4 + 3 * 64), "uint32")
    rows[:, : shape.sgprs] = words[1 : count + 1, : shape.sgprs]
    rows[:, shape.pointers()] = 0
    if shape.has_ids_in_ttmps:
        rows[:, ek.SGPRS : ek.SGPRS + 4] = words[1 : count + 1, ek.SGPRS : ek.SGPRS + 4]
    for n in range(shape.vgprs):
        at = 64 * (n + 1)
        rows[:, ek.SGPRS + 4 + 64 * n : ek.SGPRS + 4 + 64 * n + shape.wave] = words[1 : count + 1, at : at + shape.wave]
    return sorted(map(bytes, rows)), module.instrumentation


@pytest.mark.parametrize(("target", "wave"), MODES)
def test_registers_at_the_kernels_first_instruction_are_those_without_hooks(target, wave):
    placed = 0
    for shape in shapes(target, wave):
        plain, _ = dumped(shape, [])
        tool = Ids()
        told, report = dumped(shape, [tool])
        assert told == plain, shape
        if report["rejected"]:
            (only,) = report["rejected"]
            assert only["kind"] == "user_sgprs" and shape.user_sgprs + 2 > shape.most, (shape, only)
            continue
        placed += 1
        count = int(np.prod(GRID))
        assert tool.next_row.read()[0] == count
        rows = tool.rows.read()[: 18 * count].reshape(count, 18)
        wanted = expected(GRID, BLOCK, wave)
        wanted[:, 6:15] = 0
        np.testing.assert_array_equal(np.array(sorted(rows.tolist())), np.array(sorted(wanted.tolist())))
    assert placed > 3
