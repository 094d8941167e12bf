"""lt.judge: kernels that are right, and kernels that are wrong, or cheat, in one way each."""

from __future__ import annotations

import json
from importlib import resources

import cli
import compiled
import jsonschema
import numpy as np
import pytest

import luthier as lt
from luthier.judging import Case, Code, Tolerance
from luthier.judging.compare import difference, ulps_between

SOURCE = """
KERNEL scale(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = x[i] * 3.0f + 1.0f;
}
KERNEL forgets_the_last(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n / 2 * 2) out[i] = x[i] * 3.0f + 1.0f;
}
KERNEL inexact(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = (x[i] * 3.0f + 1.0f) * 1.00001f;
}
KERNEL past_the_end(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i <= n) out[i] = x[i < n ? i : 0] * 3.0f + 1.0f;
}
KERNEL adds_to_what_was_there(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = x[i] * 3.0f + 1.0f + (out[i] > 0 ? 1e-6f : 0.0f);
}
KERNEL writes_its_input(float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) { out[i] = x[i] * 3.0f + 1.0f; x[i] = 0; }
}
KERNEL constant(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = 1.0f;
}
KERNEL loses_nan(const float *x, float *out, u32 n) {
    u32 i = global_x();
    if (i < n) { float y = x[i] * 3.0f + 1.0f; out[i] = y == y ? y : 0.0f; }
}
KERNEL races(const float *x, float *out, u32 n) {
    LDS float first[64];
    u32 i = global_x();
    if (i < n) out[i] = x[i] * 3.0f + 1.0f;
    first[local_x() % 64] = local_x();
    if (i == 0) out[0] = first[1] > 64 ? out[0] : x[0] * 3.0f + 1.0f;
}
KERNEL remembers(const float *x, float *out, u32 n, float *kept) {
    u32 i = global_x();
    if (i < n) { if (kept[0] == 0) { kept[1 + i] = x[i] * 3.0f + 1.0f; } out[i] = kept[1 + i]; }
}
"""


