"""Where a hook is: every id, size and address, against what NumPy says of each work-item of a launch."""

from __future__ import annotations

import itertools

import compiled
import numpy as np
import pytest

import luthier as lt

SOURCE = """
KERNEL copy(unsigned *to, const unsigned *from, unsigned long n) {
  unsigned i = __builtin_amdgcn_workitem_id_x() & 63;
  __hip_atomic_fetch_add(to + i, from[i] + (unsigned)n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
"""
MODES = [
    ("gfx908", ()), ("gfx90a", ()), ("gfx942", ()), ("gfx1030", ()), ("gfx1030", ("-mwavefrontsize64",)), ("gfx1100", ()),
    ("gfx1100", ("-mwavefrontsize64",)), ("gfx1201", ()), ("gfx1201", ("-mwavefrontsize64",)), ("gfx1250", ()),
]  # fmt: skip
NAMES = (
    *(f"workgroup_id_{a}" for a in "xyz"), *(f"workitem_id_{a}" for a in "xyz"), *(f"workgroup_size_{a}" for a in "xyz"),
    *(f"grid_size_{a}" for a in "xyz"), *(f"num_workgroups_{a}" for a in "xyz"), "wave_in_group", "wave_id", "lane_id",
)  # fmt: skip
COLUMNS = len(NAMES)


@lt.device
def put(rows: lt.ptr[lt.u32], row: lt.u32, column: lt.u32, value: lt.u32):
    rows[row * 18 + column] = value


@lt.hook
def tell(rows: lt.ptr[lt.u32], next_row: lt.ptr[lt.u32]):
    row = lt.atomic_add(next_row, 1)
    put(rows, row, 0, lt.workgroup_id_x())
    put(rows, row, 1, lt.workgroup_id_y())
    put(rows, row, 2, lt.workgroup_id_z())
    put(rows, row, 3, lt.workitem_id_x())
    put(rows, row, 4, lt.workitem_id_y())
    put(rows, row, 5, lt.workitem_id_z())
    put(rows, row, 6, lt.workgroup_size_x())
    put(rows, row, 7, lt.workgroup_size_y())
    put(rows, row, 8, lt.workgroup_size_z())
    put(rows, row, 9, lt.grid_size_x())
    put(rows, row, 10, lt.grid_size_y())
    put(rows, row, 11, lt.grid_size_z())
    put(rows, row, 12, lt.num_workgroups_x())
    put(rows, row, 13, lt.num_workgroups_y())
    put(rows, row, 14, lt.num_workgroups_z())
    put(rows, row, 15, lt.wave_in_group())
    put(rows, row, 16, lt.u32(lt.wave_id()))
    put(rows, row, 17, lt.lane_id())


class Told(lt.Tool):
    """Every work-item's row, at one instruction of the kernel."""

    rows = lt.DeviceArray(lt.u32, 18 * 4096)
    next_row = lt.DeviceArray(lt.u32, 1)

    def __init__(self, at):
        self.at = at

    def on_kernel(self, kernel):
        instructions = list(kernel.instructions)
        kernel.insert_before(instructions[0 if self.at == "first" else -1], tell, self.rows, self.next_row)


