"""Matrix operations on the device, each by itself, and what NumPy makes of the matrices."""

from __future__ import annotations

import compiled
import ml_dtypes
import numpy as np
from matrix_layouts import DTYPES, Operation, bits_of, decoded, encoded

import luthier as lt

#: The operation by itself, for each lane's words. No-ops, as nothing keeps apart what is in the text.
SOURCE = """
#define VECTOR(n) u32 __attribute__((ext_vector_type(n)))
template <int n> struct Words {{ typedef VECTOR(n) type; }};
template <> struct Words<1> {{ typedef u32 type; }};
template <int n> DEVICE typename Words<n>::type load(const u32 *from, u32 i) {{
    typename Words<n>::type out;
    if constexpr (n == 1) out = from[i];
    else
        #pragma unroll
        for (int k = 0; k < n; ++k) out[k] = from[n * i + k];
    return out;
}}
__attribute__((amdgpu_flat_work_group_size(32, 64))) KERNEL product(
    u32 *out, const u32 *a, const u32 *b, const u32 *c, const u32 *index, const u32 *scale_a, const u32 *scale_b) {{
    u32 i = global_x();
    auto x = load<{words_a}>(a, i); auto y = load<{words_b}>(b, i); auto sum = load<{words_c}>(c, i);
    auto k = load<{words_index}>(index, i); auto p = load<{words_scale}>(scale_a, i); auto q = load<{words_scale}>(scale_b, i);
    typename Words<{words_out}>::type result;
    asm volatile("{apart}{text}\\n{apart}" : {outputs} : "v"(x), "v"(y), "v"(k), "v"(p), "v"(q){more});
    {store}
}}
"""

