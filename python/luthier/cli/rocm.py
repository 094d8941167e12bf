"""Which ROCm a program runs on, where that is not the one that its loader finds: a folder with AMD's libraries, and with a
C library of their own if the system's is too old for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArgumentError

_RUNTIME = "libhsa-runtime64.so.1"
_LIBRARIES = ("lib", "lib64", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib")
_PROGRAMS = ("bin", "usr/bin")
_LOADERS = ("usr/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2")
_SYSTEM_LOADER = "/lib64/ld-linux-x86-64.so.2"
#: What is preloaded into programs that a loader starts, so that it starts their children, and the variables that this knows
#: the loader by.
_CHILDREN = "libluthier-children.so"
OF_LOADER = ("LUTHIER_LOADER", "LUTHIER_LOADER_PATH", "LUTHIER_LOADER_PRELOAD", "LUTHIER_LOADED_PROGRAM")
#: What a runtime's file has in it that the mock driver can stand below of: a thunk that is a library, or one that gives way.
_WAYS_IN = (b"libhsakmt.so.1\0", b"HSA_ENABLE_DTIF\0")


@dataclass(frozen=True)
class Rocm:
    """A folder with a ROCm in it."""

    folder: Path
    #: Folders of libraries, and of programs.
    libraries: list[Path]
    programs: list[Path]
    #: The dynamic loader of its own C library, if it has one.
    loader: Path | None

    def which(self, name: str) -> str | None:
        """One of its own programs, by a name without a path."""
        places = (folder / name for folder in self.programs if "/" not in name)
        return next((str(place) for place in places if os.access(place, os.X_OK)), None)

    def start(
        self, program: str, words: Sequence[str], environment: Mapping[str, str], first: Path, preload: Sequence[Path]
    ) -> tuple[str, list[str], dict[str, str]]:
        """The program, its words and its environment with which the program runs on these libraries. The folder ``first``, if
        the environment has it, stays in front. A loader is told of the libraries ``preload``; else the environment has them."""
        named = list(filter(None, environment.get("LD_LIBRARY_PATH", "").split(":")))
        own = [*[str(first)] * (str(first) in named), *map(str, self.libraries)]
        path = ":".join(dict.fromkeys([*own, *named]))
        if self.loader is None:
            return program, list(words), {**environment, "LD_LIBRARY_PATH": path}
        # Not the variable: what runs on the system's C library would take this one's.
        program, words = _interpreted(program, words)
        options = ["--argv0", words[0], "--library-path", path]
        # /proc/self/exe is the loader. What the program starts finds the same loader by what is preloaded.
        made = {
            **environment,
            "LUTHIER_LOADER": str(self.loader),
            "LUTHIER_LOADER_PATH": ":".join(own),
            "LUTHIER_LOADED_PROGRAM": os.path.abspath(program),
        }
        if preload:
            # Not the variable, again: these may need this C library.
            made["LUTHIER_LOADER_PRELOAD"] = ":".join(map(str, preload))
            options += ["--preload", made["LUTHIER_LOADER_PRELOAD"]]
        preloaded = made.get("LD_PRELOAD", "").split(":")
        made["LD_PRELOAD"] = ":".join(dict.fromkeys([*filter(None, preloaded), str(first / _CHILDREN)]))
        return str(self.loader), [str(self.loader), *options, program, *words[1:]], made


def set_up_folder(environment: Mapping[str, str]) -> Path:
    """Where ``make setup-rocm7`` puts ROCm 7."""
    if given := environment.get("LUTHIER_ROCM7"):
        return Path(given)
    if cache := environment.get("LUTHIER_CACHE"):
        return Path(cache) / "rocm7"
    cache = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "luthier" / "rocm7"


def find(text: str, environment: Mapping[str, str]) -> Rocm:
    """The ROCm that ``--rocm`` names: a folder, or ``7`` for the one that ``make setup-rocm7`` has made."""
    if text != "7":
        return _of_folder(Path(text).expanduser().absolute(), f"--rocm {text}")
    folder = set_up_folder(environment)
    if not (folder / "wanted").exists():
        raise ArgumentError(f"--rocm 7: there is no ROCm 7 in {folder}: `make setup-rocm7` puts Debian's there")
    return _of_folder(folder / "root", "--rocm 7")


def _of_folder(folder: Path, what: str) -> Rocm:
    libraries = [folder / name for name in _LIBRARIES if (folder / name).is_dir()]
    runtime = next((place / _RUNTIME for place in libraries if (place / _RUNTIME).exists()), None)
    if runtime is None:
        raise ArgumentError(f"{what}: {folder} has no {_RUNTIME} in {', '.join(_LIBRARIES)}")
    loader = next((folder / name for name in _LOADERS if (folder / name).exists()), None)
    # Math libraries bring LLVM's in a folder of its own.
    libraries += sorted((folder / "usr/lib").glob("llvm-*/lib"))
    return Rocm(folder, libraries, [folder / name for name in _PROGRAMS if (folder / name).is_dir()], loader)


def check_way_in(runtime: Path) -> bool:
    """That the mock driver can be put below a runtime; whether that waits by polling then."""
    with open(runtime, "rb") as file:
        data = file.read()
    if not any(way in data for way in _WAYS_IN):
        name = runtime.resolve()
        raise ArgumentError(
            f"{name} cannot be put on mock GPUs: its thunk is inside, and cannot be replaced (ROCm 6.4's is such a one); "
            f"ROCm up to 6.1 and from 7 on can: --rocm PATH, or --rocm 7"
        )
    return _WAYS_IN[0] not in data


def choose(text: str | None, program: str, environment: Mapping[str, str], on_mock_gpus: bool) -> tuple[Rocm | None, bool]:
    """The ROCm for a program: the one that is asked for, or the one of ``make setup-rocm7`` where the program is linked with
    ROCm 7's HIP and the system has none; None where the loader finds the program's. And whether its runtime waits by polling on
    mock GPUs. Refuses runtimes that mock GPUs cannot be below."""
    rocm, runtime = None if text is None else find(text, environment), None
    if text is None:
        linked = _linked(program, environment)
        if isinstance(linked, str):
            if not (set_up_folder(environment) / "wanted").exists():
                raise ArgumentError(
                    f"{program} is linked with {linked}, which is not here: give the folder with --rocm, or have "
                    f"`make setup-rocm7` put ROCm 7 into Luthier's cache"
                )
            rocm = find("7", environment)
        else:
            runtime = linked
    if rocm is not None:
        runtime = next(place / _RUNTIME for place in rocm.libraries if (place / _RUNTIME).exists())
    polls = check_way_in(runtime) if runtime is not None and on_mock_gpus else False
    return rocm, polls


def _linked(program: str, environment: Mapping[str, str]) -> Path | str | None:
    """The runtime's file that a program is linked with; the name of HIP's library where that is missing, and is ROCm 7's."""
    if not program:
        return None
    with open(program, "rb") as file:
        data = file.read(4)
        if data != b"\x7fELF":
            return None
        data += file.read(16 << 20)
    if b"libamdhip64.so" not in data and b"libhsa-runtime64.so" not in data:
        return None
    # As ldd asks; its `--list` stops at what is missing.
    asking = {**environment, "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        listed = subprocess.run([_SYSTEM_LOADER, program], capture_output=True, text=True, env=asking, check=False)
    except OSError:
        return None  # no loader, or no files left: what comes next says so
    found: dict[str, str] = {}
    for line in listed.stdout.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if arrow:
            found[name] = place.rpartition(" (")[0] or place
    if found.get("libamdhip64.so.7") == "not found":
        return "libamdhip64.so.7"
    runtime = found.get(_RUNTIME, "not found")
    return None if runtime == "not found" else Path(runtime)


def _interpreted(program: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """What the kernel would run for a script: the loader itself only runs programs."""
    with open(program, "rb") as file:
        first = file.readline(256)
    if not first.startswith(b"#!"):
        return program, list(words)
    interpreter, *argument = first[2:].decode().strip().split(None, 1)
    return interpreter, [interpreter, *argument, program, *words[1:]]
