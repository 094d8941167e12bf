"""What stands around a mock GPU: the kernel's files, and libraries that only observe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rocm
from places import ROOT

TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
OBSERVERS = ROOT / "python/luthier/driver/observers"
# Versions of symbols, as packages from PyPI ask for them.
VERSIONS = {
    "libroctracer64.so.4": ("roctracer_start@@ROCTRACER_4.0", "roctracer_stop@@ROCTRACER_4.0"),
    "libamd_smi.so.26": ("amdsmi_init@@AMDSMI_1", "amdsmi_get_socket_handles@@AMDSMI_1"),
    "librocprofiler-sdk.so.1": ("rocprofiler_force_configure", "rocprofiler_get_timestamp"),
    "librocm_smi64.so.1": ("rsmi_init", "rsmi_num_monitor_devices"),
}
LOAD = "import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name); print(name)"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, in which the files are made."""
    monkeypatch.setitem(rocm.ENVIRONMENT, "XDG_CACHE_HOME", str(tmp_path / "cache"))
    if "LUTHIER_ROCM7" not in rocm.ENVIRONMENT and "LUTHIER_CACHE" not in rocm.ENVIRONMENT:
        monkeypatch.setitem(rocm.ENVIRONMENT, "LUTHIER_ROCM7", str(Path.home() / ".cache/luthier/rocm7"))


def read(path: str, target: str, *options: str) -> str:
    """A file, as a program that is no part of ours reads it."""
    return rocm.passes("cat", path, target=target, options=("--kfd", *options))


def properties(node: int, target: str, *options: str) -> dict[str, int]:
    return {
        name: int(value)
        for name, value in re.findall(r"^(\w+) (\d+)$", read(f"{TOPOLOGY}/{node}/properties", target, *options), re.M)
    }


@pytest.mark.parametrize("target, version", [("gfx90a", 90010), ("gfx942", 90402), ("gfx1030", 100300), ("gfx1201", 120001)])
def test_topology_tells_the_processor_and_its_size(target, version):
    found = properties(1, target, "--cus", "12", "--memory", "2G")
    assert found["gfx_target_version"] == version and found["simd_count"] == 12 * found["simd_per_cu"]
    assert found["local_mem_size"] == 2 << 30 and found["vendor_id"] == 0x1002 and found["cpu_cores_count"] == 0
    assert read(f"{TOPOLOGY}/1/name", target) == f"{target}\n"
    host = properties(0, target)
    assert host["simd_count"] == 0 and host["cpu_cores_count"] == len(os.sched_getaffinity(0))
    bank = read(f"{TOPOLOGY}/1/mem_banks/0/properties", target, "--memory", "2G")
    assert f"size_in_bytes {2 << 30}\n" in bank


def test_topology_is_what_the_runtime_says():
    rocm.need_rocm7()
    out = rocm.passes("rocminfo", target="gfx942", options=("--rocm", "7", "--cus", "20"))
    gpu = out[out.index("Luthier mock gfx942") :]
    told = {name: int(re.search(rf"{name}: +(\d+)", gpu).group(1)) for name in ("Compute Unit", "Chip ID", "SIMDs per CU")}
    found = properties(1, "gfx942", "--cus", "20")
    assert told["Chip ID"] == found["device_id"] and told["SIMDs per CU"] == found["simd_per_cu"]
    assert told["Compute Unit"] * told["SIMDs per CU"] == found["simd_count"]


def test_every_gpu_has_a_node_a_device_and_links():
    script = (
        f"ls {TOPOLOGY}; ls /dev/dri; test -c /dev/kfd && : <>/dev/kfd && echo opened; cat {TOPOLOGY}/2/io_links/*/properties"
    )
    out = rocm.passes("/bin/sh", "-c", script, target="gfx90a,2", options=("--kfd",))
    assert out.split()[:9] == ["0", "1", "2", "card0", "card1", "renderD128", "renderD129", "opened", "type"]
    assert re.findall(r"node_to (\d)", out) == ["0", "1"]


def test_other_files_are_what_they_are_and_nothing_is_led_without_mock_gpus():
    script = "cat /etc/hostname; ls /sys/class | wc -l"
    plain = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert rocm.passes("/bin/sh", "-c", script, options=("--kfd",)) == plain
    library = ROOT / "python/luthier/driver/libluthier-kfd.so"
    done = subprocess.run(["cat", f"{TOPOLOGY}/1/name"], capture_output=True, env={**os.environ, "LD_PRELOAD": str(library)})
    assert done.returncode == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = rocm.mock("true", options=("--kfd",), XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert done.returncode == 0  # the folder for temporary files takes its place
    assert list(tmp_path.glob("luthier-*/kfd/*/dev/kfd"))


@pytest.mark.parametrize("name", VERSIONS)
def test_observers_have_the_symbols_that_packages_ask_for(name):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", str(OBSERVERS / name / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    symbols = {line.split()[-1] for line in out.stdout.splitlines()}
    assert set(VERSIONS[name]) <= symbols, symbols


def test_observers_are_found_only_where_rocm_has_none(tmp_path):
    rocm.need_rocm7()
    app = (sys.executable, "-c", LOAD)
    assert rocm.passes(*app, *VERSIONS, target="gfx942", options=("--rocm", "7")).split() == list(VERSIONS)
    # One that is there already, and tells by its symbol.
    there = tmp_path / "libroctracer64.so.4"
    subprocess.run(
        ["cc", "-shared", "-x", "c", "-", "-o", str(there)], input="int real(void) { return 7; }", text=True, check=True
    )
    ask = "import ctypes; print(ctypes.CDLL('libroctracer64.so.4').real())"
    found = rocm.passes(sys.executable, "-c", ask, target="gfx942", options=("--rocm", "7"), LD_LIBRARY_PATH=str(tmp_path))
    assert found == "7\n"


def test_observers_say_that_they_observe_nothing():
    rocm.need_rocm7()
    ask = """
import ctypes
smi, text, time = ctypes.CDLL('libamd_smi.so.26'), ctypes.c_char_p(), ctypes.c_uint64()
print(smi.amdsmi_init(2), smi.amdsmi_status_code_to_string(34, ctypes.byref(text)), text.value.decode())
profiler = ctypes.CDLL('librocprofiler-sdk.so.1')
print(profiler.rocprofiler_create_context(None), profiler.rocprofiler_get_timestamp(ctypes.byref(time)), time.value > 0)
"""
    out = rocm.passes(sys.executable, "-c", ask, target="gfx942", options=("--rocm", "7")).splitlines()
    assert out[0].startswith("34 0 AMDSMI_STATUS_DRIVER_NOT_LOADED") and out[1] == "17 0 True"
