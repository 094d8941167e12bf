"""All that hooks can be and have, under programs: HIP, ids, arguments, a stack, state, LDS, channels, printf, in place and called. Results
stay, and what the kinds count is the same."""

from __future__ import annotations

import os

import pytest
import rocm
from kinds_of_hooks import Kinds, waves

import luthier as lt

#: The deep run: rocRAND and rocSPARSE, too.
DEEP = os.environ.get("LUTHIER_HOOKS_DEEP") == "1"


def agree(done: lt.TracedProgram) -> int:
    """Checks what the kinds say of each kernel; how many waves there were."""
    told = done.results("kinds")
    assert told
    return sum(map(waves, told))


@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize(("program", "case", "target"), [
    ("kernels", "lds", "gfx90a"), ("kernels", "lds", "gfx1030"), ("streams", "events", "gfx90a"), ("memory", "symbols", "gfx90a"),
])  # fmt: skip
def test_all_kinds_of_hooks_agree_under_programs(program, case, target, bodies, capfd):
    rocm.need("hipcc")
    words = [rocm.hip(program, targets=(target,)), case]
    alone = lt.trace(words, ["instr_count"], mock=target, env=rocm.ENVIRONMENT, capture=True)
    done = lt.trace(words, [Kinds], mock=target, bodies=bodies, env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.stdout) == (alone.status, alone.stdout) == (0, alone.stdout), done.stderr
    assert agree(done) > 0
    assert "the first wave has 3\n" in capfd.readouterr().out


class PrintsInHip(lt.Tool):
    """A line of each wave, by the printf of hooks in HIP."""

    hooks = lt.HookLibrary(
        "#include <luthier/hooks.h>\n__device__ unsigned long long waves;\n"
        "LT_HOOK void enter(unsigned n) {\n"
        "  lt::wave_atomic_add(&waves, 1ull);\n"
        '  if (__lane_id() == 0) printf("wave of %u, %d\\n", n, -7);\n}\n',
        "hip",
    )

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hooks["enter"], 7)

    def on_exit(self, report):
        report.result = {"waves": int(self.hooks.variables["waves"][0])}


def test_a_hook_in_hip_prints_under_programs(capfd):
    rocm.need("hipcc")
    words = [rocm.hip("kernels", targets=("gfx90a",)), "lds"]
    done = lt.trace(words, [PrintsInHip], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    assert done.status == 0, done.stderr
    counted = sum(told["waves"] for told in done.results("prints_in_hip"))
    assert capfd.readouterr().out.count("wave of 7, -7\n") == counted > 0


@pytest.mark.skipif(not DEEP, reason="deep: LUTHIER_HOOKS_DEEP=1, rocRAND and rocSPARSE")
@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize("name", ["rocrand", "rocsparse"])
def test_all_kinds_of_hooks_agree_in_libraries(name, bodies, tmp_path, monkeypatch):
    from test_proof import _matrix

    monkeypatch.chdir(tmp_path)
    if name == "rocsparse":
        _matrix(tmp_path)
    program = rocm.library_program(name)
    alone = lt.trace([program], ["instr_count"], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    wrote = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = lt.trace([program], [Kinds], mock="gfx90a", bodies=bodies, env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.stdout) == (0, alone.stdout), done.stderr
    assert wrote == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert agree(done) > 0
