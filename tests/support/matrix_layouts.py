"""Matrix operations as AMD publishes them: which row, column and place along K each bit of a lane's registers is, from the registers' side.

Sources: AMD's matrix instruction calculator (CDNA 1 to 3, RDNA 3 and 4); of CDNA 4 the manual's tables of F8F6F4 and rocjitsu's of sparse
operations; of gfx1250 fpsan's probes of the hardware and Tensile's kernels. A test that uses them first multiplies numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from formats import E5M3

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "fp8": ml_dtypes.float8_e4m3fn,
    "bf8": ml_dtypes.float8_e5m2, "fp8 fnuz": ml_dtypes.float8_e4m3fnuz, "bf8 fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp6": ml_dtypes.float6_e2m3fn, "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn, "e8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "fp6": 6, "bf6": 6, "fp4": 4}


def bits_of(kind: str) -> int:
    return BITS.get(kind, 8)


def decoded(kind: str, codes: np.ndarray) -> np.ndarray:
    """The numbers of codes."""
    if kind == "e5m3":
        return E5M3[codes]
    unsigned = {64: np.uint64, 32: np.uint32, 16: np.uint16}.get(bits_of(kind), np.uint8)
    return codes.astype(unsigned).view(DTYPES["fp8" if kind == "e4m3" else kind]).astype(float)


def encoded(kind: str, values: np.ndarray) -> np.ndarray:
    """The codes of numbers."""
    unsigned = {64: np.uint64, 32: np.uint32, 16: np.uint16}.get(bits_of(kind), np.uint8)
    return np.asarray(values).astype(DTYPES[kind]).view(unsigned).astype(np.uint64)


@dataclass(frozen=True)
class Operation:
    """A matrix operation. ``modifiers`` as its text has them."""

    target: str
    name: str
    wave: int = 64
    modifiers: str = ""
    #: Of operations that choose formats, or have scales.
    formats: tuple[str, str] | None = None
    scales: tuple[str, str] = ("e8m0", "e8m0")

    def __str__(self) -> str:
        kinds = "-".join(self.formats or ())
        return (
            f"{self.target}-{self.name}-{self.wave}{' ' if self.modifiers else ''}{self.modifiers}{' ' if kinds else ''}{kinds}"
        )

    @functools.cached_property
    def _named(self) -> re.Match[str]:
        named = re.fullmatch(r"v_(\w*?)_?(f64|f32|f16|bf16f32|bf16)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(\w+?)(?:_1k)?", self.name)
        assert named is not None
        return named

    @functools.cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """Rows, columns, depth, and blocks."""
        rows, columns, depth = (int(self._named[n]) for n in (3, 4, 5))
        if "mfma" not in self.name:
            return rows, columns, depth, 1
        # Elements of a lane in operations of several blocks.
        each = {"f64": 1, "f32": 1, "f16": 4, "bf16": 2 if self.name.endswith("bf16") and "_bf16" not in self.name else 4}
        return rows, columns, depth, max(1, 64 * each.get(self.kinds[0], 1) // (rows * depth))

    @functools.cached_property
    def kind(self) -> str:
        """Of the result."""
        return {"bf16f32": "bf16"}.get(self._named[2], self._named[2])

    @functools.cached_property
    def kind_of_c(self) -> str:
        return {"bf16f32": "f32"}.get(self._named[2], self._named[2])

    @functools.cached_property
    def kinds(self) -> tuple[str, str]:
        """Of A's and B's elements."""
        if self.formats is not None:
            return self.formats
        kinds = self._named[7]
        if "8_" in kinds:
            first, second = (k + (" fnuz" if self.target == "gfx942" else "") for k in kinds.split("_"))
            return first, second
        return kinds.removeprefix("x"), kinds.removeprefix("x")

    @functools.cached_property
    def is_sparse(self) -> bool:
        return "smfmac" in self.name or "swmmac" in self.name

    @functools.cached_property
    def is_cdna(self) -> bool:
        return self.target.startswith("gfx9")

    @functools.cached_property
    def scale_block(self) -> int:
        """How many elements along K share a scale; 0: there are none."""
        return 16 if "scale16" in self.name else 32 if "scale" in self.name else 0

    def modifier(self, name: str) -> int:
        found = re.search(rf"{name}:(\d+)", self.modifiers)
        return int(found[1]) if found else 0

    # A, B ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _shared(self) -> int:
        """Lanes that share a row of a block."""
        rows, _, _, blocks = self.shape
        return 64 // (rows * blocks) if self.is_cdna else self.wave // 16

    @functools.cache  # noqa: B019  # of a few operations
    def per_lane(self, side: int) -> int:
        """Elements of A, or of B, in a lane."""
        rows, _, depth, _ = self.shape
        stored = depth // 2 if self.is_sparse and side == 0 else depth
        if self.target == "gfx1100":
            return stored
        return stored * (2 if rows == 32 and not self.is_cdna and side == 0 else 1) // self._shared

    def words(self, side: int) -> int:
        return self.per_lane(side) * bits_of(self.kinds[side]) // 32

    def factor(self, side: int, lane: int, e: int) -> tuple[int, int, int]:
        """Block, row of A or column of B, and place along K (of a sparse A among those stored) of a lane's element."""
        rows, _, depth, blocks = self.shape
        bits, stored = bits_of(self.kinds[side]), depth // 2 if self.is_sparse and side == 0 else depth
        if not self.is_cdna:
            line, part = lane % 16, lane // 16
            half = self.per_lane(side) // 2
            if rows == 32 and side == 0:
                return 0, line + 16 * (e // half), self._along_k(part, e % half, bits, stored, side)
            return 0, line, self._along_k(part, e, bits, stored, side)
        line, block, g = lane % rows, lane // rows % blocks, lane // (rows * blocks)
        each = self.per_lane(side)
        is_cdna4 = self.is_sparse and depth * rows == (1024 if bits == 16 else 2048)
        if "f8f6f4" in self.name and bits == 8:
            return block, line, e // 16 * 16 * self._shared + 16 * g + e % 16
        if is_cdna4 and side == 1:
            return block, line, e // 8 * 8 * self._shared + 8 * g + e % 8
        if is_cdna4 and bits == 8:
            if self._shared == 4:
                return block, line, g // 2 * 32 + g % 2 * 8 + e // 8 * 4 + e // 4 % 2 * 16 + e % 4
            return block, line, g * 16 + e // 8 * 4 + e // 4 % 2 * 8 + e % 4
        return block, line, each * g + e

    def _along_k(self, part: int, e: int, bits: int, stored: int, side: int) -> int:
        doubled = 2 if self.is_sparse and side == 1 else 1
        if self.target == "gfx1100":
            return e
        if self.target == "gfx1250":
            turn = doubled * {4: 32, 6: 32, 8: 16, 16: 8, 32: 2}[bits]
            return e // turn * 2 * turn + turn * part + e % turn
        if bits == 16:
            turn = 4 * doubled
            return e // turn * turn * self._shared + turn * part + e % turn
        each = stored // self._shared
        return (part // 2 + 2 * (part % 2) if self._shared == 4 else part) * each + e

    def registers(self, side: int, codes: np.ndarray) -> np.ndarray:
        """The words of lanes, by lane and word, that hold a matrix: by block, row (or column) and place along K."""
        bits = bits_of(self.kinds[side])
        out = np.zeros((self.wave, self.words(side)), np.uint64)
        for lane in range(self.wave):
            for e in range(self.per_lane(side)):
                code, at = int(codes[self.factor(side, lane, e)]), e * bits
                for word in range(at // 32, (at + bits - 1) // 32 + 1):
                    shifted = code << at >> 32 * word if at <= 32 * word else code << at - 32 * word
                    out[lane, word] |= np.uint64(shifted & 0xFFFFFFFF)
        return out.astype(np.uint32)

    def used(self, codes_of_a: np.ndarray, codes_of_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B as the blocks of the result use them: CBSZ and ABID have blocks share an A, BLGP has lanes take others' B."""
        rows, _, _, blocks = self.shape
        if "f8f6f4" in self.name or self.kind == "f64" or self.is_sparse or not self.is_cdna:
            return codes_of_a, codes_of_b
        together = 1 << self.modifier("cbsz")
        a = codes_of_a[[b // together * together + self.modifier("abid") for b in range(blocks)]]
        blgp = self.modifier("blgp")
        lane_taken: Callable[[int], int] = {
            0: lambda lane: lane, 1: lambda lane: lane % 32, 2: lambda lane: lane % 32 + 32, 3: lambda lane: (lane + 16) % 64,
        }.get(blgp, lambda lane: lane % 16 + 16 * (blgp - 4))  # fmt: skip
        b = np.zeros_like(codes_of_b)
        for lane in range(64):
            for e in range(self.per_lane(1)):
                b[self.factor(1, lane, e)] = codes_of_b[self.factor(1, lane_taken(lane), e)]
        return a, b

    # The result, indices, scales --------------------------------------------------------------------------

    def results(self) -> dict[tuple[int, int, int], tuple[int, int, int]]:
        """By lane, word and half of it (f64: pair), the row, the column and the block of each element of the result."""
        rows, columns, _, blocks = self.shape
        found = {}
        for lane in range(self.wave):
            for n in range(rows * columns * blocks // self.wave):
                g = lane // columns
                if self.kind == "f64":
                    at = (4 * n + lane // 16, lane % 16, 0) if rows == 16 else (lane // 16, lane % 4, lane // 4 % 4)
                elif rows == 4:
                    at = n, lane % 4, lane // 4
                elif self.is_cdna:
                    each = rows * columns // 64
                    at = n % each // 4 * 4 * (64 // columns) + 4 * g + n % 4, lane % columns, n // each
                elif self.target == "gfx1100":
                    at = n * self.wave // 16 + g, lane % 16, 0
                elif self.wave == 64:
                    at = 8 * (g % 2) + 4 * (g // 2) + n, lane % 16, 0
                else:
                    at = 8 * g + n % 8 + 16 * (n // 8), lane % 16, 0
                if bits_of(self.kind) != 16:
                    found[lane, n, 0] = at
                elif self.target == "gfx1100":
                    found[lane, n, int("op_sel:[0,0,1]" in self.modifiers)] = at
                else:
                    found[lane, n // 2, n % 2] = at
        return found

    @functools.cached_property
    def index_words(self) -> int:
        return 2 if self.is_sparse and self.target == "gfx1250" and self.shape[2] == 128 else 1

    def index_registers(self, places: np.ndarray) -> np.ndarray:
        """The index, by row and stored element which of its four each is."""
        rows, _, depth, _ = self.shape
        stored, bits, shared = depth // 2, bits_of(self.kinds[0]), self._shared
        out = np.full((self.wave, self.index_words), 0x1B1B1B1B, np.uint64)
        for lane in range(self.wave):
            line, part = lane % rows, lane // rows
            pairs = stored // shared // 2 if self.target != "gfx1250" else stored // 4
            key = 0
            if self.is_cdna and not self.modifier("cbsz"):
                key = self.modifier("abid") % (8 // pairs) if pairs <= 8 else 0
            elif not self.is_cdna and self.target != "gfx1250":
                key = self.modifier("index_key")
            for n in range(pairs):
                if self.is_cdna and bits == 8 and depth * rows == 2048:
                    spread = n // 4 * 2 + n // 2 % 2 * (8 if shared == 4 else 4) + n % 2
                    pair = spread + (part // 2 * 16 + part % 2 * 4 if shared == 4 else part * 8)
                elif self.is_cdna or self.target == "gfx1250":
                    pair = pairs * part + n
                else:
                    pair = self._along_k(part, 2 * n, bits, stored, 0) // 2
                four = int(places[line, 2 * pair]) | int(places[line, 2 * pair + 1]) << 2
                word, at = divmod(4 * (key * pairs + n), 32)
                out[lane, word] = out[lane, word] & np.uint64(~(15 << at) & 0xFFFFFFFF) | np.uint64(four << at)
        return out.astype(np.uint32)

    def scale_registers(self, side: int, scales: np.ndarray) -> np.ndarray:
        """Scales, by row (or column) and block along K."""
        words = self.scale_words
        out = np.full((self.wave, 4 * words), 0x7F, np.uint8)
        for line in range(len(scales)):
            for block in range(scales.shape[1]):
                if self.is_cdna:
                    low, high = (re.search(rf"op_sel{end}:\[([\d,]+)\]", self.modifiers) for end in ("", "_hi"))
                    byte = sum(int(m[1].split(",")[side]) << n for n, m in enumerate((low, high)) if m)
                    out[block * self.shape[0] + line, byte] = scales[line, block]
                else:
                    upper = f"matrix_{'ab'[side]}_scale:MATRIX_SCALE_ROW1" in self.modifiers
                    out[line + 16 * upper, block] = scales[line, block]
        return out.view(np.uint32)

    @functools.cached_property
    def scale_words(self) -> int:
        return 2 if self.scale_block == 16 else 1
