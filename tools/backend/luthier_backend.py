"""What pip calls to build the package (PEP 517, PEP 660): maturin, which makes the native module and packs it, and before that the
libraries and examples that stand beside the module.

So `pip install luthier-VERSION.tar.gz`, `pip install .` and `pip install --editable .` give what wheels have. `make setup` and
tools/wheel call maturin by themselves, and companions.py, as this does.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import build_needs
import companions
import maturin

#: What maturin packs, and, of an editable installation, where Python finds the package.
PACKAGE = companions.ROOT / "python/luthier"
Settings = Mapping[str, Any] | None

# maturin takes a backend that calls it for one that does not, and warns.
os.environ.setdefault("MATURIN_NO_MISSING_BUILD_BACKEND_WARNING", "1")


def build_wheel(folder: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """The name of the wheel that is made in a folder.

    :raises SystemExit: something that the build needs is missing, or fails; the message says what.
    """
    _make_companions()
    return maturin.build_wheel(folder, config_settings, metadata_directory)


def build_editable(folder: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """The name of a wheel that leads to the package as it lies here.

    :raises SystemExit: as in :func:`build_wheel`.
    """
    _make_companions()
    return maturin.build_editable(folder, config_settings, metadata_directory)


def build_sdist(folder: str, config_settings: Settings = None) -> str:
    """The name of the source archive that is made in a folder, of what git lists.

    :raises SystemExit: this is no checkout.
    """
    if not Path(companions.ROOT, ".git").exists():
        raise SystemExit(f"luthier: an sdist is made of what git lists, and {companions.ROOT} is no checkout of the project")
    return maturin.build_sdist(folder, config_settings)


def prepare_metadata_for_build_wheel(folder: str, config_settings: Settings = None) -> str:
    """The name of the folder with the package's metadata.

    :raises SystemExit: there is no cargo, or too old a one.
    """
    build_needs.check_cargo()
    return maturin.prepare_metadata_for_build_wheel(folder, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


# maturin would have a Rust installed where there is none, for a build that fails later where LLVM is missing as well: the check names
# both at once.
def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """No packages but those of pyproject.toml."""
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def _make_companions() -> None:
    build_needs.check()
    try:
        companions.build(PACKAGE)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"luthier: {error.cmd[0]} failed with status {error.returncode}; what it said is above") from None
