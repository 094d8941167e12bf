"""Kernels that are not selected run what they ran, although they share functions with those that are."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import on_every_target

import luthier as lt

SOURCE = """
typedef u32 (*Operation)(u32, u32);
NOINLINE u32 add(u32 a, u32 b) { return a + b; }
NOINLINE u32 multiply(u32 a, u32 b) { return a * b; }
NOINLINE u32 only(u32 a, u32 b) { return a ^ b * 3; }
KERNEL direct(const u32 *in, u32 *out) { u32 i = global_x(); out[i] = add(in[i], i) + multiply(i, 3); }
KERNEL chosen(const u32 *in, u32 *out) {
    u32 i = global_x();
    volatile Operation operation = in[i] & 1 ? add : multiply;
    out[i] = operation(in[i], i) + only(i, 5);
}
KERNEL chosen_too(const u32 *in, u32 *out) {
    u32 i = global_x();
    volatile Operation operation = in[i] & 2 ? add : multiply;
    out[i] = operation(in[i], 2 * i);
}
"""


class Entered(lt.Tool):
    """Counts the waves that enter each function, and those that run each instruction."""

    count = lt.DeviceArray(lt.u64, 64)
    each = lt.Counter()

    def __init__(self):
        self.names = []

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    @lt.hook
    def add(n: lt.counter):
        n += 1

    def on_kernel(self, kernel):
        for function in kernel.functions:
            if function.name not in self.names:
                self.names.append(function.name)
                kernel.insert_at_entry(self.bump, self.count.at(self.names.index(function.name)), function=function)
                for instr in function.instructions:
                    kernel.insert_before(instr, self.add, self.each)

    def entered(self):
        return {short(name): int(n) for name, n in zip(self.names, self.count.read()) if n}


def short(name):
    """Of a mangled name, the function's."""
    return next((known for known in ("add", "multiply", "only") if f"{len(known)}{known}" in name), name)


def load(target, kernels, **options):
    tool = Entered()
    path = compiled.build(SOURCE, target[0], target[1], "O1")
    return tool, lt.Device(target[0]).load(path, tools=[tool], kernels=kernels, check=True, on_rejected="report", **options)


def run(module, kernel):
    values, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    return out, module.run(kernel, grid=128, block=64, args=[values, out])


@on_every_target
def test_a_shared_function_counts_for_selected_kernels_only(target):
    plain = lt.Device(target[0]).load(compiled.build(SOURCE, target[0], target[1], "O1"))
    for kernel in ("direct", "chosen", "chosen_too"):
        for selected in (["direct"], lt.CodeObject.open(compiled.build(SOURCE, target[0], target[1], "O1")).kernels):
            tool, module = load(target, selected)
            assert not module.instrumentation["rejected"]
            (wanted, reference), (out, result) = run(plain, kernel), run(module, kernel)
            np.testing.assert_array_equal(out, wanted)
            assert result.app_histogram == reference.histogram
            if kernel == "direct" or selected != ["direct"]:
                assert int(tool.each) == reference.instructions
            else:
                assert not int(tool.each) and not tool.entered() and result.instructions == reference.instructions


@on_every_target
def test_what_is_called_through_a_pointer_runs_as_it_is_and_is_rejected_by_name(target):
    tool, module = load(target, ["chosen"])
    through = {short(r["reason"].split()[0]) for r in module.instrumentation["rejected"] if r["kind"] == "through_pointer"}
    assert through == {"add", "multiply"} and {r["kind"] for r in module.instrumentation["rejected"]} == {"through_pointer"}
    waves = len(run_waves(module, target))
    assert tool.entered() == {"chosen": waves, "only": waves}
    for other in ("chosen_too", "direct"):
        assert run(module, other)[1].app_instructions == run(module, other)[1].instructions
    assert tool.entered() == {"chosen": waves, "only": waves}


def run_waves(module, target):
    plain = lt.Device(target[0]).load(compiled.build(SOURCE, target[0], target[1], "O1"))
    (wanted, _), (out, result) = run(plain, "chosen"), run(module, "chosen")
    np.testing.assert_array_equal(out, wanted)
    return range(result.waves)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
def test_where_one_kernel_alone_runs_pointers_lead_to_instrumented_code(target):
    path = compiled.build(SOURCE, target, (), "O1")
    values, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    sizes = {"grid": 128, "block": 64, "args": [values, out]}
    tool = Entered()
    result = lt.Device(target).run(path, "chosen", tools=[tool], on_rejected="raise", **sizes)
    assert int(tool.each) == result.app_instructions == lt.Device(target).run(path, "chosen", **sizes).instructions
    assert set(tool.entered()) == {"chosen", "only", "add", "multiply"}


def test_kernels_are_named_or_given_and_nothing_else():
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a", (), "O1"))
    tools = lambda: [lt.tools.load("opcode_hist")]  # noqa: E731
    every = lt.instrument(code, tools(), kernels=code.kernels).instrumentation
    assert every["points"] == lt.instrument(code, tools()).instrumentation["points"]
    one = lt.instrument(code, tools(), kernels=[code.kernel("direct")]).instrumentation
    assert one == lt.instrument(code, tools(), kernels=["direct.kd"]).instrumentation and one["points"] < every["points"]
    for wrong in ("direct", [3], [b"direct"]):
        with pytest.raises(lt.ArgumentError, match="kernels"):
            lt.instrument(code, tools(), kernels=wrong)


def test_many_refusals_are_told_of_once_each_and_cost_what_a_placement_costs():
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a", (), "O1"))

    class Refused(lt.Tool):
        total = lt.DeviceArray(lt.u64, 1)

        @lt.hook
        def told(total: lt.ptr[lt.u64], width: lt.u32):
            lt.wave_atomic_add(total, width)

        def on_kernel(self, kernel):
            plain = [i for i in kernel.instructions if i.memory_space is None]
            for n in range(60_000):
                kernel.insert_before(plain[n % len(plain)], self.told, self.total, lt.AccessWidth(), priority=n)

    rejected = lt.instrument(code, [Refused()], kernels=["direct"], on_rejected="report").instrumentation["rejected"]
    assert sorted(r["point"] for r in rejected) == list(range(60_000))
