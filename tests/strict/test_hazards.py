"""Strict mode's hazards against LLVM's hazard recognizer: what llc pads is clean, and with any of the padding gone it
is not.
"""

from __future__ import annotations

import os
import random

import hazard_oracle
import hazard_pools
import pytest

CASES = [(target, wave) for target, waves in hazard_pools.TARGETS.items() for wave in waves]
# Sequences of each processor; LUTHIER_HAZARD_SEQUENCES=2000 for a deep run.
SEQUENCES = int(os.environ.get("LUTHIER_HAZARD_SEQUENCES", "40"))


def _judge(kernels: dict[str, list[str]], target: str, wave: int, folder) -> tuple[set[str], int]:
    """Compares with llc; the names of the rules that were broken, and how often."""
    lists = hazard_oracle.padding(hazard_oracle.assemble(kernels, target, wave, folder), target, kernels)
    prelude, end = hazard_pools.prelude(target), hazard_pools.end(target)
    variants: dict[str, list[str]] = {}
    shorter = {}
    for name, lines in kernels.items():
        pieces = [(at, piece) for at, before in enumerate(lists[name]) for piece in range(len(before))]

        def text(left_out=None, lines=lines, before=lists[name]):
            kept = [[p for k, p in enumerate(ps) if (at, k) != left_out] for at, ps in enumerate(before)]
            return [*prelude, *(line for ps, own in zip(kept, lines) for line in (*ps, own)), *end]

        variants[name] = text()
        for at, piece in pieces:
            # One of several equal nops is as good as another.
            if piece == 0 or lists[name][at][piece] != lists[name][at][piece - 1]:
                shorter[f"{name}_{at}_{piece}"] = (name, at, lists[name][at][piece])
                variants[f"{name}_{at}_{piece}"] = text((at, piece))
    path = hazard_oracle.assemble(variants, target, wave, folder)
    found = hazard_oracle.findings(path, target, variants)
    for name in kernels:
        assert not found[name], "\n".join([*variants[name][len(prelude) :], str(found[name])])
    broken = set()
    for name, (kernel, at, piece) in shorter.items():
        if not found[name]:
            needless = hazard_pools.is_needless(target, wave, kernels[kernel], at, piece)
            assert needless, "\n".join([f"{piece} before instruction {at}", *kernels[kernel][: at + 1]])
            continue
        for finding in found[name]:
            assert finding["kind"] == "hazard" and finding["other"]["pc"] < finding["pc"], finding
            broken.add(finding["message"].partition(":")[0])
    return broken, len(shorter)


@pytest.mark.parametrize(("target", "wave"), CASES)
def test_every_rule_is_what_llc_makes_of_it(target, wave, tmp_path):
    """A pair, or three, for each rule of the processor."""
    rows = hazard_pools.pairs(target, wave)
    kernels = {f"k{n}": lines for n, (_, lines) in enumerate(rows)}
    broken, count = _judge(kernels, target, wave, tmp_path)
    assert count >= len({rule for rule, _ in rows if rule})
    assert broken == {rule for rule, _ in rows if rule}


@pytest.mark.parametrize(("target", "wave"), CASES)
def test_random_sequences(target, wave, tmp_path):
    rng = random.Random(f"{target} {wave}")
    pool = hazard_pools.pool(target, wave)
    kernels = {}
    for n in range(SEQUENCES):
        kernels[f"k{n}"] = [hazard_pools.fill(rng, rng.choice(pool), target, wave) for _ in range(12)]
    broken, count = _judge(kernels, target, wave, tmp_path)
    if target != "gfx1030":  # where there is hardly any
        assert broken and count > SEQUENCES // 16
