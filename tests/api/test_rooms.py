"""The rooms of the Python package (docs/architecture.md): each imports from those below it only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from places import ROOT

import luthier

PACKAGE = ROOT / "python/luthier"

#: From the ground up. What is next to each other in a row of its own may not import from what comes after it.
ROOMS = (
    "_core", "errors", "columns", "base", "reports", "verdict", "objects", "lang", "instrumenting", "counting", "device", "views", "tools",
    "batch", "agent", "replay", "dap", "triton", "judging", "cli", "traced", "captured", "pytest_plugin",
)  # fmt: skip

#: The base of tools says of what types its callbacks' arguments are.
TYPES_ONLY = {(f"instrumenting/{name}.py", room) for name in ("tool", "toolset") for room in ("agent", "device")} | {
    (f"tools/{name}.py", "agent") for name in ("api_check", "bounds_check", "launches", "recorded", "streams")
}


#: What shows itself imports the view when it is asked to.
SHOWS_ITSELF = {("device/results.py", "views"), ("device/observe.py", "views"), ("objects/kernel.py", "views")}


def imports(path, node: ast.AST, types_only: bool = False) -> Iterator[tuple[str, bool]]:
    """The room of each import of this package's in a file, and whether it is for type checkers alone."""
    package = ["luthier", *path.relative_to(PACKAGE).parts[:-1]]
    for child in ast.iter_child_nodes(node):
        checked = types_only or isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        if isinstance(child, ast.ImportFrom):
            base = package[: len(package) - child.level + 1] if child.level else []
            full = [*base, *(child.module.split(".") if child.module else ())]
            if full == ["luthier"]:
                yield from ((alias.name, checked) for alias in child.names if child.level)
            elif full[0] == "luthier":
                yield full[1], checked
        yield from imports(path, child, checked)


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in ROOMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_module_imports_from_rooms_below_its_own(path):
    name = str(path.relative_to(PACKAGE))
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for room, for_types in imports(path, ast.parse(path.read_text())):
        if room == "__version__" or for_types and (name, room) in TYPES_ONLY or (name, room) in SHOWS_ITSELF:
            continue
        assert ROOMS.index(room) <= ROOMS.index(own), f"{name} imports from {room}, which is above {own}"


def test_every_module_is_in_a_room():
    flat = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert flat | folders <= set(ROOMS)


def test_every_public_name_is_where_the_front_page_says():
    for name in luthier.__all__:
        assert getattr(luthier, name) is not None
