"""The values that value_profile tells of are those in the registers, as snapshots of the mock device have them."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import compiled
import kernel_cases
import numpy as np
import pytest
from tool_runs import TARGETS, TRITON_TARGETS, launches

import luthier as lt
from luthier.tools.repeats import repeated
from luthier.tools.results import Value, results
from luthier.tools.value_profile import stored

KERNELS = ("vecadd", "half", "double", "reduce")
FLOATS = {"f32": "f4", "f16": "f2", "f64": "f8"}


def numbers(value: Value, registers, lanes: np.ndarray) -> np.ndarray:
    """What a register holds in these lanes, as numbers of its kind."""
    words = np.stack([registers.vgprs[value.register.place[1] + n] for n in range(2 if value.kind == "f64" else 1)], axis=1)[
        lanes
    ]
    if value.kind == "bf16":
        return ((words[:, 0] >> value.shift) << 16).astype("u4").view("f4")
    if value.kind == "f16":
        return ((words[:, 0] >> value.shift) & 0xFFFF).astype("u2").view("f2").astype("f4")
    return np.ascontiguousarray(words).view(FLOATS.get(value.kind, "u4"))[:, 0]


def expected(kind: str, parts: list[np.ndarray]) -> dict:
    """The profile of what several waves had."""
    values = np.concatenate(parts)
    bits = [part.view(f"u{part.itemsize}") for part in parts]
    is_nan = np.isnan(values) if kind != "b32" else np.zeros(len(values), bool)
    found = {
        "kind": kind,
        "waves": len(parts),
        "values": len(values),
        "zeros": int((values == 0).sum()),
        "same": sum(int((b == b[0]).sum()) for b in bits if len(b)),
        "uniform": sum(bool((b == b[0]).all()) for b in bits if len(b)),
        "nan": int(is_nan.sum()),
    }
    numbers = values[~is_nan]
    found["least"] = numbers.min().item() if len(numbers) else None
    found["greatest"] = numbers.max().item() if len(numbers) else None
    bins: Counter[str] = Counter()
    for x in values.tolist():
        if kind == "b32":
            bins[str(x.bit_length())] += 1
        elif not np.isfinite(x):
            bins["special"] += 1
        else:
            exponent = int(np.frexp(x)[1]) - 1 if x else -(1 << 20)
            least = -1022 if kind == "f64" else -126
            bins["zero" if exponent < least else str(((exponent + 1023) // 8) * 8 - 1023 if kind == "f64" else exponent)] += 1
    return {**found, "exponents": dict(bins)}


def profile_and_snapshots(name: str, target: str, options: str = ""):
    code, make, check = launches(name, target) if name != "mixed" else mixed(target)
    (launch,) = make()[:1]
    given = {"grid": launch.grid, "block": launch.block, "lds": getattr(launch, "lds", 0)}
    kernel = code.kernel(launch.kernel)
    device = lt.Device(target)
    tool = lt.tools.load(f"value_profile{options}")
    told = device.load_alone(code, launch.kernel, [tool]).run(launch.kernel, args=launch.args, **given)
    check([launch])
    seen = device.load(code).trace(
        launch.kernel, args=make()[0].args, snapshots=[i.address for i in kernel.instructions], **given
    )
    return told.tools["value_profile"], seen.snapshots, kernel


CASES = [(k, t) for t in TARGETS for k in KERNELS] + [("triton-vadd_f16", t) for t in TRITON_TARGETS if t != "gfx1250"]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_profiles_are_those_of_the_registers(name, target):
    told, snapshots, kernel = profile_and_snapshots(name, target)
    instrs = {i.address: i for i in kernel.instructions}
    parts: dict[int, list[np.ndarray]] = {}
    kinds: dict[int, str] = {}
    for before, after in zip(snapshots, snapshots[1:]):
        instr = instrs[before.pc]
        if f"{instr.address:#x}" in told["not seen"] or not (instr.works_for == "lane" or instr.is_matrix) or instr.is_atomic:
            continue
        values = stored(instr) if instr.is_store else results(instr) if instr.is_load or instr.is_valu else []
        lanes = np.array([(before.registers.exec >> n) & 1 for n in range(64)], bool)
        if not values or not lanes.any():
            continue
        kinds[instr.address] = values[0].kind
        for value in values:
            parts.setdefault(instr.address, []).append(numbers(value, (before if instr.is_store else after).registers, lanes))
    assert parts and {int(a, 0) for a in told["instructions"]} == set(parts)
    for address, seen in parts.items():
        mine = dict(told["instructions"][f"{address:#x}"])
        constant = mine.pop("constant")
        want = expected(kinds[address], seen)
        if not instrs[address].memory_space and kinds[address] == "b32":
            for place in ("least", "greatest", "exponents"):  # addresses differ from launch to launch
                assert mine.pop(place) is not None and want.pop(place) is not None
        assert mine == want, instrs[address].text
        if constant and "least" in want:
            assert want["least"] == want["greatest"] and not want["nan"]


MIXED = """
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
__attribute__((noinline, device)) double twice(double x) { return x + x; }
KERNEL mixed(double *out, f16x2 *halves, const double *a, const f16x2 *b) {
    u32 i = global_x();
    double x = a[i];
    f16x2 y = b[i];
    for (u32 k = 0; k < i % 5; ++k) { x = x * a[k] + 0.5; y = y * b[k]; }
    x = twice(x);
    out[i] = x > 100.0 ? twice(1.0) : twice(x);
    halves[i] = y;
}
"""


def mixed(target: str):
    """Doubles, packed halves, and a loop that lanes leave one after another."""

    def make():
        rng = np.random.default_rng(7)
        args = [np.zeros(128), np.zeros(256, "f2"), rng.choice([0, 1, 2.5], 128), rng.choice([1, 2, -1], 256).astype("f2")]
        return [SimpleNamespace(kernel="mixed", grid=(128, 1, 1), block=(64, 1, 1), args=args)]

    def check(made):
        _, _, a, b = make()[0].args
        b = b.reshape(128, 2)
        x, y = a.copy(), b.copy()
        for k in range(5):
            goes = np.arange(128) % 5 > k
            x, y = np.where(goes, x * a[k] + 0.5, x), np.where(goes[:, None], y * b[k], y)
        np.testing.assert_array_equal(made[0].args[0], np.where(x + x > 100, 2, 4 * x))
        np.testing.assert_array_equal(made[0].args[1].reshape(128, 2), y)

    return lt.CodeObject.open(compiled.build(MIXED, target)), make, check


AGAIN = [(k, t) for t in TARGETS for k in ("matmul", "collatz", "call", "histogram", "mixed")]
AGAIN += [(f"triton-{k}", t) for k in ("softmax_f32", "matmul_f16_64") for t in TRITON_TARGETS]


@pytest.mark.parametrize(("name", "target"), AGAIN)
@pytest.mark.filterwarnings("ignore::luthier.RejectedWarning")
def test_repeats_are_those_of_the_registers(name, target):
    """A value counts if its lane has been at the instruction before, and repeats if the register's bits are what they were then."""
    told, snapshots, kernel = profile_and_snapshots(name, target, ":repeats=yes")
    instrs = {i.address: i for i in kernel.instructions}
    last: dict[tuple, int] = {}
    want = {int(a, 0): [0, 0] for a in told["instructions"]}
    for before, after in zip(snapshots, snapshots[1:]):
        instr = instrs[before.pc]
        if instr.address not in want:
            continue
        assert (before.workgroup, before.wave) == (after.workgroup, after.wave)
        values = stored(instr) if instr.is_store else results(instr)
        registers = before.registers if instr.is_store else after.registers
        for lane in (n for n in range(64) if (before.registers.exec >> n) & 1):
            for n, value in enumerate(values):
                first, width = value.register.place[1], 2 if value.kind == "f64" else 1
                bits = sum(int(registers.vgprs[first + k][lane]) << 32 * k for k in range(width)) >> value.shift
                bits &= 0xFFFF if value.kind in ("f16", "bf16") else (1 << 32 * width) - 1
                key = (before.workgroup, before.wave, instr.address, n, lane)
                if key in last:
                    want[instr.address][0] += 1
                    want[instr.address][1] += last[key] == bits
                last[key] = bits
    unknown = [a for a, about in told["instructions"].items() if about["again"] is None]
    for address, (again, repeats) in want.items():
        about = told["instructions"][f"{address:#x}"]
        if about["again"] is not None:
            assert (about["again"], about["repeats"]) == (again, repeats), instrs[address].text
    assert len(unknown) < len(want) / 2
    assert not unknown or name == "triton-matmul_f16_64"
    again, repeats = (sum(both) for both in zip(*want.values()))
    assert name not in ("matmul", "collatz", "mixed") or 0 < repeats < again


