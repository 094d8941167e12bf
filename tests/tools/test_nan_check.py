"""NaNs and infinities that the tool finds are those that stepping through the kernel shows."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

SOURCE = """
KERNEL ratios(float *out, const float *a, const float *b) {
    u32 i = global_x();
    float x = a[i], y = b[i];
    float product = x * y;
    float sum = product - x;
    out[2 * i] = product; out[2 * i + 1] = __builtin_fmaf(sum, y, x);
}
KERNEL halves(f16 *out, const f16 *a, const f16 *b) { u32 i = global_x(); out[i] = a[i] * b[i]; }
KERNEL doubles(double *out, const double *a, const double *b) { u32 i = global_x(); out[i] = a[i] * b[i]; }
"""
TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
KINDS = {"ratios": "f4", "halves": "f2", "doubles": "f8"}


def inputs(kind: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    big = np.finfo(kind).max
    values = np.array([0, 1, -2, big, -big, np.inf, -np.inf, np.nan], kind)
    count = 128
    return [np.zeros(2 * count, kind), rng.choice(values, count).astype(kind), rng.choice(values, count).astype(kind)]


def made_of(out: np.ndarray, sources: list[np.ndarray]) -> np.ndarray:
    """Where a NaN is made of no NaN, or an infinity of finite numbers."""
    is_number = ~np.any([np.isnan(v) for v in sources], axis=0)
    is_finite = np.all([np.isfinite(v) for v in sources], axis=0)
    return np.isnan(out) & is_number | np.isinf(out) & is_finite


def denormal(values: np.ndarray) -> np.ndarray:
    return (values != 0) & (np.abs(values) < np.finfo(values.dtype).tiny)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KINDS)
def test_counts_are_those_of_the_registers_behind_each_instruction(kernel, target):
    code = lt.CodeObject.open(compiled.build(SOURCE, target))
    args = inputs(KINDS[kernel])
    given = {"grid": 128, "block": 64}
    tool = lt.tools.load("nan_check")
    result = lt.Device(target).run(code, kernel, args=args, tools=[tool], strict=True, **given)
    told = result.tools["nan_check"]
    assert result.findings == [] and told["not seen"] == []
    watched = {one.instr.address: one.instr for one in tool.watched}
    assert watched
    float_type = np.dtype(KINDS[kernel])
    found: dict[int, list[int]] = {}
    plain = inputs(KINDS[kernel])
    after = {a: a + i.size for a, i in watched.items()}
    trace = lt.Device(target).trace(code, kernel, args=plain, snapshots=sorted({*watched, *after.values()}), **given)
    np.testing.assert_array_equal(args[0].view("u1"), plain[0].view("u1"))
    states = {(s.workgroup, s.wave, s.pc): s.registers for s in trace.snapshots}
    for group, wave, pc in states:
        if pc not in watched:
            continue
        before, behind = states[group, wave, pc], states[group, wave, after[pc]]
        lanes = np.array([(before.exec >> lane) & 1 for lane in range(64)], bool)
        result = next(o for o in watched[pc].operands if o.is_written and o.register.file == "vgpr")

        def values(registers, operand, lanes=lanes):
            register, first = operand.register, 2 if operand.place[2] == "h" else 0
            words = np.stack([registers.vgprs[register.index + n] for n in range(register.width)], axis=1)[lanes]
            data = np.ascontiguousarray(words).view("u1").reshape(len(words), -1)[:, first : first + float_type.itemsize]
            return np.ascontiguousarray(data).view(float_type)[:, 0]

        out = values(behind, result)
        counts = found.setdefault(pc, [0, 0, 0, 0])
        read = [values(before, o) for o in watched[pc].operands if o.is_read and o.register.file == "vgpr"]
        counts[0] += int(np.isnan(out).sum())
        counts[1] += int(np.isinf(out).sum())
        counts[2] += int(made_of(out, read).sum())
        counts[3] += int(denormal(out).sum())
    expected = {
        f"{pc:#x}": dict(zip(("nan", "infinite", "made", "denormal"), counts)) for pc, counts in found.items() if any(counts)
    }
    assert expected and told["found"] == expected
    assert {m["address"] for m in told["made"]} == {a for a, v in expected.items() if v["made"]}
    if kernel == "ratios":
        check_made(told, states, after, watched)


def check_made(told, states, after, watched) -> None:
    """What is told of the first NaNs is what the registers of that lane hold there."""
    assert told["first"] == told["made"][0]["address"]
    for made in told["made"]:
        pc, key = int(made["address"], 0), (made["workgroup"][0], made["wave"])
        before, behind = states[(*key, pc)], states[(*key, after[pc])]

        def number(registers, register, lane=made["lane"]) -> str:
            return f"{registers.vgprs[register.index][lane : lane + 1].view('f4')[0]:g}"

        operands = watched[pc].operands
        assert made["value"] == number(behind, next(o.register for o in operands if o.is_written and o.register.file == "vgpr"))
        read = [number(before, o.register) for o in operands if o.is_read and o.register and o.register.file == "vgpr"]
        assert [v for v in made["operands"] if v in read] == read and "nan" not in made["operands"]


#: Kernels with one operation on each element: its type, the elements of an item, and what NumPy makes of them. What clang makes of the
#: elements of several is one packed instruction, one dual one, or one for each.
ONE_OPERATION = """
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
KERNEL multiplied(f16x2 *out, const f16x2 *a, const f16x2 *b) { u32 i = global_x(); out[i] = a[i] * b[i]; }
KERNEL swapped(f16x2 *out, const f16x2 *a, const f16x2 *b) { u32 i = global_x(); out[i] = a[i].yx + b[i]; }
KERNEL fused(f16x2 *out, const f16x2 *a, const f16x2 *b) {
    u32 i = global_x();
    out[i] = __builtin_elementwise_fma(a[i], b[i].yy, -a[i].yx);
}
KERNEL upper(f16 *out, const f16x2 *a, const f16x2 *b) { u32 i = global_x(); out[i] = a[i].y * b[i].y; }
KERNEL halves(f16 *out, const f16 *a, const f16 *b) { u32 i = global_x(); out[i] = a[i] - b[i]; }
KERNEL doubles(double *out, const double *a, const double *b) { u32 i = global_x(); out[i] = __builtin_fma(a[i], b[i], a[i]); }
KERNEL pairs(f32x2 *out, const f32x2 *a, const f32x2 *b) { u32 i = global_x(); out[i] = a[i].yx * b[i]; }
KERNEL narrowed(f16 *out, const float *a, const float *b) { u32 i = global_x(); out[i] = (f16)a[i]; }
"""


def fused(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    wide = a.astype("f8") * b[:, [1, 1]].astype("f8") - a[:, ::-1].astype("f8")
    return wide.astype(a.dtype)


OPERATIONS = {
    "multiplied": ("f2", 2, lambda a, b: (a * b, [a, b])),
    "swapped": ("f2", 2, lambda a, b: (a[:, ::-1] + b, [a[:, ::-1], b])),
    "fused": ("f2", 2, lambda a, b: (fused(a, b), [a, b[:, [1, 1]], a[:, ::-1]])),
    "upper": ("f2", 2, lambda a, b: ((a * b)[:, 1:], [a[:, 1:], b[:, 1:]])),
    "halves": ("f2", 1, lambda a, b: (a - b, [a, b])),
    "doubles": ("f8", 1, lambda a, b: ((a.astype("g") * b + a).astype("f8"), [a, b, a])),
    "pairs": ("f4", 2, lambda a, b: (a[:, ::-1] * b, [a[:, ::-1], b])),
    "narrowed": ("f4", 1, lambda a, b: (a.astype("f2"), [a])),
}
#: gfx1250's wave has 32 lanes, as RDNA's.
LANES = {"gfx90a": 64, "gfx942": 64}


@pytest.mark.parametrize("target", [*TARGETS, "gfx1250"])
@pytest.mark.parametrize("kernel", OPERATIONS)
def test_elements_and_operands_are_those_of_the_source(kernel, target):
    """The tool says for each type how many it makes, the first one's element and lane, and the operands of that one."""
    kind, width, operation = OPERATIONS[kernel]
    values = np.array([0, 1, -2, np.finfo(kind).max, -np.finfo(kind).max / 2, np.inf, np.nan, np.finfo(kind).tiny, 0.25], kind)
    rng = np.random.default_rng(5)
    a, b = (rng.choice(values, (128, width)).astype(kind) for _ in range(2))
    code = lt.CodeObject.open(compiled.build(ONE_OPERATION, target))
    args = [np.zeros(128 * width, "f2" if kernel == "narrowed" else kind), a.copy(), b.copy()]
    result = lt.Device(target).run(code, kernel, grid=128, block=64, args=args, tools=["nan_check:denormals=yes"], strict=True)
    told = result.tools["nan_check"]
    with np.errstate(all="ignore"):
        out, sources = operation(a, b)
        makes = made_of(out, sources)
        makes |= denormal(out) & ~np.any([denormal(s) | ~np.isfinite(s) for s in sources], axis=0)
    if told["not seen"]:
        assert kernel == "upper" and LANES.get(target) or target == "gfx1030", "SDWA has no rule"
        return
    assert result.findings == []
    assert sum(v["made"] for v in told["found"].values()) == makes.sum() > 0
    assert sum(v["nan"] for v in told["found"].values()) == np.isnan(out).sum()
    assert sum(v["denormal"] for v in told["found"].values()) == denormal(out).sum()
    assert told["made"]
    for made in told["made"]:
        item = 64 * made["workgroup"][0] + LANES.get(target, 32) * made["wave"] + made["lane"]
        some = [made["element"]] if made["element"] is not None and "v_dual" not in made["text"] else range(out.shape[1])
        shown = [(f"{out[item, n]:g}", sorted(f"{s[item, n]:g}" for s in sources)) for n in some if makes[item, n]]
        # A source is told as the register has it: without its sign changed.
        mine = sorted(made["operands"])
        plain = [[v.lstrip("-") for v in operands] for _, operands in shown]
        assert made["value"] in [value for value, _ in shown] and sorted(v.lstrip("-") for v in mine) in map(sorted, plain), made


