"""The pages of docs: what they link to is there, the index has them all, and the first tool runs as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import compiled
import pytest
from places import ROOT

import luthier as lt
from luthier.columns import MEMORY_SPACES

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])


def _links(text: str) -> list[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]


def _anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text()
    for link in _links(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target.read_text()), link


def test_the_index_has_every_page_once():
    listed = [link for link in _links((DOCS / "README.md").read_text())]
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.name != "README.md")


def test_the_index_begins_with_the_way_for_newcomers():
    listed = _links((DOCS / "README.md").read_text())
    way = ["start.md", "tools.md", "hooks.md", "device.md", "observe.md", "strict.md"]
    assert listed[: len(way)] == way
    assert all(link.startswith("audit/") for link in listed[-5:])


def test_the_first_tool_runs_as_it_stands(tmp_path):
    shutil.copy(compiled.code_object("vecadd"), tmp_path / "vecadd.hsaco")
    program = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "start.md").read_text(), re.DOTALL))
    (tmp_path / "start.py").write_text(program)
    done = subprocess.run([sys.executable, "start.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "{'stores': {'lanes': 1000}}" in done.stdout
    assert "out-of-bounds" in done.stdout and "global_store_dword" in done.stdout


def test_every_flag_and_every_memory_space_is_explained():
    text = (DOCS / "program.md").read_text()
    names = [*lt.flag_bits(), *(space for space in MEMORY_SPACES if space)]
    assert [name for name in names if f"`{name}`" not in text] == []


#: What readers did not understand, and said so.
UNCLEAR = (
    "take the type of what they meet",
    "of each lane's own is 0",
    "to a constant index that differs everywhere",
    "begin as many workgroups as it takes",
    "free of charge",
)


def test_sentences_that_readers_did_not_understand_are_gone():
    files = [*PAGES, *(ROOT / "python").rglob("*.py"), *(ROOT / "python").rglob("*.pyi")]
    found = [
        (str(file.relative_to(ROOT)), words) for file in files for words in UNCLEAR if words in " ".join(file.read_text().split())
    ]
    assert not found


def test_what_the_map_and_its_recipes_name_is_there():
    roots = ("crates", "python", "tests", "tools", "docs", "examples")
    places = [f"/{path.relative_to(ROOT)}" for root in roots for path in [ROOT / root, *(ROOT / root).rglob("*")]]
    text = (DOCS / "architecture.md").read_text()
    named = [word.rstrip("/") for word in re.findall(r"`([\w./-]+)`", text) if "/" in word or word.endswith((".rs", ".py"))]
    assert len(named) > 60
    assert [name for name in named if not any(place.endswith(f"/{name}") for place in places)] == []
