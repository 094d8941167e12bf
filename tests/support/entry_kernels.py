"""Kernels whose first instructions write down what their waves start with, for any descriptor."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

#: User values in the hardware's order, with their dwords.
USER = {
    "private_segment_buffer": 4, "dispatch_ptr": 2, "queue_ptr": 2, "kernarg_segment_ptr": 2, "dispatch_id": 2,
    "flat_scratch_init": 2, "private_segment_size": 1,
}  # fmt: skip
#: System values.
SYSTEM = ("workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workgroup_info")
#: Where waves find their scratch by themselves.
ARCHITECTED = ("gfx942", "gfx1100", "gfx1201", "gfx1250")
PRELOADS = ("gfx90a", "gfx942", "gfx1250")
#: Bytes that a wave writes, behind as many for how many have.
STRIDE = 4096
WAVES = 64
SGPRS = 32


@dataclass(frozen=True)
class Shape:
    """What a descriptor asks for."""

    target: str
    wave: int
    user: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    dimensions: int = 0
    preload: int = 0
    scratch: int = 0

    @property
    def user_sgprs(self) -> int:
        return sum(USER[name] for name in self.user) + self.preload

    @property
    def most(self) -> int:
        return 32 if self.target == "gfx1250" else 16

    @property
    def is_possible(self) -> bool:
        missing = {"private_segment_buffer", "flat_scratch_init"} if self.target in ARCHITECTED else set()
        return self.user_sgprs <= self.most and not missing & set(self.user)

    @property
    def has_ids_in_ttmps(self) -> bool:
        return self.target in ("gfx1201", "gfx1250")

    @property
    def sgprs(self) -> int:
        """SGPRs that waves start with, as far as they are written down."""
        system = [name for name in self.system if name == "workgroup_info" or not self.has_ids_in_ttmps]
        offset = self.scratch > 0 and self.target not in ARCHITECTED
        return min(self.user_sgprs + len(system) + offset, SGPRS)

    @property
    def vgprs(self) -> int:
        return self.dimensions + 1 if self.target in ("gfx908", "gfx1030") else 1

    def addresses(self) -> list[int]:
        """The first SGPRs of addresses whose memory is the same in each launch: the packet's, the queue's, the arguments'."""
        at, found = 0, []
        for name in USER:
            if name in self.user:
                if name in ("dispatch_ptr", "queue_ptr", "kernarg_segment_ptr"):
                    found.append(at)
                at += USER[name]
        return found

    def pointers(self) -> list[int]:
        """The dwords that are parts of addresses of the launch's own."""
        at, found = 0, []
        for name in USER:
            if name in self.user:
                count = {"private_segment_buffer": 2, "dispatch_id": 0, "private_segment_size": 0}.get(name, USER[name])
                found += range(at, at + count)
                at += USER[name]
        return found


@cache
def _folder() -> TemporaryDirectory:
    return TemporaryDirectory(prefix="luthier-entry-")


def code(shape: Shape, name: str) -> str:
    """The instructions of one kernel."""
    late, wave64 = shape.target in ("gfx1201", "gfx1250"), shape.wave == 64
    returns = {"gfx942": "sc0", "gfx1201": "th:TH_ATOMIC_RETURN", "gfx1250": "th:TH_ATOMIC_RETURN"}.get(shape.target, "glc")
    registers = [f"s{n}" for n in range(SGPRS)] + ([f"ttmp{n}" for n in (6, 7, 8, 9)] if late else [])
    if shape.target == "gfx1201":
        registers.remove("ttmp6")
    put = "v_mov_b32 v13, {0}\nglobal_store_dword v10, v13, s[40:41] offset:{1}\n"
    dump = "".join(put.format(register, 4 * n) for n, register in enumerate(registers))
    # What addresses lead to.
    for n, at in enumerate(shape.addresses()):
        dump += f"s_load_dwordx2 s[46:47], s[{at}:{at + 1}], 0x0\n{'s_wait_kmcnt 0x0' if late else 's_waitcnt lgkmcnt(0)'}\n"
        dump += "".join(put.format(f"s{46 + half}", 4 * (SGPRS + 4 + 2 * n + half)) for half in range(2))
    exec_, pair, mov = ("exec", "s[44:45]", "s_mov_b64") if wave64 else ("exec_lo", "s44", "s_mov_b32")
    rows = "".join(f"global_store_dword v14, v{n}, s[40:41] offset:{256 * (n + 1)}\n" for n in range(3))
    return f"""
.globl {name}
.p2align 8
.type {name},@function
{name}:
{".fill 64, 4, 0xbf800000" if shape.preload and shape.target != "gfx1250" else ""}
s_getpc_b64 s[40:41]
s_add_u32 s40, s40, out@rel32@lo+4
s_addc_u32 s41, s41, out@rel32@hi+12
v_mov_b32 v10, 0
v_mov_b32 v11, 1
{mov} {pair}, {exec_}
{mov} {exec_}, 1
global_atomic_add v12, v10, v11, s[40:41] {returns}
{"s_wait_loadcnt 0x0" if late else "s_waitcnt vmcnt(0)"}
v_readfirstlane_b32 s42, v12
s_lshl_b32 s42, s42, 12
s_add_u32 s42, s42, {STRIDE}
s_add_u32 s40, s40, s42
s_addc_u32 s41, s41, 0
{dump}
{mov} {exec_}, {pair}
v_mbcnt_lo_u32_b32 v14, -1, 0
{"v_mbcnt_hi_u32_b32 v14, -1, v14" if wave64 else ""}
v_lshlrev_b32 v14, 2, v14
{rows}
s_endpgm
.size {name}, .-{name}
"""


