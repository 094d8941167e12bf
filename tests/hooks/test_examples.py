"""The programs in examples/, each run on a kernel whose answer is known."""

from __future__ import annotations

import json
import subprocess
import sys

import compiled
import numpy as np
import pytest
import triton_cases
from cli import succeeds
from places import ROOT

import luthier as lt

EXAMPLES = ROOT / "examples"
GRID = ["--grid", "256", "--block", "128"]
VECADD = ["--arg", "buf:f32[256]=arange", "--arg", "buf:f32[256]=ones", "--arg", "buf:f32[256]=zeros", "--arg", "u32=256"]

KERNELS = """
KERNEL half_of_the_lanes(u32 *p) {
    u32 i = global_x();
    if (i & 1)
        for (u32 n = 0; n < 10; n++) p[i] = p[i] * 3 + n;
}
KERNEL roots(const float *in, float *out) {
    u32 i = global_x();
    out[i] = (in[i] - in[i]) * 2.0f;
}
KERNEL stride(const u32 *in, u32 *out, u32 by) { out[global_x()] = in[global_x() * by]; }
"""


@pytest.fixture(scope="module")
def kernels():
    return compiled.build(KERNELS, "gfx90a", ("-g",))


def _tool(name: str):
    return lt.tools.load(str(EXAMPLES / f"{name}.py"))


def test_block_counts(kernels):
    path = compiled.code_object("vecadd", flags=("-g",))
    told = json.loads(
        succeeds("run", path, "--kernel", "vecadd", *GRID, *VECADD, "--tool", EXAMPLES / "block_counts.py", "--json", "-")
    )
    result = told["tools"]["block_counts"]
    assert max(result["blocks"].values()) == told["dispatch"]["waves"] == 4
    assert sum(result["lines"].values()) == told["emulator"]["app_instructions"]
    assert any(line.endswith("vecadd.hip:5") for line in result["lines"])


def test_access_trace(kernels, tmp_path):
    out = tmp_path / "accesses.npy"
    tool = lt.tools.load(f"{EXAMPLES / 'access_trace.py'}:out={out}")
    numbers, results = np.zeros(4096, np.uint32), np.zeros(256, np.uint32)
    result = lt.Device("gfx90a").run(kernels, "stride", blocks=2, block=128, args=[numbers, results, np.uint32(16)], tools=[tool])
    told = result.tools["access_trace"]
    records = np.load(out)
    assert told["records"] == len(records) == 512
    load, store = (records["address"][records["pc"] == int(pc, 16)] for pc in told["instructions"])
    assert (np.diff(np.sort(load)) == 64).all() and (np.diff(np.sort(store)) == 4).all()
    assert [one["lines"] for one in told["instructions"].values()] == [256, 16]


def test_divergence(kernels):
    tool = _tool("divergence")
    numbers = np.zeros(128, np.uint32)
    result = lt.Device("gfx90a").run(kernels, "half_of_the_lanes", blocks=1, block=128, args=[numbers], tools=[tool])
    lanes = {n["lanes"] / n["waves"] for n in result.tools["divergence"]["blocks"].values()}
    assert lanes == {32.0, 64.0}


def test_value_profile():
    told = succeeds("run", compiled.code_object("vecadd"), "--kernel", "vecadd", *GRID, *VECADD, "--json", "-", "--tool", EXAMPLES / "value_profile.py")  # fmt: skip
    values = (np.arange(256, dtype=np.float32) + 1).view(np.uint32)
    expected = {}
    for value in values.tolist():
        expected[str(value.bit_length())] = expected.get(str(value.bit_length()), 0) + 1
    assert json.loads(told)["tools"]["value_profile"] == {"bits": expected}


def test_nan_checker(kernels):
    tool = _tool("nan_checker")
    given = np.zeros(64, np.float32)
    given[:5] = np.inf
    result = lt.Device("gfx90a").run(kernels, "roots", blocks=1, block=64, args=[given, np.zeros(64, np.float32)], tools=[tool])
    found = result.tools["nan_checker"]["nans"]
    assert set(found.values()) == {5} and len(found) == 2


@pytest.mark.parametrize("by, lines", [(1, 4), (2, 8), (16, 64)])
def test_memory_addresses(kernels, by, lines):
    tool = _tool("memory_addresses")
    source, out = np.zeros(64 * by, np.uint32), np.zeros(64, np.uint32)
    result = lt.Device("gfx90a").run(kernels, "stride", blocks=1, block=64, args=[source, out, by], tools=[tool])
    load, store = result.tools["memory_addresses"]["accesses"].values()
    assert load == {"waves": 1, "lines": lines} and store == {"waves": 1, "lines": 4}


