"""Random C programs, compiled by clang for the host and for every GPU, compute the same bits on both (tests/support/programs).

LUTHIER_PROGRAMS=20 is the deep run: that many seeds for each target, at all levels, besides the fixed ones. A failure
names the line that runs it again.
"""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

import pytest
from programs.generate import programs
from programs.known import NOT_COMPILED, wrong_code
from programs.model import Program
from programs.run import LEVELS, TARGETS, Build, CompilerError, Sources, build

from luthier import Strict, finding_kinds

DEEP = int(os.environ.get("LUTHIER_PROGRAMS", "0"))
#: The fixed ones: few, as clang takes nearly all of the time.
SEED, COUNT = 100, 4
#: What strict mode looks for. On gfx1010 LLVM leaves a hazard across calls (`lds-branch-memory`).
KINDS = finding_kinds()
SLOW_TOO = ["gfx900", "gfx942", "gfx1151", "gfx1250"]
STRICT = {target: KINDS for target in TARGETS} | {"gfx1010": [kind for kind in KINDS if kind != "hazard"]}


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-programs-")


@functools.lru_cache(maxsize=4)
def _sources(seed: int, count: int) -> Sources:
    return Sources(Path(_folder().name), seed, programs(seed, count))


def _again(sources: Sources, what: Build) -> str:
    return (
        f"again: cd tests && python -m programs --seeds {sources.seed} --programs {len(sources.programs)} "
        f"--target {what.target} --level {what.level}   ({what})"
    )


def _check(sources: Sources, what: Build, strict: Strict) -> int:
    """The number of elements compared; none if clang is known to fail."""
    try:
        path = sources.compile(what)
    except CompilerError as error:
        known = any(part in str(error) and where in (what.target, *what.flags) for part, where in NOT_COMPILED.items())
        assert known, f"clang does not compile it: {error}\n{_again(sources, what)}"
        return sum(_check(one, what, strict) for one in sources.apart())
    outcome = sources.run(what, path, strict)
    path.unlink()
    wrong = [one for one in outcome.differences if not wrong_code(one.program, what.target, what.flags)]
    listed = "\n".join(map(str, [*wrong, *outcome.findings]))
    assert not wrong and not outcome.findings, f"{listed}\n{_again(sources, what)}"
    return outcome.elements


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("target", TARGETS)
def test_fixed_programs(target: str, level: str) -> None:
    # At -O0 there is little that differs from target to target in what strict mode looks at, and it takes longest.
    strict = STRICT[target] if level == "O2" or target in SLOW_TOO else False
    assert _check(_sources(SEED, COUNT), build(target, level, 0), strict) > 10_000


@pytest.mark.parametrize("number", range(COUNT))
def test_programs_are_well_defined(number: int) -> None:
    sources = _sources(SEED, COUNT)
    assert sources.well_defined(sources.programs[number])


def test_a_wrong_result_is_seen() -> None:
    """The comparison itself: another uniform argument gives other results."""
    sources, other = _sources(SEED, COUNT), Sources(Path(_folder().name), SEED, programs(SEED, COUNT))
    other.uniform += 1
    what = build("gfx90a", "O2", 0)
    outcome = other.run(what, sources.compile(what))
    assert not outcome.differences
    other.expected = sources.expected  # type: ignore[method-assign]
    assert other.run(what, sources.compile(what)).differences


def test_halves_are_rounded_after_each_operation() -> None:
    """The square of a large half is infinite, on the host too, where clang would compute the whole expression in f32."""
    parameters = "(const Item &it, State &s)"
    first = f"FREE void halves_first{parameters} {{ f16x2 v = (f16)it.in[0]; it.out[0] = bits<f16>(((v - v) * (v * v))[1]); }}"
    second = f"FREE void halves_second{parameters} {{}}"
    halves = Program("halves", 64, [], [first, second], "0x1b, 0, __attribute__((amdgpu_flat_work_group_size(1, 64)))")
    sources = Sources(Path(_folder().name), SEED, [halves])
    sources.inputs[:, 0] = 12345
    assert sources.expected(halves, 64)[1][0, 0] == 0x7E00
    what = build("gfx90a", "O2", 0)
    assert not sources.run(what, sources.compile(what)).differences


@pytest.mark.skipif(not DEEP, reason="LUTHIER_PROGRAMS=N tries N seeds for each target")
@pytest.mark.parametrize("target", TARGETS)
def test_deep(target: str) -> None:
    failed, refused, modules = [], 0, 0
    for seed in range(1000, 1000 + DEEP):
        for level in LEVELS:
            modules += 1
            try:
                refused += not _check(_sources(seed, 6), build(target, level, seed), False)
            except AssertionError as error:
                failed.append(str(error))
    assert not failed, "\n\n".join(failed)
    assert refused * 10 <= modules, f"clang has compiled too few: {refused} of {modules} failed"
