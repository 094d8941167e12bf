"""What hooks are given, on every kind of processor, against the registers and accesses that the device shows of the plain
run; and what they may change."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, on_every_target

import luthier as lt

#: Instructions whose neighbourhood is known: a scalar one, a vector one, memory of several kinds.
SOURCE = """
LDS u32 shared[64];
KERNEL given(const u32 *in, u32 *out, u32 n) {
    u32 i = local_x(), x = in[i], s = n;
    shared[i ^ 1] = x;
    barrier();
    asm volatile("s_xor_b32 %0, %0, 0x1234" : "+s"(s) :: "scc");
    asm volatile("v_xor_b32 %0, 0x5a5a, %0" : "+v"(x));
    out[i] = x + s + shared[i];
}
"""
#: Room for one wave, which all these launches have.
LANES = 64
N = 0x77


def build(target):
    return lt.CodeObject.open(compiled.build(SOURCE, *target))


def run(module, watch=None, undefined=False):
    """A launch of one wave with buffers at known addresses: input, output, result or trace, and the addresses.

    ``undefined``: hooks look at registers that the kernel has not set.
    """
    core, lanes = module.device.core, module.code_object.program.wavefront_size
    values = np.arange(lanes, dtype=np.uint32) * np.uint32(0x01010101)
    source, sink = core.alloc(4 * lanes), core.alloc(4 * lanes)
    core.write(source, values.tobytes())
    sizes = {"grid": lanes, "block": lanes, "args": [source, sink, np.uint32(N)]}
    if watch is None:
        result = module.run("given", strict=True, **sizes)
        findings = [f for f in result.findings if not undefined or f["kind"] != "undefined-register"]
        assert findings == [], findings[:2]
    else:
        result = module.trace("given", **watch, **sizes)
    out = np.frombuffer(core.read(sink, 4 * lanes), np.uint32)
    return values, out, result, (source, sink)


def find(kernel, opcode, text=""):
    found = [i for i in kernel.instructions if i.opcode == opcode and text in i.text]
    return found[0]


class Given(lt.Tool):
    """Inserts what a test says, with an array for what hooks see."""

    seen = lt.DeviceArray(lt.u64, 8 * LANES)

    def __init__(self, insert):
        self.insert = insert

    @lt.hook
    def wave32(seen: lt.ptr[lt.u64], value: lt.u32):
        seen[0] = value

    @lt.hook
    def wave64(seen: lt.ptr[lt.u64], value: lt.u64):
        seen[0] = value

    @lt.hook
    def pair(seen: lt.ptr[lt.u64], a: lt.u32, b: lt.u32):
        seen[lt.lane_id()] = (lt.u64(b) << 32) | a

    @lt.hook
    def add(value: lt.inout[lt.u32], n: lt.u32):
        value += n

    def on_kernel(self, kernel):
        self.insert(self, kernel)


@on_every_target
def test_operands_by_position_and_their_old_values(target):
    code = build(target)
    kernel = code.kernel("given")
    xor = find(kernel, "v_xor_b32", "0x5a5a")
    scalar = find(kernel, "s_xor_b32", "0x1234")

    def insert(tool, kernel):
        x, constant, _ = xor.operands
        kernel.insert_before(xor, tool.pair, tool.seen, x, constant)
        kernel.insert_after(xor, tool.pair, tool.seen.at(LANES), x, lt.Old(x))
        s, _, literal = scalar.operands
        kernel.insert_before(scalar, tool.wave32, tool.seen.at(2 * LANES), s)
        kernel.insert_after(scalar, tool.wave32, tool.seen.at(2 * LANES + 1), s)
        kernel.insert_after(scalar, tool.wave32, tool.seen.at(2 * LANES + 2), lt.Old(s))
        kernel.insert_after(scalar, tool.wave32, tool.seen.at(2 * LANES + 3), literal)
        kernel.insert_after(scalar, tool.wave32, tool.seen.at(2 * LANES + 4), lt.Old(lt.Reg(str(s))))

    tool = Given(insert)
    values, out, _, _ = run(instrumented(code, target, [tool]))
    seen = tool.seen.read()
    before, after = seen[: len(values)], seen[LANES : LANES + len(values)]
    np.testing.assert_array_equal(before, values | np.uint64(0x5A5A << 32))
    np.testing.assert_array_equal(after, (values ^ np.uint64(0x5A5A)) | values.astype(np.uint64) << np.uint64(32))
    assert seen[2 * LANES : 2 * LANES + 5].tolist() == [N, N ^ 0x1234, N, 0x1234, N]
    np.testing.assert_array_equal(out, (values ^ np.uint32(0x5A5A)) + np.uint32(N ^ 0x1234) + values[np.arange(len(values)) ^ 1])


#: Registers by name, and how many 32-bit parts a parameter for them has.
SPECIAL = ("exec_lo", "vcc_lo", "m0", "scc", "mode", "exec", "vcc")


@on_every_target
def test_special_registers_are_as_the_device_has_them(target):
    code = build(target)
    xor = find(code.kernel("given"), "v_xor_b32", "0x5a5a")
    _, _, trace, _ = run(lt.Device(target[0]).load(code), {"snapshots": [xor.address]})
    registers = trace.snapshots[-1].registers
    wide = code.program.wavefront_size == 64

    def insert(tool, kernel):
        for k, name in enumerate(SPECIAL):
            hook = tool.wave64 if wide and name in ("exec", "vcc") else tool.wave32
            kernel.insert_before(xor, hook, tool.seen.at(k), lt.Reg(name))
        kernel.insert_before(xor, tool.wave32, tool.seen.at(len(SPECIAL)), lt.Reg("s5"))

    tool = Given(insert)
    run(instrumented(code, target, [tool]), undefined=True)
    got = dict(zip((*SPECIAL, "s5"), tool.seen.read().tolist()))
    word = 0xFFFFFFFF
    assert got["exec_lo"] == registers.exec & word and got["vcc_lo"] == registers.vcc & word
    assert got["exec"] == registers.exec and got["vcc"] == registers.vcc
    assert got["m0"] == registers.m0 and got["scc"] == registers.scc and got["mode"] == registers.mode
    assert got["s5"] == registers.sgprs[5]


#: Each gives the output a number that depends on a register which the hook has changed.
WRITING = """
KERNEL written(u32 *out) {
    u32 a, b, c, d, e;
    asm volatile("s_cmp_eq_u32 0, 0\\ns_cselect_b32 %0, 7, 9" : "=s"(a) :: "scc");
    asm volatile("s_mov_b32 vcc_lo, 0x1230\\ns_mov_b32 %0, vcc_lo" : "=s"(b) :: "vcc");
    asm volatile("s_mov_b32 m0, 0x770\\ns_mov_b32 %0, m0" : "=s"(c));
    asm volatile("s_mov_b32 s20, 0x4440\\ns_add_u32 %0, s20, 0" : "=s"(d) :: "s20", "scc");
    asm volatile("v_mov_b32 v9, 0x5550\\nv_xor_b32 %0, 0, v9" : "=v"(e) :: "v9");
    u32 i = local_x();
    out[i] = a; out[64 + i] = b; out[128 + i] = c; out[192 + i] = d; out[256 + i] = e;
}
"""


@on_every_target
def test_what_a_hook_writes_into_a_register_stays(target):
    code = lt.CodeObject.open(compiled.build(WRITING, *target))

    class Writing(Given):
        @lt.hook
        def flip(scc: lt.inout[lt.u32]):
            scc ^= 1

        def on_kernel(self, kernel):
            at = {}
            for instr in kernel.instructions:
                sources = [str(o) for o in instr.operands if o.is_read]
                at.setdefault((instr.opcode, *sources), instr)
            kernel.insert_before(at["s_cselect_b32", "7", "9"], self.flip, lt.Reg("scc"))
            kernel.insert_before(at["s_mov_b32", "vcc_lo"], self.add, lt.Reg("vcc_lo"), 1)
            kernel.insert_before(at["s_mov_b32", "m0"], self.add, lt.Reg("m0"), 2)
            for instr in kernel.instructions:
                names = [str(o) for o in instr.operands]
                if "s20" in names[1:]:
                    kernel.insert_before(instr, self.add, lt.Reg("s20"), 3)
                if "v9" in names[1:]:
                    kernel.insert_before(instr, self.add, lt.Reg("v9"), 4)

    # What stands in inline assembly, LLVM does not look at: the plain run on RDNA4 has findings, too.
    plain, out = lt.Device(target[0]).load(code), np.zeros(320, np.uint32)
    sizes = {"grid": 64, "block": 64, "args": [out], "strict": True}
    known = {(f["kind"], f["pc"]) for f in plain.run("written", **sizes).findings}
    result = instrumented(code, target, [Writing(None)]).run("written", **sizes)
    assert {(f["kind"], f["original_pc"]) for f in result.findings} <= known
    assert out.reshape(5, 64).tolist() == [[n] * 64 for n in (9, 0x1231, 0x772, 0x4443, 0x5554)]


class Accesses(Given):
    """Every memory access: each lane's address, and what is said of the instruction."""

    out = lt.DeviceArray(lt.u64, LANES * 16)
    facts = lt.DeviceArray(lt.u64, 8 * 16)

    @lt.hook
    def note(out: lt.ptr[lt.u64], facts: lt.ptr[lt.u64], address: lt.u64, width: lt.u32, kind: lt.u32, way: lt.u32, pc: lt.u64,
             point: lt.u32):  # fmt: skip
        out[lt.lane_id()] = address
        facts[0] = width
        facts[1] = kind
        facts[2] = way
        facts[3] = pc
        facts[4] = point

    def on_kernel(self, kernel):
        self.points = {}
        found = [i for i in kernel.instructions if i.memory_space]
        for k, instr in enumerate(found):
            facts = (lt.Address(), lt.AccessWidth(), lt.AccessKind(), lt.AccessDirection(), lt.Pc(), lt.PointId())
            number = kernel.insert_before(instr, self.note, self.out.at(LANES * k), self.facts.at(8 * k), *facts)
            self.points[number] = instr


