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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .objects.kernel import leaves

if TYPE_CHECKING:
    from ._core import Block, Function
    from .objects.kernel import Kernel

#: How often a loop is taken to go round.
_ROUNDS = 8.0
#: Cost of counting on an edge in instructions: beside the two of the addition, code for a way of its own needs a branch.
_IN_LINE, _OUT_OF_LINE = 2.0, 3.0


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
            kernel.insert_at_entry(hook, *args, function=function)
        elif self.successor is not None:
            kernel.insert_on_edge(self.block, self.successor, hook, *args)
        else:
            instrs = self.block.instructions
            insert = kernel.insert_after if after and len(instrs) > 1 else kernel.insert_before
            insert(instrs[0], hook, *args)


def may_not_return(functions: Iterable[Function]) -> set[int]:
    """Addresses of those functions from which a wave may end, they themselves or what they call."""
    functions = list(functions)
    ends = {f.address for f in functions if f.has_unresolved_calls or any(b.terminator in ("end", "trap") for b in f.blocks)}
    callees = {f.address: [c.address for c in f.callees] for f in functions}
    while more := {a for a, called in callees.items() if a not in ends and not ends.isdisjoint(called)}:
        ends |= more
    return ends


def increments(function: Function, amount: Callable[[Block], Any], ending: set[int]) -> list[Increment]:
    """The fewest increments that sum up ``amount(block)``, a number or a vector, over all blocks that run. ``ending``:
    :func:`may_not_return`."""
    blocks = list(function.blocks)
    number = {block.address: i for i, block in enumerate(blocks)}
    successors = [list(dict.fromkeys(number[s.address] for s in block.successors)) for block in blocks]
    taken = [_taken(block, to, number) for block, to in zip(blocks, successors)]
    root, entry = 2 * len(blocks), number[function.address]
    ways = _frequencies(blocks, successors, taken, entry)
    calls_may_end = function.has_unresolved_calls or any(c.address in ending for c in function.callees)

    # Block i is the edge from 2i to 2i + 1; the root stands for all that is outside of the function.
    graph = _Graph(root + 1)
    for i, block in enumerate(blocks):
        terminator = block.terminator
        leaving = leaves(block) or terminator in ("end", "off_end", "unsupported", "trap")
        leaving |= terminator == "call" and calls_may_end
        leaving |= terminator == "cond_branch" and taken[i] is None
        leaving |= not successors[i]  # behind a call that never comes back, or where nothing is behind
        if leaving:
            graph.force(2 * i + 1, root)
        graph.edges.append((_IN_LINE * ways.blocks[i], 2 * i, 2 * i + 1, amount(block), (i, None)))
        for to, frequency in zip(successors[i], ways.edges[i]):
            if terminator == "jump":
                graph.force(2 * i + 1, 2 * to)
                continue
            cost = frequency * (_OUT_OF_LINE if to == taken[i] else _IN_LINE)
            graph.edges.append((cost, 2 * i + 1, 2 * to, 0, (i, to)))
    if function.entered_inside:
        graph.force(root, 2 * entry)
        for address in function.entered_inside:
            if address in number:
                graph.force(root, 2 * number[address])
    else:
        graph.edges.append((_IN_LINE, root, 2 * entry, 0, (None, None)))

    def block_of(index: int | None) -> Block | None:
        return None if index is None else blocks[index]

    return [Increment(amount, block_of(block), block_of(to)) for (block, to), amount in graph.chords()]


def _taken(block: Block, successors: list[int], number: dict[int, int]) -> int | None:
    """The block that the branch at a block's end leads to, if it is one of the function."""
    if block.terminator not in ("branch", "cond_branch"):
        return None
    target = block.instructions[-1].branch_target
    return None if target is None else number.get(target)


#: Numbers of a block and of its successor, as :class:`Increment` has them.
_Place = tuple[int | None, int | None]


