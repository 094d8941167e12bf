"""gfx1250's matrix operations of chosen formats, with scales, and sparse ones, each alone in an assembled kernel, against
NumPy.

Where elements, scales and indices lie is written here once more. Unless a test says otherwise the numbers are such that
every order of summation gives the same sum.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import compiled
import numpy as np
import pytest
from formats import BF6, BF8, FP4, FP6, FP8, check_product, codes, from_bf16

import luthier as lt

LANES = 32
FORMATS = {"FP8": (FP8, 8), "BF8": (BF8, 8), "FP6": (FP6, 6), "BF6": (BF6, 6), "FP4": (FP4, 4)}
# Registers of A, B, C (and the result) and of the scales or the index, as the kernels load them.
A, B, C, SA, SB = 16, 32, 48, 64, 66
LOADED = ((A, 16, "s[4:5]"), (B, 16, "s[6:7]"), (C, 16, "s[8:9]"), (SA, 2, "s[10:11]"), (SB, 2, "s[12:13]"))


def _v(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def _source(operation: str, target: str, loaded: dict[int, int]) -> str:
    """A kernel that loads each lane's registers, carries out the operation and stores C's. ``loaded``: how many registers
    from one on, where it is not all of them."""
    lines = [
        "s_load_b256 s[4:11], s[0:1], 0x0", "s_load_b64 s[12:13], s[0:1], 0x20", "s_wait_kmcnt 0x0",
        "v_lshlrev_b32 v1, 6, v0", "v_lshlrev_b32 v2, 3, v0",
        # Scales of one, in two SGPRs.
        "s_mov_b32 s14, 0x7f7f7f7f", "s_mov_b32 s15, 0x7f7f7f7f",
    ]  # fmt: skip
    for first, count, pointer in LOADED:
        for k in range(0, loaded.get(first, count), 2):
            lines.append(f"global_load_b64 {_v(first + k, 2)}, v{1 if count > 2 else 2}, {pointer} offset:{4 * k}")
    lines += ["s_wait_loadcnt 0x0", operation, *["v_nop"] * 9]
    lines += [f"global_store_b128 v1, {_v(C + k, 4)}, s[8:9] offset:{4 * k}" for k in range(0, 16, 4)]
    return compiled.kernel_in_assembly(target, "\n".join([*lines, "s_endpgm"]), 96, 32, wave=32, pointers=5, most=32)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-matrix-")


@functools.cache
def _module(operation: str, target: str, loaded: tuple[tuple[int, int], ...]) -> lt.Module:
    name = f"{abs(hash((operation, target, loaded))):x}"
    path = compiled.assembled(_source(operation, target, dict(loaded)), target, Path(_folder().name) / f"{name}.hsaco")
    return lt.Device(target).load(lt.CodeObject.open(path))


def _launch(operation: str, *buffers: np.ndarray, target: str = "gfx1250", loaded: tuple = ()) -> tuple[np.ndarray, list]:
    """The registers of C after the operation, (lane, register), and what strict mode says."""
    args = []
    for given, (_, count, _) in zip((*buffers, *[None] * (5 - len(buffers))), LOADED, strict=True):
        words = np.zeros((LANES, count), np.uint32)
        if given is not None:
            words[:, : given.shape[1]] = given
        args.append(words)
    result = _module(operation, target, loaded).run("k", grid=(LANES,), block=(LANES,), args=args, strict=True)
    return args[2], result.findings


def _run(operation: str, *buffers: np.ndarray, target: str = "gfx1250") -> np.ndarray:
    after, findings = _launch(operation, *buffers, target=target)
    assert findings == []
    return after


def _packed(lanes: np.ndarray, bits: int) -> np.ndarray:
    """The elements of each lane, one after the other, in words."""
    out = np.zeros((len(lanes), lanes.shape[1] * bits // 32), np.uint32)
    for lane, elements in enumerate(lanes):
        number = sum(int(code) << bits * k for k, code in enumerate(elements))
        out[lane] = [number >> 32 * k & 0xFFFFFFFF for k in range(out.shape[1])]
    return out


def _halves(matrix: np.ndarray, turn: int) -> np.ndarray:
    """Rows of A, or columns of B, (16, k) in lanes: the halves of the wave have turns of this many elements."""
    return matrix.reshape(16, -1, 2, turn).transpose(2, 0, 1, 3).reshape(LANES, -1)


def _registers(matrix: np.ndarray, bits: int) -> np.ndarray:
    """A matrix of sixteen rows, or of thirty-two one after the other."""
    turn = 16 if bits == 8 else 32
    return np.concatenate([_packed(_halves(part, turn), bits) for part in np.split(matrix, len(matrix) // 16)], axis=1)


def _to_lanes(c: np.ndarray) -> np.ndarray:
    """A result (rows, 16): register r of a lane has row 8 * (lane / 16) + r, sixteen rows in eight registers."""
    parts = [part.reshape(2, 8, 16).transpose(0, 2, 1).reshape(LANES, 8) for part in np.split(c, len(c) // 16)]
    return np.concatenate(parts, axis=1)


def _from_lanes(lanes: np.ndarray, rows: int = 16) -> np.ndarray:
    parts = [lanes[:, 8 * p : 8 * p + 8].reshape(2, 16, 8).transpose(0, 2, 1).reshape(16, 16) for p in range(rows // 16)]
    return np.concatenate(parts)


def _bits(c: np.ndarray) -> np.ndarray:
    return _to_lanes(c.astype(np.float32)).view(np.uint32)


def _float(registers: np.ndarray, rows: int = 16) -> np.ndarray:
    return _from_lanes(np.ascontiguousarray(registers).view(np.float32), rows).astype(float)


def _multiples(table: np.ndarray, of: int) -> np.ndarray:
    """The codes of numbers that are multiples of 1 / ``of`` and not beyond 4."""
    near = np.where(np.isfinite(table) & (np.abs(table) <= 4), table, np.nan) * of
    return np.flatnonzero(near == np.rint(near))


def _easy(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> np.ndarray:
    return rng.choice(_multiples(FORMATS[name][0], 8), shape)


def _e5m3(codes: np.ndarray) -> np.ndarray:
    exponent, fraction = codes >> 3, codes & 7
    values = np.where(exponent == 0, fraction * 2.0**-17, (8 + fraction) * 2.0 ** (exponent - 18))
    return np.where(codes == 255, np.nan, values)


def _e8m0(codes: np.ndarray) -> np.ndarray:
    return np.where(codes == 255, np.nan, 2.0 ** (codes.astype(float) - 127))


# The values of the codes, and some that have few bits.
SCALES = {
    "E8": (_e8m0, np.arange(126, 129)),
    "E5M3": (_e5m3, np.array([0, 15 << 3, 15 << 3 | 2, 14 << 3, 16 << 3 | 1])),
    "E4M3": (lambda codes: FP8[codes], np.array([0, 7 << 3, 7 << 3 | 2, 6 << 3, 8 << 3 | 1, 0x80 | 7 << 3])),
}


def _scale_words(scales: np.ndarray, upper: bool) -> np.ndarray:
    """Bytes of scales (rows, blocks) in the lanes of their rows; other lanes have something else."""
    lanes = np.full((LANES, scales.shape[1]), 0x55, np.uint8)
    first = 16 if upper and len(scales) == 16 else 0
    lanes[first : first + len(scales)] = scales
    return lanes.view(np.uint32)


def _mixed(kind: str, rows: int, formats: tuple[str, str], modifiers: str = "", c: str = "", target: str = "gfx1250") -> str:
    """The text of an operation; ``kind``: nothing, "scale" or "scale16"."""
    units = [FORMATS[name][1] * 2 * (rows if side == 0 else 16) // 16 for side, name in enumerate(formats)]
    shape = "16x16x128_f8f6f4" if rows == 16 else "32x16x128_f4"
    held = _v(C, rows // 2)
    text = f"v_wmma_{kind + '_' if kind else ''}f32_{shape} {held}, {_v(A, units[0])}, {_v(B, units[1])}, {c or held}"
    if kind:
        width = 2 if kind == "scale16" else 1
        text += f", {_v(SA, width)}, {_v(SB, width)}"
    if rows == 16:
        text += "".join(
            f" matrix_{side}_fmt:MATRIX_FMT_{name}" for side, name in zip("ab", formats, strict=True) if name != "FP8"
        )
    return f"{text} {modifiers}".rstrip()


def _scaled(matrix: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return matrix * np.repeat(scales, matrix.shape[1] // scales.shape[1], axis=1)


@pytest.mark.parametrize("kind", ["", "scale", "scale16"])
@pytest.mark.parametrize("b_format", FORMATS)
@pytest.mark.parametrize("a_format", FORMATS)
def test_every_pair_of_formats(a_format: str, b_format: str, kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, a_format + 2 * b_format + kind)))
    blocks = 8 if kind == "scale16" else 4
    sides, registers, words = [], [], []
    for name in (a_format, b_format):
        table, bits = FORMATS[name]
        matrix = _easy(rng, name, (16, 128))
        scales = rng.choice(SCALES["E8"][1], (16, blocks))
        sides.append(_scaled(table[matrix], _e8m0(scales)) if kind else table[matrix])
        registers.append(_registers(matrix, bits))
        words.append(_scale_words(scales, upper=False))
    c = rng.integers(-64, 64, (16, 16)).astype(float)
    after = _run(_mixed(kind, 16, (a_format, b_format)), *registers, _bits(c), *words if kind else ())
    np.testing.assert_array_equal(_float(after), sides[0] @ sides[1].T + c)


@pytest.mark.parametrize("kind", ["", "scale", "scale16"])
@pytest.mark.parametrize("target", ["gfx1250", "gfx1251"])
def test_thirty_two_rows(kind: str, target: str) -> None:
    rng = np.random.default_rng(len(kind))
    blocks = 8 if kind == "scale16" else 4
    a, b = _easy(rng, "FP4", (32, 128)), _easy(rng, "FP4", (16, 128))
    scales = [rng.choice(SCALES["E8"][1], (len(side), blocks)) for side in (a, b)]
    sides = [_scaled(FP4[side], _e8m0(s)) if kind else FP4[side] for side, s in zip((a, b), scales, strict=True)]
    c = rng.integers(-64, 64, (32, 16)).astype(float)
    modifier = "matrix_b_scale:MATRIX_SCALE_ROW1" if kind else ""
    words = (_scale_words(scales[0], upper=False), _scale_words(scales[1], upper=True)) if kind else ()
    operation = _mixed(kind, 32, ("FP4", "FP4"), modifier)
    after = _run(operation, _registers(a, 4), _registers(b, 4), _bits(c), *words, target=target)
    np.testing.assert_array_equal(_float(after, 32), sides[0] @ sides[1].T + c)


@pytest.mark.parametrize("kind", ["scale", "scale16"])
@pytest.mark.parametrize(
    ("formats", "scale_formats"),
    [
        (("FP4", "FP4"), ("E4M3", "E4M3")),
        (("FP4", "FP4"), ("E5M3", "E5M3")),
        (("FP4", "FP4"), ("E8", "E5M3")),
        (("FP4", "FP6"), ("E5M3", "E8")),
        (("FP4", "FP8"), ("E4M3", "E8")),
        (("BF8", "FP4"), ("E8", "E5M3")),
        (("BF6", "FP4"), ("E8", "E4M3")),
    ],
)
@pytest.mark.parametrize("upper", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_formats_and_halves_of_scales(
    kind: str, formats: tuple[str, str], scale_formats: tuple[str, str], upper: tuple[int, int]
) -> None:
    rng = np.random.default_rng(sum(map(ord, "".join(formats + scale_formats))))
    sides, registers, words, modifiers = [], [], [], ""
    for side in range(2):
        table, bits = FORMATS[formats[side]]
        value, usable = SCALES[scale_formats[side]]
        matrix, scales = _easy(rng, formats[side], (16, 128)), rng.choice(usable, (16, 8 if kind == "scale16" else 4))
        sides.append(_scaled(table[matrix], value(scales)))
        registers.append(_registers(matrix, bits))
        words.append(_scale_words(scales, bool(upper[side])))
        if upper[side]:
            modifiers += f" matrix_{'ab'[side]}_scale:MATRIX_SCALE_ROW1"
    for side in range(2):
        if scale_formats[side] != "E8":
            modifiers += f" matrix_{'ab'[side]}_scale_fmt:MATRIX_SCALE_FMT_{scale_formats[side]}"
    after = _run(_mixed(kind, 16, formats, modifiers), *registers, np.zeros((LANES, 8), np.uint32), *words)
    np.testing.assert_array_equal(_float(after), sides[0] @ sides[1].T)


@pytest.mark.parametrize("name", FORMATS)
def test_every_code(name: str) -> None:
    """Denormals and the largest numbers, as near as sums of f32 are."""
    rng = np.random.default_rng(7)
    table, bits = FORMATS[name]
    usable = np.flatnonzero(np.isfinite(table))
    matrix = np.concatenate([np.resize(usable, 256), rng.choice(usable, 2048 - 256)]).reshape(16, 128)
    b = codes(rng, FP8, (16, 128))
    c = rng.standard_normal((16, 16)).astype(np.float32).astype(float)
    after = _run(_mixed("", 16, (name, "FP8")), _registers(matrix, bits), _registers(b, 8), _bits(c))
    check_product("f32", _float(after), table[matrix], FP8[b].T, c)
    # One at a time: with ones on the diagonal of B the result has the elements themselves.
    one = int(np.flatnonzero(FP8 == 1)[0])
    for first in range(0, 128, 16):
        b = np.zeros((16, 128), int)
        b[np.arange(16), first + np.arange(16)] = one
        after = _run(_mixed("", 16, (name, "FP8")), _registers(matrix, bits), _registers(b, 8), np.zeros((LANES, 8), np.uint32))
        np.testing.assert_array_equal(_float(after), table[matrix][:, first : first + 16])


@pytest.mark.parametrize(
    ("modifiers", "start"),
    [
        ("neg_lo:[0,0,1]", lambda c: -c),
        ("neg_hi:[0,0,1]", abs),
        ("neg_lo:[0,0,1] neg_hi:[0,0,1]", lambda c: -abs(c)),
        ("matrix_a_reuse matrix_b_reuse", lambda c: c),
    ],
)
@pytest.mark.parametrize("rows", [16, 32])
def test_modifiers_of_c(modifiers: str, start, rows: int) -> None:
    rng = np.random.default_rng(rows)
    a, b = _easy(rng, "FP4", (rows, 128)), _easy(rng, "FP4", (16, 128))
    c = rng.integers(-64, 64, (rows, 16)).astype(float)
    kind = "scale" if "reuse" in modifiers else ""
    ones = (np.full((LANES, 1), 0x7F7F7F7F, np.uint32),) * 2 if kind else ()
    after = _run(_mixed(kind, rows, ("FP4", "FP4"), modifiers), _registers(a, 4), _registers(b, 4), _bits(c), *ones)
    np.testing.assert_array_equal(_float(after, rows), FP4[a] @ FP4[b].T + start(c))


def test_constants_and_scalars() -> None:
    rng = np.random.default_rng(3)
    a, b = _easy(rng, "FP8", (16, 128)), _easy(rng, "FP8", (16, 128))
    registers = _registers(a, 8), _registers(b, 8), np.zeros((LANES, 8), np.uint32)
    product = FP8[a] @ FP8[b].T
    np.testing.assert_array_equal(_float(_run(_mixed("", 16, ("FP8", "FP8"), c="1.0"), *registers)), product + 1)
    held, matrices = _v(C, 8), f"{_v(A, 16)}, {_v(B, 16)}"
    for name, scales in (("scale", "s14, s14"), ("scale16", "s[14:15], s[14:15]")):
        text = f"v_wmma_{name}_f32_16x16x128_f8f6f4 {held}, {matrices}, {held}, {scales}"
        np.testing.assert_array_equal(_float(_run(text, *registers)), product)
    # The bytes of a constant: those of 2.0 are 0, 0, 0, 64. What is that small is made up for by B's scales.
    far = _scale_words(np.full((16, 4), 254), upper=False)
    text = f"v_wmma_scale_f32_16x16x128_f8f6f4 {held}, {matrices}, {held}, 2.0, {_v(SB, 1)}"
    scaled = _scaled(FP8[a], np.broadcast_to(_e8m0(np.array([0, 0, 0, 64])), (16, 4))) * 2.0**127
    want = scaled @ FP8[b].T
    got = _float(_run(text, *registers, np.zeros((LANES, 1), np.uint32), far))
    np.testing.assert_allclose(got, want, rtol=2.0**-20, atol=0)


def test_scales_far_apart() -> None:
    """Elements that no f32 could hold, and products that one can."""
    rng = np.random.default_rng(4)
    a, b = _easy(rng, "BF8", (16, 128)), _easy(rng, "FP8", (16, 128))
    large, small = rng.integers(250, 255, (16, 4)), rng.integers(0, 5, (16, 4))
    words = _scale_words(large, upper=False), _scale_words(small, upper=False)
    after = _run(_mixed("scale", 16, ("BF8", "FP8")), _registers(a, 8), _registers(b, 8), np.zeros((LANES, 8), np.uint32), *words)
    np.testing.assert_array_equal(_float(after), _scaled(BF8[a], _e8m0(large)) @ _scaled(FP8[b], _e8m0(small)).T)
    # Beyond all f32.
    one = int(np.flatnonzero(FP8 == 1)[0])
    ones = _registers(np.full((16, 128), one), 8)
    words = (_scale_words(np.full((16, 4), 254), upper=False),) * 2
    after = _run(_mixed("scale", 16, ("FP8", "FP8")), ones, ones, np.zeros((LANES, 8), np.uint32), *words)
    assert (_float(after) == np.inf).all()


@pytest.mark.parametrize("kind", ["", "scale"])
def test_infinities_and_nans(kind: str) -> None:
    one, infinity = 0x3C, 0x7C
    a, b = np.full((16, 128), one), np.full((16, 128), one)
    a[1, 5] = infinity
    a[2, 5], a[2, 6] = infinity, infinity | 0x80
    a[3, 7] = 0x7D
    b[4, 5] = 0
    a[6, 9] = infinity | 0x80
    want = np.full((16, 16), 128.0)
    want[1], want[2], want[3], want[6] = np.inf, np.nan, np.nan, -np.inf
    want[1, 4] = np.nan
    want[:, 4] = np.where(np.arange(16) % 16 == 1, np.nan, np.where(np.isfinite(want[:, 4]), 127, want[:, 4]))
    ones = (np.full((LANES, 1), 0x7F7F7F7F, np.uint32),) * 2 if kind else ()
    zero = np.zeros((LANES, 8), np.uint32)
    after = _run(_mixed(kind, 16, ("BF8", "BF8")), _registers(a, 8), _registers(b, 8), zero, *ones)
    np.testing.assert_array_equal(_float(after), want)
    assert set(after[:, :8][np.isnan(after[:, :8].view(np.float32))]) == {0x7FC00000}


@pytest.mark.parametrize(("scale_format", "nan"), [("E8", 255), ("E5M3", 255), ("E4M3", 0x7F), ("E4M3", 0xFF)])
def test_a_scale_that_is_no_number(scale_format: str, nan: int) -> None:
    """Of one block of a row of A, all of whose elements are zeros."""
    a, b = np.full((16, 128), 2), np.full((16, 128), 2)
    a[5, 64:96] = 0
    unit = {"E8": 127, "E5M3": 15 << 3, "E4M3": 7 << 3}[scale_format]
    scales = np.full((16, 4), unit)
    scales[5, 2] = nan
    modifier = "" if scale_format == "E8" else f"matrix_a_scale_fmt:MATRIX_SCALE_FMT_{scale_format}"
    words = _scale_words(scales, upper=False), _scale_words(np.full((16, 4), 127), upper=False)
    operation = _mixed("scale", 16, ("FP4", "FP4"), modifier)
    after = _run(operation, _registers(a, 4), _registers(b, 4), np.zeros((LANES, 8), np.uint32), *words)
    want = np.full((16, 16), 128.0)
    want[5] = np.nan
    np.testing.assert_array_equal(_float(after), want)


def test_scales_of_one_change_nothing() -> None:
    """Whatever is rounded."""
    rng = np.random.default_rng(5)
    a, b = (rng.choice(np.flatnonzero(np.isfinite(BF8)), (16, 128)) for _ in range(2))
    c = rng.standard_normal((16, 16))
    plain = _run(_mixed("", 16, ("BF8", "BF8")), _registers(a, 8), _registers(b, 8), _bits(c))
    ones = (np.full((LANES, 2), 0x7F7F7F7F, np.uint32),) * 2
    for kind in ("scale", "scale16"):
        after = _run(_mixed(kind, 16, ("BF8", "BF8")), _registers(a, 8), _registers(b, 8), _bits(c), *ones)
        np.testing.assert_array_equal(after, plain)
    # The same where every product is made in f64.
    far = [np.full((LANES, 1), code * 0x01010101, np.uint32) for code in (254, 0)]
    after = _run(_mixed("scale", 16, ("BF8", "BF8")), _registers(a, 8), _registers(b, 8), _bits(c), *far)
    np.testing.assert_array_equal(after, plain)


F16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(float)
BF16 = from_bf16(np.arange(1 << 16))
ELEMENTS = {"f16": (F16, 16), "bf16": (BF16, 16), "fp8": (FP8, 8), "bf8": (BF8, 8)}
SPARSE = [
    "f32_16x16x64_f16", "f32_16x16x64_bf16", "f16_16x16x64_f16", "bf16_16x16x64_bf16", "bf16f32_16x16x64_bf16",
    *(f"{d}_16x16x128_{a}_{b}" for d in ("f32", "f16") for a in ("fp8", "bf8") for b in ("fp8", "bf8")),
]  # fmt: skip


def _picks(rng: np.random.Generator, k: int) -> np.ndarray:
    """For each row, each four elements along K: which two are stored."""
    return np.sort([[rng.permutation(4)[:2] for _ in range(k // 4)] for _ in range(16)])


def _index(picks: np.ndarray) -> np.ndarray:
    """Two bits for each stored element, in the order along K: the first half of a row's in the lower lanes."""
    return _packed(picks.reshape(16, 2, -1).transpose(1, 0, 2).reshape(LANES, -1), 2)


