"""Errors against NumPy's arithmetic in 64 bits, of what snapshots of the mock device have in registers."""

from __future__ import annotations

import re

import compiled
import numpy as np
import pytest
from matrix_cases import OPERATIONS, Case, Kernel, numbers
from matrix_layouts import bits_of, decoded, encoded
from tool_runs import TARGETS, TRITON_TARGETS, launches

import luthier as lt
from luthier.tools.precision_operations import KINDS, Operation, operations

SOURCE = """
KERNEL sums(float *out, const float *a, const float *b) {
    u32 i = global_x(); float x = a[i], y = b[i];
    out[4 * i] = x - y; out[4 * i + 1] = __builtin_fmaf(x, y, -out[4 * i + 2]); out[4 * i + 2] = x * y + 1.0f;
    out[4 * i + 3] = __builtin_amdgcn_rcpf(x) + __builtin_amdgcn_rsqf(__builtin_fabsf(y)) + __builtin_amdgcn_sqrtf(__builtin_fabsf(x));
}
KERNEL halves(f16 *out, const f16 *a, const f16 *b) { u32 i = global_x(); out[i] = a[i] * b[i] - a[i]; }
"""


def values(registers, what, shift: int, lanes: np.ndarray, kind: str, sign: int) -> np.ndarray:
    """A source or a result as f64."""
    of = what.of if isinstance(what, lt.Old) else what
    named = re.match(r"([asv])\[?(\d+)", str(of.register if isinstance(of, lt.Operand) else of))
    file, first = (named[1], int(named[2])) if named else ("", 0)
    if isinstance(what, int):
        words = np.full(lanes.sum(), what, "u4")
    elif kind == "f64":
        low, high = (registers.vgprs[n][lanes].astype("u8") for n in (first, first + 1))
        found = (low | high << np.uint64(32)).view("f8")
    else:
        known = registers.vgprs[first] if file == "v" else np.full(64, registers.sgprs[first])
        words = known[lanes].astype("u4") >> np.uint32(shift)
    if kind != "f64":
        found = decoded(kind, words & np.uint32((1 << bits_of(kind)) - 1))
    found = np.abs(found) if sign & 1 else found
    return -found if sign & 2 else found