def test_what_may_run_again_is_in_loops_and_functions():
    """Blocks in front of and behind loops, of the kernel itself, run once."""
    code = lt.CodeObject.open(compiled.build(TWO_LOOPS, "gfx942", flags=("-O1",)))
    kernel = code.kernel("loops")
    device = lt.Device("gfx942")
    counts = device.load(code).trace("loops", grid=64, block=64, args=[np.zeros(64, "f4"), np.ones(64, "f4"), 5]).counts
    again = {a for f in kernel.functions for a in repeated(kernel, f)}
    often = {i.block.address for i in kernel.instructions if counts.get(i.address, 0) > 1}
    once = {b.address for b in kernel.blocks} - again
    assert often and often <= again and kernel.blocks[0].address in once and len(once) >= 2


def test_groups_and_repeats_go_together():
    code, make, check = launches("matmul", "gfx90a")
    (launch,) = make()[:1]
    block, alone = launch.block, []
    for grid, options in (((block[0], *block[1:]), ""), (launch.grid, ",groups=1")):
        given = {"grid": grid, "block": block, "lds": getattr(launch, "lds", 0), "args": make()[0].args}
        told = lt.Device("gfx90a").run(code, launch.kernel, tools=[f"value_profile:repeats=yes{options}"], **given)
        alone.append({a: t["again"] for a, t in told.tools["value_profile"]["instructions"].items()})
    assert alone[0] == alone[1] and sum(alone[0].values())


