"""A name of the package has one meaning, whatever was imported before."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import luthier as lt
from luthier import lang

EVERYTHING = """
import importlib, pkgutil
import luthier as lt
names = [n for n in (*lt.__all__, *lt.lang.__all__)]
before = {n: getattr(lt, n) for n in names}
for found in pkgutil.walk_packages(lt.__path__, "luthier."):
    # luthier.triton needs packages that are optional.
    if not found.name.endswith("__main__") and not found.name.startswith("luthier.triton."):
        importlib.import_module(found.name)
print([n for n in names if getattr(lt, n) is not before[n]])
import luthier.lang as lang
print([n for n in lang.__all__ if type(getattr(lang, n)).__name__ == "module"])
"""


def test_importing_submodules_replaces_no_name():
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_the_decorator_works_after_a_device_was_made():
    code = "import luthier as lt\nlt.Device('gfx90a')\nassert callable(lt.device), lt.device"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_announced():
    assert lt.__all__ == [*sorted(lt._HOME), "__version__"]


def test_no_name_of_the_package_is_also_one_of_the_language():
    assert not set(lt._HOME) & set(lang.__all__)


def test_the_stub_of_the_language_has_what_the_language_has():
    stub = ast.parse(Path(lang.__file__).with_suffix(".pyi").read_text())
    (declared,) = (node.value for node in stub.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    names = set(ast.literal_eval(declared))
    available = {*lang.__all__, "abs", "min", "max"}
    assert names - {"ElementType"} == available


def test_device_marks_functions_when_the_room_of_that_name_has_been_imported():
    assert lt.Device is not None and lt.device is lang.device