def case(size, dtype, generator):
    x = generator.random(size).astype(dtype)
    return Case([x, np.zeros(size, dtype), np.uint32(size)], [1], blocks=(size + 127) // 128, block=128)


def reference(x, out, n):
    return x.astype("f8") * 3 + 1


@pytest.fixture(scope="module")
def codes():
    return {target: compiled.build(SOURCE, target, ("-g", "-ffp-contract=off")) for target in ("gfx90a", "gfx1100")}


def _judge(codes, kernel: str, **options):
    options = {"sizes": (1, 63, 200), "targets": ("gfx90a",), **options}
    return lt.judge(Code(codes, kernel), reference, case, **options)


def test_a_right_kernel_is_right_on_every_target(codes):
    made = _judge(codes, "scale", targets=("gfx90a", "gfx1100"))
    assert made and made.failures == [] and made.ulps is not None and made.ulps <= 1
    assert made.instructions["gfx90a"] > 0 and made.instructions["gfx1100"] > 0
    assert all(count for check, count, failed, _ in made.table())


@pytest.mark.parametrize(
    "kernel, checks",
    [
        ("forgets_the_last", {"right", "writes all", "special values"}),
        ("inexact", {"right", "special values"}),
        ("past_the_end", {"strict"}),
        ("adds_to_what_was_there", {"reads no output"}),
        ("writes_its_input", {"writes only outputs"}),
        ("constant", {"right", "not constant", "special values"}),
        ("loses_nan", {"special values"}),
        ("races", {"strict"}),
    ],
)
def test_a_kernel_that_is_wrong_in_one_way_fails_that_check(codes, kernel, checks):
    made = _judge(codes, kernel)
    failed = {row.check for row in made.failures}
    assert not made and checks <= failed, made.failures
    # What was before an output decides nothing else.
    assert failed - checks <= {"right", "special values", "deterministic", "not constant"}, made.failures


def test_what_an_odd_size_loses_is_told_with_its_place(codes):
    (row, *_) = _judge(codes, "forgets_the_last", sizes=(63,)).failed("writes all")
    assert row.size == 63 and "1 of 63 elements are not written, the first is 62" in row.why


def test_tolerances_are_ulps_and_parts_and_sums(codes):
    assert not _judge(codes, "inexact", special_values=False)
    assert _judge(codes, "inexact", special_values=False, tolerance=Tolerance(ulps=200))
    assert _judge(codes, "inexact", special_values=False, tolerance=Tolerance(rtol=1e-4))


def test_a_launch_that_faults_is_a_failure_and_not_an_error(codes):
    def wild(size, dtype, generator):
        made = case(size, dtype, generator)
        return Case([None, *made.args[1:]], [1], blocks=1, block=64)

    made = lt.judge(Code(codes, "scale"), lambda x, out, n: out, wild, sizes=(5,), targets=("gfx90a",))
    assert made.failed("runs") or made.failed("strict")


def test_what_cannot_be_judged_is_refused(codes):
    for broken, says in (
        (lambda *_: 3, "not a luthier.judging.Case"),
        (lambda *_: Case([np.zeros(3)], [], blocks=1, block=64), "no outputs"),
        (lambda *_: Case([np.uint32(3)], [0], blocks=1, block=64), "no array"),
        (lambda *_: Case([np.zeros(3, "f4"), np.zeros(3, "f4"), np.uint32(3)], [1]), "needs block="),
    ):
        with pytest.raises(lt.ArgumentError, match=says):
            made = lt.judge(Code(codes, "scale"), reference, broken, sizes=(3,), targets=("gfx90a",))
            raise lt.ArgumentError(made.failures[0].why)
    with pytest.raises(lt.ArgumentError, match="neither"):
        lt.judge("scale", reference, case)


def test_ulps_are_distances_between_neighbours():
    for kind in ("f2", "f4"):
        values = np.array([0.0, 1.0, -1.0, 1e-3, -2.5], kind)
        assert ulps_between(values, np.nextafter(values, np.array(np.inf, kind))).tolist() == [1] * 5
        assert ulps_between(np.array([0.0], kind), np.array([-0.0], kind)).tolist() == [0]
        tiny = np.nextafter(np.array(0, kind), np.array(1, kind))
        assert ulps_between(np.array([tiny]), np.array([-tiny])).tolist() == [2]
    a, b = np.array([1, np.nan, np.inf], "f4"), np.array([1, np.nan, np.inf], "f4")
    assert difference(a, b, Tolerance()).wrong == 0
    assert difference(a, b[::-1], Tolerance()).wrong == 2
    assert difference(np.array([1, 2]), np.array([1, 3]), Tolerance()).wrong == 1


FILE = """
import numpy as np
from luthier.judging import Case, Code
kernel = Code({codes!r}, {kernel!r})
def reference(x, out, n):
    return x.astype("f8") * 3 + 1
def case(size, dtype, generator):
    return Case([generator.random(size).astype(dtype), np.zeros(size, dtype), np.uint32(size)], [1], blocks=2, block=64)
sizes, targets = (1, 100), ("gfx90a",)
"""


def test_the_command_tells_the_same(codes, tmp_path):
    schema = json.loads(resources.files("luthier.judging").joinpath("judgement.schema.json").read_text())
    names = {target: str(path) for target, path in codes.items()}
    for kernel, status in (("scale", 0), ("inexact", 1)):
        path = tmp_path / f"{kernel}.py"
        path.write_text(FILE.format(codes=names, kernel=kernel))
        done = cli.luthier("judge", path, "--json", tmp_path / "out.json")
        assert done.returncode == status, done.stderr
        data = json.loads((tmp_path / "out.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(data)
        assert data["ok"] == (status == 0) and ("not right" in done.stdout) == (status == 1)
    both = json.loads(cli.luthier("judge", path, "--target", "gfx1100", "--json", "-").stdout)
    assert list(both["instructions"]) == ["gfx1100"]
    (tmp_path / "none.py").write_text("x = 1\n")
    assert "it defines no kernel" in cli.fails("judge", tmp_path / "none.py")
