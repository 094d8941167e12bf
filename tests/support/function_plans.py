"""Kernels that call functions, and random plans with hooks where functions begin and end: what the caller did last, and
what it needs behind the call, is in no one function's code."""

from __future__ import annotations

from types import SimpleNamespace

import compiled
import numpy as np
import random_plans

import luthier as lt

CALLS = """
NOINLINE u32 leaf(u32 a, const u32 *p) {
    a ^= p[a & 63];
    for (u32 i = 0; i < (a & 3); i++) a = a * 5 + i;
    return a;
}
NOINLINE u32 middle(u32 a, const u32 *p, u32 s) {
    u32 x = leaf(a + s, p);
    return x + leaf(x ^ s, p);
}
NOINLINE u32 store(u32 *p, u32 i, u32 x) {
    p[i] = x;
    return x >> 3;
}
KERNEL calls(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x(), s = in[n & 63], t = in[(n >> 3) & 63];
    if (i >= n) return;
    u32 sum = leaf(i ^ s, in);
    sum += middle(sum, in, s * 3);
    sum ^= s + t;
    sum += leaf(sum, in);
    for (u32 k = 0; k < (t & 3) + 1; k++) sum += middle(sum, in, k) ^ t;
    sum += store(out, i, sum);
    sum += leaf(sum, in);
    out[i] += sum + store(out, i + n, sum);
}
"""

INDEXED = """
typedef u32 V16 __attribute__((ext_vector_type(16)));
KERNEL indexed(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    if (i >= n) return;
    V16 v;
    for (u32 k = 0; k < 16; k++) v[k] = in[(i + k * 7) & 63];
    for (u32 k = 0; k < n % 7 + 3; k++) {
        u32 at = in[k] & 15;
        v[at] = v[(at + k) & 15] * 3 + i;
    }
    u32 sum = 0;
    for (u32 k = 0; k < 16; k++) sum = sum * 31 + v[k];
    out[i] = sum;
}
"""

LANES = 150
SOURCES = {"calls": CALLS, "indexed": INDEXED}


def build(name: str, target: tuple[str, tuple[str, ...]], level: str = "O2"):
    return compiled.build(SOURCES[name], target[0], target[1], level)


def launches(name: str):
    values = np.random.default_rng(11).integers(0, 1 << 32, 64, np.uint32)
    return [SimpleNamespace(kernel=name, grid=192, block=64, args=[values, np.zeros(2 * LANES, np.uint32), np.uint32(LANES)])]


class AtFunctions(random_plans.RandomPlan):
    """Hooks at random places, and of all kinds where functions begin, end, are called and come back."""

    def any_hook(self, value: int):
        vector = (self.scribble, self.seen, lt.Literal(value))
        scalar = (self.sum_up, self.total.at(5), value)
        return self.random.choice([vector, scalar, (self.tick, self.count)])

    def on_kernel(self, kernel):
        super().on_kernel(kernel)
        for number, function in enumerate(kernel.functions):
            for priority in range(self.random.randrange(1, 3)):
                hook, *args = self.any_hook(number)
                kernel.insert_at_entry(hook, *args, function=function, priority=priority)
            if function.kind == "device":
                hook, *args = self.any_hook(number)
                kernel.insert_at_exit(hook, *args, function=function)
            for call in (i for i in function.instructions if i.is_call):
                for insert in (kernel.insert_before, kernel.insert_after):
                    hook, *args = self.any_hook(number)
                    insert(call, hook, *args)


@lt.device
def mixed(x: lt.u64) -> lt.u64:
    h: lt.u64 = (x + 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
    return h ^ (h >> 29)


class Reader(lt.Tool):
    """What one register holds at one place, summed up over lanes and times."""

    def __init__(self, address: int, register: str):
        self.address, self.register = address, register
        self.sums = lt.DeviceArray(lt.u64, 2, name="sums")

    @lt.hook
    def add(sums: lt.ptr[lt.u64], value: lt.u32):
        lt.atomic_add(sums, mixed(lt.u64(value)))
        lt.atomic_add(sums + 1, 1)

    def on_kernel(self, kernel):
        (instr,) = [i for f in kernel.functions for i in f.instructions if i.address == self.address]
        kernel.insert_before(instr, self.add, self.sums, lt.Reg(self.register), priority=-1)


class Elsewhere(lt.Tool):
    """Does nothing but to move things in memory."""

    room = lt.DeviceArray(lt.u64, 1 << 12)

    @lt.hook
    def nothing(room: lt.ptr[lt.u64]):
        lt.atomic_add(room, 0)

    def on_kernel(self, kernel):
        kernel.insert_at_exit(self.nothing, self.room)


class Runs:
    """Runs of one kernel whose buffers are at the same addresses each time, since registers hold those."""

    def __init__(self, path, target: str, name: str):
        self.path, self.target, self.launches = path, target, launches(name)
        self.start = [[a.copy() for a in launch.args] for launch in self.launches]

    def reads(self, reader, tools, strict=False, **options) -> tuple[list[int], list[bytes]]:
        """What the reader finds beside the other tools, and the memory that the kernel leaves. In strict mode nothing where
        the register holds nothing that the application has put there."""
        device = lt.Device(self.target, threads=1)
        module = device.load(self.path, tools=[reader, *tools], check=True, on_rejected="report", **options)
        for launch, start in zip(self.launches, self.start, strict=True):
            for argument, value in zip(launch.args, start, strict=True):
                if isinstance(argument, np.ndarray):
                    argument[...] = value
            ran = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, strict=strict)
            if strict and any(map(random_plans.of_the_plan, ran.findings)):
                return [0, 0], []
        return reader.sums.read().tolist(), random_plans.memory(self.launches)
