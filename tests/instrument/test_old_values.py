"""``lt.Old``: what a register held before an instruction, whatever the instruction does to lanes, addresses and calls."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, on_every_target, places

import luthier as lt

#: v9 holds the work-item id in all lanes; few lanes are on for a moment.
LANES = """
KERNEL lanes(u32 *out) {
    u32 i = local_x();
    asm volatile("v_mov_b32 v9, %0\\ns_nop 1" :: "v"(i) : "v9");
    asm volatile("s_mov_bN s[20:21], exec\\ns_mov_bN exec, 5\\ns_nop 2\\ns_or_bN exec, exec, s[20:21]" ::: "s20", "s21", "scc");
    asm volatile("s_mov_b32 s25, 0x1234\\ns_cmp_eq_u32 0, 0\\ns_getpc_b64 s[22:23]\\ns_cselect_b32 s24, 7, 9\\nv_mov_b32 %0, s24"
                 : "=v"(i) :: "s22", "s23", "s24", "s25", "scc");
    out[local_x()] = i;
}
"""


class Keeps(lt.Tool):
    """One hook behind the instructions that a test chooses."""

    seen = lt.DeviceArray(lt.u64, 64)

    def __init__(self, choose, *args):
        self.choose, self.args = choose, args

    @lt.hook
    def keep(seen: lt.ptr[lt.u64], old: lt.u32, now: lt.u32):
        seen[lt.lane_id()] = (lt.u64(old) << 32) | now

    def on_kernel(self, kernel):
        for instr in filter(self.choose, kernel.instructions):
            kernel.insert_after(instr, self.keep, self.seen, *self.args)


def of(target):
    """The kernel's code. Waves of 32 have half of EXEC."""
    text = LANES.replace("_bN", "_b64")
    if target[0].startswith("gfx1") and not target[1]:
        text = LANES.replace("_bN", "_b32").replace("s[20:21]", "s20").replace("exec", "exec_lo")
    return lt.CodeObject.open(compiled.build(text, *target))


def run(target, choose, *args):
    """What the hook has seen in each lane, old value above the new one."""
    code, tool, out = of(target), Keeps(choose, *args), np.zeros(64, np.uint32)
    lanes = code.program.wavefront_size
    instrumented(code, target, [tool]).run("lanes", grid=lanes, block=lanes, args=[out])
    assert out[:lanes].tolist() == [7] * lanes
    return tool.seen.read()[:lanes]


@on_every_target
def test_lanes_that_an_instruction_turns_on_have_their_old_values(target):
    v9 = lt.Reg("v9")
    seen = run(target, lambda i: i.opcode.startswith("s_or_b"), lt.Old(v9), v9)
    ids = np.arange(len(seen), dtype=np.uint64)
    np.testing.assert_array_equal(seen, ids << np.uint64(32) | ids)


@on_every_target
def test_an_old_value_is_kept_where_the_program_counter_is_read(target):
    seen = run(target, lambda i: "getpc" in i.flags and "s[22:23]" in i.text, lt.Old(lt.Reg("s25")), lt.Reg("s25"))
    np.testing.assert_array_equal(seen, np.full(len(seen), 0x1234_0000_1234, np.uint64))


#: Loads, an atomic and sums that leave their results where what they read was.
OVERWRITTEN = """
LDS u32 shared[64];
KERNEL over(const u32 *in, u32 *out, u32 n) {
    u32 i = local_x(), s = n;
    u64 at = (u64)(in + i), v;
    shared[i] = i;
    barrier();
    asm volatile("s_add_u32 %0, %0, 0x11" : "+s"(s) :: "scc");
    v = *(const u32 *)at;
    u32 w = shared[(u32)v & 31];
    asm volatile("v_add_u32 %0, %0, %0" : "+v"(w));
    out[i] = w + s + shared[w & 31];
}
"""


