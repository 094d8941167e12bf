"""Programs for AMD's runtime, compiled once, and run on mock GPUs as a user runs them."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kept_builds
import pytest
import timed
from bundles import compressed
from places import ROOT

from luthier.cli.rocm import set_up_folder

SOURCES = ROOT / "tests/hip"
# What a program of libhsakmt's needs, and nothing of the machine that runs the tests.
_OURS = ("LUTHIER_", "HSA_", "HIP_")
_PLACES = ("LUTHIER_ROCM7", "LUTHIER_CACHE")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(_OURS) or name in _PLACES}
TIMEOUT = 240


# The runtime that programs are built for and run on: 5, the system's; 7, the one of `make setup-rocm7`, for deep runs of tests
# that are about either.
RUNTIME = os.environ.get("LUTHIER_TEST_ROCM", "5")


def need(*tools: str) -> None:
    """Skips, loudly, where Debian's ROCm is not installed."""
    if RUNTIME == "7":
        need_rocm7()
        return
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"ROCM IS MISSING: no {', '.join(missing)}; `make setup-rocm` installs ROCm 5.2.3 on Debian 12")
    driver = ROOT / "python/luthier/driver/libhsakmt.so.1"
    assert driver.exists(), "`make driver` builds the driver, and so does `make setup`"


def need_rocm7() -> Path:
    """The folder in which `make setup-rocm7` has unpacked ROCm 7. Skips, loudly, where it has not."""
    folder = set_up_folder(os.environ)
    if not (folder / "wanted").exists():
        pytest.skip(f"ROCM 7 IS MISSING: nothing in {folder}; `make setup-rocm7` loads it from Debian's packages")
    if shutil.which("clang-offload-bundler-15") is None:
        pytest.skip("ROCM IS MISSING: no clang-offload-bundler-15; `make setup-rocm` installs it with Debian 12's ROCm")
    return folder / "root"


def _links7(root: Path, alone: bool) -> list[str]:
    """What links a program with ROCm 7, and, if it is to run by itself, with the C library that this wants."""
    libraries = f"{root}/usr/lib/x86_64-linux-gnu"
    # What HIP itself needs comes from a C library that is newer than this system's.
    links = [f"-L{libraries}", "-Wl,--allow-shlib-undefined"]
    if alone:
        links += [f"-Wl,--dynamic-linker={root}/usr/lib64/ld-linux-x86-64.so.2", f"-Wl,--disable-new-dtags,-rpath={libraries}"]
        # LLVM looks for what it needs itself in folders of its own, and takes what is loaded already.
        names = subprocess.run(["readelf", "-d", f"{libraries}/libLLVM.so.22.1"], capture_output=True, text=True, check=True)
        needed = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", names.stdout) if Path(libraries, name).exists()]
        links += ["-Wl,--no-as-needed", *(f"-l:{name}" for name in needed if not name.startswith(("libc.", "ld-")))]
    return links


def _build(name: str, command: list[str], joined: bool = False) -> Path:
    """What a compiler makes by this command; see :func:`kept_builds.keep`."""
    environment = {**ENVIRONMENT, "HIP_PLATFORM": "amd", "PATH": f"{_bundler()}:{os.environ['PATH']}"}
    try:
        return kept_builds.keep(command, name, joined=joined, environment=environment)
    except subprocess.CalledProcessError as error:
        raise AssertionError(error.stderr) from None


@functools.cache
def _bundler() -> Path:
    """A folder with the bundler that clang 22 calls by a name without a version, and that Debian's clang-22 does not have."""
    folder, there = kept_builds.FOLDER / "bin", shutil.which("clang-offload-bundler-15")
    folder.mkdir(parents=True, exist_ok=True)
    if there is not None:
        new = folder / f"bundler.{os.getpid()}"
        new.symlink_to(there)
        new.rename(folder / "clang-offload-bundler")
    return folder


@functools.cache
def hip7(name: str, targets: tuple[str, ...] = ("gfx90a",), alone: bool = False, level: str = "O3", shared: bool = False) -> Path:
    """tests/hip/NAME.hip, compiled by clang 22 with ROCm 7's headers and linked with its HIP; ``shared``: as a library."""
    root = need_rocm7()
    source = SOURCES / f"{name}.hip"
    device_libraries = next(root.glob("usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode"))
    flags = [
        "-x",
        "hip",
        "-std=c++17",
        f"-{level}",
        "-g",
        "-w",
        "-D__HIP_PLATFORM_AMD__",
        "--no-offload-new-driver",
        "--hip-link",
        *["-shared", "-fPIC"] * shared,
    ]
    architectures = [f"--offload-arch={target}" for target in targets]
    places = [f"--rocm-device-lib-path={device_libraries}", "-isystem", f"{root}/usr/include"]
    links = [*_links7(root, alone), "-lamdhip64", "-lhiprtc"]
    command = ["clang++-22", *flags, *architectures, *places, str(source), *links]
    return _build(f"{name}-{level}-rocm7", command)


@functools.cache
def hip(name: str, level: str = "O3", targets: tuple[str, ...] = ("gfx90a",), libraries: tuple[str, ...] = ()) -> Path:
    """tests/hip/NAME.hip, compiled by hipcc; for ROCm 7 by clang 22."""
    if RUNTIME == "7":
        return hip7(name, targets, True, level)
    source = SOURCES / f"{name}.hip"
    architectures = [f"--offload-arch={target}" for target in targets]
    command = ["hipcc", "-std=c++17", f"-{level}", "-g", "-w", *architectures, str(source), *libraries]
    return _build(f"{name}-{level}", command)


