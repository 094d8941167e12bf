"""What hooks are told at random instructions of Triton's kernels, before and after them, is what the mock device itself
sees there: addresses (each place of an access, lanes outside of their buffer left out), operands of one and two words, old values,
registers, SCC, VCC, EXEC, M0 and MODE; and ids, arguments of the kernel, and what waves and lanes carry from one time to the next. Of
every other seed the hooks are called.

``LUTHIER_PLANS=N`` is the deep run: N choices of instructions in each kernel, from seed ``LUTHIER_PLANS_FROM`` on.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
import triton_cases

import luthier as lt

PLANS = int(os.environ.get("LUTHIER_PLANS", "0"))
SEEDS = range(first := int(os.environ.get("LUTHIER_PLANS_FROM", "0")), first + PLANS)
TARGETS = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx1250"]
#: Instructions of a kernel that are looked at, of each kind.
MOST = 16
MIX = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


#: What a point is about that looks at no operand.
LAUNCH = "launch"
#: What no operand names.
SPECIAL = ("scc", "vcc", "exec", "m0", "mode")
FIRST = 0x5EED


class Told(lt.Tool):
    """Sums of what hooks are told, by what it is and where: how many times, and the sum of mixed values and lanes."""

    sums = lt.DeviceArray(lt.u64, 2 * 32 * MOST)

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.told = []

    @lt.hook
    def place(sums: lt.ptr[lt.u64], address: lt.u64, in_lds: lt.u64):
        # Triton has lanes access LDS far outside of it where they are to do nothing.
        if lt.access_in_range() and in_lds < 1 << 30:
            lt.atomic_add(sums, 1)
            lt.atomic_add(sums + 1, (address ^ (lt.u64(lt.lane_id()) << 57)) * 0x9E3779B97F4A7C15)

    @lt.hook
    def value(sums: lt.ptr[lt.u64], value: lt.u32):
        lt.atomic_add(sums, 1)
        lt.atomic_add(sums + 1, (lt.u64(value) ^ (lt.u64(lt.lane_id()) << 57)) * 0x9E3779B97F4A7C15)

    @lt.hook
    def wide(sums: lt.ptr[lt.u64], value: lt.u64):
        lt.atomic_add(sums, 1)
        lt.atomic_add(sums + 1, (value ^ (lt.u64(lt.lane_id()) << 57)) * 0x9E3779B97F4A7C15)

    @lt.hook
    def place_in_launch(sums: lt.ptr[lt.u64], times: lt.inout[lt.u32], lane_times: lt.inout[lt.u32], first: lt.u32):
        times += 1
        lane_times += 1
        group = lt.workgroup_id_x()
        item = lt.workitem_id_x()
        told = times * 0x10001 ^ group << 9 ^ item << 3 ^ lane_times << 20 ^ first ^ lt.u32(lt.wave_id()) << 25
        lt.atomic_add(sums, 1)
        lt.atomic_add(sums + 1, (lt.u64(told) ^ (lt.u64(lt.lane_id()) << 57)) * 0x9E3779B97F4A7C15)

    def on_kernel(self, kernel):
        def point(kind, instr, behind, what=None):
            self.told.append((kind, instr, behind, what, []))
            return self.sums.at(2 * (len(self.told) - 1))

        def insert(instr, behind, *args):
            place = kernel.insert_after if behind else kernel.insert_before
            self.told[-1][-1].append(place(instr, *args))

        def value(kind, instr, behind, what, given):
            hook = self.wide if wide(what, kernel) else self.value
            to = point(kind, instr, behind, what)
            insert(instr, behind, hook, to, given)

        instrs = list(kernel.instructions)
        lanes = [i for i in instrs if i.access_count and "smem" not in i.flags and i.memory_space in ("global", "buffer", "lds")]
        # Of an access that overwrites its own address there may be few.
        for instr in self.some([i for i in lanes if overwrites(i)]) + self.some([i for i in lanes if not overwrites(i)]):
            for behind in (False, True):
                to = point("place", instr, behind)
                for number in range(instr.access_count):
                    last = lt.Address(instr.access_count - 1)
                    in_lds = last if instr.memory_space == "lds" or instr.access_count > 1 else 0
                    insert(instr, behind, self.place, to, lt.Address(number), in_lds)
        plain = [i for i, behind in zip(instrs, instrs[1:]) if i.falls_through and i.block == behind.block and not i.is_wait]
        for instr in self.some([i for i in plain if any(is_plain(o) for o in i.operands)]):
            for operand in (o for o in instr.operands if is_plain(o)):
                value("value", instr, False, operand, operand)
                value("old", instr, True, operand, lt.Old(operand))
                value("register", instr, True, operand, lt.Reg(str(operand)))
                value("register" if operand.is_written else "value", instr, True, operand, operand)
        for instr in self.random.sample(plain, min(len(plain), 4)):
            for name in SPECIAL:
                value("value", instr, False, name, lt.Reg(name))
                value("register", instr, True, name, lt.Reg(name))

        # Some with an argument of the kernel, where it can be named.
        for n, instr in enumerate(self.random.sample(plain, min(len(plain), 4))):
            for behind in (False, True):
                carried = lt.WaveState(lt.u32, name=f"times{n}{behind}"), lt.LaneState(lt.u32, name=f"lane_times{n}{behind}")
                to = point("launch", instr, behind, LAUNCH)
                insert(instr, behind, self.place_in_launch, to, *carried, FIRST)

    def some(self, instrs):
        return self.random.sample(instrs, min(len(instrs), MOST // 2))


def overwrites(instr):
    """Whether an access overwrites what its address is made of."""
    names = ("addr", "vaddr", "saddr", "srsrc", "soffset")
    return any(w.overlaps(o.register) for w in instr.writes for o in instr.operands if o.name in names and o.register)


def is_plain(operand):
    """A register of one or two words in each lane, or of the wave."""
    register = operand.register
    return register is not None and operand.units in (1, 2) and register.file in ("vgpr", "sgpr") and not operand.place[2]


def wide(what, kernel):
    """Whether an operand, or special state, has 64 bits."""
    if isinstance(what, str):
        return what in ("vcc", "exec") and kernel.code_object.program.wavefront_size == 64
    return what.units == 2


def mixed(values, lanes):
    """How many there are, and their sum as the hooks make it."""
    mixed = (values.astype(np.uint64) ^ (lanes.astype(np.uint64) << np.uint64(57))) * np.uint64(MIX)
    return len(values), int(mixed.sum(dtype=np.uint64))


def seen_place(trace, pc):
    events = trace.memory[trace.memory["pc"] == pc]
    return mixed(events["address"], events["lane"])


def seen_value(snapshots, what, lanes):
    """Of an operand's register, or of special state, in the lanes that are on."""
    values, numbers = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for snapshot in snapshots:
        on = np.array([lane for lane in range(lanes) if snapshot.registers.exec >> lane & 1], np.uint32)
        found = snapshot.registers
        if isinstance(what, str):
            values.append(np.full(len(on), getattr(found, what), np.uint64))
        else:
            register = what.register
            words = [register.index + n for n in range(what.units)]
            parts = [found.vgprs[n][on] if register.file == "vgpr" else np.full(len(on), found.sgprs[n]) for n in words]
            values.append(sum(part.astype(np.uint64) << np.uint64(32 * n) for n, part in enumerate(parts)))
        numbers.append(on)
    return mixed(np.concatenate(values), np.concatenate(numbers))


