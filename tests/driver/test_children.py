"""Programs that a program on ROCm 7 starts run on ROCm 7 as well, however they are started."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rocm

ROCM7 = ("--rocm", "7")
BY_PATH = (
    "execve", "vfork", "execv", "execl", "execle", "execvp", "execvpe", "execlp", "fexecve", "execveat", "posix_spawn",
    "posix_spawnp", "system", "popen",
)  # fmt: skip
BY_NAME = ("execvp", "execvpe", "execlp", "posix_spawnp", "system", "popen")


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need_rocm7()


def kernels() -> Path:
    return rocm.hip7("kernels", ("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201"))


def starts(way: str, *words, **how) -> subprocess.CompletedProcess:
    return rocm.mock(rocm.plain("starts"), way, *words, target="gfx942", options=ROCM7, **how)


def script(place: Path, text: str) -> Path:
    place.write_text(text)
    place.chmod(0o755)
    return place


def is_right(done: subprocess.CompletedProcess) -> bool:
    assert done.returncode == 0 and "lds: passed" in done.stdout, (done.returncode, done.stdout, done.stderr[-2000:])
    return True


@pytest.mark.parametrize("way", BY_PATH)
def test_a_child_has_the_mock_gpus_by_path(way):
    assert is_right(starts(way, kernels(), "lds"))


@pytest.mark.parametrize("way", BY_NAME)
def test_a_child_has_the_mock_gpus_by_name(way, tmp_path):
    # The first of that name is no program, and the one in between cannot be executed.
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a/adds").mkdir()
    (tmp_path / "b/adds").write_bytes(b"no program")
    (tmp_path / "c/adds").symlink_to(kernels())
    path = ":".join([*(str(tmp_path / folder) for folder in "abc"), os.environ["PATH"]])
    assert is_right(starts(way, "adds", "lds", PATH=path))


@pytest.mark.parametrize("way", ["execve", "execvp", "posix_spawn"])
def test_relative_paths_are_relative(way, tmp_path):
    (tmp_path / "adds").symlink_to(kernels())
    for name in ("./adds",) if way == "execvp" else ("adds", "./adds"):
        assert is_right(starts(way, name, "lds", folder=tmp_path))


@pytest.mark.parametrize("way", ["execve", "execvp", "posix_spawn"])
def test_scripts_run_by_their_interpreters(way, tmp_path):
    inner = script(tmp_path / "inner", f'#!/bin/sh -e\n"{kernels()}" "$@"\n')
    # A script's interpreter may be a script, and env looks for one on the path.
    outer = script(tmp_path / "outer", f"#! {inner} lds\n")
    environment = script(tmp_path / "environment", f'#!/usr/bin/env sh\nexec "{outer}"\n')
    assert is_right(starts(way, inner, "lds")) and is_right(starts(way, outer)) and is_right(starts(way, environment))


def test_a_script_without_an_interpreter_is_a_shells(tmp_path):
    bare = script(tmp_path / "bare", f'"{kernels()}" lds\n')
    assert is_right(starts("execvp", bare)) and starts("execve", bare).stderr.endswith("ENOEXEC\n")


def test_a_script_can_be_the_first_program(tmp_path):
    first = script(tmp_path / "first", f'#!/usr/bin/env sh\n"{kernels()}" "$@"\n')
    assert is_right(rocm.mock(first, "lds", target="gfx942", options=ROCM7))


def test_children_of_children_have_them_too():
    one = rocm.plain("starts")
    assert is_right(starts("execve", one, "posix_spawnp", one, "system", kernels(), "lds"))


def test_a_program_finds_itself():
    assert is_right(starts("posix_spawn", "/proc/self/exe", "execve", kernels(), "lds"))
    ask = "import os; print(os.readlink('/proc/self/exe'), os.path.realpath('/proc/self/exe'), open('/proc/self/comm').read())"
    out = starts("execve", sys.executable, "-c", ask).stdout.split()
    assert out == [os.path.realpath(sys.executable)] * 2 + [Path(sys.executable).name]
    assert starts("execve", "/usr/bin/readlink", "/proc/self/exe").stdout == os.path.realpath("/usr/bin/readlink") + "\n"


def test_static_programs_and_others_start_as_they_are(tmp_path):
    static = rocm.plain("hello", "-static")
    for way in BY_PATH:
        done = starts(way, static, "a b" if way not in ("system", "popen") else "'a b'")
        assert (done.returncode, done.stdout) == (7, f"{static}: a b\n"), (way, done)
    # One with a loader of its own.
    assert is_right(starts("execve", rocm.hip7("kernels", ("gfx942",), alone=True), "lds"))


@pytest.mark.parametrize("way", [way for way in BY_PATH if way not in ("fexecve", "system", "popen")])
def test_errors_are_those_of_the_system(way, tmp_path):
    (tmp_path / "text").write_text("#!/bin/sh\n")
    lost = script(tmp_path / "lost", "#!/there/is/none\n")
    for words, error in (
        ((tmp_path / "missing",), "ENOENT"),
        ((tmp_path / "text",), "EACCES"),
        ((tmp_path / "text/below",), "ENOTDIR"),
        ((tmp_path / "",), "EACCES"),
        ((lost,), "ENOENT"),
    ):
        alone = subprocess.run([rocm.plain("starts"), way, *words], capture_output=True, text=True)
        done = starts(way, *words)
        assert (done.returncode, done.stderr) == (99, alone.stderr), (words, done)
        if way != "execveat":
            assert done.stderr == f"{error}\n"


def test_many_and_long_words_reach_the_child():
    words = [f"{i}" * 50 for i in range(2000)]
    done = starts("execve", rocm.plain("hello"), *words)
    assert done.stdout == f"{rocm.plain('hello')}: {' '.join(words)}\n"
    # The program's own name for itself.
    say = "import os, sys; os.execv(sys.argv[1], ['another name', 'word'])"
    done = rocm.mock(sys.executable, "-c", say, rocm.plain("hello"), target="gfx942", options=ROCM7)
    assert (done.returncode, done.stdout) == (7, "another name: word\n")


def test_a_child_has_the_environment_that_it_is_given():
    # None at all: a child on the system's C library, without mock GPUs.
    done = starts("nothing", "/usr/bin/env")
    assert (done.returncode, done.stdout) == (0, "")
    keep = {"LUTHIER_MOCK": "gfx942", "PATH": "/usr/bin"}
    say = f"import subprocess; print(subprocess.run(['/usr/bin/env'], env={keep}, capture_output=True, text=True).stdout)"
    out = rocm.passes(sys.executable, "-c", say, target="gfx942", options=ROCM7)
    assert out.split() == [f"{name}={value}" for name, value in keep.items()]
    # A child's own libraries come behind ROCm's.
    add = f"import os, subprocess; e = {{**os.environ, 'LD_LIBRARY_PATH': '/else/where'}}; subprocess.run([{str(kernels())!r}, 'lds'], env=e)"
    done = rocm.mock(sys.executable, "-c", add, target="gfx942", options=ROCM7)
    assert is_right(done)


def test_what_is_preloaded_may_need_the_other_c_library(tmp_path):
    # The shell of `system` and `popen` runs on the system's, and takes no part.
    library, links = tmp_path / "preloaded.so", rocm.need_rocm7() / "usr/lib/x86_64-linux-gnu"
    source = '#include <stdio.h>\n__attribute__((constructor)) static void starts(void) { puts("preloaded"); fflush(stdout); }\n'
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, f"-L{links}", "-Wl,--allow-shlib-undefined"]
    subprocess.run([*command, "-Wl,--no-as-needed", "-lamdhip64"], input=source, text=True, check=True)
    for way in ("execve", "posix_spawn", "system", "popen"):
        options = (*ROCM7, "--preload", str(library))
        done = rocm.mock(rocm.plain("starts"), way, rocm.plain("hello"), "word", target="gfx942", options=options)
        assert (done.returncode, done.stdout.split()) == (7, [*["preloaded"] * 2, f"{rocm.plain('hello')}:", "word"]), done


COUNT = """
import ctypes, sys
def count(start=0):
    hip, n = ctypes.CDLL('libamdhip64.so.7'), ctypes.c_int()
    assert hip.hipGetDeviceCount(ctypes.byref(n)) == 0
    return start + n.value
