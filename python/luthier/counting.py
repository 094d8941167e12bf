"""Where to count so that a total over all blocks is exact and few increments run.

A total such as the number of instructions is a sum over the blocks that a wave goes through. It need not be counted in
each of them: take the control flow graph of a function with each block as an edge from its start to its end, join the
function's ends to its entry, and choose a spanning tree. The increments of all edges outside of the tree can be chosen
so that they add up to the same total on every way through the function, with none on the tree (Knuth, "Optimal
measurement points for program frequency counts", 1973). A tree of greatest cost, as static frequencies estimate it,
leaves the cheapest edges to count on.

What is summed up may be a number or a vector of numbers (an array of NumPy's), such as how many instructions of each
opcode a block holds.

Places where nothing can be inserted are in the tree by force: ways out of the function, calls that may not come back,
jumps through registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from .objects.places import AFTER, BEFORE, EDGE, ENTRY, Place

if TYPE_CHECKING:
    from ._core import Block, Function
    from .objects.kernel import Kernel


@dataclass(frozen=True)
class Increment:
    """What to add, and where: on the edge from ``block`` to ``successor``; in ``block``; without a block, each time that
    the function is entered. Increments may be negative. ``amount`` is a number or a vector, as the sum is."""

    amount: Any
    block: Block | None
    successor: Block | None

    def insert(self, kernel: Kernel, function: Function, hook: Any, *args: Any, after: bool = False) -> None:
        """Inserts a hook where it says; in a block before the first instruction, or after that if it is not the last."""
        if self.block is None:
            place = Place(ENTRY, function.address)
        elif self.successor is not None:
            place = Place(EDGE, self.block.instructions[-1].address, self.successor.address)
        else:
            place = Place(AFTER if after and len(self.block) > 1 else BEFORE, self.block.address)
        kernel.insert_at_place(place, hook, *args)


def may_not_return(functions: Iterable[Function]) -> set[int]:
    """Addresses of those functions from which a wave may end, they themselves or what they call."""
    return _core.may_not_return(list(functions))


def increments(function: Function, amount: Callable[[Block], Any], ending: set[int]) -> list[Increment]:
    """The fewest increments that sum up ``amount(block)``, a number or a vector, over all blocks that run. ``ending``:
    :func:`may_not_return`. Lengths (``len``) are summed up by the native module, which is many times as fast."""
    if amount is len:
        return [Increment(sum_, block, to) for sum_, block, to in _core.length_increments(function, ending)]
    blocks = list(function.blocks)
    amounts = [amount(block) for block in blocks]

    def added(part: tuple[int, int] | None) -> Any:
        return 0 if part is None else part[1] * amounts[part[0]]

    def block_of(index: int | None) -> Block | None:
        return None if index is None else blocks[index]

    tree, chords = _core.counting_tree(function, ending)
    # What has been added up on the way to a node, less what has been counted.
    behind: dict[int, Any] = {}
    for node, parent, part in tree:
        behind[node] = behind.get(parent, 0) + added(part)
    found = [(place, behind.get(a, 0) + added(part) - behind.get(b, 0)) for a, b, part, place in chords]
    return [Increment(sum_, block_of(block), block_of(to)) for (block, to), sum_ in found if _is_some(sum_)]


def insert_lengths(kernel: Kernel, hook: Any, *args: Any, after: bool = False) -> None:
    """Has ``hook(*args, n)`` sum up the lengths of all blocks that run, in ``kernel`` and in what it reaches: the increments that
    :func:`increments` has for ``len``, inserted as :meth:`Increment.insert` does, with ``after`` too. ``n`` is modulo 2**64. The
    native module finds the places and makes the records of all of them, which is many times as fast. ``args`` are numbers,
    counters and states."""
    kernel.insert_lengths(hook, args, after)


def _is_some(amount: Any) -> bool:
    """Whether a number, or an element of a vector, is other than 0. NumPy takes long to be imported, and numbers need none."""
    return bool(amount.any() if hasattr(amount, "any") else amount)