class _Graph:
    """Edges with an amount and a cost; those of a spanning tree are to have no increments."""

    def __init__(self, nodes: int):
        #: Cost, both ends, amount, and the place that it stands for.
        self.edges: list[tuple[float, int, int, Any, _Place]] = []
        self._leader = list(range(nodes))  # of the tree's parts
        self._tree: list[list[tuple[int, Any]]] = [[] for _ in range(nodes)]  # neighbours, and the amount on the way there

    def force(self, a: int, b: int) -> None:
        """An edge that nothing can be inserted on, and that stands for no amount: a cycle of such edges is no matter."""
        self._join(a, b, 0)

    def _join(self, a: int, b: int, amount: Any) -> bool:
        """Takes an edge into the tree, unless its ends are joined already."""
        leader, first, second = self._leader, a, b
        while leader[first] != first:
            leader[first] = first = leader[leader[first]]
        while leader[second] != second:
            leader[second] = second = leader[leader[second]]
        if first == second:
            return False
        leader[first] = second
        self._tree[a].append((b, amount))
        self._tree[b].append((a, -amount))
        return True

    def chords(self) -> list[tuple[_Place, Any]]:
        """The edges that are not in the tree, with increments other than 0."""
        self.edges.sort(key=itemgetter(0), reverse=True)
        join = self._join
        left = [edge for edge in self.edges if not join(edge[1], edge[2], edge[3])]
        # What has been added up on the way to a node, less what has been counted.
        behind: dict[int, Any] = {}
        for start in range(len(self._tree) - 1, -1, -1):
            if start in behind:
                continue
            behind[start], todo = 0, [start]
            while todo:
                node = todo.pop()
                here = behind[node]
                for to, amount in self._tree[node]:
                    if to not in behind:
                        behind[to] = here + amount
                        todo.append(to)
        found = [(place, behind[a] + amount - behind[b]) for _, a, b, amount, place in left]
        return [(place, amount) for place, amount in found if _is_some(amount)]


def _is_some(amount: Any) -> bool:
    """Whether a number, or an element of a vector, is other than 0. NumPy takes long to be imported, and numbers need none."""
    return bool(amount.any() if hasattr(amount, "any") else amount)


@dataclass
class _Frequencies:
    """How often blocks, and the ways to the successors of each, run for each time that the function is entered, as far as
    their shape tells."""

    blocks: list[float]
    edges: list[list[float]]


def _frequencies(blocks: Sequence[Block], successors: list[list[int]], taken: list[int | None], entry: int) -> _Frequencies:
    order = _reverse_postorder(successors, entry)
    place = [-1] * len(blocks)
    for i, block in enumerate(order):
        place[block] = i
    loops = [block.loop for block in blocks]
    depth = [loop.depth if loop else 0 for loop in loops]
    header = {loop.header.address for loop in loops if loop}
    known = [0.0] * len(blocks)
    known[entry] = 1.0
    edges = [[0.0] * len(targets) for targets in successors]
    for i in order:
        if header and blocks[i].address in header:
            known[i] *= _ROUNDS
        targets = successors[i]
        if not targets:
            continue
        shares = [1.0 if depth[to] >= depth[i] else 1.0 / _ROUNDS for to in targets]
        # Code for waves without an active lane hardly ever runs.
        if len(targets) > 1 and blocks[i].instructions[-1].opcode == "s_cbranch_execz":
            shares = [share * 0.1 if to == taken[i] else share for to, share in zip(targets, shares)]
        total = sum(shares)
        edges[i] = [known[i] * share / total for share in shares]
        for to, frequency in zip(targets, edges[i]):
            if place[to] > place[i]:
                known[to] += frequency
    return _Frequencies(known, edges)


def _reverse_postorder(successors: list[list[int]], entry: int) -> list[int]:
    seen, done = {entry}, []
    todo = [(entry, iter(successors[entry]))]
    while todo:
        node, rest = todo[-1]
        for to in rest:
            if to not in seen:
                seen.add(to)
                todo.append((to, iter(successors[to])))
                break
        else:
            todo.pop()
            done.append(node)
    return done[::-1]
