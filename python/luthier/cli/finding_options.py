"""What commands with strict mode are told about findings: which count, and in which forms they are told."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..base.outputs import Output, Outputs
    from ..verdict import Verdict

_OPTIONS = ("format", "fail_on", "suppress", "baseline", "write_baseline")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    group = parser.add_argument_group("findings of strict mode")
    group.add_argument(
        "--format",
        metavar="FORM[=FILE]",
        action="append",
        default=[],
        help="how findings are told: text, json, sarif, github or junit; to standard output unless a file is named (repeatable)",
    )
    group.add_argument(
        "--fail-on", metavar="KIND,...", help="kinds of findings that give status 1: all (the default), none, or some"
    )
    group.add_argument(
        "--suppress",
        metavar="FILE",
        action="append",
        default=[],
        help="TOML file of findings that are known to be harmless (repeatable)",
    )
    group.add_argument("--baseline", metavar="FILE", help="file of findings that were there before: only new ones give status 1")
    group.add_argument("--write-baseline", metavar="FILE", help="write what is found there, as a baseline for later runs")


def refuse(args: Any) -> None:
    """For a command line without strict mode: these options would do nothing."""
    for option in _OPTIONS:
        if getattr(args, option):
            raise ArgumentError(f"--{option.replace('_', '-')} is about findings: give --strict")


class FindingOutputs:
    """The forms that are wanted, and the policy. Files are opened before anything runs."""

    def __init__(self, args: Any, outputs: Outputs):
        from ..verdict import FORMATS, Policy

        self.policy = Policy.of(args.fail_on, args.suppress, args.baseline)
        self._shown: list[str] = []
        self._files: list[tuple[str, Output]] = []
        for told in args.format or ["text"]:
            form, equals, path = told.partition("=")
            if form not in FORMATS:
                raise ArgumentError(f"--format {told}: there are {', '.join(FORMATS)}")
            if equals:
                self._files.append((form, outputs.open(path)))
            else:
                self._shown.append(form)
        data = [form for form in self._shown if form in ("json", "sarif", "junit")]
        if len(data) > 1 or data and len(self._shown) > 1 or data and getattr(args, "json", None) == "-":
            raise ArgumentError("standard output can hold one form: name files for the others, as --format sarif=out.sarif")
        self._baseline = outputs.open(args.write_baseline) if args.write_baseline else None

    @property
    def takes_stdout(self) -> bool:
        """Whether standard output is to hold a form and nothing else."""
        return any(form != "text" for form in self._shown)

    @property
    def is_text(self) -> bool:
        """Whether people are told."""
        return "text" in self._shown

    def write(self, verdict: Verdict) -> None:
        """Writes the files, which the caller commits."""
        from ..verdict import Baseline, Standing, render

        for form, output in self._files:
            output.write(render(verdict, form).encode("utf-8", "surrogateescape"))
        if self._baseline is not None:
            kept = verdict.of(Standing.FAILS, Standing.TOLD, Standing.KNOWN)
            self._baseline.write(Baseline.text(judged.finding for judged in kept).encode("utf-8", "surrogateescape"))

    def show(self, verdict: Verdict, is_said: bool = False) -> None:
        """Prints the others. ``is_said``: each finding was told as it was found, and only what is left is to be said."""
        import shutil

        from ..base.text import wants_color
        from ..verdict import render, text

        for form in self._shown:
            if form != "text":
                print(render(verdict, form), end="")
        width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
        is_told = self.is_text and not is_said
        said = text.render(verdict, width, wants_color(stream=sys.stderr)) if is_told else text.notes(verdict, width)
        print(said, end="", file=sys.stderr)