OPERATIONS = [
    Operation("gfx908", "v_mfma_f32_32x32x2bf16"),
    Operation("gfx908", "v_mfma_f32_16x16x1f32", modifiers="cbsz:1 abid:1 blgp:3"),
    Operation("gfx90a", "v_mfma_f64_16x16x4f64"),
    Operation("gfx90a", "v_mfma_f64_4x4x4f64"),
    Operation("gfx90a", "v_mfma_f32_4x4x4f16", modifiers="cbsz:2 abid:3 blgp:5"),
    Operation("gfx90a", "v_mfma_f32_32x32x4bf16_1k", modifiers="cbsz:1 blgp:2"),
    Operation("gfx942", "v_mfma_f64_16x16x4_f64", modifiers="neg:[1,0,1]"),
    Operation("gfx942", "v_mfma_f64_4x4x4_4b_f64"),
    Operation("gfx942", "v_mfma_f32_16x16x32_fp8_bf8"),
    Operation("gfx942", "v_mfma_f32_32x32x16_bf8_bf8"),
    Operation("gfx942", "v_smfmac_f32_16x16x32_f16", modifiers="abid:2"),
    Operation("gfx942", "v_smfmac_f32_32x32x16_bf16"),
    Operation("gfx942", "v_smfmac_f32_16x16x64_bf8_fp8", modifiers="abid:1"),
    Operation("gfx942", "v_smfmac_f32_32x32x32_fp8_fp8"),
    Operation("gfx950", "v_mfma_f32_16x16x32_bf8_fp8"),
    Operation("gfx950", "v_mfma_f32_32x32x16_fp8_bf8"),
    Operation("gfx950", "v_smfmac_f32_16x16x64_f16"),
    Operation("gfx950", "v_smfmac_f32_32x32x32_bf16"),
    Operation("gfx950", "v_smfmac_f32_16x16x128_bf8_bf8"),
    Operation("gfx950", "v_smfmac_f32_32x32x64_fp8_bf8"),
    Operation("gfx950", "v_mfma_f32_32x32x64_f8f6f4", modifiers="cbsz:1 blgp:2", formats=("bf8", "fp6")),
    Operation("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", formats=("fp8", "fp8")),
    Operation(
        "gfx950",
        "v_mfma_scale_f32_16x16x128_f8f6f4",
        modifiers="op_sel:[1,0,0] op_sel_hi:[1,1,0] cbsz:1 blgp:3",
        formats=("bf8", "bf6"),
    ),
    Operation("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4", modifiers="cbsz:4 blgp:4", formats=("fp4", "fp4")),
    Operation("gfx1100", "v_wmma_f16_16x16x16_f16", 32),
    Operation("gfx1100", "v_wmma_bf16_16x16x16_bf16", 32, "op_sel:[0,0,1]"),
    Operation("gfx1100", "v_wmma_f16_16x16x16_f16", 64, "op_sel:[0,0,1]"),
    Operation("gfx1100", "v_wmma_f32_16x16x16_f16", 32, "neg_lo:[1,0,1] neg_hi:[0,1,0]"),
    Operation("gfx1201", "v_wmma_f32_16x16x16_fp8_bf8", 32),
    Operation("gfx1201", "v_wmma_f32_16x16x16_bf8_bf8", 64),
    Operation("gfx1201", "v_swmmac_f32_16x16x32_f16", 32, "index_key:1"),
    Operation("gfx1201", "v_swmmac_f16_16x16x32_f16", 64, "index_key:2"),
    Operation("gfx1201", "v_swmmac_bf16_16x16x32_bf16", 32),
    Operation("gfx1201", "v_swmmac_f32_16x16x32_bf8_fp8", 32, "index_key:1"),
    Operation("gfx1201", "v_swmmac_f32_16x16x32_fp8_bf8", 64, "index_key:3"),
    Operation("gfx1250", "v_wmma_f32_16x16x64_fp8_bf8", 32),
    Operation("gfx1250", "v_wmma_f16_16x16x128_bf8_fp8", 32),
    Operation("gfx1250", "v_wmma_bf16f32_16x16x32_bf16", 32),
    Operation("gfx1250", "v_wmma_f32_16x16x32_bf16", 32, "neg_lo:[1,0,1] neg_hi:[0,1,1]"),
    Operation("gfx1250", "v_swmmac_f32_16x16x64_bf16", 32),
    Operation("gfx1250", "v_swmmac_bf16f32_16x16x64_bf16", 32),
    Operation("gfx1250", "v_swmmac_f16_16x16x128_bf8_fp8", 32),
    Operation(
        "gfx1250",
        "v_wmma_f32_16x16x128_f8f6f4",
        32,
        "matrix_a_fmt:MATRIX_FMT_BF8 matrix_b_fmt:MATRIX_FMT_FP6",
        ("bf8", "fp6"),
    ),
    Operation(
        "gfx1250",
        "v_wmma_scale_f32_16x16x128_f8f6f4",
        32,
        "matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_BF8 matrix_a_scale:MATRIX_SCALE_ROW1",
        ("fp4", "bf8"),
    ),
    Operation("gfx1250", "v_wmma_scale_f32_32x16x128_f4", 32, "matrix_b_scale:MATRIX_SCALE_ROW1", ("fp4", "fp4")),
    Operation(
        "gfx1250",
        "v_wmma_scale16_f32_32x16x128_f4",
        32,
        "matrix_a_scale_fmt:MATRIX_SCALE_FMT_E4M3 matrix_b_scale_fmt:MATRIX_SCALE_FMT_E5M3",
        ("fp4", "fp4"),
        ("e4m3", "e5m3"),
    ),
]


