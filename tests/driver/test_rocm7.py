"""ROCm 7's runtime and HIP, as Debian's experimental suite has them, on mock GPUs: the same programs as with 5.2.3."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import rocm
import timed
from hip_programs import CASES

import luthier as lt

TARGETS = ("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201")
# ROCm 7 has no images on CDNA3, and tiles them on RDNA3 as the mock device does not.
_FEWER = {
    "arrays": ("gfx90a",),
    "pools": ("gfx90a", "gfx942", "gfx1100", "gfx1201"),
    "devices": ("gfx90a", "gfx942", "gfx1100"),
    "mistakes": ("gfx942", "gfx1201"),
}


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need_rocm7()


def program(name: str):
    return rocm.hip7(name, _FEWER.get(name, TARGETS))


@pytest.mark.parametrize("name, case", [(name, case) for name, cases in CASES.items() for case in cases])
def test_hip_program_has_right_results(name, case):
    # Code of an object version that both runtimes load.
    module = str(rocm.code_object("vecadd"))
    out = rocm.passes(program(name), case, target="gfx90a,2", MODULE=module)
    assert out.strip().endswith(f"{case}: passed")


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "gfx90a"])
def test_kernels_and_streams_have_right_results_on_other_processors(target):
    for name, cases in (
        ("kernels", CASES["kernels"]),
        ("streams", ("several", "graphs")),
        ("memory", ("copies_on_device", "pitched", "volume")),
    ):
        for case in cases:
            assert f"{case}: passed" in rocm.passes(program(name), case, target=target), case


@pytest.mark.parametrize("target", _FEWER["devices"][1:])
def test_processes_share_memory_on_other_processors(target):
    assert "interprocess: passed" in rocm.passes(program("devices"), "interprocess", target=f"{target},2")


def test_a_process_that_ends_waits_for_the_runtimes_handlers():
    # HIP 7.2.4's static destructors take apart what its handlers use, and end the runtime's thread only then.
    out = rocm.passes(program("streams"), "handler_at_the_end", LD_PRELOAD=str(rocm.preloaded("ends")))
    assert out.splitlines() == ["handler_at_the_end: passed", "handled", "libraries end"]


APART = (
    "ordered_by_streams", "default_pool", "mapped", "growing", "memory_is_counted", "shared_by_gpus", "between_processes",
    "graph_allocations", "host_store",
)  # fmt: skip


@pytest.mark.parametrize("case", APART)
def test_memory_that_is_made_apart_from_its_addresses_has_right_results(case):
    assert f"{case}: passed" in rocm.passes(program("pools"), case, target="gfx90a,2")


@pytest.mark.parametrize("target", _FEWER["pools"][1:])
def test_memory_that_is_mapped_has_right_results_on_other_processors(target):
    for case in ("mapped", "ordered_by_streams"):
        assert f"{case}: passed" in rocm.passes(program("pools"), case, target=target), case


def test_a_store_into_addresses_without_memory_is_explained():
    done = rocm.mock(program("pools"), "unmapped_store", target="gfx942")
    assert done.returncode == -6 and "4096 bytes into 16384 reserved addresses" in done.stderr, done.stderr
    assert re.search(r"lane 10\), \S*pools.hip:\d+", done.stderr), done.stderr


def test_memory_that_is_mapped_is_no_finding_in_strict_mode():
    done = rocm.mock(program("pools"), "mapped", target="gfx942", options=("--strict",))
    assert done.returncode == 0 and "0 findings" in done.stderr, done.stderr


def test_arrays_that_the_runtime_does_not_have_are_refused_by_name():
    done = rocm.mock(rocm.hip7("arrays", ("gfx942",)), "plane", target="gfx942")
    assert done.returncode == 1 and "operation not supported" in done.stderr


@pytest.mark.parametrize("target", ["gfx1010", "gfx1030", "gfx1100", "gfx1201"])
def test_arrays_in_tiles_of_each_rdna_hold_what_was_copied(target):
    arrays = rocm.hip7("arrays", ("gfx1010", "gfx1030", "gfx1100", "gfx1201"))
    for case in CASES["arrays"]:
        assert f"{case}: passed" in rocm.passes(arrays, case, target=target), case


# What is said of mistakes: by the driver, and by HIP, which does not abort any more.
MISTAKES = {
    "failed_assert": ("trap 2 is raised", 'Device-side assertion `n > 100 && "too few"\' failed'),
    "trap": (r"kernel traps\(\): trap 2 is raised.*mistakes.hip:\d+", "HSA_STATUS_ERROR_EXCEPTION"),
    "illegal_instruction": (r"kernel illegal\(\)", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_of_a_kernel_is_an_error_of_hips_and_is_explained(case):
    ours, theirs = MISTAKES[case]
    done = rocm.mock(program("mistakes"), case, target="gfx942")
    assert re.search(f"luthier: GPU 0, launch [0-9]+: .*{ours}", done.stderr), done.stderr
    assert theirs in done.stderr and "unspecified launch failure" in done.stderr + done.stdout


def test_wild_store_ends_the_process_and_is_explained():
    done = rocm.mock(program("mistakes"), "wild_store", target="gfx1201")
    assert done.returncode == -6 and re.search(r"mistakes.hip:\d+; 0x[0-9a-f]+ is near nothing", done.stderr), done.stderr


def test_strict_mode_finds_the_line_of_a_race():
    done = rocm.mock(program("mistakes"), "race_in_lds", target="gfx942", options=("--strict",))
    assert done.returncode == 1 and re.search(r"lds-race.*mistakes.hip:\d+", done.stderr), done.stderr


def test_device_printf_reaches_standard_output():
    out = rocm.passes(program("kernels"), "device_printf", target="gfx942").splitlines()
    expected = [f"work-item {i} of block {b}: text {i * 0.5:.2f}" for b in range(2) for i in range(3)]
    assert sorted(out[:-1]) == sorted(expected)


@pytest.mark.parametrize("target", TARGETS)
def test_rocminfo_shows_the_processor_and_its_sizes(target):
    out = rocm.passes("rocminfo", target=target, options=("--rocm", "7", "--cus", "12"))
    assert f"Luthier mock {target}" in out and len(re.findall(r"Compute Unit: +12\b", out)) == 1
    lds = 160 if target == "gfx950" else 64
    assert re.search(rf"GROUP +\n +Size: +{lds}\(", out), out


def test_cards_are_as_large_as_they_are():
    command = [sys.executable, "-m", "luthier", "trace", "--rocm", "7", "--as"]
    for card, name, units, memory in (
        ("MI300X", "AMD Instinct MI300X", 304, 192),
        ("RX 7900 XTX", "AMD Radeon RX 7900 XTX", 96, 24),
    ):
        words = [*command, card, "--", "rocminfo"]
        out = subprocess.run(words, capture_output=True, text=True, env=rocm.ENVIRONMENT, check=True).stdout
        assert name in out and re.search(rf"Compute Unit: +{units}\b", out) and f"{memory << 20}(" in out


def test_log_tells_the_versions_of_the_libraries():
    done = rocm.mock(program("kernels"), "lds", target="gfx942", options=("--log",))
    assert re.search(r"luthier: with .*/libamdhip64\.so\.7\.\d", done.stderr)
    assert re.search(r"luthier: with .*/libhsa-runtime64\.so\.1\.\d", done.stderr)


def test_scripts_run_on_the_folders_libraries(tmp_path):
    script = tmp_path / "devices"
    script.write_text(
        f"#!{sys.executable}\nimport ctypes\nhip = ctypes.CDLL('libamdhip64.so.7')\nn = ctypes.c_int()\n"
        "assert hip.hipGetDeviceCount(ctypes.byref(n)) == 0\nprint('devices', n.value)\n"
    )
    script.chmod(0o755)
    assert "devices 3" in rocm.passes(script, target="gfx1100,3", options=("--rocm", "7"))


def test_tools_count_what_the_device_counts():
    for target in ("gfx90a", "gfx942", "gfx1100", "gfx1201"):
        done = rocm.mock(program("kernels"), "lds", target=target, options=("--log",))
        kernel = r"has retired (\d+) instructions of the kernel reduce"
        expected = [int(n) for n in re.findall(kernel, done.stderr)]
        traced = lt.trace([program("kernels"), "lds"], ["instr_count"], mock=target, select=["reduce*"], env=rocm.ENVIRONMENT)
        assert traced.status == 0 and sum(result["instructions"] for result in traced.results("instr_count")) == sum(expected)


def test_a_processor_that_the_runtime_does_not_know_is_refused_by_name():
    done = rocm.mock(program("kernels"), "lds", target="gfx1250")
    assert done.returncode != 0 and re.search(r"libhsa-runtime64\S+ knows no gfx1250", done.stderr)


def test_older_runtime_refuses_newer_processors_by_name():
    if rocm.RUNTIME == "7":
        pytest.skip("this is about ROCr 5.2.3, and LUTHIER_TEST_ROCM=7 runs programs on 7.2.4")
    rocm.need("hipcc")
    done = rocm.mock(rocm.hip("kernels"), "lds", target="gfx942")
    assert done.returncode != 0 and re.search(r"libhsa-runtime64\S+ knows no gfx942", done.stderr)


def test_nothing_of_the_system_is_needed_for_the_set_up_to_be_found(tmp_path):
    done = rocm.mock("rocminfo", target="gfx942", options=("--rocm", "7"), LUTHIER_ROCM7=str(tmp_path))
    assert done.returncode == 2 and "`make setup-rocm7`" in done.stderr
    done = rocm.mock("rocminfo", target="gfx942", options=("--rocm", str(tmp_path)))
    assert done.returncode == 2 and "has no libhsa-runtime64.so.1" in done.stderr
    done = rocm.mock(program("kernels"), "lds", target="gfx942", LUTHIER_ROCM7=str(tmp_path))
    assert done.returncode == 2 and "libamdhip64.so.7" in done.stderr


IDLE = r"""
import ctypes, resource, time
hip = ctypes.CDLL('libamdhip64.so.7')
memory = ctypes.c_void_p()
for call in range(200):
    assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0 and hip.hipMemset(memory, 1, 4096) == 0
    assert hip.hipDeviceSynchronize() == 0 and hip.hipFree(memory) == 0