@on_every_target
def test_accesses_are_as_the_device_sees_them(target):
    code = build(target)
    plain = lt.Device(target[0]).load(code)
    _, _, trace, base = run(plain, {"events": ["memory"]})
    tool = Accesses(None)
    module = instrumented(code, target, [tool])
    _, _, _, moved = run(module)
    assert len(tool.points) >= 5 and {i.memory_space for i in tool.points.values()} >= {"lds", "global"}
    facts, compared = tool.facts.read().reshape(-1, 8), set()
    for k, (number, instr) in enumerate(tool.points.items()):
        ways = instr.is_load + 2 * instr.is_store
        names = ["flat", "global", "scratch", "lds", "gds", "buffer", "image"]
        kind = names.index(instr.memory_space)
        assert facts[k].tolist()[:5] == [instr.memory_width, kind, ways, instr.address, number], instr
        events = trace.memory[trace.memory["pc"] == instr.address]
        if len(events) > 1:  # of each lane, not a scalar access
            got = tool.out.read()[LANES * k : LANES * (k + 1)]
            shift = 0 if instr.memory_space == "lds" else moved[instr.is_store] - base[instr.is_store]
            by_lane = {int(e["lane"]): int(e["address"]) + shift for e in events}
            assert {lane: int(got[lane]) for lane in by_lane} == by_lane, instr
            compared.add(instr.memory_space)
    assert compared == {"lds", "global"}


