# ruff: noqa: F821, UP037 (an address space is a word in quotes, not a type)
"""Random plans: hooks of several kinds at random places, which may change nothing that the application does."""

from __future__ import annotations

import random

import numpy as np

import luthier as lt

#: Plans of seeds from here on have hooks of every kind, called ones in every other of them; those of seeds below stay what they were.
NEWER = 10_000


class RandomPlan(lt.Tool):
    """Hooks of several kinds at random places."""

    count = lt.Counter()
    total = lt.DeviceArray(lt.u64, 8)
    seen = lt.DeviceArray(lt.u32, 64)

    def __init__(self, seed: int = 0, density: float = 0.6):
        """The seed, and how likely a hook, or one more hook, is at an instruction."""
        self.random = random.Random(seed)
        self.density = density

    @lt.hook
    def tick(count: lt.counter):
        count += 1

    @lt.hook
    def sum_up(total: lt.ptr[lt.u64], value: lt.u32):
        lt.wave_atomic_add(total, lt.popcount(lt.exec_mask()) + lt.u64(value))

    @lt.hook
    def scribble(seen: lt.ptr[lt.u32], value: lt.u32):
        x = value * 2654435761
        y = x ^ (x >> 15)
        z = y * 2246822519 + x
        for _i in range(3):
            z = z ^ (z << 7)
            y = y + (z >> 3)
        lt.atomic_max(seen + (lt.lane_id() & 63), x + y + z)

    @lt.hook
    def fraction(seen: lt.ptr[lt.u32], value: lt.f32):
        if value * 0.5 > 1.0:
            lt.atomic_add(seen + (lt.lane_id() & 63), 1)

    @lt.hook
    def reached(total: lt.ptr[lt.u64]):
        if lt.access_in_range():
            lt.atomic_add(total + 5, 1)

    @lt.hook
    def where(total: lt.ptr[lt.u64], address: lt.u64, pc: lt.u64, point: lt.u32):
        lt.atomic_add(total + 1, (address & 255) + pc + lt.u64(point))

    def hook(self, instr):
        """A hook with arguments that suit the instruction."""
        choose = self.random
        # What the instruction reads holds something; strict mode would say so of anything else that a hook stores.
        read = set(map(str, instr.reads))
        # Behind an instruction an operand is what it has read, be it overwritten: its old value is kept for the hook.
        plain = [
            o
            for o in instr.operands
            if o.kind == "register" and o.units == 1 and str(o.register) in read and not o.is_written and not o.place[2]
        ]
        vectors = [o for o in plain if str(o.register)[0] == "v"]
        scalars = [o for o in plain if str(o.register)[0] == "s"]
        kinds = ["tick", "tick", "sum_up", "literal", "special"]
        kinds += ["scribble", "fraction"] if vectors else []
        kinds += ["scalar"] if scalars else []
        kinds += ["old"] if vectors or scalars else []
        kinds += ["where", "reached"] if instr.access_count else []
        match choose.choice(kinds):
            case "tick":
                return self.tick, self.count
            case "sum_up":
                return self.sum_up, self.total, 3
            case "literal":
                return self.sum_up, self.total.at(2), lt.Literal(choose.randrange(1 << 20))
            case "special":
                return self.sum_up, self.total.at(3), lt.Reg(choose.choice(["scc", "m0", "exec_lo", "vcc_lo", "mode"]))
            case "scribble":
                return self.scribble, self.seen, choose.choice(vectors)
            case "fraction":
                return self.fraction, self.seen, choose.choice(vectors)
            case "scalar":
                return self.sum_up, self.total.at(4), choose.choice(scalars)
            case "old":
                if scalars:
                    return self.sum_up, self.total.at(6), lt.Old(choose.choice(scalars))
                return self.scribble, self.seen, lt.Old(choose.choice(vectors))
            case "reached" if instr.memory_space != "buffer" or instr.memory_width is not None:
                return self.reached, self.total
            case "where" | "reached":
                place = choose.randrange(instr.access_count)
                return self.where, self.total, lt.Address(place), lt.Pc(), lt.PointId()

    def on_kernel(self, kernel):
        for function in kernel.functions:
            for block in function.blocks:
                if self.random.random() < self.density / 3:
                    kernel.insert_at_block(block, self.tick, self.count)
                for successor in block.successors:
                    if self.random.random() < self.density / 3:
                        kernel.insert_on_edge(block, successor, self.sum_up, self.total, 1)
            for instr in function.instructions:
                while self.random.random() < self.density:
                    try:
                        hook, *args = self.hook(instr)
                        if self.random.random() < 0.5 or not instr.falls_through:
                            kernel.insert_before(instr, hook, *args, priority=self.random.randrange(3))
                        else:
                            kernel.insert_after(instr, hook, *args, priority=self.random.randrange(3))
                    except lt.ToolError as problem:
                        # What is no address, or no register of this kernel, is refused when it is inserted.
                        assert "address" in str(problem) or "allocated" in str(problem), problem
        kernel.insert_at_entry(self.tick, self.count)
        kernel.insert_at_exit(self.sum_up, self.total, 7)