def errors(op: Operation, before, after, lanes: np.ndarray):
    """The errors in 1/1024 of the last digit, the digits that cancel, and what is not finite."""
    with np.errstate(all="ignore"):
        got = values(after, op.result, op.shift, lanes, op.kind, 0)
        functions = {"rcp": lambda a: 1 / a, "sqrt": np.sqrt, "rsq": lambda a: 1 / np.sqrt(a), "cvt": lambda a: a}
        is_sum = op.name not in functions
        if op.name.startswith("dot"):
            count = int(op.name[3:])
            a, b = (
                [values(before, op.sources[s].of, 32 // count * n, lanes, op.taken[s], 0) for n in range(count)] for s in (0, 1)
            )
            added = [x * y for x, y in zip(a, b)] + [
                values(before, op.sources[2].of, op.sources[2].shift, lanes, op.kind, op.signs[2])
            ]
            added = [added[-1], *added[:-1]]
        else:
            given = [
                values(before, s.of, s.shift, lanes, op.taken_kind(n), sign)
                for n, (s, sign) in enumerate(zip(op.sources, op.signs))
            ]
            added = [given[0] * given[1], given[2]] if is_sum else []
        exact = sum(added[1:], added[0]) if is_sum else functions[op.name](given[0])
        is_finite = np.isfinite(got) & np.isfinite(exact)
        digits, least = KINDS[op.kind]
        at = np.where(exact == 0, -1023, np.frexp(exact)[1] - 1)
        error = np.minimum(np.abs(got - exact) * 2.0 ** (digits + 10 - np.maximum(at, least)), 2.0**40)[is_finite].astype("u8")
        lost = np.zeros(0, int)
        if is_sum:
            greatest = np.max([np.where(x == 0, -1023, np.frexp(x)[1] - 1) for x in added], axis=0)
            counts = (at < greatest) & (exact != 0) & np.all([np.isfinite(x) for x in added], axis=0)
            lost = (greatest - at)[counts]
        return error, lost, int((~is_finite).sum())


def check(told: dict, snapshots, kernel: lt.Kernel) -> set[str]:
    processor = kernel.code_object.processor
    instrs = {i.address: (i, operations(i, processor)[0]) for i in kernel.instructions if i.is_valu}
    parts: dict[int, list] = {}
    for before, after in zip(snapshots, snapshots[1:]):
        lanes = np.array([(before.registers.exec >> n) & 1 for n in range(64)], bool)
        if before.pc in instrs and lanes.any():
            parts.setdefault(before.pc, []).extend(
                errors(op, before.registers, after.registers, lanes) for op in instrs[before.pc][1]
            )
    parts = {pc: found for pc, found in parts.items() if found}
    assert {int(a, 0) for a, one in told["instructions"].items() if "kept" not in one} == set(parts)
    names = set()
    for pc, found in parts.items():
        mine = told["instructions"][f"{pc:#x}"]
        error, lost = (np.concatenate([part[n] for part in found]) for n in (0, 1))
        special = sum(part[2] for part in found)
        text = instrs[pc][0].text
        names |= set(mine["operations"])
        assert (mine["values"], mine["not finite"]) == (len(error) + special, special), text
        if len(error):
            assert abs(mine["worst"] * 1024 - int(error.max())) <= 1, text
            assert mine["mean"] == pytest.approx(error.mean() / 1024, abs=0.002), text
        assert mine["lost"] == len(lost) and mine["most digits"] == max(lost, default=0), text
        assert mine["digits"] == pytest.approx(lost.mean() if len(lost) else 0), text
    return names


def run(code, kernel: str, target: str, args, given, again):
    tool = lt.tools.load("precision")
    device = lt.Device(target)
    told = device.load_alone(code, kernel, [tool]).run(kernel, args=args, **given).tools["precision"]
    addresses = [i.address for i in code.kernel(kernel).instructions]
    trace = device.load(code).trace(kernel, args=again, snapshots=addresses, **given)
    for a, b in zip(args, again):
        if hasattr(a, "tobytes"):
            assert a.tobytes() == b.tobytes()
    return told, trace.snapshots


@pytest.mark.parametrize("target", TARGETS)
def test_errors_are_those_of_numpy_in_64_bits(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, target))
    rng = np.random.default_rng(1)
    x = rng.standard_normal(128).astype("f4")
    x[:4] = 0, np.inf, 3e38, 1e-38
    y = (x * (1 + rng.standard_normal(128) * 2.0 ** -rng.integers(0, 22, 128))).astype("f4")

    def args():
        return [np.zeros(512, "f4"), x.copy(), y.copy()]

    told, snapshots = run(code, "sums", target, args(), {"grid": 128, "block": 64}, args())
    names = check(told, snapshots, code.kernel("sums"))
    assert {"rcp_f32", "rsq_f32", "sqrt_f32"} < names and any(n.startswith(("fma", "mad", "mac")) for n in names)
    assert max(t["most digits"] for t in told["instructions"].values()) >= 15
    assert 0.5 >= max(t["worst"] for t in told["instructions"].values() if set(t["operations"]) <= {"sub_f32", "mul_f32"}) > 0.3


@pytest.mark.parametrize("target", ("gfx90a", "gfx942", "gfx1030"))
def test_errors_of_halves_are_those_of_numpy(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, target))
    a, b = np.random.default_rng(2).standard_normal((2, 128)).astype("f2")

    def args():
        return [np.zeros(128, "f2"), a.copy(), b.copy()]

    told, snapshots = run(code, "halves", target, args(), {"grid": 128, "block": 64}, args())
    assert any(name.endswith("_f16") for name in check(told, snapshots, code.kernel("halves")))


@pytest.mark.parametrize("target", [t for t in TRITON_TARGETS if t != "gfx1250"])
@pytest.mark.parametrize("name", ("triton-softmax_f32", "triton-layernorm_f32"))
def test_tritons_kernels(name, target):
    code, make, _ = launches(name, target)
    first, again = make()[0], make()[0]
    given = {"grid": tuple(min(g, 2 * b) for g, b in zip(first.grid, first.block)), "block": first.block, "lds": first.lds}
    told, snapshots = run(code, first.kernel, target, first.args, given, again.args)
    assert check(told, snapshots, code.kernel(first.kernel))


def test_what_is_not_looked_at_is_listed():
    code, _, _ = launches("triton-softmax_f32", "gfx90a")
    tool = lt.tools.load("precision")
    lt.Device("gfx90a").load(code, tools=[tool])
    texts = {i.opcode for i in tool.unseen}
    assert "v_exp_f32" in texts and not texts & {"v_mul_f32", "v_max_f32"}


