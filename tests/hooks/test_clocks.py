"""``lt.clock()`` and ``lt.realtime()``: 64 bits that go on, within a hook, a wave and from launch to launch."""

from __future__ import annotations

import time

import compiled
import numpy as np
from instrumented import instrumented, on_every_target

import luthier as lt

SOURCE = "KERNEL k(u32 *p) { u32 i = global_x(); for (u32 n = 0; n < 50; n++) p[i] = p[i] * 3 + n; }"
#: A counter of 20 bits comes round in this time.
ROUND = (1 << 20) / 1e9


class Clocks(lt.Tool):
    """The clocks at each instruction of a wave: how often one went back, and the first and the last count."""

    counts = lt.DeviceArray(lt.u64, 8)

    @lt.hook
    def look(counts: lt.ptr[lt.u64]):
        now = lt.clock()
        time = lt.realtime()
        if now < counts[1] or time < counts[3] or lt.clock() < now or lt.realtime() < time:
            counts[4] += 1
        if counts[0] == 0:
            counts[0] = now
            counts[2] = time
        counts[1] = now
        counts[3] = time
        counts[5] += 1

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.look, self.counts)


@on_every_target
def test_clocks_go_on_and_do_not_come_round(target):
    code, tool = lt.CodeObject.open(compiled.build(SOURCE, *target)), Clocks()
    module = instrumented(code, target, [tool])
    lanes = code.program.wavefront_size
    begun = time.perf_counter()
    for _ in range(3):
        result = module.run("k", grid=lanes, block=lanes, args=[np.zeros(lanes, np.uint32)], strict=True)
        assert not [f for f in result.findings if f["original_pc"] is None], result.findings[:1]
        time.sleep(2 * ROUND)
    seconds = time.perf_counter() - begun
    first, last, start, end, back, looked = tool.counts.read().tolist()[:6]
    assert looked > 30 and back == 0
    # Real time has 100 MHz; no processor's cycles are fewer, or many more.
    ticks = end - start
    assert 4 * ROUND * 1e8 <= ticks <= seconds * 1e8
    assert last - first >= 5 * ticks
