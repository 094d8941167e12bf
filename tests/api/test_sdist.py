"""The source distribution has all that the native module is built of, and nothing that was built."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MATURIN = Path(sys.executable).with_name("maturin")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    if not MATURIN.exists():
        pytest.skip("MATURIN IS MISSING: make setup brings it")
    done = subprocess.run([MATURIN, "sdist", "--out", folder], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("luthier-*.tar.gz")
    with tarfile.open(path) as archive:
        manifest = archive.extractfile(next(m for m in archive if m.name.count("/") == 1 and m.name.endswith("/Cargo.toml")))
        assert manifest is not None
        return {m.name.partition("/")[2] for m in archive}, tomllib.loads(manifest.read().decode())


def listed(*folders: str) -> set[str]:
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if "/fuzz/" not in name and (ROOT / name).exists()}


def test_it_has_every_source_of_the_package_and_of_its_crates(names):
    there, manifest = names
    members = manifest["workspace"]["members"]
    assert set(members) == {f"crates/{c}" for c in ("abi", "codegen", "emulator", "isa", "lifter", "loader", "needs", "python")}
    assert listed("python/luthier", *members) - there == set()
    assert {"pyproject.toml", "Cargo.lock", "LICENSE", "README.md", "PKG-INFO"} <= there


def test_nothing_that_was_built_is_in_it(names):
    there, _ = names
    assert [name for name in there if name.endswith((".so", ".pyc", ".a", ".o")) or "/driver/" in name or "target/" in name] == []
