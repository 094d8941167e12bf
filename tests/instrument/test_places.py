"""Where hooks can be placed, on every kind of processor: how often they run, in which order, and that nothing else
changes. How often is known from what the device says of the plain run."""

from __future__ import annotations

from collections import Counter

import compiled
import numpy as np
import pytest
from instrumented import expected, instrumented, launch, on_every_target, places, places_by_python, steps

import luthier as lt


class Counting(lt.Tool):
    """Counts how often each of its points is come to. ``place(kernel, insert)`` names points and inserts at them."""

    def __init__(self, place):
        self.place, self.names = place, []

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel):
        self.counts = lt.DeviceArray(lt.u64, 4096, name="counts")

        def point(name):
            self.names.append(name)
            return self.bump, self.counts.at(len(self.names) - 1)

        self.place(kernel, point)

    def result(self):
        total = Counter()
        for name, count in zip(self.names, self.counts.read().tolist()):
            total[name] += count
        return dict(total)


def at_every_place(kernel, point):
    for function in kernel.functions:
        name = function.name
        kernel.insert_at_entry(*point(("entry", name)), function=function)
        if function.kind == "device":
            kernel.insert_at_exit(*point(("exit", name)), function=function)
        for block in function.blocks:
            kernel.insert_at_block(block, *point(("block", block.address)))
            for successor in block.successors:
                kernel.insert_on_edge(block, successor, *point(("edge", block.instructions[-1].address, successor.address)))
        for instr in function.instructions:
            kernel.insert_before(instr, *point(("before", instr.address)))
            if instr.falls_through or instr.is_call or instr.branch_target is not None:
                kernel.insert_after(instr, *point(("after", instr.address)))
    kernel.insert_at_entry(*point(("start",)))
    kernel.insert_at_exit(*point(("end",)))


@on_every_target
def test_hooks_run_as_often_as_control_comes_to_their_places(target):
    code = places(target)
    plain, trace = launch(lt.Device(target[0]).load(code), trace=True)
    np.testing.assert_array_equal(plain, places_by_python(np.random.default_rng(7).integers(0, 1 << 32, 300, np.uint32)))
    tool = Counting(at_every_place)
    module = instrumented(code, target, [tool])
    out, result = launch(module)
    np.testing.assert_array_equal(out, plain)
    assert module.instrumentation["rejected"] == []
    kernel = code.kernel("places")
    assert {f.kind for f in kernel.functions} == {"kernel", "device"}
    wanted = expected(kernel, tool.names, steps(trace))
    assert tool.result() == wanted
    assert result.app_histogram == trace.result.histogram
    kinds = {name[0] for name, n in wanted.items() if n}
    assert kinds == {"entry", "exit", "block", "edge", "before", "after", "start", "end"}


XOR = """
KERNEL change(const u32 *in, u32 *out) {
    u32 i = global_x(), x = in[i];
    asm volatile("v_xor_b32 %0, 0x5a5a, %0" : "+v"(x));
    out[i] = x;
}
"""


class Changing(lt.Tool):
    """Does something to the one ``v_xor_b32``."""

    def __init__(self, change):
        self.change = change

    @lt.hook
    def triple(x: lt.inout[lt.u32], k: lt.u32):
        x = x * 3 + k

    def on_kernel(self, kernel):
        (instr,) = [i for i in kernel.instructions if i.opcode == "v_xor_b32" and "0x5a5a" in i.text]
        self.change(self, kernel, instr)


def run_xor(target, change):
    code = lt.CodeObject.open(compiled.build(XOR, *target))
    values = np.random.default_rng(3).integers(0, 1 << 32, 128, np.uint32)
    out = np.zeros(128, np.uint32)
    module = instrumented(code, target, [Changing(change)])
    result = module.run("change", grid=128, block=64, args=[values, out], strict=True)
    assert result.findings == []
    return values, out, result


@on_every_target
def test_a_hook_takes_the_place_of_an_instruction(target):
    values, out, result = run_xor(target, lambda tool, kernel, i: kernel.replace(i, tool.triple, i.operands[0], 5))
    np.testing.assert_array_equal(out, values * np.uint32(3) + np.uint32(5))


