"""The wheel, in a clean virtual environment, runs the README's example; it needs nothing of LLVM on the machine."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import compiled
import pytest
from places import ROOT

LIMIT = 30_000_000
pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    # The workers of one run of pytest-xdist share it.
    folder = tmp_path_factory.getbasetemp()
    out = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "wheel"
    if not Path(sys.executable).with_name("maturin").exists():
        pytest.skip("maturin is not installed (make setup installs it)")
    with open(ROOT / "pyproject.toml") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(out.glob("*.whl")):
            subprocess.run([sys.executable, ROOT / "tools/wheel", out], cwd=ROOT, check=True)
    (path,) = out.iterdir()
    return path


def test_name_and_size(wheel):
    assert re.fullmatch(r"luthier-0\.1\.0-cp310-abi3-manylinux_2_28_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size <= LIMIT, f"{wheel.stat().st_size:,} bytes"


def test_contents(wheel, tmp_path):
    from elftools.elf.elffile import ELFFile

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (native,) = (n for n in names if n.startswith("luthier/_core") and n.endswith(".so"))
        archive.extract(native, tmp_path)
    for needed in (
        "luthier/_core.pyi",
        "luthier/py.typed",
        "luthier/tools/instr_count.py",
        "luthier/driver/libhsakmt.so.1",
        "luthier/driver/libluthier-agent.so",
        "luthier/examples/nan_checker.py",
        "luthier/examples/ci/CMakeLists.txt",
        "luthier/verdict/findings.schema.json",
    ):
        assert needed in names
    assert any(n.endswith("LICENSE") for n in names)
    with zipfile.ZipFile(wheel) as archive:
        (licences,) = (archive.read(n).decode() for n in names if n.endswith("licenses/THIRD-PARTY.txt"))
    assert all(part in licences for part in ("\nLLVM\n", "\npyo3 ", "\ngoblin ", "zstd", "Permission is hereby granted"))
    with open(tmp_path / native, "rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        libraries = {tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"}
    assert libraries <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}


def test_libraries_need_no_newer_glibc_than_the_wheels_name_says(wheel, tmp_path):
    """By pyelftools: glibc 2.28 is RHEL 8's; Ubuntu 20.04 and Debian 11 have 2.31."""
    from elftools.elf.elffile import ELFFile

    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if ".so" in name.rsplit("/", 1)[1]]
        archive.extractall(tmp_path, libraries)
    assert len(libraries) >= 6
    for name in libraries:
        with open(tmp_path / name, "rb") as file:
            needs = ELFFile(file).get_section_by_name(".gnu.version_r")
            # A library that only answers needs none.
            pairs = needs.iter_versions() if needs is not None else ()
            versions = {one.name for _, these in pairs for one in these if one.name.startswith("GLIBC_")}
        assert (versions or "observers" in name) and all(tuple(map(int, v[6:].split("."))) <= (2, 28) for v in versions), (
            name,
            versions,
        )


def test_readme_example_in_a_clean_environment(wheel, tmp_path):
    text = (ROOT / "README.md").read_text()
    tool, launch = re.findall(r"```python\n(.*?)```", text[text.index("<!-- example") :], re.DOTALL)[:2]
    (tmp_path / "stores.py").write_text(tool)
    (tmp_path / "example.py").write_text(tool + launch)
    shutil.copy(compiled.code_object("vecadd"), tmp_path / "vecadd.hsaco")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    clean = {"PATH": str(venv / "bin"), "HOME": str(tmp_path)}

    def run(*command) -> str:
        done = subprocess.run([venv / "bin" / command[0], *command[1:]], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = run("python", "example.py")
    assert out.strip() == "[1. 2. 3.] {'stores': {'lanes': 1000}}"
    args = [a for init in ("arange", "ones", "zeros") for a in ("--arg", f"buf:f32[1000]={init}")]
    size = ("--grid", "1024", "--block", "256")
    out = run(
        "luthier",
        "run",
        "vecadd.hsaco",
        "--kernel",
        "vecadd",
        *size,
        *args,
        "--arg",
        "u32=1000",
        "--tool",
        "stores.py",
        "--strict",
    )
    assert "1,000" in out
