"""Runs kernels of tests/kernels whose workgroups share memory, on several workers, and judges what they saw.

``python memory_model.py TARGET TEST[-strict|-reordered] ROUNDS WORKERS...``: in a process of its own, which has as many threads as the most
workers, however few cores there are. Prints one line for each outcome that memory may not have.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import timed

FORMS = ("global", "flat", "buffer")
BITS = (16, 32, 64, 128)
TEARING = [f"{form}_{bits}" for form in FORMS for bits in BITS] + [
    "typed_64", "typed_128", "scalar_64", "scalar_128", "exchange_32", "exchange_64", "fetch_32", "fetch_64",
]  # fmt: skip
# How far apart lanes store and load, in elements, and which of them do. None: 4 bytes.
PATTERNS: dict[str, tuple[int, int | None, int]] = {
    "neighbours": (1, 1, ~0),
    "one place": (0, 0, ~0),
    "apart": (3, 3, ~0),
    "some lanes": (1, 1, 0x5A5A_0000_FFFF_1234),
    "overlapping": (1, None, ~0),
}
LITMUS = {"message_passing": 2, "store_buffering": 2, "load_buffering": 2, "two_readers": 4, "coherence": 2}


def outcomes(target: str, test: str, rounds: int, workers: tuple[int, ...] = (2, 4, 8), **variables: str) -> list[str]:
    """What a test prints, in a process of its own."""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(max(workers)), **variables}
    command = [sys.executable, __file__, target, test, str(rounds), *map(str, workers)]
    done = timed.run(command, 3000, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs" in done.stdout.splitlines()[-1], "every run was made"
    return done.stdout.splitlines()[:-1]


class Runs:
    """The launches of a test on devices with several numbers of workers."""

    def __init__(self, target: str, source: str, workers: list[int], rounds: int, flags: tuple[str, ...] = ()) -> None:
        from compiled import code_object

        import luthier as lt

        path = str(code_object(f"workers/{source}", target=target, flags=flags))
        self.devices = [(count, lt.Device(target, threads=count).load(path)) for count in workers]
        self.rounds, self.strict, self.count = rounds, False, 0

    def each(self) -> Iterator[tuple[int, Callable[..., None]]]:
        """Each number of workers, and how to launch with it."""
        for count, module in self.devices:

            def launch(kernel: str, blocks: int, *args, block: int = 64, module=module, **how) -> None:
                self.count += 1
                module.run(kernel, blocks=blocks, block=block, args=list(args), strict=self.strict, **how)

            yield count, launch


def tearing(runs: Runs) -> Iterator[str]:
    for kernel, (name, (stored, loaded, lanes)), (workers, launch) in itertools.product(TEARING, PATTERNS.items(), runs.each()):
        size = int(kernel.rsplit("_")[-1]) // 8
        torn, strides = np.zeros(1, np.uint32), (stored * size, 4 if loaded is None else loaded * size)
        cells = np.zeros(4096, np.uint8)
        blocks = 2 * max(1, workers // 2)
        launch(kernel, blocks, cells, torn, np.uint32(runs.rounds), *map(np.uint32, strides), np.uint64(lanes % 2**64))
        if torn[0]:
            yield f"{kernel}, {name}, {workers} workers: {torn[0]} torn loads"


def local_memory(runs: Runs) -> Iterator[str]:
    for bits, schedule, (_, launch) in itertools.product((64, 128), (None, "alternate", "random:7"), runs.each()):
        torn = np.zeros(1, np.uint32)
        launch(
            f"local_{bits}", 1, torn, np.uint32(min(runs.rounds, 2000)), block=128, **({"schedule": schedule} if schedule else {})
        )
        if torn[0]:
            yield f"LDS, {bits} bits, {schedule}: {torn[0]} torn loads"


def _later(counts: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The counts of one lane each at places that begin with 1; none behind the last."""
    rows = np.minimum(places, len(counts)) - 1
    return np.take_along_axis(counts, rows, axis=0)


