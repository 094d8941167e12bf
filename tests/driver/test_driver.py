"""AMD's own runtime, ROCr and HIP 5.2.3 of Debian 12, on mock GPUs: programs of tests/hip, which check their results. With
``LUTHIER_TEST_ROCM=7`` ROCm 7.2.4."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import rocm
import timed
from hip_programs import CASES, NOT_HERE, OF_HIP_7

import luthier as lt

TARGETS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx1010", "gfx1030")


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc", "rocminfo")


def test_every_case_is_listed():
    for name, cases in CASES.items():
        listed = subprocess.run([rocm.hip(name)], capture_output=True, text=True, env=rocm.ENVIRONMENT)
        assert set(listed.stdout.split()) - NOT_HERE - OF_HIP_7 == set(cases), name


@pytest.mark.parametrize("level", ["O0", "O3"])
@pytest.mark.parametrize("name, case", [(name, case) for name, cases in CASES.items() for case in cases])
def test_hip_program_has_right_results(name, case, level):
    module = str(rocm.code_object("vecadd"))
    out = rocm.passes(rocm.hip(name, level), case, target="gfx90a,2", MODULE=module)
    assert out.strip().endswith(f"{case}: passed")


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "gfx90a"])
def test_kernels_have_right_results_on_other_processors(target):
    program = rocm.hip("kernels", "O3", TARGETS)
    for case in ("lds", "scratch", "partitions", "math"):
        assert f"{case}: passed" in rocm.passes(program, case, target=target)
    arrays = rocm.hip("arrays", "O3", TARGETS)
    for case in CASES["arrays"]:
        assert f"{case}: passed" in rocm.passes(arrays, case, target=target)


def test_hip_program_has_right_results_on_an_apu():
    if rocm.RUNTIME == "7":
        pytest.skip("an APU is refused by name on ROCm 7 (tests/driver/test_rocm7.py)")
    for name, case in (("kernels", "lds"), ("streams", "threads"), ("memory", "symbols"), ("arrays", "plane")):
        assert f"{case}: passed" in rocm.passes(rocm.hip(name), case, options=("--apu",))


@pytest.mark.parametrize("setting", [{"HSA_ENABLE_INTERRUPT": "0"}, {"HSA_ENABLE_SDMA": "0"}], ids=" ".join)
def test_runtime_without_interrupts_or_copy_engines_has_right_results(setting):
    for name, case in (("streams", "several"), ("streams", "callbacks"), ("memory", "pitched"), ("kernels", "scratch")):
        assert f"{case}: passed" in rocm.passes(rocm.hip(name), case, **setting)


#: The kernels by which HIP copies and fills.
COPIES = {"5": {"Linear", "Fill", "Fill2D"}, "7": {"Stepped", "SteppedFill", "Fill2D"}}[rocm.RUNTIME]


def test_driver_does_what_the_kernels_that_copy_do():
    program = rocm.hip("memory")
    done = {who: rocm.mock(program, "copies_on_device", options=("--copies", who, "--log")) for who in ("driver", "kernels")}
    for who, run in done.items():
        assert run.returncode == 0 and "passed" in run.stdout, (who, run.stderr[-2000:])
    stood_in = re.findall(r"that was (\w+), which the driver has done itself", done["driver"].stderr)
    assert COPIES <= set(stood_in) and "the trial differs" not in done["driver"].stderr
    assert "the driver has done itself" not in done["kernels"].stderr


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030"])
def test_waves_take_turns_as_the_schedule_says(target):
    """Behind a barrier waves go on side by side. Later one goes on for long, and those after it read what it writes; where all
    read first, none does."""
    program, waves = rocm.hip("turns", targets=(target,)), 256 // (64 if target == "gfx90a" else 32)

    def late(schedule: str, *args: str) -> str:
        said = rocm.passes(program, *args, target=target, options=("--schedule", schedule)).splitlines()[-1]
        return said.removesuffix(" lanes saw what was written later")

    assert [late("fair"), late("alternate")] == ["0 of 256", "0 of 256"]
    assert [late("fair", "linger"), late("alternate", "linger")] == [f"{256 - 256 // waves} of 256", "0 of 256"]
    assert late("random:3", "linger") == late("random:3", "linger")


def test_kernel_that_only_has_the_name_of_a_copy_runs_itself():
    done = rocm.mock(rocm.hip("memory"), "name_of_a_copy", options=("--log",))
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr[-2000:]
    assert "the trial differs" in done.stderr and "that was Linear" not in done.stderr


def test_device_printf_reaches_standard_output():
    out = rocm.passes(rocm.hip("kernels"), "device_printf").splitlines()
    expected = [f"work-item {i} of block {b}: text {i * 0.5:.2f}" for b in range(2) for i in range(3)]
    assert sorted(out[:-1]) == sorted(expected)


def test_the_device_alone_prints_what_hip_prints():
    program = rocm.hip("printing")
    printed = rocm.passes(program, "print").splitlines()[:-1]
    output = io.StringIO()
    lt.Device("gfx90a", output=output).run(program, "_Z3sayf", grid=64, block=64, args=[np.float32(1.5)])
    assert output.getvalue().splitlines() == printed and len(printed) == 6 * 4


def test_without_the_driver_the_same_program_finds_no_gpu():
    done = subprocess.run([rocm.hip("memory"), "device_memory"], capture_output=True, text=True, env=rocm.ENVIRONMENT)
    assert done.returncode != 0 and "passed" not in done.stdout


def test_rocminfo_shows_the_mock_gpus():
    out = rocm.passes("rocminfo", target="gfx906,2", options=("--memory", "2G", "--cus", "12"))
    assert out.count("Luthier mock gfx906") == 2 and out.rstrip().endswith("*** Done ***")
    assert out.count("amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-") == 2
    assert len(re.findall(r"Compute Unit: +12\b", out)) == 2 and "2097152(0x200000) KB" in out


def test_eight_gpus_work_together():
    assert rocm.passes("rocminfo", target="gfx906,8").count("Luthier mock gfx906") == 8
    for case in ("all_devices", "ring"):
        assert f"{case}: passed" in rocm.passes(rocm.hip("devices"), case, target="gfx90a,8")


# Mistakes, what is said of them, and how the process ends. Faults of memory are ROCr 5's to tell, or, below ROCm 7, ours.
FAULT = {"5": "Memory access fault by GPU node-1", "7": "no handler is registered for memory faults; the process ends"}[
    rocm.RUNTIME
]
MISTAKES = {
    "wild_store": ("a store to 0x[0-9a-f]+, which is in no allocation", FAULT),
    "null_store": ("0x8 is next to the null pointer", FAULT),
    "store_to_host_memory": ("which is in no allocation", FAULT),
    "failed_assert": ("trap 2 is raised", 'Device-side assertion `n > 100 && "too few"\' failed'),
    "abort_in_kernel": ("trap 2 is raised", "HSA_STATUS_ERROR_EXCEPTION"),
    "trap": (r"kernel traps\(\): trap 2 is raised.*mistakes.hip:\d+", "HSA_STATUS_ERROR_EXCEPTION"),
    "illegal_instruction": (r"kernel illegal\(\)", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"),
    "reads_an_unknown_image": ("image_load: the resource's TYPE 0x1 is not modelled", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"),
    "endless": ("stopped after", "HSA_STATUS_ERROR_EXCEPTION"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_ends_as_on_a_gpu_and_is_explained(case):
    ours, theirs = MISTAKES[case]
    # Only the endless kernel: others wait for the host in a loop, for as long as the machine is busy.
    options = ("--watchdog", "2000000") if case == "endless" else ()
    done = rocm.mock(rocm.hip("mistakes"), case, options=options)
    # An error of a queue is the end of the process for HIP 5. HIP 7 gives it to the program, which goes on.
    is_given = rocm.RUNTIME == "7" and theirs != FAULT
    assert done.returncode == (0 if is_given else -signal.SIGABRT), (done.returncode, done.stdout, done.stderr)
    assert ("hipDeviceSynchronize: unspecified launch failure" in done.stdout) == is_given
    assert re.search(f"luthier: GPU 0, launch [0-9]+: .*{ours}", done.stderr), done.stderr
    assert theirs in done.stderr
    assert "panicked" not in done.stderr


def test_store_out_of_bounds_is_found_where_every_allocation_has_its_own():
    program = rocm.hip("mistakes")
    for case, near in (
        ("store_behind_the_end", "8 bytes past the end of the 4096 bytes"),
        ("store_to_freed_memory", "that were freed"),
    ):
        done = rocm.mock(program, case, HSA_DISABLE_FRAGMENT_ALLOCATOR="1")
        assert done.returncode == -signal.SIGABRT and near in done.stderr, done.stderr
        assert re.search(r"kernel store\(int\*, long\): .*mistakes\.hip:\d+", done.stderr)


def test_strict_mode_finds_a_race_in_a_program():
    done = rocm.mock(rocm.hip("mistakes"), "race_in_lds", options=("--strict",))
    assert done.returncode == 1
    found = done.stderr.count("luthier: launch ")
    assert found and done.stderr.endswith(f"luthier: strict: 1 launch checked, {found} findings\n")
    finding = next(line for line in done.stderr.splitlines() if "lds-race" in line)
    assert re.match(r"luthier: launch \d+: lds-race: .*race\(int\*\).*mistakes\.hip:\d+", finding)
    quiet = rocm.mock(rocm.hip("mistakes"), "race_in_lds", options=("--strict=hazard",))
    assert (quiet.returncode, rocm.said(quiet.stderr)) == (0, "luthier: strict: 1 launch checked, 0 findings\n")


def test_strict_mode_finds_nothing_in_what_is_right():
    done = rocm.mock(rocm.hip("kernels"), "lds", options=("--strict",))
    assert (done.returncode, rocm.said(done.stderr)) == (0, "luthier: strict: 2 launches checked, 0 findings\n")


def test_program_leaves_with_its_own_status_while_a_kernel_runs():
    program = rocm.hip("mistakes")
    # HIP 7 waits for its streams when the program's code is unloaded, so that only the watchdog ends this kernel.
    options = ("--watchdog", "2000000") if rocm.RUNTIME == "7" else ()
    assert rocm.mock(program, "leaves_while_a_kernel_runs", options=options).returncode == 7
    assert rocm.mock(program, "leaves_at_once").returncode == 8


HOSTILE = [
    "unknown_type", "unknown_vendor_format", "no_kernel", "wild_kernel", "no_grid", "large_workgroup", "too_much_lds",
    "random_packets", "signal_freed_early", "places_beyond_the_ring", "doorbells_out_of_order", "barriers",
    "queue_destroyed_while_it_waits",
]  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_broken_packet_is_an_error_of_its_queue_and_no_other(case):
    assert f"{case}: passed" in rocm.passes(rocm.host("hostile"), case)


def test_wild_completion_signal_is_a_memory_fault():
    done = rocm.mock(rocm.host("hostile"), "wild_signal")
    assert done.returncode == -signal.SIGABRT and FAULT in done.stderr
    assert "its completion signal at 0x7000000000 cannot be written" in done.stderr


def test_random_work_on_streams_has_right_results_and_leaves_no_memory():
    # LUTHIER_DRIVER_STRESS=600 is the run that docs/driver.md tells of.
    seconds = os.environ.get("LUTHIER_DRIVER_STRESS", "5")
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--", str(rocm.hip("stress")), "run"]
    environment = {**rocm.ENVIRONMENT, "SECONDS": seconds}
    done = timed.run(command, float(seconds) * 3 + 240, env=environment)
    assert done.returncode == 0 and "run: passed" in done.stdout, (done.stdout, done.stderr)


def test_processes_leave_nothing_behind():
    # LUTHIER_DRIVER_PROCESSES=1000 is the run that docs/driver.md tells of.
    def shared() -> set[str]:
        # Python's multiprocessing has semaphores there, of tests that run meanwhile.
        return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")}

    program, before = rocm.host("hostile"), shared()
    for _ in range(int(os.environ.get("LUTHIER_DRIVER_PROCESSES", "5"))):
        assert "barriers: passed" in rocm.passes(program, "barriers")
    killed = rocm.hip("mistakes")
    with subprocess.Popen(
        [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--", str(killed), "endless"], env=rocm.ENVIRONMENT
    ) as process:
        time.sleep(2)
        process.kill()
    assert shared() <= before


def test_bad_environment_is_said_in_a_line():
    done = rocm.mock("rocminfo", target="gfx90a", LUTHIER_MOCK_CUS="many")
    assert "luthier: error: LUTHIER_MOCK_CUS=many is not possible" in done.stderr and done.returncode == 2
    done = rocm.mock("rocminfo", target="gfx90a", LUTHIER_EMULATOR_SIMD="sse9")
    assert done.returncode != 0
    assert re.findall(r"^luthier: .*", done.stderr, re.M) == [
        "luthier: LUTHIER_EMULATOR_SIMD=sse9 is not possible: it is base or avx2"
    ]
