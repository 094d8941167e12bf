"""HIP libraries that are tools: their hooks are placed from the bitcode that they embed, and use the variables that HIP has
loaded for them."""

from __future__ import annotations

import json

import pytest
import rocm
from places import ROOT

import luthier as lt

EXAMPLE = ROOT / "examples/tool_module"


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc", "clang-offload-bundler-15")


def traced(tool: type[lt.Tool], *command, mock: str = "gfx90a") -> lt.TracedProgram:
    library = rocm.tool_module("instruction_counter", folder=EXAMPLE)
    return lt.trace(command, [tool], mock=mock, env=rocm.ENVIRONMENT, preload=[library], capture=True)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030"])
def test_the_example_counts_what_instr_count_does(tmp_path, target):
    program = rocm.hip("kernels", targets=(target,))
    plain = lt.trace([program, "lds"], ["instr_count"], mock=target, env=rocm.ENVIRONMENT, capture=True)
    expected = sum(one["instructions"] for one in plain.results("instr_count"))
    out = tmp_path / "out.json"
    library = rocm.tool_module("instruction_counter", target, folder=EXAMPLE)
    options = ("--preload", str(library), "--tool", f"{EXAMPLE}/instruction_counter.py", "--json", str(out))
    done = rocm.mock(program, "lds", target=target, options=options)
    assert done.returncode == 0 and "passed" in done.stdout, (done.stdout, done.stderr)
    assert "Instruction counter is launching." in done.stdout + done.stderr
    [process] = json.loads(out.read_text())["processes"]
    told = process["tools"]["instruction_counter"]
    assert told["instructions"] == expected > 1000 and told["lanes"] > expected
    assert "number of instructions executed" not in done.stderr, "tables are in the JSON"


class Both(lt.Tool):
    """The module's hook, and one of Python's with a channel and a state, at the same places."""

    hip_modules = True
    own = lt.DeviceArray(lt.u64, 1)
    entries = lt.Channel(64, exec=lt.u64)
    passed = lt.WaveState(lt.u32)

    @lt.hook
    def count(own: lt.ptr[lt.u64], passed: lt.inout[lt.u32]):
        passed += 1
        lt.wave_atomic_add(own, 1)

    @lt.hook
    def end(entries: lt.channel, passed: lt.inout[lt.u32]):
        lt.record(entries, lt.u64(passed), per_wave=True)

    def __init__(self):
        self.places = self.recorded = 0

    def on_kernel(self, kernel):
        [module] = self.app.tool_modules
        self.module = module
        for instr in kernel.instructions:
            kernel.insert_before(instr, module.library["instrumentation_kernel"])
            kernel.insert_before(instr, self.count, self.own, self.passed)
        kernel.insert_at_exit(self.end, self.entries, self.passed)

    def on_records(self, channel, records):
        self.recorded += int(records["exec"].sum())

    def on_exit(self, report):
        if not hasattr(self, "module"):
            report.result = None
            return
        variables = self.module.library.variables
        report.result = {
            "own": self.own[0],
            "recorded": self.recorded,
            "module": variables["global_counter"][0],
            "rejected": len(self.rejected),
        }


def test_hooks_of_a_module_and_of_python_at_the_same_places():
    done = traced(Both, rocm.hip("kernels"), "lds")
    assert done.status == 0 and "passed" in done.stdout, done.stderr
    told = [one for one in done.results("both") if one]
    assert told and all(one["rejected"] == 0 for one in told)
    # The hook of Python has a variable for each kernel, the module one for all.
    total = sum(one["own"] for one in told)
    assert total == sum(one["recorded"] for one in told) > 1000
    assert max(one["module"] for one in told) == total


class OnEachGpu(lt.Tool):
    hip_modules = True

    def on_kernel(self, kernel):
        [self.module] = self.app.tool_modules
        kernel.insert_at_entry(self.module.library["instrumentation_kernel"])

    def on_exit(self, report):
        if self.app.tool_modules:
            lanes = self.app.tool_modules[0].library.variables["lanes"]
            report.result = {"all": lanes[0], "each": [lanes.on(gpu)[0] for gpu in (0, 1)]}


def test_each_gpu_has_a_device_variable_of_its_own():
    done = traced(OnEachGpu, rocm.hip("devices"), "all_devices", mock="gfx90a,2")
    assert done.status == 0, (done.stdout, done.stderr)
    told = done.results("on_each_gpu")
    last = max(told, key=lambda one: one["all"])
    assert last["all"] == sum(last["each"]) and all(last["each"]), told


class Wrong(lt.Tool):
    hip_modules = True

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.app.tool_modules[0].library["no_such_function"])


def test_a_function_that_the_module_does_not_have_is_said():
    with pytest.raises(lt.ToolError, match=r"has no function no_such_function: it has .*instrumentation_kernel"):
        traced(Wrong, rocm.hip("kernels"), "lds")


def test_a_module_without_bitcode_is_said():
    library = rocm.tool_module("instruction_counter", folder=EXAMPLE, embed=False)
    with pytest.raises(lt.ToolError, match="the tool module .*: .* has no code object with bitcode in it"):
        lt.trace([rocm.hip("kernels"), "lds"], [Counts], mock="gfx90a", preload=[library], env=rocm.ENVIRONMENT, capture=True)


class Counts(OnEachGpu):
    def on_exit(self, report):
        pass