class Kernel:
    """An operation on the device."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        out, c = bits_of(operation.kind), bits_of(operation.kind_of_c)
        rows, columns, _, blocks = operation.shape
        per_lane = rows * columns * blocks // operation.wave
        self.results = operation.results()
        # RDNA 3 has one result of 16 bits in a register.
        self.words_out = per_lane * (32 if operation.target == "gfx1100" else out) // 32
        self.words_c = per_lane * (32 if operation.target == "gfx1100" else c) // 32
        is_apart = out != c
        # Sparse operations have C where the result is.
        held = is_apart and not operation.is_sparse
        text = f"{operation.name} %0, %1, %2, " + ("%3" if operation.is_sparse else "%6" if held else "%0")
        if operation.scale_block:
            text += ", %4, %5"
        apart = "v_nop\\n" * 16 if operation.target == "gfx1250" else "s_nop 15\\n" * 2
        words = self.words_out if held else self.words_c
        stored = "result" if held else "sum"
        store = f"if constexpr ({words} == 1) out[i] = *(u32 *)&{stored};\n    else\n        for (int n = 0; n < {words}; ++n) out[{words} * i + n] = ((u32 *)&{stored})[n];"
        file = "a" if operation.target == "gfx908" else "v"  # CDNA 1 has C in accumulation registers alone
        source = SOURCE.format(
            words_a=operation.words(0), words_b=operation.words(1), words_c=self.words_c, words_index=operation.index_words,
            words_scale=operation.scale_words, words_out=self.words_out, apart=apart, text=f"{text} {operation.modifiers}".rstrip(),
            more=', "v"(sum)' if held else "", outputs='"=&v"(result)' if held else f'"+&{file}"(sum)', store=store,
        )  # fmt: skip
        self.words = words
        flags = ("-mwavefrontsize64",) if operation.target.startswith("gfx1") and operation.wave == 64 else ()
        self.code = lt.CodeObject.open(compiled.build(source, operation.target, flags=flags))
        self.device = lt.Device(operation.target)

    def c_registers(self, c: np.ndarray) -> np.ndarray:
        """Words of C, by row, column and block."""
        operation, out = self.operation, np.zeros((self.operation.wave, self.words_c), np.uint32)
        of_c = bits_of(operation.kind_of_c)
        for (lane, word, half), (row, column, block) in self.results.items():
            code = int(encoded(operation.kind_of_c, c[block, row, column]))
            if of_c == 64:
                out[lane, 2 * word], out[lane, 2 * word + 1] = code & 0xFFFFFFFF, code >> 32
            elif of_c == 32:
                out[lane, 2 * word + half if bits_of(operation.kind) == 16 else word] = code
            else:
                out[lane, word] |= np.uint32(code << 16 * half)
        return out

    def result(self, words: np.ndarray) -> np.ndarray:
        """The result, by block, row and column."""
        rows, columns, _, blocks = self.operation.shape
        out = np.zeros((blocks, rows, columns))
        kind = self.operation.kind
        for (lane, word, half), (row, column, block) in self.results.items():
            code = int(words[lane, word]) >> 16 * half
            if kind == "f64":
                code = int(words[lane, 2 * word]) | int(words[lane, 2 * word + 1]) << 32
            out[block, row, column] = decoded(kind, np.array(code & (1 << bits_of(kind)) - 1, np.uint64))
        return out

    def run(self, a, b, c, index, scales, tools=()):
        """The words of the result, and what the tools say."""
        operation = self.operation
        given = [operation.registers(0, a), operation.registers(1, b), self.c_registers(c)]
        given.append(operation.index_registers(index) if operation.is_sparse else np.zeros((operation.wave, 1), np.uint32))
        for side in (0, 1):
            given.append(
                operation.scale_registers(side, scales[side])
                if operation.scale_block
                else np.zeros((operation.wave, 1), np.uint32)
            )
        out = np.zeros(operation.wave * self.words, np.uint32)
        args = [out, *(words.reshape(-1) for words in given)]
        did = self.device.run(
            self.code, "product", grid=operation.wave, block=operation.wave, args=args, tools=tools, strict=bool(tools)
        )
        return out.reshape(operation.wave, -1), did


def signs(operation: Operation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What A's and B's even and odd elements along K are multiplied by, and what is done to C: its factor, whether its sign is dropped."""

    def given(name: str) -> list[int]:
        text = operation.modifiers.partition(f"{name}:[")[2].partition("]")[0]
        return [int(n) for n in text.split(",")] if text else [0, 0, 0]

    even, odd = (given("neg"),) * 2 if "neg:" in operation.modifiers else (given("neg_lo"), given("neg_hi"))
    factors = [np.array([1 - 2 * even[side], 1 - 2 * odd[side]]) for side in (0, 1)]
    return *factors, np.array([1 - 2 * even[2], "neg:" not in operation.modifiers and odd[2]])


