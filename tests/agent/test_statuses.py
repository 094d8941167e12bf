"""With what status `luthier trace` ends, and what it says last: one rule, whatever was asked for."""

from __future__ import annotations

import json
import signal

import pytest
import rocm

import luthier as lt
from luthier.agent.controller import LIBRARY

TOOLS = """
import sys
import luthier as lt

class Fine(lt.Tool):
    def on_kernel(self, kernel):
        pass

class Fails(lt.Tool):
    def on_kernel(self, kernel):
        kernel.mine

class Misuses(lt.Tool):
    def on_kernel(self, kernel):
        kernel.insert_at_entry("no hook")

class Leaves(lt.Tool):
    def on_kernel(self, kernel):
        sys.exit(0)

class LeavesAtTheEnd(lt.Tool):
    def on_launch(self, launch):
        pass
    def on_exit(self, report):
        sys.exit("enough")

class LeavesAtOnce(lt.Tool):
    def __init__(self):
        sys.exit(0)

class BadHook(lt.Tool):
    @lt.hook
    def hook(n: lt.u32):
        m = n + "text"
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hook, 1)

class AsksForWhatIsNotThere(lt.Tool):
    value = lt.DeviceArray(lt.u32, 1)
    @lt.hook
    def look(value: lt.ptr[lt.u32], register: lt.u32):
        value[0] = register
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.look, self.value, lt.Reg("ttmp9"))

class BadLater(lt.Tool):
    def on_kernel(self, kernel):
        @lt.hook
        def hook(n: lt.u32):
            m = n + "text"
        kernel.insert_at_entry(hook, 1)
"""


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


@pytest.fixture
def tools(tmp_path):
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)
    return str(path)


def under(tools, name, app=None, *options):
    return rocm.mock(*(app or (rocm.hip("kernels"), "lds")), options=("--tool", f"{tools}:{name}", *options))


@pytest.mark.parametrize(
    "name, status, said",
    [
        ("Fine", 0, ""),
        ("Fails", 3, "AttributeError"),
        ("Misuses", 3, "luthier: error: misuses: 'no hook' is not a hook"),
        ("Leaves", 3, "luthier: error: a tool has called sys.exit(0) in {tools}:19\n"),
        ("LeavesAtTheEnd", 3, "luthier: error: a tool has called sys.exit('enough') in {tools}:25\n"),
        ("LeavesAtOnce", 3, "luthier: error: a tool has called sys.exit(0) in {tools}:29\n"),
        ("BadHook", 2, "a str cannot be used in a hook"),
        ("BadLater", 3, "a str cannot be used in a hook"),
        (
            "AsksForWhatIsNotThere",
            3,
            "luthier: nothing of the tool asks_for_what_is_not_there was inserted in any kernel, and nothing is counted\n",
        ),
        ("None", 2, "there is no tool None: it has Fine, Fails"),
    ],
)
def test_a_tool_that_fails_is_told_by_the_status(tools, name, status, said):
    done = under(tools, name)
    assert done.returncode == status and said.format(tools=tools) in done.stderr, (done.returncode, done.stderr)
    ran = status != 2 and name != "LeavesAtOnce"
    assert ("passed" in done.stdout) == ran and ("Traceback" in done.stderr) == (name == "Fails")


def test_the_programs_own_status_comes_first(tools):
    program = str(rocm.hip("kernels"))
    done = under(tools, "Fails", ("sh", "-c", f"{program} lds; exit 7"), "--strict")
    assert done.returncode == 7 and "AttributeError" in done.stderr
    assert done.stderr.endswith("luthier: strict: 2 launches checked, 0 findings\n")
    killed = under(tools, "Fails", ("sh", "-c", f"{program} lds; kill -KILL $$"), "--strict")
    assert killed.returncode == -signal.SIGKILL and killed.stderr.endswith("2 launches checked, 0 findings\n")


def test_a_tool_that_fails_comes_before_findings(tools):
    race = (rocm.hip("mistakes"), "race_in_lds")
    assert under(tools, "Fine", race, "--strict").returncode == 1
    assert under(tools, "Fails", race, "--strict").returncode == 3


