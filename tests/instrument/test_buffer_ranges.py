"""``lt.access_in_range()`` and ``lt.Address()`` of accesses to buffers of every kind, before and after the instruction: what
hooks are told is what the mock device accesses in the same run. Resources are raw, strided, swizzled and such that add the
lane's number, bounded by each of the rules that the processor has."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, on_every_target

import luthier as lt

#: In the words of each generation: a load of one word and of two, and a wait for them.
WORDS = {
    "gfx9": ("dword", "dwordx2", "s_waitcnt vmcnt(0)"),
    "gfx10": ("dword", "dwordx2", "s_waitcnt vmcnt(0)"),
    "gfx11": ("b32", "b64", "s_waitcnt vmcnt(0)"),
    "gfx12": ("b32", "b64", "s_wait_loadcnt 0x0"),
}
SOURCE = """
typedef u32 words __attribute__((ext_vector_type(4)));
typedef u32 two __attribute__((ext_vector_type(2)));
KERNEL ranges(u32 *out, u32 *buffer, u32 high, u32 records, u32 flags, u32 soffset, u32 far) {
    u32 i = local_x(), sum = 0, x;
    two pair = {i / 4, i & 12}, both;
    words r = {(u32)(u64)buffer, (u32)((u64)buffer >> 32) | high, records, flags};
    u32 masked = i & 1 ? far : 4 * i;
    asm volatile("buffer_load_ONE %0, %1, %2, %3 offen\\nWAIT" : "=&v"(x) : "v"(masked), "s"(r), "s"(soffset)); sum += x;
    asm volatile("buffer_load_ONE %0, %1, %2, %3 offen offset:4\\nWAIT" : "=&v"(x) : "v"(4 * i), "s"(r), "s"(soffset)); sum += x;
    asm volatile("buffer_load_TWO %0, %1, %2, %3 offen\\nWAIT" : "=&v"(both) : "v"(4 * i), "s"(r), "s"(soffset)); sum += both.x;
    x = 4 * i;
    asm volatile("buffer_load_ONE %0, %0, %1, %2 offen\\nWAIT" : "+v"(x) : "s"(r), "s"(soffset)); sum += x;
INDEXED
    out[i] = sum;
}
"""
INDEXED = """
    asm volatile("buffer_load_ONE %0, %1, %2, %3 idxen\\nWAIT" : "=&v"(x) : "v"(i), "s"(r), "s"(soffset)); sum += x;
    asm volatile("buffer_load_ONE %0, %1, %2, %3 idxen offen\\nWAIT" : "=&v"(x) : "v"(pair), "s"(r), "s"(soffset)); sum += x;
    asm volatile("buffer_load_TWO %0, %0, %1, %2 idxen offen\\nWAIT" : "+v"(pair) : "s"(r), "s"(soffset)); sum += pair.x;
"""


def resources(target):
    """The upper half of the second word and the last word of resources, without their rules."""
    if target == "gfx1250":
        return [(0, 0)]
    gfx9 = target.startswith("gfx9")
    swizzle = 1 << 31 if target.startswith(("gfx9", "gfx10")) else 1 << 30
    flags = 0x27000 if gfx9 else 0
    rules = [0] if gfx9 else [rule << 28 for rule in range(4)]
    kinds = [(0, flags), (16 << 16, flags), (16 << 16 | swizzle, flags), (16 << 16, (0 if gfx9 else flags) | 1 << 23)]
    return [(high, low | rule) for high, low in kinds for rule in rules]


class Ranges(lt.Tool):
    """What is told of each lane at each access to the buffer: 1 above the address where it is made, else 0."""

    told = lt.DeviceArray(lt.u64, 16 * 64)

    def __init__(self):
        self.points = []

    @lt.hook
    def tell(told: lt.ptr[lt.u64], address: lt.u64):
        told[lt.lane_id()] = (address << 1) | lt.u64(lt.access_in_range())

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            if instr.memory_space == "buffer" and instr.opcode.startswith("buffer_load"):
                kernel.insert_before(instr, self.tell, self.told.at(128 * len(self.points)), lt.Address())
                kernel.insert_after(instr, self.tell, self.told.at(128 * len(self.points) + 64), lt.Address())
                self.points.append(instr)


@on_every_target
@pytest.mark.parametrize("records, soffset", [(0x1000, 0), (0x25, 12), (0, 0)])
def test_lanes_outside_of_a_buffer_are_told_from_those_inside(target, records, soffset):
    one, two, wait = WORDS["gfx9" if target[0].startswith("gfx9") else target[0][:5]]
    text = SOURCE.replace("INDEXED", "" if target[0] == "gfx1250" else INDEXED)
    text = text.replace("ONE", one).replace("TWO", two).replace("WAIT", wait)
    code, tool = lt.CodeObject.open(compiled.build(text, *target)), Ranges()
    module = instrumented(code, target, [tool])
    lanes, made, dropped = code.program.wavefront_size, 0, 0
    copies = {i.origin: i.address for i in module.loaded.program.instructions if not i.is_inserted}
    only = [copies[i.address] for i in tool.points]
    assert len(only) == (4 if target[0] == "gfx1250" else 7)
    for high, flags in resources(target[0]):
        # On gfx1250 the number of records begins above the base's 57 bits.
        count, above = (records >> 7, (records & 127) << 25) if target[0] == "gfx1250" else (records, 0)
        # Of lanes that Triton turns off the offset is this. Two of RDNA's rules do not look at offsets.
        far = 4 if not target[0].startswith("gfx9") and flags >> 28 & 3 in (1, 2) else 0x80000000
        args = [np.zeros(64, np.uint32), np.arange(1 << 14, dtype=np.uint32), high | above, count, flags, soffset, far]
        trace = module.trace("ranges", grid=lanes, block=lanes, args=args, events=["memory"], only=only)
        told = tool.told.read().reshape(-1, 2, 64)[: len(only), :, :lanes]
        for instr, (before, after) in zip(tool.points, told):
            where = f"{target} {high:#x} {flags:#x}: {instr.text}"
            np.testing.assert_array_equal(before, after, where)
            events = trace.memory[trace.memory["pc"] == copies[instr.address]]
            for lane, value in enumerate(before.tolist()):
                mine = events[events["lane"] == lane]
                if value & 1:
                    assert value >> 1 in mine["address"] and mine["size"].sum() >= instr.memory_width, (where, lane)
                else:
                    assert mine["size"].sum() < instr.memory_width, (where, lane)
                made, dropped = made + (value & 1), dropped + (not value & 1)
    assert dropped > 10 and (made > 10 or not records), (made, dropped)