def test_a_symbol_of_the_application_is_passed_by_address():
    code = lt.CodeObject.open(compiled.code_object("pair"))
    (symbol,) = [s["name"] for s in code.inspect()["symbols"] if s["kind"].lower() == "object" and not s["name"].endswith(".kd")][
        :1
    ]

    class Reads(lt.Tool):
        seen = lt.DeviceArray(lt.u64, 2)

        @lt.hook
        def read(seen: lt.ptr[lt.u64], at: lt.ptr[lt.u32], address: lt.u64):
            seen[0] = at[0]
            seen[1] = address

        def on_kernel(self, kernel):
            if kernel.name == "publish":
                kernel.insert_at_entry(self.read, self.seen, lt.Symbol(symbol), lt.Symbol(symbol))

    tool = Reads()
    module = instrumented(code, ("gfx90a", ()), [tool])
    data = np.arange(256, dtype=np.uint32)
    module.run("accumulate", grid=256, block=256, args=[data, np.uint32(256)])
    total = int(module.read_symbol(symbol, "u4")[0])
    module.run("publish", grid=64, block=64, args=[np.zeros(1, np.uint32)])
    assert tool.seen[0] == total and total > 0
    assert tool.seen[1] == module._symbol(symbol)[0]


def test_an_array_of_one_number_is_that_number():
    code = build(("gfx90a", ()))
    place = find(code.kernel("given"), "v_xor_b32", "0x5a5a")

    def insert(tool, kernel):
        kernel.insert_before(place, tool.wave32, tool.seen, np.array(7))
        kernel.insert_before(place, tool.wave32, tool.seen.at(1), lt.Literal(np.array(8)))

    tool = Given(insert)
    run(instrumented(code, ("gfx90a", ()), [tool]))
    assert tool.seen[:2].tolist() == [7, 8]