class EveryKind(RandomPlan):
    """Hooks that have a stack, state, LDS, a channel, packed arithmetic and, where the processor has them, scalar atomics as well."""

    out = lt.Channel(1 << 12, when_full="drop", point=lt.u32, value=lt.u64)
    bins = lt.shared(lt.u32, 16)
    steps = lt.WaveState(lt.u64)
    last = lt.LaneState(lt.u32)

    def __init__(self, seed: int, density: float, scalars: bool):
        super().__init__(seed, density)
        self.scalars = scalars

    @lt.hook
    def stacked(seen: lt.ptr[lt.u32], value: lt.u32):
        kept = lt.array(lt.u32, 100)
        kept[value % 100] = value
        kept[(value >> 8) % 100] += lt.lane_id()
        lt.atomic_max(seen + (lt.lane_id() & 63), kept[value % 100])

    @lt.hook
    def stateful(total: lt.ptr[lt.u64], steps: lt.inout[lt.u64], last: lt.inout[lt.u32], value: lt.u32):
        steps += 1
        if last != value:
            lt.atomic_add(total + 7, 1)
        last = value ^ lt.u32(steps)

    @lt.hook
    def binned(bins: lt.ptr[lt.u32, "lds"], value: lt.u32):
        lt.atomic_add(bins + (value & 15), 1)

    @lt.hook
    def recorded(out: lt.channel, value: lt.u32, point: lt.u32):
        lt.record(out, point, lt.u64(value) + lt.exec_mask())

    @lt.hook
    def recorded_once(out: lt.channel, point: lt.u32):
        lt.record(out, point, lt.exec_mask(), per_wave=True)

    @lt.hook
    def packed(seen: lt.ptr[lt.u32], value: lt.u32):
        lt.atomic_max(seen + (lt.lane_id() & 63), lt.pk_mul_u16(lt.pk_add_u16(value, 0x00010002), value))

    @lt.hook
    def by_scalars(total: lt.ptr[lt.u64], value: lt.u32):
        old = lt.scalar_atomic_add(total + 3, lt.u64(value))
        lt.scalar_atomic_max(total + 4, old)
        if value & 1:
            lt.scalar_atomic_xor(total + 5, old)

    def hook(self, instr):
        if self.random.random() < 0.5:
            return super().hook(instr)
        read = set(map(str, instr.reads))
        vectors = [
            o for o in instr.operands
            if o.kind == "register" and o.units == 1 and str(o.register) in read and not o.is_written and not o.place[2]
            and str(o.register)[0] == "v"
        ]  # fmt: skip
        value = self.random.choice(vectors) if vectors else lt.Literal(self.random.randrange(1 << 20))
        match self.random.choice(["stacked", "stateful", "binned", "recorded", "once", "packed", "scalars"]):
            case "stacked":
                return self.stacked, self.seen, value
            case "stateful":
                return self.stateful, self.total, self.steps, self.last, value
            case "binned":
                return self.binned, self.bins, value
            case "recorded":
                return self.recorded, self.out, value, lt.PointId()
            case "once":
                return self.recorded_once, self.out, lt.PointId()
            case "scalars" if self.scalars:
                return self.by_scalars, self.total, lt.Literal(self.random.randrange(1 << 20))
            case _:
                return self.packed, self.seen, value


