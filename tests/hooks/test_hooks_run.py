"""What hooks compute: every operator of every type on the mock device, against NumPy and against Python itself."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess

import compiled
import hook_programs
import kernel_cases
import numpy as np
import pytest

import luthier as lt

BUT_RACES = [kind for kind in lt.finding_kinds() if kind not in ("memory-race", "barrier-place")]
LANES = 64
INTS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "f32", "f64")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel that does nothing, and so runs a hook with all lanes."""
    folder = tmp_path_factory.mktemp("hooks")
    (folder / "idle.hip").write_text('extern "C" __attribute__((global)) void idle() {}\n')
    command = "clang-22 -x hip --cuda-device-only -nogpuinc -nogpulib --offload-arch=gfx90a --no-gpu-bundle-output -O3"
    subprocess.run([*command.split(), str(folder / "idle.hip"), "-o", str(folder / "idle.hsaco")], check=True)
    return folder / "idle.hsaco"


def run(kernel, hook, *args, block=LANES):
    """Runs ``hook(*args)`` in one wave. Arrays become device variables, and their values at the end are the result."""
    arrays = {f"a{i}": a for i, a in enumerate(args) if isinstance(a, np.ndarray)}

    def on_kernel(self, kernel):
        passed = [getattr(self, f"a{i}", value) for i, value in enumerate(args)]
        kernel.insert_before(kernel.instructions[0], hook, *passed)

    variables = {name: lt.DeviceArray(getattr(lt, _name(a.dtype)), a.size, init=a) for name, a in arrays.items()}
    tool = type("Once", (lt.Tool,), {**variables, "on_kernel": on_kernel})()
    module = lt.Device("gfx90a").load(lt.CodeObject.open(kernel), tools=[tool])
    result = module.run("idle", grid=block, block=block, strict=True)
    assert result.findings == []
    return [getattr(tool, name).read() for name in arrays]


def _name(dtype):
    return {"b": "bool_"}.get(dtype.kind, f"{dtype.kind}{dtype.itemsize * 8}")


def hook_of(tmp_path, body, *, types):
    """A hook with the parameters of ``types`` and the lines of ``body``, from a file of its own."""
    params = ", ".join(f"{name}: {kind}" for name, kind in types.items())
    text = "import luthier as lt\n\n\n@lt.hook\n" + f"def hook({params}):\n" + "".join(f"    {line}\n" for line in body)
    path = tmp_path / "hook_under_test.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("hook_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.hook


