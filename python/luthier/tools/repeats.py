"""For tools that look at values: how often a lane has the value that it had when it was at the instruction the last time.

Each lane remembers what it had, in registers or in scratch, for the instructions that a wave can come to more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import luthier as lt
from luthier.objects.kernel import leaves
from luthier.tools.results import Value
from luthier.tools.waves import is_first

#: Instructions that one word of a lane has a bit for.
_BITS = 32


@lt.device
def note(again: lt.ptr[lt.u64], came: lt.u32, same: lt.u32):
    # Of the waves whose lanes are all here for the first time there is nothing to tell.
    if came != 0 and is_first():
        lt.atomic_add(again, lt.u64(came))
        lt.atomic_add(again + 1, lt.u64(same))


@lt.hook
def word_again(
    again: lt.ptr[lt.u64], seen: lt.inout[lt.u32], last: lt.inout[lt.u32], looks: lt.inout[lt.u32], word: lt.u32, low: lt.u32,
    high: lt.u32, bit: lt.u32, is_last: lt.u32,
):  # fmt: skip
    # `low` and `high`: the bits of the value in a register, or of the two values that it holds.
    if looks != 0:
        was_here = (seen & bit) != 0
        changed = word ^ last
        came = lt.popcount(lt.ballot(was_here))
        same = lt.popcount(lt.ballot(was_here and (changed & low) == 0))
        if high != 0:
            same += lt.popcount(lt.ballot(was_here and (changed & high) == 0))
            came += came
        note(again, came, same)
        last = word
        if is_last != 0:
            seen |= bit


@lt.hook
def double_again(
    again: lt.ptr[lt.u64], seen: lt.inout[lt.u32], last: lt.inout[lt.u64], looks: lt.inout[lt.u32], bits: lt.u64, bit: lt.u32,
    is_last: lt.u32,
):  # fmt: skip
    if looks != 0:
        was_here = (seen & bit) != 0
        note(again, lt.popcount(lt.ballot(was_here)), lt.popcount(lt.ballot(was_here and bits == last)))
        last = bits
        if is_last != 0:
            seen |= bit


class Repeats:
    """Has lanes remember values, and counts those that come again. ``looks`` is zero in waves that are not looked at."""

    def __init__(self, looks: lt.WaveState) -> None:
        self.looks = looks
        self._seen: list[lt.LaneState] = []
        self._taken = 0
        #: Which instruction a point is about.
        self.points: dict[int, lt.Instruction] = {}

    def watch(
        self, kernel: lt.Kernel, instr: lt.Instruction, values: list[Value], is_behind: bool, again: lt.DeviceArray, at: int
    ) -> None:
        """Adds up in ``again[at]`` the values of lanes that have been at the instruction before, and in the next element those that
        are what the lane had then."""
        insert = kernel.insert_after if is_behind else kernel.insert_before
        if self._taken % _BITS == 0:
            self._seen.append(lt.LaneState(lt.u32, name=f"seen{len(self._seen)}"))
        seen, bit = self._seen[-1], lt.Literal(1 << self._taken % _BITS)
        self._taken += 1
        registers: dict[lt.Reg, list[Value]] = {}
        for value in values:
            registers.setdefault(value.register, []).append(value)
        for n, (register, found) in enumerate(registers.items()):
            is_last, name = int(n + 1 == len(registers)), f"last{self._taken}.{n}"
            if found[0].kind == "f64":
                last = lt.LaneState(lt.u64, name=name)
                point = insert(instr, double_again, again.at(at), seen, last, self.looks, register, bit, is_last)
            else:
                masks = [(0xFFFF if v.kind in ("f16", "bf16") else 0xFFFFFFFF) << v.shift for v in found]
                low, high = (*masks, 0)[:2]
                last = lt.LaneState(lt.u32, name=name)
                point = insert(instr, word_again, again.at(at), seen, last, self.looks, register, low, high, bit, is_last)
            self.points[point] = instr

    def rejected(self, rejections: Sequence[dict[str, Any]]) -> dict[int, lt.Instruction]:
        """Points of these that are about an instruction whose values lanes have no room to remember."""
        return {one["point"]: self.points[one["point"]] for one in rejections if one["point"] in self.points}


def repeated(kernel: lt.Kernel, function: lt.Function) -> set[int]:
    """Addresses of the blocks that a wave may come to more than once: those on cycles and between them, and all of functions that
    are called or whose ways are not known."""
    left = {block.address: block for block in function.blocks}
    goes_on = {s.address for block in function.blocks for s in block.successors}
    if function.address != kernel.functions[0].address or any(map(leaves, function.blocks)) or not goes_on <= left.keys():
        return set(left)
    while True:  # a block on a cycle has a predecessor and a successor on it
        entered = {s.address for block in left.values() for s in block.successors}
        stays = {a: b for a, b in left.items() if a in entered and any(s.address in left for s in b.successors)}
        if len(stays) == len(left):
            return set(left)
        left = stays
