"""Preloaded kernel arguments under HIP: how many there are is the length's to say, also where the descriptor leaves the size
of the arguments open, as Tensile's do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cli
import pytest
import rocm

# Firmware that cannot preload starts at the entry, firmware that can 256 bytes behind it: what it finds there shows in s2 to
# s6, which nothing else writes.
KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.amdhsa_code_object_version 4
.globl k
.p2align 8
.type k,@function
k:
s_load_dwordx2 s[2:3], s[0:1], 0x0
s_load_dwordx2 s[4:5], s[0:1], 0x8
s_mov_b32 s6, {missing}
s_waitcnt lgkmcnt(0)
s_branch stores
.p2align 8
s_mov_b32 s6, 7
stores:
s_load_dwordx2 s[8:9], s[0:1], 0x0
v_mov_b32 v0, 0
v_mov_b32 v1, s2
v_mov_b32 v2, s3
v_mov_b32 v3, s4
v_mov_b32 v4, s5
v_mov_b32 v5, s6
s_waitcnt lgkmcnt(0)
global_store_dword v0, v1, s[8:9]
global_store_dword v0, v2, s[8:9] offset:4
global_store_dword v0, v3, s[8:9] offset:8
global_store_dword v0, v4, s[8:9] offset:12
global_store_dword v0, v5, s[8:9] offset:16
s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_count {user}
{sizes}
.amdhsa_next_free_vgpr 8
.amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 16, .vgpr_count: 8, .max_flat_workgroup_size: 256,
      .args: [{{.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}},
              {{.offset: 8, .size: 4, .value_kind: by_value}}, {{.offset: 12, .size: 4, .value_kind: by_value}}]}}
...
.end_amdgpu_metadata
"""


@pytest.fixture(scope="module", autouse=True)
def _rocm():
    rocm.need("hipcc")


def _object(folder: Path, target: str, sizes: str, user: int) -> Path:
    source, out = folder / "k.s", folder / "k.hsaco"
    source.write_text(KERNEL.format(target=target, sizes=sizes, user=user, missing=99))
    command = ["clang-22", "-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-w", source, "-o", out]
    subprocess.run(command, check=True)
    return out


def _with_length(code: Path, length: int) -> Path:
    """The object with a length of preloaded arguments in its descriptor, whatever the processor."""
    data = bytearray(code.read_bytes())
    from elftools.elf.elffile import ELFFile

    with open(code, "rb") as file:
        elf = ELFFile(file)
        (symbol,) = elf.get_section_by_name(".dynsym").get_symbol_by_name("k.kd")
        section = elf.get_section(symbol["st_shndx"])
        at = symbol["st_value"] - section["sh_addr"] + section["sh_offset"] + 58
    data[at : at + 2] = length.to_bytes(2, "little")
    code.write_bytes(data)
    return code


@pytest.mark.parametrize("size", ("", ".amdhsa_kernarg_size 16"))
@pytest.mark.parametrize("options", ((), ("--strict",)))
def test_as_many_arguments_are_preloaded_as_the_length_says(tmp_path, size, options):
    sizes = f".amdhsa_accum_offset 8\n.amdhsa_user_sgpr_kernarg_preload_length 4\n{size}"
    code = _object(tmp_path, "gfx90a", sizes, 6)
    assert rocm.passes(rocm.hip("preloaded"), code, options=options) == "11 22 7\n"


def test_where_nothing_is_preloaded_waves_start_at_the_entry(tmp_path):
    code = _object(tmp_path, "gfx90a", ".amdhsa_accum_offset 8", 2)
    assert rocm.passes(rocm.hip("preloaded"), code) == "11 22 99\n"


@pytest.mark.parametrize("target", ("gfx908", "gfx1030"))
def test_processors_that_cannot_preload_take_no_notice_of_the_length(tmp_path, target):
    code = _with_length(_object(tmp_path, target, ".amdhsa_wavefront_size32 0" if target == "gfx1030" else "", 2), 4)
    program = rocm.hip("preloaded", targets=(target,))
    assert rocm.passes(program, code, target=target) == "11 22 99\n"


def test_inspect_shows_the_size_that_the_metadata_give(tmp_path):
    code = _object(tmp_path, "gfx90a", ".amdhsa_accum_offset 8\n.amdhsa_user_sgpr_kernarg_preload_length 4", 6)
    assert "kernarg 16," in cli.succeeds("inspect", str(code))
