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
    watched = {instr.address: instr for instr, *_ in tool.watched}
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
        result_register = next(o.register for o in watched[pc].operands if o.is_written and o.register.file == "vgpr")

        def values(registers, register, lanes=lanes):
            words = np.stack([registers.vgprs[register.index + n] for n in range(register.width)], axis=1)[lanes]
            data = np.ascontiguousarray(words).view("u1").reshape(len(words), -1)[:, : float_type.itemsize]
            return np.ascontiguousarray(data).view(float_type)[:, 0]

        out = values(behind, result_register)
        counts = found.setdefault(pc, [0, 0, 0])
        counts[0] += int(np.isnan(out).sum())
        counts[1] += int(np.isinf(out).sum())
        if kernel == "ratios":
            read = [values(before, o.register) for o in watched[pc].operands if o.is_read and o.register.file == "vgpr"]
            counts[2] += int((~np.isfinite(out) & np.all([np.isfinite(v) for v in read], axis=0)).sum())
    expected = {
        f"{pc:#x}": {"nan": nan, "infinite": inf, "made": made if kernel == "ratios" else None}
        for pc, (nan, inf, made) in found.items()
        if nan or inf
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
        assert [v for v in made["operands"] if v in read] == read and all(np.isfinite(float(v)) for v in made["operands"])
