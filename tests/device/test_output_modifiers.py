"""Output modifiers behind conversions that keep denormals: the factor comes first, then denormals are flushed."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.assembly import SCALARS, Trial
from conformance.device import Batch
from conformance.targets import TARGETS

# Instruction, operand, result of mul:2 and of div:2; MODE flushes all denormals and IEEE is off.
CASES = [
    ("v_cvt_f32_bf16_e64 v5, v4", 0x007F, 0x00FE0000, 0),
    ("v_cvt_f32_bf16_e64 v5, v4", 0x8001, 0, 0),
    ("v_cvt_f32_bf16_e64 v5, v4", 0x0080, 0x01000000, 0),
    ("v_cvt_pk_f16_f32 v5, v4, v4", 0x387FC000, 0x07FE07FE, 0),
    ("v_cvt_pk_f16_f32 v5, v4, v4", 0x38800000, 0x08000800, 0),
]


@pytest.mark.parametrize("text,value,doubled,halved", CASES)
def test_factor_before_flush(text: str, value: int, doubled: int, halved: int) -> None:
    trials = [Trial(f"{text} {factor}", [f"{text} {factor}"], [4], [5]) for factor in ("mul:2", "div:2")]
    batch = Batch(TARGETS["gfx950"], trials)
    scalars = np.zeros((1, 16), np.uint32)
    scalars[:, SCALARS["EXEC"] : SCALARS["EXEC"] + 2] = 0xFFFFFFFF
    for trial, want in zip(trials, (doubled, halved)):
        _, got = batch.run(trial, scalars, np.full((1, 1, 64), value, np.uint32))
        assert set(got.flat) == {want}, trial.name