def expected(grid, block, lanes):
    """A row for each work-item."""
    groups = [-(-g // b) for g, b in zip(grid, block)]
    waves = -(-block[0] * block[1] * block[2] // lanes)
    rows = []
    for z, y, x in itertools.product(*(range(n) for n in reversed(groups))):
        group = (x, y, z)
        size = [min(b, g - i * b) for i, b, g in zip(group, block, grid)]
        for n, (iz, iy, ix) in enumerate(itertools.product(*(range(s) for s in reversed(size)))):
            number = ((z * groups[1] + y) * groups[0] + x) * waves + n // lanes
            rows.append([*group, ix, iy, iz, *block, *grid, *groups, n // lanes, number, n % lanes])
    return np.array(sorted(rows), "uint32")


def ran(path, target, tool, grid, block, bodies="in-place", **launch):
    values = np.arange(64, dtype="uint32")
    to = np.zeros_like(values)
    module = lt.Device(target).load(lt.CodeObject.open(path), tools=[tool], check=True, bodies=bodies)
    result = module.run("copy", grid=grid, block=block, args=[to, values, 7], strict=True, **launch)
    assert result.findings == [], [str(finding) for finding in result.findings[:2]]
    return tool


@pytest.mark.parametrize("at", ["first", "last"])
@pytest.mark.parametrize(("target", "flags"), MODES, ids=lambda value: "".join(value) if isinstance(value, tuple) else value)
def test_every_id_and_size_is_what_the_launch_says(target, flags, at):
    path = compiled.build(SOURCE, target, flags)
    lanes = 64 if flags or target.startswith("gfx9") else 32
    for grid, block in [((100, 1, 1), (64, 1, 1)), ((20, 7, 5), (8, 4, 3)), ((3, 40, 2), (2, 40, 1))]:
        tool = ran(path, target, Told(at), grid, block)
        count = int(np.prod(grid))
        assert tool.next_row.read()[0] == count
        rows = tool.rows.read()[: 18 * count].reshape(count, 18)
        got = np.array(sorted(rows.tolist()), "uint32")
        np.testing.assert_array_equal(got, expected(grid, block, lanes))


@lt.hook
def addresses(out: lt.ptr[lt.u64]):
    out[0] = lt.dispatch_ptr()
    out[1] = lt.queue_ptr()
    out[2] = lt.kernarg_ptr()
    out[3] = lt.dispatch_id()
    out[4] = lt.kernel_arg("n", lt.u64)
    out[5] = lt.u64(lt.kernel_arg("from", lt.ptr[lt.u32])[3])
    packet = lt.ptr[lt.u32](lt.dispatch_ptr())
    out[6] = lt.u64(packet[3])
    kernarg = lt.ptr[lt.u64](lt.dispatch_ptr())
    out[7] = kernarg[5]
    out[8] = lt.u64(lt.wave_size())


class Addresses(lt.Tool):
    """At the kernel's last instruction."""

    out = lt.DeviceArray(lt.u64, 9)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], addresses, self.out)


@pytest.mark.parametrize(("target", "flags"), MODES, ids=lambda value: "".join(value) if isinstance(value, tuple) else value)
def test_addresses_lead_to_the_packet_and_the_arguments(target, flags):
    tool = ran(compiled.build(SOURCE, target, (*flags, "-g")), target, Addresses(), (64, 1, 1), (64, 1, 1))
    dispatch, queue, kernarg, number, n, third, grid, kernarg_of_packet, lanes = (int(v) for v in tool.out.read())
    assert dispatch % 64 == 0 and queue % 64 == 0 and 0 not in (dispatch, queue, kernarg) and number == 1
    assert (n, third, grid, kernarg_of_packet) == (7, 3, 64, kernarg)
    assert lanes == (64 if flags or target.startswith("gfx9") else 32)


class ScratchSize(lt.Tool):
    """Of each lane, as the launch gives it."""

    out = lt.DeviceArray(lt.u32, 1)

    @lt.hook
    def ask(out: lt.ptr[lt.u32]):
        out[0] = lt.private_segment_size()

    def on_kernel(self, kernel):
        kernel.insert_at_exit(self.ask, self.out)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1201"])
def test_the_size_of_scratch_is_what_the_launch_gives(target):
    source = """
KERNEL copy(unsigned *to, const unsigned *from, unsigned long n) {
  volatile unsigned kept[37];
  for (int i = 0; i < 37; i++) kept[i] = from[i];
  to[0] = kept[from[n] % 37];
}
"""
    path = compiled.build(source, target)
    given = lt.CodeObject.open(path).descriptor("copy")["private_segment_fixed_size"]
    assert given >= 4 * 37
    assert ran(path, target, ScratchSize(), 1, 1).out.read()[0] == -(-given // 16) * 16


ENDS_EMPTY = """
KERNEL copy(unsigned *to, const unsigned *from, unsigned long n) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  if (i + n < 7)
    to[0] = from[i];
}
"""


@lt.hook
def count_waves(seen: lt.ptr[lt.u32], in_group: lt.ptr[lt.u32]):
    lt.wave_atomic_add(seen + lt.wave_id(), 1)
    lt.wave_atomic_add(in_group + lt.wave_in_group(), 1)


class Waves(lt.Tool):
    """A count for each wave, where no lane is active."""

    seen = lt.DeviceArray(lt.u32, 256)
    in_group = lt.DeviceArray(lt.u32, 8)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], count_waves, self.seen, self.in_group)


@pytest.mark.parametrize(("target", "flags"), MODES, ids=lambda value: "".join(value) if isinstance(value, tuple) else value)
def test_waves_without_active_lanes_know_their_numbers(target, flags):
    tool = ran(compiled.build(ENDS_EMPTY, target, flags), target, Waves(), (20, 7, 5), (8, 4, 3))
    lanes = 64 if flags or target.startswith("gfx9") else 32
    rows = expected((20, 7, 5), (8, 4, 3), lanes)
    waves, numbers = np.unique(rows[:, 16]), np.unique(rows[:, 15:17], axis=0)[:, 0]
    np.testing.assert_array_equal(tool.seen.read(), np.bincount(waves, minlength=256))
    np.testing.assert_array_equal(tool.in_group.read(), np.bincount(numbers, minlength=8))


CALLS = """
NOINLINE unsigned twice(unsigned x, unsigned *to) {
  __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return x * 2;
}
KERNEL copy(unsigned *to, const unsigned *from, unsigned long n) {
  unsigned x = twice(from[__builtin_amdgcn_workitem_id_x() & 63], to);
  __hip_atomic_fetch_add(to, x + (unsigned)n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
"""


class InCallee(lt.Tool):
    """Every work-item's row, at the last instruction of the function that the kernel calls."""

    rows = lt.DeviceArray(lt.u32, 18 * 4096)
    next_row = lt.DeviceArray(lt.u32, 1)

    def on_kernel(self, kernel):
        (callee,) = [f for f in kernel.functions if "twice" in f.name]
        kernel.insert_before(list(callee.instructions)[-1], tell, self.rows, self.next_row)


@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize(("target", "flags"), MODES, ids=lambda value: "".join(value) if isinstance(value, tuple) else value)
def test_functions_that_a_kernel_calls_know_as_much(target, flags, bodies):
    grid, block = (20, 7, 5), (8, 4, 3)
    tool = ran(compiled.build(CALLS, target, flags), target, InCallee(), grid, block, bodies)
    rows = tool.rows.read()[: 18 * 700].reshape(700, 18)
    wanted = expected(grid, block, 64 if flags or target.startswith("gfx9") else 32)
    np.testing.assert_array_equal(np.array(sorted(rows.tolist()), "uint32"), wanted)


@lt.hook
def clusters(rows: lt.ptr[lt.u32], next_row: lt.ptr[lt.u32]):
    row = 12 * lt.atomic_add(next_row, 1)
    rows[row] = lt.workgroup_id_x()
    rows[row + 1] = lt.workgroup_id_y()
    rows[row + 2] = lt.cluster_id_x()
    rows[row + 3] = lt.cluster_id_y()
    rows[row + 4] = lt.workgroup_id_in_cluster_x()
    rows[row + 5] = lt.workgroup_id_in_cluster_y()
    rows[row + 6] = lt.cluster_size_x()
    rows[row + 7] = lt.cluster_size_y()
    rows[row + 8] = lt.grid_size_x()
    rows[row + 9] = lt.grid_size_y()
    rows[row + 10] = lt.num_workgroups_x()
    rows[row + 11] = lt.u32(lt.wave_id())


class Clusters(lt.Tool):
    """A row for each work-item."""

    rows = lt.DeviceArray(lt.u32, 12 * 4096)
    next_row = lt.DeviceArray(lt.u32, 1)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], clusters, self.rows, self.next_row)


