"""The notebooks of examples/notebooks run, and give what is stored in them, but for times and addresses."""

from __future__ import annotations

import importlib.util
import re
from importlib.machinery import SourceFileLoader

import pytest
from places import ROOT

pytest.importorskip("nbclient", reason="notebooks are executed by nbclient (make setup-tests)")
pytest.importorskip("ipykernel", reason="notebooks are executed by ipykernel (make setup-tests)")
import nbformat  # noqa: E402

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def outputs(notebook) -> list[list[str]]:
    """What each cell shows, without what differs from run to run."""
    found = []
    for cell in notebook.cells:
        shown = [output.get("data", {"text/plain": output.get("text", "")}) for output in cell.get("outputs", ())]
        texts = ["".join(part.get("text/html", part.get("text/plain", ""))) for part in shown]
        # Hooks that keep the most of something try again where another wave was faster, so how much a run executes differs.
        varies = r"<td>\d+\.\d+</td>|0x[0-9a-f]+|<td>instructions</td><td[^>]*>[\d,]+</td>"
        found.append([re.sub(varies, "", text) for text in texts])
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_is_stored_in_it(path, tmp_path):
    loader = SourceFileLoader("notebooks", str(ROOT / "tools/notebooks"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("notebooks", loader))
    loader.exec_module(module)
    made, stored = module.execute(path, tmp_path), nbformat.read(path, as_version=4)
    assert all(
        cell.outputs or not cell.source.strip().splitlines()[-1].isidentifier()
        for cell in stored.cells
        if cell.cell_type == "code"
    )
    assert path.stat().st_size < 100_000
    # How waves take turns decides how soon lines are used again.
    by_turns = [n for n, cell in enumerate(stored.cells) if '"reuse"' in cell.source]
    for n, (mine, theirs) in enumerate(zip(outputs(made), outputs(stored), strict=True)):
        assert len(mine) == len(theirs)
        assert n in by_turns or mine == theirs
