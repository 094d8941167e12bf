"""gfx1250's tensor data mover and barriers in LDS: random descriptors, built here, against NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field

import compiled
import numpy as np
import pytest

import luthier as lt

WORDS = 4096
RNG_SEED = 1250


@pytest.fixture(scope="module")
def module():
    return lt.Device("gfx1250").load(lt.CodeObject.open(compiled.code_object("gfx1250_tensor", target="gfx1250")))


@dataclass
class Tile:
    """A descriptor's fields; the innermost dimension first, strides from dimension 1 on, both in elements."""

    tile: list[int]
    tensor: list[int]
    strides: list[int]
    size: int = 2
    start: int = 0  # of the tile in the tensor, in bytes
    lds: int = 0
    interval: int = 0  # in dwords, as `amount`
    amount: int = 0
    barrier: int | None = None
    rows: list[int] | None = None
    wide: bool = False
    times: int = 1
    lds_step: int = 0
    global_step: int = 0
    raw: dict[tuple[int, int, int], int] = field(default_factory=dict)  # group, bit and width: what to put there instead

    def dwords(self) -> np.ndarray:
        groups = [0, 0, 0, 0]

        def put(group: int, bit: int, width: int, value: int) -> None:
            assert 0 <= value < 1 << width
            groups[group] = groups[group] & ~(((1 << width) - 1) << bit) | value << bit

        rank = len(self.tile)
        tile, tensor = self.tile + [0] * (5 - rank), self.tensor + [0] * (5 - rank)
        strides = self.strides + [0] * (4 - len(self.strides))
        put(0, 0, 2, 1)
        put(0, 30, 1, self.wide)
        put(0, 31, 1, self.rows is not None)
        put(0, 32, 32, self.lds)
        put(0, 64, 57, self.start)
        put(0, 126, 2, 2)
        put(1, 16, 2, self.size.bit_length() - 1)
        if self.barrier is not None:
            put(1, 18, 1, 1)
            put(1, 32, 16, self.barrier // 8)
        if self.interval:
            put(1, 20, 1, 1)
            put(1, 22, 3, self.interval.bit_length() - 2)
            put(1, 25, 7, self.amount - 1)
        put(1, 48, 32, tensor[0])
        put(1, 80, 32, tensor[1])
        put(1, 112, 16, tile[0])
        put(1, 128, 16, tile[1])
        put(1, 144, 16, tile[2])
        put(1, 160, 48, strides[0])
        put(1, 208, 48, strides[1])
        put(2, 0, 32, tensor[2])
        if self.times > 1:
            put(1, 19, 1, 1)
            put(2, 32, 32, self.lds_step)
            put(2, 64, 48, self.global_step)
            put(2, 112, 16, self.times - 1)
        elif self.rows is not None:
            width = 32 if self.wide else 16
            for k, row in enumerate(self.rows):
                put(2 + k * width // 128, k * width % 128, width, row)
        else:
            put(2, 32, 32, tensor[3])
            put(2, 64, 48, strides[2])
            put(2, 112, 16, tile[3])
            put(3, 0, 48, strides[3])
            put(3, 48, 32, tensor[4])
            put(3, 80, 16, tile[4])
        for (group, bit, width), value in self.raw.items():
            put(group, bit, width, value)
        words = [groups[g] >> 32 * k & 0xFFFFFFFF for g, n in enumerate((4, 8, 4, 4)) for k in range(n)]
        return np.array(words, np.uint32)

    def moves(self, loads: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each byte of the tile: where it is in LDS and in the tensor, and whether it is inside of it."""
        lds, memory, valid = [], [], []
        for time in range(self.times):
            grid = np.indices(self.tile[::-1], np.int64)[::-1].reshape(len(self.tile), -1)
            inside = np.ones(grid.shape[1], bool)
            for k, coordinates in enumerate(grid):
                if k == 1 and self.rows is not None:
                    grid[1] = coordinates = np.array(self.rows, np.int64)[coordinates]
                inside &= coordinates < self.tensor[k]
            elements = grid[0] + sum(np.int64(s) * c for s, c in zip(self.strides, grid[1:], strict=True))
            byte = np.arange(self.size)
            at = (elements * self.size)[:, None] + byte + self.start + time * self.global_step * self.size
            order = np.arange(at.size)
            if self.interval and loads:
                order = order + order // (4 * self.interval) * 4 * self.amount
            lds.append(order + self.lds + time * self.lds_step * self.size)
            memory.append(at.reshape(-1))
            valid.append(np.repeat(inside, self.size))
        return tuple(np.concatenate(x) for x in (lds, memory, valid))

    def extent(self) -> int:
        """Bytes of the tensor that are touched, up to the last."""
        _, memory, valid = self.moves(True)
        return int(memory[valid].max(initial=0)) + 1


def _check(module, tile: Tile, rng: np.random.Generator, kernel: str = "") -> None:
    data = rng.integers(1, 256, tile.extent() + 16).astype(np.uint8)
    lds = rng.integers(1, 256, 4 * WORDS).astype(np.uint8)
    for loads in (True, False):
        at, memory, valid = tile.moves(loads)
        inside = np.where(valid, memory, 0)
        for strict in (False, True):
            tensor, words = data.copy(), lds.copy().view(np.uint32)
            args = [tile.dwords(), tensor, words, np.uint32(WORDS)]
            name = kernel or ("load" if loads else "store")
            if kernel and not loads:
                continue
            result = module.run(name, grid=32, block=32, args=args, lds=4 * WORDS, strict=strict)
            assert not result.findings, (tile, result.findings)
            want_tensor, want_lds = data.copy(), lds.copy()
            if loads:
                want_lds[at] = np.where(valid, data[inside], 0)
            else:
                # Rows may be named twice: the last one stays, as long as nothing says otherwise.
                want_tensor[memory[valid]] = lds[at[valid]]
            assert np.array_equal(words.view(np.uint8), want_lds), (loads, tile)
            assert np.array_equal(tensor, want_tensor), (loads, tile)


def _random(rng: np.random.Generator, rank: int) -> Tile:
    size = int(rng.choice([1, 2, 4, 8]))
    while True:
        tile = [int(rng.integers(1, 40)), *(int(rng.integers(1, 7)) for _ in range(rank - 1))]
        # What is left of the tensor: more than the tile, as much, less, or nothing at all.
        tensor = [int(rng.choice([t + 3, t, max(t - int(rng.integers(1, 4)), 0), 1])) for t in tile]
        strides, reach = [], tile[0] + int(rng.integers(0, 5))
        for t in tile[1:]:
            strides.append(reach + int(rng.integers(0, 3)))
            reach = strides[-1] * t
        pads = bool(rng.integers(0, 2)) and tile[0] * size % 4 == 0
        interval, amount = (2 << int(rng.integers(0, 8)), int(rng.integers(1, 129))) if pads else (0, 0)
        made = Tile(tile, tensor, strides, size, interval=interval, amount=amount)
        made.start, made.lds = int(rng.integers(0, 64)), 4 * int(rng.integers(0, 32))
        if made.moves(True)[0].max() < 4 * WORDS and reach < 200_000:
            return made


@pytest.mark.parametrize("rank", range(1, 6))
def test_tensors(module, rank: int) -> None:
    rng = np.random.default_rng([RNG_SEED, rank])
    for _ in range(24):
        _check(module, _random(rng, rank), rng)


@pytest.mark.parametrize("rank", range(1, 6))
@pytest.mark.parametrize("crossed", range(5))
def test_each_edge(module, rank: int, crossed: int) -> None:
    if crossed >= rank:
        return
    rng = np.random.default_rng([RNG_SEED, rank, crossed])
    tile = [6, 3, 4, 2, 3][:rank]
    tensor = [t + (-1 if k == crossed else 2) for k, t in enumerate(tile)]
    strides = [int(np.prod([9, 5, 6, 4][: k + 1])) for k in range(rank - 1)]
    _check(module, Tile(tile, tensor, strides, size=4), rng)


def test_two_groups(module) -> None:
    rng = np.random.default_rng(RNG_SEED + 2)
    for rank in (1, 2):
        for _ in range(8):
            _check(module, _random(rng, rank), rng, kernel="load_d2")


@pytest.mark.parametrize("wide", [False, True])
def test_rows_by_number(module, wide: bool) -> None:
    rng = np.random.default_rng([RNG_SEED, 3, wide])
    most = 8 if wide else 16
    for count in [1, 3, most, most]:
        rows = rng.permutation(50)[:count].tolist()
        inside = Tile([20, count], [18, 50], [24], rows=rows, wide=wide)
        _check(module, inside, rng)
        # Beyond the tensor they have to ascend.
        beyond = Tile([20, count], [33, 30], [40], rows=sorted(rows), wide=wide, interval=4, amount=3)
        _check(module, beyond, rng)


def test_iteration(module) -> None:
    rng = np.random.default_rng(RNG_SEED + 4)
    for rank in (1, 2, 3):
        base = Tile([8, 4, 3][:rank], [8, 3, 9][:rank], [16, 64][: rank - 1], size=2, times=5)
        base.global_step, base.lds_step = 256, int(np.prod(base.tile)) + 8
        _check(module, base, rng)
    _check(module, Tile([8, 4], [7, 4], [16], times=3, global_step=100, lds_step=200, interval=4, amount=2), rng)


def test_a_tensor_of_nothing(module) -> None:
    rng = np.random.default_rng(RNG_SEED + 5)
    for tile in (Tile([8, 4], [8, 4], [8], raw={(0, 0, 2): 0}), Tile([0, 4], [8, 4], [8])):
        data, words = np.arange(256, dtype=np.uint8), rng.integers(0, 1 << 32, WORDS).astype(np.uint32)
        before = words.copy()
        args = [tile.dwords(), data, words, np.uint32(WORDS)]
        module.run("load", grid=32, block=32, args=args, lds=4 * WORDS, strict=True)
        assert np.array_equal(words, before)


REFUSED = [
    ({(0, 0, 2): 2}, {}, "restores"),
    ({(0, 2, 1): 1}, {}, "restores"),
    ({(0, 126, 2): 1}, {}, "type"),
    ({(1, 0, 16): 2}, {}, "workgroup_mask"),
    ({(1, 128, 16): 0, (1, 144, 16): 2}, {}, "tile_dim1"),
    ({(1, 112, 16): 0}, {"barrier": 64}, "tile_dim0"),
    ({}, {"tile": [3, 2], "interval": 4, "amount": 2}, "pad_enable"),
    ({(2, 112, 16): 256}, {"times": 2}, "iterate_count"),
    ({(3, 80, 16): 2}, {"times": 2}, "tile_dim4"),
    ({}, {"tile": [6, 1], "times": 2, "interval": 4, "amount": 2}, "pad_interval"),
    ({}, {"rows": [5, 1], "tile": [4, 2]}, "ascending"),
    ({(1, 128, 16): 9}, {"rows": [0, 1], "tile": [4, 2], "wide": True}, "tile_dim1"),
]


@pytest.mark.parametrize(("raw", "fields", "named"), REFUSED)
def test_what_is_not_documented_is_refused_by_name(module, raw, fields, named: str) -> None:
    tile = Tile(**({"tile": [8, 4], "tensor": [8, 4], "strides": [8]} | fields), raw=raw)
    args = [tile.dwords(), np.zeros(4096, np.uint8), np.zeros(WORDS, np.uint32), np.uint32(WORDS)]
    with pytest.raises(lt.DeviceError, match=named):
        module.run("load", grid=32, block=32, args=args, lds=4 * WORDS)


@pytest.mark.parametrize(("kernel", "fields", "field"), [
    ("load", {"lds": 4 * WORDS - 8}, "LDS"),
    ("store", {"lds": 4 * WORDS - 8}, "LDS"),
    ("load", {"start": 1 << 40}, "no allocation"),
    ("store", {"start": 1 << 40}, "no allocation"),
    ("load", {"tile": [65535] * 5, "tensor": [1] * 5, "strides": [1] * 4}, "LDS"),
])  # fmt: skip
def test_what_is_outside(module, kernel: str, fields, field: str) -> None:
    tile = Tile(**({"tile": [8, 4], "tensor": [8, 4], "strides": [8]} | fields))
    args = [tile.dwords(), np.zeros(4096, np.uint8), np.zeros(WORDS, np.uint32), np.uint32(WORDS)]
    with pytest.raises(lt.DeviceError, match=field):
        module.run(kernel, grid=32, block=32, args=args, lds=4 * WORDS)
    found = module.run(kernel, grid=32, block=32, args=args, lds=4 * WORDS, strict=True).findings
    assert [f["kind"] for f in found] == ["out-of-bounds"] and kernel in found[0]["text"]


COUNT, PHASE = (1 << 29) - 1, 1 << 29


def _arrive(state: int, by: int) -> int:
    """One arrival, as the guide has it."""
    low, reload = state & 0xFFFFFFFF, state >> 32 & 0xFFFF
    if low & COUNT >= by:
        return state - by
    return state >> 32 << 32 | (low // PHASE - 1) % 8 * PHASE | reload


@pytest.mark.parametrize("moves", ["load", "store"])
def test_a_tensor_arrives_at_a_barrier(module, moves: str) -> None:
    rng = np.random.default_rng(RNG_SEED + 6)
    for expected in (0, 1, 5):
        tile = Tile([8, 4], [8, 4], [8], barrier=1024)
        words = rng.integers(0, 1 << 32, WORDS).astype(np.uint32)
        words[256:258] = expected, expected
        state = int(words.view(np.uint64)[128])
        if moves == "store":
            continue  # nothing brings LDS back from there
        module.run(moves, grid=32, block=32, args=[tile.dwords(), np.zeros(256, np.uint8), words, np.uint32(WORDS)],
                   lds=4 * WORDS, strict=True)  # fmt: skip
        assert int(words.view(np.uint64)[128]) == _arrive(state, 1)


@pytest.mark.parametrize("strict", [False, True])
def test_arrivals(module, strict: bool) -> None:
    rng = np.random.default_rng(RNG_SEED + 7)
    for _ in range(20):
        reload = int(rng.integers(0, 40))
        start = reload << 32 | int(rng.integers(0, 8)) * PHASE | int(rng.integers(0, reload + 1))
        mask = rng.integers(0, 2, 32).astype(np.uint32)
        lds = np.array([start], np.uint64)
        counts, got = rng.integers(0, 2, 32).astype(np.uint64), np.full(32, 77, np.uint64)
        want, state = got.copy(), start
        for lane in np.flatnonzero(mask):
            want[lane], state = state, _arrive(state, int(counts[lane]))
        result = module.run("arrive", grid=32, block=32, args=[lds, mask, counts, got], lds=8, strict=strict)
        assert not result.findings
        assert np.array_equal(got, want) and int(lds[0]) == state
        lds = np.array([start], np.uint64)
        for _ in range(mask.sum()):
            start = _arrive(start, 1)
        assert not module.run("arrive_later", grid=32, block=32, args=[lds, mask], lds=8, strict=strict).findings
        assert int(lds[0]) == start


def test_more_arrivals_than_are_missing(module) -> None:
    lds, mask = np.array([1 << 32 | 1], np.uint64), np.eye(1, 32, dtype=np.uint32)[0]
    counts = np.full(32, 3, np.uint64)
    with pytest.raises(lt.DeviceError, match="2 are missing"):
        module.run("arrive", grid=32, block=32, args=[lds, mask, counts, np.zeros(32, np.uint64)], lds=8)
