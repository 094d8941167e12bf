"""Loads into one half of a register: where SRAM-ECC has the hardware write whole registers, the other half becomes zero.

Who keeps it, llc says: it merges halves by such loads only where the other half is sure to stay (D16PreservesUnusedBits).
It is wrong about gfx90a with `sramecc-`, whose hardware was found to clear the half all the same (LLVM's review D112635);
gfx942 and gfx950 are taken to do as it does."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import compiled
import numpy as np
import pytest

import luthier as lt

NEVER_KEEPS = ("gfx90a", "gfx942", "gfx950", "gfx9-4-generic")
#: Target ids that code is compiled for, and the processor that it runs on, if it is another one.
CODE = [
    "gfx900", "gfx906", "gfx906:sramecc+", "gfx906:sramecc-", "gfx908", "gfx908:sramecc-", "gfx90a", "gfx90a:sramecc+",
    "gfx90a:sramecc-", "gfx942", "gfx942:sramecc-", "gfx950", "gfx9-4-generic", "gfx1010", "gfx1030", "gfx1100", "gfx1201",
    "gfx1250", "gfx1250:sramecc-",
]  # fmt: skip
RUNS_ON = {"gfx9-4-generic": "gfx942"}
OLD = 0xA5A5C3C3
DATA = 0x8091C2D3

IR = """
define <2 x i16> @f(ptr addrspace(3) noalias %in, i16 %low) {
  %high = load i16, ptr addrspace(3) %in
  %a = insertelement <2 x i16> poison, i16 %low, i32 0
  %b = insertelement <2 x i16> %a, i16 %high, i32 1
  ret <2 x i16> %b
}
"""


@cache
def _llc_merges(name: str) -> bool:
    processor, *features = name.split(":")
    attributes = ",".join(feature[-1] + feature[:-1] for feature in features)
    command = ["llc-22", "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-mattr={attributes}", "-", "-o", "-"]
    return "d16_hi" in subprocess.run(command, input=IR, capture_output=True, text=True, check=True).stdout


def _keeps(name: str) -> bool:
    if name.partition(":")[0] in NEVER_KEEPS:
        assert _llc_merges(name) == name.endswith("sramecc-")
        return False
    return _llc_merges(name)


@cache
def _object(source: str, name: str) -> lt.CodeObject:
    if name.startswith("gfx1250:"):
        # Clang takes no features for it: the ELF header says "any" (1) in bits 11:10, and here "off" (2).
        data = bytearray(compiled.build(source, "gfx1250").read_bytes())
        assert data[49] >> 2 & 3 == 1
        data[49] = data[49] & ~0xC | 2 << 2
        return lt.CodeObject.open(bytes(data))
    return lt.CodeObject.open(compiled.build(source, name))


def _device(name: str) -> lt.Device:
    return lt.Device(RUNS_ON.get(name, name.partition(":")[0]))


def _forms(name: str) -> list[tuple[str, int]]:
    """Instructions, with %0 for the register and %1 for the place, and the bits that the half gets."""
    new = name.startswith(("gfx11", "gfx12"))
    forms = []
    for bits, (old_type, new_type) in (("u8", ("ubyte", "u8")), ("i8", ("sbyte", "i8")), ("u16", ("short", "b16"))):
        value = {"u8": DATA & 255, "i8": (DATA & 255) - 256 & 0xFFFF, "u16": DATA & 0xFFFF}[bits]
        for half in ("", "_hi"):
            memory = f"load_d16{half}_{new_type}" if new else f"load_{old_type}_d16{half}"
            forms.append((f"ds_{'load' if new else 'read'}_{bits}_d16{half} %0, %2", value))
            forms += [(f"{space}_{memory} %0, %1{tail}", value) for space, tail in (("global", ", off"), ("flat", ""))]
            if not name.startswith("gfx1250"):
                forms.append((f"buffer_{memory} %0, off, %3, {'null' if name.startswith('gfx12') else '0'}", value))
            if new or name.startswith(("gfx94", "gfx95", "gfx9-4")):
                forms.append((f"scratch_{memory} %0, %4, off", value))
    typed = "[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_UINT]" if name.startswith("gfx9") else "[BUF_FMT_16_UINT]"
    which = "d16_format" if new else "format_d16"
    if not name.startswith("gfx1250"):
        forms.append(
            (f"tbuffer_load_{which}_x %0, off, %3, {'null' if name.startswith('gfx12') else '0'} format:{typed}", DATA & 0xFFFF)
        )
    if name.startswith("gfx9"):
        forms.append(("buffer_load_format_d16_x %0, off, %3, 0", DATA & 0xFFFF))
        forms.append(("buffer_load_format_d16_hi_x %0, off, %3, 0", DATA & 0xFFFF))
    return forms


HEAD = """
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
KERNEL k(u32 *in, u32 *out) {
    LDS u32 shared[64];
    u32 t = local_x(), old = __OLD__;
    volatile u32 own[2] = {in[0], 0};
    shared[t] = in[0];
    barrier();
    u64 base = (u64)in;
    // 16 bits of unsigned integers, components in order, as gfx9 has them; others look at the base and the size only.
    u32x4 buffer = {(u32)base, (u32)(base >> 32) & 0xffff, 256, __WORD3__};
    u32 at = (u32)(u64)(__attribute__((address_space(3))) u32 *)&shared[t];
    u32 mine = (u32)(u64)(__attribute__((address_space(5))) u32 *)own;
"""


def _word3(name: str) -> str:
    if name.startswith("gfx9"):
        return "0x14fac"
    return "0x31016fac" if name.startswith("gfx10") else "0x30016fac"


def _source(name: str, forms: list[tuple[str, int]], old: str = f"{OLD:#x}u") -> str:
    waits = "s_wait_loadcnt_dscnt 0x0" if name.startswith("gfx12") else "s_waitcnt vmcnt(0) lgkmcnt(0)"
    lines = HEAD.replace("__WORD3__", _word3(name)).replace("__OLD__", old)
    for number, (text, _) in enumerate(forms):
        lines += f"""    {{
        u32 got = old;
        __asm__ volatile("{text}\\n\\t{waits}" : "+v"(got) : "v"(in), "v"(at), "s"(buffer), "v"(mine) : "memory");
        out[{number} * 64 + t] = got;
    }}
"""
    return lines + "}\n"


@pytest.mark.parametrize("name", CODE)
def test_the_other_half_is_kept_or_cleared(name: str) -> None:
    forms, keeps = _forms(name), _keeps(name)
    out = np.zeros((len(forms), 64), np.uint32)
    data = np.full(64, DATA, np.uint32)
    result = _device(name).load(_object(_source(name, forms), name)).run("k", blocks=1, block=64, args=[data, out], strict=True)
    assert result.findings == []
    for (text, value), got in zip(forms, out):
        high = "_hi" in text
        want = value << 16 if high else value
        kept = OLD & (0xFFFF if high else 0xFFFF0000)
        assert (got == (want | kept if keeps else want)).all(), f"{text}: {got[0]:#x}"


@pytest.mark.parametrize("name", [name for name in CODE if not name.startswith("gfx1250")])
def test_outside_of_a_buffer_a_half_is_zero_and_the_other_one_kept_or_cleared(name: str) -> None:
    # As rocBLAS's products for RDNA count on it, where a sum has an odd number of terms.
    forms, keeps = [form for form in _forms(name) if form[0].startswith(("buffer", "tbuffer"))], _keeps(name)
    source = _source(name, forms).replace("& 0xffff, 256,", "& 0xffff, 0,")
    out, data = np.zeros((len(forms), 64), np.uint32), np.full(64, DATA, np.uint32)
    _device(name).load(_object(source, name)).run("k", blocks=1, block=64, args=[data, out])
    for (text, _), got in zip(forms, out):
        kept = OLD & (0xFFFF if "_hi" in text else 0xFFFF0000)
        assert (got == (kept if keeps else 0)).all(), f"{text}: {got[0]:#x}"


@pytest.mark.parametrize(
    "name", ["gfx900", "gfx906:sramecc+", "gfx906:sramecc-", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1250"]
)
def test_strict_mode_calls_the_other_half_what_it_is(name: str) -> None:
    # What nothing has written stays undefined where it is kept, and is zero where it is not. Nothing else uses v200 and so on.
    forms = [form for form in _forms(name) if "ds_" in form[0] and "u16" in form[0] or "global" in form[0] and "i8" in form[0]]
    source = _source(name, forms)
    for number, (text, _) in enumerate(forms, 200):
        source = source.replace(text, text.replace("%0", f"v{number}"))
        source = re.sub(
            rf'(v{number}, [^"]*)" : "\+v"\(got\)(.*) : "memory"',
            rf'\1\\n\\tv_mov_b32 %0, v{number}" : "=v"(got)\2 : "memory", "v{number}"',
            source,
        )
    out, data = np.zeros((len(forms), 64), np.uint32), np.full(64, DATA, np.uint32)
    result = _device(name).load(_object(source, name)).run("k", blocks=1, block=64, args=[data, out], strict=True)
    assert [f["kind"] for f in result.findings] == ["undefined-register"] * (len(forms) if _keeps(name) else 0)


@pytest.mark.parametrize("name", CODE)
def test_a_load_that_clears_reads_nothing_of_its_destination(name: str) -> None:
    forms = _forms(name)
    (kernel,) = _object(_source(name, forms), name).kernels
    loads = [i for i in kernel.instructions if "_d16" in i.opcode]
    # LLVM forgets what this one keeps, and has no flag for it.
    forgotten = "buffer_load_format_d16_hi_x"
    assert len(loads) == len(forms)
    # Code for gfx906 that demands no setting may run on cards that keep the half.
    keeps = _keeps(name) or name in ("gfx906", "gfx908")
    for load in loads:
        destination = load.operands[0]
        (number,) = [r for r in load.writes if r.file == "vgpr"]
        if load.opcode.startswith("tbuffer") or load.opcode == "buffer_load_format_d16_x":
            continue  # LLVM says of these that they write the register, wherever they run.
        assert any(number.overlaps(read) for read in load.reads) == keeps, load.text
        assert load.opcode == forgotten or destination.is_read == ("d16_preserve" in load.flags) == keeps, load.text
        assert any(number.overlaps(live) for live in load.live_before) == keeps, load.text


PRODUCT = """
LDS u16 sa[16 * 32], sb[32 * 16];
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
DEVICE f16x2 apart(u16 *low, u16 *high) {
    u32 a, b = __DIRTY__, from = (u32)(u64)(__attribute__((address_space(3))) u16 *)low;
    u32 to = (u32)(u64)(__attribute__((address_space(3))) u16 *)high;
    __asm__ volatile("__LOAD__ %0, %2\\n\\t__LOAD___d16_hi %1, %3\\n\\t__WAIT__\\n\\tv_or_b32 %0, %0, %1" : "=&v"(a), "+v"(b) : "v"(from), "v"(to) : "memory");
    return __builtin_bit_cast(f16x2, a);
}
DEVICE f16x2 together(u16 *low, u16 *high) {
    u32 a, from = (u32)(u64)(__attribute__((address_space(3))) u16 *)low;
    u32 to = (u32)(u64)(__attribute__((address_space(3))) u16 *)high;
    __asm__ volatile("__LOAD__ %0, %1\\n\\t__WAIT__\\n\\t__LOAD___d16_hi %0, %2\\n\\t__WAIT__" : "=&v"(a) : "v"(from), "v"(to) : "memory");
    return __builtin_bit_cast(f16x2, a);
}
KERNEL gemm(const u16 *a, const u16 *b, float *c) {
    u32 t = local_x(), i = t / 16, j = t % 16;
    for (u32 k = t; k < 16 * 32; k += 256) { sa[k] = a[k]; sb[k] = b[k]; }
    barrier();
    float sum = 0;
    for (u32 k = 0; k < 32; k += 2) {
        f16x2 x = __HOW__(&sa[i * 32 + k], &sa[i * 32 + k + 1]), y = __HOW__(&sb[k * 16 + j], &sb[(k + 1) * 16 + j]);
        sum += (float)x[0] * (float)y[0] + (float)x[1] * (float)y[1];
    }
    c[t] = sum;
}
"""


@pytest.mark.parametrize("name", CODE)
def test_a_product_of_halves_that_are_loaded_apart(name: str) -> None:
    new = name.startswith(("gfx11", "gfx12"))
    source = PRODUCT.replace("__LOAD__", "ds_load_u16" if new else "ds_read_u16")
    source = source.replace("__WAIT__", "s_wait_dscnt 0x0" if name.startswith("gfx12") else "s_waitcnt lgkmcnt(0)")
    source = source.replace("LDS u16", "__attribute__((shared)) u16")
    random = np.random.default_rng(7)
    a, b = (random.integers(-9, 10, shape).astype(np.float16) for shape in ((16, 32), (32, 16)))
    want = a.astype(np.float64) @ b.astype(np.float64)
    # Code that clears a register itself, that relies on its being cleared, and on the half being kept.
    cases = {("apart", "0"): True, ("apart", "0x4a5b4a5b"): not _keeps(name), ("together", "0"): _keeps(name)}
    for (how, dirty), is_right in cases.items():
        code = _object(source.replace("__HOW__", how).replace("__DIRTY__", dirty), name)
        for tools in ([], [lt.tools.load("instr_count")]):
            c = np.zeros((16, 16), np.float32)
            given = [a.view(np.uint16), b.view(np.uint16), c]
            result = _device(name).load(code, tools=tools).run("gemm", blocks=1, block=256, args=given, strict=True)
            assert result.findings == []
            assert (c == want).all() == is_right, (how, dirty, tools)
