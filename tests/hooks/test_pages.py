"""Every piece of Python on the pages about tools and hooks runs as it stands, and does what the page says."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess

import compiled
import numpy as np
import pytest
import rocm
from places import ROOT

import luthier as lt

HOOKS, TOOLS = ((ROOT / "docs" / name).read_text() for name in ("hooks.md", "tools.md"))
PIECES = {page: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for page, text in (("hooks.md", HOOKS), ("tools.md", TOOLS))}

KERNEL = """
__attribute__((device, used)) u32 some_variable[2] = {5, 6};
KERNEL kernel(const u32 *in, u32 *out) {
    u32 i = group_x() * 256 + local_x();
    u32 sum = 0;
    for (u32 k = 0; k < 4; k++) sum += __builtin_nontemporal_load(in + (i * 7 + k * 64) % 1024);
    out[i] = sum + i;
}
"""

#: What the pieces about tools name and do not show.
GIVEN = """
class Histogram(lt.Tool):
    counts = lt.DeviceArray(lt.u64, 4)
    waves = lt.Counter()
    records = lt.Channel(64, wave=lt.u64)
    @lt.hook
    def enter(counts: lt.ptr[lt.u64], waves: lt.counter, records: lt.channel):
        lt.wave_atomic_add(counts + 1, 1)
        waves += 1
        lt.record(records, lt.wave_id(), per_wave=True)
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.counts, self.waves, self.records)
    def on_exit(self, report):
        report.result = int(self.waves)
class Addresses(lt.Tool):
    count = lt.Counter()
    @lt.hook
    def enter(count: lt.counter):
        count += 1
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.count)
class MyTool(Addresses):
    pass
"""


def launch() -> dict:
    return {"grid": 1024, "block": 256, "args": [np.zeros(1024, np.uint32), np.zeros(1024, np.uint32)]}


def piece(page: str, begins: str) -> str:
    (found,) = (text for text in PIECES[page] if text.startswith(begins))
    return found


def run(text: str, folder, monkeypatch, **names) -> dict:
    """Runs a piece in a folder, as a file; gives its names."""
    monkeypatch.chdir(folder)
    path = folder / "piece.py"
    path.write_text(text)
    scope = {"lt": lt, "np": np, **names}
    given = folder / "given.py"
    given.write_text(GIVEN)
    exec(compile(GIVEN, str(given), "exec"), scope)
    exec(compile(text, str(path), "exec"), scope)
    return scope


def test_all_pieces_are_tried_here():
    text = (ROOT / "tests/hooks/test_pages.py").read_text()
    tried = [tuple(map(ast.literal_eval, words)) for words in re.findall(r"""piece\(("\S+"), (".*?"|'.*?')\)""", text)]
    for page, pieces in PIECES.items():
        for found in pieces:
            assert any(page == name and found.startswith(begins) for name, begins in tried), found


def counts(tool: lt.Tool, code: object, target: str = "gfx90a") -> lt.RunResult:
    return lt.Device(target).run(code, "kernel", tools=[tool], strict=True, on_rejected="raise", **launch())


@pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
def test_a_first_hook(target, tmp_path, monkeypatch):
    tool = run(piece("hooks.md", "class Strides"), tmp_path, monkeypatch)["Strides"]()
    result = counts(tool, compiled.build(KERNEL, target), target)
    # Four loads of each lane, which are 64 words apart, or come round at 1,024.
    told = tool.far.nonzero()
    assert not result.findings and sum(told.values()) == 3 * 1024 and set(told) == {9, 12}
    assert told[9] > told[12]


def test_a_histogram_in_lds(tmp_path, monkeypatch):
    tool = run(piece("hooks.md", "class Histogram"), tmp_path, monkeypatch)["Histogram"]()
    result = counts(tool, compiled.build(KERNEL, "gfx90a"))
    assert not result.findings and tool.totals.read().sum() == 1024


def test_hooks_of_a_library(tmp_path, monkeypatch):
    (source,) = re.findall(r"```c\+\+\n(.*?)```", HOOKS, re.DOTALL)
    (tmp_path / "hooks.hip").write_text(source)
    tool = run(piece("hooks.md", "class Counting"), tmp_path, monkeypatch)["Counting"]()
    result = counts(tool, compiled.build(KERNEL, "gfx90a"))
    assert result.tools == {"counting": {"total": result.app_instructions}}


def test_a_channel(tmp_path, monkeypatch, capsys):
    tool = run(piece("tools.md", "class Accesses"), tmp_path, monkeypatch)["Accesses"]()
    counts(tool, compiled.build(KERNEL, "gfx90a"))
    assert sum(int(line.split()[0]) for line in capsys.readouterr().out.splitlines()) == tool.accesses.received == 5 * 1024


def test_an_instance_under_a_program(tmp_path, monkeypatch):
    rocm.need("hipcc")
    app = tmp_path / "app"
    app.write_text(f"#!/bin/sh\nexec {rocm.hip('streams')} several\n")
    app.chmod(0o755)
    for name in ("LUTHIER_STRICT", "LUTHIER_MOCK"):
        monkeypatch.delenv(name, raising=False)
    scope = run(piece("tools.md", "tool = Histogram()\ndone = "), tmp_path, monkeypatch)
    assert scope["done"].status == 0 and scope["done"].tools["histogram"] == int(scope["tool"].waves) > 0


def test_one_tool_over_several_modules(tmp_path, monkeypatch):
    objects = {target: compiled.build(KERNEL, target) for target in ("gfx90a", "gfx1100")}
    scope = run(piece("tools.md", "tool = Histogram()\nmodules = "), tmp_path, monkeypatch, objects=objects, launch=launch())
    tool, modules = scope["tool"], scope["modules"]
    assert [int(tool.counts.on(module).read()[1]) for module in modules] == [16, 32] and int(tool.waves) == 48


def test_variants(tmp_path, monkeypatch):
    shutil.copy(compiled.build(KERNEL, "gfx90a"), tmp_path / "x.hsaco")
    device = lt.Device("gfx90a")
    text = piece("tools.md", 'module = device.load("x.hsaco"')
    module = run(text, tmp_path, monkeypatch, device=device, launch=launch())["module"]
    assert [module.run("kernel", variant=name, **launch()).variant for name in ("original", "memory", "full")] == [
        "original",
        "memory",
        "full",
    ]


def test_tools_from_python(tmp_path, monkeypatch):
    path = compiled.build(KERNEL, "gfx90a")
    shutil.copy(path, tmp_path / "lib.hsaco")
    # A file of several code objects: an offload bundle.
    command = [
        "clang-offload-bundler-15",
        "-type=o",
        "-bundle-align=4096",
        "-targets=host-x86_64-unknown-linux,hipv4-amdgcn-amd-amdhsa--gfx90a",
    ]
    if shutil.which(command[0]) is None:
        pytest.skip("ROCM IS MISSING: no clang-offload-bundler-15; `make setup-rocm` installs it")
    subprocess.run([*command, "-input=/dev/null", f"-input={path}", f"-output={tmp_path / 'libhost.so'}"], check=True)
    text = piece("tools.md", 'module = lt.Device("gfx90a").load("lib.hsaco"')
    scope = run(
        text,
        tmp_path,
        monkeypatch,
        a=np.zeros(1024, np.uint32),
        out=np.zeros(1024, np.uint32),
        tool=lt.tools.load("instr_count"),
    )
    assert scope["result"].findings == [] and scope["module"].read_symbol("some_variable", "u4").tolist() == [5, 6]
    assert (tmp_path / "lib.instrumented.hsaco").exists() and scope["made"].entries
