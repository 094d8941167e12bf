"""Tuples and NumPy arrays from outside of a hook: their elements, against NumPy, on every processor."""

from __future__ import annotations

import multiprocessing
import pickle

import compiled
import numpy as np
import pytest
from instrumented import TARGETS

import luthier as lt

#: One of each type, with numbers that no other type of its size has.
KINDS = {
    name: np.random.default_rng(3).integers(0, 256, 16 * size, np.uint8).view(name)
    for name, size in {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8}.items()
}
U8, U16, U32, U64 = (KINDS[f"u{n}"] for n in (1, 2, 4, 8))
I8, I16, I32, I64 = (KINDS[f"i{n}"] for n in (1, 2, 4, 8))
F16 = np.array([0, -0.0, 1.5, np.inf, -2, 6e-8, 65504, 0.1], np.float16)
F32 = np.array([0, -0.0, 1e30, np.inf, -2, 1e-45, 0.1, 3], np.float32)
F64 = np.array([0, -0.0, 1e300, np.inf, -2, 5e-324, 0.1, 3])
FLAGS = np.array([True, False, True, True, False, False, True, False])
GRID = np.arange(24, dtype=np.int32).reshape(2, 3, 4) * 7 - 50
BIG_ENDIAN = np.arange(5, dtype=">u4") * 0x01020304
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
HALVES = (0.5, 1, -2.25)
WIDE = (1, 1 << 40)
CHOICES = (True, False, True)
LANES = 64


class Numbers:
    """What a class has can be named, too."""

    table = (10, 20, 30)


@lt.hook
def look_up(
    u: lt.ptr[lt.u64], i: lt.ptr[lt.i64], f: lt.ptr[lt.f64], at: lt.u32, same: lt.u32
):  # fmt: skip
    lane = lt.lane_id()
    u[lane] = lt.u64(U8[at]) + U16[at] + U32[at] + (U64[at] >> 3)
    i[lane] = lt.i64(I8[at]) + I16[at] + I32[at] + (I64[at] >> 3)
    f[lane] = lt.f64(F16[at]) + F32[at] + F64[at] + (1.0 if FLAGS[at] else 0.0)
    u[64 + lane] = U64[same]
    i[64 + lane] = lt.i64(PRIMES[at]) * 100 + PRIMES[3]
    f[64 + lane] = lt.f64(HALVES[at]) + (lt.f64(HALVES[2]) if CHOICES[at] else 0.0)
    i[128 + lane] = lt.i64(GRID[at & 1, at % 3, at & 3]) + GRID[1, 2, 3]
    u[128 + lane] = lt.u64(BIG_ENDIAN[at]) + Numbers.table[1] + len(PRIMES) + len(GRID)
    i[192 + lane] = WIDE[at]


class Looks(lt.Tool):
    u = lt.DeviceArray(lt.u64, 256)
    i = lt.DeviceArray(lt.i64, 256)
    f = lt.DeviceArray(lt.f64, 128)

    def on_kernel(self, kernel):
        (place,) = (one for one in kernel.instructions if one.text == "s_nop 7")
        kernel.insert_before(place, look_up, self.u, self.i, self.f, lt.Reg("v9"), lt.Reg("s8"))


#: v9 = the lane's number, but in the last ones numbers that no table has; s8 is 5.
KERNEL = """
KERNEL idle(u32 *out) {
    u32 far = local_x() < 60 ? local_x() : 0xffffffff - local_x();
    asm volatile("v_mov_b32 v9, %0\\n s_mov_b32 s8, 5\\n s_nop 7" ::"v"(far) : "v9", "s8");
    out[local_x()] = far;
}
"""


def element(table, at):
    return table[at] if 0 <= at < len(table) else table.dtype.type(0)


def expected(lanes):
    u, i, f = np.zeros(256, np.uint64), np.zeros(256, np.int64), np.zeros(128)
    for lane in range(lanes):
        at = lane if lane < 60 else 0xFFFFFFFF - lane
        pick = [int(element(t, at)) for t in (U8, U16, U32, U64)]
        u[lane] = sum(pick[:3]) + (pick[3] >> 3)
        pick = [int(element(t, at)) for t in (I8, I16, I32, I64)]
        i[lane] = sum(pick[:3]) + (pick[3] >> 3)
        floats = [float(element(t, at)) for t in (F16, F32, F64)]
        f[lane] = floats[0] + floats[1] + floats[2] + float(element(FLAGS, at))
        u[64 + lane] = U64[5]
        i[64 + lane] = (PRIMES[at] if at < 8 else 0) * 100 + 7
        f[64 + lane] = (HALVES[at] if at < 3 else 0) + (-2.25 if at < 3 and CHOICES[at] else 0)
        i[128 + lane] = int(GRID[at & 1, at % 3, at & 3]) + int(GRID[1, 2, 3])
        u[128 + lane] = int(element(BIG_ENDIAN, at)) + 20 + 8 + 2
        i[192 + lane] = WIDE[at] if at < 2 else 0
    return u, i, f


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
def test_elements_are_numpys_and_zero_outside(target):
    code = lt.CodeObject.open(compiled.build(KERNEL, *target))
    tool, lanes = Looks(), code.program.wavefront_size
    module = lt.Device(target[0]).load(code, tools=[tool], check=True, on_rejected="raise")
    out = np.zeros(lanes, np.uint32)
    result = module.run("idle", grid=lanes, block=lanes, args=[out], strict=True)
    assert result.findings == [], [str(finding) for finding in result.findings[:2]]
    u, i, f = expected(lanes)
    np.testing.assert_array_equal(tool.u.read(), u)
    np.testing.assert_array_equal(tool.i.read(), i)
    np.testing.assert_array_equal(tool.f.read(), f)
    np.testing.assert_array_equal(out[:60], np.arange(lanes)[:60])


