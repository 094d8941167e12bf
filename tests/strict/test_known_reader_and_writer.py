"""A word that the wave's workgroup is known to have been told of, by its last writer and by a reader as well.

Strict mode asked about the one and the other in turns, for ever, and neither the watchdog nor Ctrl-C ended it: so the launches run
in processes of their own.
"""

from __future__ import annotations

import sys

import compiled
import pytest
import timed

SOURCE = """
// Workgroups take turns; the first one reads the tile before it writes it.
KERNEL turns(u32 *tile, u32 *turn, u32 *out) {
    u32 t = local_x(), me = group_x();
    if (t == 0)
        while (__hip_atomic_load(turn, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != me)
            __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    if (me == 0)
        out[t] = tile[t];
    tile[t] = me + 1;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_s_barrier();
    if (t == 0)
        __hip_atomic_store(turn, me + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
"""

LAUNCH = """
import sys
import numpy as np
import luthier as lt

path, target = sys.argv[1:]
tile, turn, out = np.zeros(128, np.uint32), np.zeros(1, np.uint32), np.zeros(128, np.uint32)
launch = {"blocks": 2, "block": 128, "args": [tile, turn, out]}
result = lt.Device(target, threads=1).run(path, "turns", strict=["memory-race"], **launch)
assert (tile == 2).all() and turn[0] == 2, (tile, turn)
assert not result.findings, result.findings
"""


@pytest.mark.parametrize("target", ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1201", "gfx1250"))
def test_both_are_asked_about_once(target: str) -> None:
    path = compiled.build(SOURCE, target)
    done = timed.run([sys.executable, "-c", LAUNCH, path, target], 300)
    assert done.returncode == 0, done.stderr