def _lines(events) -> int:
    """The lines that each run of lanes begins, over the events of one instruction."""
    lines = 0
    for wave in {(e["workgroup"], e["wave"]) for e in events}:
        mine = events[(events["workgroup"] == wave[0]) & (events["wave"] == wave[1])]
        line = mine["address"] >> np.uint64(6)
        # Lanes are told in their order: where the number falls, the instruction runs again.
        begins = np.ones(len(mine), bool)
        begins[1:] = (mine["lane"][1:] <= mine["lane"][:-1]) | (line[1:] != line[:-1])
        lines += int(begins.sum())
    return lines


def _triton(name: str, target: str, tool, **options):
    """One launch of a kernel of the corpus under a tool."""
    (launch,) = triton_cases.launches(name, target)
    module = lt.Device(target).load(triton_cases.path(name, target), tools=[tool], on_rejected="raise")
    sizes = {"grid": (2 * launch.block[0], 1, 1), "block": launch.block, "args": launch.args, "lds": launch.lds}
    return module, launch, sizes


@pytest.mark.parametrize("name, target", [("softmax_f32", "gfx90a"), ("layernorm_f32", "gfx942"), ("matmul_f16_64", "gfx1100")])
def test_memory_addresses_of_triton_kernels_are_those_of_the_device(name, target):
    tool = _tool("memory_addresses")
    module, launch, sizes = _triton(name, target, tool)
    assert not [f for f in module.run(launch.kernel, strict=True, **sizes).findings if f["original_pc"] is None]
    tool = _tool("memory_addresses")
    module, launch, sizes = _triton(name, target, tool)
    kernel = module.code_object.kernel(launch.kernel)
    looked = [i for i in kernel.instructions if i.memory_space and "smem" not in i.flags]
    assert {i.memory_space for i in looked} & {"buffer", "lds"}
    copies = {i.origin: i.address for i in module.loaded.program.instructions if not i.is_inserted}
    trace = module.trace(launch.kernel, events=["memory"], only=[copies[i.address] for i in looked], **sizes)
    compared = 0
    for waves, lines, instrs in tool.watched:
        for instr, ran, told in zip(instrs, waves.read().tolist(), lines.read().tolist()):
            pc = copies[instr.address]
            assert ran == trace.counts.get(pc, 0), instr
            assert told == _lines(trace.memory[trace.memory["pc"] == pc]), instr
            compared += told > 0
    assert compared > 3 and not tool.unseen


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_nan_checker_sees_the_results_of_matrix_instructions(target):
    tool = _tool("nan_checker")
    module, launch, sizes = _triton("matmul_f16_64", target, tool)
    matrix = next(a for a in launch.args if isinstance(a, np.ndarray))
    matrix.view(np.uint16).reshape(-1)[0] = 0x7E00
    result = module.run(launch.kernel, strict=True, **sizes)
    assert not [f for f in result.findings if f["original_pc"] is None]
    instrs = {i.address: i for i in module.code_object.kernel(launch.kernel).instructions}
    found = {instrs[int(a, 16)].opcode: n for a, n in result.tools["nan_checker"]["nans"].items()}
    assert any("mfma" in opcode or "wmma" in opcode for opcode in found), found
    unseen = {instrs[int(a, 16)].opcode for a in result.tools["nan_checker"]["not seen"]}
    assert not any("mfma" in opcode or "wmma" in opcode for opcode in unseen)


def test_debugging_session():
    command = [sys.executable, EXAMPLES / "debugging_session.py", compiled.code_object("vecadd"), "vecadd"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "c[0:4] before: [0. 0. 0. 0.]" in done.stdout and "c[0:4] after:  [1. 2. 3. 4.]" in done.stdout
    assert ": 1, 2, 3, 4, ..." in done.stdout


def test_instruction_counter():
    told = json.loads(
        succeeds(
            "run",
            compiled.code_object("vecadd"),
            "--kernel",
            "vecadd",
            *GRID,
            *VECADD,
            "--json",
            "-",
            "--tool",
            EXAMPLES / "instruction_counter.py",
        )  # fmt: skip
    )
    assert told["tools"]["instruction_counter"] == {"instructions": told["emulator"]["app_instructions"]}


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030", "gfx1201", "gfx1250"])
def test_workgroups(target):
    path, tool = compiled.build(KERNELS, target), _tool("workgroups")
    numbers = np.arange(1000, dtype=np.uint32)
    result = lt.Device(target).run(path, "half_of_the_lanes", grid=1000, block=192, args=[numbers], tools=[tool], strict=True)
    assert result.findings == []
    told = sorted(tool.heard)
    lanes = 64 if target.startswith("gfx9") else 32
    # The last workgroup has 40 work-items.
    assert [group[0] for group in told] == list(range(6)) and [group[3] for group in told] == [192 // lanes] * 5 + [
        -(-40 // lanes)
    ]
    assert result.tools["workgroups"] == {"workgroups": 6, "instructions": result.app_instructions}
    assert sum(group[-1] for group in told) == result.app_instructions
