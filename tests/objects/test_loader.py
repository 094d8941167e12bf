"""The mock loader, from Python: relocations against a second implementation on pyelftools, and runs across objects."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from places import ROOT

import luthier as lt

LLVM = Path("/usr/lib/llvm-22/bin")

#: What each type computes, in LLVM's own terms, and how wide it is.
FORMULAS = {
    1: (lambda s, a, p, g, b: (s + a) & 0xFFFFFFFF, 4),
    2: (lambda s, a, p, g, b: (s + a) >> 32, 4),
    3: (lambda s, a, p, g, b: s + a, 8),
    4: (lambda s, a, p, g, b: s + a - p, 4),
    5: (lambda s, a, p, g, b: s + a - p, 8),
    6: (lambda s, a, p, g, b: s + a, 4),
    7: (lambda s, a, p, g, b: g + a - p, 4),
    8: (lambda s, a, p, g, b: (g + a - p) & 0xFFFFFFFF, 4),
    9: (lambda s, a, p, g, b: (g + a - p) >> 32, 4),
    10: (lambda s, a, p, g, b: (s + a - p) & 0xFFFFFFFF, 4),
    11: (lambda s, a, p, g, b: (s + a - p) >> 32, 4),
    13: (lambda s, a, p, g, b: b + a, 8),
    14: (lambda s, a, p, g, b: (s + a - p - 4) // 4, 2),
}
GOT_TYPES = (7, 8, 9)

KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl {name}
.type {name},@function
.p2align 8
{name}:
{body}
  s_endpgm
.L{name}_end:
.size {name}, .L{name}_end-{name}
{more}
.section .rodata,"a",@progbits
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: {name}, .symbol: {name}.kd, .kernarg_segment_size: 8, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 96,
     .vgpr_count: 4, .max_flat_workgroup_size: 1024,
     .args: [{{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}]}}
...
.end_amdgpu_metadata
"""


def got(register: int, name: str) -> str:
    """Loads the address of a symbol through the GOT."""
    low, high = f"s{register}", f"s{register + 1}"
    return f"""
  s_getpc_b64 s[{register}:{register + 1}]
  s_add_u32 {low}, {low}, {name}@gotpcrel32@lo+4
  s_addc_u32 {high}, {high}, {name}@gotpcrel32@hi+12
  s_load_dwordx2 s[{register}:{register + 1}], s[{register}:{register + 1}], 0x0
  s_waitcnt lgkmcnt(0)"""


