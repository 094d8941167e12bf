"""Hazards judged without running: what LLVM puts in against them is missed when it is gone, and compilers' code has no complaint."""

from __future__ import annotations

import re

import compiled
import numpy as np
import pytest
from places import CORPUS

import luthier as lt
from luthier.objects.missing_hazards import MissingHazard, missing_hazards

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
KERNELS = ("matmul", "histogram", "collatz", "double", "wide", "call")


def found(code: lt.CodeObject) -> list[MissingHazard]:
    return list(missing_hazards(code.functions))


def text_of(name: str, target: str, level: str) -> list[str]:
    """A kernel's assembly, as clang makes it."""
    source = (compiled.SOURCES / f"{name}.hip").read_text().replace('#include "gpu.h"', "")
    return compiled.assembly(source, target, level).splitlines()


APART = re.compile(r"\ts_nop|\tv_nop|\ts_waitcnt_depctr|\ts_wait_alu")
MEMORY = re.compile(r"\t(?:s_load|global_load|buffer_load|flat_load|ds_read)")


@pytest.mark.parametrize(
    "name, target, level, least",
    [
        ("cdna3", "gfx942", "O1", 4),
        ("cdna3", "gfx942", "O3", 4),
        ("cdna4", "gfx950", "O3", 5),
        ("rdna4", "gfx1201", "O3", 3),
        ("double", "gfx1100", "O1", 1),
    ],
)
def test_what_llvm_puts_between_instructions_is_missed_when_it_is_gone(name, target, level, least, tmp_path):
    lines = text_of(name, target, level)
    out = tmp_path / "broken.hsaco"
    assert found(lt.CodeObject.open(compiled.assembled("\n".join(lines) + "\n", target, out))) == []
    missed = 0
    for n, line in enumerate(lines):
        # No-ops between loads are no hazard's: with XNACK they end what is done again.
        if not APART.match(line) or MEMORY.match(lines[n - 1]) and MEMORY.match(lines[n + 1]):
            continue
        broken = compiled.assembled("\n".join([*lines[:n], *lines[n + 1 :]]) + "\n", target, out)
        assert found(lt.CodeObject.open(broken)), f"{line} between {lines[n - 1]} and {lines[n + 1]}"
        missed += 1
    assert missed >= least


@pytest.mark.parametrize("level", ["O0", "O3"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_clang_compiles_has_no_complaint(target, level):
    for name in KERNELS:
        assert found(lt.CodeObject.open(compiled.code_object(name, level, target=target))) == [], name


#: LLVM keeps one last writer for both halves of VCC: where one half is written by the VALU and the other by the SALU, it waits for one.
KNOWN = {f"triton/{target}/matmul_i8_64.hsaco": ["vcc_lo", "vcc_hi"] for target in ("gfx1200", "gfx1201")}


@pytest.mark.skipif(CORPUS is None, reason="the corpus of real code objects is not here (set LUTHIER_CORPUS)")
def test_the_corpus_has_no_complaint_but_llvms_two_halves_of_vcc():
    paths = [*CORPUS.glob("triton/*/*.hsaco"), *(p for p in CORPUS.glob("clang/*/*") if p.is_file())]
    looked_at, complaints = 0, {}
    for path in paths:
        try:
            code = lt.CodeObject.open(path)
            looked_at += len(code.instructions)
        except lt.LuthierError:  # older processors, and what is no code object
            continue
        if told := found(code):
            assert {missing.rule for missing in told} == {"sgpr-write-after-vector-read"}
            complaints[path.relative_to(CORPUS).as_posix()] = [missing.what.split()[0] for missing in told]
    assert looked_at > 100_000 and complaints == KNOWN


def written(text: str, target: str) -> lt.CodeObject:
    """A kernel with this text in it; registers are the text's own."""
    lines = "\\n".join(line.strip() for line in text.strip().splitlines())
    taken = ", ".join(f'"{r}{n}"' for r in "vs" for n in range(20, 30))
    source = f'KERNEL written(u32 *out) {{ __asm__ volatile("{lines}" ::: "scc", "vcc", {taken}); out[global_x()] = 1; }}'
    return lt.CodeObject.open(compiled.build(source, target))


#: A move right in front of a read of its lane, on one of two ways that meet there.
ON_ONE_WAY = """
s_cmp_eq_u32 s20, 0
s_cbranch_scc1 1f
v_mov_b32 v20, v21
{between}
1:
v_readlane_b32 s21, v20, 0
"""
#: The same around a loop.
AROUND = """
1:
v_readlane_b32 s21, v20, 0
s_cmp_eq_u32 s20, 0
v_mov_b32 v20, v21
{between}
s_cbranch_scc1 1b
"""


@pytest.mark.parametrize("text", [ON_ONE_WAY, AROUND], ids=["one way", "a loop"])
def test_one_path_is_enough(text):
    if text == AROUND:
        # The branch is a wait state itself: a DPP source needs two.
        text = text.replace("v_readlane_b32 s21, v20, 0", "v_mov_b32_dpp v22, v20 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf")
    (told,) = found(written(text.format(between=""), "gfx942"))
    assert told.rule in ("valu-vgpr-readlane", "valu-vgpr-dpp") and "1 more wait state is needed" in told.remedy
    assert told.other in {i.address for i in written(text.format(between=""), "gfx942").instructions if i.opcode == "v_mov_b32"}
    assert found(written(text.format(between="s_nop 0"), "gfx942")) == []


@pytest.mark.parametrize("wait, complaints", [("s_wait_alu depctr_sa_sdst(0)", 0), ("s_nop 0", 1)])
def test_scalars_that_vector_instructions_have_read_matter_however_long_ago(wait, complaints):
    text = "v_mov_b32 v20, s22\n" + "v_mov_b32 v21, v22\n" * 100 + f"s_mov_b32 s22, 1\n{wait}\nv_mov_b32 v20, s22"
    told = found(written(text, "gfx1201"))
    assert [missing.rule for missing in told] == ["sgpr-write-after-vector-read"] * complaints


def test_many_ways_that_lead_to_a_place_are_all_followed():
    """A row of branches over one instruction each has more ways through it than are told apart."""
    row = "".join(f"s_cmp_eq_u32 s20, {n}\ns_cbranch_scc1 {n}f\ns_mov_b32 s21, 0\n{n}:\n" for n in range(1, 30))
    text = row + "v_mov_b32 v20, v21\ns_cbranch_scc1 40f\ns_mov_b32 s21, 0\n40:\n"
    text += "v_mov_b32_dpp v22, v20 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"
    (told,) = found(written(text, "gfx942"))
    assert told.rule == "valu-vgpr-dpp"


def test_a_finding_of_strict_mode_is_found_without_running():
    """The same instruction and rule, where the way that strict mode takes has the hazard."""
    code = written(ON_ONE_WAY.format(between="").replace("s_cmp_eq_u32", "s_mov_b32 s20, 1\ns_cmp_eq_u32"), "gfx942")
    result = lt.Device("gfx942").run(code, "written", grid=64, block=64, args=[np.zeros(64, "u4")], strict=True)
    hazards = [finding for finding in result.findings if finding["kind"] == "hazard"]
    assert [(f["pc"], f["other"]["pc"]) for f in hazards] == [(m.instruction.address, m.other) for m in found(code)]


def test_text_names_both_instructions():
    (told,) = found(written(ON_ONE_WAY.format(between=""), "gfx942"))
    assert re.fullmatch(
        r"v_readlane_b32 s21, v20, 0 at 0x\w+: a VALU instruction has written v20 at 0x\w+: 1 more wait state is needed before this \(valu-vgpr-readlane\)",
        str(told),
    )
