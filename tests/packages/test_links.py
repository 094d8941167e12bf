"""The links that a package index shows: tools/wheel makes README's lead to the project from anywhere."""

from __future__ import annotations

import importlib.util
import re
from importlib.machinery import SourceFileLoader

import pytest
from places import ROOT

BASE = "https://example.org/luthier/blob/HEAD/"


@pytest.fixture(scope="module")
def wheel():
    loader = SourceFileLoader("wheel_tool", str(ROOT / "tools/wheel"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("wheel_tool", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text, made",
    [
        ("[a](docs/start.md)", f"[a]({BASE}docs/start.md)"),
        ("[a](docs/start.md#first)", f"[a]({BASE}docs/start.md#first)"),
        ("[a](https://x.org/y) and [b](#here)", "[a](https://x.org/y) and [b](#here)"),
        ("![shot](docs/images/a.svg)", f"![shot]({BASE}docs/images/a.svg?raw=1)"),
    ],
)
def test_links_to_files_are_absolute_and_others_stay(wheel, text, made):
    assert wheel.absolute(text, BASE) == made


def test_every_relative_link_of_the_readme_becomes_absolute_and_is_a_file(wheel):
    made = wheel.absolute((ROOT / "README.md").read_text(), BASE)
    targets = re.findall(r"\]\(([^)\s]+)\)", made)
    assert targets and all(re.match(r"https?://|#", target) for target in targets)
    ours = [target.removeprefix(BASE).partition("#")[0].removesuffix("?raw=1") for target in targets if target.startswith(BASE)]
    assert len(ours) > 20 and all((ROOT / name).exists() for name in ours)


def test_an_index_shows_a_description_with_absolute_links(wheel, tmp_path, monkeypatch, capsys):
    metadata = tmp_path / "METADATA"
    metadata.write_text("Name: luthier\nVersion: 1\n\n# Luthier\n[a](docs/a.md)\n")
    monkeypatch.setattr(wheel, "address", lambda: BASE)
    wheel.with_absolute_links(metadata)
    assert metadata.read_text() == f"Name: luthier\nVersion: 1\n\n# Luthier\n[a]({BASE}docs/a.md)\n"
    monkeypatch.setattr(wheel, "address", lambda: None)
    wheel.with_absolute_links(metadata)
    assert "no address of the project" in capsys.readouterr().err


def test_the_address_is_the_projects_own(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(wheel, "ROOT", tmp_path)
    text = (ROOT / "pyproject.toml").read_text()
    for urls, found in (("", None), ('[project.urls]\nRepository = "https://x.org/l.git/"\n', "https://x.org/l/blob/HEAD/")):
        (tmp_path / "pyproject.toml").write_text(f"{text}\n{urls}" if "[project.urls]" not in text else text)
        assert wheel.address() == found
