"""Kernels whose stack has no known end, since they call themselves through pointers: hooks have stacks and state in scratch there as
anywhere, the kernel computes what it did, and all of its stack is still its own."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
LANES = 64
HOW = {"in-place": {}, "called": {"bodies": "called"}, "convention": {"calling_convention": True}}
SOURCE = """
typedef u32 (*Step)(u32, u32);
NOINLINE u32 fall(u32 depth, u32 x);
NOINLINE u32 turn(u32 depth, u32 x);
GLOBAL_VARIABLE Step steps[2] = {fall, turn};
NOINLINE u32 fall(u32 depth, u32 x) {
  volatile u32 kept[6];
  for (u32 i = 0; i < 6; i++) kept[i] = x + i * depth;
  u32 below = depth ? steps[(x >> (depth & 7)) & 1](depth - 1, x * 5 + 1) : x;
  for (u32 i = 0; i < 6; i++) below += kept[i] * (i + 1);
  return below;
}
NOINLINE u32 turn(u32 depth, u32 x) {
  volatile u32 kept[3] = {x, depth, 7};
  u32 below = depth ? steps[depth & 1](depth - 1, x ^ 0x9e3779b9) : x;
  return below ^ kept[0] + kept[1] * kept[2];
}
// All lanes go down together.
NOINLINE u32 down(u32 depth, u32 x);
GLOBAL_VARIABLE Step only = down;
NOINLINE u32 down(u32 depth, u32 x) {
  volatile u32 kept = x;
  return depth ? only(depth - 1, x * 5 + 1) + kept : x;
}
KERNEL deep(u32 *out, u32 depth) { out[global_x()] = only(depth, global_x()); }
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 1024))) void fallen(u32 *out, u32 depth) {
  out[global_x()] = steps[local_x() & 1](depth + global_x() % 5, global_x());
}
// It begins with another stack of its own.
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 1024))) void kept(u32 *out, u32 depth) {
  volatile u32 own[37];
  for (u32 i = 0; i < 37; i++) own[i] = i * global_x();
  u32 sum = steps[local_x() & 1](depth, global_x());
  for (u32 i = 0; i < 37; i++) sum += own[i] << (i & 7);
  out[global_x()] = sum;
}
"""


class Sorted(lt.Tool):
    """A stack in front of and behind instructions, and more values that each lane carries than there are registers."""

    total = lt.DeviceArray(lt.u64, 2)
    a, b, c, d, e, f, g, h, i, j = (lt.LaneState(lt.u64, 4) for _ in range(10))

    @lt.hook
    def sort(value: lt.u32, total: lt.ptr[lt.u64], seen: lt.inout[lt.u64, 4]):
        table = lt.array(lt.u32, 8)
        for i in range(3):
            table[(value * 5 + lt.u32(i * i)) & 7] += lt.u32(i + 1)
        sum = lt.u32(0)
        for i in range(8):
            sum += table[i]
        # 6, whatever the value is.
        seen[value & 3] += lt.u64(sum)
        lt.atomic_add(total, lt.u64(sum))

    @lt.hook
    def told(total: lt.ptr[lt.u64], seen: lt.inout[lt.u64, 4]):
        sum = lt.u64(0)
        for i in range(4):
            sum += seen[i]
        lt.atomic_add(total + 1, sum)

    def on_kernel(self, kernel):
        states = [getattr(self, name) for name in "abcdefghij"]
        for function in kernel.functions:
            for n, instr in enumerate(function.instructions):
                if n % 12 == 0:
                    kernel.insert_before(instr, self.sort, lt.PointId(), self.total, states[n // 12 % 10])
                elif n % 12 == 7 and instr.falls_through:
                    kernel.insert_after(instr, self.sort, lt.Literal(n), self.total, states[n // 12 % 10])
        for state in states:
            kernel.insert_at_exit(self.told, self.total, state)


def run(path, target, kernel, depth, tools=(), **how):
    """What the kernel leaves, the module and the launch."""
    out = np.zeros(2 * LANES, np.uint32)
    module = lt.Device(target, threads=2).load(path, tools=list(tools), **({"check": True, **how} if tools else {}))
    return out, module, module.run(kernel, grid=2 * LANES, block=LANES, args=[out, np.uint32(depth)], strict=True)


#: Each target in place, some of them in the other ways, too.
CASES = [(target, level, "in-place") for target in TARGETS for level in ("O0", "O2")]
CASES += [(target, "O0", how) for target in ("gfx90a", "gfx1030", "gfx1201") for how in ("called", "convention")]


@pytest.mark.parametrize("target, level, how", CASES)
def test_hooks_have_stacks_and_state_and_the_kernel_computes_what_it_did(target, level, how):
    path = compiled.build(SOURCE, target, level=level)
    kernel, depth = ("kept", 3) if level == "O0" else ("fallen", 2)
    plain, _, reference = run(path, target, kernel, depth)
    tool = Sorted()
    out, module, result = run(path, target, kernel, depth, [tool], **HOW[how])
    did = module.instrumentation
    assert did["rejected"] == [] and did["points"] > 30
    np.testing.assert_array_equal(out, plain)
    assert result.app_histogram == reference.histogram
    assert result.findings == reference.findings
    # What each lane carries is what all of the hooks have told.
    assert tool.total[0] == tool.total[1] > 6 * 10 * LANES


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1201"])
def test_all_of_its_stack_is_still_the_kernels_own(target):
    """The deepest calls that have room without hooks have room with them: strict mode says where scratch ends, as what lies
    behind it reads as if nothing had been written there."""
    path = compiled.build(SOURCE, target, level="O0")
    deepest, step = 0, 128
    while step:
        if run(path, target, "deep", deepest + step)[2].findings:
            step //= 2
        else:
            deepest += step
    assert deepest > 100
    plain, _, _ = run(path, target, "deep", deepest)
    tool = Sorted()
    out, _, result = run(path, target, "deep", deepest, [tool])
    assert result.findings == []
    np.testing.assert_array_equal(out, plain)
    assert tool.total[0] == tool.total[1] > 0


def test_nothing_is_asked_of_a_launch_where_hooks_have_room_without_scratch():
    class Counted(lt.Tool):
        count = lt.Counter()

        @lt.hook
        def tick(count: lt.counter):
            count += 1

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.tick, self.count)

    path = compiled.build(SOURCE, "gfx942")
    before = lt.CodeObject.open(path).descriptor("fallen")
    after = lt.instrument(path, [Counted()]).descriptor("fallen")
    for field in ("private_segment_fixed_size", "enable_sgpr_private_segment_size"):
        assert after[field] == before[field]
    assert not before["enable_sgpr_private_segment_size"]