"""
POOLS = """
import multiprocessing, os, subprocess, sys, counting
if __name__ == '__main__':
    for method in ('spawn', 'forkserver', 'fork'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(counting.count, [10, 20]))
    ask = [sys.executable, '-c', 'import counting, sys; print(counting.count(), sys.executable, sys.prefix)']
    print(subprocess.run(ask, capture_output=True, text=True, check=True).stdout, end='')
    print(subprocess.run(ask, capture_output=True, text=True, check=True, start_new_session=True).stdout, end='')
    os.waitpid(os.posix_spawn(sys.executable, ask, os.environ), 0)
    print(sys.executable, sys.prefix)
"""


def test_pythons_processes_have_the_mock_gpus(tmp_path):
    (tmp_path / "counting.py").write_text(COUNT)
    (tmp_path / "pools.py").write_text(POOLS)
    out = rocm.passes(sys.executable, "-u", tmp_path / "pools.py", target="gfx1201,3", options=ROCM7, PYTHONPATH=str(tmp_path))
    *pools, one, two, three, own = out.splitlines()
    assert pools == [f"{method} [13, 23]" for method in ("spawn", "forkserver", "fork")]
    assert own == f"{sys.executable} {sys.prefix}" and {one, two, three} == {f"3 {own}"}


def test_a_tool_hears_of_the_launches_of_each_process(tmp_path):
    words = ("/bin/sh", "-c", f"{kernels()} lds & {rocm.plain('starts')} posix_spawn {kernels()} lds; wait")
    alone = rocm.mock(*words, target="gfx942", options=(*ROCM7, "--log"))
    out = tmp_path / "out.json"
    options = (*ROCM7, "--tool", "instr_count", "--select", "reduce*", "--json", str(out))
    done = rocm.mock(*words, target="gfx942", options=options)
    assert done.returncode == 0 and done.stdout.count("lds: passed") == 2, done.stderr[-3000:]
    processes = json.loads(out.read_text())["processes"]
    assert [process["program"] for process in processes] == [str(kernels())] * 2 and len({p["pid"] for p in processes}) == 2
    retired = [int(n) for n in re.findall(r"has retired (\d+) instructions of the kernel reduce", alone.stderr)]
    counts = [
        kernel["tools"]["instr_count"]["instructions"]
        for process in processes
        for object in process["objects"]
        for kernel in object["kernels"]
        if "tools" in kernel
    ]
    assert len(counts) == 2 and counts[0] == counts[1] and sum(counts) == sum(retired)


def test_no_follow_is_about_children_still(tmp_path):
    out = tmp_path / "out.json"
    options = (*ROCM7, "--tool", "instr_count", "--no-follow", "--json", str(out))
    done = rocm.mock(rocm.plain("starts"), "execve", kernels(), "lds", target="gfx942", options=options)
    assert is_right(done) and json.loads(out.read_text())["processes"] == []


FFT = """
import ctypes as c, numpy as np
hip, fft, plan, memory, n = c.CDLL('libamdhip64.so.7'), c.CDLL('librocfft.so.0'), c.c_void_p(), c.c_void_p(), 154
signal = (np.arange(n) % 7 + 1j * (np.arange(n) % 5)).astype(np.complex64)
data, size = c.c_void_p(signal.ctypes.data), c.c_size_t(signal.nbytes)
expected = np.fft.fft(signal)
assert fft.rocfft_setup() == 0
assert fft.rocfft_plan_create(c.byref(plan), 0, 0, 0, c.c_size_t(1), (c.c_size_t * 1)(n), c.c_size_t(1), None) == 0
assert hip.hipMalloc(c.byref(memory), size) == 0 and hip.hipMemcpy(memory, data, size, 1) == 0
assert fft.rocfft_execute(plan, (c.c_void_p * 1)(memory), None, None) == 0
assert hip.hipMemcpy(data, memory, size, 2) == 0
print('right' if np.allclose(signal, expected, atol=1e-3 * abs(expected).max()) else 'wrong')
"""


def test_rocfft_compiles_in_a_process_of_its_own(tmp_path):
    libraries = rocm.need_rocm7() / "usr/lib/x86_64-linux-gnu"
    helpers = list(libraries.glob("rocfft/*/rocfft_rtc_helper"))
    if not helpers:
        pytest.skip("ROCM 7 HAS NO rocfft: `tools/rocm7-packages librocfft0` loads it")
    helper = script(tmp_path / "helper", f'#!/bin/sh\necho compiles >> {tmp_path}/log\nexec {helpers[0]} "$@"\n')
    variables = {"ROCFFT_RTC_PROCESS": "1", "ROCFFT_RTC_PROCESS_HELPER": str(helper)}
    variables["ROCFFT_RTC_CACHE_PATH"] = str(tmp_path / "cache.db")
    assert rocm.passes(sys.executable, "-c", FFT, target="gfx942", options=ROCM7, **variables) == "right\n"
    assert "compiles" in (tmp_path / "log").read_text()
