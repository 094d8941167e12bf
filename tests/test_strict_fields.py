"""Strict mode on bit fields of registers that are only partly defined, as code for halves of registers has them."""

from __future__ import annotations

import numpy as np
import pytest
from hazard_oracle import assemble

import luthier as lt

#: v3's low half is defined, the high one is not.
START = ["s_load_b64 s[4:5], s[0:1], 0x0", "v_lshlrev_b32 v1, 2, v0", "v_mov_b16 v3.l, v0.l", "s_waitcnt lgkmcnt(0)"]
STORE = "global_store_b32 v1, v2, s[4:5]"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("v_bfe_i32 v2, v3, 0, 16", False),
        ("v_bfe_u32 v2, v3, 3, 13", False),
        ("v_bfe_u32 v2, v3, 3, 14", True),
        ("v_bfe_i32 v2, v3, 16, 8", True),
        ("v_bfe_u32 v2, v3, v0, 4", True),
        ("v_bfrev_b32 v2, v3", True),
        ("v_bfrev_b32 v2, v3\nv_lshrrev_b32 v2, 16, v2", False),
        ("v_bfrev_b32 v2, v3\nv_lshrrev_b32 v2, 15, v2", True),
    ],
)
def test_a_field_is_what_it_takes(line: str, found: bool, tmp_path) -> None:
    path = assemble({"k": [*START, line, STORE]}, "gfx1100", 32, tmp_path)
    result = lt.Device("gfx1100").load(path).run("k", grid=32, block=32, args=[np.zeros(32, np.uint32)], strict=True)
    assert [finding["kind"] for finding in result.findings] == ["undefined-register"] * found
