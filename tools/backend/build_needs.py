"""What the build needs of the machine, looked for before cargo starts: what is missing is told in one line, not in cargo's pages."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RUSTUP = "Rust by https://rustup.rs"


@dataclass(frozen=True)
class Missing:
    """Something that the build needs and that is not there."""

    what: str
    #: Where it was looked for, or what is there instead.
    where: str
    #: Debian's packages that bring it.
    packages: str = ""
    #: What to do where no package helps.
    cure: str = ""


def check() -> None:
    """Returns if the whole package can be built here.

    :raises SystemExit: with one line: what is missing, where it was looked for, what to do.
    """
    _refuse_other_machines()
    _tell([*_cargo(), *_programs(), *_llvm(), *_libraries()])


def check_cargo() -> None:
    """Returns if the package's metadata can be made here, for which cargo is enough.

    :raises SystemExit: as in :func:`check`.
    """
    _refuse_other_machines()
    _tell([*_cargo()])


def _refuse_other_machines() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise SystemExit(
            f"luthier cannot be built: it is for Linux on x86-64, and this is {sys.platform} on {platform.machine()}"
        )


def _tell(missing: list[Missing]) -> None:
    if not missing:
        return
    told = "; ".join(f"no {one.what} ({one.where})" for one in missing)
    packages = " ".join(one.packages for one in missing if one.packages)
    cures = [f"`apt-get install {packages}`"] if packages else []
    cures += [one.cure for one in missing if one.cure]
    raise SystemExit(f"luthier cannot be built: {told}. What helps: {'; '.join(cures)}")


def _cargo() -> Iterator[Missing]:
    """A Rust as new as Cargo.toml wants: an older one fails on the first file that it reads."""
    (wanted,) = re.findall(r'^rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if shutil.which("cargo") is None:
        yield Missing(f"cargo, of Rust {wanted} or later", "looked for in PATH", cure=RUSTUP)
        return
    said = _said("cargo", "--version")
    version = re.match(r"cargo ([\d.]+)", said)
    if version is None or _numbers(version[1]) < _numbers(wanted):
        yield Missing(f"Rust {wanted} or later", f"{shutil.which('cargo')} is {said.strip() or 'of no version'}", cure=RUSTUP)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)


def _programs() -> Iterator[Missing]:
    cc = os.environ.get("CC", "cc")
    for name, what, packages in ((cc, "C compiler", "gcc libc6-dev"), ("strip", "strip", "binutils")):
        if shutil.which(name) is None:
            yield Missing(what, f"looked for {name} in PATH", packages)


def _llvm() -> Iterator[Missing]:
    """LLVM's archives. llvm-config knows which there are to be, and names one that is not there."""
    prefix = os.environ.get("LLVM_SYS_221_PREFIX", "/usr/lib/llvm-22")
    config = f"{prefix}/bin/llvm-config"
    packages = "llvm-22-dev libpolly-22-dev"
    cure = (
        "the packages of LLVM 22 from https://apt.llvm.org where the system has none, or LLVM_SYS_221_PREFIX=FOLDER of an LLVM 22"
    )
    what = "LLVM 22 to link with"
    if shutil.which(config) is None:
        yield Missing(what, f"looked for {config}", packages, cure)
        return
    version = _said(config, "--version").strip()
    if not version.startswith("22."):
        yield Missing(what, f"{config} is of LLVM {version or 'without a version'}", packages, cure)
        return
    done = subprocess.run([config, "--link-static", "--libnames", "amdgpu"], capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"status {done.returncode}"
        yield Missing(what, f"{config} --link-static: {said}", packages, cure)


def _libraries() -> Iterator[Missing]:
    """What LLVM's archives need, as archives or as shared libraries."""
    cc = os.environ.get("CC", "cc")
    if shutil.which(cc) is None:
        return
    for name, what, packages in (
        ("z", "zlib", "zlib1g-dev"),
        ("zstd", "zstd", "libzstd-dev"),
        ("stdc++", "C++ library", "g++"),
    ):
        # A compiler that does not find a file gives its name back.
        if not any(Path(_said(cc, f"-print-file-name=lib{name}.{kind}").strip()).is_absolute() for kind in ("a", "so")):
            yield Missing(what, f"{cc} knows no lib{name}.a and no lib{name}.so", packages)


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
