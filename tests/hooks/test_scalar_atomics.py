"""Scalar atomics of hooks: what is in memory, and what was there before, as NumPy says, on every processor that has them."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, launch, places
from random_hooks.run import KERNEL as MASKED

import luthier as lt
from luthier.lang.intrinsics import INTRINSICS

W64 = ("-mwavefrontsize64",)
HAVE = [
    ("gfx900", ()), ("gfx906", ()), ("gfx908", ()), ("gfx90a", ()), ("gfx942", ()), ("gfx950", ()), ("gfx1010", ()),
    ("gfx1010", W64), ("gfx1012", ()),
]  # fmt: skip
HAVE_NONE = ["gfx1030", "gfx1100", "gfx1201", "gfx1250"]
ROUNDS = 48
ID = [t[0] + ("-wave64" if t[1] else "") for t in HAVE]
KERNEL = "KERNEL idle(u32 *out) { out[global_x()] = 7; }"
NAMES = [name for name in INTRINSICS if name.startswith("scalar_atomic_")]

#: A hook of each type: operands of every round, and what was there before each of them.
SOURCE = """
@lt.hook
def hook(cells: lt.ptr[lt.{type}], a: lt.ptr[lt.{type}], b: lt.ptr[lt.{type}], old: lt.ptr[lt.{type}]):
    for n in range({rounds}):
        x = lt.readfirstlane(a[n])
{body}
"""


def numbers(kind: str, seed: int) -> np.ndarray:
    """Small ones and large ones, with equal neighbours."""
    random = np.random.default_rng(seed)
    info = np.iinfo(kind)
    wide = random.integers(info.min, info.max, ROUNDS, dtype=kind, endpoint=True)
    return np.where(random.random(ROUNDS) < 0.5, random.integers(0, 4, ROUNDS).astype(kind), wide)


def model(name: str, was, x, b):
    """What is stored."""
    kind = type(was)
    match name.removeprefix("scalar_atomic_"):
        case "add":
            return was + x
        case "sub":
            return was - x
        case "min":
            return min(was, x)
        case "max":
            return max(was, x)
        case "and":
            return was & x
        case "or":
            return was | x
        case "xor":
            return was ^ x
        case "inc":
            return kind(0) if was >= x else was + kind(1)
        case "dec":
            return x if was == 0 or was > x else was - kind(1)
        case "exchange":
            return x
        case "cas":
            return b if was == x else was
    raise AssertionError(name)


def names_for(kind: str) -> list[str]:
    return [name for name in NAMES if kind[0] == "u" or not name.endswith(("_inc", "_dec"))]


def hook_of(tmp_path, kind: str, asks: bool):
    """A hook, from a file of its own, since hooks are read from their source."""
    body = ""
    for k, name in enumerate(names_for(kind)):
        operands = "x, lt.readfirstlane(b[n])" if name.endswith("_cas") else "x"
        call = f"lt.{name}(cells + {k}, {operands})"
        body += f"        {f'old[{k} * {ROUNDS} + n] = {call}' if asks else call}\n"
    short = {"uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64"}[kind]
    path = tmp_path / f"hook_{kind}_{asks}.py"
    path.write_text("import luthier as lt\n" + SOURCE.format(type=short, rounds=ROUNDS, body=body))
    found: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), found)
    return found["hook"], getattr(lt, short)


def run_once(target, hook, element, kind: str):
    a, b = numbers(kind, 5), numbers(kind, 6)

    class Once(lt.Tool):
        cells = lt.DeviceArray(element, len(NAMES))
        old = lt.DeviceArray(element, len(NAMES) * ROUNDS)
        a_ = lt.DeviceArray(element, ROUNDS, init=a)
        b_ = lt.DeviceArray(element, ROUNDS, init=b)

        def on_kernel(self, kernel):
            kernel.insert_at_entry(hook, self.cells, self.a_, self.b_, self.old)

    tool = Once()
    module = lt.Device(target[0]).load(compiled.build(KERNEL, *target), tools=[tool], on_rejected="raise", check=True)
    result = module.run("idle", blocks=1, block=20, args=[np.zeros(20, np.uint32)], strict=True)
    assert not result.findings, result.findings
    cells, old = np.zeros(len(NAMES), kind), np.zeros((len(NAMES), ROUNDS), kind)
    with np.errstate(over="ignore"):
        for k, name in enumerate(names_for(kind)):
            for n in range(ROUNDS):
                old[k, n] = cells[k]
                cells[k] = model(name, cells[k], a[n], b[n])
    return tool, result, cells, old


@pytest.mark.parametrize("asks", [True, False], ids=["old-value", "alone"])
@pytest.mark.parametrize("kind", ["uint32", "int32", "uint64", "int64"])
@pytest.mark.parametrize("target", HAVE, ids=ID)
def test_memory_and_old_values_are_as_numpy_says(tmp_path, target, kind, asks):
    hook, element = hook_of(tmp_path, kind, asks)
    tool, result, cells, old = run_once(target, hook, element, kind)
    assert np.array_equal(tool.cells.read(), cells)
    if asks:
        assert np.array_equal(tool.old.read().reshape(old.shape), old)
    atomics = {name for name in result.histogram if name.startswith("s_atomic_")}
    assert len(atomics) == len(names_for(kind)) and all(name.endswith("_x2") == kind.endswith("64") for name in atomics)
    assert not any("global_atomic" in name for name in result.histogram)


#: Numbers that instructions have as literals of 32 bits, or have not.
NUMBERS = (
    -1,
    -16,
    -17,
    -31,
    -(1 << 31),
    -(1 << 31) - 1,
    64,
    65,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 31,
    1 << 32,
    1 << 40,
    -(1 << 40),
)


class Constants(lt.Tool):
    """Each number added, its opposite subtracted, and compared with."""

    sums = lt.DeviceArray(lt.i64, len(NUMBERS))
    old = lt.DeviceArray(lt.i64, len(NUMBERS))
    swapped = lt.DeviceArray(lt.i64, len(NUMBERS), init=np.array(NUMBERS))

    @lt.hook
    def hook(sums: lt.ptr[lt.i64], old: lt.ptr[lt.i64], swapped: lt.ptr[lt.i64]):
        for n in range(len(NUMBERS)):
            lt.scalar_atomic_add(sums + n, NUMBERS[n])
            old[n] = lt.scalar_atomic_sub(sums + n, 0 - NUMBERS[n])
            lt.scalar_atomic_cas(swapped + n, NUMBERS[n], NUMBERS[len(NUMBERS) - 1 - n])

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hook, self.sums, self.old, self.swapped)


@pytest.mark.parametrize("target", HAVE, ids=ID)
def test_constants_are_what_they_are(target):
    tool = Constants()
    module = lt.Device(target[0]).load(compiled.build(KERNEL, *target), tools=[tool], on_rejected="raise", check=True)
    result = module.run("idle", blocks=1, block=20, args=[np.zeros(20, np.uint32)], strict=True)
    assert not result.findings
    assert list(tool.old.read()) == list(NUMBERS) and list(tool.sums.read()) == [2 * n for n in NUMBERS]
    assert list(tool.swapped.read()) == list(reversed(NUMBERS))


class Everywhere(lt.Tool):
    """Before, after and between: how often waves come by, with and without lanes, and which sums they make."""

    sums = lt.DeviceArray(lt.u64, 4)
    most = lt.DeviceArray(lt.u32, 1)
    last = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def passed(sums: lt.ptr[lt.u64]):
        lt.scalar_atomic_add(sums, 1)
        lt.scalar_atomic_add(sums + 1, lt.u64(lt.active_lanes()))

    @lt.hook
    def behind(sums: lt.ptr[lt.u64], most: lt.ptr[lt.u32], last: lt.ptr[lt.u64]):
        before = lt.scalar_atomic_max(most, lt.active_lanes())
        if before > 64:
            lt.trap()
        lt.scalar_atomic_exchange(last, lt.exec_mask())
        if lt.lane_id() & 1:
            lt.scalar_atomic_add(sums + 2, 1)
        lt.wave_atomic_add(sums + 3, 1)

    def on_kernel(self, kernel):
        for instr in (i for function in kernel.functions for i in function.instructions):
            if instr.is_valu or instr.is_load or instr.is_store:
                kernel.insert_before(instr, self.passed, self.sums)
                kernel.insert_after(instr, self.behind, self.sums, self.most, self.last)


@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize("target", HAVE, ids=ID)
def test_hooks_before_and_after_change_nothing_and_count_all_waves(target, bodies):
    code = places(target)
    plain, _ = launch(instrumented(code, target, []))
    tool = Everywhere()
    out, result = launch(instrumented(code, target, [tool], bodies=bodies))
    assert np.array_equal(out, plain)
    passed, lanes, odd, behind = (int(n) for n in tool.sums.read())
    # One pair at each place: as many waves come behind an instruction as before it.
    assert passed == behind > 100 and 0 < odd <= behind
    size = 64 if "gfx10" not in target[0] or target[1] else 32
    assert passed < lanes <= size * passed and tool.most[0] == size
    assert 0 < int(tool.last[0]) < 1 << size


class NoLanes(lt.Tool):
    """Hooks where a wave has none of its lanes on."""

    cells = lt.DeviceArray(lt.u32, 4)

    @lt.hook
    def hook(cells: lt.ptr[lt.u32], value: lt.u32):
        old = lt.scalar_atomic_add(cells, 3)
        lt.scalar_atomic_max(cells + 1, old)
        if value < 1000:
            lt.scalar_atomic_add(cells + 2, 1)
        lt.scalar_atomic_add(cells + 3, lt.active_lanes())

    def on_kernel(self, kernel):
        (instr,) = (one for one in kernel.instructions if one.text == "s_nop 7")
        kernel.insert_before(instr, self.hook, self.cells, lt.Reg("v0"))


@pytest.mark.parametrize("target", HAVE, ids=ID)
def test_a_wave_without_lanes_acts_but_not_in_a_branch_of_lanes(target):
    tool = NoLanes()
    module = lt.Device(target[0]).load(compiled.build(MASKED, *target), tools=[tool], on_rejected="raise", check=True)
    result = module.run("masked", blocks=2, block=128, args=[np.uint64(0), np.zeros(128, np.uint32)], strict=True)
    assert not result.findings
    assert list(tool.cells.read()) == [3 * result.waves, 3 * (result.waves - 1), 0, 0]


HIP = """
#include <luthier/hooks.h>
__device__ unsigned words[12];
__device__ unsigned long long pairs[12], old[2];
LT_HOOK void hook(unsigned a, unsigned long long b) {
    lt::scalar_atomic_add(words, a);
    lt::scalar_atomic_sub(words + 1, a);
    lt::scalar_atomic_min(words + 2, a);
    lt::scalar_atomic_max(words + 3, a);
    lt::scalar_atomic_and(words + 4, a);
    lt::scalar_atomic_or(words + 5, a);
    lt::scalar_atomic_xor(words + 6, a);
    lt::scalar_atomic_inc(words + 7, a);
    lt::scalar_atomic_dec(words + 8, a);
    lt::scalar_atomic_exchange(words + 9, a);
    lt::scalar_atomic_cas(words + 10, 0, a);
    lt::scalar_atomic_add(pairs, b);
    lt::scalar_atomic_max(pairs + 3, b);
    old[0] = lt::scalar_atomic_cas(pairs + 10, 0, b);
    old[1] = lt::scalar_atomic_cas(pairs + 10, b, 7);
}
"""


@pytest.mark.parametrize("target", [HAVE[3], HAVE[6]], ids=lambda t: t[0])
def test_hip_has_the_same(target):
    class InHip(lt.Tool):
        library = lt.HookLibrary(HIP, "hip")

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.library["hook"], 12, 1 << 40)

    tool = InHip()
    module = lt.Device(target[0]).load(compiled.build(KERNEL, *target), tools=[tool], on_rejected="raise", check=True)
    result = module.run("idle", blocks=1, block=20, args=[np.zeros(20, np.uint32)], strict=True)
    assert not result.findings
    words, pairs = tool.library.variables["words"].read(), tool.library.variables["pairs"].read()
    assert list(words[:11]) == [12, 2**32 - 12, 0, 12, 0, 12, 12, 1, 12, 12, 12]
    assert [int(pairs[k]) for k in (0, 3, 10)] == [1 << 40, 1 << 40, 7]
    assert list(tool.library.variables["old"].read()) == [0, 1 << 40]


@pytest.mark.parametrize("target", HAVE_NONE)
def test_a_processor_without_them_refuses_by_name_at_the_call(target):
    code = compiled.build(KERNEL, target)

    class Python(lt.Tool):
        cells = lt.DeviceArray(lt.u32, 1)

        @lt.hook
        def hook(cells: lt.ptr[lt.u32]):
            lt.scalar_atomic_add(cells, 1)

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.hook, self.cells)

    class InHip(lt.Tool):
        library = lt.HookLibrary(HIP, "hip")

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.library["hook"], 12, 1 << 40)

    for tool in (Python(), InHip()):
        with pytest.raises(lt.HookError, match=f"{target} has no scalar atomics") as error:
            lt.Device(target).load(code, tools=[tool])
        assert error.value.line and "\n" not in str(error.value).splitlines()[0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("lt.scalar_atomic_add(lds, 1)", "global memory"),
        ("lt.scalar_atomic_add(words, lt.lane_id())", "all lanes share"),
        ("lt.scalar_atomic_cas(words, lt.lane_id(), 1)", "all lanes share"),
        ("lt.scalar_atomic_add(words + lt.lane_id(), 1)", "all lanes share"),
        ("lt.scalar_atomic_inc(signed, 1)", "unsigned"),
        ("lt.scalar_atomic_add(bytes, 1)", "32 or 64 bits"),
        ("lt.scalar_atomic_add(floats, 1.0)", "integers"),
        ("lt.scalar_atomic_add(words)", "2 arguments"),
    ],
)
def test_misuse_is_refused_at_its_line(tmp_path, call, said):
    path = tmp_path / "wrong.py"
    path.write_text(f"""import luthier as lt
class Wrong(lt.Tool):
    words_, signed_, bytes_ = lt.DeviceArray(lt.u32, 64), lt.DeviceArray(lt.i32, 64), lt.DeviceArray(lt.u8, 64)
    floats_, lds_ = lt.DeviceArray(lt.f32, 64), lt.shared(lt.u32, 4)
    @lt.hook
    def hook(words: lt.ptr[lt.u32], signed: lt.ptr[lt.i32], bytes: lt.ptr[lt.u8], floats: lt.ptr[lt.f32], lds: lt.ptr[lt.u32, "lds"]):
        {call}
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hook, self.words_, self.signed_, self.bytes_, self.floats_, self.lds_)
""")
    found: dict = {}
    with pytest.raises(lt.HookError, match=said) as error:
        exec(compile(path.read_text(), str(path), "exec"), found)
        lt.Device("gfx90a").load(compiled.build(KERNEL, "gfx90a"), tools=[found["Wrong"]()])
    assert error.value.line == 7
