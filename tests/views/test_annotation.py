"""Annotated code: its numbers are the device's, and it is the same as HTML, as text and as JSON."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import compiled
import numpy as np
import pytest
from browser import look, needs_chromium, picture

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")


def product(target: str, n: int = 32, **watched):
    code = lt.CodeObject.open(compiled.code_object("matmul", target=target, flags=("-g",)))
    a = np.arange(n * n, dtype="f4") % 7
    args = [a, a.copy(), np.zeros(n * n, "f4"), np.uint32(n)]
    module = lt.Device(target).load(code)
    return module.trace("matmul", grid=(n, n), block=(16, 16), args=args, **watched)


@pytest.mark.parametrize("target", TARGETS)
def test_columns_hold_what_the_device_has_seen_at_each_instruction(target):
    trace = product(target, events=["instructions", "memory"])
    data = trace.annotate().to_dict()
    titles = [column["title"] for column in data["columns"]]
    seen = {title: {} for title in titles}
    for function in data["functions"]:
        for title, values in zip(titles, function["values"]):
            seen[title].update(zip(function["instructions"]["address"], values))
    executed = {pc: n for pc, n in seen["executed"].items() if n}
    assert executed == trace.counts
    for pc in executed:
        masks = trace.instructions["exec"][trace.instructions["pc"] == pc]
        assert seen["lanes"][pc] == sum(bin(int(mask)).count("1") for mask in masks)
        accesses = trace.memory[trace.memory["pc"] == pc]
        assert (seen["bytes"][pc] or 0) == accesses["size"].sum()


def test_instructions_are_those_of_the_program_with_blocks_loops_and_lines():
    trace = product("gfx90a")
    code = trace.result.module.code_object
    (function,) = trace.annotate().to_dict()["functions"]
    kernel = code.kernel("matmul")
    assert function["instructions"]["address"] == [i.address for i in kernel.instructions]
    assert function["instructions"]["line"] == [i.source[0].line if i.source else 0 for i in kernel.instructions]
    live = [sum(r.width for r in i.live_before if r.file == "vgpr") for i in kernel.instructions]
    assert function["instructions"]["live_vgprs"] == live
    for block, told in zip(kernel.blocks, function["blocks"]):
        assert told["address"] == block.address and told["count"] == len(block.instructions)
        assert [function["blocks"][s]["address"] for s in told["successors"]] == [s.address for s in block.successors]
        assert len(told["loops"]) == (block.loop.depth if block.loop else 0)


def test_text_has_every_instruction_with_its_count_and_colours_only_when_asked():
    trace = product("gfx90a")
    annotation = trace.annotate()
    text = annotation.text()
    assert "\x1b" not in text and "\x1b[" in annotation.text(color=True)
    plain = re.sub(r"\x1b\[[\d;]*m", "", annotation.text(color=True))
    assert plain == text
    for instr in trace.result.module.code_object.kernel("matmul").instructions:
        if instr.branch_target is None:
            count = f"{trace.counts.get(instr.address, ''):,}" if instr.address in trace.counts else ""
            assert re.search(rf"^\s*{count}\s+\d*\s+{re.escape(instr.text)}$", text, re.M), instr.text
    assert "tile_a[y][x] = a[row * n + k + x]" in text


def test_files_are_chosen_by_name_and_others_are_refused(tmp_path):
    annotation = product("gfx90a").annotate()
    annotation.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(json.dumps(annotation.to_dict()))
    with pytest.raises(lt.ArgumentError, match="html, json or text"):
        annotation.save(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()


def test_what_two_tools_tell_alike_is_one_column():
    code = lt.CodeObject.open(compiled.code_object("matmul"))
    address = code.kernels[0].instructions[0].address
    reports = [lt.Report(name) for name in ("a", "b", "c")]
    for report, count in zip(reports, (4, 4, 5)):
        report.column("executed", {address: count}, unit="waves")
    annotation = lt.Annotation(code, columns=[column for report in reports for column in report.columns])
    assert [column.values for column in annotation.columns] == [{address: 4}, {address: 5}]


def test_findings_are_a_column(tmp_path):
    code = lt.CodeObject.open(compiled.code_object("vecadd", flags=("-g",)))
    short = [np.ones(64, "f4"), np.ones(64, "f4"), np.ones(32, "f4"), np.uint32(64)]
    result = lt.Device("gfx90a").load(code).run("vecadd", grid=64, block=64, args=short, strict=True)
    column = next(c for c in result.annotate().columns if c.title == "findings")
    (store,) = [i for i in code.kernel("vecadd").instructions if i.is_store]
    assert column.values == {store.address: sum(f["count"] for f in result.findings)}


def test_the_page_asks_for_nothing_from_elsewhere():
    page = product("gfx90a").annotate().html()
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", page)
    assert "{{" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


@needs_chromium
def test_the_page_folds_searches_and_links_lines_in_a_browser(tmp_path):
    trace = product("gfx90a", events=["instructions", "memory"])
    page = tmp_path / "page.html"
    trace.annotate().save(page)
    kernel = trace.result.module.code_object.kernel("matmul")
    seen = look(
        page,
        """
        await until(() => document.body.dataset.ready);
        const visible = () => [...document.querySelectorAll("#code tr.i")].filter(shown).length;
        const all = visible(); $("foldall").click(); const folded = visible(); $("foldall").click(); const again = visible();
        $("search").value = "s_barrier"; search(); const hits = document.querySelectorAll("#code tr.hit").length; const text = $("hits").textContent;
        const line = [...document.querySelectorAll("#source .l")].find(d => d.textContent.includes("tile_a[y][x] = a["));
        line.click(); const marked = document.querySelectorAll("#code tr.sel").length;
        $("showgraph").click(); const nodes = document.querySelectorAll("#graph .node").length;
        const before = getComputedStyle(document.body).backgroundColor; $("theme").click();
        return {all, folded, again, hits, text, marked, nodes, changes: before !== getComputedStyle(document.body).backgroundColor};
        """,
    )
    (function,) = trace.annotate().to_dict()["functions"]
    I = function["instructions"]  # noqa: E741
    inside = sum(b["count"] for b in function["blocks"] if b["loops"])
    source = next(
        n
        for n, text in enumerate(Path(compiled.SOURCES / "matmul.hip").read_text().split("\n"), 1)
        if "tile_a[y][x] = a[" in text
    )
    assert seen["all"] == seen["again"] == len(kernel.instructions)
    assert seen["folded"] == len(kernel.instructions) - inside
    assert seen["hits"] == sum("s_barrier" in text for text in I["text"]) > 0 and seen["text"].endswith("hits")
    assert seen["marked"] == sum(line == source for line in I["line"]) > 0
    assert seen["nodes"] == len(kernel.blocks) and seen["changes"]
    kept = Path(os.environ.get("LUTHIER_SCREENSHOTS", tmp_path))
    picture(page, kept / "annotate-light.png")
    picture(page, kept / "annotate-dark.png", dark=True)


def test_a_library_of_thousands_of_kernels_is_annotated_in_seconds(tmp_path):
    library = os.environ.get("LUTHIER_LIBRARY")
    if not library:
        pytest.skip("a library to annotate is named by LUTHIER_LIBRARY")
    started = time.process_time()
    annotation = lt.Annotation(library)
    annotation.save(tmp_path / "library.html")
    assert time.process_time() - started < 5, f"{len(annotation.kernels)} kernels"
