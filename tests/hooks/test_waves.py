"""What hooks do for a whole wave, whichever of its lanes are active, on every kind of processor."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import TARGETS, W64

import luthier as lt

#: The hook stands where EXEC is what the launch says.
SOURCE = """
KERNEL masked(u64 mask) {
    if (__builtin_amdgcn_wavefrontsize() == 64)
        asm volatile("s_mov_b64 s[20:21], exec\\n s_mov_b64 exec, %0" ::"s"(mask) : "s20", "s21");
    else
        asm volatile("s_mov_b32 s20, exec_lo\\n s_mov_b32 exec_lo, %0" ::"s"((u32)mask) : "s20");
    asm volatile("s_nop 7");
}
"""
#: Lane 0 is off in most of them, and all are in the last.
MASKS = (0xFFFFFFFFFFFFFFFF, 0x80000010, 0x0F0F0F00, 0)


class Adds(lt.Tool):
    """Amounts and addresses that all lanes share and vector instructions compute: the stores in front of the loads are in
    the way of scalar loads."""

    table = lt.DeviceArray(lt.u32, 4, init=[3, 2, 1, 0])
    stored = lt.DeviceArray(lt.u32, 64)
    sums = lt.DeviceArray(lt.u64, 8)

    @lt.hook
    def add(table: lt.ptr[lt.u32], stored: lt.ptr[lt.u32], sums: lt.ptr[lt.u64]):
        stored[lt.lane_id()] = 1
        lt.wave_atomic_add(sums, lt.u64(table[1]) * (1 << 40))
        lt.wave_atomic_add(sums + 1, lt.u64(lt.f32(table[0]) * 1.5))
        lt.wave_atomic_add(sums + table[1], 5)
        lt.wave_atomic_add(sums + table[0], lt.u64(table[0]) << 33)
        lt.wave_atomic_add(sums + 4, lt.exec_mask())
        lt.wave_atomic_add(sums + 5, lt.ballot(True))
        lt.wave_atomic_add(sums + 6, lt.active_lanes())

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.text == "s_nop 7")
        kernel.insert_before(place, self.add, self.table, self.stored, self.sums)


@lt.device
def twice(sums: lt.ptr[lt.u64], n: lt.u32):
    for _ in range(n % 2 + 1):
        lt.wave_atomic_add(sums, 1)


class Branches(lt.Tool):
    """What the wave adds where lanes may have gone different ways; and a loop that would not end without lanes."""

    sums = lt.DeviceArray(lt.u64, 8)
    keys = lt.DeviceArray(lt.u32, 64, init=np.full(64, 9))

    @lt.hook
    def add(sums: lt.ptr[lt.u64], keys: lt.ptr[lt.u32]):
        lane = lt.lane_id()
        if lane % 3 == 0:
            keys[lane] = 9
            lt.wave_atomic_add(sums, 7)
        if lane % 3 == 1:
            lt.wave_atomic_add(sums + 1, 7)
        for _ in range(lane % 4):
            lt.wave_atomic_add(sums + 2, 1)
        twice(sums + 3, 1)
        if lane % 2 == 0:
            twice(sums + 4, lane)
        n: lt.u32 = 0
        while keys[lane] != 9 + n * 0:
            n += 1
        lt.wave_atomic_add(sums + 5, 1)
        if n > 3 and lane > 70:
            return
        lt.wave_atomic_add(sums + 6, 1)

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.text == "s_nop 7")
        kernel.insert_before(place, self.add, self.sums, self.keys)


@pytest.mark.parametrize("target", [*TARGETS, ("gfx1010", W64)], ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_the_wave_adds_what_its_active_lanes_have(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, *target))
    lanes = code.program.wavefront_size
    for mask in MASKS:
        tool = Adds()
        module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
        result = module.run("masked", grid=lanes, block=lanes, args=[np.uint64(mask)], strict=True)
        assert result.findings == []
        active = mask % (1 << lanes)
        wanted = [2 << 40, 4, 5, 3 << 33, active, active, active.bit_count(), 0]
        assert tool.sums.read().tolist() == wanted, hex(mask)
        assert tool.stored.read().tolist() == [active >> i & 1 for i in range(64)]


@pytest.mark.parametrize("target", [*TARGETS, ("gfx1010", W64)], ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_a_wave_adds_in_a_branch_when_lanes_take_it(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, *target))
    lanes = code.program.wavefront_size
    for mask, wanted in ((-1, [7, 7, 3, 2, 1, 1, 1, 0]), (0b10, [0, 7, 1, 2, 0, 1, 1, 0]), (0, [0, 0, 0, 2, 0, 1, 0, 0])):
        tool = Branches()
        module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
        args = [np.uint64(mask % (1 << lanes))]
        result = module.run("masked", grid=lanes, block=lanes, args=args, strict=True)
        assert result.findings == []
        assert tool.sums.read().tolist() == wanted, mask


class Complement(lt.Tool):
    """A number that vector instructions compute, in 64 bits: with literals of as many, LLVM leaves its upper half undefined."""

    table = lt.DeviceArray(lt.u8, 4, init=[5, 0, 0, 0])
    count = lt.Counter()

    @lt.hook
    def add(table: lt.ptr[lt.u8], count: lt.counter):
        count += ~lt.u64(table[1] // table[0])

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.text == "s_nop 7")
        kernel.insert_before(place, self.add, self.table, self.count)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_the_complement_of_a_small_number_has_all_upper_bits(target):
    code, tool = lt.CodeObject.open(compiled.build(SOURCE, *target)), Complement()
    lanes = code.program.wavefront_size
    module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
    assert module.run("masked", grid=lanes, block=lanes, args=[np.uint64(MASKS[0])], strict=True).findings == []
    assert int(tool.count) == 2**64 - 1


def test_a_loop_that_lanes_leave_in_different_rounds_counts_differently():
    class Rounds(lt.Tool):
        count = lt.Counter()

        @lt.hook
        def add(count: lt.counter):
            i = 0
            for i in range(100):
                if lt.i32(lt.lane_id()) == i + 3:
                    break
            count += lt.u64(i)

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], self.add, self.count)

    with pytest.raises(lt.HookError, match="count is one value for the whole wave, and this value can differ between lanes"):
        lt.instrument(compiled.build(SOURCE, "gfx90a"), [Rounds()])


def test_a_loop_that_all_lanes_leave_together_counts_for_the_wave():
    class Rounds(lt.Tool):
        count = lt.Counter()

        @lt.hook
        def add(count: lt.counter):
            i = 0
            for i in range(5):  # noqa: B007
                pass
            count += lt.u64(i)

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], self.add, self.count)

    tool = Rounds()
    module = lt.Device("gfx90a").load(compiled.build(SOURCE, "gfx90a"), tools=[tool])
    module.run("masked", grid=64, block=64, args=[np.uint64(0)])
    assert int(tool.count) == 4