def seen_launch(snapshots, lanes, block):
    """What hooks make of the ids, and of how often each wave and lane has been there, at these visits in their order."""
    times, lane_times = {}, {}
    values, numbers = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    waves = -(-block // lanes)
    for snapshot in snapshots:
        wave = snapshot.workgroup, snapshot.wave
        on = np.array([lane for lane in range(lanes) if snapshot.registers.exec >> lane & 1], np.uint32)
        # A hook in a wave without active lanes still counts for the wave.
        times[wave] = times.get(wave, 0) + 1
        mine = lane_times.setdefault(wave, np.zeros(lanes, np.uint32))
        mine[on] += 1
        item = snapshot.wave * lanes + on
        number = snapshot.workgroup * waves + snapshot.wave
        told = np.uint32(times[wave] * 0x10001 ^ snapshot.workgroup << 9 ^ FIRST ^ (number << 25 & 0xFFFFFFFF))
        values.append(told ^ (item << 3).astype(np.uint32) ^ mine[on] << np.uint32(20))
        numbers.append(on)
    return mixed(np.concatenate(values), np.concatenate(numbers))


def compare(name, target, seed):
    """Holds everything that hooks were told in a kernel to what the device saw in the same run; gives how much that is."""
    path = triton_cases.path(name, target)
    if not path.exists():
        return 0, 0
    (launch,) = triton_cases.launches(name, target)
    tool = Told(seed)
    bodies = "called" if seed % 2 else "in-place"
    module = lt.Device(target, threads=1).load(path, tools=[tool], on_rejected="report", check=True, bodies=bodies)
    code, rejected = module.loaded, module.instrumentation["rejected"]
    assert {r["kind"] for r in rejected} <= {"old_value", "registers", "component", "not_set"}, rejected[:3]
    if {r["kind"] for r in rejected} >= {"component"}:
        return 0, 0
    copies = {i.origin: i.address for i in code.program.instructions if i.origin is not None and not i.is_inserted}
    following = {}
    for _, instr, _, what, _ in tool.told:
        if what is not None:
            following[instr.address] = instr.address + instr.size
    pcs = [copies[a] for pair in following.items() for a in pair]
    block = launch.block[0]
    watch = {"events": ["memory"], "only": [copies[i.address] for _, i, _, what, _ in tool.told if what is None]}
    sizes = {"grid": (2 * block, 1, 1), "block": launch.block, "args": launch.args, "lds": launch.lds}
    trace = module.trace(launch.kernel, snapshots=sorted(set(pcs)), **watch, **sizes)
    assert trace.dropped == 0
    lanes = code.program.wavefront_size
    sums, compared, missing = tool.sums.read().reshape(-1, 2), 0, {r["point"] for r in rejected}
    left = 0
    for (kind, instr, behind, what, points), (count, total) in zip(tool.told, sums.tolist()):
        where = f"{name} on {target}, seed {seed}: {'after' if behind else 'before'} {instr.text} at {instr.address:#x}: {kind}"
        if not missing.isdisjoint(points):
            left += 1
            continue
        if kind == "place":
            expected = seen_place(trace, copies[instr.address])
        else:
            now = instr.address + instr.size if kind == "register" else instr.address
            snapshots = [s for s in trace.snapshots if s.pc == copies[now]]
            after = [s for s in trace.snapshots if s.pc == copies[instr.address + instr.size]]
            if behind and [s.registers.exec for s in snapshots] != [s.registers.exec for s in after]:
                continue  # Lanes have been turned on or off: which ran the hook is not to be seen here.
            seen = seen_launch(snapshots, lanes, block) if what == LAUNCH else seen_value(snapshots, what, lanes)
            expected = seen
        assert (count, total) == expected, f"{where} {what or ''}"
        compared += count > 0
    return len(tool.told) - left, compared


@pytest.mark.parametrize(
    "name, target",
    [
        ("softmax_f32", "gfx90a"),
        ("vadd_f16", "gfx942"),
        ("layernorm_f32", "gfx1100"),
        ("matmul_f16_64", "gfx1201"),
        ("histo", "gfx1250"),
        ("matmul_f32_32", "gfx950"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_hooks_are_told_what_the_device_sees(name, target, seed):
    points, compared = compare(name, target, seed)
    assert points > 20 and compared > points // 2


@pytest.mark.skipif(not PLANS, reason="LUTHIER_PLANS=N tries N choices for each kernel")
@pytest.mark.parametrize("target", TARGETS)
def test_deep(target):
    failed, total = [], 0
    for name in triton_cases.NAMES:
        for seed in SEEDS:
            try:
                total += compare(name, target, seed)[1]
            except (AssertionError, lt.LuthierError) as error:
                failed.append(f"{name}, seed {seed}: {str(error)[:400]}")
    print(f"{target}: {total:,} points compared, {len(failed)} wrong")
    assert not failed, "\n".join(failed)