def test_what_cannot_be_given_is_refused_when_it_is_inserted():
    def inserting(hook, *args):
        def insert(tool, kernel):
            kernel.insert_before(
                find(kernel, "v_xor_b32", "0x5a5a"), getattr(tool, hook), *(tool.seen if a == "seen" else a for a in args)
            )

        lt.instrument(build(("gfx90a", ())), [Given(insert)])

    cases = [
        ("wave32", ("seen", lt.Reg("v99")), "there is no v99: the kernel given has"),
        ("wave32", ("seen", lt.Reg("s99")), "there is no s99: the kernel given has"),
        ("wave32", ("seen", lt.Reg("a9")), "there is no a9: the kernel given has"),
        ("wave32", ("seen", lt.Symbol("absent")), "something else than an address"),
        ("wave64", ("seen", lt.Symbol("absent")), "defines no symbol of that name"),
        ("wave32", ("seen", lt.Address()), "give it to an lt.u64"),
        ("wave32", ("seen", lt.Pc()), "give it to an lt.u64"),
        ("add", (lt.Literal(4), 1), "a register"),
        ("add", (lt.Old(lt.Reg("v0")), 1), "has gone"),
        ("wave32", ("seen", lt.Old(5)), "lt.Old of a register or an operand"),
    ]
    for hook, args, why in cases:
        with pytest.raises(lt.LuthierError, match=why) as caught:
            inserting(hook, *args)
        assert "\n" not in str(caught.value)
    for name in ("x5", "v[3:1]", "v1024", "s106", "s3.l", "vccx", "", "ttmp16"):
        with pytest.raises(lt.ArgumentError, match="is not a register"):
            lt.Reg(name)


def test_many_numbers_of_a_hook_are_compiled_once():
    """4,000 different numbers at 4,000 points."""
    body = "\n".join(f'    asm volatile("s_nop {k % 4}");' for k in range(4000))
    code = lt.CodeObject.open(compiled.build(f"KERNEL many(u32 *out) {{\n{body}\n}}", "gfx90a", level="O1"))

    class Sum(lt.Tool):
        total = lt.Counter()

        @lt.hook
        def add(total: lt.counter, n: lt.u32):
            total += n

        def on_kernel(self, kernel):
            for k, instr in enumerate(i for i in kernel.instructions if i.opcode == "s_nop"):
                kernel.insert_before(instr, self.add, self.total, k)

    tool = Sum()
    module = instrumented(code, ("gfx90a", ()), [tool])
    result = module.run("many", grid=64, block=64, args=[np.zeros(1, np.uint32)])
    nops = result.app_histogram["s_nop"]
    assert nops >= 4000 and int(tool.total) == nops * (nops - 1) // 2


