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
    group.addoption(
        "--luthier-lenient",
        action="store_true",
        help="an access outside every allocation is a warning, and the launch goes on: loads give zeros, stores are dropped",
    )


def pytest_configure(config: pytest.Config) -> None:
    told = config.getoption("--luthier")
    judged = [option for option in ("--luthier-strict", "--luthier-lenient") if config.getoption(option)]
    if judged and not told:
        raise pytest.UsageError(f"{judged[0]} says how to judge launches, and --luthier=TARGETS on what they run")
    if len(judged) > 1:
        raise pytest.UsageError("--luthier-strict fails tests for what --luthier-lenient lets pass: give one of them")
    if not told:
        return
    from .errors import ArgumentError

    targets = [target.strip() for target in told.split(",") if target.strip()]
    how = judged[0].removeprefix("--luthier-") if judged else "plain"
    try:
        for target in reversed(targets):  # modules that are imported before any test see the first one
            _install(target, how)
    except ArgumentError as error:
        raise pytest.UsageError(f"--luthier: {error}") from None
    config.pluginmanager.register(_Runs(targets, how), "luthier-runs")


def _install(target: str, how: str) -> None:
    """Makes the target the one that kernels run on: ``plain``, ``strict`` or ``lenient``."""
    from .triton import install

    if how == "lenient":
        install(target, strict=["out-of-bounds", "use-after-free"], findings="warn")
    else:
        install(target, strict=how == "strict", findings="raise" if how == "strict" else "keep")


class _Runs:
    """What the plugin does where the option was given."""

    def __init__(self, targets: list[str], how: str):
        self._targets, self._how = targets, how

    def pytest_report_header(self) -> str:
        judged = f", {self._how}" if self._how != "plain" else ""
        return f"luthier: Triton's kernels run on mock {', '.join(self._targets)}{judged}"

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        # Tests that cannot be parametrised, as unittest's, run on the first target only.
        if len(self._targets) > 1 and "luthier_target" in metafunc.fixturenames:
            metafunc.parametrize("luthier_target", self._targets, indirect=True)

    @pytest.fixture(autouse=True)
    def luthier_target(self, request: Any) -> Iterator[str]:
        """The processor that the test's kernels run on."""
        target = getattr(request, "param", self._targets[0])
        _install(target, self._how)
        yield target
