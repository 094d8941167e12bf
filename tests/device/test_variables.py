"""The source's variables by DWARF: against what NumPy says the kernel computes, where nothing is optimized and where it is."""

from __future__ import annotations

import subprocess
import sys

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
SOURCE = """\
struct P { float a; int b[3]; };
enum E { one, two };
__attribute__((device, noinline)) float halved(const float *from, u32 at, float by) {
    float first = from[at & 63] + by;
    float second = first * 0.5f;
    return second;
}
KERNEL vars(const float *x, float *out, u32 n, struct P p) {
    u32 i = group_x() * 64 + local_x();
    float acc = 0;
    float small[4];
    enum E e = n > 3 ? two : one;
    short less = (short)i - 40;
    u64 big = ((u64)i << 33) + 1;
    for (u32 k = 0; k < n; k++) {
        float t = x[(i + k) & 63] * p.a;
        small[k & 3] = t;
        acc += t;
    }
    float half = halved(x, i, acc);
    out[i] = small[i & 3] + (float)p.b[1] + (float)e + (float)big + half + less;
}
"""
X = (np.arange(64) * 3 + 1).astype(np.float32)
P = np.array((2.0, (7, 8, 9)), [("a", "f4"), ("b", "i4", 3)])


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def begin(target: str, level: str, flags=("-g",)) -> lt.Stage:
    module = lt.Device(target).load(compiled.build(SOURCE, target, flags, level))
    return module.debug("vars", blocks=1, block=64, args=[X, np.zeros(64, np.float32), np.uint32(5), P])


def expected(wave, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Work-items, and ``t`` and ``acc`` before the k-th addition."""
    width = len(wave.variable("t"))
    i = wave.number * width + np.arange(width)
    terms = [X[(i + j) & 63] * np.float32(2) for j in range(k + 1)]
    return i, terms[k], np.sum(terms[:k], axis=0, dtype=np.float32) if k else np.zeros(width, np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_without_optimization_each_variable_has_its_value_in_each_lane(target):
    stage = begin(target, "O0")
    stage.break_at(str(line_of("acc += t")), "wave == 0")
    for k in range(3):
        wave = stage.resume().wave
        i, t, acc = expected(wave, k)
        assert wave.variable("k").tolist() == [k] * len(i)
        np.testing.assert_array_equal(wave.variable("t"), t)
        np.testing.assert_array_equal(wave.variable("acc"), acc)
        np.testing.assert_array_equal(wave.variable("i"), i)
        assert wave.variable("n").tolist() == [5] * len(i) and wave.variable("e").tolist() == [1] * len(i)
        np.testing.assert_array_equal(wave.variable("less"), (i - 40).astype(np.int16))
        np.testing.assert_array_equal(wave.variable("big"), (i.astype(np.uint64) << np.uint64(33)) + np.uint64(1))
        np.testing.assert_array_equal(wave.variable("small")[:, k], t)
        assert wave.variable("p")["b"].tolist() == [[7, 8, 9]] * len(i)
        assert set(wave.variable("x").tolist()) == {stage.arrays["x"].address}
    text = next(one for one in wave.variables if one.name == "p").text(wave.registers.exec)
    assert text == "{a = 2.0, b = [7 8 9]}"


@pytest.mark.parametrize("target", TARGETS)
def test_in_a_function_that_is_called_its_own_frame_counts(target):
    stage = begin(target, "O0")
    stage.break_at(str(line_of("return second")), "wave == 0")
    wave = stage.resume().wave
    width = len(wave.variable("first"))
    i = np.arange(width)
    total = np.sum([X[(i + j) & 63] * np.float32(2) for j in range(5)], axis=0, dtype=np.float32)
    np.testing.assert_array_equal(wave.variable("by"), total)
    np.testing.assert_array_equal(wave.variable("first"), X[i & 63] + total)
    np.testing.assert_array_equal(wave.variable("second"), (X[i & 63] + total) * np.float32(0.5))
    np.testing.assert_array_equal(wave.variable("at"), i)
    assert {one.function for one in wave.variables} == {"halved"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", ("O1", "O3"))
def test_what_optimization_has_left_is_right_and_the_rest_is_said_to_be_out(target, level):
    stage = begin(target, level)
    seen = set()
    for line in ("acc += t", "float half", "float second"):
        try:
            stage.break_at(str(line_of(line)))
        except lt.ArgumentError:
            continue
    for _ in range(12):
        stop = stage.resume()
        if stop.why != "address":
            break
        wave = stop.wave
        for one in wave.variables:
            if one.values is None:
                assert one.note, one.name
                continue
            seen.add(one.name)
            width = len(one.values)
            i = wave.number * width + np.arange(width)
            terms = np.array([X[(i + j) & 63] * np.float32(2) for j in range(5)])
            sums = np.array([np.sum(terms[:j], axis=0, dtype=np.float32) for j in range(6)])
            total = sums[5]
            could = {
                "t": terms, "acc": sums, "i": [i], "k": [np.full(width, j) for j in range(6)], "n": [np.full(width, 5)],
                "e": [np.full(width, 1)], "less": [(i - 40).astype(np.int16)], "by": [total], "at": [i], "first": [X[i & 63] + total],
                "second": [(X[i & 63] + total) * np.float32(0.5)], "half": [(X[i & 63] + total) * np.float32(0.5)],
                "big": [(i.astype(np.uint64) << np.uint64(33)) + np.uint64(1)], "from": [np.full(width, stage.arrays["x"].address)],
            }  # fmt: skip
            if one.name in could:
                assert any((one.values == value).all() for value in could[one.name]), f"{one.name}: {one.values}"
    assert {"acc", "t"} & seen, "at least what is added up is in registers"


def test_before_a_function_has_begun_its_variables_are_not_there():
    stage = begin("gfx90a", "O0")
    stage.break_at("entry")
    wave = stage.resume().wave
    with pytest.raises(lt.ArgumentError, match="n: not there before the function has begun"):
        wave.variable("n")


def test_conditions_name_variables_and_registers_keep_their_names():
    stage = begin("gfx90a", "O0")
    stage.break_at(str(line_of("acc += t")), "k[0] == 3 and (t > 0).all()")
    wave = stage.resume().wave
    assert wave.variable("k")[0] == 3
    from luthier.device.debug.stops import evaluate

    assert evaluate("var.acc[2] == acc[2]", stage, wave) and evaluate("x", stage, wave).shape == (64,)
    assert evaluate("[acc[lane] for lane in range(3)]", stage, wave) == wave.variable("acc")[:3].tolist()
    with pytest.raises(lt.ArgumentError, match="nothing"):
        evaluate("nothing + 1", stage, wave)
    with pytest.raises(lt.ArgumentError, match="there is no variable"):
        evaluate("var.nothing", stage, wave)


def test_a_kernel_without_debugging_information_says_so():
    stage = begin("gfx90a", "O1", ())
    stage.goto(1)
    with pytest.raises(lt.ArgumentError, match="compile it with -g"):
        stage.waves[0].variables  # noqa: B018


def test_without_pyelftools_the_package_is_named(tmp_path):
    code = (
        "import sys; sys.modules['elftools'] = None; sys.modules['elftools.elf.elffile'] = None\n"
        "from luthier.device.debug.dwarf import Dwarf\n"
        "try: Dwarf(None)\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'luthier[debug]'" in done.stdout
