"""What LLVM's hazard recognizer puts between the instructions of a sequence, as assembly; and what strict mode finds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

import luthier as lt

LLC = shutil.which("llc-22") or "/usr/lib/llvm-22/bin/llc"

KERNEL = """
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
  s_endpgm
.size {name}, .-{name}
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 96
  {extra}
.end_amdhsa_kernel
"""
METADATA = """
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: {wave}
    .sgpr_count: 96
    .vgpr_count: 128
    .max_flat_workgroup_size: 64
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
"""


def assemble(kernels: dict[str, list[str]], target: str, wave: int, folder: Path) -> Path:
    """Kernels of these instructions. The buffer's address comes in the segment that s[0:1] points at."""
    extra, flags = "", []
    if target in ("gfx90a", "gfx942", "gfx950"):
        extra = ".amdhsa_accum_offset 64"
    elif not target.startswith("gfx9"):
        extra = f".amdhsa_wavefront_size32 {int(wave == 32)}"
        flags = ["-mwavefrontsize64"] if wave == 64 else ["-mno-wavefrontsize64"]
    text = "".join(KERNEL.format(name=name, body="\n".join(lines), extra=extra) for name, lines in kernels.items())
    metadata = "".join(METADATA.format(name=name, wave=wave) for name in kernels)
    source, out = folder / "k.s", folder / "k.hsaco"
    source.write_text(
        f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n{text}\n.amdgpu_metadata\n---\namdhsa.version: [1, 2]\n'
        f"amdhsa.kernels:{metadata}...\n.end_amdgpu_metadata\n"
    )
    clang = ["clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *flags, "-x", "assembler", source, "-o", out]
    subprocess.run(clang, check=True)
    return out


def _inserted(line: str) -> list[str] | None:
    """The assembly of an instruction of MIR that only the recognizer makes; None for any other."""
    if found := re.match(r"S_NOP (\d+)$", line):
        return ["s_nop 0"] * (int(found[1]) + 1)
    if found := re.match(r"S_WAITCNT_DEPCTR (\d+)", line):
        return [f"s_waitcnt_depctr {int(found[1]):#x}"]
    if line.startswith("V_NOP_e32"):
        return ["v_nop"]
    if line.startswith("S_WAITCNT_VSCNT"):
        return ["s_waitcnt_vscnt null, 0x0"]
    if re.match(r"\$sgpr_null = S_MOV_B32 0$", line):
        return ["s_mov_b32 null, 0"]
    if found := re.match(r"(?:dead )?\$vgpr(\d+) = V_MOV_B32_e32 (?:killed |undef )\$vgpr(\d+)", line):
        return [f"v_mov_b32 v{found[1]}, v{found[2]}"]
    return None


def padding(path: Path, target: str, kernels: dict[str, list[str]]) -> dict[str, list[list[str]]]:
    """What llc puts before each kernel's instructions. None of them may be a wait or a nop."""
    mir = lt.CodeObject.open(path).program.to_mir()
    assert not mir.left_out, mir.left_out
    passes = ["-run-pass=post-RA-hazard-rec"]
    if target.startswith("gfx12"):
        passes.append("-run-pass=amdgpu-wait-sgpr-hazards")
    source = path.with_suffix(".mir")
    source.write_text(mir.text)
    # Replays after a page fault (XNACK) ask for more than wait states can say; no code runs with them here.
    command = [LLC, "-x", "mir", f"-mcpu={target}", "-mattr=-xnack", *passes, source, "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    paddings = {}
    for function in done.stdout.split("\nname:")[1:]:
        name = function.split()[0].strip("'")
        before: list[list[str]] = [[]]
        for line in map(str.strip, function.partition("bb.0:")[2].splitlines()):
            if not line or line.startswith(("liveins:", "successors:", "bb.", "...", "---", ";")):
                continue
            made = _inserted(line)
            if made is None:
                before.append([])
            else:
                before[-1] += made
        count = len(kernels[name])
        assert len(before) == count + 2, (name, function)  # s_endpgm and what is behind it
        paddings[name] = before[:count]
    return paddings


def findings(path: Path, target: str, names) -> dict[str, list[dict]]:
    """The hazards that strict mode finds in each kernel, run as one wave."""
    module = lt.Device(target).load(lt.CodeObject.open(path))
    found = {}
    for name in names:
        result = module.run(name, grid=1, block=1, args=[np.zeros(4096, np.uint32)], strict=["hazard"])
        found[name] = result.findings
    return found