before = resource.getrusage(resource.RUSAGE_SELF)
time.sleep(2)
after = resource.getrusage(resource.RUSAGE_SELF)
print('used', after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def test_a_program_that_waits_leaves_the_processor_to_others():
    """The runtime's own threads poll: without what is preloaded they use most of a core."""
    out = rocm.passes(sys.executable, "-c", IDLE, target="gfx942", options=("--rocm", "7"))
    assert float(out.split()[1]) < 0.2, out


@pytest.mark.parametrize("case", ["device", "stream", "event", "copy"])
def test_a_thread_that_waits_for_a_kernel_leaves_the_processor_to_it(case):
    """HIP 7 has the runtime poll for 4 ms, again and again."""
    out = rocm.passes(rocm.hip7("patient"), case)
    _, worked, _, waited, *_ = out.split()
    assert float(waited) > 0.9 and float(worked) < float(waited) / 5, out


def test_a_runtime_without_a_way_in_is_refused_by_name(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libhsa-runtime64.so.1").write_bytes(b"\x7fELF a thunk inside")
    done = rocm.mock("true", target="gfx942", options=("--rocm", str(tmp_path)))
    assert done.returncode == 2 and "its thunk is inside" in done.stderr and done.stderr.count("\n") == 1


def test_an_apu_is_refused_by_name():
    done = rocm.mock(program("kernels"), "lds", options=("--apu",))
    assert done.returncode == 2 and "an APU is not modelled for ROCm 7" in done.stderr and done.stderr.count("\n") == 1


def test_random_work_on_streams_has_right_results():
    # LUTHIER_DRIVER_STRESS=600 is a deep run.
    seconds = os.environ.get("LUTHIER_DRIVER_STRESS", "4")
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--", str(rocm.hip7("stress")), "run"]
    environment = {**rocm.ENVIRONMENT, "SECONDS": seconds}
    done = timed.run(command, float(seconds) * 3 + 240, env=environment)
    assert done.returncode == 0 and "run: passed" in done.stdout, (done.stdout, done.stderr)
