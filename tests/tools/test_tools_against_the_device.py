"""Every number of the tools that come along is the mock device's own observation of the same launch, without a tool."""

from __future__ import annotations

from collections import Counter

import compiled
import kernel_cases
import numpy as np
import pytest
from tool_runs import Seen, every, watched

import luthier as lt
from luthier.tools.classes import class_of
from luthier.tools.coverage import merge_into


def entered(seen: Seen, address: int) -> dict[str, int]:
    return {"executed": seen.counts.get(address, 0), "lanes": seen.lanes[address]}


@every
def test_block_count(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("block_count"))
    assert told["blocks"] == {f"{b.address:#x}": entered(seen, b.address) for b in kernel.blocks}
    lines: dict[str, int] = {}
    for instr in kernel.instructions:
        if instr.source and instr.source[0].file and instr.source[0].line:
            line = f"{instr.source[0].file}:{instr.source[0].line}"
            lines[line] = max(lines.get(line, 0), seen.counts.get(instr.address, 0))
    assert {line: v["executed"] for line, v in told["lines"].items()} == lines
    # A loop is entered each time that its header runs behind a block that is not in it.
    starts = {b.address: b for b in kernel.blocks}
    events = seen.instructions[np.isin(seen.instructions["pc"], list(starts))]
    for loop in {loop.header.address: loop for f in kernel.functions for loop in f.loops}.values():
        inside = {b.address for b in loop.blocks}
        times, before = 0, {}
        for group, wave, pc in zip(events["workgroup"].tolist(), events["wave"].tolist(), events["pc"].tolist()):
            if starts[pc].function == loop.header.function:
                times += pc == loop.header.address and before.get((group, wave)) not in inside
                before[group, wave] = pc
        found = told["loops"][f"{loop.header.address:#x}"]
        assert (found["rounds"], found["entered"]) == (seen.counts.get(loop.header.address, 0), times)


@every
@pytest.mark.parametrize(
    "tool",
    ["opcode_hist:by=line", "opcode_hist:by=line,per=instruction", "instr_count:by=line"],
    ids=["block", "instruction", "count"],
)
def test_instructions_by_function_line_and_class(name, target, tool):
    told, seen, kernel = watched(name, target, lt.tools.load(tool))
    of: dict[str, dict[str, Counter]] = {"functions": {}, "lines": {}}
    classes: Counter[str] = Counter()
    opcodes: Counter[str] = Counter()
    for instr in kernel.instructions:
        n = seen.counts.get(instr.address, 0)
        frame = instr.source[0] if instr.source else None
        line = f"{frame.file}:{frame.line}" if frame and frame.file and frame.line else None
        for what, key in (("functions", instr.function.name), ("lines", line)):
            if key is not None and n:
                of[what].setdefault(key, Counter())[class_of(instr)] += n
        classes[class_of(instr)] += n
        opcodes[instr.mnemonic] += n
    for what, found in of.items():
        assert told[what] == {key: {"instructions": c.total(), "classes": dict(c)} for key, c in found.items()}
    if tool.startswith("instr_count"):
        assert told["instructions"] == opcodes.total()
    else:
        assert told["classes"] == +classes and told["opcodes"] == +opcodes


@pytest.mark.parametrize("options", ["by=file", "by=line,where=after"])
def test_instr_count_refuses_what_it_cannot_count(options):
    with pytest.raises(lt.ToolError, match="instr_count: by="):
        lt.tools.load(f"instr_count:{options}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_fma_f32 v0, v1, v2, v3", "valu f32"), ("v_pk_add_f16 v0, v1, v2", "valu packed f16"), ("v_cvt_f32_u32_e32 v0, v1", "valu f32"),
        ("v_mfma_f32_16x16x16f16 v[0:3], v[4:5], v[6:7], v[0:3]", "matrix f16"), ("v_lshlrev_b64 v[0:1], 2, v[2:3]", "valu b64"),
        ("global_load_dword v0, v[0:1], off", "vmem load"), ("ds_write_b32 v0, v1", "lds store"), ("s_add_u32 s0, s1, s2", "salu"),
        ("global_atomic_add v[0:1], v2, off", "vmem atomic"), ("s_load_dword s0, s[2:3], 0x0", "smem"), ("s_waitcnt vmcnt(0)", "wait"),
        ("v_cmp_gt_u32_e32 vcc, s0, v1", "valu u32"), ("v_mad_u64_u32 v[0:1], s[0:1], v2, 3, v[0:1]", "valu u32"),
    ],
)  # fmt: skip
def test_classes_are_those_of_unit_and_type(text, expected):
    source = f'KERNEL one(u32 *out) {{ asm volatile("{text}"); out[0] = 1; }}'
    code = lt.CodeObject.open(compiled.build(source, "gfx90a"))
    (instr,) = [i for i in code.instructions if i.text == text or i.text.split() == text.split()][:1]
    assert class_of(instr) == expected


