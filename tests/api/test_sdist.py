"""The source distribution: all that the package is built of is in it, and what the backend says where it cannot be built.

``LUTHIER_SDIST_DEEP=1`` builds it, as pip does, and a checkout in both ways that pip has (two whole builds of a quarter of an hour of
one core's time), and has each trace a HIP program on a mock GPU.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import rocm
from places import ROOT

BIN = Path(sys.executable).parent
DEEP = pytest.mark.skipif(os.environ.get("LUTHIER_SDIST_DEEP") != "1", reason="deep: LUTHIER_SDIST_DEEP=1, whole builds by pip")
#: What rustc has read for each library, in its own words.
READ = ("lib_core.d", "libluthier_driver.d", "libluthier_agent.d")


def hook(source: Path, name: str, *args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Calls a function of a source tree's backend, as pip does: in that folder, in a process of its own."""
    code = f"import sys, luthier_backend; print(luthier_backend.{name}(*sys.argv[1:]))"
    paths = {"PYTHONPATH": str(source / "tools/backend"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    words = [sys.executable, "-B", "-c", code, *map(str, args)]
    return subprocess.run(words, cwd=source, env={**os.environ, **paths, **environment}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    if not (BIN / "maturin").exists():
        pytest.skip("MATURIN IS MISSING: make setup brings it")
    done = hook(ROOT, "build_sdist", folder)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    assert path.name == done.stdout.splitlines()[-1] == "luthier-0.1.0.tar.gz"
    return path


@pytest.fixture(scope="module")
def names(sdist) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive}


@pytest.fixture(scope="module")
def unpacked(sdist) -> Path:
    """What a user has who unpacks it."""
    with tarfile.open(sdist) as archive:
        # Python 3.11.2, Debian's, has no filters yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(sdist.parent / "unpacked")
    (folder,) = (sdist.parent / "unpacked").iterdir()
    return folder


def test_it_has_every_file_that_rustc_read_for_the_libraries(names):
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    read = set()
    for file in READ:
        _, _, files = (target / file).read_text().partition(": ")
        inside = {Path(name) for name in files.split() if Path(name).is_relative_to(ROOT)}
        read |= {str(path.relative_to(ROOT)) for path in inside if path.is_file() and not path.is_relative_to(target.parent)}
    assert {"crates/codegen/src/lib.rs", "crates/driver/src/lib.rs", "crates/agent/src/lib.rs"} <= read and len(read) > 400
    assert read - names == set()


def test_it_has_what_else_the_package_is_built_of(names):
    def below(folder: str, *ends: str) -> set[str]:
        found = {path for end in ends for path in (ROOT / folder).rglob(f"*{end}")}
        return {
            str(path.relative_to(ROOT))
            for path in found
            if not {"target", "driver", "examples"} & set(path.parts[len(ROOT.parts) + 2 :])
        }

    driver = {f"crates/driver/{path.relative_to(ROOT / 'crates/driver')}" for path in (ROOT / "crates/driver").rglob("*.[chm]*")}
    assert {"crates/driver/dtif.c", "crates/driver/libhsakmt.map", "crates/driver/observers/amd_smi.map"} <= driver
    examples = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    python = below("python/luthier", ".py", ".pyi", ".h", ".json", ".typed")
    assert len(examples) > 5 and len(python) > 100
    assert (driver | examples | python) - names == set()
    backend = {f"tools/backend/{name}.py" for name in ("luthier_backend", "companions", "build_needs")}
    assert (
        backend | {"pyproject.toml", "Cargo.toml", "Cargo.lock", ".cargo/config.toml", "LICENSE", "README.md", "PKG-INFO"}
        <= names
    )


def test_nothing_that_was_built_is_in_it(names):
    built = ("target/", "python/luthier/driver/", "python/luthier/examples/", ".venv/", "dist/")
    assert [name for name in names if name.endswith((".so", ".pyc", ".a", ".o")) or name.startswith(built)] == []


def test_cargo_finds_the_crates_of_all_libraries_in_it(unpacked):
    command = ["cargo", "metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"luthier-python", "luthier-driver", "luthier-agent"} <= {
        crate["name"] for crate in json.loads(done.stdout)["packages"]
    }


def program(folder: Path, name: str, says: str, status: int = 0) -> Path:
    """A program that says one thing, whatever it is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\necho 'error: missing: libPolly.a' >&2\nexit {status}\n")
    path.chmod(0o755)
    return path


def refused(source: Path, name: str, tmp_path: Path, **environment: str) -> str:
    """The line with which a function of the backend ends; nothing was built."""
    done = hook(source, name, tmp_path, **environment)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, (done.stdout, done.stderr)
    assert not (source / "target").exists() and not (source / "python/luthier/driver").exists()
    return done.stderr


@pytest.mark.parametrize("name", ["build_wheel", "build_editable"])
def test_without_llvm_the_backend_ends_with_one_line(unpacked, tmp_path, name):
    line = refused(unpacked, name, tmp_path, LLVM_SYS_221_PREFIX=str(tmp_path / "none"))
    assert line.startswith(
        f"luthier cannot be built: no LLVM 22 to link with (looked for {tmp_path}/none/bin/llvm-config). What helps:"
    )
    assert "`apt-get install llvm-22-dev libpolly-22-dev`" in line and "LLVM_SYS_221_PREFIX=FOLDER" in line


def test_an_llvm_that_is_older_or_has_no_archives_is_named(unpacked, tmp_path):
    config = program(tmp_path / "old/bin", "llvm-config", "21.1.8")
    line = refused(unpacked, "build_wheel", tmp_path, LLVM_SYS_221_PREFIX=str(tmp_path / "old"))
    assert f"{config} is of LLVM 21.1.8" in line
    config = tmp_path / "part/bin/llvm-config"
    config.parent.mkdir(parents=True)
    config.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 22.1.0 && exit\necho "error: missing: libPolly.a" >&2\nexit 1\n')
    config.chmod(0o755)
    line = refused(unpacked, "build_wheel", tmp_path, LLVM_SYS_221_PREFIX=str(tmp_path / "part"))
    assert f"{config} --link-static: error: missing: libPolly.a" in line


def test_an_older_rust_or_none_is_named(unpacked, tmp_path):
    cargo = program(tmp_path / "bin", "cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)")
    line = refused(unpacked, "prepare_metadata_for_build_wheel", tmp_path, PATH=f"{cargo.parent}:/usr/bin:/bin")
    assert f"no Rust 1.90 or later ({cargo} is cargo 1.63.0" in line and "https://rustup.rs" in line
    line = refused(unpacked, "build_wheel", tmp_path, PATH=str(tmp_path), LLVM_SYS_221_PREFIX=str(tmp_path))
    # All at once, and not one after the other.
    assert all(f"no {what} (" in line for what in ("cargo, of Rust 1.90 or later", "C compiler", "strip", "LLVM 22 to link with"))
    assert "`apt-get install gcc libc6-dev binutils llvm-22-dev libpolly-22-dev`" in line


def test_what_this_project_was_built_with_is_enough(tmp_path):
    code = "import build_needs; build_needs.check(); build_needs.check_cargo()"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT / "tools/backend", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_sdist_of_an_sdist_is_refused(unpacked, tmp_path):
    assert refused(unpacked, "build_sdist", tmp_path).endswith(f"{unpacked} is no checkout of the project\n")


def pip_installs(venv: Path, *what: object) -> None:
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    clean = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CARGO_TARGET_DIR", "PYTHONPATH")}
    words = [venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *what]
    done = subprocess.run(words, cwd=venv, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def is_whole(venv: Path, folder: Path) -> None:
    """The installation has its driver, its agent and its examples, and they work."""

    def luthier(*words: object) -> str:
        command = [venv / "bin/luthier", *map(str, words)]
        environment = {**rocm.ENVIRONMENT, "PATH": f"{venv / 'bin'}:/usr/bin:/bin"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    parts = {part["name"]: part["found"] for part in json.loads(luthier("doctor", "--json"))}
    assert parts["driver and agent"].endswith("luthier/driver")
    luthier("examples", "here")
    ours = {
        str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").rglob("*") if "__pycache__" not in path.parts
    }
    assert {str(path.relative_to(folder / "here")) for path in (folder / "here").rglob("*")} == ours
    # The program looks at what its kernels made of its memory; the tool's hooks are compiled by the LLVM of the native module.
    words = ("--tool", "instr_count", "--json", "counted.json", "--", rocm.hip("memory"), "device_memory")
    luthier("trace", "--mock", "gfx90a", *words)
    assert re.search(r'"instructions": [1-9]\d*', (folder / "counted.json").read_text())


@DEEP
def test_pip_installs_the_whole_package_from_the_sdist(sdist, tmp_path):
    rocm.need("hipcc")
    pip_installs(tmp_path / "venv", sdist)
    is_whole(tmp_path / "venv", tmp_path)


@DEEP
def test_pip_installs_the_whole_package_from_a_checkout(tmp_path):
    rocm.need("hipcc")
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    for name, how in (("editable", ["--editable"]), ("copied", [])):
        pip_installs(tmp_path / name, *how, checkout)
        (tmp_path / f"of-{name}").mkdir()
        is_whole(tmp_path / name, tmp_path / f"of-{name}")
