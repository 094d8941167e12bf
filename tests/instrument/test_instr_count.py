"""instr_count against the device's own count, and what counting costs."""

from __future__ import annotations

import compiled
import kernel_cases
import numpy as np
import pytest
from instrumented import instrumented, launch, on_every_target, places

import luthier as lt
from luthier.counting import increments, insert_lengths, may_not_return
from luthier.tools.instr_count import InstrCount

OPTIONS = ("", ":where=after", ":per=instruction", ":per=instruction,where=after")


@on_every_target
@pytest.mark.parametrize("options", OPTIONS)
def test_the_count_is_the_devices(target, options):
    code = places(target)
    plain, reference = launch(lt.Device(target[0]).load(code))
    out, result = launch(instrumented(code, target, [lt.tools.load(f"instr_count{options}")]))
    np.testing.assert_array_equal(out, plain)
    assert result.tools == {"instr_count": {"instructions": reference.instructions}}


#: Ends of the program in a callee, tail calls, calls through pointers, a switch, loops in loops, unstructured loops.
SHAPES = """
NOINLINE void stop_if(u32 x) { if (x == 5) __builtin_amdgcn_endpgm(); }
NOINLINE u32 leaf(u32 x) { u32 s = 0; for (u32 i = 0; i < (x & 3); i++) for (u32 k = i; k < 4; k++) s += x ^ k; return s; }
NOINLINE u32 other(u32 x) { return x & 1 ? leaf(x >> 1) : leaf(x + 3); }
typedef u32 (*Function)(u32);
NOINLINE u32 through(Function f, u32 x) { return f(x) + 1; }
KERNEL shapes(u32 *out, u32 n) {
    u32 i = global_x(), x = n, sum = 0;
    stop_if(__builtin_amdgcn_readfirstlane(group_x()));
    for (u32 k = 0; k < 6; k++) {
        switch ((x + k) % 5) {
            case 0: sum += leaf(x); break;
            case 1: sum ^= other(x);
            case 2: sum *= 3; break;
            case 3: sum += through(x & 2 ? leaf : other, k); break;
            default: if (sum & 1) goto odd; sum += 7;
        }
        x = x * 5 + i;
        odd: x++;
    }
    out[i] = sum;
}
"""


@on_every_target
@pytest.mark.parametrize("level", ("O0", "O1", "O3"))
def test_ends_in_callees_tail_calls_and_switches_are_counted(target, level):
    code = lt.CodeObject.open(compiled.build(SHAPES, *target, level=level))
    outs, counts = [], []
    for tools in ([], [lt.tools.load("instr_count")]):
        module = lt.Device(target[0]).load(code, tools=tools, check=True, on_rejected="raise")
        out = np.zeros(8 * 64, np.uint32)
        result = module.run("shapes", grid=8 * 64, block=64, args=[out, np.uint32(9)], strict=True)
        assert result.findings == [], result.findings[:2]
        outs.append(out.tobytes())
        counts.append(result.tools["instr_count"]["instructions"] if tools else result.instructions)
    assert outs[0] == outs[1] and counts[0] == counts[1]


@pytest.mark.parametrize("target", ("gfx90a", "gfx1100", "gfx1201"))
def test_counting_costs_at_most_a_sixth_of_the_instructions(target):
    total = Cost()
    for name in kernel_cases.CASES:
        path = compiled.code_object(name, "O3", target=target)
        tool = lt.tools.load("instr_count")
        module = lt.Device(target).load(path, tools=[tool])
        counted = 0
        for case in kernel_cases.launches(name):
            result = module.run(case.kernel, grid=case.grid, block=case.block, args=case.args)
            case.check(case.args)
            total.add(result)
            counted += result.app_instructions
        assert int(tool.count) == counted
    assert total.ratio <= 1.15


class Cost:
    def __init__(self):
        self.app = self.all = 0

    def add(self, result):
        self.app += result.app_instructions
        self.all += result.instructions

    @property
    def ratio(self):
        return self.all / self.app


def test_increments_add_up_on_every_walk():
    """Random walks through the graphs of real kernels: increments against the sums of block lengths."""
    rng = np.random.default_rng(5)
    walks = 0
    for name in kernel_cases.CASES:
        for level in compiled.LEVELS:
            code = lt.CodeObject.open(compiled.code_object(name, level))
            ending = may_not_return(code.functions)
            for function in code.functions:
                found = increments(function, len, ending)
                places = {(i.block and i.block.address, i.successor and i.successor.address): i.amount for i in found}
                assert len(places) == len(found)
                for _ in range(20):
                    walks += check_walk(function, places, rng)
    assert walks > 500


def test_lengths_are_summed_up_as_any_other_amounts():
    """The native module sums up lengths, Python all that is no length: NumPy's arrays with the lengths in them give the same."""
    compared = 0
    for name in kernel_cases.CASES:
        code = lt.CodeObject.open(compiled.code_object(name, "O2"))
        ending = may_not_return(code.functions)
        for function in code.functions:
            lengths = increments(function, len, ending)
            arrays = increments(function, lambda block: np.array([len(block)]), ending)
            assert [(i.amount, i.block, i.successor) for i in lengths] == [
                (int(i.amount[0]), i.block, i.successor) for i in arrays
            ]
            compared += len(lengths)
    assert compared > 50


def check_walk(function, places, rng) -> bool:
    block = next(b for b in function.blocks if b.address == function.address)
    wanted, got = 0, places.get((None, None), 0)
    for _ in range(300):
        wanted += len(block)
        got += places.get((block.address, None), 0)
        successors = block.successors
        if not successors:
            assert got == wanted, (function.name, places)
            return True
        block, last = successors[rng.integers(len(successors))], block
        got += places.get((last.address, block.address), 0)
    return False


class ByIncrements(InstrCount):
    """As instr_count, one place after the other."""

    name = "instr_count"

    def on_kernel(self, kernel):
        ending = may_not_return(kernel.functions)
        for function in kernel.functions:
            for increment in increments(function, len, ending):
                n = increment.amount % (1 << 64)
                increment.insert(kernel, function, self.add, self.count, n, after=self.where == "after")


@pytest.mark.parametrize("where", ("before", "after"))
def test_lengths_are_inserted_as_their_increments_are(where):
    """All at once gives the same bytes as one place after the other, in functions that kernels share, too."""
    sources = [compiled.code_object(name, "O2") for name in kernel_cases.CASES]
    sources += [compiled.build(SHAPES + SHAPES[SHAPES.index("KERNEL") :].replace("shapes", "more"), "gfx90a", level="O1")]
    points = 0
    for source in sources:
        code = lt.CodeObject.open(source)
        singly = lt.instrument(code, [ByIncrements(where=where)])
        # For few functions their lengths are worked out one by one, else those of all together: of either.
        for _ in range(12):
            together = lt.instrument(code, [InstrCount(where=where)])
            assert together.data == singly.data
            assert together.instrumentation == singly.instrumentation
        points += singly.instrumentation["points"]
    assert points > 100


def test_lengths_are_inserted_with_what_waves_carry_only():
    class Wrong(InstrCount):
        def on_kernel(self, kernel):
            insert_lengths(kernel, self.add, lt.Reg("s0"))

    with pytest.raises(lt.ToolError, match=r"wrong: insert_lengths: Reg\(.*\) is neither a number nor what waves carry"):
        lt.instrument(compiled.code_object("vecadd", "O2"), [Wrong()])