@pytest.mark.parametrize("size", [(1, 1), (2, 4), (4, 1)])
@pytest.mark.parametrize("target", ["gfx1201", "gfx1250"])
def test_clusters_are_those_of_the_launch(target, size):
    if target == "gfx1201" and size != (1, 1):
        return
    grid = (8, 4)
    launch = {"cluster": size} if target == "gfx1250" else {}
    items = (grid[0] * 32, grid[1], 1)
    tool = ran(compiled.build(SOURCE, target), target, Clusters(), items, (32, 1, 1), **launch)
    rows = np.unique(tool.rows.read()[: 12 * 1024].reshape(-1, 12), axis=0)
    wanted = [
        [x, y, x // size[0], y // size[1], x % size[0], y % size[1], *size, *items[:2], grid[0], y * grid[0] + x]
        for x in range(grid[0])
        for y in range(grid[1])
    ]
    np.testing.assert_array_equal(rows, wanted)


HIDDEN = """
KERNEL copy(unsigned *to, const unsigned *from, unsigned long n) {
  unsigned i = __builtin_amdgcn_workitem_id_x() & 63;
  __hip_atomic_fetch_add(to + i, from[i] + (unsigned)n * __builtin_amdgcn_workgroup_size_x(), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
"""


@lt.hook
def hidden(out: lt.ptr[lt.u32]):
    blocks = lt.ptr[lt.u32](lt.implicitarg_ptr())
    out[0] = blocks[0]
    out[1] = blocks[1]
    out[2] = blocks[3] & 0xFFFF


class Hidden(lt.Tool):
    """What is where the hidden arguments are."""

    out = lt.DeviceArray(lt.u32, 3)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], hidden, self.out)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1250"])
