"""The mock device against the pseudocode of AMD's manuals: every entry of the table, on every target that has it.

A sample of operands, modes and modifiers; LUTHIER_CONFORMANCE_WAVES=N tries all of them with N waves of operands each,
LUTHIER_CONFORMANCE_SEED=N others.
"""

from __future__ import annotations

import dataclasses
import os
import re

import pytest
from conformance import families, salu, targets
from conformance.pcode.evaluate import Machine
from conformance.pcode.syntax import PcodeError
from conformance.pcode.values import make

from luthier import _core

WAVES = int(os.environ.get("LUTHIER_CONFORMANCE_WAVES", "0"))
SEED = int(os.environ.get("LUTHIER_CONFORMANCE_SEED", "1"))
#: What the device refuses by name: an opcode that it has once known is not to join.
NOTHING = re.compile("(?!)")
REFUSALS = dict.fromkeys(("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030"), NOTHING) | {
    # Ray tracing.
    "gfx1100": re.compile(r"DS\.DS_BVH_STACK_RTN_B32"),
    # And an ordered counter.
    "gfx1201": re.compile(r"DS\.DS_BVH_STACK_\w+|VGLOBAL\.GLOBAL_ATOMIC_ORDERED_ADD_B64"),
    "gfx1250": NOTHING,
}
SUPPORTED = [name for name in targets.TARGETS if name in _core.TARGETS and name in REFUSALS]


@pytest.mark.parametrize("family", families.FAMILIES)
@pytest.mark.parametrize("target", SUPPORTED)
def test_conformance(target: str, family: str) -> None:
    report = families.FAMILIES[family](targets.TARGETS[target], WAVES, SEED)
    wrong = [f"{o.name}: {o.different} of {o.compared}\n  " + "\n  ".join(o.differences) for o in report.differing]
    assert not wrong, "\n".join(wrong)
    assert not report.unaccounted, f"neither compared nor listed: {sorted(report.unaccounted)}"
    refused = {key for key, why in report.listed.items() if why == families.REFUSED}
    assert all(REFUSALS[target].fullmatch(key) for key in refused), f"refused, and not so far: {sorted(refused)}"
    ours = ("cannot be evaluated", "the assembler refuses", "the machine-readable")
    unknown = {key: why for key, why in report.listed.items() if why.startswith(ours)}
    assert not unknown, unknown


def test_evaluator_refuses_what_it_does_not_know() -> None:
    """An entry that cannot be evaluated is an error, never a comparison of nothing."""
    for text in ("D0.u32 = nonsense(S0.u32)", "D0.u32 = UNKNOWN.u32", "D0.u32 = S0.u32 +", "when S0 do"):
        with pytest.raises(PcodeError):
            Machine(1, {"S0": make("B", 32, [1]), "D0": make("B", 32, [0])}).run(text)


def test_evaluator_by_hand() -> None:
    """A few expressions whose values are plain to see."""
    machine = Machine(4, {"S0": make("B", 32, [0, 1, 0x80000000, 0xFFFFFFFF]), "D0": make("B", 32, [7])})
    machine.run(
        "tmp = 0; for i in 0 : 31 do if S0.u32[i] == 1'1U then tmp += 1 endif endfor;"
        "D0.i32 = S0.i32 < 0 ? 32'I(signext(S0.i8)) : tmp; SWAPPED.u32[31 : 0] = S0.u32[0 : 31]"
    )
    assert machine.variables["D0"].bits.tolist() == [0, 1, 0, 0xFFFFFFFF]
    assert machine.variables["SWAPPED"].bits.tolist() == [0, 0x80000000, 1, 0xFFFFFFFF]


def test_a_wrong_device_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a table that says another thing, the comparison fails."""
    target = targets.TARGETS["gfx90a"]
    wrong = tuple(
        dataclasses.replace(e, pseudocode="SCC = S0.i32 >= S1.i32; D0.i32 = S0.i32 - S1.i32") if e.name == "S_MIN_I32" else e
        for e in targets.entries("cdna")
    )
    monkeypatch.setattr(salu, "entries", lambda table: wrong)
    found = families.FAMILIES["scalar"](target, 0, SEED).differing
    assert [outcome.name.strip() for outcome in found] == ["SOP2.S_MIN_I32"]
