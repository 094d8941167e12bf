"""Which tool of a file `--tool` names, and how tools that end the process are told, whatever the command."""

from __future__ import annotations

import compiled
import pytest
from cli import fails, luthier, succeeds
from test_cli_bad_input import RUN

TOOLS = """
import sys
import luthier as lt
from luthier.tools.instr_count import InstrCount

class One(lt.Tool):
    def __init__(self, times: int = 1):
        self.times = times
    def on_exit(self, report):
        report.table("one", {"times": self.times})

class Two(One):
    pass

class Leaves(lt.Tool):
    def on_kernel(self, kernel):
        sys.exit(0)

class LeavesAtTheEnd(lt.Tool):
    def on_exit(self, report):
        sys.exit()
"""


@pytest.fixture(scope="module")
def vecadd():
    return compiled.code_object("vecadd")


@pytest.fixture
def tools(tmp_path):
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)
    return path


def test_a_tool_of_several_is_named_by_its_class(vecadd, tools, tmp_path):
    for name, times in (("One", 1), ("Two", 1), ("One:times=3", 3), ("Two:times=4", 4)):
        out = succeeds("run", vecadd, *RUN, "--tool", f"{tools}:{name}")
        assert f"times   {times}" in out
    both = succeeds("run", vecadd, *RUN, "--tool", f"{tools}:One", "--tool", f"{tools}:Two:times=2")
    assert "times   1" in both and "times   2" in both
    # One that the file has imported, too.
    assert "instructions" in succeeds("run", vecadd, *RUN, "--tool", f"{tools}:InstrCount:per=block")
    succeeds("instrument", vecadd, "--tool", f"{tools}:InstrCount", "-o", tmp_path / "out")
    alone = tmp_path / "alone.py"
    alone.write_text("import luthier as lt\nclass Alone(lt.Tool):\n    def __init__(self, n: int = 0): pass\n")
    for name in ("", ":", ":Alone", ":n=1", ":Alone:n=1"):
        succeeds("run", vecadd, *RUN, "--tool", f"{alone}{name}")


@pytest.mark.parametrize(
    "name, why",
    [
        ("", "several tools: One, Two, Leaves, LeavesAtTheEnd: name one, as in {tools}:One"),
        (":times=3", "several tools"),
        (":Three", "{tools}: there is no tool Three: it has One, Two"),
        (":lt", "there is no tool lt"),
        (":One:Two", "'Two' is not option=value"),
        (":One:size=3", "--tool {tools}:One: there is no option 'size' (times)"),
    ],
)
def test_a_name_that_is_none_is_told(vecadd, tools, tmp_path, name, why):
    for command in (["run", vecadd, *RUN], ["instrument", vecadd, "-o", tmp_path / "out"], ["trace", "--mock", "gfx90a"]):
        program = ["--", "true"] if command[0] == "trace" else []
        assert why.format(tools=tools) in fails(*command, "--tool", f"{tools}{name}", *program)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["Leaves", "LeavesAtTheEnd"])
def test_a_tool_that_ends_the_process_has_failed(vecadd, tools, tmp_path, name):
    done = luthier("run", vecadd, *RUN, "--tool", f"{tools}:{name}", "--json", tmp_path / "out.json")
    assert done.returncode == 3 and done.stderr.startswith("luthier: error: a tool has called sys.exit("), done.stderr
    assert f" in {tools}:" in done.stderr and done.stderr.count("\n") == 1 and not (tmp_path / "out.json").exists()


def test_the_last_line_of_a_strict_run_says_what_was_checked(vecadd):
    assert luthier("run", vecadd, *RUN, "--strict").stderr == "luthier: strict: 1 launch checked, 0 findings\n"
    short = [word.replace("[64]", "[16]") for word in RUN]
    done = luthier("run", vecadd, *short, "--strict")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[-1] == f"luthier: strict: 1 launch checked, {len(lines) - 1} findings"
    assert luthier("run", vecadd, *RUN).stderr == ""
