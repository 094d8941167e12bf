"""Builds what stands beside the native module in the package: the driver's and the agent's libraries, and the examples, where
``luthier examples`` finds them.

    tools/backend/companions.py FOLDER [--linker CC] [driver|agent|examples]...

puts the parts that are named, or all, into FOLDER/driver and FOLDER/examples. The Makefile, tools/wheel and the backend that pip
calls build them by this and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DRIVER = ROOT / "crates/driver"
#: The libraries of ROCm that the driver has doubles of, and their sources in crates/driver/observers.
OBSERVERS = {
    "libroctracer64.so.4": "roctracer",
    "librocprofiler-sdk.so.1": "rocprofiler",
    "libamd_smi.so.26": "amd_smi",
    "librocm_smi64.so.1": "rocm_smi",
}
#: What all libraries of C code are compiled with.
SHARED = ("-shared", "-fPIC", "-O2", "-Wall")


def build_driver(folder: Path, linker: str | None = None) -> None:
    """The libraries that put ROCm on mock GPUs: libhsakmt.so.1, which ROCr loads, libdtif.so, which newer ROCr takes the same
    functions from, and those that stand in front of the C library and of ROCm's observers."""
    archive = _cargo_builds("luthier-driver", ".a")
    into = folder / "driver"
    into.mkdir(parents=True, exist_ok=True)
    # Only the last link is by another linker: what cargo compiles with a CC, it compiles anew with another.
    cc = linker or os.environ.get("CC", "cc")
    versions = DRIVER / "libhsakmt.map"
    functions = re.findall(r"^ *([A-Za-z_]+);", versions.read_text(), re.MULTILINE)
    driver = into / "libhsakmt.so.1"
    _link(
        cc,
        driver,
        "-shared",
        # ROCr looks functions up by their names; the linker would drop all that are not named here.
        *(f"-Wl,-u,{name}" for name in functions),
        archive,
        f"-Wl,-soname,{driver.name}",
        f"-Wl,--version-script={versions}",
        *("-Wl,--gc-sections", "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-s", "-Wl,--no-undefined"),
        # Rust has the C library see to what threads leave behind, if it has __cxa_thread_atexit_impl, for which a thread needs the
        # loader's lock; a library that opens the driver when it is loaded has that lock, and waits for the thread. No library has
        # the name that the wrapped function gets, so Rust does that work itself.
        "-Wl,--wrap=__cxa_thread_atexit_impl",
        *("-lpthread", "-ldl", "-lm", "-lc", "-lgcc_s"),
    )
    forwards = archive.with_name("dtif_functions.h")
    forwards.write_text("".join(f"FORWARD({name})\n" for name in functions))
    dtif = (*SHARED, f'-DDTIF_FUNCTIONS="{forwards}"', DRIVER / "dtif.c", "-Wl,--no-as-needed", driver)
    _link(cc, into / "libdtif.so", *dtif, "-Wl,-soname,libdtif.so", "-Wl,-rpath,$ORIGIN", "-Wl,-s")
    _link(cc, into / "libluthier-kfd.so", *SHARED, DRIVER / "kfd.c", "-ldl", "-Wl,-s")
    _link(cc, into / "libluthier-waits.so", *SHARED, DRIVER / "waits.c", "-ldl", "-lpthread", "-Wl,-s")
    # Resolved when it is loaded: a child after fork may not wait for the loader.
    children = (*sorted((DRIVER / "children").glob("*.c")), "-ldl", "-Wl,-z,now", "-Wl,-s")
    _link(cc, into / "libluthier-children.so", *SHARED, *children)
    # Each in a folder of its own: a program gets those that its ROCm does not have.
    for name, source in OBSERVERS.items():
        place, code = into / "observers" / name / name, DRIVER / "observers" / f"{source}.c"
        place.parent.mkdir(parents=True, exist_ok=True)
        names = (f"-Wl,-soname,{name}", f"-Wl,--version-script={code.with_suffix('.map')}")
        _link(cc, place, *SHARED, code, *names, "-Wl,-s")


def build_agent(folder: Path, linker: str | None = None) -> None:
    """The agent, libluthier-agent.so, where ROCr is told to load it from; without symbols."""
    built = _cargo_builds("luthier-agent", ".so", *(("-C", f"linker={linker}") if linker is not None else ()))
    agent = folder / "driver/libluthier-agent.so"
    agent.parent.mkdir(parents=True, exist_ok=True)
    new = agent.with_name(f"{agent.name}.new")
    _run("strip", "--strip-all", "-o", new, built)
    new.replace(agent)


def copy_examples(folder: Path, linker: str | None = None) -> None:
    """The examples, as they are now; a linker is nothing to them."""
    shutil.rmtree(folder / "examples", ignore_errors=True)
    # New times, by which make sees that they were copied.
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignored, copy_function=shutil.copy)


PARTS: dict[str, Callable[[Path, str | None], None]] = {
    "driver": build_driver,
    "agent": build_agent,
    "examples": copy_examples,
}


def build(folder: Path, parts: tuple[str, ...] = tuple(PARTS), linker: str | None = None) -> None:
    """Puts parts, of ``PARTS``, into a folder, which is the package's or will be copied there.

    :raises subprocess.CalledProcessError: cargo, the C compiler or strip fails, and has said why.
    """
    for part in parts:
        PARTS[part](folder.absolute(), linker)


def _cargo_builds(package: str, suffix: str, *more: str) -> Path:
    """Builds a crate's library, and has cargo tell where the file is: a user's configuration may put it elsewhere."""
    command = ("cargo", "rustc", "--release", "--quiet", "--package", package, "--lib", "--message-format")
    said = _run(*command, "json-render-diagnostics", "--", *more)
    messages = [json.loads(line) for line in said.splitlines()]
    name = package.replace("-", "_")
    files = [
        Path(file)
        for message in messages
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == name
        for file in message["filenames"]
    ]
    (found,) = (file for file in files if file.suffix == suffix)
    return found


def _link(cc: str, library: Path, *words: object) -> None:
    """Links a library, and then puts it in its place: processes that have the older one loaded keep that."""
    new = library.with_name(f"{library.name}.new")
    _run(cc, "-o", new, *words)
    new.replace(library)


def _run(*words: object) -> str:
    """What a command prints; its complaints go where ours do."""
    return subprocess.run([str(word) for word in words], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds what stands beside the native module in the package.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--linker", metavar="CC")
    # Options may stand before the parts, which plain parsing refuses.
    args = parser.parse_intermixed_args()
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: the parts are {', '.join(PARTS)}")
    try:
        build(args.folder, tuple(args.parts) or tuple(PARTS), args.linker)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"tools/backend/companions.py: {error.cmd[0]} failed with status {error.returncode}") from None


if __name__ == "__main__":
    main()