#: Instructions that each give more than one result, sum several products, or convert into a narrower format: v10 and on of v0 to v3.
SHORT = {
    "gfx90a": ["v_pk_fma_f16 v10, v0, v1, v2 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]", "v_pk_add_f16 v10, v0, v1 neg_hi:[0,1]",
               "v_pk_mul_f16 v10, v0, v1", "v_pk_fma_f32 v[10:11], v[0:1], v[2:3], v[4:5] op_sel:[1,0,0] neg_hi:[0,0,1]",
               "v_pk_mul_f32 v[10:11], v[0:1], v[2:3]", "v_pk_add_f32 v[10:11], v[0:1], v[2:3] neg_lo:[0,1]",
               "v_dot2_f32_f16 v10, v0, v1, v2", "v_cvt_pkrtz_f16_f32 v10, v0, -|v1|", "v_cvt_f16_f32 v10, v0", "v_cvt_f32_f64 v10, -v[0:1]"],
    "gfx942": ["v_cvt_pk_fp8_f32 v10, v0, -v1", "v_cvt_pk_bf8_f32 v10, v0, v1 op_sel:[0,0,1]", "v_cvt_sr_fp8_f32 v10, v0, v1 op_sel:[0,0,1,0]",
               "v_cvt_sr_bf8_f32 v10, |v0|, v1 op_sel:[0,0,1,1]", "v_dot2c_f32_f16 v10, v0, v1", "v_pk_fma_f16 v10, v0, v1, v2"],
    "gfx950": ["v_cvt_pk_fp8_f32 v10, v0, v1", "v_cvt_pk_bf16_f32 v10, v0, v1", "v_dot2c_f32_bf16 v10, v0, v1", "v_dot2_f32_bf16 v10, v0, v1, v2"],
    "gfx1100": ["v_dot2_f16_f16 v10, v0, v1, v2", "v_dot2_bf16_bf16 v10, v0, v1, v2", "v_dot2_f32_bf16 v10, v0, v1, v2",
                "v_pk_fma_f16 v10, v0, v1, v2", "v_cvt_pk_rtz_f16_f32 v10, v0, v1", "v_mul_f16 v10, v0, v1"],
    "gfx1201": ["v_dot4_f32_fp8_bf8 v10, v0, v1, v2", "v_dot4_f32_bf8_bf8 v10, v0, v1, v2", "v_cvt_pk_fp8_f32 v10, v0, v1",
                "v_cvt_sr_bf8_f32 v10, v0, v1 byte_sel:2", "v_pk_add_f16 v10, v0, v1", "v_fma_f16 v10, v0, v1, v2"],
    "gfx1250": ["v_pk_fma_f32 v[10:11], v[0:1], v[2:3], v[4:5]", "v_pk_fma_bf16 v10, v0, v1, v2", "v_pk_mul_bf16 v10, v0, v1",
                "v_pk_add_bf16 v10, v0, v1", "v_cvt_pk_bf16_f32 v10, v0, v1", "v_cvt_pk_bf8_f32 v10, v0, v1"],
}  # fmt: skip


def assembly(texts: list[str], target: str) -> lt.CodeObject:
    """A kernel of these instructions, whose v0 to v5 and v10, v11 are of memory."""
    body = "\\n".join(texts)
    loads = " ".join(f'register u32 r{n} asm("v{n}") = a[8 * i + {k}];' for k, n in enumerate((0, 1, 2, 3, 4, 5, 10, 11)))
    used = ", ".join(f'"+v"(r{n})' for n in (10, 11))
    given = ", ".join(f'"v"(r{n})' for n in range(6))
    source = f"""KERNEL short_ones(u32 *out, const u32 *a) {{
        u32 i = global_x(); {loads}
        asm volatile("s_nop 7\\n{body}\\ns_nop 7" : {used} : {given});
        out[2 * i] = r10; out[2 * i + 1] = r11;
    }}"""
    return lt.CodeObject.open(compiled.build(source, target))


