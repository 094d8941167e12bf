"""_core.pyi says what the native module has: the same names, the same parameters."""

from __future__ import annotations

import ast
import inspect

from places import ROOT

from luthier import _core

STUB = ast.parse((ROOT / "python/luthier/_core.pyi").read_text())


def _stub_parameters(node: ast.FunctionDef, bound: bool) -> list[tuple[str, bool]]:
    """Name and whether there is a default, of each parameter."""
    args = node.args.args[1:] if bound else node.args.args
    defaults = [False] * (len(args) - len(node.args.defaults)) + [True] * len(node.args.defaults)
    only = [(a.arg, d is not None) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
    keywords = [(node.args.kwarg.arg, False)] if node.args.kwarg else []
    return [(a.arg, d) for a, d in zip(args, defaults)] + only + keywords


def _real_parameters(function) -> list[tuple[str, bool]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.default is not p.empty) for p in parameters if p.name != "self"]


def _public(names) -> set[str]:
    return {n for n in names if not n.startswith("_")}


def test_module_names():
    stub = {n.name for n in STUB.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    stub |= {n.target.id for n in STUB.body if isinstance(n, ast.AnnAssign)}
    assert stub == _public(dir(_core))


def test_every_public_thing_is_documented():
    for node in ast.walk(STUB):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def _documented(node, real, where: str) -> None:
    if (stated := ast.get_docstring(node)) is not None:
        plain = real.__func__ if isinstance(real, (staticmethod, classmethod)) else real
        assert inspect.getdoc(plain) == stated, where


def test_help_shows_what_the_stub_says():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            _documented(node, getattr(_core, node.name), node.name)
        if isinstance(node, ast.ClassDef):
            cls = getattr(_core, node.name)
            _documented(node, cls, node.name)
            for member in (m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("__")):
                _documented(member, inspect.getattr_static(cls, member.name), f"{node.name}.{member.name}")


def test_functions():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            assert _stub_parameters(node, bound=False) == _real_parameters(getattr(_core, node.name)), node.name


def test_classes():
    for node in (n for n in STUB.body if isinstance(n, ast.ClassDef)):
        cls = getattr(_core, node.name)
        members = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        assert _public(members) == _public(dir(cls)), node.name
        for name, member in members.items():
            decorators = {d.id for d in member.decorator_list if isinstance(d, ast.Name)}
            where = f"{node.name}.{name}"
            real = inspect.getattr_static(cls, name)
            if "property" in decorators:
                assert inspect.isgetsetdescriptor(real), where
            elif name == "__new__":
                assert _stub_parameters(member, bound=True) == _real_parameters(cls), where
            elif not name.startswith("_"):
                assert isinstance(real, staticmethod) == ("staticmethod" in decorators), where
                bound = "staticmethod" not in decorators
                assert _stub_parameters(member, bound) == _real_parameters(getattr(cls, name)), where