A = KERNEL.format(
    name="kernel_a",
    body=f"""
  s_load_dwordx2 s[2:3], s[0:1], 0x0
{got(4, "var_b")}
  s_load_dword s10, s[4:5], 0x0
{got(6, "f_b")}
  s_swappc_b64 s[30:31], s[6:7]
  s_waitcnt lgkmcnt(0)
  s_store_dword s10, s[2:3], 0x0
  s_store_dword s11, s[2:3], 0x4
  s_waitcnt lgkmcnt(0)""",
    more="""
.globl f_a
.type f_a,@function
f_a:
  s_add_u32 s11, s11, 5
  s_setpc_b64 s[34:35]
.size f_a, .-f_a
odd:
  .long var_b - .
  .quad f_b - .
  .quad local_a
  .long outside
  .long f_b@gotpcrel
.data
.p2align 3
local_a:
  .quad var_b, f_b + 8, local_a + 16, kernel_a
.globl var_a
.type var_a,@object
var_a: .long 1000
.size var_a, 4
""",
)
B = KERNEL.format(
    name="kernel_b",
    body="  s_nop 0",
    more=f"""
.globl f_b
.type f_b,@function
f_b:
  s_getpc_b64 s[12:13]
  s_add_u32 s12, s12, var_a@rel32@lo+4
  s_addc_u32 s13, s13, var_a@rel32@hi+12
  s_load_dword s11, s[12:13], 0x0
{got(14, "f_a")}
  s_swappc_b64 s[34:35], s[14:15]
  s_setpc_b64 s[30:31]
.size f_b, .-f_b
.data
.globl var_b
.type var_b,@object
.p2align 3
var_b: .long 77
.size var_b, 4
""",
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    """Two linked objects that need each other, with their static relocation records."""
    folder = tmp_path_factory.mktemp("pair")
    made = []
    for name, source in (("a", A), ("b", B)):
        text, unlinked, linked = (folder / f"{name}.{ending}" for ending in ("s", "o", "so"))
        text.write_text(source)
        assembler = [LLVM / "llvm-mc", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj"]
        subprocess.run([*assembler, text, "-o", unlinked], check=True)
        flags = ["-shared", "--emit-relocs", "--noinhibit-exec", "--no-warnings", "--unresolved-symbols=ignore-all"]
        subprocess.run([LLVM / "ld.lld", *flags, unlinked, "-o", linked], check=True)
        made.append(linked)
    return made[0], made[1]


def linked(pair, base: int | None = None) -> lt.MockLoader:
    loader = lt.MockLoader("gfx90a", base=base)
    for path in pair:
        loader.load(path)
    loader.define("outside", 0x12345678, 4)
    loader.finalize()
    return loader


def second_opinion(path: Path, loaded: lt.LoadedObject, globals_: dict[str, int], memory) -> int:
    """Checks every place that a record of the file changes. Gives the number of records."""
    count = 0
    with open(path, "rb") as file:
        elf = ELFFile(file)
        records = []
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection):
                dynamic = bool(section["sh_flags"] & 2)
                if not dynamic and not elf.get_section(section["sh_info"])["sh_flags"] & 2:
                    continue
                symbols = elf.get_section(section["sh_link"])
                records += [(dynamic, r, symbols.get_symbol(r["r_info_sym"])) for r in section.iter_relocations()]
        slots: dict[str, int] = {}
        covered = set()
        for dynamic, record, symbol in records:
            if dynamic:
                covered.add(record["r_offset"])
                if record["r_info_type"] == 3 and record["r_addend"] == 0:
                    section = elf.get_section_by_name(".got")
                    if section["sh_addr"] <= record["r_offset"] < section["sh_addr"] + section["sh_size"]:
                        slots[symbol.name] = record["r_offset"] + loaded.base
        for dynamic, record, symbol in records:
            kind, place = record["r_info_type"], record["r_offset"]
            if kind == 0 or not dynamic and place in covered:
                continue
            if symbol["st_shndx"] == "SHN_UNDEF":
                value = globals_.get(symbol.name, 0)
            else:
                value = symbol["st_value"] + loaded.base
            formula, width = FORMULAS[kind]
            slot = slots[symbol.name] if kind in GOT_TYPES else 0
            number = formula(value, record["r_addend"], place + loaded.base, slot, loaded.base)
            expected = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            assert memory[place + loaded.base : place + loaded.base + width] == expected, (path.name, kind, hex(place))
            if kind in GOT_TYPES:
                assert struct.unpack("<Q", memory[slot : slot + 8]) == (value,)
            count += 1
    return count


@pytest.mark.parametrize("base", [None, 0x10000, 0x7000_0000_0000])
def test_relocations_agree_with_a_second_implementation(pair, base):
    loader = linked(pair, base)
    names = {s.name: s.address for s in loader.symbols if s.exported}
    counts = [second_opinion(path, loaded, names, loader.memory) for path, loaded in zip(pair, loader.objects)]
    assert counts[0] >= 15 and counts[1] >= 5, counts


COMPILED = """
__constant int table[5] = {1, 2, 3, 4, 5};
static __global int hidden_counter;
__attribute__((visibility("default"))) __global int shared_counter = 7;
__attribute__((visibility("default"))) __global int *pointers[2] = {&shared_counter, &hidden_counter};
__attribute__((noinline)) int helper(int x) { return table[x & 3] + hidden_counter; }
kernel void work(__global int *out) { out[0] = helper(out[1]) * shared_counter; hidden_counter = out[2]; }
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_compiled_objects_agree_with_a_second_implementation(tmp_path, target):
    source, path = tmp_path / "in.cl", tmp_path / "out.hsaco"
    source.write_text(COMPILED)
    flags = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-w", "-cl-std=CL2.0", "-Wl,--emit-relocs"]
    subprocess.run([LLVM / "clang", *flags, "-O1", source, "-o", path], check=True)
    with lt.MockLoader() as loader:
        (loaded,) = loader.load(path)
    names = {s.name: s.address for s in loader.symbols if s.exported}
    assert second_opinion(path, loaded, names, loader.memory) >= 8
    pointers = struct.unpack("<QQ", loader.read_symbol("pointers"))
    assert pointers == (loaded.symbol("shared_counter").address, loaded.symbol("hidden_counter").address)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_objects_that_need_each_other_run(pair, order):
    with lt.MockLoader("gfx90a") as loader:
        for index in order:
            loader.load(pair[index])
        loader.define("outside", 0x1000, 4)
        assert not loader.finalized
    assert loader.finalized
    device = lt.Device("gfx90a").load(loader)
    out = np.zeros(2, np.uint32)
    result = device.run("kernel_a", grid=1, block=1, args=[out], strict=True)
    assert out.tolist() == [77, 1005]
    assert result.findings == [] and result.instructions == result.app_instructions
    assert device.read_symbol("var_a", "uint32").tolist() == [1000]
    device.write_symbol_bytes("var_a", struct.pack("<I", 2000))
    device.run("kernel_a", grid=1, block=1, args=[out])
    assert out.tolist() == [77, 2005]
    assert loader.read_symbol("var_a") == struct.pack("<I", 1000), "the loader's memory is its own"
    assert device.module("kernel_b").code_object.kernels[0].name == "kernel_b"
    with pytest.raises(lt.ArgumentError, match="none of the loader's objects has a kernel nope"):
        device.run("nope", grid=1, block=1)


def test_variables_written_before_the_run_are_the_device_s(pair):
    with lt.MockLoader() as loader:
        loader.load(pair[0].read_bytes(), name="first")
        loader.load(memoryview(pair[1].read_bytes()), name="second")
        loader.define("outside", 0, 4)
        loader.write_symbol("var_b", struct.pack("<I", 4321))
    out = np.zeros(2, np.uint32)
    lt.Device().load(loader).run("kernel_a", grid=1, block=1, args=[out])
    assert out.tolist() == [4321, 1005]


def test_externals_stand_for_what_is_missing(pair):
    loader = lt.MockLoader("gfx90a")
    loader.load(pair[0])
    with pytest.raises(lt.UnresolvedSymbolError, match=r"var_b \(R_AMDGPU_.*section .*f_b") as caught:
        loader.finalize()
    assert sorted(caught.value.symbols) == ["f_b", "outside", "var_b"]
    loader.define("f_b", 0x5000, 8)
    loader.define("outside", 0x1000, 4)
    var_b = loader.define("var_b", data=struct.pack("<I", 99), agent=0)
    loader.finalize()
    (loaded,) = loader.objects
    assert loaded.resolve("f_b") == 0x5000 and loaded.resolve("var_b") == var_b
    assert loader.memory[var_b : var_b + 4] == struct.pack("<I", 99)
    assert loader.symbol("var_b").object is None
    located = loader.locate(var_b + 1)
    assert located is not None and (located.symbol, located.offset) == ("var_b", 1)


def test_each_kind_of_error_has_its_class(pair, tmp_path):
    loader = linked(pair)
    for act in (loader.finalize, lambda: loader.load(pair[0]), lambda: loader.define("x", 1)):
        with pytest.raises(lt.FinalizedError):
            act()
    with pytest.raises(lt.LinkError, match="nope"):
        loader.symbol("nope")
    with pytest.raises(lt.LinkError, match="0x10"):
        loader.memory.read(0x10, 4)
    with pytest.raises(lt.ArgumentError, match="memory"):
        loader.memory[5]
    with pytest.raises(lt.ArgumentError, match="either an address or data"):
        lt.MockLoader().define("x")
    again = lt.MockLoader()
    again.load(pair[0])
    with pytest.raises(lt.DuplicateSymbolError, match="kernel_a"):
        again.load(pair[0], name="twice")
    again.load(pair[0], name="elsewhere", executable="second")
    assert [o.executable for o in again.objects] == ["default", "second"]
    again.define("x", 1)
    with pytest.raises(lt.DuplicateSymbolError, match="external x"):
        again.define("x", 2)
    with pytest.raises(lt.ArgumentError, match="gfx12345"):
        again.add_agent("gfx12345")
    far = lt.MockLoader()
    far.load(pair[0])
    far.load(pair[1])
    far.define("outside", 0x1234567890, 4)
    with pytest.raises(lt.RelocationError, match=r"R_AMDGPU_ABS32 in .*a\.so, section \.text.*symbol outside"):
        far.finalize()
    (tmp_path / "unlinked").write_bytes(pair[0].with_suffix(".o").read_bytes())
    with pytest.raises(lt.LoadError, match="ET_REL"):
        far.load(tmp_path / "unlinked")
    with pytest.raises(RuntimeError), lt.MockLoader() as failing:
        failing.load(pair[0])
        raise RuntimeError("the block's own error is what is raised")
    assert not failing.finalized


def test_memory_addresses_and_ranges(pair):
    data = pair[1].read_bytes()
    buffer = ctypes.create_string_buffer(b"\0" * 64 + data, 64 + len(data))
    address = ctypes.addressof(buffer) + 64
    loader = lt.MockLoader()
    (loaded,) = loader.load(f"memory://{os.getpid()}#offset={address:#x}&size={len(data)}")
    assert loaded.code_object.data == data
    text = next(s for s in loaded.segments if s.executable)
    assert not text.writable and loaded.start <= text.address < loaded.end
    found = loader.locate(loaded.symbol("f_b").address + 4)
    assert found is not None and found.vaddr is not None and found.file_offset is not None
    assert (found.section, found.symbol, found.offset) == (".text", "f_b", 4)
    where = found.file_offset
    assert loader.memory.read(found.vaddr + loaded.base, 4) == data[where : where + 4]
    start = loaded.symbol("var_b").address
    loader.memory[start : start + 4] = b"abcd"
    assert loader.read_symbol("var_b") == b"abcd"


def test_agents_with_targets_of_their_own(corpus):
    fat = next(iter(sorted((corpus / "bitsandbytes").glob("**/*.so"))))
    loader = lt.MockLoader("gfx90a", "gfx1100")
    with pytest.raises(lt.LinkError, match="several targets"):
        loader.load(fat)
    mine = loader.load(fat, agent=0)
    theirs = loader.load(fat, agent=1)
    assert len(mine) == len(theirs) and {o.code_object.processor for o in theirs} == {"gfx1100"}
    loader.finalize()
    on_device = lt.Device("gfx90a").load(loader)
    assert sorted(on_device.modules) == [o.number for o in mine]


def test_the_example_in_the_documentation_names_what_there_is():
    text = (ROOT / "docs/loader.md").read_text()
    for name in ("MockLoader", "LinkError", "UnresolvedSymbolError", "RelocationError", "DuplicateSymbolError", "FinalizedError"):
        assert name in text and hasattr(lt, name)