def operands(dtype, seed=1):
    """Two times 64 values: the extremes against each other, the rest random."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, info.smallest_subnormal * 3, info.max]
        edges = np.array(edges, dtype)
        a, b = (rng.normal(0, 10, LANES).astype(dtype) for _ in range(2))
    else:
        info = np.iinfo(dtype)
        edges = np.array([0, 1, 7, info.max, info.min, info.max // 2, info.max - 1], dtype)
        a, b = (rng.integers(info.min, info.max, LANES, dtype, endpoint=True) for _ in range(2))
        b[::3] = rng.integers(0, 11, len(b[::3]))
    pairs = list(itertools.product(edges, edges))[:56]
    for i, (x, y) in enumerate(pairs):
        a[i], b[i] = x, y
    return a, b


def same(got, wanted, what):
    """Equal bit by bit; one NaN is as good as another."""
    wanted = np.asarray(wanted).astype(got.dtype)
    if got.dtype.kind == "f":
        both_nan = np.isnan(got) & np.isnan(wanted)
        got, wanted = np.where(both_nan, 0, got), np.where(both_nan, 0, wanted)
        bits = f"u{got.dtype.itemsize}"
        got, wanted = got.view(bits), wanted.view(bits)
    np.testing.assert_array_equal(got, wanted, err_msg=what)


def check_table(kernel, tmp_path, kind, table, dtype=None):
    """Each row of ``table``: an expression in a and b, and what NumPy makes of it."""
    dtype = np.dtype(dtype or getattr(lt, kind).dtype)
    a, b = operands(getattr(lt, kind).dtype)
    body = ["i = lt.lane_id()", "a = pa[i]", "b = pb[i]"]
    body += [f"out[{LANES * k} + i] = {text}" for k, (text, _) in enumerate(table)]
    pointer = f"lt.ptr[lt.{kind}]"
    hook = hook_of(tmp_path, body, types={"out": f"lt.ptr[lt.{_name(dtype)}]", "pa": pointer, "pb": pointer})
    out, _, _ = run(kernel, hook, np.zeros(LANES * len(table), dtype), a, b)
    with np.errstate(all="ignore"):
        for k, (text, numpy) in enumerate(table):
            same(out[LANES * k : LANES * (k + 1)], numpy(a, b), f"{kind}: {text}")


@pytest.mark.parametrize("kind", INTS)
def test_integer_arithmetic(kernel, tmp_path, kind):
    table = [
        ("a + b", lambda a, b: a + b),
        ("a - b", lambda a, b: a - b),
        ("a * b", lambda a, b: a * b),
        ("a // b", lambda a, b: a // b),
        ("a % b", lambda a, b: a % b),
        ("a & b", lambda a, b: a & b),
        ("a | b", lambda a, b: a | b),
        ("a ^ b", lambda a, b: a ^ b),
        ("a << b", lambda a, b: a << b),
        ("a >> b", lambda a, b: a >> b),
        ("-a", lambda a, b: -a),
        ("~a", lambda a, b: ~a),
        ("abs(a)", lambda a, b: np.abs(a)),
        ("min(a, b)", np.minimum),
        ("max(a, b)", np.maximum),
        ("a // 7", lambda a, b: a // a.dtype.type(7)),
        ("a % 7", lambda a, b: a % a.dtype.type(7)),
        ("a // 8", lambda a, b: a // a.dtype.type(8)),
        ("a << 3", lambda a, b: a << a.dtype.type(3)),
        ("a if a > b else b // 2", lambda a, b: np.where(a > b, a, b // a.dtype.type(2))),
    ]
    if kind.startswith("i"):
        table += [("a // -1", lambda a, b: a // a.dtype.type(-1)), ("a % -5", lambda a, b: a % a.dtype.type(-5))]
    check_table(kernel, tmp_path, kind, table)


@pytest.mark.parametrize("kind", FLOATS)
def test_float_arithmetic(kernel, tmp_path, kind):
    check_table(
        kernel,
        tmp_path,
        kind,
        [
            ("a + b", lambda a, b: a + b),
            ("a - b", lambda a, b: a - b),
            ("a * b", lambda a, b: a * b),
            ("a / b", lambda a, b: a / b),
            ("-a", lambda a, b: -a),
            ("abs(a)", lambda a, b: np.abs(a)),
            ("lt.floor(a)", lambda a, b: np.floor(a)),
            ("lt.sqrt(a)", lambda a, b: np.sqrt(a)),
            ("min(a, b)", lambda a, b: np.where(b < a, b, a)),
            ("max(a, b)", lambda a, b: np.where(b > a, b, a)),
            ("a * 2.5 - 1", lambda a, b: a * a.dtype.type(2.5) - a.dtype.type(1)),
            ("a if a < b else b", lambda a, b: np.where(a < b, a, b)),
            # The first of two that are equal, as zeros of different signs are.
            ("min(a, 0.0)", lambda a, b: np.where(0 < a, a.dtype.type(0), a)),
            ("max(a, 0.0)", lambda a, b: np.where(0 > a, a.dtype.type(0), a)),
            ("max(-0.0, a)", lambda a, b: np.where(a > 0, a, -a.dtype.type(0))),
            ("0.0 if a >= 0.0 else a", lambda a, b: np.where(a >= 0, a.dtype.type(0), a)),
        ],
    )


def test_a_product_that_is_rounded_to_f16_keeps_its_sign(kernel, tmp_path):
    a, _ = operands(np.dtype("f4"))
    _, b = operands(np.dtype("f2"))
    body = ["i = lt.lane_id()", "out[i] = lt.f16(pa[i] * pb[i])"]
    hook = hook_of(tmp_path, body, types={"out": "lt.ptr[lt.f16]", "pa": "lt.ptr[lt.f32]", "pb": "lt.ptr[lt.f16]"})
    out, _, _ = run(kernel, hook, np.zeros(LANES, "f2"), a, b)
    with np.errstate(all="ignore"):
        same(out, a * b.astype("f4"), "f16 of a product")


@pytest.mark.parametrize("kind", INTS)
def test_integers_beyond_f16_are_infinite(kernel, tmp_path, kind):
    """Few of a shifted integer's bits can be set; LLVM takes such a conversion for exact, though the integer be too large."""
    info = np.iinfo(getattr(lt, kind).dtype)
    borders = [0, 1, 2047, 2049, 65503, 65504, 65519, 65520, 65535, 65536, (1 << 24) + 1, 1 << 31, 1 << 63, info.max]
    values = [sign * value for sign in (1, -1) for value in borders if info.min <= sign * value <= info.max]
    x = np.resize(np.array([*values, info.min], info.dtype), LANES)
    top, half = info.dtype.type(info.bits - 1), info.dtype.type(info.bits // 2)
    body = [
        "i = lt.lane_id()", "x = px[i]", "out[i] = lt.f32(lt.f16(x))",
        f"out[64 + i] = lt.f32(lt.f16(x << {top}))", f"out[128 + i] = lt.f32(lt.f16(x << {half} >> {half} << {half}))",
    ]  # fmt: skip
    hook = hook_of(tmp_path, body, types={"out": "lt.ptr[lt.f32]", "px": f"lt.ptr[lt.{kind}]"})
    out, _ = run(kernel, hook, np.zeros(3 * LANES, "f4"), x)
    with np.errstate(over="ignore"):
        for k, value in enumerate((x, x << top, x << half >> half << half)):
            same(out[LANES * k : LANES * (k + 1)], value.astype("f2"), f"f16 of {kind}")


@pytest.mark.parametrize("kind", (*INTS, *FLOATS))
def test_comparisons(kernel, tmp_path, kind):
    check_table(
        kernel,
        tmp_path,
        kind,
        [
            ("lt.u32(a == b)", lambda a, b: a == b),
            ("lt.u32(a != b)", lambda a, b: a != b),
            ("lt.u32(a < b)", lambda a, b: a < b),
            ("lt.u32(a <= b)", lambda a, b: a <= b),
            ("lt.u32(a > b)", lambda a, b: a > b),
            ("lt.u32(a >= b)", lambda a, b: a >= b),
            ("lt.u32(0 < a < b)", lambda a, b: (0 < a) & (a < b)),
            ("lt.u32(a and b)", lambda a, b: (a != 0) & (b != 0)),
            ("lt.u32(a or b)", lambda a, b: (a != 0) | (b != 0)),
            ("lt.u32(not a)", lambda a, b: a == 0),
            ("lt.u32((a > 1) ^ (b > 1))", lambda a, b: (a > 1) ^ (b > 1)),
        ],
        dtype="u4",
    )


def _clamped(value, dtype):
    """A float as an integer: toward zero, held to the range, NaN as 0."""
    info = np.iinfo(dtype)
    whole = np.trunc(np.nan_to_num(value.astype("f8"), nan=0.0, posinf=np.inf, neginf=-np.inf))
    out = np.zeros(value.shape, dtype)
    low, high = whole <= float(info.min), whole >= float(info.max)
    out[~low & ~high] = whole[~low & ~high].astype(dtype)
    out[low], out[high] = info.min, info.max
    return out


@pytest.mark.parametrize("source", (*INTS, *FLOATS))
def test_conversions(kernel, tmp_path, source):
    a, _ = operands(getattr(lt, source).dtype)
    for to in (*INTS, *FLOATS):
        hook = hook_of(
            tmp_path,
            ["out[lt.lane_id()] = lt." + to + "(p[lt.lane_id()])"],
            types={"out": f"lt.ptr[lt.{to}]", "p": f"lt.ptr[lt.{source}]"},
        )
        dtype = getattr(lt, to).dtype
        out, _ = run(kernel, hook, np.zeros(LANES, dtype), a)
        with np.errstate(all="ignore"):
            wanted = _clamped(a, dtype) if a.dtype.kind == "f" and dtype.kind != "f" else a.astype(dtype)
        same(out, wanted, f"{to}({source})")


@pytest.mark.parametrize("program", hook_programs.PROGRAMS, ids=lambda p: p.name)
def test_control_flow_is_pythons(kernel, tmp_path, program):
    """A device function in each lane, against the same function run by Python."""
    values = np.arange(LANES, dtype="i4") - 5
    hook = getattr(hook_programs, f"run_{program.name}")
    out, _ = run(kernel, hook, np.zeros(LANES, "i4"), values)
    same(out, [program.__wrapped__(int(v)) for v in values], program.name)


def test_bit_counting_and_lanes(kernel, tmp_path):
    a, _ = operands(np.dtype("u8"))
    values = [int(v) for v in a]
    body = [
        "i = lt.lane_id()", "x = p[i]",
        "out[i] = lt.popcount(x)", "out[64 + i] = lt.ctz(x)", "out[128 + i] = lt.clz(x)",
        "out[192 + i] = lt.clz(lt.u16(x))", "out[256 + i] = lt.readfirstlane(lt.u32(x))",
        "out[320 + i] = lt.readlane(lt.u32(x), 9)", "out[384 + i] = i", "out[448 + i] = lt.active_lanes()",
    ]  # fmt: skip
    hook = hook_of(tmp_path, body, types={"out": "lt.ptr[lt.u32]", "p": "lt.ptr[lt.u64]"})
    out, _ = run(kernel, hook, np.zeros(512, "u4"), a)
    out = out.reshape(8, LANES).tolist()
    assert out[0] == [v.bit_count() for v in values]
    assert out[1] == [(v & -v).bit_length() - 1 if v else 64 for v in values]
    assert out[2] == [64 - v.bit_length() for v in values]
    assert out[3] == [16 - (v & 0xFFFF).bit_length() for v in values]
    assert set(out[4]) == {values[0] & 0xFFFFFFFF} and set(out[5]) == {values[9] & 0xFFFFFFFF}
    assert out[6] == list(range(LANES)) and set(out[7]) == {LANES}


def test_exec_inside_a_branch(kernel, tmp_path):
    body = [
        "i = lt.lane_id()", "masks[0] = lt.exec_mask()", "masks[1] = lt.ballot(i % 3 == 0)",
        "if i % 5 == 0:", "    masks[2] = lt.exec_mask()", "    lt.wave_atomic_add(masks + 3, 7)",
        "if i > 100:", "    lt.wave_atomic_add(masks + 4, 7)", "lt.wave_atomic_add(masks + 5, 1 << 40)",
    ]  # fmt: skip
    hook = hook_of(tmp_path, body, types={"masks": "lt.ptr[lt.u64]"})
    (masks,) = run(kernel, hook, np.zeros(6, "u8"))
    wanted = [(1 << 64) - 1, sum(1 << i for i in range(0, 64, 3)), sum(1 << i for i in range(0, 64, 5)), 7, 0, 1 << 40]
    assert masks.tolist() == wanted


def test_a_partial_wave(kernel, tmp_path):
    hook = hook_of(tmp_path, ["out[0] = lt.exec_mask()"], types={"out": "lt.ptr[lt.u64]"})
    (out,) = run(kernel, hook, np.zeros(1, "u8"), block=20)
    assert out.tolist() == [(1 << 20) - 1]


@pytest.mark.parametrize("kind", ("u4", "u8", "i4", "i8"))
def test_atomics(kernel, tmp_path, kind):
    a, _ = operands(np.dtype(kind))
    name = _name(np.dtype(kind))
    body = [
        "i = lt.lane_id()", "x = p[i]",
        "lt.atomic_add(out + 0, x)", "lt.atomic_and(out + 1, x)", "lt.atomic_or(out + 2, x)", "lt.atomic_xor(out + 3, x)",
        "lt.atomic_min(out + 4, x)", "lt.atomic_max(out + 5, x)",
        "old = lt.atomic_add(out + 6, 1)", f"lt.atomic_or(out + 7, lt.{name}(1) << old)",
        "if lt.atomic_cas(out + 8, 0, 5) == 0:", "    lt.atomic_add(out + 9, 1)",
        "if lt.atomic_exchange(out + 10, 3) == 0:", "    lt.atomic_add(out + 11, 1)",
    ]  # fmt: skip
    hook = hook_of(tmp_path, body, types={"out": f"lt.ptr[lt.{name}]", "p": f"lt.ptr[lt.{name}]"})
    start = np.array([5, -1 % 256, 0, 1, 3, 3, 0, 0, 0, 0, 0, 0], kind)
    out, _ = run(kernel, hook, start, a)
    with np.errstate(all="ignore"):
        assert out[0] == start[0] + a.sum(dtype=kind)
    assert out[1] == np.bitwise_and.reduce(a, initial=start[1])
    assert out[2] == np.bitwise_or.reduce(a) and out[3] == np.bitwise_xor.reduce(a) ^ start[3]
    assert out[4] == min(a.min(), start[4]) and out[5] == max(a.max(), start[5])
    width = np.dtype(kind).itemsize * 8
    assert out[6] == LANES and int(out[7]) % (1 << width) == (1 << min(width, LANES)) - 1
    assert out[8:].tolist() == [5, 1, 3, 1]


@pytest.mark.parametrize("kind", ("f4", "f8"))
def test_float_atomics(kernel, tmp_path, kind):
    name = _name(np.dtype(kind))
    hook = hook_of(tmp_path, [f"lt.atomic_add(out, lt.{name}(lt.lane_id()) + 0.5)"], types={"out": f"lt.ptr[lt.{name}]"})
    (out,) = run(kernel, hook, np.ones(1, kind))
    assert out.tolist() == [1 + sum(i + 0.5 for i in range(LANES))]


def test_mixed_widths_and_bits(kernel, tmp_path):
    body = [
        "i = lt.lane_id()", "x = lt.f32(i) * 1.5", "a = lt.array(lt.u16, 16)",
        "for k in range(16):", "    a[k] = lt.u16(k * i)",
        "out[i] = lt.bitcast(lt.u32, x)", "out[64 + i] = a[i & 15] + lt.u64(1) + len(a)",
        "out[128 + i] = lt.u32(lt.f16(x) > 3)", "out[192 + i] = lt.bitcast(lt.u32, lt.fma(x, x, -1.0))",
    ]  # fmt: skip
    hook = hook_of(tmp_path, body, types={"out": "lt.ptr[lt.u64]"})
    (out,) = run(kernel, hook, np.zeros(256, "u8"))
    i = np.arange(LANES)
    x = i.astype("f4") * np.float32(1.5)
    out = out.reshape(4, LANES)
    same(out[0], x.view("u4"), "bitcast")
    same(out[1], (i & 15) * i + 17, "array")
    same(out[2], x.astype("f2") > 3, "f16")
    same(out[3], (x * x - np.float32(1)).view("u4"), "fma")


class Registers(lt.Tool):
    """Hooks that see and change the work-item id, which is in v0 when a kernel begins."""

    before = lt.DeviceArray(lt.u32, 256)
    after = lt.DeviceArray(lt.u32, LANES)
    lanes = lt.Counter()
    waves = lt.Counter()

    @lt.hook
    def save(out: lt.ptr[lt.u32], v0: lt.u32):
        out[v0 & 0x3FF] = v0

    @lt.hook
    def double(v0: lt.inout[lt.u32]):
        v0 = 2 * v0 if v0 % 2 == 0 else v0

    @lt.hook
    def store(out: lt.ptr[lt.u32], v0: lt.u32):
        out[lt.lane_id()] = v0

    @lt.hook
    def count(lanes: lt.counter, waves: lt.counter):
        lanes += lt.popcount(lt.ballot(lt.lane_id() % 3 == 0))
        waves += 1

    def on_kernel(self, kernel):
        first = kernel.instructions[0]
        kernel.insert_before(first, self.save, self.before, lt.Reg("v0"))
        kernel.insert_before(first, self.double, lt.Reg("v0"))
        kernel.insert_before(first, self.store, self.after, lt.Reg("v0"))
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.count, self.lanes, self.waves)