def forbidden(test: str, seen: np.ndarray) -> int:
    """How often a test came out as it may not. ``seen``: role, which of two loads, round, lane."""
    rounds = seen.shape[2]
    n = np.arange(1, rounds + 1, dtype=np.int64)[:, None]
    seen = seen.astype(np.int64)
    if test == "message_passing":
        flag, data = seen[1]
        return int((data < flag).sum())
    if test == "store_buffering":
        # Round n has not seen the other's round m, which has not seen round n either.
        one, other = seen[0, 0], seen[1, 0]
        return int(((one < rounds) & (_later(other, one + 1) < n)).sum())
    if test == "load_buffering":
        # Round n has seen the other's round m, which has seen round n, that came later.
        one, other = seen[0, 0], seen[1, 0]
        return int(((one > 0) & (_later(other, np.maximum(one, 1)) >= n)).sum())
    if test == "two_readers":
        # One has seen more of x than the other, who has seen more of y.
        wrong = 0
        for lane in range(seen.shape[3]):
            (x, y), (other_y, other_x) = seen[2, :, :, lane], seen[3, :, :, lane]
            before = np.searchsorted(other_x, x) - 1
            wrong += int(((before >= 0) & (other_y[before] > y)).sum())
        return wrong
    assert test == "coherence"
    own, found = seen[0, 0], seen[1].transpose(1, 0, 2).reshape(2 * rounds, -1)
    return int((own != 2 * n).sum() + (np.diff(found, axis=0) < 0).sum())


def litmus(runs: Runs) -> Iterator[str]:
    rounds = min(runs.rounds, 30_000)
    for test, form, bits, (workers, launch) in itertools.product(LITMUS, FORMS, BITS, runs.each()):
        cells, seen = np.zeros(4096, np.uint8), np.zeros((LITMUS[test], 2, rounds, 64), np.uint32)
        roles = LITMUS[test]
        together = np.uint32(roles if workers >= roles else 0)
        launch(f"{test}_{form}_{bits}", roles, cells, seen, np.uint32(rounds), np.zeros(1, np.uint32), together)
        if torn := (seen == 0xFFFF_FFFF).sum():
            yield f"{test}, {form}, {bits} bits, {workers} workers: {torn} torn loads"
        elif wrong := forbidden(test, seen):
            yield f"{test}, {form}, {bits} bits, {workers} workers: {wrong} times"


def locks(runs: Runs) -> Iterator[str]:
    for bits, (workers, launch) in itertools.product((32, 64), runs.each()):
        kind = np.uint32 if bits == 32 else np.uint64
        following, called, shared = np.zeros(1, kind), np.zeros(1, kind), np.zeros(3, kind)
        rounds = max(runs.rounds // 50, 2)
        launch(f"ticket_lock_{bits}", workers, following, called, shared, np.uint32(rounds))
        tickets = workers * rounds
        if (total := tickets * (tickets - 1) // 2) != shared[0] or shared[1] or following[0] != tickets:
            yield f"ticket lock, {bits} bits, {workers} workers: {shared[0]} for {total}, {shared[1]} out of turn"


def scans(runs: Runs) -> Iterator[str]:
    rng = np.random.default_rng(1)
    blocks = min(200, 4 + runs.rounds // 20)
    for form, bits, (workers, launch) in itertools.product(FORMS, (64, 128), runs.each()):
        kind = np.uint32 if bits == 64 else np.uint64
        given = rng.integers(0, 2**16 if bits == 64 else 2**50, 64 * blocks).astype(kind)
        out, states, tickets = np.zeros_like(given), np.zeros(16 * blocks, np.uint8), np.zeros(1, np.uint32)
        launch(f"scan_{form}_{bits}", blocks, given, out, states, tickets)
        if wrong := (out != np.cumsum(given, dtype=kind)).sum():
            yield f"scan, {form}, {bits} bits, {workers} workers: {wrong} of {len(out)} sums are wrong"


def lists(runs: Runs) -> Iterator[str]:
    rng, size = np.random.default_rng(2), min(100 + runs.rounds, 5000)
    for workers, launch in runs.each():
        order = rng.permutation(size)
        nodes, ranks = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        nodes[order[:-1]] = order[1:].astype(np.uint64) | np.uint64(1 << 32)
        nodes[order[-1]] = order[-1]
        ranks[order] = np.arange(size)[::-1]
        launch("list_ranks", 4 * workers, nodes, np.uint32(size), np.uint32(order[-1]))
        if wrong := (nodes >> np.uint64(32) != ranks).sum():
            yield f"list ranks, {workers} workers: {wrong} of {size} are wrong"


# By the file of tests/kernels that they run.
TESTS: dict[str, tuple[Callable[[Runs], Iterator[str]], ...]] = {
    "tearing": (tearing, local_memory),
    "litmus": (litmus,),
    "workgroups": (locks, scans, lists),
}


def main(target: str, test: str, rounds: str, *workers: str) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    source, _, mode = test.partition("-")
    flags = ("-DREORDERED",) if mode == "reordered" else ()
    runs = Runs(target, source, [int(count) for count in workers], int(rounds), flags)
    runs.strict = mode == "strict"
    for run in TESTS[source]:
        for outcome in run(runs):
            print(outcome)
    print(f"{runs.count} runs")


if __name__ == "__main__":
    main(*sys.argv[1:])