def test_a_number_that_is_known_costs_no_memory():
    @lt.hook
    def constant(out: lt.ptr[lt.u32]):
        out[0] = U32[3] + PRIMES[2]

    assert "tables" not in constant.tree

    @lt.hook
    def twice(out: lt.ptr[lt.u32], n: lt.u32):
        out[0] = U32[n] + U32[n + 1] + lt.u32(PRIMES[n])

    assert [table["of"] for table in twice.tree["tables"]] == ["u32", "i32"]


STRUCTURED = np.zeros(3, [("a", "u4")])
COMPLEX = np.zeros(3, complex)
EMPTY = ()
NESTED = ((1, 2), (3, 4))
MIXED = (True, 2)
TEXTS = ("a", "b")
HUGE = (1 << 64,)
LARGE = np.zeros(1 << 21, np.uint8)


@pytest.mark.parametrize(
    "line, message, under",
    [
        ("x = PRIMES[8]", "PRIMES has 8 elements, 8 is outside", "8"),
        ("x = PRIMES[-1]", "PRIMES has 8 elements, -1 is outside", "-1"),
        ("x = GRID[0, 3, 0]", "GRID has 3 elements, 3 is outside", "3"),
        ("x = GRID[0]", "GRID has 3 dimensions: name one element, GRID[i, j, k]", "GRID[0]"),
        ("x = U32[n, n]", "U32 has 1 dimensions: name one element, U32[i]", "U32[n, n]"),
        ("x = PRIMES[1:2]", "only single elements can be indexed", "PRIMES[1:2]"),
        ("x = PRIMES[1.5]", "an element has a number: an integer", "1.5"),
        ("x = PRIMES[lt.f32(n)]", "an element has a number: an integer", "lt.f32(n)"),
        ("PRIMES[n] = 1", "PRIMES is a table of constants: it can only be read", "PRIMES[n]"),
        ("U32[0] += 1", "U32 is a table of constants: it can only be read", "U32[0]"),
        ("x = PRIMES", "PRIMES is a table of constants: name one of its elements, PRIMES[0]", "PRIMES"),
        ("x = STRUCTURED[n]", "STRUCTURED has elements of dtype", "STRUCTURED"),
        ("x = COMPLEX[n]", "COMPLEX has elements of dtype complex128", "COMPLEX"),
        ("x = EMPTY[n]", "EMPTY has no elements", "EMPTY"),
        ("x = NESTED[n]", "NESTED holds a tuple, and the table of a hook holds numbers: make it a NumPy array", "NESTED"),
        ("x = MIXED[n]", "MIXED holds truth values and numbers", "MIXED"),
        ("x = TEXTS[n]", "TEXTS holds a str, and the table of a hook holds numbers", "TEXTS"),
        ("x = HUGE[n]", "HUGE holds numbers that no type of 64 bits holds together", "HUGE"),
        ("x = LARGE[n]", "LARGE has 2,097,152 bytes, and a table of a hook 1,048,576 at most", "LARGE"),
    ],
)
def test_what_no_table_has_is_refused_at_its_place(tmp_path, line, message, under):
    names = {name: value for name, value in globals().items() if name.isupper()}
    path = tmp_path / "hook_under_test.py"
    path.write_text(f"@lt.hook\ndef hook(n: lt.u32):\n    {line}\n")
    scope = {"lt": lt, **names}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(lt.HookError) as error:
        scope["hook"].check()
    text = str(error.value)
    assert message in text
    source, marks = text.splitlines()[-2:]
    assert source[marks.index("^") :].startswith(under[: marks.count("^") + marks.count("~")]) and error.value.line == 3


def _numbers_of(hook):
    return [(table["of"], len(table["data"])) for table in hook.tree["tables"]]


def test_tables_go_to_other_processes_with_their_hooks():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_numbers_of, (pickle.loads(pickle.dumps(look_up)),)) == _numbers_of(look_up)
