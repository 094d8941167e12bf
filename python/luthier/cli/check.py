"""``luthier check``: any command, with everything in it that runs on mock devices judged by strict mode."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agent.program_signals import run
from ..base.outputs import Outputs
from ..device.launching import CHECK
from ..errors import ArgumentError
from ..reports import spool
from .ending import checked, status_of
from .finding_options import FindingOutputs

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What a report adds to findings; it is made anew.
_ADDED = ("id", "standing", "suppressed")


def main(args: Any) -> int:
    """Runs the command; its status is ours unless it is 0 and there are findings. Without a command, the reports of earlier
    runs are judged together."""
    if not args.app and not args.reports:
        raise ArgumentError("nothing to check: luthier check -- pytest tests, or --report FILE.json of earlier runs")
    program = shutil.which(args.app[0]) if args.app else None
    if args.app and program is None:
        raise ArgumentError(f"{args.app[0]}: there is no such program")
    reports = [_report(path) for path in args.reports]
    with contextlib.ExitStack() as exits:
        outputs = exits.enter_context(Outputs())
        told = FindingOutputs(args, outputs)
        status, launches, found = 0, 0, 0
        findings: list[Any] = []
        if program is not None:
            status, findings, launches, found = _run(args, program, exits)
        for report in reports:
            findings += [{k: v for k, v in finding.items() if k not in _ADDED} for finding in report["findings"]]
            launches += report["launches"]
            found += len(report["findings"]) + report["unwritten"]
        verdict = told.policy.judge(findings, launches, found)
        told.write(verdict)
        outputs.commit()
    told.show(verdict)
    print(checked(launches, len(verdict.judged) + verdict.unwritten), file=sys.stderr)
    ends = status_of(status, False, verdict.failures)
    sys.stdout.flush()
    if ends < 0:
        from .trace import die_of

        die_of(-ends)
    return ends


def _run(args: Any, program: str, exits: contextlib.ExitStack) -> tuple[int, list[Any], int, int]:
    """The command's status, what was found in it, and how many launches and findings there were."""
    folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="luthier-check-"))
    environment = _variables(args, folder, os.environ)
    account = None
    if args.mock is not None:
        from ..agent.account import Account
        from .mock_gpus import MockGpus

        gpus = MockGpus.of(args)
        gpus.check()
        environment = gpus.variables(environment, args.app[0])
        account = exits.enter_context(Account())
        # They are told when it is known which of them count.
        environment = account.variables(environment) | {"LUTHIER_MOCK_FINDINGS": "keep"}
    sys.stdout.flush()
    status = run(program, args.app, environment)
    left = account.wait() if account is not None else None
    if left is not None:
        print(f"luthier: strict: process {left} goes on: what is found in it from now on is not said", file=sys.stderr)
    findings, launches, found = spool.collect(folder)
    if account is not None:
        programs = account.result()
        findings += programs["findings"]
        launches += programs["launches"]
        found += programs["found"]
    return status, findings, launches, found


def _variables(args: Any, folder: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment in which processes judge their launches and write down what they find."""
    if args.strict_kinds is not None:
        from .run import parse_kinds

        parse_kinds(args.strict_kinds)
    kinds = args.strict_kinds or "1"
    made = {**inherited, spool.VARIABLE: folder, CHECK: kinds}
    if args.triton is not None:
        from .. import _core

        if args.triton not in _core.TARGETS:
            raise ArgumentError(f"--triton {args.triton}: there is a mock device for {', '.join(_core.TARGETS)}")
        made |= {"LUTHIER_TRITON": args.triton, "LUTHIER_TRITON_STRICT": kinds, "LUTHIER_TRITON_FINDINGS": "keep"}
    return made


def _report(path: str) -> dict[str, Any]:
    """What ``--format json=FILE`` has written."""
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ArgumentError(f"--report {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise ArgumentError(f"--report {path}: it is not JSON") from None
    if not isinstance(content, dict) or content.get("luthier-findings") != 1:
        raise ArgumentError(f"--report {path}: it is no report of findings: --format json=FILE writes one")
    return content
