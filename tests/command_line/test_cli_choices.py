"""Choosing code objects and kernels on the command line; JSON on standard output; grids and blocks."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import compiled
import pytest
from bundles import bundle
from cli import fails, luthier, succeeds

TEMPLATES = """
template <typename T> __attribute__((global)) void twice(T *p) { p[global_x()] *= 2; }
template __attribute__((global)) void twice<float>(float *);
template __attribute__((global)) void twice<int>(int *);
KERNEL plain(u32 *p) { p[global_x()] = 1; }
"""


@pytest.fixture(scope="module")
def templates():
    return compiled.build(TEMPLATES, "gfx90a")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Two bundles behind each other in the section of a host library: a code object of each unit, for the same target."""
    folder = tmp_path_factory.mktemp("library")
    bundles = b""
    for source in (TEMPLATES, "KERNEL other(u32 *p) { p[0] = 2; }"):
        code = compiled.build(source, "gfx90a").read_bytes()
        unit = bundle({"host-x86_64-unknown-linux-gnu": b"", "hipv4-amdgcn-amd-amdhsa--gfx90a": code})
        bundles += unit + bytes(-len(unit) % 4096)
    (folder / "fatbin").write_bytes(bundles)
    assembly = '.section .hip_fatbin,"a",@progbits\n.p2align 12\n.incbin "fatbin"\n'
    command = ["clang-22", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", "library.so"]
    subprocess.run(command, check=True, input=assembly.encode(), cwd=folder)
    return folder / "library.so"


def test_kernels_are_listed_with_demangled_names(templates):
    listed = json.loads(succeeds("kernels", templates, "--json"))
    assert {k["demangled"] for k in listed} == {"void twice<float>(float*)", "void twice<int>(int*)", "plain"}
    assert all(k["arguments"] == 1 and k["vgprs"] > 0 and k["lds"] == 0 for k in listed)
    text = succeeds("kernels", templates)
    assert "void twice<float>(float*)" in text and "3 kernels" in text
    only = json.loads(succeeds("kernels", templates, "*twice<*", "--json"))
    assert [k["demangled"] for k in only] == ["void twice<float>(float*)", "void twice<int>(int*)"]


def test_names_wrap_in_narrow_output_instead_of_being_cut(templates, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = succeeds("kernels", templates)
    assert max(map(len, text.splitlines()[1:])) <= 60 and "…" not in text and "..." not in text
    names = "".join(line[:9].strip() for line in text.splitlines())
    assert "voidtwice<float>(float*)" in names.replace(" ", ""), text


def test_another_program_gets_each_row_in_one_line(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    name = "k" + "_long" * 60
    code = compiled.build(f"KERNEL {name}(u32 *p) {{ p[0] = 1; }}", "gfx90a")
    (row,) = [line for line in succeeds("kernels", code).splitlines() if "k_long" in line]
    assert row.split()[0] == name
    run = succeeds(
        "run", code, "--kernel", name, "--grid", "64", "--block", "64", "--arg", "buf:u32[1]=zeros", "--tool", "opcode_hist"
    )
    assert all(len(line.split()) > 1 for line in run.splitlines() if line.startswith(" ") and line.strip("- "))


def test_a_terminal_gets_the_list_through_the_pager(templates, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "luthier", "kernels", str(templates)]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "PAGER": str(pager), "TERM": "xterm"}
    )
    os.close(theirs)
    said = b""
    # Linux ends a terminal that no process writes to any more with an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 4096):
            said += part
    os.close(ours)
    assert process.wait() == 0
    assert b"paged" in said and b"void twice<float>(float*)" in said and b"3 kernels" in said


def test_kernels_are_chosen_by_patterns(templates):
    assert "<_Z5twiceIfEvPT_>" in succeeds("disasm", templates, "--kernel", "*float*")
    ran = ["--grid", "64", "--block", "64", "--arg", "buf:f32[64]=ones", "--json", "-"]
    assert json.loads(succeeds("run", templates, "--kernel", "void twice<float>*", *ran))["kernel"] == "_Z5twiceIfEvPT_"
    assert "2 kernels fit: _Z5twiceIfEvPT_, _Z5twiceIiEvPT_" in fails("run", templates, "--kernel", "*twice*", *ran)
    assert "has no kernel nothing*" in fails("disasm", templates, "--kernel", "nothing*")


def test_a_file_with_several_code_objects_is_no_dead_end(library):
    said = fails("disasm", library, "--target", "gfx90a")
    assert "there are 2 code objects for gfx90a" in said and "--entry N" in said and "luthier kernels" in said
    entries = re.findall(r"^ +(\d+) +\d+ +\d+ +hip", succeeds("inspect", library, "--list"), re.MULTILINE)
    assert len(entries) == 2
    assert "<plain>" in succeeds("disasm", library, "--entry", entries[0])
    assert "<other>" in succeeds("disasm", library, "--entry", entries[1])
    assert "<other>" in succeeds("disasm", library, "--target", "gfx90a", "--kernel", "oth*")
    assert "kernel other" in succeeds("inspect", library, "--entry", entries[1])
    assert "has entries 0 to 3" in fails("disasm", library, "--entry", "9")
    assert "is not GPU code" in fails("disasm", library, "--entry", "0")
    assert {k["entry"] for k in json.loads(succeeds("kernels", library, "--json"))} == {int(e) for e in entries}


PRINTING = """
import luthier as lt
print("while it is imported")
class Printing(lt.Tool):
    '''Prints at every turn.'''
    def __init__(self):
        print("when it is made")
    def on_kernel(self, kernel):
        print("on a kernel")
    def on_exit(self, report):
        print("at the end")
        report.result = 1
"""


def test_json_on_standard_output_is_json_whatever_tools_print(templates, tmp_path):
    (tmp_path / "printing.py").write_text(PRINTING)
    tool = ["--tool", tmp_path / "printing.py", "--json", "-"]
    run = ["run", templates, "--kernel", "plain", "--blocks", "2", "--block", "64", "--arg", "buf:u32[128]=zeros", *tool]
    for command in (run, ["instrument", templates, "-o", tmp_path / "out.hsaco", *tool]):
        done = luthier(*command)
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
        assert "while it is imported" in done.stderr and "on a kernel" in done.stderr
    assert json.loads(luthier(*run).stdout)["dispatch"]["grid"] == [128, 1, 1]


def test_a_small_grid_is_warned_of_in_one_line(templates):
    arguments = ["--kernel", "plain", "--block", "64", "--arg", "buf:u32[128]=zeros"]
    done = luthier("run", templates, "--grid", "4", *arguments)
    assert done.returncode == 0
    assert done.stderr.startswith("luthier: warning: kernel plain: a grid of 4 work-items") and done.stderr.count("\n") == 1
    assert "one of the arguments --grid --blocks is required" in fails("run", templates, *arguments)
