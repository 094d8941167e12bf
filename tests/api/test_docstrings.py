"""Docstrings of the names that are used most say what comes back and what can go wrong."""

from __future__ import annotations

import inspect
import re

import pytest

import luthier as lt
from luthier import batch

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
