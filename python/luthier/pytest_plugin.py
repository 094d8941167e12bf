"""``pytest --luthier=gfx942,gfx1201``: tests of Triton kernels run on mock devices.

pytest imports this module whenever it starts: without the option it adds two options and is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("luthier", "Triton kernels on Luthier's mock devices")
    group.addoption(
        "--luthier",
        metavar="TARGETS",
        help="run Triton's kernels on these mock GPUs, such as gfx942,gfx1201: each test once for each",
    )
    group.addoption(
        "--luthier-strict",
        action="store_true",
        help="a test fails if strict mode finds something in one of its launches",
    )


def pytest_configure(config: pytest.Config) -> None:
    told = config.getoption("--luthier")
    if not told:
        if config.getoption("--luthier-strict"):
            raise pytest.UsageError("--luthier-strict says how to judge launches, and --luthier=TARGETS on what they run")
        return
    from .errors import ArgumentError

    targets = [target.strip() for target in told.split(",") if target.strip()]
    strict = bool(config.getoption("--luthier-strict"))
    try:
        for target in reversed(targets):  # modules that are imported before any test see the first one
            _install(target, strict)
    except ArgumentError as error:
        raise pytest.UsageError(f"--luthier: {error}") from None
    config.pluginmanager.register(_Runs(targets, strict), "luthier-runs")


def _install(target: str, strict: bool) -> None:
    from .triton import install

    install(target, strict=strict, findings="raise" if strict else "keep")


class _Runs:
    """What the plugin does where the option was given."""

    def __init__(self, targets: list[str], strict: bool):
        self._targets, self._strict = targets, strict

    def pytest_report_header(self) -> str:
        judged = ", strict" if self._strict else ""
        return f"luthier: Triton's kernels run on mock {', '.join(self._targets)}{judged}"

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        # Tests that cannot be parametrised, as unittest's, run on the first target only.
        if len(self._targets) > 1 and "luthier_target" in metafunc.fixturenames:
            metafunc.parametrize("luthier_target", self._targets, indirect=True)

    @pytest.fixture(autouse=True)
    def luthier_target(self, request: Any) -> Iterator[str]:
        """The processor that the test's kernels run on."""
        target = getattr(request, "param", self._targets[0])
        _install(target, self._strict)
        yield target
