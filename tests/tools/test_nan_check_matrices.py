"""What ``nan_check`` tells of matrix operations is what NumPy makes of the matrices: how many NaNs and infinities an operation makes, and of the
first one its row, column and block, what it is the sum of, and which of that is the reason."""

from __future__ import annotations

import numpy as np
import pytest
from matrix_cases import OPERATIONS, Case, Kernel, special

import luthier as lt

#: What the tries plant: in A or B (an infinity that meets zeros, a NaN, large numbers), in C, in the scales.
TRIES = ("nothing", "infinite a", "infinite b", "nan a", "nan b", "large", "infinite c", "nan c", "nan scale a", "nan scale b")


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_row_column_and_reason_are_those_of_the_matrices(operation):
    kernel = Kernel(operation)
    rng = np.random.default_rng(sum(map(ord, str(operation))))
    instruction = next(i for i in kernel.code.instructions if i.is_matrix)
    address = f"{instruction.address:#x}"
    seen = {"made": 0, "taken": 0}
    for what in TRIES:
        case = Case(operation, what, rng)
        if not case.is_planted:
            continue
        given = (case.a, case.b, case.c, case.index, case.scales)
        plain, _ = kernel.run(*given)
        result = kernel.result(plain)
        if what == "nothing":
            # The layouts of this test are those of the device.
            np.testing.assert_allclose(result, case.result, rtol=2e-2, atol={"f16": 0.3, "bf16": 3}.get(operation.kind, 1e-4))
            continue
        if what != "large":  # there the order of the sum decides
            np.testing.assert_array_equal(np.isnan(result), np.isnan(case.result))
        case.result_there = result
        words, did = kernel.run(*given, tools=[lt.tools.load("nan_check")])
        assert words.tobytes() == plain.tobytes() and did.findings == []
        told = did.tools["nan_check"]
        assert told["not seen"] == []
        made = np.isnan(result) & case.is_number | np.isinf(result) & case.is_finite
        taken = np.isnan(result) & ~case.is_number
        found = told["found"].get(address, {"nan": 0, "infinite": 0, "made": 0})
        counts = (found["nan"], found["infinite"], found["made"])
        assert counts == (np.isnan(result).sum(), np.isinf(result).sum(), made.sum()), what
        for name, where in (("made", made), ("taken", taken)):
            firsts = [one for one in told[name] if one["address"] == address]
            assert len(firsts) == where.any(), (what, name)
            for first in firsts:
                seen[name] += 1
                check_first(case, kernel, first, where)
    assert seen["taken"] > 0
    # What has neither infinities nor scales, and a sum with room for all, makes none.
    can_make = operation.kind != "f32" or operation.scale_block or any(special(k, "infinite") for k in operation.kinds)
    assert (seen["made"] > 0) == bool(can_make)


def check_first(case: Case, kernel: Kernel, first: dict, where: np.ndarray) -> None:
    row, column, block = [*first["element"], 0][:3]
    at = (block, row, column)
    assert len(first["element"]) == (3 if case.operation.shape[3] > 1 else 2)
    assert where[at] and (row, column, block) in [place for (lane, *_), place in kernel.results.items() if lane == first["lane"]]
    assert first["value"] == f"{case.result_there[at]:g}"
    shown = [[f"{v:g}" for v in side[at]] for side in (case.row, case.column)]
    assert first["operands"] == [*shown, f"{case.c[at]:g}"]
    places, is_of_c = case.expected_reason(*at)
    of = first["of"]
    expected = [{"k": int(case.k[at][n]), "a": shown[0][n], "b": shown[1][n]} for n in places]
    if case.scale_a is not None:
        for one, n in zip(expected, places):
            one |= {"scale_a": f"{case.scale_a[0, row, 0, n]:g}", "scale_b": f"{case.scale_b[0, 0, column, n]:g}"}
    assert of["products"] == expected
    assert of["accumulator"] == (f"{case.c[at]:g}" if is_of_c else None)