@every
def test_divergence(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("divergence"))
    size = kernel.code_object.program.wavefront_size
    for block in kernel.blocks:
        found = entered(seen, block.address)
        assert told["blocks"][f"{block.address:#x}"] == {**found, "idle": found["executed"] * size - found["lanes"]}
    following: dict[int, Counter] = {}
    last: dict[tuple, tuple[int, int]] = {}
    for group, wave, pc, mask in seen.instructions[["workgroup", "wave", "pc", "exec"]].tolist():
        if (group, wave) in last:
            before, old = last[group, wave]
            kept = mask & old
            way = "other" if not old else "all" if kept == old else "none" if not kept else "some"
            following.setdefault(before, Counter())[pc] += 1
            following[before][way] += 1
        last[group, wave] = pc, mask
    for address, split in told["splits"].items():
        ways = following.get(int(address, 0), Counter())
        assert split == {way: ways[way] for way in ("all", "some", "none")}, address
    for address, branch in told["branches"].items():
        instr = next(i for i in kernel.instructions if i.address == int(address, 0))
        ways = following.get(instr.address, Counter())
        assert branch == {"taken": ways[instr.branch_target], "not taken": ways[instr.address + instr.size]}


@every
def test_coverage(name, target, tmp_path):
    tool = lt.tools.load(f"coverage:lcov={tmp_path / 'c.info'}")
    told, seen, kernel = watched(name, target, tool)
    ran: dict[tuple[str, int], bool] = {}
    for instr in kernel.instructions:
        if instr.source and instr.source[0].file and instr.source[0].line:
            at = instr.source[0].file, instr.source[0].line
            ran[at] = ran.get(at, False) or instr.address in seen.counts
    assert (told["covered"], told["of"]) == (sum(ran.values()), len(ran))
    assert {(f, int(n)): t > 0 for f, of in told["lines"].items() for n, t in of.items()} == ran
    lines, branches = {}, {}
    merge_into(str(tmp_path / "c.info"), lines, branches)
    assert lines == {f: {int(n): t for n, t in of.items()} for f, of in told["lines"].items()}


@every
def test_roofline(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("roofline"))
    flops: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    space = {i.address: "device" if i.is_global else i.memory_space for i in kernel.instructions}
    for instr in kernel.instructions:
        times = seen.counts.get(instr.address, 0) if instr.works_for == "wave" else seen.lanes[instr.address]
        for kind, n in instr.flops.items():
            flops[kind] += n * times
    for pc, size in seen.memory[["pc", "size"]].tolist():
        moved[space[pc]] += size
    assert told["flops"] == {k: n for k, n in flops.items() if k in told["flops"]} and +flops == +Counter(told["flops"])
    assert told["bytes"] == +moved


def test_roofline_counts_the_flops_that_theory_says():
    told, _, _ = watched("matmul", "gfx90a", lt.tools.load("roofline"))
    n = int(kernel_cases.launches("matmul")[0].args[3])
    assert told["flops"] == {"f32": 2 * n**3}


