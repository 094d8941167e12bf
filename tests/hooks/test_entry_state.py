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
#: Kernels of one object.
TOGETHER = 64
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
            held = sum(ek.USER[name] for name in user)
            full = (32 if target == "gfx1250" else 16) - held
            for preload in sorted({0, 2, 5, full}) if target in ek.PRELOADS else (0,):
                shape = ek.Shape(target, wave, user, preload=preload)
                if shape.is_possible and (preload == 0 or "kernarg_segment_ptr" in user):
                    possible.append(shape)
    full = [shape for shape in possible if shape.preload and shape.user_sgprs == shape.most and "dispatch_ptr" not in shape.user]
    sample = random.Random(f"{target}{wave}")
    chosen = (
        possible if DEEP else [*sample.sample(possible, 7), possible[0], possible[-1], *sample.sample(full, min(3, len(full)))]
    )
    made = random.Random(1)
    for shape in chosen:
        # Every one with all dimensions and with and without scratch, or one of these.
        more = list(itertools.product(range(3), (0, 32)))
        for dimensions, scratch in more if DEEP else [made.choice(more)]:
            system = tuple(name for name in ek.SYSTEM if made.random() < 0.5)
            yield ek.Shape(target, wave, shape.user, system, dimensions, shape.preload, scratch)


def loaded(path, target, tools):
    return lt.Device(target).load(lt.CodeObject.open(path), tools=tools, check=True, on_rejected="raise")


def dumped(module, number, shape):
    """What each wave has written down, in an order that does not depend on which one came first."""
    given = bytes(range(128))
    module.write_symbol_bytes("out", bytes(ek.STRIDE * (ek.WAVES + 1)))
    module.run(f"dump{number}", grid=GRID, block=BLOCK, args=[given])
    words = module.read_symbol("out", "uint32").reshape(ek.WAVES + 1, ek.STRIDE // 4)
    count = int(words[0, 0])
    rows = np.zeros((count, ek.SGPRS + 10 + 3 * 64), "uint32")
    rows[:, : shape.sgprs] = words[1 : count + 1, : shape.sgprs]
    if shape.has_ids_in_ttmps:
        rows[:, ek.SGPRS : ek.SGPRS + 4] = words[1 : count + 1, ek.SGPRS : ek.SGPRS + 4]
    # Addresses differ from launch to launch. All waves have the same, and what they lead to is compared. (Where scratch is
    # differs from worker to worker.)
    for at in shape.addresses():
        assert (rows[:, at : at + 2] == rows[:1, at : at + 2]).all(), shape
    rows[:, shape.pointers()] = 0
    found = ek.SGPRS + 4, ek.SGPRS + 4 + 2 * len(shape.addresses())
    rows[:, slice(*found)] = words[1 : count + 1, slice(*found)]
    for n in range(shape.vgprs):
        at, to = 64 * (n + 1), ek.SGPRS + 10 + 64 * n
        rows[:, to : to + shape.wave] = words[1 : count + 1, at : at + shape.wave]
    return sorted(map(bytes, rows))


@pytest.mark.parametrize(("target", "wave"), MODES)
def test_registers_at_the_kernels_first_instruction_are_those_without_hooks(target, wave):
    chosen, given_up = list(shapes(target, wave)), 0
    for first in range(0, len(chosen), TOGETHER):
        some = chosen[first : first + TOGETHER]
        path, tool = ek.kernels(some), Ids()
        plain, told = loaded(path, target, []), loaded(path, target, [tool])
        for number, shape in enumerate(some):
            tool.next_row.write([0])
            assert dumped(told, number, shape) == dumped(plain, number, shape), shape
            count = int(np.prod(GRID))
            assert tool.next_row.read()[0] == count
            rows = tool.rows.read()[: 18 * count].reshape(count, 18)
            wanted = expected(GRID, BLOCK, wave)
            wanted[:, 6:15] = 0
            np.testing.assert_array_equal(np.array(sorted(rows.tolist())), np.array(sorted(wanted.tolist())))
            given_up += shape.preload > 0 and shape.user_sgprs + 2 > shape.most and "dispatch_ptr" not in shape.user
    print(f"{target}, waves of {wave}: {len(chosen)} shapes, {given_up} of which gave preloading up")
    # Kernels with all user SGPRs are among them where arguments are preloaded.
    assert given_up > 0 or target not in ek.PRELOADS
