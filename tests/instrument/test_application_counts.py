"""``app_histogram`` and ``app_instructions`` are the plain run's, also of instructions that a copy has to change: hints that
an insertion makes false, long branches, sums on the program counter, calls of functions that other kernels run."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
import triton_cases
from instrumented import PLACES, launch, on_every_target

import luthier as lt

SHORT = ("-mllvm", "-amdgpu-s-branch-bits=6")
TOOLS = ("instr_count:per=instruction", "instr_count", "opcode_hist:per=instruction")


def same(plain, instrumented, tool) -> None:
    assert instrumented.app_histogram == plain.histogram, tool
    assert instrumented.app_instructions == plain.instructions, tool
    (result,) = instrumented.tools.values()
    assert result.get("opcodes", plain.histogram) == plain.histogram
    assert result.get("instructions", plain.instructions) == plain.instructions


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201", "gfx1250"])
def test_registers_given_up_early_and_clauses_are_counted_as_what_they_are(target):
    name = "matmul_f32_32"
    text = lt.CodeObject.open(triton_cases.path(name, target)).disasm()
    assert "MSG_DEALLOC_VGPRS" in text
    results = []
    for tool in (None, *TOOLS):
        (case,) = triton_cases.launches(name, target)
        module = lt.Device(target).load(triton_cases.path(name, target), tools=[lt.tools.load(tool)] if tool else [])
        results.append(module.run(case.kernel, grid=case.grid, block=case.block, args=case.args, lds=case.lds))
    assert results[0].histogram["s_sendmsg"] > 0
    for tool, result in zip(TOOLS, results[1:]):
        same(results[0], result, tool)


@on_every_target
def test_long_branches_are_counted_as_what_they_are(target):
    code = lt.CodeObject.open(compiled.build(PLACES, target[0], (*target[1], *SHORT), "O1"))
    assert {"s_setpc_b64", "s_add_pc_i64"} & {i.mnemonic for i in code.kernel("places").instructions}
    plain, reference = launch(lt.Device(target[0]).load(code))
    for tool in TOOLS:
        module = lt.Device(target[0]).load(code, tools=[lt.tools.load(tool)], check=True, on_rejected="raise")
        out, result = launch(module)
        np.testing.assert_array_equal(out, plain)
        same(reference, result, tool)


TWO = PLACES + "KERNEL other(u32 *out) { u32 i = global_x(); out[i] = mix(i, 3); }"


@on_every_target
def test_calls_that_lead_elsewhere_are_counted_as_what_they_are(target):
    code = lt.CodeObject.open(compiled.build(TWO, target[0], target[1], "O1"))
    plain, reference = launch(lt.Device(target[0]).load(code))
    tool = lt.tools.load("opcode_hist")
    module = lt.Device(target[0]).load(code, tools=[tool], kernels=["places"], check=True, on_rejected="raise")
    out, result = launch(module)
    np.testing.assert_array_equal(out, plain)
    assert any(name.startswith("s_swap") for name in reference.histogram)
    same(reference, result, "opcode_hist")


#: As many registers as an instruction can name, and more.
FULL = """
KERNEL __attribute__((amdgpu_waves_per_eu(1, 1))) __attribute__((amdgpu_flat_work_group_size(32, 32)))
full(u32 *out, const u32 *in, u32 n) {
    asm volatile("SCALARS" ::: CLOBBERED);
    u32 lane = local_x(), v[320];
#pragma unroll
    for (u32 k = 0; k < 320; k++) v[k] = in[lane + 32 * k];
    for (u32 turn = 0; turn < n; turn++) {
#pragma unroll
        for (u32 k = 0; k < 320; k++) v[k] = v[k] * 3 + v[(k * 7 + 1) % 320];
    }
#pragma unroll
    for (u32 k = 0; k < 320; k++) out[lane + 32 * k] = v[k];
}
"""


class Many(lt.Tool):
    """Counts in many counters, each at some of the instructions."""

    def __init__(self, number: int):
        self.number = number
        for n in range(number):
            setattr(self, f"c{n}", lt.Counter(name=f"c{n}"))

    @lt.hook
    def tick(count: lt.counter):
        count += 1

    def on_kernel(self, kernel):
        for n, instr in enumerate(kernel.instructions):
            kernel.insert_before(instr, self.tick, getattr(self, f"c{n % self.number}"))


def test_counters_are_kept_in_whatever_register_is_free():
    scalars = [n for n in range(106)]
    source = FULL.replace("SCALARS", "".join(f"s_mov_b32 s{n}, 7\\n" for n in scalars))
    source = source.replace("CLOBBERED", ", ".join(f'"s{n}"' for n in scalars))
    code = lt.CodeObject.open(compiled.build(source, "gfx1250", ("-w",)))
    used = {str(r) for i in code.kernel("full").instructions for r in (*i.reads, *i.writes)}
    assert {f"s{n}" for n in range(102)} | {f"v{n}" for n in range(256)} <= used
    outs, runs = [], []
    # More than fit into the lanes of one register.
    for tools in ([], [tool := Many(40)]):
        module = lt.Device("gfx1250").load(code, tools=tools, check=True, on_rejected="raise")
        values, out = np.random.default_rng(1).integers(0, 1 << 32, 320 * 32, np.uint32), np.zeros(320 * 32, np.uint32)
        runs.append(module.trace("full", grid=32, block=32, args=[out, values, np.uint32(3)], events=["instructions"]))
        outs.append(out)
    np.testing.assert_array_equal(*outs)
    numbers = {i.address: n % 40 for n, i in enumerate(code.kernel("full").instructions)}
    wanted = np.bincount([numbers[pc] for pc in runs[0].instructions["pc"].tolist()], minlength=40)
    assert [int(getattr(tool, f"c{n}")) for n in range(40)] == wanted.tolist()
    inserted = [i for i in module.loaded.kernel("full").instructions if i.is_inserted and i.opcode == "v_writelane_b32"]
    assert {int(str(i.operands[0].register)[1:]) // 256 for i in inserted} == {1}
