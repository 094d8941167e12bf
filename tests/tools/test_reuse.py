"""Reuse distances against a list of lines that is searched, over what the mock device has seen."""

from __future__ import annotations

import pickle
from collections import Counter

import compiled
import numpy as np
import pytest
from tool_runs import TARGETS, every, watched

import luthier as lt
from luthier.instrumenting import channels
from luthier.tools.caches import CARDS, stack_distances


def naive(uses: list[int]) -> list[int]:
    """The least recently used line last."""
    stack: list[int] = []
    found = []
    for line in uses:
        found.append(stack.index(line) if line in stack else -1)
        if line in stack:
            stack.remove(line)
        stack.insert(0, line)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_a_list_that_is_searched(seed):
    rng = np.random.default_rng(seed)
    uses = rng.integers(0, rng.integers(1, 60), rng.integers(0, 700))
    assert stack_distances(uses).tolist() == naive(uses.tolist())


def executions(seen, kernel):
    """Of each time that a wave runs a vector access of device memory: the workgroup and the addresses with their sizes."""
    wanted = {i.address for i in kernel.instructions if i.is_global and i.works_for == "lane" and i.access_count == 1}
    wanted = [a for a in wanted if a not in {i.address for i in kernel.instructions if i.memory_space == "scratch"}]
    for pc in wanted:
        yield from seen.accesses(pc)


@every
def test_footprint_and_uses_are_those_of_the_lines_that_the_device_sees(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("reuse"))
    line = told["line"]
    uses, of_groups, lines = 0, set(), set()
    for access in executions(seen, kernel):
        touched = {n for a, s in access[["address", "size"]].tolist() for n in range(a // line, (a + s - 1) // line + 1)}
        uses += len(touched)
        lines |= touched
        of_groups |= {(int(access["workgroup"][0]), n) for n in touched}
    sizes = Counter(group for group, _ in of_groups)
    assert told["uses"] == told["looked at"] == uses > 0
    assert told["again"] == uses - len(of_groups) == sum(told["distances"].values())
    assert told["workgroup"] == {
        "mean": pytest.approx(sum(sizes.values()) / len(sizes) * line),
        "most": max(sizes.values()) * line,
    }
    assert sum(t["first"] for t in told["accesses"].values()) == len(of_groups)
    # Scratch is told apart by address on processors that reach it through buffers: it may lie elsewhere.
    assert told["footprint"] == len(lines) * line
    if told["caches"]:
        caches = list(told["caches"].values())
        assert caches[0]["hits"] + caches[0]["misses"] == uses
        assert all(c["hits"] + c["misses"] == before["misses"] for before, c in zip(caches, caches[1:]))


@pytest.mark.parametrize("target, line", (("gfx90a", 64), ("gfx1100", 128), ("gfx1201", 128)))
@pytest.mark.parametrize("piece", (1, 7, 50))
def test_a_wave_uses_a_line_once_though_the_host_reads_its_records_in_pieces(piece, target, line, monkeypatch):
    """A host that is fast reads what is there in the middle of an execution; one that is slow reads a piece that ends there. The
    tool has been in another process."""
    monkeypatch.setattr(channels, "_PIECE", piece)
    told, seen, kernel = watched("triton-matmul_f16_64", target, pickle.loads(pickle.dumps(lt.tools.load("reuse"))))
    expected = sum(
        len({n for a, s in access[["address", "size"]].tolist() for n in range(a // line, (a + s - 1) // line + 1)})
        for access in executions(seen, kernel)
    )
    assert told["line"] == line and told["uses"] == expected > 0


SOURCE = """
KERNEL again(u32 *out, const u32 *a, u32 rounds, u32 stride) {
    u32 sum = 0;
    for (u32 r = 0; r < rounds; r++)
        for (u32 k = 0; k < 40; k++) sum += a[k * stride + local_x()];
    out[global_x()] = sum;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_with_one_wave_distances_and_caches_are_those_of_the_devices_order(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, target))
    given = {
        "grid": 32,
        "block": 32,
        "args": [np.zeros(32, "u4"), np.arange(40 * 1024, dtype="u4"), np.uint32(3), np.uint32(1024)],
    }
    tool = lt.tools.load("reuse")
    told = lt.Device(target).run(code, "again", tools=[tool], **given).tools["reuse"]
    trace = lt.Device(target).trace(code, "again", events=["memory"], **given)
    line = told["line"]
    events = trace.memory[(trace.memory["kind"] >> 4) == 0]
    uses: list[int] = []
    for part in np.split(events, np.flatnonzero(np.diff(events["lane"].astype(int)) <= 0) + 1):
        uses += sorted({n for a, s in part[["address", "size"]].tolist() for n in range(a // line, (a + s - 1) // line + 1)})
    distances = naive(uses)
    buckets = Counter(0 if d == 0 else 1 << (d.bit_length() - 1) for d in distances if d >= 0)
    assert told["distances"] == {str(n): buckets[n] for n in sorted(buckets)}
    (first, *_) = CARDS[told["card"]][2].items()
    assert told["caches"][first[0]]["hits"] == sum(0 <= d < first[1] // line for d in distances)


def test_a_cache_that_is_smaller_than_what_is_used_in_turns_has_nothing_of_it():
    """40 lines of 64 KB apart are used in turns: a cache holds all of them, or by this rule none."""
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a"))
    args = [np.zeros(64, "u4"), np.zeros(40 * 1024, "u4"), np.uint32(5), np.uint32(1024)]
    told = lt.Device("gfx90a").run(code, "again", grid=16, block=16, args=args, tools=[lt.tools.load("reuse")]).tools["reuse"]
    assert (told["distances"], told["again"]) == ({"32": 160}, 160)
    assert told["caches"]["L1"] == {"bytes": 16384, "hits": 160, "misses": 41}
    assert told["footprint"] == 41 * 64 and told["arguments"] == {"0": 64, "1": 2560}


def test_options_that_are_no_cards_or_lines_are_refused():
    with pytest.raises(lt.ToolError, match="card=Voodoo: MI100"):
        lt.tools.load("reuse:card=Voodoo")
    with pytest.raises(lt.ToolError, match="line=48: a power of 2"):
        lt.tools.load("reuse:line=48")