TWO_LOOPS = """
KERNEL loops(float *out, const float *a, int n) {
    u32 i = global_x();
    float x = a[i];
    for (int k = 0; k < n; ++k) { x = x * 0.5f + a[i + k - k]; __asm__ volatile("" : "+v"(x)); }
    x += 3.0f;
    for (int k = 0; k < n; ++k) { x = x * x; __asm__ volatile("" : "+v"(x)); }
    out[i] = x;
}
"""
SOURCE = """
KERNEL odd(float *out, const float *a) { u32 i = global_x(); float x = a[i]; out[i] = x * x + 0.0f * x; }
"""


def test_what_is_left_out_is_not_looked_at():
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx942"))
    args = [np.zeros(64, "f4"), np.full(64, np.nan, "f4")]
    tool = lt.tools.load("value_profile:loads=no,results=no")
    told = lt.Device("gfx942").run(code, "odd", grid=64, block=64, args=args, tools=[tool]).tools["value_profile"]
    stores = [f"{i.address:#x}" for i in code.instructions if i.is_store]
    assert list(told["instructions"]) == stores
    assert told["instructions"][stores[0]]["kind"] == "b32" and told["instructions"][stores[0]]["uniform"] == 1


def test_nans_have_no_place_in_the_range():
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx1100"))
    args = [np.zeros(64, "f4"), np.where(np.arange(64) < 60, np.nan, -2).astype("f4")]
    told = lt.Device("gfx1100").run(code, "odd", grid=64, block=64, args=args, tools=[lt.tools.load("value_profile")]).tools
    squares = [t for t in told["value_profile"]["instructions"].values() if t["kind"] == "f32" and t["greatest"] == 4]
    assert squares and all(t["nan"] == 60 and t["least"] == 4 for t in squares)


@pytest.mark.parametrize(
    "name, target", [("double", "gfx90a"), ("half", "gfx1100"), ("vecadd", "gfx1201"), ("triton-softmax_f32", "gfx942")]
)
def test_of_the_first_workgroups_only_these_are_looked_at(name, target):
    code, make, check = launches(name, target)
    (launch,) = make()[:1]
    block = launch.block
    some = (block[0] * 2, *launch.grid[1:])
    told = []
    for grid, options in ((some, ""), (launch.grid, ":groups=2"), (launch.grid, ":groups=0")):
        args = make()[0].args
        result = lt.Device(target).run(
            code,
            launch.kernel,
            grid=grid,
            block=block,
            args=args,
            lds=getattr(launch, "lds", 0),
            tools=[f"value_profile{options}"],
        )
        told.append(result.tools["value_profile"]["instructions"])
    alone, first, every = told
    assert first.keys() == alone.keys()
    for address, about in alone.items():
        # The size of the grid is a value of the kernel's own, in some instructions.
        assert first[address]["waves"] == about["waves"] and first[address]["values"] == about["values"]
    assert sum(a["waves"] for a in first.values()) < sum(a["waves"] for a in every.values())
    assert sum(first[at]["exponents"] == about["exponents"] for at, about in alone.items()) >= len(alone) * 0.9


def test_a_number_of_workgroups_below_zero_is_refused():
    with pytest.raises(lt.ToolError, match="groups=-1: a number of workgroups"):
        lt.tools.load("value_profile:groups=-1")


@pytest.mark.parametrize("tool", ["value_profile", "precision"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1201"])
def test_extremes_are_noted_by_atomic_operations_alone(target, tool):
    """Waves that look at what others raise race with nothing."""
    (launch,) = kernel_cases.launches("matmul")[:1]
    found = (
        lt.Device(target, threads=1)
        .run(
            compiled.code_object("matmul", target=target),
            launch.kernel,
            grid=launch.grid,
            block=launch.block,
            args=launch.args,
            tools=[tool],
            strict=True,
        )
        .findings
    )
    assert not found, found[0]
