"""Of an object with several kernels: which are instrumented, and what is counted for which."""

from __future__ import annotations

import json

import compiled
import numpy as np
import pytest
from cli import succeeds

import luthier as lt

SOURCE = """
KERNEL twice(u32 *p) { p[global_x()] *= 2; }
KERNEL sum(u32 *p) { u32 all = 0; for (u32 i = 0; i < 8; i++) all += p[i] ^ i; p[global_x()] = all; }
"""


class Seen(lt.Tool):
    """The kernels that it was offered."""

    def __init__(self):
        self.kernels = []

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.kernels.append(kernel.name)

    def on_exit(self, report: lt.Report) -> None:
        report.result = self.kernels


TOOL = """
import luthier as lt
class Seen(lt.Tool):
    def __init__(self):
        self.kernels = []
    def on_kernel(self, kernel):
        self.kernels.append(kernel.name)
    def on_exit(self, report):
        report.result = self.kernels
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    path = tmp_path_factory.mktemp("both") / "both.hsaco"
    path.write_bytes(compiled.build(SOURCE, "gfx90a").read_bytes())
    return path


def _launch():
    return {"blocks": 1, "block": 64, "args": [np.ones(64, np.uint32)]}


def test_who_launches_a_kernel_instruments_that_kernel_in_python_and_on_the_command_line(both, tmp_path):
    device, tool = lt.Device("gfx90a"), Seen()
    device.run(both, "sum", tools=[tool], **_launch())
    device.trace(both, "twice", tools=[traced := Seen()], **_launch())
    (tmp_path / "seen.py").write_text(TOOL)
    args = ["--kernel", "sum", "--blocks", "1", "--block", "64", "--arg", "buf:u32[64]=ones"]
    done = json.loads(succeeds("run", both, *args, "--tool", tmp_path / "seen.py", "--json", "-"))
    assert (tool.kernels, traced.kernels, done["tools"]) == (["sum"], ["twice"], {"seen": ["sum"]})


def test_who_loads_an_object_instruments_all_its_kernels_or_those_named(both):
    device = lt.Device("gfx90a")
    tools = Seen(), Seen(), Seen()
    device.load(both, tools=[tools[0]])
    device.load(both, tools=[tools[1]], kernels=["twice"])
    lt.instrument(lt.CodeObject.open(both), [tools[2]])
    assert [sorted(tool.kernels) for tool in tools] == [["sum", "twice"], ["twice"], ["sum", "twice"]]


def test_a_kernel_may_be_named_by_its_descriptor_s_symbol(both):
    tool = lt.tools.load("instr_count")
    launched = lt.Device("gfx90a").run(both, "twice.kd", tools=[tool], **_launch())
    assert launched.tools["instr_count"]["instructions"] == launched.app_instructions
    lt.instrument(lt.CodeObject.open(both), [seen := Seen()], kernels=["twice.kd"])
    assert seen.kernels == ["twice"]
    with pytest.raises(lt.ArgumentError, match=r"has no kernel thrice: it has "):
        lt.instrument(lt.CodeObject.open(both), [seen], kernels=["thrice"])


@pytest.mark.parametrize("counting", ["instr_count", "instr_count:by=line"])
def test_tools_that_come_along_count_by_kernel(both, counting):
    module = lt.Device("gfx90a").load(both, tools=[lt.tools.load(counting), lt.tools.load("opcode_hist")])
    first = module.run("twice", **_launch())
    assert "kernels" not in first.tools["instr_count"] and set(first.tools["instr_count"]) >= {"instructions"}
    second, third = module.run("sum", **_launch()), module.run("twice", **_launch())
    counted, opcodes = third.tools["instr_count"], third.tools["opcode_hist"]
    twice = first.app_instructions + third.app_instructions
    assert counted["kernels"] == {"twice": twice, "sum": second.app_instructions}
    assert counted["instructions"] == sum(counted["kernels"].values())
    assert opcodes["kernels"]["sum"] == second.app_histogram
    assert sum(opcodes["kernels"]["twice"].values()) == twice


def test_an_instance_counts_kernels_one_after_the_other_or_says_why_not(both):
    device, code, tool = lt.Device("gfx90a"), lt.CodeObject.open(both), lt.tools.load("instr_count")
    first = device.run(code, "sum", tools=[tool], **_launch())
    again = device.run(code, "sum", tools=[tool], **_launch())
    assert again.tools["instr_count"]["instructions"] == 2 * again.app_instructions
    other = device.run(code, "twice", tools=[tool], **_launch())
    assert int(tool.count) == 2 * first.app_instructions + other.app_instructions
    tool = lt.tools.load("opcode_hist")
    device.run(code, "sum", tools=[tool], **_launch())
    with pytest.raises(lt.ToolError, match="another kernel of it: .* load the object once"):
        device.run(code, "twice", tools=[tool], **_launch())
