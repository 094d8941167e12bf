"""Instrumented code objects written back into host libraries and offload bundles."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from bundles import bundle, compressed
from cli import fails, luthier, succeeds
from compiled import code_object

import luthier as lt
from luthier import _core

HOST = """
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
extern "C" {
static void *wrapper;
struct dim3 { unsigned x, y, z; };
__host__ void **__hipRegisterFatBinary(void *w) { wrapper = w; static void *handle; return &handle; }
__host__ void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *) {}
__host__ void __hipUnregisterFatBinary(void **) {}
__host__ int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *) { return 0; }
__host__ int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *) { return 0; }
__host__ void *fat_binary() { return ((void **)wrapper)[1]; }
__host__ int answer(int n) { static int calls = 40; return calls += n; }
__global__ void unused(int *p) { *p = 1; }
}
"""

MAIN = """
extern "C" int puts(const char *);
extern "C" void *memmem(const void *, unsigned long, const void *, unsigned long);
int main() { puts((const char *)fat_binary()); return answer(2); }
"""

SCALED = """
extern "C" __global__ void scaled(float *p, float f) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i % 3) p[i] *= f; else p[i] += f;
}
"""

#: One processor that is instrumented, and one that is not.
GFX90A, GFX803 = "hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx803"


@pytest.fixture(scope="module")
def bundled() -> bytes:
    mine, other = code_object("vecadd").read_bytes(), code_object("vecadd", target="gfx803").read_bytes()
    return bundle({"host-x86_64-unknown-linux-gnu-": b"", GFX90A: mine, GFX803: other})


def host(folder: Path, data: bytes, *flags: str, main: bool = False) -> Path:
    """A host library, or a program, that clang has made with ``data`` as its fat binary."""
    source, fat, out = folder / "host.hip", folder / "host.hipfb", folder / ("program" if main else "libhost.so")
    source.write_text(HOST + (MAIN if main else ""))
    fat.write_bytes(data)
    objects = folder / "host.o"
    compile = [
        "clang++-22", "-x", "hip", "--cuda-host-only", "-nogpuinc", "-nogpulib", "-O2", "-w",
        "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat), "-c", str(source), "-o", str(objects),
        "-fno-pie" if "-no-pie" in flags else "-fPIC",
    ]  # fmt: skip
    subprocess.run(compile, check=True)
    subprocess.run(["clang++-22", *([] if main else ["-shared"]), *flags, str(objects), "-o", str(out)], check=True)
    return out


LINKERS = {
    "lld": ("-fuse-ld=lld",),
    "lld, packed relocations": ("-fuse-ld=lld", "-Wl,-z,pack-relative-relocs"),
    "GNU ld": ("-fuse-ld=bfd",),
}


def sections(path: Path) -> dict[str, tuple[str, str, str]]:
    """Name -> address, offset, size, as llvm-readelf says; which has nothing to complain about."""
    text = subprocess.run(["llvm-readelf-22", "-a", "-W", str(path)], check=True, capture_output=True, text=True)
    assert "warning" not in text.stderr + text.stdout and text.stderr == ""
    found = {}
    for line in text.stdout.splitlines():
        words = line.partition("]")[2].split()
        if line.lstrip().startswith("[") and len(words) > 5 and words[0].startswith("."):
            found[words[0]] = tuple(words[2:5])
    return found


def content(path: Path, section: str) -> bytes:
    out = path.parent / "dumped"
    subprocess.run(["llvm-objcopy-22", f"--dump-section={section}={out}", str(path), os.devnull], check=True, capture_output=True)
    return out.read_bytes()


@pytest.mark.parametrize("linker", LINKERS)
def test_a_host_library_comes_back_with_only_its_device_code_changed(linker, bundled, tmp_path):
    library = host(tmp_path, bundled, *LINKERS[linker])
    out = tmp_path / "out" / "libhost.so"
    out.parent.mkdir()
    done = luthier("instrument", library, "--tool", "instr_count", "--check", "-o", out)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "luthier: not instrumented: entry 2: code for gfx803 cannot be instrumented\n"
    assert os.access(out, os.X_OK)

    before, after = sections(library), sections(out)
    assert list(before) == list(after)
    assert [s for s in before if before[s] != after[s]] == [".hip_fatbin"]
    for section, (_, _, size) in before.items():
        if section not in (".hip_fatbin", ".hipFatBinSegment", ".rela.dyn", ".relr.dyn", ".bss", ".relro_padding") and int(
            size, 16
        ):
            assert content(library, section) == content(out, section), section

    old, new = _core.Container.open(str(library)), _core.Container.open(str(out))
    assert [(e["id"], e["bundle"]) for e in old.entries] == [(e["id"], e["bundle"]) for e in new.entries]
    assert old.read(2) == new.read(2) and old.read(1) != new.read(1)

    # The library works, and finds the new bundle.
    loaded = ctypes.CDLL(str(out))
    loaded.fat_binary.restype = ctypes.c_void_p
    assert (loaded.answer(2), loaded.answer(2)) == (42, 44)
    start = loaded.fat_binary()
    assert start % 4096 == 0
    data = ctypes.string_at(start, int(after[".hip_fatbin"][2], 16))
    assert _core.Container.from_bytes(data).read(1) == new.read(1)


@pytest.mark.parametrize("flags", [("-no-pie",), ("-pie",), ("-pie", "-fuse-ld=bfd"), ("-no-pie", "-fuse-ld=bfd")])
def test_a_program_with_instrumented_device_code_runs(flags, bundled, tmp_path):
    flags = flags if len(flags) > 1 else (*flags, "-fuse-ld=lld")
    program = host(tmp_path, bundled, *flags, main=True)
    out = tmp_path / "instrumented"
    succeeds("instrument", program, "--tool", "opcode_hist", "--entry", "1", "-o", out)
    sections(out)
    for path in (program, out):
        done = subprocess.run([str(path)], capture_output=True, text=True)
        assert done.returncode == 42 and done.stdout.startswith("__CLANG_OFFLOAD_BUNDLE__"), (path, done)


def test_the_kernels_in_it_count_and_compute_the_same(bundled, tmp_path):
    library = host(tmp_path, bundled, "-fuse-ld=lld")
    out = tmp_path / "out.so"
    succeeds("instrument", library, "--tool", "instr_count", "-o", out)
    rng = np.random.default_rng(1)
    a, b = (rng.random(1000, dtype=np.float32) for _ in range(2))
    results = []
    for path in (library, out):
        module = lt.Device("gfx90a").load(path)
        c = np.zeros(1000, np.float32)
        result = module.run("vecadd", grid=1024, block=256, args=[a, b, c, np.int32(1000)])
        results.append(c)
    assert (results[0] == results[1]).all() and (results[0] == a + b).all()
    assert module.read_symbol("instr_count.count", "uint64").sum() == result.app_instructions < result.instructions


def test_every_target_of_a_bundle_is_instrumented(tmp_path):
    targets = ("gfx906", "gfx90a", "gfx1030", "gfx1100", "gfx1201")
    file, out = tmp_path / "bundle", tmp_path / "out"
    entries = {f"hipv4-amdgcn-amd-amdhsa--{t}": code_object("vecadd", target=t).read_bytes() for t in targets}
    file.write_bytes(bundle(entries))
    assert luthier("instrument", file, "--tool", "instr_count", "-o", out).stderr == ""
    for target in targets:
        module = lt.Device(target).load(out)
        a, c = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
        result = module.run("vecadd", grid=128, block=64, args=[a, a, c, np.int32(100)])
        assert (c == 2 * a).all()
        assert module.read_symbol("instr_count.count", "uint64").sum() == result.app_instructions


@pytest.mark.parametrize("form", ["plain", (2, 0), (2, 1), (3, 0), (3, 1)])
def test_bundles_of_every_format_are_written_back(form, bundled, tmp_path):
    file, out, report = tmp_path / "bundle", tmp_path / "out", tmp_path / "report.json"
    file.write_bytes(bundled if form == "plain" else compressed(bundled, *form))
    succeeds("instrument", file, "--tool", "instr_count", "--target", "gfx90a", "--json", report, "-o", out)
    assert out.read_bytes()[:8] == file.read_bytes()[:8]
    old, new = _core.Container.open(str(file)), _core.Container.open(str(out))
    assert [e["id"] for e in old.entries] == [e["id"] for e in new.entries]
    assert new.read(2) == old.read(2)
    assert lt.CodeObject.open(out, target="gfx90a").core.instrumented
    (entry,) = json.loads(report.read_text())["entries"]
    assert (entry["index"], entry["id"], entry["left"]) == (1, GFX90A, None) and entry["instrumentation"]["points"] > 0


def test_what_cannot_be_done_is_said_and_leaves_no_file(bundled, tmp_path):
    file, out = tmp_path / "bundle", tmp_path / "out"
    file.write_bytes(bundled)

    def error(*args) -> str:
        message = fails("instrument", file, "--tool", "instr_count", "-o", out, *args)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle"]
        return message

    assert "gfx803 code cannot be lifted" in error("--entry", "2")
    assert "entry 0 is not a code object" in error("--entry", "0")
    assert "entry 7 is not a code object" in error("--entry", "7")
    assert "no code object for gfx906" in error("--target", "gfx906")
    assert "none of the code objects that can be instrumented has a kernel nothing" in error("--kernel", "nothing")
    file.write_bytes(bundle({GFX803: code_object("vecadd", target="gfx803").read_bytes()}))
    assert "nothing in it can be instrumented: code for gfx803" in error()
    damaged = bytearray(bundled)
    damaged[-40_000:] = bytes(40_000)
    file.write_bytes(bytes(damaged))
    error()


def test_an_instrumented_object_shows_whose_instructions_are_whose(tmp_path):
    path, out = code_object("vecadd", flags=("-g",)), tmp_path / "out.hsaco"
    succeeds("instrument", path, "--tool", "instr_count", "-o", out)
    original, copy = lt.CodeObject.open(path), lt.CodeObject.open(out)
    (kernel,) = [f for f in copy.functions if f.kind == "kernel"]
    (function,) = [f for f in original.functions if f.kind == "kernel"]
    assert kernel.name == "vecadd" and kernel.copied_from == function.address
    assert "vecadd.original" in [f.name for f in copy.functions]
    mine = [i for i in kernel.instructions if not i.is_inserted]
    theirs = list(function.instructions)
    assert [i.origin for i in mine] == [i.address for i in theirs]
    # Every instruction of the application's has its source, inserted ones have none.
    assert [i.source for i in mine] == [i.source for i in theirs] and theirs[0].source
    inserted = [i for i in kernel.instructions if i.is_inserted]
    assert inserted and not any(i.source for i in inserted) and {i.origin for i in inserted} == {None}
    columns = copy.columns("address", "origin")
    origins = dict(zip(columns["address"].tolist(), columns["origin"].tolist()))
    assert all(origins[i.address] == (2**64 - 1 if i.is_inserted else i.origin) for i in kernel.instructions)

    lines = succeeds("disasm", out, "--kernel", "vecadd").splitlines()
    assert sum(line.startswith("+\t") for line in lines) == len(inserted)
    assert sum("; from 0x" in line for line in lines) == len(mine)
    text = succeeds("inspect", out)
    assert f"original    {function.address:#x}; {len(mine)} instructions of the application's, {len(inserted)} inserted" in text
    lifted = json.loads(succeeds("lift", out, "--emit", "json", "--kernel", "vecadd"))
    (record,) = lifted["functions"]
    assert record["copied_from"] == function.address
    assert sum(b["inserted"] for b in record["blocks"]) == len(inserted)
    assert json.loads(succeeds("lift", path, "--emit", "json"))["inserted"] is None


def test_an_instrumented_object_is_not_instrumented_again(tmp_path):
    once = tmp_path / "once.hsaco"
    succeeds("instrument", code_object("vecadd"), "--tool", "instr_count", "-o", once)
    message = fails("instrument", once, "--tool", "opcode_hist", "-o", tmp_path / "twice.hsaco")
    assert "instrumented already" in message and "all tools" in message


def test_termination_leaves_no_unfinished_file(tmp_path):
    tool = tmp_path / "slow.py"
    tool.write_text(
        "import pathlib, time\nimport luthier as lt\n\nclass Slow(lt.Tool):\n    def on_kernel(self, kernel):\n"
        f"        pathlib.Path({str(tmp_path / 'started')!r}).touch()\n        time.sleep(60)\n"
    )
    out = tmp_path / "out.hsaco"
    out.write_bytes(b"before")
    command = [sys.executable, "-m", "luthier", "instrument", str(code_object("vecadd")), "--tool", str(tool), "-o", str(out)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert any(p.name.startswith(".luthier-") for p in tmp_path.iterdir())
    child.send_signal(signal.SIGTERM)
    _, text = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM and text == "luthier: terminated by SIGTERM\n"
    assert out.read_bytes() == b"before"
    assert not any(p.name.startswith(".luthier-") for p in tmp_path.iterdir())