#: A matrix instruction by itself, for each lane's words of A, B and C. No-ops, as nothing keeps apart what is in the text.
MATRIX = """
typedef u32 words_a{vector};
typedef u32 words_c __attribute__((ext_vector_type({results})));
__attribute__((amdgpu_flat_work_group_size(32, 64))) KERNEL product(words_c *out, const words_a *a, const words_a *b, const words_c *c) {{
    u32 i = global_x();
    words_c sum = c[i];
    asm volatile("{apart}{text} %0, %1, %2, %0\\n{apart}" : "+&v"(sum) : "v"(a[i]), "v"(b[i]));
    out[i] = sum;
}}
"""
#: By processor: the instruction, words of A and of C in a lane, lanes of a wave, the elements' type, and of the result.
PRODUCTS = [
    ("gfx90a", "v_mfma_f32_32x32x8f16", 2, 16, 64, "f2", "f4"),
    ("gfx90a", "v_mfma_f32_16x16x16f16", 2, 4, 64, "f2", "f4"),
    ("gfx90a", "v_mfma_f32_32x32x4f16", 2, 32, 64, "f2", "f4"),
    ("gfx90a", "v_mfma_f32_16x16x4f16", 2, 16, 64, "f2", "f4"),
    ("gfx90a", "v_mfma_f32_4x4x4f16", 2, 4, 64, "f2", "f4"),
    ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", 2, 16, 64, "bf16", "f4"),
    ("gfx90a", "v_mfma_f32_32x32x2f32", 1, 16, 64, "f4", "f4"),
    ("gfx90a", "v_mfma_f32_4x4x1f32", 1, 4, 64, "f4", "f4"),
    ("gfx942", "v_mfma_f32_16x16x16_f16", 2, 4, 64, "f2", "f4"),
    ("gfx942", "v_mfma_f32_16x16x8_xf32", 2, 4, 64, "f4", "f4"),
    ("gfx942", "v_mfma_f32_32x32x1_2b_f32", 1, 32, 64, "f4", "f4"),
    ("gfx950", "v_mfma_f32_32x32x16_bf16", 4, 16, 64, "bf16", "f4"),
    ("gfx1100", "v_wmma_f32_16x16x16_f16", 8, 8, 32, "f2", "f4"),
    ("gfx1100", "v_wmma_f32_16x16x16_bf16", 8, 4, 64, "bf16", "f4"),
    ("gfx1201", "v_wmma_f32_16x16x16_bf16", 4, 8, 32, "bf16", "f4"),
    ("gfx1201", "v_wmma_f16_16x16x16_f16", 4, 4, 32, "f2", "f2"),
    ("gfx1201", "v_wmma_f32_16x16x16_f16", 2, 4, 64, "f2", "f4"),
    ("gfx1250", "v_wmma_f32_16x16x32_f16", 8, 8, 32, "f2", "f4"),
    ("gfx1250", "v_wmma_f16_16x16x32_f16", 8, 4, 32, "f2", "f2"),
    ("gfx1250", "v_wmma_f32_16x16x4_f32", 2, 8, 32, "f4", "f4"),
]


