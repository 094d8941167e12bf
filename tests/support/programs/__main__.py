"""python -m programs --seeds 10-19 --programs 10 --target gfx90a: compiles, runs, compares, and says what differs."""

from __future__ import annotations

import argparse
import collections
import functools
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .generate import programs
from .known import wrong_code
from .run import LEVELS, TARGETS, Build, CompilerError, Sources, build


def main() -> None:
    parser = argparse.ArgumentParser(prog="programs", description=__doc__)
    parser.add_argument("--seeds", default="0", help="one seed, or the first and the last: 3-7")
    parser.add_argument("--programs", type=int, default=10, help="programs of a seed")
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--strict", action="store_true", help="no findings of strict mode either")
    parser.add_argument("--check", action="store_true", help="the programs themselves, on the host: are they well defined?")
    parser.add_argument("--keep", type=Path, help="a folder for sources and code objects")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="luthier-programs-") as temporary:
        for seed in range(int(first), int(last or first) + 1):
            sources = Sources(options.keep or Path(temporary), seed, programs(seed, options.programs))
            builds = [build(target, level, seed) for target in options.target or TARGETS for level in options.level or LEVELS]
            for program in sources.programs:
                sources.expected(program, 32), sources.expected(program, 64)
                if options.check and not sources.well_defined(program):
                    print(f"{program.name}: not well defined", flush=True)
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(functools.partial(_one, sources, options.strict, counts), builds))
            print(f"{time.strftime('%H:%M:%S')} seed {seed}: {dict(counts)}", flush=True)


def _one(sources: Sources, strict: bool, counts: collections.Counter[str], what: Build) -> None:
    try:
        path = sources.compile(what)
    except CompilerError as error:
        if apart := sources.apart():
            for one in apart:
                _one(one, strict, counts, what)
        else:
            counts["not compiled"] += 1
            print(f"seed {sources.seed}, {what}: {sources.programs[0].name}: not compiled: {error}", flush=True)
        return
    outcome = sources.run(what, path, strict)
    counts["code objects"] += 1
    counts["builds of programs"] += len(sources.programs)
    counts["elements"] += outcome.elements
    counts["findings"] += len(outcome.findings)
    for one in outcome.differences:
        known = wrong_code(one.program, what.target, what.flags)
        counts["known faults of clang's" if known else "differences"] += 1
        print(f"seed {sources.seed}, {what}: {one}{' (clang)' if known else ''}", flush=True)
    for line in outcome.findings:
        print(f"seed {sources.seed}, {what}: {line}", flush=True)


main()