def numbers(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Codes of small numbers of either sign, at random."""
    if bits_of(kind) > 8:
        return encoded(kind, rng.integers(1, 64, shape) / 8 * rng.choice([-1, 1], shape))
    codes = np.arange(1 << bits_of(kind))
    values = decoded(kind, codes)
    return rng.choice(codes[np.isfinite(values) & (np.abs(values) <= 4) & (np.abs(values) >= 0.125)], shape).astype(np.uint64)


def special(kind: str, which: str) -> int | None:
    """The code of an infinity or a NaN, if there is one."""
    if kind in ("fp6", "bf6", "fp4"):
        return None
    codes = encoded(kind, np.array([np.inf, -np.inf, np.nan])) if kind not in ("e5m3", "e4m3") else np.array([255, 255, 255])
    value = decoded(kind, codes)
    wanted = np.flatnonzero(np.isnan(value) if which == "nan" else np.isinf(value))
    return int(codes[wanted[0]]) if len(wanted) else None


class Case:
    """The matrices of a try, and what NumPy makes of them."""

    def __init__(self, operation: Operation, what: str, rng: np.random.Generator, choose=None) -> None:
        self.operation = operation
        rows, columns, depth, blocks = operation.shape
        stored = depth // 2 if operation.is_sparse else depth
        kind_a, kind_b = operation.kinds
        choose = choose or numbers
        self.a, self.b = choose(rng, kind_a, (blocks, rows, stored)), choose(rng, kind_b, (blocks, columns, depth))
        self.c = rng.integers(-8, 8, (blocks, rows, columns)).astype(float)
        pairs = np.sort(np.array([rng.permutation(4)[:2] for _ in range(rows * stored // 2)]), axis=1)
        self.index = pairs.reshape(rows, stored)
        each = operation.scale_block or depth
        self.scales = [
            rng.choice([126, 127, 128] if kind == "e8m0" else [0x38, 0x40], (lines, depth // each)).astype(np.uint8)
            for kind, lines in zip(operation.scales, (rows, columns))
        ]
        self.is_planted = what == "nothing" or self.plant(what, rng)
        a, b = operation.used(self.a, self.b)
        met = np.broadcast_to(np.arange(stored), (rows, stored))
        if operation.is_sparse:
            met = np.arange(stored) // 2 * 4 + self.index
        #: By block, row, column and place along K.
        self.row = np.broadcast_to(decoded(kind_a, a)[:, :, None, :], (blocks, rows, columns, stored))
        self.column = np.moveaxis(decoded(kind_b, b)[:, :, met], 1, 2)
        self.k = np.broadcast_to(met[None, :, None, :], self.row.shape)
        sign_a, sign_b, (sign_c, is_dropped) = signs(operation)
        ones = np.ones((1, 1, 1, 1))
        self.scale_a = self.scale_b = None
        if operation.scale_block:
            wide = [decoded(kind, codes).repeat(each, axis=1) for kind, codes in zip(operation.scales, self.scales)]
            self.scale_a, self.scale_b = wide[0][None, :, None, :], wide[1][None, None, :, :]
        at = np.arange(stored) % 2
        with np.errstate(all="ignore"):
            self.products = self.row * self.column * sign_a[at] * sign_b[at]
            self.products = self.products * (ones if self.scale_a is None else self.scale_a)
            self.products = self.products * (ones if self.scale_b is None else self.scale_b)
            self.added = sign_c * (np.abs(self.c) if is_dropped else self.c)
            self.sum = self.products.sum(axis=-1) + self.added
            rounded = self.sum if operation.kind == "f64" else self.sum.astype("f4").astype(float)
            self.result = rounded.astype(DTYPES[operation.kind]).astype(float)
        self.c = self.c.astype(DTYPES[operation.kind_of_c]).astype(float)
        parts = [self.row, self.column, self.c[..., None]]
        self.is_number = ~np.any([np.isnan(part).any(axis=-1) for part in parts], axis=0)
        self.is_finite = np.all([np.isfinite(part).all(axis=-1) for part in parts], axis=0)

    def plant(self, what: str, rng: np.random.Generator) -> bool:
        """Puts something special into the matrices; False if the formats have no such thing."""
        kinds, matrices = self.operation.kinds, [self.a, self.b]
        if what == "large":
            # Powers of two whose products, or sums of products, have no room.
            exponent = {"f64": 700, "f32": 90, "bf16": 90, "f16": 14, "bf8": 14, "fp8": 8, "bf8 fnuz": 14, "fp8 fnuz": 7}
            if self.operation.scale_block:
                self.scales[0][rng.integers(len(self.scales[0]))] = 252 if self.operation.scales[0] == "e8m0" else 0x70
                self.scales[1][rng.integers(len(self.scales[1]))] = 252 if self.operation.scales[1] == "e8m0" else 0x70
                return True
            for matrix, kind in zip(matrices, kinds):
                if kind not in exponent:
                    return False
                chosen = rng.random(matrix.shape) < 0.2
                matrix[chosen] = encoded(kind, 2.0 ** exponent[kind] * rng.choice([1, -1], int(chosen.sum())))
            return True
        which, _, where = what.partition(" ")
        if where == "c":
            at = tuple(int(rng.integers(n)) for n in self.c.shape)
            self.c[at] = np.inf if which == "infinite" else np.nan
            return True
        if where.startswith("scale"):
            side = "ab".index(where[-1])
            code = special(self.operation.scales[side], "nan")
            if not self.operation.scale_block or code is None:
                return False
            self.scales[side][tuple(int(rng.integers(n)) for n in self.scales[side].shape)] = code
            return True
        side = "ab".index(where)
        code = special(kinds[side], which)
        if code is None:
            return False
        matrix, other = matrices[side], matrices[1 - side]
        for _ in range(3):
            matrix[tuple(int(rng.integers(n)) for n in matrix.shape)] = code
        other[rng.random(other.shape) < 0.4] = (
            0 if "fp" in kinds[1 - side] or "bf" in kinds[1 - side] else encoded(kinds[1 - side], 0.0)
        )
        return True

    def expected_reason(self, block: int, row: int, column: int) -> tuple[list[int], bool]:
        """Which products, by their places in the sum, and whether C's element are the reason for an element."""
        at = (block, row, column)
        products, value, added = self.products[at], self.result_there[at], self.added[at]
        largest = float(ml_dtypes.finfo(DTYPES[self.operation.kind]).max)
        of_scales = np.zeros(len(products), bool)
        if self.scale_a is not None:
            of_scales = np.isnan(self.scale_a[0, row, 0]) | np.isnan(self.scale_b[0, 0, column])
        if of_scales.any():
            return np.flatnonzero(of_scales).tolist(), False
        if np.isnan(value):
            if (nans := np.isnan(products)).any() or np.isnan(added):
                return np.flatnonzero(nans).tolist(), bool(np.isnan(added))
            beyond = np.abs(products) > np.finfo("f8" if self.operation.kind == "f64" else "f4").max
            return np.flatnonzero(beyond if beyond.any() else np.ones(len(products))).tolist(), not np.isfinite(added)
        sign = np.sign(value)
        if (beyond := sign * products > largest).any():
            return np.flatnonzero(beyond).tolist(), bool(sign * added > largest)
        order = np.argsort(-sign * products, kind="stable")
        total, chosen = max(sign * added, 0), []
        for k in order[sign * products[order] > 0]:
            chosen.append(int(k))
            total += sign * products[k]
            if total > largest:
                break
        return sorted(chosen), bool(sign * added > 0)