class Overwritten(lt.Tool):
    """Each instruction's sources and addresses, before it and after it."""

    seen = lt.DeviceArray(lt.u64, 2 * 64 * 128)

    def __init__(self):
        self.points = []

    @lt.hook
    def word(seen: lt.ptr[lt.u64], value: lt.u32):
        seen[lt.lane_id()] = value

    @lt.hook
    def long(seen: lt.ptr[lt.u64], value: lt.u64):
        seen[lt.lane_id()] = value

    def put(self, kernel, instr, hook, argument):
        number = 2 * len(self.points)
        self.points.append(f"{instr.text}: {argument}")
        kernel.insert_before(instr, hook, self.seen.at(64 * number), argument)
        kernel.insert_after(instr, hook, self.seen.at(64 * (number + 1)), argument)

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            for n in range(instr.access_count or 0):
                self.put(kernel, instr, self.long, lt.Address(n))
            for operand in instr.operands if instr.falls_through and not instr.is_wait else []:
                if operand.kind == "register" and operand.units in (1, 2) and not operand.is_written and len(self.points) < 120:
                    self.put(kernel, instr, self.word if operand.units == 1 else self.long, operand)


@on_every_target
def test_sources_and_addresses_are_the_same_before_and_after_their_instruction(target):
    text = OVERWRITTEN if target[0].startswith("gfx9") else OVERWRITTEN.replace("v_add_u32", "v_add_nc_u32")
    code, tool = lt.CodeObject.open(compiled.build(text, *target)), Overwritten()
    lanes = code.program.wavefront_size
    values, out = np.arange(lanes, dtype=np.uint32) * 7, np.zeros(lanes, np.uint32)
    instrumented(code, target, [tool]).run("over", grid=lanes, block=lanes, args=[values, out, np.uint32(9)], strict=True)
    np.testing.assert_array_equal(out, 2 * (values & 31) + 9 + 0x11 + (2 * (values & 31) & 31))
    seen = tool.seen.read().reshape(-1, 2, 64)[: len(tool.points)]
    assert len(tool.points) > 20 and seen[:, 0].any(axis=1).sum() > 15
    for what, (before, after) in zip(tool.points, seen):
        np.testing.assert_array_equal(before, after, what)


def test_an_old_value_that_finds_no_register_is_rejected_once():
    class Olds(lt.Tool):
        seen, wanted = lt.DeviceArray(lt.u64, 64), 0

        @lt.hook
        def keep(seen: lt.ptr[lt.u64], a: lt.u64, b: lt.u64, c: lt.u64, d: lt.u64, e: lt.u64, f: lt.u64, g: lt.u64, h: lt.u64):
            seen[lt.lane_id()] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h

        def on_kernel(self, kernel):
            for instr in kernel.instructions:
                if instr.is_valu:
                    olds = [lt.Old(lt.Reg(f"v[{n}:{n + 1}]")) for n in range(16, 32, 2)]
                    kernel.insert_after(instr, self.keep, self.seen, *olds)
                    self.wanted += 1

    target, tool = ("gfx906", ()), Olds()
    code = lt.CodeObject.open(compiled.build(FULL, *target))
    report = lt.instrument(code, [tool], on_rejected="report").instrumentation
    addresses = [r["address"] for r in report["rejected"] if r["kind"] == "old_value"]
    assert addresses and len(addresses) == len(set(addresses))
    assert report["points"] + len(report["rejected"]) == tool.wanted


#: A workgroup of 1,024 leaves each lane 64 VGPRs, all of which are in use.
FULL = (
    "KERNEL __attribute__((amdgpu_flat_work_group_size(1024, 1024))) full(u32 *out) { u32 i = local_x(), v[62];\n"
    + "".join(f"v[{n}] = out[i + {64 * n}];\n" for n in range(62))
    + 'asm volatile("" ::: "memory");\n'
    + "".join(f"v[{n}] = v[{n}] * v[{(n + 1) % 62}] + v[{(n * 7) % 62}];\n" for n in range(62))
    + "".join(f"out[i + {64 * n}] = v[{n}];\n" for n in range(62))
    + "}"
)


def test_what_nothing_keeps_or_the_kernel_does_not_have_is_refused():
    target = ("gfx90a", ())
    tool = Keeps(lambda i: i.is_call, lt.Old(lt.Reg("v0")), lt.Reg("v0"))
    with pytest.raises(lt.RejectedError, match="nothing keeps the value that v0 had before s_swappc_b64") as caught:
        instrumented(places(target), target, [tool])
    assert {r["kind"] for r in caught.value.rejected} == {"old_over_call"}
