"""What type checkers say: of the package, of its stub for the native module, and of what users write.

pyright comes as basedpyright, which is the same checker and needs nothing from the network.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from places import ROOT

USER = '''
import numpy as np

import luthier as lt


@lt.device
def clamped(x: lt.u32, most: lt.u32) -> lt.u32:
    return x if x < most else most


@lt.hook
def outside_of_a_class(counts: lt.ptr[lt.u64], index: lt.u32):
    total: lt.u64 = 0
    for i in range(4):
        total += lt.u64(i)
    scale: lt.f32 = 1
    values = lt.array(lt.u32, 8)
    values[0] = clamped(index, 7)
    if lt.f32(index) * scale > 2.0 and lt.ballot(index > 3) != 0:
        lt.atomic_add(counts + index, total + lt.u64(values[0]))


class Pairs(lt.Tool):
    """A tool with every kind of parameter."""

    counts = lt.DeviceArray(lt.u64, 64, init=range(64))
    heads = lt.DeviceArray(lt.f32, 4)
    entered = lt.Counter()

    def __init__(self, limit: int = 8):
        self.limit = limit

    @lt.hook
    def bump(counts: lt.ptr[lt.u64], entered: lt.counter, register: lt.inout[lt.u32], lds: lt.ptr[lt.u32, "lds"]):
        entered += lt.popcount(lt.exec_mask())
        register = register + 1
        counts[lt.lane_id()] += 1

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for instr in kernel.instructions[: self.limit]:
            if instr.is_store and not instr.flags & {"ds"}:
                kernel.insert_before(instr, self.bump, self.counts, self.entered, lt.Reg("v0"), 0)
                kernel.insert_before(instr, outside_of_a_class, self.counts.at(2), lt.Imm(3))

    def on_exit(self, report: lt.Report) -> None:
        report.result = {"entered": int(self.entered), "first": self.counts[0], "all": self.counts.read().sum()}
        report.table("pairs", self.counts.nonzero(), ("lane", "times"))


def main() -> None:
    code_object = lt.CodeObject.open("a.hsaco", target="gfx90a")
    device: lt.Device = lt.Device("gfx90a", threads=2)
    tool = Pairs(limit=4)
    module = device.load(code_object, tools=[tool])
    array = np.zeros(64, np.float32)
    result = module.run("k", grid=64, block=(64, 1), args=[array, None, np.uint32(3), 2.5], strict=["race"], lds=16)
    print(result.tools, [finding["message"] for finding in result.findings], module.read_symbol("x", "u4"))
    trace = module.trace("k", blocks=1, block=64, args=[array], events=["memory"])
    print(trace.memory["address"], trace.block_counts())
    with device.session(code_object, "k", blocks=1, block=64, args=[array]) as session:
        wave = session.run_to(code_object.kernel("k").instructions[3].address)
        if wave is not None:
            print(wave.registers.vgprs[0], wave.registers.exec)
    lt.instrument(code_object, [tool], kernels=["k"]).save("b.hsaco")
    print({block.address: len(block.instructions) for block in code_object.blocks})
'''

MISTAKES = """
import luthier as lt

device = lt.Device("gfx90a")
device.run("a.hsaco", "k", grid=64, blok=64)
lt.DeviceArray("u64", 3)
lt.Devise("gfx90a")
"""


def _run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, cwd=ROOT)


def _pyright(folder, *paths) -> list[str]:
    """The errors."""
    settings = {
        "include": [str(path) for path in paths],
        "typeCheckingMode": "standard",
        "reportMissingModuleSource": False,
        "extraPaths": [str(ROOT / "python")],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = _run("basedpyright", "--project", folder, "--pythonpath", sys.executable, "--outputjson")
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [f"{d['file']}:{d['range']['start']['line'] + 1}: {d['message']}" for d in found if d["severity"] == "error"]


def _readme() -> str:
    """The README's tool and its launch, as one program."""
    text = (ROOT / "README.md").read_text()
    tool, launch = re.findall(r"```python\n(.*?)```", text[text.index("<!-- example") :], re.DOTALL)[:2]
    return tool + launch


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users")
    (folder / "user.py").write_text(USER)
    (folder / "readme.py").write_text(_readme())
    (folder / "mistakes.py").write_text(MISTAKES)
    return folder


def test_the_package_is_clean_under_mypy():
    done = _run("mypy")
    assert done.returncode == 0, done.stdout


def test_the_package_is_clean_under_pyright(tmp_path):
    optional = ('Import "torch', 'Import "triton')
    assert [e for e in _pyright(tmp_path, ROOT / "python" / "luthier") if not any(o in e for o in optional)] == []


def test_the_native_modules_stub_says_what_is_there():
    done = _run("mypy.stubtest", "luthier._core")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["user", "readme"])
@pytest.mark.parametrize("strict", [False, True])
def test_users_code_is_clean_under_mypy(users, name, strict):
    options = ["--strict", "--disable-error-code=no-untyped-def"] if strict else []
    done = _run("mypy", "--config-file=", *options, users / f"{name}.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["user", "readme"])
def test_users_code_is_clean_under_pyright(users, name, tmp_path):
    assert _pyright(tmp_path, users / f"{name}.py") == []


def test_both_find_users_mistakes(users, tmp_path):
    done = _run("mypy", "--config-file=", users / "mistakes.py")
    lines = {int(found) for found in re.findall(r"mistakes\.py:(\d+): error", done.stdout)}
    assert lines == {5, 6, 7}, done.stdout
    found = {int(error.split(":")[1]) for error in _pyright(tmp_path, users / "mistakes.py")}
    assert found == {5, 6, 7}