def as_words(values: np.ndarray, kind: str) -> np.ndarray:
    """Elements of lanes as registers have them: the bits of bf16 are an f32's upper half."""
    if kind == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2").view("u4")
    return np.ascontiguousarray(values.astype(kind)).view("u4")


def as_values(words: np.ndarray, kind: str) -> np.ndarray:
    return (words.view("u2").astype("u4") << 16).view("f4") if kind == "bf16" else words.view(kind)


@pytest.mark.parametrize("target, text, factors, results, wave, kind, kind_of_result", PRODUCTS)
def test_row_and_column_of_a_matrix_are_those_that_its_element_depends_on(
    target, text, factors, results, wave, kind, kind_of_result
):
    """Which elements of A and B an element of the result depends on is found out on the device, one at a time: A has a single one, B is
    full of ones, and the other way round. Then lanes have numbers that differ, some of them large or infinite."""
    is_rdna = target.startswith("gfx1")
    apart = "v_nop\\n" * 12 if target == "gfx1250" else "s_nop 15\\n" * 2
    vector = f" __attribute__((ext_vector_type({factors})))" if factors > 1 else ""
    source = MATRIX.format(vector=vector, results=results, text=text, apart=apart)
    code = lt.CodeObject.open(compiled.build(source, target, flags=("-mwavefrontsize64",) if is_rdna and wave == 64 else ()))
    size = 4 if kind == "f4" else 2
    per_lane, per_result = 4 * factors // size, 4 * results // (4 if kind_of_result == "f4" else 2)
    # With RDNA 3 the upper half of the lanes has the elements of the lower half again.
    apart_lanes = 16 if target == "gfx1100" else wave
    device = lt.Device(target)

    def run(a, b, c, tools=()):
        waves = a.shape[0]
        given = [as_words(x.reshape(-1), k) for x, k in ((a, kind), (b, kind), (c, kind_of_result))]
        out = np.zeros_like(given[2])
        did = device.run(code, "product", grid=waves * wave, block=wave, args=[out, *given], tools=tools)
        return as_values(out, kind_of_result).reshape(waves, wave, per_result), did

    hot = np.zeros((apart_lanes * per_lane, wave, per_lane))
    for lane in range(apart_lanes):
        for n in range(per_lane):
            hot[lane * per_lane + n, lane::apart_lanes, n] = 1
    ones, none = np.ones_like(hot), np.zeros((len(hot), wave, per_result))
    # Of each element of the result, which elements of A and B (lane and place) it is made of.
    rows, columns = run(hot, ones, none)[0] != 0, run(ones, hot, none)[0] != 0
    rng = np.random.default_rng(11)
    large = {"f2": 400.0, "f4": 1e22, "bf16": 1e22}[kind]
    tries = 8
    numbers = (rng.permutation(apart_lanes * per_lane) + 1.0) / 256
    a, b = (np.tile(numbers.reshape(1, apart_lanes, per_lane), (tries, wave // apart_lanes, 1)) for _ in range(2))
    b = b[:, :, ::-1].copy()
    c = rng.integers(-4, 4, (tries, wave, per_result)).astype("f8")
    for n in range(tries):
        # An infinity meets zeros, or large numbers meet large ones.
        lane, place = int(rng.integers(apart_lanes)), int(rng.integers(per_lane))
        first, other = (a, b) if n % 2 else (b, a)
        if n % 4 < 2:
            first[n, lane::apart_lanes, place] = np.inf if n % 8 < 4 else -np.inf
            kept = rng.random((apart_lanes, per_lane)) < 0.8
        else:
            first[n, lane::apart_lanes, place] *= large
            kept = np.where(rng.random((apart_lanes, per_lane)) < 0.2, large, 1)
        other[n] *= np.tile(kept, (wave // apart_lanes, 1))
    a, b = (as_values(as_words(x.reshape(-1), kind), kind).reshape(x.shape).astype("f8") for x in (a, b))
    told = 0
    for n in range(tries):
        some = (a[n : n + 1], b[n : n + 1], c[n : n + 1])
        out, did = run(*some, tools=[lt.tools.load("nan_check")])
        plain, _ = run(*some)
        assert out.tobytes() == plain.tobytes()
        result = did.tools["nan_check"]
        (address,) = [i.address for i in code.instructions if i.is_matrix]
        assert result["not seen"] == []
        lanes = np.array(
            [[np.concatenate([rows[:, lane, e], columns[:, lane, e]]) for e in range(per_result)] for lane in range(wave)]
        )
        flat_a, flat_b = (x[0, :apart_lanes].reshape(-1) for x in some[:2])
        sources = [np.concatenate([flat_a, flat_b])[of] for of in lanes.reshape(-1, lanes.shape[2])]
        made = np.array(
            [
                np.isnan(v) and not np.isnan([*s, w]).any() or np.isinf(v) and np.isfinite([*s, w]).all()
                for v, s, w in zip(out.reshape(-1), sources, some[2].reshape(-1))
            ]
        ).reshape(wave, per_result)
        found = result["found"].get(f"{address:#x}", {"nan": 0, "infinite": 0, "made": 0})
        assert (found["nan"], found["infinite"], found["made"]) == (np.isnan(out).sum(), np.isinf(out).sum(), made.sum())
        for first in result["made"]:
            if first["address"] != f"{address:#x}":
                continue
            told += 1
            lane = first["lane"]
            row, column, added = first["operands"]
            assert made[lane].any() and len(row) == len(column)
            elements = [
                e
                for e in np.flatnonzero(made[lane])
                if sorted(row) == sorted(f"{v:g}" for v in flat_a[rows[:, lane, e]])
                and sorted(column) == sorted(f"{v:g}" for v in flat_b[columns[:, lane, e]])
                and added == f"{some[2][0, lane, e]:g}"
            ]
            assert elements, first
            with np.errstate(all="ignore"):
                total = (np.array(row, "f8") * np.array(column, "f8")).sum()
            assert np.isnan(total) == (first["value"] in ("nan", "-nan")) or not np.isfinite(total), first
    assert told > 1


def test_what_registers_have_no_room_for_is_counted_and_not_told():
    """Workgroups of 1,024 work-items leave 64 VGPRs on gfx1250."""
    vector = " __attribute__((ext_vector_type(8)))"
    source = MATRIX.format(vector=vector, results=8, text="v_wmma_f32_16x16x32_f16", apart="v_nop\\n" * 12)
    code = lt.CodeObject.open(compiled.build(source.replace("(32, 64)", "(1, 1024)"), "gfx1250"))
    a = np.ones(32 * 16, "f2")
    a[5] = np.inf
    args = [np.zeros(256, "f4"), a, np.zeros(32 * 16, "f2"), np.zeros(256, "f4")]
    with pytest.warns(lt.RejectedWarning):
        told = lt.Device("gfx1250").run(code, "product", grid=32, block=32, args=args, tools=["nan_check"]).tools["nan_check"]
    (found,) = told["found"].values()
    assert (found["nan"], found["made"]) == (np.isnan(args[0]).sum(), None) and found["nan"] == 16 and told["made"] == []


def test_lanes_that_are_off_have_nothing_told_of_a_matrix_operation():
    """They take part in it, and what they hold is not looked at."""
    vector = " __attribute__((ext_vector_type(2)))"
    source = MATRIX.format(vector=vector, results=4, text="v_mfma_f32_16x16x16f16", apart="s_nop 15\\n" * 2)
    source = source.replace("asm volatile", "if (i < 40) asm volatile")
    code = lt.CodeObject.open(compiled.build(source, "gfx90a"))
    a = np.ones((64, 4), "f2")
    a[3, 0], a[60, 1] = np.inf, np.nan
    args = [np.zeros(256, "f4"), a.reshape(-1).view("u4"), np.zeros(128, "u4"), np.zeros(256, "f4")]
    told = lt.Device("gfx90a").run(code, "product", grid=64, block=64, args=args, tools=["nan_check"]).tools["nan_check"]
    (found,) = told["found"].values()
    assert found["nan"] == np.isnan(args[0].reshape(64, 4)[:40]).sum() > 0
    assert found["made"] == 0 and told["made"] == told["taken"] == []
