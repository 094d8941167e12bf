"""What a user sees of an error in a hook: the hook, and the way through the user's own code."""

from __future__ import annotations

import traceback

import compiled
import numpy as np
import pytest

import luthier as lt


class Wrong(lt.Tool):
    """A hook that adds numbers of different types."""

    counts = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def add(counts: lt.ptr[lt.u64], a: lt.u32, b: lt.i32):
        counts[0] = lt.u64(a + b)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.counts, 1, 2)


def _shown(call) -> list[str]:
    with pytest.raises(lt.LuthierError) as raised:
        call()
    return "".join(traceback.format_exception(raised.type, raised.value, raised.tb)).splitlines()


@pytest.mark.parametrize(
    "call",
    [
        lambda code, args: lt.Device("gfx90a").load(code, tools=[Wrong()]),
        lambda code, args: lt.Device("gfx90a").run(code, "vecadd", blocks=1, block=64, args=args, tools=[Wrong()]),
        lambda code, args: lt.instrument(code, [Wrong()]),
    ],
    ids=["load", "run", "instrument"],
)
def test_a_hooks_error_shows_the_hook_and_the_users_calls_only(call):
    code = lt.CodeObject.open(compiled.code_object("vecadd"))
    lines = _shown(lambda: call(code, [None, None, None, np.uint32(0)]))
    text = "\n".join(lines)
    assert "u32 and i32 have no common type" in text and "counts[0] = lt.u64(a + b)" in text
    assert "in on_kernel" in text
    own = [line for line in lines if line.startswith("  File ") and "luthier/" in line and "tests" not in line]
    assert len(own) == 1, own
    assert len(lines) < 25


def test_an_argument_that_is_refused_shows_the_launch_only():
    module = lt.Device("gfx90a").load(compiled.code_object("vecadd"))
    lines = _shown(lambda: module.run("vecadd", blocks=1, block=64, args=[]))
    assert "takes 4 arguments" in lines[-1]
    assert len(lines) < 15
