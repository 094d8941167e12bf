"""``pytest --luthier=gfx942,gfx1201``: tests of Triton kernels run on mock devices. ``pytest FOLDER``: each ``.luthier`` file in
it, a recorded launch, is a test.

pytest imports this module whenever it starts: without the option it adds two options and is done.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
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
        "--luthier-kinds",
        metavar="KIND,...",
        help="what --luthier-strict looks for: these kinds only, or all",
    )
    group.addoption(
        "--luthier-lenient",
        action="store_true",
        help="an access outside every allocation is a warning, and the launch goes on: loads give zeros, stores are dropped",
    )
    for name, metavar, text in (
        ("format", "FORM=FILE", "findings go there as text, json, sarif, github or junit (repeatable)"),
        ("suppress", "FILE", "TOML file of findings that are known to be harmless (repeatable)"),
        ("fail-on", "KIND,...", "kinds of findings that fail a test: all (the default), none, or some"),
        ("baseline", "FILE", "file of findings that were there before: only new ones fail a test"),
        ("write-baseline", "FILE", "what is found is written there, as a baseline for later runs"),
    ):
        many = {"action": "append", "default": []} if name in ("format", "suppress") else {}
        group.addoption(f"--luthier-{name}", metavar=metavar, help=text, **many)


def pytest_configure(config: pytest.Config) -> None:
    told = config.getoption("--luthier")
    judged = [option for option in ("--luthier-strict", "--luthier-lenient") if config.getoption(option)]
    if judged and not told:
        raise pytest.UsageError(f"{judged[0]} says how to judge launches, and --luthier=TARGETS on what they run")
    if len(judged) > 1:
        raise pytest.UsageError("--luthier-strict fails tests for what --luthier-lenient lets pass: give one of them")
    kinds = config.getoption("--luthier-kinds")
    if kinds and not config.getoption("--luthier-strict"):
        raise pytest.UsageError("--luthier-kinds says what --luthier-strict looks for: give both")
    about_findings = [n for n in _ABOUT_FINDINGS if config.getoption(f"--luthier-{n}")]
    if about_findings and not config.getoption("--luthier-strict"):
        raise pytest.UsageError(f"--luthier-{about_findings[0]} is about findings: give --luthier-strict")
    if about_findings and os.environ.get("LUTHIER_CHECK"):
        raise pytest.UsageError(f"--luthier-{about_findings[0]}: luthier check has these options, and judges this process")
    if not told:
        return
    from .errors import ArgumentError

    targets = [target.strip() for target in told.split(",") if target.strip()]
    how = judged[0].removeprefix("--luthier-") if judged else "plain"
    try:
        # luthier check collects what is found by itself, and so does the process that has started this worker.
        is_ours = how == "strict" and not hasattr(config, "workerinput") and not os.environ.get("LUTHIER_CHECK")
        findings = _Findings(config) if is_ours else None
        for target in reversed(targets):  # modules that are imported before any test see the first one
            _install(target, how, kinds)
    except ArgumentError as error:
        raise pytest.UsageError(f"--luthier: {error}") from None
    config.pluginmanager.register(_Runs(targets, how, kinds), "luthier-runs")
    if findings is not None:
        config.pluginmanager.register(findings, "luthier-findings")


def _install(target: str, how: str, kinds: str | None) -> None:
    """Makes the target the one that kernels run on: ``plain``, ``strict`` (by these kinds, if some are told) or ``lenient``."""
    from .device.launching import CHECK, strict_of_environment
    from .triton import install

    if os.environ.get(CHECK):  # luthier check says by what launches are judged, and collects what is found
        install(target, strict=strict_of_environment(), findings="keep")
    elif how == "lenient":
        install(target, strict=["out-of-bounds", "use-after-free"], findings="warn")
    else:
        strict = [kind.strip() for kind in kinds.split(",")] if kinds else how == "strict"
        install(target, strict=strict, findings="raise" if how == "strict" else "keep")


_ABOUT_FINDINGS = ("format", "suppress", "fail-on", "baseline", "write-baseline")


class _Findings:
    """What the process that the user has started does with the findings of all workers and of processes that tests start."""

    def __init__(self, config: pytest.Config):
        from .base.outputs import Outputs
        from .cli.finding_options import FindingOutputs
        from .reports import spool
        from .verdict import policy

        told: dict[str, Any] = {name.replace("-", "_"): config.getoption(f"--luthier-{name}") for name in _ABOUT_FINDINGS}
        for form in told["format"]:
            if "=" not in form:
                raise pytest.UsageError(f"--luthier-format {form}: standard output is pytest's: give FORM=FILE")
        self._outputs = Outputs()
        self._told = FindingOutputs(argparse.Namespace(**told), self._outputs)
        for variable, value in (
            (policy.FAIL_ON, told["fail_on"]),
            (policy.SUPPRESS, os.pathsep.join(os.path.abspath(path) for path in told["suppress"])),
            (policy.BASELINE, told["baseline"] and os.path.abspath(told["baseline"])),
        ):
            if value:
                os.environ[variable] = value
        self._folder = tempfile.mkdtemp(prefix="luthier-pytest-")
        os.environ[spool.VARIABLE] = self._folder

    def pytest_sessionfinish(self) -> None:
        from .reports import spool

        self._verdict = self._told.policy.judge(*spool.collect(self._folder))
        self._told.write(self._verdict)
        self._outputs.commit()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from .cli.ending import checked
        from .verdict import text

        verdict = self._verdict
        terminalreporter.write(text.notes(verdict))
        terminalreporter.write_line(checked(verdict.launches, len(verdict.judged) + verdict.unwritten))

    def pytest_unconfigure(self) -> None:
        from .reports import spool

        self._outputs.discard()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.environ.pop(spool.VARIABLE, None)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A recorded launch is a test: it does what it has done."""
    return CaseFile.from_parent(parent, path=file_path) if file_path.suffix == ".luthier" else None


class CaseFile(pytest.File):
    """A file of a recorded launch (docs/replay.md)."""

    def collect(self) -> Iterator[pytest.Item]:
        yield CaseItem.from_parent(self, name="replay")


class CaseItem(pytest.Item):
    """The launch, replayed."""

    def runtest(self) -> None:
        from .replay import Case, replay

        did = replay(Case.open(self.path))
        if not did.is_same:
            raise _NotTheSame(did.error or "\n".join(map(str, did.differences)) or f"it was stopped: {did.case.error}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, _NotTheSame):
            return f"{self.path.name} does not do what the recorded launch did:\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.path.name


class _NotTheSame(Exception):
    """What a replay has done otherwise."""


class _Runs:
    """What the plugin does where the option was given."""

    def __init__(self, targets: list[str], how: str, kinds: str | None):
        self._targets, self._how, self._kinds = targets, how, kinds

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
        _install(target, self._how, self._kinds)
        yield target