def _dense(stored: np.ndarray, picks: np.ndarray) -> np.ndarray:
    out = np.zeros((16, picks.shape[1], 4))
    np.put_along_axis(out, picks, stored.reshape(16, -1, 2), axis=2)
    return out.reshape(16, -1)


def _sparse_text(name: str, bits: int, modifiers: str = "") -> str:
    count = 4 if name.startswith(("f16", "bf16_")) else 8
    return f"v_swmmac_{name} {_v(C, count)}, {_v(A, 8)}, {_v(B, 16)}, {_v(SA, 16 // bits)} {modifiers}".rstrip()


def _pairs(c: np.ndarray, kind: str) -> np.ndarray:
    """A result of 16 bits in lanes, two to a register; the rest of the registers is something else."""
    held = (c.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else c.astype(np.float16)
    return np.concatenate([_to_lanes(held).view(np.uint32), np.full((LANES, 4), 0xABCDEF01, np.uint32)], axis=1)


def _from_pairs(registers: np.ndarray, kind: str) -> np.ndarray:
    lanes = np.ascontiguousarray(registers[:, :4]).view(np.uint16)
    return _from_lanes(from_bf16(lanes) if kind == "bf16" else lanes.view(np.float16).astype(float))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", SPARSE)
def test_sparse(name: str, exact: bool) -> None:
    rng = np.random.default_rng(len(name))
    result, shape, *kinds = name.split("_")
    k = int(shape.split("x")[2])
    sides, registers = [], []
    for side, kind in enumerate((kinds[0], kinds[-1])):
        table, bits = ELEMENTS[kind]
        size = (16, k if side else k // 2)
        if exact:
            matrix = rng.choice(_multiples(table, 2), size)
        else:
            matrix = codes(rng, table, size)
        sides.append(table[matrix])
        registers.append(_packed(_halves(matrix, 128 // bits * (1 + side)), bits))
    picks = _picks(rng, k)
    c = rng.integers(-64, 64, (16, 16)).astype(float)
    c_kind, d_kind = ("f32", "bf16") if result == "bf16f32" else (result, result)
    held = _bits(c) if c_kind == "f32" else _pairs(c, c_kind)
    after = _run(_sparse_text(name, bits), *registers, held, _index(picks))
    got = _float(after[:, :8]) if d_kind == "f32" else _from_pairs(after, d_kind)
    if d_kind == "f32":
        assert (after[:, 8:] == 0).all()
    else:
        np.testing.assert_array_equal(after[:, 4:8], held[:, 4:8])
    a = _dense(sides[0], picks)
    if exact and d_kind == "f32":
        np.testing.assert_array_equal(got, a @ sides[1].T + c)
    check_product(d_kind, got, a, sides[1].T, c)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_signs_of_sparse_elements(kind: str) -> None:
    """NEG of A: even stored elements and their neighbours; of B: along K."""
    rng = np.random.default_rng(8)
    table = ELEMENTS[kind][0]
    usable = _multiples(table, 2)
    stored, b = rng.choice(usable, (16, 32)), rng.choice(usable, (16, 64))
    picks = _picks(rng, 64)
    registers = _packed(_halves(stored, 8), 16), _packed(_halves(b, 16), 16), np.zeros((LANES, 8), np.uint32), _index(picks)
    even = lambda matrix: np.where(np.arange(matrix.shape[1]) % 2 == 0, -1, 1)  # noqa: E731
    for modifiers, signs in (
        ("neg_lo:[1,0,0]", (even(stored), 1)),
        ("neg_lo:[0,1,0]", (1, even(b))),
        ("neg_hi:[1,0,0]", (-even(stored), 1)),
        ("neg_hi:[0,1,0]", (1, -even(b))),
        ("matrix_a_reuse matrix_b_reuse neg_lo:[1,1,0] neg_hi:[1,1,0]", (-1, -1)),
    ):
        after = _run(_sparse_text(f"f32_16x16x64_{kind}", 16, modifiers), *registers)
        want = _dense(table[stored] * signs[0], picks) @ (table[b] * signs[1]).T
        np.testing.assert_array_equal(_float(after), want)


@pytest.mark.parametrize("signed", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_sparse_bytes(signed: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    stored, b = rng.integers(0, 256, (16, 64)), rng.integers(0, 256, (16, 128))
    picks = _picks(rng, 128)
    sides = [matrix.astype(np.int8) if s else matrix for matrix, s in zip((stored, b), signed, strict=True)]
    product = _dense(sides[0], picks) @ sides[1].T.astype(float)
    c = rng.integers(-(1 << 31), 1 << 31, (16, 16))
    c[0], c[1] = (1 << 31) - 1, -(1 << 31)
    registers = _packed(_halves(stored, 16), 8), _packed(_halves(b, 32), 8)
    negations = f"neg_lo:[{signed[0]},{signed[1]},0]" if any(signed) else ""
    held = _to_lanes((c & 0xFFFFFFFF).astype(np.uint32))
    for clamp in ("", " clamp"):
        after = _run(_sparse_text("i32_16x16x128_iu8", 8, negations + clamp), *registers, held, _index(picks))
        got = _from_lanes(np.ascontiguousarray(after[:, :8]).view(np.int32))
        want = product.astype(np.int64) + c
        want = np.clip(want, -(1 << 31), (1 << 31) - 1) if clamp else want.astype(np.int32)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("formats", "loaded", "complete"),
    [
        (("FP4", "FP4"), ((A, 8), (B, 8)), True),
        (("FP6", "BF6"), ((A, 12), (B, 12)), True),
        (("FP6", "FP4"), ((A, 10), (B, 8)), False),
        (("FP8", "FP4"), ((A, 16), (B, 8)), True),
        (("FP8", "FP4"), ((A, 14), (B, 8)), False),
        (("FP4", "BF8"), ((A, 8), (B, 14)), False),
        (("FP4", "FP4"), ((A, 8), (B, 8), (SB, 0)), False),
    ],
)
def test_strict_mode_knows_how_many_registers_a_format_has(formats, loaded, complete) -> None:
    operation = _mixed("scale", 16, formats)
    _, findings = _launch(operation, loaded=loaded)
    assert {finding["kind"] for finding in findings} == (set() if complete else {"undefined-register"})


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (_sparse_text("f32_16x16x64_f16", 16, "index_key:1"), "modifiers"),
        (_mixed("scale", 32, ("FP4", "FP4"), "matrix_a_scale:MATRIX_SCALE_ROW1"), "both halves"),
        (_mixed("scale", 16, ("FP8", "FP4"), "matrix_a_scale_fmt:MATRIX_SCALE_FMT_E4M3"), "only scales of FP4"),
        ("v_wmma_ld_scale_paired_b32 v64, v66", "none follows"),
        ("v_wmma_ld_scale16_paired_b64 v[64:65], v[66:67]", "none follows"),
    ],
)
def test_what_has_no_meaning_is_refused(operation: str, why: str) -> None:
    with pytest.raises(lt.LuthierError, match=why):
        _launch(operation)
