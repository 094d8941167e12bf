# ruff: noqa: F821, UP037 (an address space is a word in quotes, not a type)
"""LDS of hooks' own: behind the kernel's static and dynamic LDS, zero when a workgroup starts, seen by all of its waves."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import TARGETS

import luthier as lt

#: Both kinds of LDS, whose words all waves change; a callee; some waves end early.
SOURCE = """
LDS u32 fixed[SIZE];
extern __attribute__((shared)) u32 moving[];
NOINLINE u32 mix(u32 a) { return a * 7 + 3; }
KERNEL work(const u32 *in, u32 *out, u32 words) {
    u32 i = local_x(), n = block_x();
    for (u32 k = i; k < SIZE; k += n) fixed[k] = k * 3;
    for (u32 k = i; k < words; k += n) moving[k] = in[k % 64] + k;
    barrier();
    u32 sum = 0;
    for (u32 k = 0; k < 4; k++) sum += mix(fixed[(i + k * 17) % SIZE]);
    if (words) sum += moving[(i * 5) % words];
    if (i >= n - 40) return;
    out[group_x() * n + i] = sum;
}
"""
SIZE, BLOCK, GROUPS = 100, 200, 3


@lt.hook
def bump(places: lt.ptr[lt.u32, "lds"], totals: lt.ptr[lt.u64, "lds"], place: lt.u32):
    lt.atomic_add(places + place, 1)
    if lt.lane_id() % 2 == 0:
        lt.atomic_add(totals, lt.u64(place) + (lt.u64(1) << 32))
    highest = lt.atomic_max(places + 31, place + 1)
    if highest > 31:
        lt.trap()


@lt.hook
def flush(
    places: lt.ptr[lt.u32, "lds"], totals: lt.ptr[lt.u64, "lds"], out: lt.ptr[lt.u32], sums: lt.ptr[lt.u64]
):  # fmt: skip
    # Each wave takes what has come together so far, with or without lanes: nothing is taken twice, and nothing is left.
    row = lt.workgroup_id_x() * 32
    for n in range(31):
        lt.wave_atomic_add(out + (row + n), lt.wave_atomic_exchange(places + n, 0))
    lt.wave_atomic_add(sums + lt.workgroup_id_x(), lt.wave_atomic_exchange(totals, 0))


class Together(lt.Tool):
    """Counts the lanes at each of some instructions, by workgroup."""

    places = lt.shared(lt.u32, 32)
    totals = lt.shared(lt.u64, 1)
    out = lt.DeviceArray(lt.u32, GROUPS * 32)
    sums = lt.DeviceArray(lt.u64, GROUPS)
    #: The same, counted in memory.
    plain = lt.DeviceArray(lt.u32, GROUPS * 32)

    @lt.hook
    def count(plain: lt.ptr[lt.u32], place: lt.u32):
        lt.atomic_add(plain + (lt.workgroup_id_x() * 32 + place), 1)

    def on_kernel(self, kernel):
        self.at = [i for i in kernel.instructions if i.is_store or "mul_lo_u32" in i.mnemonic or i.mnemonic.startswith("ds_")][
            :30
        ]
        for n, instr in enumerate(self.at):
            insert = kernel.insert_before if n % 2 else kernel.insert_after
            insert(instr, bump, self.places, self.totals, n)
            insert(instr, self.count, self.plain, n)
        kernel.insert_at_exit(flush, self.places, self.totals, self.out, self.sums)


def loaded(target, tools, **options):
    code = lt.CodeObject.open(compiled.build(SOURCE.replace("SIZE", str(SIZE)), *target))
    return lt.Device(target[0]).load(code, tools=tools, check=True, **{"on_rejected": "raise", **options})


def ran(module, dynamic):
    given, out = np.arange(64, dtype=np.uint32) * 11, np.zeros(GROUPS * BLOCK, np.uint32)
    launch = {"grid": GROUPS * BLOCK, "block": BLOCK, "args": [given, out, np.uint32(dynamic // 4)], "lds": dynamic}
    result = module.run("work", strict=True, **launch)
    assert result.findings == [], [str(finding) for finding in result.findings[:2]]
    return out


@pytest.mark.parametrize("dynamic", [0, 52, 4096])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_what_waves_count_together_is_what_they_count_in_memory(target, dynamic):
    tool = Together()
    module = loaded(target, [tool])
    np.testing.assert_array_equal(ran(module, dynamic), ran(loaded(target, []), dynamic))
    counted = tool.plain.read().reshape(GROUPS, 32)
    assert len(tool.at) > 5 and (counted > 0).any(axis=1).all()
    wanted = counted.copy()
    wanted[:, 31] = 0
    np.testing.assert_array_equal(tool.out.read().reshape(GROUPS, 32), wanted)
    # Even lanes add a place each, and one above.
    assert (tool.sums.read() > 0).all() and (tool.sums.read() >> 32 <= counted.sum(axis=1)).all()
    # Again: workgroups that come later on the same compute units start with zeros, too.
    ran(module, dynamic)
    np.testing.assert_array_equal(tool.out.read().reshape(GROUPS, 32), 2 * wanted)
    registers = module.instrumentation["registers"]["work"]["lds"]
    assert registers == [4 * SIZE, 4 * SIZE + 128 + 16 + 15]


def test_descriptor_and_metadata_have_the_lds():
    done = lt.instrument(compiled.build(SOURCE.replace("SIZE", str(SIZE)), "gfx90a"), [Together()])
    facts = done.kernels[0].facts
    assert facts["group_segment"] == 4 * SIZE + 159
    assert done.metadata["amdhsa.kernels"][0][".group_segment_fixed_size"] == 4 * SIZE + 159


class Large(lt.Tool):
    """More than is left."""

    places = lt.shared(lt.u32, (65536 - 4 * SIZE) // 4)

    @lt.hook
    def touch(places: lt.ptr[lt.u32, "lds"]):
        lt.atomic_add(places, 1)

    def on_kernel(self, kernel):
        kernel.insert_before(kernel.instructions[3], self.touch, self.places)


def test_lds_that_is_full_is_a_rejection_with_its_numbers():
    path = compiled.build(SOURCE.replace("SIZE", str(SIZE)), "gfx90a")
    with pytest.raises(lt.NothingInsertedError) as error:
        lt.instrument(path, [Large()])
    assert "bytes of LDS behind the 400 of the kernel's, and a workgroup of gfx90a has 65536 at most" in str(error.value)
    assert [one["kind"] for one in error.value.rejected] == ["no_lds"]
    # It fits where there is more.
    path = compiled.build(SOURCE.replace("SIZE", str(SIZE)), "gfx1250")
    assert lt.instrument(path, [Large()]).instrumentation["rejected"] == []


FULL = """
LDS u32 fixed[12000];
KERNEL free(u32 *out) { out[local_x()] = 1; }
KERNEL full(u32 *out) {
    for (u32 k = local_x(); k < 12000; k += 64) fixed[k] = k;
    barrier();
    out[local_x()] = fixed[local_x() * 3];
}
"""


class SomeFit(lt.Tool):
    """Counts lanes in LDS and waves in a counter, at each entry."""

    places = lt.shared(lt.u32, 8000)
    waves = lt.Counter()
    lanes = lt.DeviceArray(lt.u32, 1)

    @lt.hook
    def enter(places: lt.ptr[lt.u32, "lds"], lanes: lt.ptr[lt.u32]):
        if lt.atomic_add(places, 1) < 64:
            lt.atomic_add(lanes, 1)

    @lt.hook
    def count(waves: lt.counter):
        waves += 1

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.places, self.lanes)
        kernel.insert_at_entry(self.count, self.waves)


def test_a_kernel_without_room_has_those_hooks_rejected_and_all_others_placed():
    tool = SomeFit()
    module = lt.Device("gfx90a").load(compiled.build(FULL, "gfx90a"), tools=[tool], on_rejected="report", check=True)
    did = module.instrumentation
    (rejected,) = did["rejected"]
    assert rejected["kind"] == "no_lds" and rejected["address"] == module.code_object.core.symbol("full")["address"]
    assert did["tools"] == {"some_fit": {"points": 3, "rejected": 1}} and did["points"] == 3
    assert did["registers"]["free"]["lds"] == [0, 32015] and did["registers"]["full"]["lds"] == [48000, 48000]
    out = np.zeros(64, np.uint32)
    for kernel in ("free", "full"):
        assert module.run(kernel, grid=64, block=64, args=[out], strict=True).findings == []
    assert tool.lanes[0] == 64 and int(tool.waves) == 2 and out.tolist() == list(range(0, 192, 3))


def test_a_launch_whose_own_lds_leaves_too_little_is_refused():
    module = loaded(("gfx90a", ()), [Together()])
    given, out = np.zeros(64, np.uint32), np.zeros(BLOCK, np.uint32)
    with pytest.raises(lt.LuthierError, match="LDS.*at most 65536 bytes"):
        module.run("work", grid=BLOCK, block=BLOCK, args=[given, out, np.uint32(0)], lds=65536 - 4 * SIZE - 100)


TWO = """
NOINLINE void step(u32 *out) { __hip_atomic_fetch_add(out, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
KERNEL first(u32 *out) { step(out); }
KERNEL second(u32 *out) { step(out + 1); step(out + 1); }
KERNEL third(u32 *out) { out[2] = 5; }
"""


class InCallee(lt.Tool):
    """In a function that two of three kernels call."""

    places = lt.shared(lt.u32, 4)
    out = lt.DeviceArray(lt.u32, 1)

    @lt.hook
    def touch(places: lt.ptr[lt.u32, "lds"], out: lt.ptr[lt.u32]):
        if lt.atomic_add(places + 3, 1) < 1 << 20:
            lt.atomic_add(out, 1)

    def on_kernel(self, kernel):
        for function in kernel.functions[1:]:
            kernel.insert_before(function.instructions[0], self.touch, self.places, self.out)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030", "gfx1201"])
def test_all_kernels_that_come_to_a_hook_in_a_function_have_it(target):
    tool, code = InCallee(), lt.CodeObject.open(compiled.build(TWO, target, (), "O1"))
    module = lt.Device(target).load(code, tools=[tool], check=True, on_rejected="raise")
    out = np.zeros(4, np.uint32)
    for kernel in ("first", "second", "third"):
        result = module.run(kernel, grid=128, block=128, args=[out], strict=True)
        assert result.findings == [], [str(finding) for finding in result.findings[:2]]
    assert out.tolist() == [128, 256, 5, 0] and tool.out.read()[0] == 384
    lds = {name: facts["lds"] for name, facts in module.instrumentation["registers"].items()}
    assert lds["first"] == lds["second"] == [0, 31] and lds.get("third", [0, 0]) == [0, 0]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: lt.shared(lt.u32, 0), r"lt.shared\(lt.u32, 0\): it has at least one element"),
        (lambda: lt.shared(lt.u64, 1 << 20), "327,680 bytes at most"),
        (lambda: lt.shared(int, 4), "lt.shared of <class 'int'>: its elements are lt.u8"),
    ],
)
def test_sizes_and_types_that_no_lds_has(make, message):
    with pytest.raises(lt.ToolError, match=message):
        make()


@lt.hook
def of_memory(p: lt.ptr[lt.u32]):
    lt.atomic_add(p, 1)


@lt.hook
def of_words(p: lt.ptr[lt.u64, "lds"]):
    lt.atomic_add(p, 1)


@pytest.mark.parametrize("hook", [of_memory, of_words])
def test_a_parameter_of_another_type_is_refused_by_name(hook):
    class Tool(lt.Tool):
        places = lt.shared(lt.u32, 4)

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], hook, self.places)

    with pytest.raises(lt.ToolError, match=r'argument p: .* needs something else than LDS: declare it lt.ptr\[lt.u32, "lds"\]'):
        lt.instrument(compiled.build(TWO, "gfx90a", (), "O1"), [Tool()])
