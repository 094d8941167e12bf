"""What one sees at a prompt and in a notebook is short, and says something."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt


class Stores(lt.Tool):
    """Counts the lanes that store."""

    lanes = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def count(lanes: lt.ptr[lt.u64]):
        lt.wave_atomic_add(lanes, lt.popcount(lt.exec_mask()))

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            if instr.is_store:
                kernel.insert_before(instr, self.count, self.lanes)

    def on_exit(self, report):
        report.table("<stores>", {"lanes": self.lanes[0]}, ("what", "lanes"))


@pytest.fixture(scope="module")
def launch():
    arrays = [np.ones(128, np.float32) for _ in "abc"]
    return {"blocks": 2, "block": 64, "args": [*arrays, np.uint32(128)]}


@pytest.fixture(scope="module")
def module():
    return lt.Device("gfx90a").load(compiled.code_object("vecadd"), tools=[Stores()])


def test_results_and_reports(module, launch):
    result = module.run("vecadd", **launch)
    assert repr(result) == f"<RunResult vecadd on gfx90a: 2 workgroups, 2 waves, {result.instructions} instructions>"
    assert repr(result.reports) == "[<Report stores: <stores>>]"
    html = result._repr_html_()
    assert "<td>vecadd</td>" in html and "&lt;stores&gt;" in html and '<td style="text-align:right">128</td>' in html


def test_findings(launch):
    short = [*launch["args"][:2], np.zeros(100, np.float32), np.uint32(128)]
    result = lt.Device("gfx90a").run(compiled.code_object("vecadd"), "vecadd", **{**launch, "args": short}, strict=True)
    (finding,) = result.findings
    assert "1 findings" in repr(result)
    assert repr(finding).startswith(f"<Finding {finding['kind']}: ") and str(finding) in repr(finding)
    assert "0 bytes past the end of argument 2 (400 bytes)" in str(finding)
    assert str(finding).replace("'", "&#x27;") in result._repr_html_()
    assert f"<td>{finding['pc']:#x}</td>" in finding._repr_html_()


def test_traces_sessions_and_waves(launch):
    module = lt.Device("gfx90a").load(compiled.code_object("vecadd"))
    kernel = module.code_object.kernel("vecadd")
    first = kernel.instructions[1].address
    trace = module.trace("vecadd", **launch, events=["memory"], snapshots=[first])
    assert repr(trace).startswith("<Trace of vecadd: 2 waves, ") and "memory events, 2 snapshots>" in repr(trace)
    assert repr(trace.snapshots[0]) == f"<Snapshot of workgroup 0, wave 0 before {first:#x}>"
    assert repr(trace.snapshots[0].registers).startswith("<Registers: 102 SGPRs, ")
    with module.session("vecadd", **launch) as session:
        assert repr(session) == "<Session of vecadd: workgroup (0, 0, 0), 1 waves, 0 instructions>"
        assert repr(session.waves[0]).startswith("<WaveView 0 of workgroup (0, 0, 0): ready at 0x")
        assert "<td>ready</td>" in session._repr_html_()
    assert "<td>memory</td>" in trace._repr_html_() and "<td>vecadd</td>" in trace._repr_html_()
    assert repr(kernel) == "<Kernel vecadd>"
    assert "<caption>vecadd</caption>" in kernel._repr_html_() and "<td>vgprs</td>" in kernel._repr_html_()


def test_code_shows_itself_as_tables_of_its_assembly():
    code = lt.CodeObject.open(compiled.code_object("collatz", flags=("-g",)))
    (kernel,) = code.kernels
    function = kernel.functions[0]
    load = next(i for i in kernel.instructions if i.mnemonic == "global_load_dword")
    assert f"<caption>{load.text}</caption>" in load._repr_html_() and "global, 4 bytes" in load._repr_html_()
    assert f"<td>{load.text}</td>" in kernel.instructions._repr_html_() and "collatz.hip:" in kernel.instructions._repr_html_()
    for shown in (load.block, kernel.blocks, function, function.loops[0], code):
        page = shown._repr_html_()
        assert page.count("<table>") == page.count("</table>") >= 1 and "collatz" in page
    assert f"block {load.block.number} of collatz" in load.block._repr_html_()
    assert all(f"{block.address:#x}" in kernel.blocks._repr_html_() for block in kernel.blocks)
    assert "<svg" in kernel.cfg()._repr_svg_()


def test_long_code_says_how_much_more_there_is():
    code = lt.CodeObject.open(compiled.code_object("choose"))
    count = len(code.instructions)
    assert count > 100 and f"and {count - 100:,} more instructions" in code.instructions._repr_html_()


def test_modules_tools_and_arrays(module, launch):
    module.run("vecadd", **launch)
    (tool,) = module.tools
    assert "<td>stores</td>" in module._repr_html_() and "<td>gfx90a</td>" in module._repr_html_()
    assert "Counts the lanes that store." in tool._repr_html_() and "&lt;DeviceArray lanes" in tool._repr_html_()
    assert f'right">{tool.lanes[0]:,}</td>' in tool.lanes._repr_html_()
