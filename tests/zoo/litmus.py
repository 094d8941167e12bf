"""Litmus tests: small programs of a few threads, as kernels, and the outcomes that they may have, by trying every order.

A program is a list of threads, a thread a list of steps: ``W x 1`` stores, ``R x`` loads, ``F`` is a fence. An outcome is what
the loads have brought, thread after thread, and what is in x and y at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

Thread = tuple[str, ...]
Outcome = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """One litmus test."""

    threads: tuple[Thread, ...]
    #: The order of its fences; of each thread its own, or of all the same.
    fences: tuple[str, ...] = ("seq_cst",)

    def fence(self, thread: int) -> str:
        return self.fences[thread % len(self.fences)]


PROGRAMS = {
    "message_passing": Program((("W x 1", "F", "W y 1"), ("R y", "F", "R x")), ("release", "acquire")),
    "store_buffering": Program((("W x 1", "F", "R y"), ("W y 1", "F", "R x"))),
    "load_buffering": Program((("R x", "F", "W y 1"), ("R y", "F", "W x 1")), ("acq_rel",)),
    "independent_reads": Program((("W x 1",), ("W y 1",), ("R x", "F", "R y"), ("R y", "F", "R x"))),
    "read_read": Program((("W x 1", "W x 2"), ("R x", "R x"))),
    "write_write": Program((("W x 1", "W x 2"), ("W x 3",))),
    "writes_crossed": Program((("W x 1", "F", "W y 2"), ("W y 1", "F", "W x 2"))),
    "write_read": Program((("W x 1", "R x"), ("W x 2",))),
    "read_write": Program((("R x", "W x 1"), ("W x 2",))),
    "overwritten": Program((("W x 2", "F", "W y 1"), ("R y", "F", "W x 1")), ("acq_rel",)),
    "written_and_read": Program((("W x 1", "F", "W y 1"), ("W y 2", "F", "R x"))),
    "passed_on": Program((("W x 1",), ("R x", "F", "W y 1"), ("R y", "F", "R x")), ("acq_rel",)),
}


def _orders(thread: Thread, fenced: bool) -> Iterator[list[str]]:
    """The orders in which a thread's steps may take effect: without fences those on different variables in any."""
    steps = [step for step in thread if step != "F"]
    if fenced:
        yield steps
        return
    for order in itertools.permutations(range(len(steps))):
        kept = (i < j or steps[a].split()[1] != steps[b].split()[1] for (i, a), (j, b) in _pairs(order))
        if all(kept):
            yield [steps[k] for k in order]


def _pairs(order: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Of each two steps where they are in an order, and which they are, the first one of the program first."""
    where = {step: place for place, step in enumerate(order)}
    for a, b in itertools.combinations(range(len(order)), 2):
        yield (where[a], a), (where[b], b)


def _merged(threads: list[list[tuple[int, str]]]) -> Iterator[list[tuple[int, str]]]:
    """All ways to take turns."""
    if not any(threads):
        yield []
    for k, steps in enumerate(threads):
        if steps:
            rest = [*threads[:k], steps[1:], *threads[k + 1 :]]
            yield from ([steps[0], *more] for more in _merged(rest))


def allowed(program: Program, fenced: bool) -> set[Outcome]:
    """The outcomes of every order in which the steps may take effect, one after the other."""
    found = set()
    for orders in itertools.product(*(list(_orders(thread, fenced)) for thread in program.threads)):
        for steps in _merged([[(k, step) for step in thread] for k, thread in enumerate(orders)]):
            memory, loaded = {"x": 0, "y": 0}, {}
            for k, step in steps:
                what, variable, *value = step.split()
                if what == "W":
                    memory[variable] = int(value[0])
                else:
                    loaded.setdefault(k, {}).setdefault(variable, []).append(memory[variable])
            found.add((*_loads(program, loaded), memory["x"], memory["y"]))
    return found


def _loads(program: Program, loaded: dict[int, dict[str, list[int]]]) -> list[int]:
    """What was loaded, in the order in which the program says it."""
    values = []
    for k, thread in enumerate(program.threads):
        left = {variable: list(found) for variable, found in loaded.get(k, {}).items()}
        values += [left[step[2]].pop(0) for step in thread if step[0] == "R"]
    return values


def source(name: str, scope: str, lds: bool, fenced: bool) -> str:
    """The kernel of a program: its threads are workgroups (scope `agent`) or waves of one (`workgroup`), of 64 work-items of
    which the first one acts. `cells` has x and y, `out` what was loaded. Before each step a wave gives up its turn."""
    program = PROGRAMS[name]
    cell = {"x": "x", "y": "y"}
    reach = f"__HIP_MEMORY_SCOPE_{scope.upper()}"
    lines = [f"KERNEL {name}_{scope}_{'lds' if lds else 'global'}_{'fenced' if fenced else 'relaxed'}(u32 *cells, u32 *out) {{"]
    lines.append("    u32 role = " + ("group_x();" if scope == "agent" else "__builtin_amdgcn_readfirstlane(local_x() / 64);"))
    if lds:
        lines.append("    LDS u32 shared[128]; shared[local_x() & 127] = 0; barrier(); u32 *x = shared, *y = shared + 64;")
    else:
        lines.append("    u32 *x = cells, *y = cells + 64;")
    number = 0
    for k, thread in enumerate(program.threads):
        lines.append(f"    if (role == {k} && local_x() % 64 == 0) {{")
        for step in thread:
            what, *rest = step.split()
            if what == "F":
                if fenced:
                    lines.append(f'        __builtin_amdgcn_fence(__ATOMIC_{program.fence(k).upper()}, "{scope}");')
                continue
            lines.append("        __builtin_amdgcn_s_sleep(1);")
            if what == "W":
                lines.append(f"        __hip_atomic_store({cell[rest[0]]}, {rest[1]}, __ATOMIC_RELAXED, {reach});")
            else:
                lines.append(f"        u32 loaded{number} = __hip_atomic_load({cell[rest[0]]}, __ATOMIC_RELAXED, {reach});")
                number += 1
        first = number - sum(step[0] == "R" for step in thread)
        lines += [f"        out[{k}] = loaded{k};" for k in range(first, number)]
        lines.append("    }")
    if lds:
        lines.append(f"    barrier(); if (local_x() == 0) out[{number}] = *x, out[{number + 1}] = *y;")
    return "\n".join([*lines, "}"])


def outcome(name: str, lds: bool, cells: bytes, out: bytes) -> Outcome:
    """The outcome of a run, by what it has left in its arrays."""

    def word(data: bytes, at: int) -> int:
        return int.from_bytes(data[4 * at : 4 * at + 4], "little")

    count = sum(step[0] == "R" for thread in PROGRAMS[name].threads for step in thread)
    loads = tuple(word(out, k) for k in range(count + 2 * lds))
    return loads if lds else (*loads, word(cells, 0), word(cells, 64))