#: Registers that hardware sets, or does not, by processor; of its workgroup's ids the kernel takes the first.
SET = {
    "gfx942": {"flat_scratch"},
    "gfx1100": {"flat_scratch"},
    "gfx1201": {"flat_scratch", "ttmp8", "ttmp9"},
    "gfx1250": {"flat_scratch", "ttmp6", "ttmp8", "ttmp9"},
}
GROUPS = "KERNEL groups(u32 *out) { u32 i = local_x(); out[global_x()] = i; }"


@on_every_target
def test_registers_that_nothing_sets_are_refused_by_name(target):
    code = lt.CodeObject.open(compiled.build(GROUPS, *target))
    names = [*(f"ttmp{n}" for n in range(16)), "flat_scratch", "xnack_mask"]
    given = {}

    class One(lt.Tool):
        seen = lt.DeviceArray(lt.u64, 8)

        def __init__(self, name):
            self.name = name

        @lt.hook
        def word(seen: lt.ptr[lt.u64], group: lt.u32, value: lt.u32):
            lt.wave_atomic_add(seen + (value & 7), 1)

        @lt.hook
        def pair(seen: lt.ptr[lt.u64], value: lt.u64):
            lt.wave_atomic_add(seen, value)

        def on_kernel(self, kernel):
            first = kernel.instructions[0]
            if self.name.startswith("ttmp"):
                kernel.insert_before(first, self.word, self.seen, 0, lt.Reg(self.name))
            else:
                kernel.insert_before(first, self.pair, self.seen, lt.Reg(self.name))

    for name in names:
        tool = One(name)
        try:
            module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
        except lt.RejectedError as error:
            assert {r["kind"] for r in error.rejected} == {"not_set"} and "never does" in str(error), error
        except lt.ToolError as error:
            assert name == "xnack_mask" and "has no XNACK_MASK" in str(error), error
        else:
            module.run("groups", blocks=6, block=32, args=[np.zeros(6 * 32, np.uint32)])
            given[name] = tool.seen.read().tolist()
    assert set(given) == SET.get(target[0], set())
    if "ttmp9" in given:
        assert given["ttmp9"] == [1] * 6 + [0, 0]


def test_what_a_kernel_names_it_has():
    """An allocation of SGPRs ends with VCC and what else the code uses; what comes before that has numbers."""
    source = """KERNEL many(u32 *out) {
        u32 a, b;
        asm volatile("s_mov_b32 s10, 5\\ns_mov_b32 %0, s10" : "=s"(a) :: "s10");
        asm volatile("v_mov_b32 v9, 7\\nv_mov_b32 %0, v9" : "=v"(b) :: "v9");
        out[local_x()] = a + b;
    }"""
    for target in ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1250"):
        code = lt.CodeObject.open(compiled.build(source, target))
        has = code.named_registers("many")
        descriptor = code.descriptor("many")
        assert 10 < has["s"] <= min(descriptor.sgpr_count, 106) and 9 < has["v"] <= descriptor.vgpr_count, (target, has)

        class Sums(lt.Tool):
            seen = lt.DeviceArray(lt.u64, 16)

            @lt.hook
            def note(seen: lt.ptr[lt.u64], x: lt.u32):
                lt.wave_atomic_add(seen + (x & 15), 1)

            def on_kernel(self, kernel):
                behind = next(i for i in kernel.instructions if [str(o) for o in i.operands][1:] == ["s10"])
                kernel.insert_before(behind, self.note, self.seen, lt.Reg("s10"))
                if kernel.target.startswith("gfx9"):
                    with pytest.raises(lt.ToolError, match="there is no s105"):
                        kernel.insert_before(behind, self.note, self.seen, lt.Reg("s105"))
                with pytest.raises(lt.ToolError, match="there is no v255"):
                    kernel.insert_before(behind, self.note, self.seen, lt.Reg("v255"))

        tool = Sums()
        module = lt.Device(target).load(code, tools=[tool], check=True, on_rejected="raise")
        out = np.zeros(32, np.uint32)
        module.run("many", blocks=1, block=32, args=[out])
        assert out.tolist() == [12] * 32 and tool.seen.nonzero() == {5: 1}, target


