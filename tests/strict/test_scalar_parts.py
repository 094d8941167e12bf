"""Scalar loads of a byte or two bytes extend them: all of the register is defined, and nothing less."""

from __future__ import annotations

import hazard_oracle
import numpy as np
import pytest

import luthier as lt

LOADS = {"u8": (1, False), "i8": (1, True), "u16": (2, False), "i16": (2, True)}
START = ["s_load_b64 s[8:9], s[0:1], 0x0", "s_wait_kmcnt 0x0", "v_mov_b32 v1, 0", "s_mov_b32 s16, 20"]
#: A raw buffer of the same memory; gfx1250's has another descriptor.
BUFFER = ["s_mov_b32 s12, s8", "s_mov_b32 s13, s9", "s_mov_b32 s14, 0x4000", "s_mov_b32 s15, 0x27000"]


def stored(load: str) -> list[str]:
    return [load, "s_wait_kmcnt 0x0", "v_mov_b32 v2, s20", "global_store_b32 v1, v2, s[8:9]"]


def kernels(target: str) -> dict[str, list[str]]:
    made = {}
    for part in LOADS:
        made[part] = [*START, *stored(f"s_load_{part} s20, s[8:9], 0x14")]
        made[f"{part}_register"] = [*START, *stored(f"s_load_{part} s20, s[8:9], s16 offset:0x0")]
        if target != "gfx1250":
            made[f"{part}_buffer"] = [*START, *BUFFER, *stored(f"s_buffer_load_{part} s20, s[12:15], 0x14")]
    return made


@pytest.mark.parametrize("target", ["gfx1200", "gfx1201", "gfx1250"])
def test_what_they_bring_is_defined_and_extended(target, tmp_path):
    made = kernels(target)
    module = lt.Device(target).load(lt.CodeObject.open(hazard_oracle.assemble(made, target, 32, tmp_path)))
    for name in made:
        data = np.full(4096, 0x8384_8586, np.uint32)
        result = module.run(name, grid=32, block=32, args=[data], strict=["undefined-register"])
        size, signed = LOADS[name.partition("_")[0]]
        value = 0x8586 & (1 << 8 * size) - 1
        wanted = value - (1 << 8 * size) if signed else value
        assert (not result.findings, int(data[0])) == (True, wanted & 0xFFFF_FFFF), (name, result.findings)


@pytest.mark.parametrize("target", ["gfx1201", "gfx1250"])
def test_what_is_not_loaded_stays_undefined(target, tmp_path):
    made = {
        "k": [*START, "s_load_u16 s20, s[8:9], 0x14", "s_wait_kmcnt 0x0", "v_mov_b32 v2, s21", "global_store_b32 v1, v2, s[8:9]"]
    }
    module = lt.Device(target).load(lt.CodeObject.open(hazard_oracle.assemble(made, target, 32, tmp_path)))
    result = module.run("k", grid=32, block=32, args=[np.ones(4096, np.uint32)], strict=["undefined-register"])
    assert [f["kind"] for f in result.findings] == ["undefined-register"]
