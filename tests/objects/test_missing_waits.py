"""Waits judged without running: every wait for a load is missed when it is gone, and compilers' code has no complaint."""

from __future__ import annotations

import struct

import compiled
import pytest
from places import CORPUS
from waits import S_NOP, waits_of

import luthier as lt
from luthier.objects.missing_waits import missing_waits

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
KERNELS = ("vecadd", "saxpy", "matmul", "histogram", "collatz", "scratch", "half", "double", "wide", "table", "pair", "call")


def found(code: lt.CodeObject) -> list:
    return list(missing_waits(code.processor, code.functions))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [name for name in KERNELS if name != "call"])
def test_a_wait_that_is_gone_is_missed_unless_it_is_for_stores(name, target):
    path = compiled.code_object(name, "O3", target=target)
    data, code = path.read_bytes(), lt.CodeObject.open(path)
    (text,) = [s for s in code.inspect()["sections"] if s["name"] == ".text"]
    instrs = list(code.instructions)
    place = {i.address: n for n, i in enumerate(instrs)}
    waits = waits_of(code)
    assert waits and found(code) == []
    for at in waits:
        broken = bytearray(data)
        struct.pack_into("<I", broken, at, S_NOP)
        n = place[at - text["offset"] + text["address"]]
        if not found(lt.CodeObject.open(bytes(broken))):
            # What a barrier orders are stores, whose registers nothing waits for.
            assert any(i.is_barrier or i.opcode.startswith("s_barrier") for i in instrs[n + 1 : n + 3]), instrs[n].text


@pytest.mark.parametrize("level", ["O0", "O3"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_clang_compiles_has_no_complaint(target, level):
    for name in KERNELS:
        assert found(lt.CodeObject.open(compiled.code_object(name, level, target=target))) == [], name


@pytest.mark.skipif(CORPUS is None, reason="the corpus of real code objects is not here (set LUTHIER_CORPUS)")
def test_the_corpus_has_no_complaint():
    paths = [*CORPUS.glob("triton/*/*.hsaco"), *(p for p in CORPUS.glob("clang/*/*") if p.is_file())]
    looked_at = 0
    for path in paths:
        try:
            code = lt.CodeObject.open(path)
            looked_at += len(code.instructions)
        except lt.LuthierError:  # older processors, and what is no code object
            continue
        assert found(code) == [], path
    assert looked_at > 100_000


#: A load on one of two ways that meet: at `USE` its result is read, with or without a wait on that way.
ON_ONE_WAY = """
KERNEL one_way(u32 *out, const u32 *a, u32 which) {
    u32 x = 1;
    asm volatile("s_cmp_eq_u32 %[which], 0\\n s_cbranch_scc1 1f\\n global_load_dword %[x], %[a], off\\n WAIT\\n 1:\\n v_add_u32 %[x], %[x], 1\\n"
                 "s_waitcnt vmcnt(0)" : [x] "+v"(x) : [a] "v"(a), [which] "s"(which) : "scc");
    out[global_x()] = x;
}
"""


@pytest.mark.parametrize(
    "wait, names", [("s_waitcnt vmcnt(0)", []), ("s_nop 0", ["v_add_u32"]), ("s_waitcnt vmcnt(1)", ["v_add_u32"])]
)
def test_one_path_without_a_wait_is_enough(wait, names):
    code = lt.CodeObject.open(compiled.build(ON_ONE_WAY.replace("WAIT", wait), "gfx90a"))
    told = found(code)
    assert [missing.instruction.opcode for missing in told] == names
    for missing in told:
        load = code.program.instruction_at(missing.load)
        assert load.opcode == "global_load_dword" and missing.counter == "vmcnt" and missing.register in missing.instruction.text


#: Two loads of LDS and a scalar one, which may come back first: a wait down to one guarantees neither.
MIXED = """
KERNEL mixed(u32 *out, const u32 *a) {
    __attribute__((address_space(3))) u32 *none = 0;
    u32 x, y, s;
    asm volatile("ds_read_b32 %[x], %[at]\\n SECOND\\n s_waitcnt lgkmcnt(1)\\n v_mov_b32 %[y], %[x]\\n s_waitcnt lgkmcnt(0)"
                 : [x] "=&v"(x), [y] "=&v"(y), [s] "=&s"(s) : [at] "v"(none), [a] "s"(a));
    out[global_x()] = x + y;
}
"""


@pytest.mark.parametrize("second, count", [("ds_read_b32 %[y], %[at]", 1), ("s_load_dword %[s], %[a], 0", 1), ("s_nop 0", 1)])
def test_a_wait_counts_those_of_its_kind_behind_the_load(second, count):
    told = found(lt.CodeObject.open(compiled.build(MIXED.replace("SECOND", second), "gfx90a")))
    reads = [m for m in told if m.instruction.opcode.startswith("v_mov_b32") and "v" in m.register]
    if second.startswith("ds_read"):
        # The first has come back; the second, which the move overwrites, has not.
        assert len(reads) == count and reads[0].register == reads[0].instruction.operands[0].register.name
    else:
        assert len(reads) == count and reads[0].register == reads[0].instruction.operands[1].register.name