def run(code_object, target, launches, strict=True):
    """The results of the launches, one after the other on one device."""
    return run_on(lt.Device(target).load(code_object), launches, strict)


def run_on(module, launches, strict=True):
    results = []
    for launch in launches:
        sizes = {"grid": launch.grid, "block": launch.block, "args": launch.args}
        results.append(module.run(launch.kernel, lds=getattr(launch, "lds", 0), strict=strict, **sizes))
    return results


def of_the_plan(finding) -> bool:
    """A hook has stored what it read in a register that the application had never written: that is what it was told to."""
    return finding["kind"] == "undefined-register" and finding.get("original_pc") is None


def preloaded(code):
    """The arguments that the hardware puts into registers. A kernel that hooks have taken that from loads them by the
    instructions that it has in front for it."""
    return [code.descriptor(kernel.name).preloaded_arguments for kernel in code.kernels]


def memory(launches):
    return [a.tobytes() for launch in launches for a in launch.args if isinstance(a, np.ndarray)]


def compare(path, target, launches, seed: int, *, density: float = 0.6, strict=True, check=None, rejected=0.01) -> int:
    """Runs launches plain and with a plan, and holds the one to the other; gives the number of hooks: none where the
    code cannot be copied as a whole.

    ``launches`` makes them anew. ``check`` judges launches whose results depend on how waves take turns: they are not
    compared then, nor are the numbers of instructions. ``rejected`` is the largest share of hooks that find no place.
    """
    plain, hooked = launches(), launches()
    before = run(lt.CodeObject.open(path), target, plain, strict)
    # clang's own, if any: on gfx1201 it takes a scalar that may have been read by a vector instruction for one that was.
    plain_findings = {(f["kind"], f["pc"]) for r in before for f in r.findings}
    if seed < NEWER:
        instrumented = lt.instrument(path, [RandomPlan(seed, density)], check=True, on_rejected="report")
        what, module = instrumented.instrumentation, lt.Device(target).load(instrumented)
    else:
        # A channel needs a host that reads it.
        tool = EveryKind(seed, density, target.startswith(("gfx9", "gfx101")))
        how = {"check": True, "on_rejected": "report", "bodies": ("in-place", "called")[seed % 2]}
        module = lt.Device(target).load(lt.CodeObject.open(path), tools=[tool], **how)
        what = module.loaded.instrumentation
        # What a kernel has no room for is not what a plan looks for.
        what["rejected"] = [r for r in what["rejected"] if r["kind"] not in ("no_lds", "no_stack")]
    after = run_on(module, hooked, strict)
    if not what["points"] and {r["kind"] for r in what["rejected"]} == {"component"}:
        return 0  # The code cannot be copied, which the report says of each hook.
    assert what["points"] > 0, what["rejected"][:3]
    found = [f for r in after for f in r.findings if not of_the_plan(f)]
    new = [str(f) for f in found if (f["kind"], f.get("original_pc")) not in plain_findings]
    assert not new, new[:3]
    if check:
        check(plain)
        check(hooked)
    else:
        assert memory(hooked) == memory(plain), f"{path} on {target}, plan {seed}"
        if preloaded(module.loaded) == preloaded(lt.CodeObject.open(path)):
            assert [r.app_instructions for r in after] == [r.instructions for r in before], f"{path} on {target}, plan {seed}"
            assert [r.app_histogram for r in after] == [r.histogram for r in before], f"{path} on {target}, plan {seed}"
    assert len(what["rejected"]) <= what["points"] * rejected, what["rejected"][:3]
    return what["points"]