@on_every_target
def test_an_instruction_is_removed(target):
    values, out, result = run_xor(target, lambda tool, kernel, i: kernel.remove(i))
    np.testing.assert_array_equal(out, values)
    assert not any(name.startswith("v_xor_b32") for name in result.app_histogram)


@on_every_target
def test_assembly_is_inserted_before_and_after(target):
    def change(tool, kernel, instr):
        v = instr.operands[0]
        kernel.insert_asm(instr, f"v_not_b32 {v}, {v}\nv_lshlrev_b32 {v}, 1, {v}  ; twice the complement")
        kernel.insert_asm(instr, f"v_or_b32 {v}, 1, {v}", after=True)

    values, out, _ = run_xor(target, change)
    np.testing.assert_array_equal(out, (~values << np.uint32(1) ^ np.uint32(0x5A5A)) | np.uint32(1))


@on_every_target
def test_hooks_and_assembly_at_one_place_run_by_priority_then_in_order(target):
    def change(tool, kernel, instr):
        v = instr.operands[0]
        kernel.insert_before(instr, tool.triple, v, 1)
        kernel.insert_asm(instr, f"v_lshlrev_b32 {v}, 4, {v}", priority=-1)
        kernel.insert_before(instr, tool.triple, v, 7, priority=-2)
        kernel.insert_asm(instr, f"v_not_b32 {v}, {v}")
        kernel.insert_before(instr, tool.triple, v, 2, priority=1)

    values, out, _ = run_xor(target, change)
    u = np.uint32
    x = (values * u(3) + u(7)) << u(4)
    x = ~(x * u(3) + u(1))
    np.testing.assert_array_equal(out, (x * u(3) + u(2)) ^ u(0x5A5A))


def test_the_lowest_priority_runs_first_and_equal_ones_in_order():
    class Sum(lt.Tool):
        digits = lt.DeviceArray(lt.u64, 1)

        @lt.hook
        def write(digits: lt.ptr[lt.u64], digit: lt.u64):
            digits[0] = digits[0] * 10 + digit

        def on_kernel(self, kernel):
            for digit, priority in ((1, 3), (2, 0), (3, 0), (4, -7), (5, 3)):
                kernel.insert_at_entry(self.write, self.digits, digit, priority=priority)

    code = lt.CodeObject.open(compiled.code_object("vecadd"))
    tool = Sum()
    module = instrumented(code, ("gfx90a", ()), [tool])
    module.run("vecadd", grid=64, block=64, args=[np.ones(64, np.float32)] * 3 + [np.uint32(64)])
    assert tool.digits[0] == 42315


def bad(insert):
    class Bad(Changing):
        def __init__(self):
            super().__init__(insert)

    return lt.instrument(compiled.build(XOR, "gfx90a"), [Bad()])


def test_places_that_are_not_the_kernels_are_refused():
    other = lt.CodeObject.open(compiled.build(XOR, "gfx90a")).kernel("change")
    cases = {
        "is not an instruction of the kernel": lambda t, k, i: k.insert_before(other.instructions[0], t.triple, lt.Reg("v0"), 1),
        "is not a function of the kernel": lambda t, k, i: k.insert_at_entry(
            t.triple, lt.Reg("v0"), 1, function=other.functions[0]
        ),
        "has no edge to": lambda t, k, i: k.insert_on_edge(k.blocks[0], k.blocks[0], t.triple, lt.Reg("v0"), 1),
        "no 32-bit number": lambda t, k, i: k.insert_before(i, t.triple, lt.Reg("v0"), 1, priority=1 << 40),
        "assembly text: line 1": lambda t, k, i: k.insert_asm(i, "v_nonsense"),
        "no instruction in it": lambda t, k, i: k.insert_asm(i, "; nothing"),
    }
    for why, insert in cases.items():
        with pytest.raises(lt.LuthierError, match=why):
            bad(insert)