def test_registers_and_counters(kernel):
    tool = Registers()
    module = lt.Device("gfx90a").load(lt.CodeObject.open(kernel), tools=[tool])
    result = module.run("idle", grid=LANES, block=LANES, strict=True)
    assert result.findings == []
    ids = np.arange(LANES)
    same(tool.before.read()[:LANES], ids, "read")
    same(tool.after.read(), np.where(ids % 2 == 0, 2 * ids, ids), "written")
    assert int(tool.waves) == result.app_instructions
    assert int(tool.lanes) == 22 * result.app_instructions


def test_counters_add_up_over_waves(kernel):
    tool = Registers()
    module = lt.Device("gfx90a").load(lt.CodeObject.open(kernel), tools=[tool])
    # All waves write the same arrays.
    result = module.run("idle", grid=1000, block=256, strict=BUT_RACES)
    assert result.findings == []
    assert int(tool.waves) == result.app_instructions


class Everywhere(lt.Tool):
    """Hooks at every instruction of a divergent kernel, where now and then no lane is active."""

    limit = lt.DeviceArray(lt.u32, 1, init=np.array([3], "u4"))
    total = lt.DeviceArray(lt.u64, 2)
    out = lt.DeviceArray(lt.u32, 4096)
    lanes = lt.Counter()
    idle = lt.Counter()
    waves = lt.Counter()
    odd = lt.Counter()

    @lt.hook
    def spin(limit: lt.ptr[lt.u32], total: lt.ptr[lt.u64]):
        n: lt.u32 = 0
        while n != limit[0]:
            n += 1
        lt.atomic_add(total, n)

    @lt.hook
    def active(lanes: lt.counter, idle: lt.counter):
        lanes += lt.active_lanes()
        if lt.exec_mask() == 0:
            idle += 1

    @lt.hook
    def mixed(limit: lt.ptr[lt.u32], total: lt.ptr[lt.u64], out: lt.ptr[lt.u32], waves: lt.counter, odd: lt.counter):
        """What the wave counts with vector instructions, beside what lanes do."""
        out[lt.lane_id()] += 1
        lt.atomic_add(total + 1, out[lt.lane_id()] * 0 + 1)
        mask = lt.ballot(lt.lane_id() % 2 == 1)
        if lt.f32(limit[0]) * 0.5 > 1.25:
            waves += lt.u64(lt.f32(limit[0]) / 3.0)
        odd += lt.popcount(mask) if mask > lt.u64(limit[0]) * 0 else 0

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.spin, self.limit, self.total)
            kernel.insert_before(instr, self.active, self.lanes, self.idle)
            kernel.insert_before(instr, self.mixed, self.limit, self.total, self.out, self.waves, self.odd)


@pytest.mark.parametrize("level", compiled.LEVELS)
def test_points_where_no_lane_is_active(level):
    tool = Everywhere()
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("collatz", level)), tools=[tool])
    (launch,) = kernel_cases.launches("collatz")
    result = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, strict=BUT_RACES)
    launch.check(launch.args)
    assert result.findings == []
    assert module.instrumentation["rejected"] == []
    assert int(tool.idle) > 0
    assert tool.total.read().tolist() == [3 * int(tool.lanes), int(tool.lanes)]
    assert int(tool.waves) == result.app_instructions
    assert 0 < int(tool.odd) < int(tool.lanes)
