"""In which order waves take turns, from Python and on the command line."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from cli import fails, luthier

import luthier as lt

# One wave writes late what the other one reads soon.
SOURCE = """
KERNEL early(volatile u32 *data, u32 *out) {
    u32 i = local_x() % 32;
    if (local_x() >= 32) {
        for (u32 k = 0; k < 100; k++) asm volatile("s_nop 0");
        out[i] = data[i];
    } else {
        for (u32 k = 0; k < 300; k++) asm volatile("s_nop 0");
        data[i] = i + 1;
    }
}
"""


@pytest.mark.parametrize("target", ("gfx1100", "gfx1201"))
def test_schedules(target: str) -> None:
    module = lt.Device(target).load(compiled.build(SOURCE, target))

    def out(schedule):
        args = [np.zeros(32, np.uint32), np.zeros(32, np.uint32)]
        module.run("early", grid=64, block=64, args=args, schedule=schedule)
        watched = [np.zeros(32, np.uint32), np.zeros(32, np.uint32)]
        module.trace("early", grid=64, block=64, args=watched, schedule=schedule)
        np.testing.assert_array_equal(watched[1], args[1])
        return args[1].tolist()

    written = list(range(1, 33))
    assert out(None) == out("fair") == written
    assert out("alternate") == [0] * 32
    random = [out(f"random:{seed}") for seed in range(12)]
    assert [0] * 32 in random and random == [out(f"random:{seed}") for seed in range(12)]
    with pytest.raises(lt.ArgumentError, match='schedule: "often" is no schedule: fair, alternate, random:SEED, pct:SEED'):
        out("often")


# All waves read what the first one then writes, with no barrier in between.
READ_IN_TIME = """
KERNEL in_time(u32 *out, u32 n) {
    volatile LDS u32 shared;
    u32 i = local_x(), seen = 0;
    for (u32 round = 0; round < 3; round++) {
        if (i == 0) shared = 40 + round;
        barrier();
        if (i < n) {
            seen = seen * 100 + shared;
            if (i == 0) shared = 7;
        }
        barrier();
    }
    out[i] = seen;
}
"""


@pytest.mark.parametrize("target", ("gfx90a", "gfx1100", "gfx1201", "gfx1250"))
def test_waves_go_on_side_by_side_behind_a_barrier(target: str) -> None:
    module, out = lt.Device(target).load(compiled.build(READ_IN_TIME, target)), np.zeros(256, np.uint32)
    module.run("in_time", grid=256, block=256, args=[out, np.uint32(255)])
    assert out.tolist() == [404142] * 255 + [0]
    # It is a race nevertheless.
    strict = module.run("in_time", grid=256, block=256, args=[out, np.uint32(255)], strict=True)
    assert {finding["kind"] for finding in strict.findings} == {"lds-race"}


def test_on_the_command_line() -> None:
    path = compiled.build(SOURCE, "gfx1100")
    command = [
        "run",
        path,
        "--kernel",
        "early",
        "--grid",
        64,
        "--block",
        64,
        "--arg",
        "buf:u32[32]=zeros",
        "--arg",
        "buf:u32[32]=zeros",
    ]
    assert luthier(*command, "--schedule", "random:3").returncode == 0
    assert "is no schedule" in fails(*command, "--schedule", "random")
