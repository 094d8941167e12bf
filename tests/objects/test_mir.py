"""MIR of our own kernels: llc accepts it, and makes the original instructions of it; the map goes there and back."""

from __future__ import annotations

import re
import shutil
import subprocess

import compiled
import pytest
from cli import luthier, succeeds

import luthier as lt

LLC = shutil.which("llc-22") or "/usr/lib/llvm-22/bin/llc"
OBJDUMP = shutil.which("llvm-objdump-22") or "/usr/lib/llvm-22/bin/llvm-objdump"
# Those named for a generation are about its own operations; `upper` about the number of its registers.
ELSEWHERE = re.compile("cdna|rdna|gfx|upper")
KERNELS = sorted(path.stem for path in compiled.SOURCES.glob("*.hip") if not ELSEWHERE.match(path.stem))


def _disassembly(path) -> dict[str, list[str]]:
    """The text of each function's instructions, with the bytes; literals that a linker fills in are left out."""
    out = subprocess.run([OBJDUMP, "-d", "-r", path], capture_output=True, text=True, check=True).stdout
    functions: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in out.splitlines():
        if heading := re.fullmatch(r"[0-9a-f]+ <(.*)>:", line):
            lines = functions.setdefault(heading[1], [])
        elif "R_AMDGPU" in line:
            lines[-1] = re.sub(r" [0-9A-F]{8}$", " (linked)", re.sub(r"(0x|lit\(0x)[0-9a-f]+\)?", "(linked)", lines[-1]))
        elif "//" in line:
            # The address and the target's label differ, the rest may not.
            text, _, encoding = line.strip().rpartition("//")
            lines.append(text.strip() + " " + re.sub(r" <.*>", "", encoding.partition(":")[2]))
    return functions


def _unlinked(lines: list[str], made: list[str]) -> list[str]:
    """The original with the literals left out that are left out of the copy."""
    return [
        re.sub(r" [0-9A-F]{8}$", " (linked)", re.sub(r"(0x|lit\(0x)[0-9a-f]+\)?", "(linked)", a)) if "(linked)" in b else a
        for a, b in zip(lines, made)
    ]


@pytest.mark.parametrize("level", compiled.LEVELS)
def test_llc_gives_back_the_kernels(level, tmp_path):
    instructions = 0
    for name in KERNELS:
        path = compiled.code_object(name, level)
        program = lt.CodeObject.open(path).program
        source, made = tmp_path / f"{name}.mir", tmp_path / f"{name}.o"
        source.write_text(succeeds("lift", path, "--emit", "mir") if name == "vecadd" else program.to_mir().text)
        options = ["-x", "mir", "-mcpu=gfx90a", "-start-after=branch-relaxation", "-verify-machineinstrs", "-filetype=obj"]
        done = subprocess.run([LLC, *options, source, "-o", made], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, (name, done.stderr)
        originals, copies = _disassembly(path), _disassembly(made)
        for function in program.functions:
            count = len(function.instructions)
            copy = copies[function.name][:count]
            assert copy == _unlinked(originals[function.name], copy), (name, function.name)
            instructions += count
    assert instructions > 1000


def test_the_map_goes_there_and_back():
    program = lt.CodeObject.open(compiled.code_object("call", "O0")).program
    mir = program.to_mir()
    assert not mir.left_out and len(mir.functions) == len(program.functions)
    lines = mir.text.splitlines()
    for function in program.functions:
        for block in function.blocks:
            for index, instr in enumerate(block.instructions):
                assert mir.place(instr) == (function, block.number, index)
                assert mir.instruction(function, block.number, index) == instr
                assert f"    {mir.line(instr)}" in lines
            assert mir.instruction(function, block.number, len(block.instructions)) is None
    other = lt.CodeObject.open(compiled.code_object("vecadd")).program
    assert other.to_mir("vecadd").text.count("\nname:") == 1
    with pytest.raises(lt.ArgumentError):
        mir.line(other.functions[0].instructions[0])


def test_what_mir_cannot_say_is_reported(tmp_path):
    """A branch into another function, which MIR has no operand for."""
    source, made = tmp_path / "a.s", tmp_path / "a.hsaco"
    source.write_text(
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\n.globl f\n.type f,@function\nf:\n s_branch inside\n.size f,.-f\n'
        ".globl g\n.type g,@function\ng:\n s_nop 0\ninside:\n s_endpgm\n.size g,.-g\n"
    )
    clang = ["clang-22", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-x", "assembler", source, "-o", made]
    subprocess.run(clang, check=True)
    done = luthier("lift", made, "--emit", "mir")
    assert done.returncode == 0 and "f is left out" in done.stderr and "name: 'g'" in done.stdout, done
