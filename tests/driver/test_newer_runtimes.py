"""What newer versions of ROCr take from the driver: libdtif.so, and structures as ROCm 7 has them.

Debian 12 has no such ROCr; docs/driver.md has what was run with one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import rocm
from places import ROOT

DRIVER = ROOT / "python/luthier/driver"


def functions_of(library: str | Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", str(DRIVER / library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if " T " in line}


def test_every_function_of_the_driver_is_one_of_libdtif_itself():
    named = set(re.findall(r"^ +(\w+);", (ROOT / "crates/driver/libhsakmt.map").read_text(), re.M))
    assert named == functions_of("libhsakmt.so.1") and {"hsaKmtOpenKFD", "DtifCreate"} <= named
    # ROCr takes none that the library only has by way of another one.
    assert named <= functions_of("libdtif.so")
    assert {"amdgpu_bo_import", "drmCommandWriteRead"} <= functions_of("libdtif.so")


def test_what_is_preloaded_hears_of_every_wait_for_a_signal_and_every_change():
    runtime = next(rocm.need_rocm7().glob("usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1"))
    changes = "(silent_)?(store|add|subtract|and|or|xor|exchange|cas)_|wait_"
    wanted = {name for name in functions_of(runtime) if re.match(f"hsa_signal_({changes})", name)}
    assert len(wanted) > 50 and wanted <= functions_of("libluthier-waits.so")


# Places of fields as hsakmttypes.h of ROCm 7 has them.
NODE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.DtifCreate.restype = ctypes.c_void_p
if sys.argv[2] == "newer": assert library.DtifCreate(b"HSA")
assert library.hsaKmtOpenKFD() == 0
node = (ctypes.c_uint32 * 100)()
assert library.hsaKmtGetNodeProperties(1, node) == 0
frequency = (ctypes.c_uint32 * 100)()
device = ctypes.c_void_p()
assert library.hsaKmtGetAMDGPUDeviceHandle(1, ctypes.byref(device)) == 0
assert library.amdgpu_query_gpu_info(device, frequency) == 0
print(node[:2], node[2:24], node[84:92], frequency[18])
"""


def read_node(layout: str) -> str:
    library = "libdtif.so" if layout == "newer" else "libhsakmt.so.1"
    environment = {**rocm.ENVIRONMENT, "LUTHIER_MOCK": "gfx90a", "LUTHIER_MOCK_CUS": "12"}
    command = [sys.executable, "-c", NODE, str(DRIVER / library), layout]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout


def test_structures_are_those_of_the_runtime_that_asks():
    numbers = {layout: list(map(int, re.findall(r"\d+", read_node(layout)))) for layout in ("older", "newer")}
    older, newer = numbers["older"], numbers["newer"]
    assert older[1] == newer[1] == 48
    # Neural cores, a second word of capabilities, the engine it passes for.
    assert newer[2] == newer[9] == newer[20] == 0
    assert [*newer[:2], *newer[3:9], *newer[10:20], *newer[21:24]] == older[:21]
    # Dies, the kernel's number and the family: the last three words.
    assert newer[24:32][5:8] == [1, 0x4C00, 141] and older[24:32][2:5] == [1, 0x4C00, 141]
    assert older[-1] == newer[-1] == 1_000_000
