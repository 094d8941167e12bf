"""Random plans of hooks that count, at every kind of place, among instructions that are replaced, removed, or that nothing
can be done to. How often each has to run is known from the device's events of the plain run, which has none of them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import instrumented
import numpy as np

import luthier as lt

#: Instructions that the mock device computes the same without.
IDLE = ("s_nop", "s_delay_alu", "s_clause", "s_wait", "s_setprio", "s_sleep", "v_nop")
#: Instructions that a hook can stand for, and the hook.
LIKE = {"v_mov_b32": "move", "s_mov_b32": "move", "v_xor_b32": "xor", "v_and_b32": "conj", "v_or_b32": "disj"}


class CountedPlan(lt.Tool):
    """Hooks that count, each in a place of its own, and changes that change nothing."""

    def __init__(self, seed: int = 0, density: float = 0.5):
        self.random = random.Random(seed)
        self.density = density
        #: By kernel: the names of its points, in order, and where they count.
        self.counted: dict[str, tuple[list, lt.DeviceArray]] = {}
        #: The addresses of instructions that something else stands for, if that is not rejected.
        self.replaced, self.removed = set(), set()
        #: Points that have to be rejected: their numbers, and of those of replacements the addresses.
        self.refused, self.stay = set(), set()

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    @lt.hook
    def told(count: lt.ptr[lt.u64], width: lt.u32):
        lt.wave_atomic_add(count, width)

    @lt.hook
    def move(d: lt.inout[lt.u32], a: lt.u32):
        d = a  # noqa: F841

    @lt.hook
    def xor(d: lt.inout[lt.u32], a: lt.u32, b: lt.u32):
        d = a ^ b  # noqa: F841

    @lt.hook
    def conj(d: lt.inout[lt.u32], a: lt.u32, b: lt.u32):
        d = a & b  # noqa: F841

    @lt.hook
    def disj(d: lt.inout[lt.u32], a: lt.u32, b: lt.u32):
        d = a | b  # noqa: F841

    def on_kernel(self, kernel):
        points = 64 + 8 * len(kernel.instructions)
        counts = lt.DeviceArray(lt.u64, points, name=f"counts.{kernel.name}")
        names: list = []
        self.counted[kernel.name] = names, counts

        def point(*name):
            names.append(name)
            return self.bump, counts.at(len(names) - 1)

        kernel.insert_at_entry(*point("start"))
        kernel.insert_at_exit(*point("end"))
        for function in kernel.functions:
            kernel.insert_at_entry(*point("entry", function.name), function=function)
            for block in function.blocks:
                for successor in block.successors:
                    if self.chance():
                        last = block.instructions[-1].address
                        kernel.insert_on_edge(block, successor, *point("edge", last, successor.address))
            for instr in function.instructions:
                self.around(kernel, instr, point, counts)

    def chance(self) -> bool:
        return self.random.random() < self.density

    def around(self, kernel, instr, point, counts) -> None:
        """Some hooks at an instruction, and perhaps something in its place."""
        priority = lambda: self.random.randrange(3)  # noqa: E731
        if self.chance():
            kernel.insert_before(instr, *point("before", instr.address), priority=priority())
        if self.chance() and (instr.falls_through or instr.branch_target is not None):
            kernel.insert_after(instr, *point("after", instr.address), priority=priority())
        plain = instr.memory_space is None
        if plain and self.random.random() < self.density / 4:
            # There is no access, of which the hook is told.
            insert = self.random.choice([kernel.insert_before, kernel.insert_after])
            self.refused.add(insert(instr, self.told, counts, lt.AccessWidth()))
        if self.random.random() > self.density or instr.address in self.replaced | self.removed | self.stay:
            return
        if instr.mnemonic.startswith(IDLE):
            self.removed.add(instr.address)
            kernel.remove(instr)
        elif (hook := self.like(instr)) is not None and self.chance():
            self.replaced.add(instr.address)
            kernel.replace(instr, hook, *instr.operands)
        elif plain and instr.falls_through and not instr.is_call:
            self.stay.add(instr.address)
            self.refused.add(kernel.replace(instr, self.told, counts, lt.AccessWidth()))

    def like(self, instr):
        """The hook that does what the instruction does, if there is one."""
        name = instr.mnemonic.removesuffix("_e32")
        if name not in LIKE or any(o.kind == "special" or o.units != 1 or o.place and o.place[2] for o in instr.operands):
            return None
        first = str(instr.operands[0].register)
        return getattr(self, LIKE[name]) if first[0] in "sv" and first[1:].isdigit() else None

    def result(self, kernel: str) -> dict:
        """How often the hooks have run at each place, by name."""
        names, counts = self.counted[kernel]
        values = counts.read()
        total: dict = defaultdict(list)
        for name, count in zip(names, values.tolist()):
            total[name].append(count)
        assert not values[len(names) :].any()
        return dict(total)


def run(module, launches) -> list:
    """Runs launches in a module; gives what was seen of each."""
    results = []
    for launch in launches:
        sizes = {"grid": launch.grid, "block": launch.block, "args": launch.args, "lds": getattr(launch, "lds", 0)}
        results.append(module.trace(launch.kernel, events=["instructions"], limit=1 << 22, **sizes))
    return results


def memory(launches):
    return [a.tobytes() for launch in launches for a in launch.args if isinstance(a, np.ndarray)]


def compare(path, target: str, launches, seed: int, *, density: float = 0.5, kernels=None, **options) -> int:
    """Holds a plan to the plain run: memory, the application's instructions, and how often each hook ran. Gives the number
    of hooks that count. ``kernels`` are those that are instrumented; the launches of others must not count."""
    plain, hooked = launches(), launches()
    code = lt.CodeObject.open(path)
    before = run(lt.Device(target).load(code), plain)
    tool = CountedPlan(seed, density)
    module = lt.Device(target).load(code, tools=[tool], kernels=kernels, check=True, on_rejected="report", **options)
    where = f"{path} on {target}, plan {seed}"
    did = module.instrumentation
    rejected = {r["point"] for r in did["rejected"]}
    others = [r for r in did["rejected"] if r["point"] not in tool.refused]
    assert not others, (where, others[:3])
    assert rejected == tool.refused, (where, sorted(tool.refused - rejected)[:3])
    after = run(module, hooked)
    assert memory(hooked) == memory(plain), where
    gone = {i.address: i.mnemonic for i in code.instructions if i.address in tool.removed | tool.replaced}
    seen: Counter = Counter()
    for launch, was, now in zip(plain, before, after):
        histogram = Counter(was.result.histogram)
        if kernels is None or launch.kernel in kernels:
            steps = instrumented.steps(was)
            seen.update(steps)
            for (_, pc), n in steps.items():
                if pc in gone:
                    histogram[gone[pc]] -= n
        else:
            assert now.result.instructions == was.result.instructions, (where, launch.kernel)
        assert now.result.app_histogram == {name: n for name, n in histogram.items() if n}, (where, launch.kernel)
    points = 0
    for kernel in code.kernels if kernels is None else map(code.kernel, kernels):
        found = tool.result(kernel.name)
        own = {launch.kernel for launch in plain} if kernels is None else set(kernels)
        assert kernel.name in own
        wanted = instrumented.expected(kernel, found, seen)
        wrong = {name: (counts, wanted[name]) for name, counts in found.items() if any(n != wanted[name] for n in counts)}
        assert not wrong, (where, kernel.name, list(wrong.items())[:5])
        points += len(found)
    return points