@pytest.mark.parametrize("target, text", [(target, text) for target, texts in SHORT.items() for text in texts])
def test_errors_of_packed_summed_and_narrowed_results_are_those_of_numpy(target, text):
    code = assembly([text], target)
    rng = np.random.default_rng(sum(map(ord, text)))
    kind = next(
        (k for k in ("f64", "f32", "bf16", "f16") if re.search(rf"{k}(?= |_e|$)", text.split()[0].rsplit("_", 1)[1])), "f16"
    )
    if "fp8_" in text or "bf8_bf8" in text:
        words = rng.integers(0, 1 << 32, 64 * 8, dtype="u4")
        accumulator = rng.standard_normal(64).astype("f4").view("u4")
        words.reshape(64, 8)[:, 2] = accumulator
    elif kind == "f64":
        words = rng.standard_normal(64 * 4).view("u4").copy()
    elif kind == "f32":
        words = (rng.standard_normal(64 * 8) * 2.0 ** rng.integers(-6, 6, 64 * 8)).astype("f4").view("u4").copy()
    else:
        words = encoded(kind, rng.standard_normal(64 * 16)).astype("u2").view("u4").copy()
    if text.startswith(("v_dot2_f32", "v_dot2c_f32")):
        words.reshape(64, 8)[:, [2, 6]] = rng.standard_normal((64, 2)).astype("f4").view("u4")

    def args():
        return [np.zeros(128, "u4"), words.copy()]

    told, snapshots = run(code, "short_ones", target, args(), {"grid": 64, "block": 64}, args())
    check(told, snapshots, code.kernel("short_ones"))
    [instr] = [i for i in code.kernel("short_ones").instructions if i.text.startswith(text.split()[0])]
    results = len(operations(instr, target)[0])
    assert results and told["instructions"][f"{instr.address:#x}"]["values"] == 64 * results and not told["not seen"], told


def wide(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Codes of numbers whose products have more digits than a result."""
    return encoded(kind, rng.standard_normal(shape)) if bits_of(kind) > 8 else numbers(rng, kind, shape)


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o.kind != "f64"], ids=str)
def test_errors_of_matrix_operations_are_those_of_numpy(operation):
    kernel = Kernel(operation)
    case = Case(operation, "nothing", np.random.default_rng(sum(map(ord, str(operation)))), wide)
    given = (case.a, case.b, case.c, case.index, case.scales)
    plain, _ = kernel.run(*given)
    words, did = kernel.run(*given, tools=[lt.tools.load("precision")])
    assert words.tobytes() == plain.tobytes() and did.findings == []
    told = did.tools["precision"]
    [one] = [one for one in told["instructions"].values() if "kept" in one]
    assert (one["executions"], one["kept"], told["not seen"]) == (1, 1, [])
    got, exact = kernel.result(words), case.sum
    greatest = np.maximum(np.abs(case.products).max(axis=-1), np.abs(case.added))
    digits, least = KINDS[operation.kind]
    at, most = (np.where(x == 0, -1023, np.frexp(x)[1] - 1) for x in (exact, greatest))
    error = (np.abs(got - exact) * 2.0 ** (digits + 10 - np.maximum(at, least))).astype("u8")
    lost = (most - at)[(at < most) & (exact != 0)]
    assert (one["values"], one["not finite"]) == (got.size, 0)
    assert one["worst"] * 1024 == pytest.approx(error.max(), abs=1) and one["mean"] * 1024 == pytest.approx(error.mean(), abs=1)
    assert (one["lost"], one["most digits"]) == (len(lost), max(lost, default=0))


def test_of_matrix_operations_in_a_loop_the_first_executions_are_looked_at():
    code, make, _ = launches("triton-matmul_f16_64", "gfx942")
    launch = make()[0]
    tool = lt.tools.load("precision:matrix_samples=3")
    given = {"grid": launch.grid, "block": launch.block, "lds": launch.lds}
    told = (
        lt.Device("gfx942")
        .load_alone(code, launch.kernel, [tool])
        .run(launch.kernel, args=launch.args, **given)
        .tools["precision"]
    )
    found = [one for one in told["instructions"].values() if "kept" in one]
    assert found and all(one["kept"] == 3 < one["executions"] for one in found)
    assert all(one["values"] == 3 * 64 * 16 for one in found)


@pytest.mark.parametrize(
    "target, text",
    [
        ("gfx950", "v_cvt_scalef32_pk_fp8_f32 v10, v0, v1, v2"),
        ("gfx950", "v_cvt_scalef32_sr_bf8_f32 v10, v0, v1, v2"),
        ("gfx1250", "v_cvt_sr_pk_bf16_f32 v10, v0, v1, v2"),
        ("gfx90a", "v_dot2_f32_f16 v10, v0, v1, v2 neg_lo:[1,0,0]"),
        ("gfx90a", "v_fma_mix_f32 v10, v0, v1, v2"),
        ("gfx942", "v_exp_f32 v10, v0"),
    ],
)
def test_what_loses_digits_and_is_not_looked_at_is_listed(target, text):
    instrs = assembly([text], target).kernel("short_ones").instructions
    [instr] = [i for i in instrs if i.text.startswith(text.split()[0])]
    assert operations(instr, target) == ([], False)
