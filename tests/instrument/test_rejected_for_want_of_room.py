"""What is rejected because registers, scratch or LDS ran out, or because the code cannot be copied: the kernel does what
it did, and the tool is told so."""

from __future__ import annotations

from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt

#: Where code has to find its waves' scratch, and cannot here: the SGPRs of a wave, and the VGPRs that a workgroup of 1,024
#: leaves each lane.
TARGETS = {"gfx900": (102, 64), "gfx906": (102, 64), "gfx1010": (106, 128), "gfx1030": (106, 128)}
#: The hardware tells waves here where their scratch is, so that registers can be stored there.
TOLD_SCRATCH = {"gfx942": (102, 64), "gfx1100": (106, 128), "gfx1201": (106, 128)}
WORDS = 256


def assembly(target: str, sgprs: int, vgprs: int, body: str) -> str:
    """A kernel whose registers, up to these, are all live at a `s_nop 1`, with SCC and VCC. Its stack has no bound where
    its waves have to find their scratch."""
    old = target.startswith("gfx9")
    vcc = "vcc" if old else "vcc_lo"
    lines = ["s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "v_lshlrev_b32 v1, 2, v0"]
    lines += [f"s_movk_i32 s{n}, {3 * n}" for n in (0, 1, *range(4, sgprs))]
    lines += [f"v_mov_b32 v{n}, {n}" for n in range(2, vgprs)]
    lines += ["s_cmp_eq_u32 s4, s5", f"v_cmp_eq_u32 {vcc}, 8, v0", body, "s_cselect_b32 s4, s4, s6", "s_nop 4"]
    lines += [f"v_cndmask_b32 v2, v0, v2, {vcc}"]
    lines += [f"s_xor_b32 s4, s4, s{n}" for n in (0, 1, *range(5, sgprs))]
    lines += [f"v_xor_b32 v2, v2, v{n}" for n in range(3, vgprs)]
    lines += ["v_xor_b32 v2, s4, v2", "global_store_dword v1, v2, s[2:3]", "s_endpgm"]
    dynamic = int(target in TARGETS)
    settings = [f".amdhsa_uses_dynamic_stack {dynamic}"] + ([f".amdhsa_accum_offset {vgprs}"] if target == "gfx942" else [])
    more = f".uses_dynamic_stack: {str(bool(dynamic)).lower()}"
    return compiled.kernel_in_assembly(target, "\n".join(lines), vgprs, sgprs, *settings, wave=64 if old else 32, more=more)


class Base(lt.Tool):
    """One insertion, at the instruction where everything is live."""

    total = lt.DeviceArray(lt.u64, 1)

    def on_kernel(self, kernel):
        self.insert(kernel, next(i for i in kernel.instructions if i.text.startswith("s_nop 1")))

    def insert(self, kernel, place):
        raise NotImplementedError


class Told(Base):
    @lt.hook
    def told(total: lt.ptr[lt.u64], what: lt.u32):
        lt.atomic_add(total, lt.u64(what))

    def insert(self, kernel, place):
        kernel.insert_before(place, self.told, self.total, lt.Reg("v3"))


class Asked(Base):
    """Changes SCC, and needs nothing but SGPRs."""

    @lt.hook
    def asked(value: lt.inout[lt.u32]):
        value = value + 1 if value == 7 else value  # noqa: F841

    def insert(self, kernel, place):
        kernel.insert_before(place, self.asked, lt.Reg("s9"))


class Counted(Base):
    count = lt.Counter()

    @lt.hook
    def tick(count: lt.counter):
        count += 1

    def insert(self, kernel, place):
        kernel.insert_before(place, self.tick, self.count)


class Kept(Base):
    """Values that registers had before an instruction."""

    @lt.hook
    def keep(total: lt.ptr[lt.u64], a: lt.u64, b: lt.u64, c: lt.u64, d: lt.u64, e: lt.u64, f: lt.u64, g: lt.u64, h: lt.u64):
        total[0] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h

    def insert(self, kernel, place):
        first = next(i for i in kernel.instructions if i.text.startswith("v_xor_b32") and i.address > place.address)
        olds = [lt.Old(lt.Reg(f"v[{n}:{n + 1}]")) for n in range(16, 32, 2)]
        kernel.insert_after(first, self.keep, self.total, *olds)


class KeptIndexed(Told):
    """The value that a register had before an instruction whose operands are indexed."""

    def insert(self, kernel, place):
        move = next(i for i in kernel.instructions if i.text.startswith("v_mov_b32") and i.address > place.address)
        kernel.insert_after(move, self.told, self.total, lt.Old(lt.Reg("v5")))


class Stacked(Base):
    @lt.hook
    def sort(value: lt.u32, total: lt.ptr[lt.u64]):
        table = lt.array(lt.u32, 64)
        for i in range(200):
            table[(value * 5 + lt.u32(i * i)) % 64] += lt.u32(i)
        lt.atomic_add(total, lt.u64(table[value % 64]))

    def insert(self, kernel, place):
        kernel.insert_before(place, self.sort, lt.Reg("v3"), self.total)


INDEXED = "s_set_gpr_idx_on s4, 1\n  s_nop 1\n  s_set_gpr_idx_off"
INDEXED_MOVE = "s_movk_i32 s10, 1\n  s_set_gpr_idx_on s10, 1\n  s_nop 1\n  v_mov_b32_e32 v5, v5\n  s_set_gpr_idx_off"
#: A jump over nothing, to a place that depends on the data.
JUMP = (
    "v_readfirstlane_b32 s10, v0\n  s_and_b32 s10, s10, 31\n  s_add_i32 s10, s10, 12\n  s_getpc_b64 s[8:9]\n"
    "  s_add_u32 s8, s8, s10\n  s_addc_u32 s9, s9, 0\n  s_setpc_b64 s[8:9]\n  s_nop 1"
)
#: By kind and what needs the room: the tool, whether the kernel uses all registers, its middle, and how hooks are placed.
CASES = {
    "registers": (Told, True, "s_nop 1", {}),
    "registers, for SCC": (Asked, True, "s_nop 1", {}),
    "slots_do_not_fit": (Counted, True, "s_nop 1", {}),
    "old_value": (Kept, True, "s_nop 1", {}),
    "no_scratch": (Told, False, "s_nop 1", {"calling_convention": True}),
    "no_stack": (Stacked, False, "s_nop 1", {}),
    "indexed": (Told, False, INDEXED, {}),
    "indexed, for an old value": (KeptIndexed, False, INDEXED_MOVE, {}),
    "component": (Told, False, JUMP, {}),
    "no_home": (Told, True, "s_nop 1", {"calling_convention": True}),
}


def pairs():
    for kind in CASES:
        targets = TOLD_SCRATCH if kind == "no_home" else TARGETS
        yield from ((kind, target) for target in targets if not kind.startswith("indexed") or target.startswith("gfx9"))


def run(path: Path, target: str, tools=(), **how):
    out = np.zeros(WORDS, np.uint32)
    module = lt.Device(target, threads=1).load(path, tools=list(tools), check=True, on_rejected="report", **how)
    return out, module, module.run("k", grid=WORDS, block=128, args=[out])


@pytest.mark.parametrize("kind, target", list(pairs()))
def test_the_kernel_does_what_it_did_and_the_tool_is_told_that_nothing_was_counted(kind, target, tmp_path):
    tool, is_full, body, how = CASES[kind]
    text = assembly(target, *((TARGETS | TOLD_SCRATCH)[target] if is_full else (24, 24)), body)
    path = compiled.assembled(text, target, tmp_path / "k.hsaco")
    plain, _, reference = run(path, target)
    assert plain.any()
    made = tool()
    out, module, result = run(path, target, [made], **how)
    did = module.instrumentation
    assert [r["kind"] for r in did["rejected"]] == [kind.partition(",")[0]], did["rejected"]
    assert did["points"] == 0 and made.rejected == did["rejected"]
    np.testing.assert_array_equal(out, plain)
    assert result.app_histogram == reference.histogram
    # A tool of which nothing was inserted is an error, and not a sum of zero.
    with pytest.raises(lt.NothingInsertedError, match=r"1 of 1"):
        lt.Device(target).load(path, tools=[tool()], **how)


class KeptForStore(Told):
    """The value that a register had before a store."""

    def insert(self, kernel, place):
        store = next(i for i in kernel.instructions if i.text.startswith("global_store") and i.address > place.address)
        kernel.insert_after(store, self.told, self.total, lt.Old(lt.Reg("v3")))


def test_a_value_that_is_kept_in_an_accumulator_brings_no_hazard_between_instructions_around(tmp_path):
    """CDNA1: a vector instruction, a move of an accumulator and an access to memory that reads what the first has written."""
    body = "s_nop 1\n  v_mov_b32_e32 v4, v3\n  global_store_dword v1, v4, s[2:3]\n  s_waitcnt vmcnt(0)"
    path = compiled.assembled(assembly("gfx908", 60, 64, body), "gfx908", tmp_path / "k.hsaco")
    found = {}
    for tools in ([], [KeptForStore()]):
        out = np.zeros(WORDS, np.uint32)
        module = lt.Device("gfx908", threads=1).load(path, tools=tools, **({"check": True} if tools else {}))
        findings = module.run("k", grid=WORDS, block=128, args=[out], strict=True).findings
        found[len(tools)] = {finding["kind"] for finding in findings}
        if tools:
            inserted = [i.text for i in module.loaded.kernels[0].instructions]
            store = next(n for n, text in enumerate(inserted) if text.startswith("global_store"))
            assert any(text.startswith("v_accvgpr_write") for text in inserted[store - 3 : store])
    assert found[1] == found[0]