class Pairs(Given):
    """What is said of accesses to two places, and of one."""

    seen = lt.DeviceArray(lt.u64, 64)

    @lt.hook
    def facts(seen: lt.ptr[lt.u64], count: lt.u32, all: lt.u32, width: lt.u32, kind: lt.u32, way: lt.u32):
        seen[0] = count
        seen[1] = all
        seen[2] = width
        seen[3] = kind
        seen[4] = way


PAIR = """
LDS u32 s[512];
KERNEL pair(GLOBAL u32 *o) {
    u32 t = local_x();
    s[t] = t; s[t + 256] = 2 * t;
    barrier();
    o[t] = s[t ^ 1] + s[(t ^ 1) + 200];
}
""".replace("GLOBAL ", "")


def test_accesses_to_two_places_are_told_by_number():
    code = lt.CodeObject.open(compiled.build(PAIR, "gfx90a"))
    pairs = [i for i in code.kernel("pair").instructions if i.access_count == 2]
    assert {i.opcode for i in pairs} >= {"ds_read2_b32"}
    assert all(i.access_count == 1 for i in code.kernel("pair").instructions if i.memory_space == "global")
    read = next(i for i in pairs if i.opcode.startswith("ds_read2"))

    def insert(tool, kernel):
        for n in range(2):
            facts = (lt.AccessCount(), lt.AccessWidth(), lt.AccessWidth(n), lt.AccessKind(n), lt.AccessDirection(n))
            kernel.insert_before(read, tool.facts, tool.seen.at(8 * n), *facts)

    tool = Pairs(insert)
    module = lt.Device("gfx90a").load(code, tools=[tool], on_rejected="raise", check=True)
    module.run("pair", blocks=1, block=64, args=[np.zeros(64, np.uint32)])
    for n in range(2):
        assert tool.seen.read()[8 * n : 8 * n + 5].tolist() == [2, 8, 4, lt.AccessKind.LDS, lt.AccessDirection.READ]
    for argument, kind in [(lt.Address(), "several_places"), (lt.Address(2), "no_place")]:

        def refused(tool, kernel, argument=argument):
            kernel.insert_before(read, tool.wave64, tool.seen, argument)

        with pytest.raises(lt.RejectedError, match="ds_read2_b32 accesses 2 place") as caught:
            lt.instrument(code, [Pairs(refused)], on_rejected="raise")
        assert [r["kind"] for r in caught.value.rejected] == [kind]
    for wrong in (-1, "x", 1.5, 256):
        with pytest.raises(lt.ArgumentError, match="numbered from 0"):
            lt.Address(wrong)


def test_a_device_function_may_ask_whether_an_access_is_in_range():
    @lt.device
    def outer(x: lt.u32) -> lt.u32:
        return inner(x) + 1

    @lt.device
    def inner(x: lt.u32) -> lt.u32:
        return x if lt.access_in_range() else 0

    class Asks(lt.Tool):
        seen = lt.DeviceArray(lt.u64, 64)

        @lt.hook
        def note(seen: lt.ptr[lt.u64], x: lt.u32):
            seen[lt.lane_id()] = outer(x)

        def on_kernel(self, kernel):
            store = next(i for i in kernel.instructions if i.is_store)
            kernel.insert_before(store, self.note, self.seen, 6)
            with pytest.raises(lt.ToolError, match="takes 2 arguments, 3 were given"):
                kernel.insert_before(store, self.note, self.seen, 6, 1)

    tool = Asks()
    code = lt.CodeObject.open(compiled.build(GROUPS, "gfx90a"))
    lt.Device("gfx90a").load(code, tools=[tool], check=True).run("groups", blocks=1, block=64, args=[np.zeros(64, np.uint32)])
    assert tool.seen.read().tolist() == [7] * 64
