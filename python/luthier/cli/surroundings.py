"""What stands around a mock GPU: the files that the kernel's driver has, for programs that look at them themselves, and
libraries that only observe, where ROCm does not bring them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .rocm import Rocm

_DRIVER = Path(__file__).resolve().parent.parent / "driver"
_OBSERVERS = _DRIVER / "observers"
#: Where the loader looks without being told.
_SYSTEM = ("/opt/rocm/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib")
#: What the mock GPUs' files depend on.
_VARIABLES = ("LUTHIER_MOCK", "LUTHIER_MOCK_AS", "LUTHIER_MOCK_MEMORY", "LUTHIER_MOCK_CUS", "LUTHIER_MOCK_APU")


def prepend(variables: MutableMapping[str, str], name: str, value: Path, separator: str) -> None:
    """Puts a path in front of those that a variable has."""
    old = variables.get(name)
    variables[name] = f"{value}{separator}{old}" if old else str(value)


def lead_to_files(environment: MutableMapping[str, str]) -> None:
    """Has the program find the mock GPUs in /dev and /sys, by a library that is preloaded."""
    environment["LUTHIER_KFD"] = str(_files(environment))
    library = _DRIVER / "libluthier-kfd.so"
    if str(library) not in environment.get("LD_PRELOAD", "").split(":"):
        prepend(environment, "LD_PRELOAD", library, ":")


def stand_around_rocm7(environment: MutableMapping[str, str], rocm: Rocm | None) -> None:
    """What a program on ROCm 7 has: its runtime's threads sleep instead of polling, mock GPUs are in /dev and /sys, and
    libraries that only observe are there."""
    prepend(environment, "LD_PRELOAD", _DRIVER / "libluthier-waits.so", ":")
    lead_to_files(environment)
    named = list(filter(None, environment.get("LD_LIBRARY_PATH", "").split(":")))
    folders = [*(rocm.libraries if rocm is not None else []), *map(Path, named), *map(Path, _SYSTEM)]
    absent = [place for place in sorted(_OBSERVERS.iterdir()) if not any((folder / place.name).exists() for folder in folders)]
    environment["LD_LIBRARY_PATH"] = ":".join([*named, *map(str, absent)])


def _files(environment: Mapping[str, str]) -> Path:
    """The folder with the files of these mock GPUs, which is made once for all programs with the same ones."""
    library = _DRIVER / "libhsakmt.so.1"
    variables = "\n".join(f"{name}={environment.get(name, '')}" for name in _VARIABLES)
    version = library.stat()
    name = hashlib.sha256(f"{variables}\n{version.st_mtime_ns} {version.st_size}".encode()).hexdigest()[:16]
    cache = environment.get("LUTHIER_CACHE")
    places = [
        Path(cache) if cache else Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "luthier",
        Path(tempfile.gettempdir()) / f"luthier-{os.getuid()}",
    ]
    folders = [place / "kfd" / name for place in places]
    for folder in folders:
        if folder.is_dir():
            return folder
    driver = ctypes.CDLL(str(library))
    driver.luthierCheckVariables.restype = ctypes.c_char_p
    wrong = driver.luthierCheckVariables(variables.encode())
    if wrong is not None:
        raise ArgumentError(wrong.decode())
    trouble: OSError | None = None
    for folder in folders:
        new: Path | None = None
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = Path(tempfile.mkdtemp(dir=folder.parent, prefix="new-"))
            status = driver.luthierTopology(os.fsencode(new), variables.encode())
            if status != 0:
                raise OSError(status, os.strerror(status))
            new.rename(folder)
        except OSError as error:
            if new is not None:
                shutil.rmtree(new, ignore_errors=True)
            trouble = error
        if folder.is_dir():  # made by us, or by another meanwhile
            return folder
    raise ArgumentError(f"the files of mock GPUs cannot be written below {places[0]} or {places[1]}: {trouble}")