@every
def test_coalescing(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("coalescing"))
    line = told["line"]
    assert line == (64 if target == "gfx90a" else 128)
    for instr in kernel.instructions:
        if not (instr.is_global and instr.works_for == "lane" and instr.access_count == 1):
            continue
        lines = least = lanes = strided = 0
        steps = set()
        for access in seen.accesses(instr.address):
            address, size = access["address"].astype(int), instr.memory_width
            at = access["lane"].astype(int)
            if len(at) > 1 and all((address - address[0]) * (at[1] - at[0]) == (address[1] - address[0]) * (at - at[0])):
                strided += 1
                steps |= {int(address[1] - address[0])} if at[1] == at[0] + 1 else set()
            assert (access["size"] == size).all()
            touched = len({n for a in address for n in range(a // line, (a + size - 1) // line + 1)})
            lines, lanes = lines + touched, lanes + len(access)
            least += min(touched, -(-len(access) * size // line))
        found = told["accesses"][f"{instr.address:#x}"]
        assert found["executed"] == seen.counts.get(instr.address, 0)
        assert (found["lanes"], found["lines"], found["least"]) == (lanes, lines, least), instr.text
        assert (found["strided"], found["stride"]) == (strided, steps.pop() if len(steps) == 1 else None), instr.text


@every
def test_lds_conflicts(name, target):
    told, seen, kernel = watched(name, target, lt.tools.load("lds_conflicts"))
    for instr in kernel.instructions:
        if instr.memory_space != "lds" or instr.access_count != 1:
            continue
        dwords = 4 if instr.memory_width > 8 else max(instr.memory_width // 4, 1)
        size, cycles, groups = 32 // dwords, 0, 0
        for access in seen.accesses(instr.address):
            for start in range(0, 64, size):
                group = access[(access["lane"] >= start) & (access["lane"] < start + size)]
                words = {int(a) // 4 for a in group["address"]}
                groups += len(words) > 0
                cycles += max(Counter(word % 32 for word in words).values(), default=0)
        found = told["accesses"][f"{instr.address:#x}"]
        assert found["executed"] == seen.counts.get(instr.address, 0)
        assert (found["cycles"], found["conflicts"]) == (cycles, cycles - groups), instr.text


def test_lds_conflicts_are_those_of_the_stride():
    source = """
    LDS u32 words[2048];
    KERNEL strided(u32 *out, u32 stride) {
        u32 x = local_x(); words[x] = x; barrier(); out[x] = words[x * stride % 2048]; }
    """
    code = lt.CodeObject.open(compiled.build(source, "gfx90a"))
    for stride, degree in ((1, 1), (2, 2), (3, 1), (8, 8), (32, 32)):
        result = lt.Device("gfx90a").run(
            code,
            "strided",
            grid=64,
            block=64,
            args=[np.zeros(64, "u4"), np.uint32(stride)],
            tools=[lt.tools.load("lds_conflicts")],
        )
        loads = [i for i in code.kernel("strided").instructions if i.memory_space == "lds" and i.is_load]
        (found,) = [result.tools["lds_conflicts"]["accesses"][f"{i.address:#x}"] for i in loads]
        assert found == {"executed": 1, "cycles": 2 * degree, "conflicts": 2 * degree - 2}


def test_kernel_args():
    told, _, _ = watched("vecadd", "gfx90a", lt.tools.load("kernel_args"))
    n = kernel_cases.N
    (launch,) = told["launches"]
    assert launch["args"] == [*[{"array": "float32", "shape": [n], "bytes": 4 * n}] * 3, n] and launch["kernel"] == "vecadd"


def test_lcov_files_add_up_and_others_are_refused(tmp_path):
    path = tmp_path / "c.info"
    merge_into(str(path), {"a.hip": {1: 2, 2: 0}}, {"a.hip": {(1, 0x40, 0): 1, (1, 0x40, 1): 0}})
    lines, branches = {"a.hip": {1: 3}, "b.hip": {7: 1}}, {}
    merge_into(str(path), lines, branches)
    assert lines == {"a.hip": {1: 5, 2: 0}, "b.hip": {7: 1}} and branches == {"a.hip": {(1, 0x40, 0): 1, (1, 0x40, 1): 0}}
    (tmp_path / "no.info").write_text("what is this\n")
    with pytest.raises(lt.ArgumentError, match="no.info:1: no line of an lcov file"):
        merge_into(str(tmp_path / "no.info"), {}, {})
    assert (tmp_path / "no.info").read_text() == "what is this\n"
