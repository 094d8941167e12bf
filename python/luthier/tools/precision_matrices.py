"""``precision`` of matrix operations: the registers of some executions are kept, and the host computes the results in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import luthier as lt
from luthier.tools.elements import Element
from luthier.tools.float_formats import FORMATS, number
from luthier.tools.matrix_places import At, MatrixPlaces, Scales, Side
from luthier.tools.nan_matrices import addend, read_registers, register_words

#: Executions that there were, and those with lanes off, which are not looked at.
COUNTS = 2
Floats = NDArray[np.float64]


@dataclass
class SampledMatrix:
    """A matrix operation, and what is kept of it."""

    instr: lt.Instruction
    elements: list[Element]
    places: MatrixPlaces
    wave: int
    #: The registers that it read (A's, B's, the index's, the scales', C's) or numbers, and those that it wrote.
    read: list[list[lt.Reg | int]]
    written: list[lt.Reg]
    counts: lt.DeviceArray
    kept: lt.DeviceArray
    most: int
    points: list[int] = field(default_factory=list)

    @property
    def words(self) -> int:
        return sum(map(len, self.read)) + len(self.written)

    def executions(self) -> tuple[int, int]:
        """How many executions had all lanes on, and how many had not."""
        whole, partly = map(int, self.counts.read())
        return whole, partly

    def samples(self) -> tuple[Floats, Floats, Floats]:
        """By sample, lane and element of the lane: what the operation gave, the same in 64 bits, and the greatest of what was added."""
        count = min(self.executions()[0], self.most)
        kept = self.kept.read().reshape(self.most, self.words, self.wave)[:count]
        sizes = [*map(len, self.read), len(self.written)]
        *factors, c, result = np.split(kept, np.cumsum(sizes)[:-1], axis=1)
        sums, greatest = _sums(self.places, factors)
        got, exact, most = (np.zeros((count, self.wave, len(self.elements))) for _ in range(3))
        lanes = np.arange(self.wave)
        for n, element in enumerate(self.elements):
            at = np.array([self.places.element(lane, n) for lane in range(self.wave)])
            row, column, block = at.T
            word = result[:, self.written.index(element.register)]
            got[:, :, n] = _numbers(element.kind, word >> np.uint32(element.shift))
            added = self._added(n, element, c, lanes)
            exact[:, :, n] = sums[:, block, row, column] + added
            most[:, :, n] = np.maximum(greatest[:, block, row, column], np.abs(added))
        return got, exact, most

    def _added(self, n: int, element: Element, c: NDArray[np.uint32], lanes: NDArray[np.int64]) -> Floats:
        of, shift = addend(self.places, element, n)
        if isinstance(of, int):
            added = np.full((len(c), len(lanes)), number(self.places.kind, of))
        else:
            added = _numbers(self.places.kind, c[:, self.read[5].index(of.of)] >> np.uint32(shift))
        turned, dropped = self.places.sign
        added = np.abs(added) if dropped else added
        return -added if turned else added


class MatrixSamples(lt.Tool):
    """The hooks, and where they are inserted."""

    #: Which of the kept executions the wave's is; what is kept at most, if it is none.
    slot = lt.WaveState(lt.u32)

    @lt.hook
    def sample_begin(slot: lt.inout[lt.u32], counts: lt.ptr[lt.u64], most: lt.u32, wave: lt.u32):
        is_whole: lt.bool_ = lt.active_lanes() == wave
        order = lt.wave_atomic_add(counts + (0 if is_whole else 1), lt.u64(1))
        slot = lt.u32(order) if is_whole and order < lt.u64(most) else most  # noqa: F841

    @lt.hook
    def sample(slot: lt.inout[lt.u32], kept: lt.ptr[lt.u32], words: lt.u32, first: lt.u32, most: lt.u32, word: lt.u32):
        if slot < most:
            kept[slot * words + first + lt.lane_id()] = word

    def sample_matrix(
        self, kernel: lt.Kernel, instr: lt.Instruction, elements: list[Element], places: MatrixPlaces, wave: int, most: int
    ) -> SampledMatrix:
        """Has the first executions of a matrix operation kept."""
        read = [*read_registers(places), [] if places.c.register is None else list[lt.Reg | int](register_words(places.c))]
        written = list(dict.fromkeys(element.register for element in elements))
        words = sum(map(len, read)) + len(written)
        counts = lt.DeviceArray(lt.u64, COUNTS, name=f"executions.{instr.address:x}")
        kept = lt.DeviceArray(lt.u32, most * words * wave, name=f"samples.{instr.address:x}")
        sampled = SampledMatrix(instr, elements, places, wave, read, written, counts, kept, most)
        sampled.points.append(kernel.insert_after(instr, self.sample_begin, self.slot, counts, most, wave))
        for n, word in enumerate([word for side in read for word in side] + list(written)):
            given: Any = word if isinstance(word, int) or n >= words - len(written) else lt.Old(word)
            sampled.points.append(kernel.insert_after(instr, self.sample, self.slot, kept, words * wave, n * wave, most, given))
        return sampled


def _sums(places: MatrixPlaces, factors: Sequence[NDArray[np.uint32]]) -> tuple[Floats, Floats]:
    """By sample, block, row and column: the sum of the products, and the greatest of them."""
    words_a, words_b, words_index, *words_scales = factors
    depth = places.depth
    a = _line_numbers(places.a, words_a, places.blocks, places.rows, depth)
    b = _line_numbers(places.b, words_b, places.blocks, places.columns, 2 * depth if places.index is not None else depth)
    k = np.arange(depth)
    met = np.broadcast_to(k, (len(a), places.rows, depth))
    if places.index is not None:
        of = [[places.index.at(row, n // 2) for n in range(depth)] for row in range(places.rows)]
        four = _codes(words_index, of, 4).astype(np.int64)
        met = k // 2 * 4 + (four >> 2 * (k % 2) & 3)
    taken = b[:, :, None] if places.index is None else np.stack([b[n][:, :, met[n]].swapaxes(1, 2) for n in range(len(b))])
    a = a * np.where(k % 2, *(1 - 2 * places.a.negates[odd] for odd in (1, 0)))
    a = a * np.where(k % 2, *(1 - 2 * places.b.negates[odd] for odd in (1, 0)))
    for side, scaled in ((places.a, 0), (places.b, 1)):
        if side.scales is not None:
            lines = places.rows if scaled == 0 else places.columns
            scale = _scale_numbers(side.scales, words_scales[scaled], lines, depth)
            if scaled == 0:
                a = a * scale[:, None]
            else:
                taken = taken * scale[:, None, None]
    with np.errstate(all="ignore"):
        products = a[:, :, :, None] * taken
        return products.sum(axis=-1), np.abs(products).max(axis=-1)


def _line_numbers(side: Side, words: NDArray[np.uint32], blocks: int, lines: int, depth: int) -> Floats:
    at = [[[side.at(block, line, k) for k in range(depth)] for line in range(lines)] for block in range(blocks)]
    return _numbers(side.kind, _codes(words, at, FORMATS[side.kind].bits))


def _scale_numbers(scales: Scales, words: NDArray[np.uint32], lines: int, depth: int) -> Floats:
    at = [[scales.at(line, k // scales.each) for k in range(depth)] for line in range(lines)]
    return _numbers(scales.kind, _codes(words, at, 8))


def _codes(words: NDArray[np.uint32], at: Sequence[Any] | Sequence[At], bits: int) -> NDArray[np.uint64]:
    """The bits at places, by sample and as the places are nested."""
    places = np.array(at)
    lane, bit = places[..., 0], places[..., 1]
    word = bit // 32
    behind = np.minimum(word + 1, words.shape[1] - 1)
    whole = words[:, word, lane].astype(np.uint64) | words[:, behind, lane].astype(np.uint64) << np.uint64(32)
    return whole >> (bit % 32).astype(np.uint64) & np.uint64((1 << bits) - 1)


def _numbers(kind: str, codes: NDArray[Any]) -> Floats:
    """What codes of a kind of floats are; bits above them do not count."""
    if kind == "f32":
        return codes.astype(np.uint32).view(np.float32).astype(np.float64)
    if kind == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "bf16":
        return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    form = FORMATS[kind]
    table = np.array([form.number(code) for code in range(1 << form.bits)])
    return table[(codes & np.array((1 << form.bits) - 1, codes.dtype)).astype(np.int64)]