@functools.cache
def host(name: str) -> Path:
    """tests/hip/NAME.c, compiled for the host."""
    source = SOURCES / f"{name}.c"
    links = ["-lhsa-runtime64"]
    if RUNTIME == "7":
        root = need_rocm7()
        links = ["-isystem", f"{root}/usr/include", *_links7(root, True), *links]
    library = f'-DHIP_LIBRARY="libamdhip64.so.{RUNTIME}"'
    return _build(f"{name}-{RUNTIME}", ["cc", "-O1", "-Wall", library, str(source), *links])


@functools.cache
def preloaded(name: str) -> Path:
    """tests/hip/NAME.c, as a library for ``LD_PRELOAD``."""
    source = SOURCES / f"{name}.c"
    return _build(f"{name}.so", ["cc", "-shared", "-fPIC", "-O1", "-Wall", str(source)])


@functools.cache
def plain(name: str, *flags: str) -> Path:
    """tests/hip/NAME.c, a program that is linked with nothing of ROCm's."""
    source = SOURCES / f"{name}.c"
    return _build(name + "".join(flags), ["cc", "-O1", "-Wall", *flags, str(source)])


@functools.cache
def hsa_tool(name: str) -> Path:
    """tests/hip/NAME.cpp, as a library for ``HSA_TOOLS_LIB``."""
    source = SOURCES / f"{name}.cpp"
    root = f"{need_rocm7()}/usr/include" if RUNTIME == "7" else None
    places = ["-isystem", "/usr/include/hsa"] if root is None else ["-isystem", root, "-isystem", f"{root}/hsa"]
    command = ["clang++-22", "-shared", "-fPIC", "-O1", "-w", *places, str(source)]
    return _build(f"{name}-{RUNTIME}.so", command)


@functools.cache
def tool_module(name: str, target: str = "gfx90a", compression: int = 0, folder: Path = SOURCES, embed: bool = True) -> Path:
    """FOLDER/NAME.hip as a library whose device code is clang 22's, which gives modules a CUID. ``compression``: the version
    of the compressed bundle that it is in, if it is in one. ``embed``: with the bitcode of its device code in it."""
    source = folder / f"{name}.hip"
    wave = "64" if target.startswith("gfx9") else "32"
    common = ["clang++-22", "-x", "hip", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "-cuid=7e57", "-O1", str(source)]
    common += [f"-I{ROOT}/python/luthier/include", f"-DLT_WAVE_SIZE={wave}", *["-Xclang", "-fembed-bitcode=all"] * embed]
    device = ["--cuda-device-only", "-mcode-object-version=4", "--no-gpu-bundle-output"]
    code = _build(f"{name}-{target}.hsaco", [*common, *device])
    targets = f"-targets=host-x86_64-unknown-linux,hipv4-amdgcn-amd-amdhsa--{target}"
    bundler = ["clang-offload-bundler-15", "-type=o", "-bundle-align=4096", targets, "-input=/dev/null", f"-input={code}"]
    bundle = _build(f"{name}.hipfb", [*bundler, "-output"], joined=True)
    if compression:
        plain, bundle = bundle.read_bytes(), Path(f"{bundle}.{compression}")
        new = Path(f"{bundle}.{os.getpid()}")
        new.write_bytes(compressed(plain, compression))
        new.replace(bundle)
    host = ["--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle), "-fPIC", "-shared"]
    return _build(f"{name}-{target}.so", [*common, *host])


@functools.cache
def library_program(name: str) -> Path:
    """tests/hip/NAME.cpp, which uses the library of that name."""
    if RUNTIME == "7":
        pytest.skip(f"{name} of Debian 12 is linked with ROCm 5.2.3")
    source = SOURCES / f"{name}.cpp"
    flags = ["-D__HIP_PLATFORM_AMD__", "-O1", "-w", f"-l{name}", "-lamdhip64"]
    return _build(name, ["clang++-22", str(source), *flags])


@functools.cache
def library_program7(name: str, library: str) -> Path:
    """tests/hip/NAME.cpp, which uses a library of ROCm 7's. Skips, loudly, where that was not loaded."""
    root = need_rocm7()
    if not (root / f"usr/include/{library}").is_dir():
        pytest.skip(f"ROCM 7 HAS NO {library}: `tools/rocm7-packages lib{library}-dev` loads it")
    flags = ["-D__HIP_PLATFORM_AMD__", "-std=c++17", "-O1", "-w", "-isystem", f"{root}/usr/include"]
    source = SOURCES / f"{name}.cpp"
    return _build(f"{name}-rocm7", ["clang++-22", *flags, str(source), *_links7(root, False), f"-l{library}", "-lamdhip64"])


@functools.cache
def code_object(name: str, target: str = "gfx90a") -> Path:
    """tests/kernels/NAME.hip, of a version that this runtime loads."""
    source = ROOT / f"tests/kernels/{name}.hip"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}",
        "-mcode-object-version=4", "--no-gpu-bundle-output", "-O3", str(source),
    ]  # fmt: skip
    return _build(f"{name}-{target}.hsaco", command)


def mock(
    *app, target: str = "gfx90a", options: tuple[str, ...] = (), folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess:
    """`luthier trace --mock TARGET OPTIONS -- APP`, in a folder."""
    command = [sys.executable, "-m", "luthier", "trace", "--mock", target, *options, "--", *map(str, app)]
    environment = {**ENVIRONMENT, **variables}
    return timed.run(command, TIMEOUT, env=environment, cwd=folder)


def said(text: str) -> str:
    """What a program and Luthier have said on standard error, without what ROCm 7's runtime says by itself."""
    runtimes = re.compile(r"(Load|Unload) .*libdtif|Load all DTIF|Dtif\w+ OK|Warning: Resource leak detected")
    return "".join(line for line in text.splitlines(keepends=True) if not runtimes.match(line))


def passes(*app, **how) -> str:
    """Its standard output, if it ends well."""
    done = mock(*app, **how)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