def descriptor(shape: Shape, name: str) -> str:
    """What its descriptor asks for."""
    wave64 = shape.wave == 64
    asks = [f".amdhsa_user_sgpr_{value} 1" for value in shape.user]
    asks += [f".amdhsa_system_sgpr_{value} {int(value in shape.system)}" for value in SYSTEM]
    if shape.preload:
        asks += [f".amdhsa_user_sgpr_kernarg_preload_length {shape.preload}", ".amdhsa_user_sgpr_kernarg_preload_offset 1"]
    if shape.scratch:
        own = shape.target in ARCHITECTED
        asks.append(f".amdhsa_{'enable_private_segment' if own else 'system_sgpr_private_segment_wavefront_offset'} 1")
    if shape.target in ("gfx90a", "gfx942"):
        asks.append(".amdhsa_accum_offset 16")
    if shape.target in ("gfx1030", "gfx1100", "gfx1201"):
        asks.append(f".amdhsa_wavefront_size32 {int(not wave64)}")
    return f"""
.p2align 6
.amdhsa_kernel {name}
.amdhsa_next_free_vgpr 16
.amdhsa_next_free_sgpr 48
.amdhsa_kernarg_size 128
.amdhsa_private_segment_fixed_size {shape.scratch}
.amdhsa_system_vgpr_workitem_id {shape.dimensions}
{chr(10).join(asks)}
.end_amdhsa_kernel
"""


def metadata(shape: Shape, name: str) -> str:
    return f"""  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 128
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: {shape.scratch}
    .kernarg_segment_align: 8
    .wavefront_size: {shape.wave}
    .sgpr_count: 48
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: bytes, .offset: 0, .size: 128, .value_kind: by_value}}
"""


def source(shapes: list[Shape]) -> str:
    """Kernels of one processor and wave size, ``dump0`` and so on, which write into one variable."""
    named = [(shape, f"dump{n}") for n, shape in enumerate(shapes)]
    return f"""
.amdgcn_target "amdgcn-amd-amdhsa--{shapes[0].target}"
.text
{"".join(code(*one) for one in named)}
.rodata
{"".join(descriptor(*one) for one in named)}
.bss
.globl out
.protected out
.p2align 12
.type out,@object
out:
.zero {STRIDE * (WAVES + 1)}
.size out, {STRIDE * (WAVES + 1)}
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{shapes[0].target}
amdhsa.kernels:
{"".join(metadata(*one) for one in named)}...
.end_amdgpu_metadata
"""


def kernels(shapes: list[Shape]) -> Path:
    """Their code object."""
    shape, folder = shapes[0], Path(_folder().name)
    base = folder / f"entry{len(list(folder.glob('*.s')))}"
    base.with_suffix(".s").write_text(source(shapes))
    attributes = f"-mattr={'+' if shape.wave == 64 else '-'}wavefrontsize64"
    more = [attributes] if shape.target in ("gfx1030", "gfx1100", "gfx1201") else []
    assembler = ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", f"-mcpu={shape.target}", *more, "-filetype=obj"]
    subprocess.run([*assembler, str(base.with_suffix(".s")), "-o", str(base.with_suffix(".o"))], check=True)
    linker = ["ld.lld-22", "-shared", str(base.with_suffix(".o")), "-o", str(base.with_suffix(".hsaco"))]
    subprocess.run(linker, check=True)
    return base.with_suffix(".hsaco")


__all__ = ["ARCHITECTED", "PRELOADS", "SGPRS", "STRIDE", "SYSTEM", "USER", "WAVES", "Shape", "kernels"]
