"""Each kind of findings alone: it finds what all kinds together find of it, and nothing else."""

from __future__ import annotations

import cli
import numpy as np
import planted
import pytest

import luthier as lt

# Some mistakes are written in GCN's assembly.
OF_GCN = ("hazard", "missing_wait", "undefined_register")
CASES = [
    (name, target)
    for target in ("gfx90a", "gfx1030", "gfx1201")
    for name in planted.NAMES
    if target == "gfx90a" or name not in OF_GCN
]


def _place(finding: dict) -> tuple:
    other = finding["other"]
    told = (finding[key] for key in ("kind", "pc", "wave", "lane", "count"))
    # Arrays of memory are elsewhere each time.
    return *told, finding["message"].split(" at 0x")[0], other["pc"] if other else None


def _found(name: str, target: str, strict: list[str]) -> list[tuple]:
    module = lt.Device(target, threads=1).load(planted.build(name, target))
    blocks = 2 if name == "race_memory" else 1
    words = module.device.empty(128, np.uint32) if planted.is_fresh(name) else np.zeros(128, np.uint32)
    findings = module.run("planted", blocks=blocks, block=128, args=[words], strict=strict).findings
    return sorted(map(_place, findings), key=repr)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_a_kind_alone_finds_what_all_kinds_find_of_it(name, target):
    together = _found(name, target, ["all"])
    assert together or target != "gfx90a"
    for kind in lt.finding_kinds():
        assert _found(name, target, [kind]) == [found for found in together if found[0] == kind], kind


def test_a_missing_wait_before_a_barrier_is_found_by_its_kind_alone():
    together = _found("missing_wait", "gfx90a", ["all"])
    alone = _found("missing_wait", "gfx90a", ["missing-wait"])
    assert alone and alone == [found for found in together if found[0] == "missing-wait"]


def test_all_is_every_kind():
    every = lt.finding_kinds()
    assert _found("undefined_lds", "gfx90a", ["all"]) == _found("undefined_lds", "gfx90a", every)
    assert _found("undefined_lds", "gfx90a", ["all", "hazard"]) == _found("undefined_lds", "gfx90a", every)
    done = cli.luthier(*planted.command("race_lds"), "--strict=all")
    assert done.returncode == 1 and "lds-race" in done.stdout + done.stderr
