"""The bench: that its rows measure what they say. Each part runs in a process of its own, as the bench does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from places import CORPUS, ROOT

BENCH = ROOT / "tools/bench"


def _bench(code: str, **variables: str) -> tuple[object, str]:
    """What the last line that ``code`` prints is as JSON, and standard error."""
    command = [sys.executable, "-W", "ignore", "-c", f"import json\n{code}"]
    done = subprocess.run(command, cwd=BENCH, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_loops_of_matrix_instructions_are_of_those_that_their_rows_name():
    retired, _ = _bench(
        "import matrix\n"
        "print(json.dumps({name: [kind.instruction, matrix.launched(kind, 24).histogram] for name, kind in matrix.KINDS.items()}))"
    )
    assert len(retired) >= 8
    for name, (instruction, histogram) in retired.items():
        found = {n for n in histogram if n.startswith(("v_mfma", "v_wmma"))}
        assert len(found) == 1 and found.pop().startswith(instruction), name
        assert sum(count for n, count in histogram.items() if n.startswith(instruction)) == 48, name


@pytest.mark.skipif(CORPUS is None, reason="the corpus of real code objects is not here (set LUTHIER_CORPUS)")
@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
def test_tritons_kernels_of_the_corpus_are_launched_rightly(processor):
    sizes = {"softmax": "rows=3", "normalization": "rows=3", "product": "size=128"}
    calls = ", ".join(f"triton_kernels.{name}({processor!r}, {size})" for name, size in sizes.items())
    times, _ = _bench(f"import triton_kernels\nprint(json.dumps([{calls}]))")
    assert all(0 < milliseconds < 10_000 for milliseconds in times)


def test_tritons_attention_and_launches_are_measured():
    pytest.importorskip("triton")
    code = "import triton_kernels as t\nprint(json.dumps([t.attention('gfx942', 1, 64), t.launch_cost(20)]))"
    (attention, launch), _ = _bench(code)
    assert attention > 0 and launch["whole"] > launch["own"] > 0


def test_rows_that_cannot_be_measured_say_why(tmp_path):
    rows, said = _bench("import gemm\nprint(json.dumps(gemm.measured()))", LUTHIER_ROCM7=str(tmp_path))
    assert rows == {} and "ROCm 7 is not set up (make setup-rocm7)" in said
    (tmp_path / "wanted").touch()
    rows, said = _bench("import gemm\nprint(json.dumps(gemm.measured()))", LUTHIER_ROCM7=str(tmp_path))
    assert rows == {} and "has no librocblas.so.5" in said
    code = "import triton_kernels as t\nt.HAS_TRITON = False\nprint(json.dumps(t.measured()))"
    rows, said = _bench(code, LUTHIER_CORPUS=str(tmp_path / "none"))
    assert rows == {} and "LUTHIER_CORPUS" in said and "make setup-triton" in said


def test_a_row_says_how_much_better_a_figure_is_than_it_has_to_be():
    found, _ = _bench("import rows\nprint(json.dumps([rows.at_least(3, 2, 'M/s'), rows.at_most(3, 2, 'ms')]))")
    assert [row["ratio"] for row in found] == pytest.approx([1.5, 2 / 3]) and all(row["least"] == 1 for row in found)


def test_rows_below_their_bounds_are_named_and_those_without_one_are_not():
    code = (
        "import rows\n"
        "found = {'slow': rows.at_most(4, 2, 'ms'), 'fast': rows.at_most(1, 2, 'ms'), 'just': rows.at_least(2, 2, 'M/s'),\n"
        "         'bare': {'ours': 1}, 'free': {'ours': 2, 'ratio': 0.5}}\n"
        "print(json.dumps([[n for n, r in found.items() if rows.is_below(r)], rows.summary(found),\n"
        "                  rows.summary({**found, 'more': rows.at_least(1, 4, 'M/s')}), rows.summary({'fast': found['fast']})]))"
    )
    (below, one, two, none), _ = _bench(code)
    assert below == ["slow"]
    assert one == "1 row is below its bound, of 3 that have one: slow (0.5x of 1x)"
    assert two == "2 rows are below their bounds, of 4 that have one: slow (0.5x of 1x), more (0.25x of 1x)"
    assert none == "no row is below its bound, of 1 that have one"
