"""Docstrings of the names that are used most say what comes back and what can go wrong."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

import luthier as lt
from luthier import batch
from luthier.device.launching import LaunchKeywords
from luthier.instrumenting.options import InstrumentKeywords

MOST_USED = {
    "Device.run": lt.Device.run,
    "Device.trace": lt.Device.trace,
    "Device.session": lt.Device.session,
    "Module.run": lt.Module.run,
    "Module.trace": lt.Module.trace,
    "CodeObject.open": lt.CodeObject.open,
    "instrument": lt.instrument,
    "trace": lt.trace,
    "judge": lt.judge,
    "batch.map": batch.map,
}


@pytest.mark.parametrize("name", MOST_USED)
def test_returns_and_raises_are_told(name):
    text = inspect.getdoc(MOST_USED[name]) or ""
    assert ":returns:" in text
    raised = re.findall(r":raises (\w+): \S", text)
    assert raised
    from luthier.lang.errors import HookError

    known = {"HookError": HookError, **vars(lt.errors)}
    assert all(issubclass(known[error], lt.LuthierError) for error in raised)


def test_every_public_name_has_a_docstring():
    missing = [
        name
        for name in lt.__all__
        if (callable(found := getattr(lt, name)) or inspect.isclass(found)) and not inspect.getdoc(found)
    ]
    assert missing == []


def public_callables():
    """Functions, and methods and constructors of classes, with the docstring that has to tell of their parameters. Fields of data
    classes have comments of their own."""
    places = [
        *((name, getattr(lt, name)) for name in lt.__all__),
        *((f"batch.{name}", getattr(batch, name)) for name in batch.__all__),
    ]
    for name, found in places:
        if inspect.isfunction(found):
            yield name, found, inspect.getdoc(found)
        elif inspect.isclass(found) and not issubclass(found, Exception):
            for member, value in vars(found).items():
                function = getattr(value, "__func__", value)
                is_made = member == "__init__" and not dataclasses.is_dataclass(found)
                if inspect.isfunction(function) and (is_made or not member.startswith("_")):
                    yield f"{name}.{member}", function, f"{inspect.getdoc(function)}\n{inspect.getdoc(found) if is_made else ''}"


#: Keywords that a docstring tells of by naming their class.
BUNDLES = {"LaunchKeywords": LaunchKeywords, "InstrumentKeywords": InstrumentKeywords}
#: What users get from elsewhere and do not make.
MADE_BY_OTHERS = ("Kernel.__init__", "LoadedObject.__init__", "Session.__init__", "Stage.__init__", "Trace.__init__", "Events.__init__", "Module.__init__", "Linked.__init__", "CodeObject.__init__", "Registers.of")  # fmt: skip


def test_every_parameter_of_public_functions_is_named_in_their_docstrings():
    missing, looked_at = [], 0
    for name, function, text in public_callables():
        if name in MADE_BY_OTHERS:
            continue
        known = {key for bundle, keywords in BUNDLES.items() if bundle in text for key in keywords.__annotations__}
        for parameter in inspect.signature(function).parameters:
            looked_at += 1
            if parameter not in ("self", "cls", *known) and not re.search(rf"(``|\b){parameter}\b", text):
                missing.append(f"{name}: {parameter}")
    assert missing == [] and looked_at > 300
