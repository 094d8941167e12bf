"""The pictures in docs/tool-list.md are of what the tools say now."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader

import pytest
from places import ROOT

import luthier as lt

pytest.importorskip("rich", reason="pictures are drawn by rich")


def pictures():
    loader = SourceFileLoader("pictures", str(ROOT / "tools/pictures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("pictures", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "tool", ["coalescing", "fault_inject", "init_check", "instr_count", "lds_conflicts", "opcode_hist", "precision", "race_check"]
)
def test_a_picture_is_of_the_report(tool):
    module = pictures()
    assert module.picture(module.report(tool)) == (ROOT / f"docs/images/{tool}.svg").read_text()


def test_each_tool_with_a_section_has_its_picture():
    page = (ROOT / "docs/tool-list.md").read_text()
    drawn = {tool for tool in lt.tools.BUILTIN if f"images/{tool}.svg" in page}
    assert drawn == set(pictures().KERNELS) == {path.stem for path in (ROOT / "docs/images").glob("*.svg")}
    assert set(lt.tools.BUILTIN) == drawn
    assert all(f"`{tool}`" in page for tool in lt.tools.BUILTIN)
