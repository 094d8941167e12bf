"""Errors against NumPy's arithmetic in 64 bits, of what snapshots of the mock device have in registers."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from tool_runs import TARGETS, TRITON_TARGETS, launches

import luthier as lt
from luthier.tools.precision import KINDS, Operation, operations

SOURCE = """
KERNEL sums(float *out, const float *a, const float *b) {
    u32 i = global_x(); float x = a[i], y = b[i];
    out[4 * i] = x - y; out[4 * i + 1] = __builtin_fmaf(x, y, -out[4 * i + 2]); out[4 * i + 2] = x * y + 1.0f;
    out[4 * i + 3] = __builtin_amdgcn_rcpf(x) + __builtin_amdgcn_rsqf(__builtin_fabsf(y)) + __builtin_amdgcn_sqrtf(__builtin_fabsf(x));
}
KERNEL halves(f16 *out, const f16 *a, const f16 *b) { u32 i = global_x(); out[i] = a[i] * b[i] - a[i]; }
"""


def values(registers, what, lanes: np.ndarray, kind: str, sign: int) -> np.ndarray:
    """A source or a result as f64."""
    if isinstance(what, int):
        words = np.full(lanes.sum(), what, "u4")
    else:
        register = what.of.register if isinstance(what, lt.Old) else what
        known = registers.vgprs[register.index] if register.file == "vgpr" else np.full(64, registers.sgprs[register.index])
        words = known[lanes].astype("u4")
    if kind == "f32":
        found = words.view("f4").astype("f8")
    elif kind == "f16":
        found = (words & 0xFFFF).astype("u2").view("f2").astype("f8")
    else:
        found = (words << 16).astype("u4").view("f4").astype("f8")
    found = np.abs(found) if sign & 1 else found
    return -found if sign & 2 else found


def errors(op: Operation, before, after, lanes: np.ndarray):
    """The errors in 1/1024 of the last digit, the digits that cancel, and what is not finite."""
    with np.errstate(all="ignore"):
        got = values(after, op.result, lanes, op.kind, 0)
        given = [values(before, s, lanes, op.kind, sign) for s, sign in zip(op.sources, op.signs)]
        functions = {"rcp": lambda a: 1 / a, "sqrt": np.sqrt, "rsq": lambda a: 1 / np.sqrt(a)}
        is_sum = op.name not in functions
        exact = given[0] * given[1] + given[2] if is_sum else functions[op.name](given[0])
        is_finite = np.isfinite(got) & np.isfinite(exact)
        digits, least = KINDS[op.kind]
        at = np.where(exact == 0, -1023, np.frexp(exact)[1] - 1)
        error = np.minimum(np.abs(got - exact) * 2.0 ** (digits + 10 - np.maximum(at, least)), 2.0**40)[is_finite].astype("u8")
        lost = np.zeros(0, int)
        if is_sum:
            left, right = given[0] * given[1], given[2]
            greatest = np.maximum(*(np.where(x == 0, -1023, np.frexp(x)[1] - 1) for x in (left, right)))
            counts = (at < greatest) & (exact != 0) & np.isfinite(left) & np.isfinite(right)
            lost = (greatest - at)[counts]
        return error, lost, int((~is_finite).sum())


def check(told: dict, snapshots, kernel: lt.Kernel) -> set[str]:
    instrs = {i.address: (i, operations(i)[0]) for i in kernel.instructions if i.is_valu}
    parts: dict[int, list] = {}
    for before, after in zip(snapshots, snapshots[1:]):
        lanes = np.array([(before.registers.exec >> n) & 1 for n in range(64)], bool)
        if before.pc in instrs and lanes.any():
            parts.setdefault(before.pc, []).extend(
                errors(op, before.registers, after.registers, lanes) for op in instrs[before.pc][1]
            )
    parts = {pc: found for pc, found in parts.items() if found}
    assert {int(a, 0) for a in told["instructions"]} == set(parts)
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