def test_hidden_arguments_are_where_the_pointer_leads(target):
    tool = ran(compiled.build(HIDDEN, target), target, Hidden(), (192, 8, 1), (64, 2, 1))
    assert tool.out.read().tolist() == [3, 4, 64]


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [("to", lt.u32, "copy has no argument to of 4 bytes"), ("nothing", lt.u64, "copy has no argument nothing of 8 bytes")],
)
def test_arguments_that_the_kernel_does_not_have_are_refused_by_name(name, kind, why):
    @lt.hook
    def asks(out: lt.ptr[lt.u64]):
        out[0] = lt.u64(lt.kernel_arg("to", lt.u32))

    @lt.hook
    def asks_more(out: lt.ptr[lt.u64]):
        out[0] = lt.kernel_arg("nothing", lt.u64)

    class Asks(lt.Tool):
        """Asks."""

        out = lt.DeviceArray(lt.u64, 1)

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], asks if name == "to" else asks_more, self.out)

    with pytest.raises(lt.NothingInsertedError, match=why):
        lt.instrument(compiled.build(SOURCE, "gfx90a", ("-g",)), [Asks()])


UNUSED = "KERNEL idle(unsigned *to) { to[local_x()] = 3; }"


@lt.hook
def group_and_count(count: lt.counter, other: lt.inout[lt.u32], groups: lt.ptr[lt.u32]):
    count += 1
    other += 2
    lt.wave_atomic_add(groups + lt.workgroup_id_x(), other)


class GroupAndCount(lt.Tool):
    """Asks for an id that the kernel's descriptor asks for, too, and that its code never looks at."""

    count = lt.Counter()
    other = lt.WaveState(lt.u32)
    groups = lt.DeviceArray(lt.u32, 8)

    def on_kernel(self, kernel):
        kernel.insert_before(list(kernel.instructions)[-1], group_and_count, self.count, self.other, self.groups)


@pytest.mark.parametrize(("target", "flags"), MODES, ids=lambda value: "".join(value) if isinstance(value, tuple) else value)
def test_what_waves_carry_does_not_lie_where_an_id_is_that_the_code_ignores(target, flags):
    tool = GroupAndCount()
    module = lt.Device(target).load(lt.CodeObject.open(compiled.build(UNUSED, target, flags)), tools=[tool], check=True)
    result = module.run("idle", grid=8 * 64, block=64, args=[np.zeros(64, np.uint32)], strict=["undefined-register", "hazard"])
    assert result.findings == []
    waves = 64 // (64 if flags or target.startswith("gfx9") else 32)
    assert tool.groups.read().tolist() == [2 * waves] * 8 and int(tool.count) == 8 * waves


def test_what_the_wave_knows_is_the_same_in_a_branch_of_lanes():
    """A function that is called there gives all lanes that are there one value."""

    @lt.device
    def twice(x: lt.u64) -> lt.u64:
        y = x
        if x > 3:
            return y * 2
        return y + x

    class Counting(lt.Tool):
        out = lt.DeviceArray(lt.u64, 1)

        @lt.hook
        def hook(out: lt.ptr[lt.u64]):
            if lt.lane_id() < 5:
                lt.wave_atomic_add(out, twice(lt.u64(lt.grid_size_x())))

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.hook, self.out)

    for target in ("gfx90a", "gfx1100"):
        tool = Counting()
        module = lt.Device(target).load(compiled.build("KERNEL idle(u32 *out) { out[local_x()] = 7; }", target), tools=[tool])
        result = module.run("idle", grid=192, block=64, args=[np.zeros(64, np.uint32)])
        assert tool.out[0] == 2 * 192 * result.waves
