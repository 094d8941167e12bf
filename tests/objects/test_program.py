"""Functions, blocks and instructions from Python: what LLVM says of the same code, lists, and the rules of liveness."""

from __future__ import annotations

import collections.abc
import json
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier.columns import COLUMNS, LIVE_COLUMNS, MEMORY_SPACES

LLVM = Path("/usr/lib/llvm-22/bin")


@pytest.fixture(scope="module")
def call():
    return lt.CodeObject.open(compiled.code_object("call", flags=("-g",)))


@pytest.fixture(scope="module", params=("gfx90a", "gfx908", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250"))
def real(corpus, request):
    """Code objects of a real library: 15,000 instructions each."""
    return [lt.CodeObject.open(path) for path in sorted((corpus / "bitsandbytes" / request.param).glob("*_1.hsaco"))]


@pytest.fixture(scope="module")
def large(corpus):
    return lt.CodeObject.open(corpus / "onnxruntime" / "gfx90a" / "libonnxruntime_providers_rocm_8.hsaco")


def assemble(tmp_path, *lines: str) -> list[lt.Instruction]:
    """The instructions of a function made of these lines."""
    source, out = tmp_path / "code.s", tmp_path / "code.hsaco"
    body = "\n".join(lines)
    source.write_text(f".text\n.globl code\n.p2align 8\n.type code,@function\ncode:\n{body}\ns_endpgm\n.size code, .-code\n")
    command = [LLVM / "clang", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-w", source, "-o", out]
    subprocess.run(command, check=True)
    (function,) = lt.CodeObject.open(out).functions
    assert len(function.instructions) == len(lines) + 1
    return list(function.instructions[:-1])


def test_sequences_are_like_lists(call):
    everything, kernel = call.instructions, call.kernels[0]
    for lazy in (everything, call.blocks, kernel.instructions, kernel.blocks):
        items = list(lazy)
        assert isinstance(lazy, collections.abc.Sequence) and len(lazy) == len(items) > 3
        for cut in (slice(None), slice(2, 5), slice(None, None, -1), slice(-4, None, 2), slice(5, 2), slice(1, -1, 3)):
            assert list(lazy[cut]) == items[cut] and type(lazy[cut]) is type(lazy), cut
            assert list(lazy[cut][1:]) == items[cut][1:] and list(reversed(lazy[cut])) == items[cut][::-1]
        assert [lazy[i] for i in range(-len(items), len(items))] == items + items
        assert [lazy.index(item) for item in items] == list(range(len(items))) and items[2] in lazy
        for place in (len(items), -len(items) - 1):
            with pytest.raises(IndexError):
                lazy[place]
        assert lazy[:] == lazy and lazy[1:] != lazy and lazy.count(items[0]) == 1 and "x" not in lazy
        with pytest.raises(ValueError):
            lazy[1:].index(items[0])
        with pytest.raises(TypeError):
            lazy["x"]
    assert [i.id for i in everything] == list(range(len(everything)))
    assert [i for f in kernel.functions for i in f.instructions] == list(kernel.instructions)
    assert [i for b in kernel.blocks for i in b.instructions] == list(kernel.instructions)
    assert everything[0] not in lt.CodeObject.open(call.data).instructions


def test_functions_know_each_other(call):
    (kernel,) = (f for f in call.functions if f.kind == "kernel")
    known = {f.address: f for f in call.functions}
    for function in call.functions:
        called = {name for _, name in function.calls if name}
        assert called <= {f.name for f in function.callees}
        assert all(function in callee.callers for callee in function.callees)
        assert known[function.address] == function and call.functions[function.id] == function
    assert kernel.callees and not kernel.callers
    for block in call.blocks:
        assert all(block in successor.predecessors for successor in block.successors)
        assert call.blocks[block.id] == block
    with pytest.raises(lt.ArgumentError, match="another program"):
        call.program.blocks_of(lt.CodeObject.open(call.data).functions)
    # However many there are said to be.
    for many in (range(10**9), [kernel, 3], "functions"):
        for asked in (call.program.blocks_of, call.program.instructions_of):
            with pytest.raises(lt.ArgumentError, match="functions of the program are needed, not (int|str)"):
                asked(many)
    assert call.program.instructions_of(iter(call.functions)) == call.instructions


def test_loops():
    code_object = lt.CodeObject.open(compiled.code_object("matmul"))
    (kernel,) = (f for f in code_object.functions if f.kind == "kernel")
    assert kernel.loops
    for loop in kernel.loops:
        assert loop.header in loop.blocks and loop.depth == (loop.parent.depth + 1 if loop.parent else 1)
        inside = set(loop.blocks)
        # Control comes in through the header only, and goes back to it.
        assert all(set(b.predecessors) <= inside for b in loop.blocks if b != loop.header)
        assert inside & set(loop.header.predecessors) and set(loop.header.predecessors) - inside
        assert loop.parent is None or inside < set(loop.parent.blocks)
    for block in kernel.blocks:
        around = [loop for loop in kernel.loops if block in loop.blocks]
        assert block.loop == max(around, key=lambda loop: loop.depth, default=None)


REGISTER = re.compile(r"(?<![\w.:])(?:[sva]\[\d+:\d+\]|[sva]\d+|ttmp\d+|vcc|exec|m0|flat_scratch|xnack_mask)(?:_lo|_hi)?(?!\w)")


def test_operands_are_the_registers_of_the_text(real):
    kinds = set()
    for code_object in real:
        for instr in code_object.instructions[::3]:
            operands = instr.operands
            kinds.update(o.kind for o in operands)
            named = sorted(REGISTER.findall(instr.text))
            assert sorted(str(o.register) for o in operands if o.register) == named, instr
            for operand in operands:
                register = operand.register
                assert (register is None) == (operand.kind != "register")
                if register:
                    assert register.width == operand.units and register.name == str(register)
                    touched = [*(instr.reads if operand.is_read else ()), *(instr.writes if operand.is_written else ())]
                    # M0 chooses among all registers from the one that v_movreld names.
                    touched += instr.writes if "movreld" in instr.mnemonic else []
                    assert any(r.overlaps(register) for r in touched), instr
                elif operand.kind in ("literal", "inline") and not instr.is_wait and "hwreg" not in instr.text:
                    # Plain numbers stand in the text as they are.
                    text = hex(operand.value) if operand.kind == "literal" else str(operand.value)
                    assert text in instr.text or "0.15915494" in instr.text, instr
    assert {"register", "inline", "literal", "immediate"} <= kinds


def test_registers_past_v255():
    """gfx1250 names 256 VGPRs in an instruction, and MODE which of 1,024 these are. The compiler's own text remarks on it."""
    path = compiled.code_object("upper", target="gfx1250")
    text = compiled.code_object("upper", target="gfx1250", flags=("-S",)).read_text()
    body = text.split("\nupper:", 1)[1].split(".section", 1)[0]
    lines = [line for line in body.splitlines() if re.match(r"\t[a-z]", line)]
    remark = re.compile(r"/\*(v[\d\[\]:]+)\*/")
    (kernel,) = lt.CodeObject.open(path).kernels
    instructions = kernel.instructions
    assert [line.split()[0] for line in lines] == [instr.mnemonic.split()[0] for instr in instructions][: len(lines)]
    live, seen = kernel.columns("live_vgprs")["live_vgprs"], 0
    for place, (line, instr) in enumerate(zip(lines, instructions)):
        upper = [o for o in instr.operands if o.register and o.register.file == "vgpr" and o.register.index + o.units > 256]
        assert [o.register.name for o in upper] == remark.findall(line), (instr, line)
        before = names(instr.live_before)
        assert sum(name.startswith("v") and name[1:].isdigit() for name in before) == live[place]
        for operand in upper:
            parts = {f"v{operand.register.index + k}" for k in range(operand.units)}
            assert not operand.is_read or parts <= names(instr.reads) & before, instr
            assert not operand.is_written or parts <= names(instr.writes), instr
        seen += len(upper)
    assert seen > 500 and live.max() > 320


def test_operands_by_example(tmp_path):
    fma, move, load, pack, sdwa = assemble(
        tmp_path,
        "v_fma_f32 v0, -v1, |v2|, 0.5",
        "s_mov_b64 s[4:5], 0x12345678",
        "s_load_dwordx4 s[8:11], s[4:5], 0x10",
        "v_pk_add_f16 v0, v1, v2 op_sel_hi:[0,1] neg_lo:[1,0]",
        "v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD",
    )
    dst, a, b, c = fma.operands
    assert [o.name for o in fma.operands] == ["vdst", "src0", "src1", "src2"]
    assert (dst.is_written, dst.is_read, a.is_read) == (True, False, True)
    assert (str(a.register), a.register.file, a.register.index, a.register.width) == ("v1", "vgpr", 1, 1)
    assert (a.modifiers, b.modifiers, c.modifiers) == (["neg"], ["abs"], [])
    assert (c.kind, c.value, c.bits, c.type) == ("inline", 0.5, 0x3F000000, "f32")
    assert [(o.kind, o.value) for o in move.operands] == [("register", None), ("literal", 0x12345678)]
    assert (str(move.operands[0]), move.operands[0].register.file) == ("s[4:5]", "sgpr")
    assert (load.operands[2].kind, load.operands[2].value) == ("immediate", 16)
    assert pack.modifiers == {"op_sel_hi": [0, 1], "neg_lo": [1, 0]} and pack.operands[1].modifiers == ["neg"]
    assert sdwa.modifiers["dst_sel"] == "WORD_1" and sdwa.modifiers["src0_sel"] == "BYTE_0"
    assert lt.Reg(dst.register) == lt.Reg("v0") and str(lt.Reg(dst.register)) == "v0"


def test_memory_modifiers_and_waits(tmp_path):
    expected = [
        ("global_load_dword v0, v[2:3], off offset:-16 glc", "global", 4, {"offset": -16, "glc": True}),
        ("global_load_ubyte v0, v1, s[2:3]", "global", 1, {}),
        ("flat_atomic_add_x2 v[0:1], v[2:3]", "flat", 8, {}),
        ("ds_read2_b64 v[0:3], v4 offset0:2 offset1:255", "lds", 16, {"offset0": 2, "offset1": 255}),
        ("ds_write_b16 v0, v1 offset:4", "lds", 2, {"offset": 4}),
        ("buffer_load_dwordx3 v[0:2], off, s[0:3], s4 offset:12 slc", "buffer", 12, {"offset": 12, "slc": True}),
        ("buffer_load_format_x v0, off, s[0:3], 0", "buffer", None, {}),
        ("scratch_store_dword off, v0, s1", "scratch", 4, {}),
        ("s_load_dwordx8 s[0:7], s[8:9], 0x20 glc", "global", 32, {"glc": True}),
        ("image_load v[0:3], v4, s[0:7] dmask:0xf unorm", "image", None, {"dmask": 15, "unorm": True}),
        ("ds_append v0 offset:8", "lds", 4, {"offset": 8}),
        ("v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0x3", None, None,
         {"quad_perm": [3, 2, 1, 0], "row_mask": 15, "bank_mask": 3}),
        ("v_max_f32_e64 v0, v1, v2 clamp mul:2", None, None, {"clamp": True, "mul": 2}),
        ("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", None, None, {"offset": "swizzle(SWAP,1)"}),
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", None, None, {}),
        ("s_barrier", None, None, {}),
    ]  # fmt: skip
    instrs = assemble(tmp_path, *(text for text, *_ in expected))
    for instr, (text, space, width, modifiers) in zip(instrs, expected):
        assert instr.text == text
        assert (instr.memory_space, instr.memory_width, instr.modifiers) == (space, width, modifiers), text
        kinds = {"load", "store", "atomic"} & instr.flags
        assert kinds == {k for k in ("load", "store", "atomic") if getattr(instr, f"is_{k}")}
        assert bool(kinds) == (space is not None)
        assert instr.waits == ({"vmcnt": 3, "lgkmcnt": 0} if instr.is_wait else {})
    assert {"load", "store", "atomic"} <= instrs[2].flags and instrs[4].is_store and not instrs[4].is_atomic
    assert [i.is_barrier for i in instrs] == [False] * (len(instrs) - 1) + [True]


def test_modifiers_stand_in_the_text(real):
    seen = set()
    for instr in real[0].instructions:
        for name, value in instr.modifiers.items():
            seen.add(name)
            if value is True:
                assert f" {name}" in instr.text
            else:
                text = re.search(rf" {name}:(\[[^]]*\]|\S+)", instr.text)[1]
                assert text.replace(" ", "") == str(value).replace(" ", "") or int(text, 0) == value, instr
    wanted = {"offset"} if real[0].processor.startswith("gfx1") else {"offset", "op_sel", "row_mask"}
    assert wanted <= seen, seen


def test_liveness_at_every_point(call, real):
    for code_object in (call, real[-1]):
        for block in code_object.blocks[:400]:
            points = [(i, i.live_before, i.live_after) for i in block.instructions]
            for (_, _, after), (following, before, _) in zip(points, points[1:]):
                assert names(before) <= names(after), following
            for instr, before, _ in points:
                missing = names(instr.reads) - names(before)
                # A scalar bit that is always there, and MODE, are no registers that liveness follows everywhere.
                assert not {n for n in missing if n[0] in "sva" and n != "scc"}, (instr, missing)
            assert names(points[-1][2]) == names(block.live_out)
    dead = [i for i in call.instructions if i.is_valu and not names(i.writes) & names(i.live_after)]
    assert len(dead) < len(call.instructions) / 10


def names(registers) -> set[str]:
    """One by one."""
    found = set()
    for register in registers:
        if register.file == "special":
            found.add(register.name)
        else:
            found.update(f"{register.file[0]}{register.index + i}" for i in range(register.width))
    return found


def test_columns_say_what_the_objects_say(call, real):
    bits = lt.flag_bits()
    for source in (call, call.kernels[0], real[0]):
        columns = source.columns()
        assert tuple(columns) == COLUMNS
        files = getattr(source, "code_object", source).program.source_files
        code_object = getattr(source, "code_object", source)
        for place in range(0, len(source.instructions), 1 if len(source.instructions) < 3000 else 17):
            instr = source.instructions[place]
            row = {name: values[place].item() for name, values in columns.items()}
            line = instr.source[0] if instr.source else None
            assert row == {
                "address": instr.address,
                "size": instr.size,
                "opcode_id": instr.opcode_id,
                "flags": sum(bits[name] for name in instr.flags),
                "block": instr.block.id,
                "function": instr.function.id,
                "target": instr.branch_target or 0,
                "memory_space": MEMORY_SPACES.index(instr.memory_space),
                "memory_width": instr.memory_width or 0,
                "file": files.index(line.file) if line and line.file else -1,
                "line": line.line if line else 0,
                "column": line.column if line else 0,
            }
            assert code_object.program.mnemonics[instr.opcode_id] == instr.mnemonic
            assert code_object.program.opcodes[instr.opcode_id] == instr.opcode
            assert code_object.program.instruction_at(instr.address) == instr
    live = call.columns(*LIVE_COLUMNS)
    for instr in call.instructions:
        before = names(instr.live_before)
        sizes = [sum(re.fullmatch(rf"{file}\d+", name) is not None for name in before) for file in "sva"]
        assert [live[name][instr.id] for name in LIVE_COLUMNS] == sizes, instr
    assert list(call.columns("size")) == ["size"]
    with pytest.raises(lt.ArgumentError, match="no column 'colour'"):
        call.columns("colour")


def test_arrow(call):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = call.to_arrow()
    assert isinstance(table, pyarrow.Table) and table.num_rows == len(call.instructions)
    for row, instr in zip(table.to_pylist(), call.instructions):
        assert (row["mnemonic"], row["opcode"], row["address"]) == (instr.mnemonic, instr.opcode, instr.address)
        assert (row["function"], row["memory_space"]) == (instr.function.name, instr.memory_space)
        assert row["file"] == (instr.source[0].file if instr.source else None)
    assert call.kernels[0].to_arrow("size").column_names == ["size"]


def test_without_pyarrow(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(lt.ArgumentError, match="pip install pyarrow"):
        call.to_arrow()


def symbolize(path, addresses):
    """llvm-symbolizer's frames of each address."""
    command = [LLVM / "llvm-symbolizer", "--inlines", "--functions=short", "--output-style=JSON", f"--obj={path}"]
    text = "".join(f"{address:#x}\n" for address in addresses)
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        frames = [(f["FunctionName"], f["FileName"], f["Line"], f["Column"]) for f in json.loads(line)["Symbol"]]
        yield [frame for frame in frames if frame != ("", "", 0, 0)]


@pytest.mark.parametrize("name", ["reduce", "call"])
def test_source_lines(name):
    path = compiled.code_object(name, flags=("-g",))
    code_object = lt.CodeObject.open(path)
    instrs = code_object.instructions
    assert len(instrs) > 20
    sources = [instr.source for instr in instrs]
    for instr, frames, expected in zip(instrs, sources, symbolize(path, (i.address for i in instrs))):
        found = [(f.function or "", f.file or "", f.line, f.column) for f in frames]
        assert found == expected, instr
    assert max(map(len, sources)) > 1 and {f.file for s in sources for f in s} <= set(code_object.program.source_files)

    # The listing has each change of line, in front of the instructions.
    now, listed = None, []
    for line in code_object.disasm().splitlines():
        if line.startswith("; "):
            now = line[2:]
        elif line.startswith("\t"):
            listed.append(now)
    assert listed == [", inlined into ".join(map(str, s)) or "no source line" for s in sources]

    # So has the JSON.
    rows = json.loads(code_object.program.to_json())["source"]
    starts = [row["vaddr"] for row in rows]
    for instr, frames in zip(instrs, sources):
        row = rows[np.searchsorted(starts, instr.address, "right") - 1]
        assert [(f["function"], f["file"], f["line"], f["column"]) for f in row["frames"]] == [
            (f.function, f.file, f.line, f.column) for f in frames
        ]
    assert len(rows) < len(instrs)


def test_instrumented_code_has_the_lines_of_its_original():
    original = lt.CodeObject.open(compiled.code_object("saxpy", flags=("-g",)))
    instrumented = lt.instrument(original, [lt.tools.load("instr_count:per=instruction")])
    (copy,) = (f for f in instrumented.functions if f.kind == "kernel")
    sources = [i.source for i in copy.instructions]
    expected = [i.source for i in original.instructions]
    assert [s for s in sources if s] == [s for s in expected if s] and [] in sources
    columns = instrumented.columns("line", "function")
    assert (columns["line"][columns["function"] == copy.id] != 0).sum() == sum(s != [] and s[0].line != 0 for s in expected)


def test_without_lines_or_with_damaged_ones(call):
    plain = lt.CodeObject.open(compiled.code_object("call"))
    assert not any(i.source for i in plain.instructions) and plain.program.source_files == []
    assert json.loads(plain.program.to_json())["source"] is None
    section = next(s for s in call.inspect()["sections"] if s["name"] == ".debug_info")
    data = bytearray(call.data)
    data[section["offset"] + 4] = 99  # the DWARF version
    damaged = lt.CodeObject.open(bytes(data))
    assert any("no source lines: debug information" in line for line in damaged.program.remarks())
    assert damaged.disasm() == plain.disasm() and damaged.columns("size")["size"].any()
    for ask in (lambda: damaged.instructions[0].source, lambda: damaged.program.source_files, damaged.columns):
        with pytest.raises(lt.LoadError, match="unknown DWARF version"):
            ask()


def test_a_large_object_costs_little_until_it_is_asked(large):
    program = large.program
    tracemalloc.start()
    instrs = program.instructions
    assert len(instrs) > 690_000
    assert instrs[len(instrs) // 2].block and instrs[100:-100:3][5].text
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    columns = large.columns()
    assert all(len(values) == len(instrs) for values in columns.values())
    assert (np.diff(columns["address"].astype("i8")) >= columns["size"][:-1]).all()
    assert (np.diff(columns["block"]) <= 1).all() and columns["block"][-1] == len(program.blocks) - 1