@pytest.mark.parametrize(
    "case, kinds",
    [("null_store", "--strict"), ("null_store", "--strict=hazard"), ("store_to_host_memory", "--strict"), ("trap", "--strict")],
)
def test_a_crash_is_a_crash_in_strict_mode(case, kinds):
    """tests/driver has that these end so without it."""
    if rocm.RUNTIME == "7" and case == "trap":
        pytest.skip("HIP 7 does not abort, but gives an error, as tests/driver/test_rocm7.py has it")
    strict = rocm.mock(rocm.hip("mistakes"), case, options=(kinds,))
    assert strict.returncode == -signal.SIGABRT, strict.stderr
    last = strict.stderr.splitlines()[-1]
    assert last.startswith("luthier: strict: 1 launch checked, "), last
    found = case.endswith(("store", "memory")) and kinds == "--strict"
    assert last.endswith("1 finding" if found else "0 findings"), strict.stderr


def test_a_program_without_launches_is_said_to_be_one():
    done = rocm.mock("/bin/true", options=("--strict",))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "luthier: strict: no launches checked\n")
    assert rocm.mock("/bin/false", options=("--strict",)).returncode == 1
    inherited = rocm.mock("/bin/true", LUTHIER_STRICT="1")
    assert inherited.stderr == "luthier: strict: no launches checked\n"


def test_findings_are_in_the_report_with_a_tool_and_without(tmp_path):
    out = tmp_path / "out.json"
    for more in ((), ("--tool", "instr_count")):
        done = rocm.mock(rocm.hip("mistakes"), "race_in_lds", options=("--strict", "--json", str(out), *more))
        data = json.loads(out.read_text())
        assert (done.returncode, data["status"]) == (1, 0)
        findings, lines = data["strict"]["findings"], done.stderr.count("luthier: launch ")
        assert (data["strict"]["launches"], data["strict"]["found"], len(findings)) == (1, lines, lines)
        assert lines and done.stderr.endswith(f"luthier: strict: 1 launch checked, {lines} findings\n")
        finding = next(finding for finding in findings if finding["kind"] == "lds-race")
        assert finding["kernel"] == "race(int*)" and f"luthier: {finding['line']}\n" in done.stderr
        assert more or any(frame["file"].endswith("mistakes.hip") for frame in finding["source"])


def test_what_children_find_is_found():
    program = str(rocm.hip("mistakes"))
    script = f"{program} race_in_lds; {program} race_in_lds & wait"
    done = rocm.mock("sh", "-c", script, options=("--strict",))
    lines = done.stderr.count("luthier: launch ")
    assert lines and lines % 2 == 0
    assert done.returncode == 1 and done.stderr.endswith(f"luthier: strict: 2 launches checked, {lines} findings\n"), done.stderr


def test_strict_mode_is_for_python_too(tools):
    program = (rocm.hip("mistakes"), "race_in_lds")
    done = lt.trace(program, mock="gfx90a", strict=True, env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.exit_status, done.checked, done.found) == (0, 1, 1, len(done.findings)) and done.processes == []
    assert "lds-race" in {finding["kind"] for finding in done.findings} and "lds-race" in " ".join(map(str, done.findings))
    done = lt.trace(program, ["instr_count"], mock="gfx90a", strict=["hazard"], env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.exit_status, done.checked, done.findings) == (0, 0, 1, []) and done.results("instr_count")
    done = lt.trace((rocm.hip("mistakes"), "null_store"), mock="gfx90a", strict=True, env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.exit_status, done.found) == (-signal.SIGABRT, 128 + signal.SIGABRT, 1)
    with pytest.raises(lt.ToolError, match=r"a tool has called sys.exit\(0\)"):
        lt.trace((rocm.hip("kernels"), "lds"), [f"{tools}:Leaves"], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)


@pytest.mark.parametrize(
    "arguments, why",
    [
        ({"strict": True}, "say which with mock="),
        ({"mock": "gfx90a"}, "expected a tool at least, or strict=True"),
        ({"mock": "gfx90a", "strict": ["nonsense"]}, "no kind 'nonsense'"),
        ({"mock": "gfx90a", "strict": "hazard"}, "a list of kinds"),
    ],
)
def test_what_cannot_be_judged_is_told_before_anything_runs(arguments, why):
    with pytest.raises(lt.ArgumentError, match=why):
        lt.trace(["/bin/false"], **arguments)


def test_a_string_is_a_program_without_arguments(tmp_path):
    odd = tmp_path / "of my own"
    odd.write_text("#!/bin/sh\nexit $#\n")
    odd.chmod(0o700)
    assert lt.trace(str(odd), mock="gfx90a", strict=True).status == 0
    assert lt.trace(odd, mock="gfx90a", strict=True).status == 0
    assert lt.trace([odd, "a", "b"], mock="gfx90a", strict=True).status == 2
    with pytest.raises(lt.ArgumentError, match="true --x: there is no such program: arguments are given in a list"):
        lt.trace("true --x", mock="gfx90a", strict=True)
