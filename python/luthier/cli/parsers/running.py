"""The options of commands that run kernels on the mock device."""

from __future__ import annotations

import argparse

from ..finding_options import add as add_findings
from ..perfetto import add_perfetto
from .options import one_entry, placing, strict


def add_run(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    parser.add_argument("--kernel", metavar="K", required=True, help="its name, or a pattern that fits no other")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--grid", metavar="X[,Y,Z]", help="work-items in all")
    size.add_argument("--blocks", metavar="X[,Y,Z]", help="workgroups in all")
    parser.add_argument("--block", metavar="X[,Y,Z]", required=True, help="work-items of a workgroup")
    parser.add_argument(
        "--arg",
        metavar="ARG",
        action="append",
        default=[],
        help="one for each argument of the kernel: buf:TYPE[N]=INIT (zeros, ones, arange, random:SEED, FILE.npy), TYPE=VALUE, null",
    )
    parser.add_argument(
        "--cooperative", action="store_true", help="all workgroups are under way together, and may wait for one another"
    )
    parser.add_argument("--cluster", metavar="X[,Y,Z]", help="workgroups of a cluster (gfx1250)")
    parser.add_argument(
        "--schedule", metavar="S", help="how waves take turns: fair (the default), alternate, random:SEED, pct:SEED, ..."
    )
    parser.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
    parser.add_argument("--timeout", metavar="SECONDS", help="give up when the launch has taken so long")
    parser.add_argument("--lds", metavar="BYTES", default="0", help="dynamic LDS, added to what the kernel declares")
    parser.add_argument(
        "--tool", metavar="TOOL", action="append", default=[], help="NAME[:option=value,...] or FILE.py[:CLASS][:...]"
    )
    add_perfetto(parser, "timeline", "the kernel's waves")
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="K[,grid=X[xYxZ]]",
        help="the tools are about launches of this kernel, and this size; another launch runs the original (repeatable)",
    )
    placing(parser)
    strict(parser)
    add_findings(parser)
    parser.add_argument(
        "--faults", metavar="N[:SEED]", help="run N times with a bit flipped, chosen by the seed, and say what became of the runs"
    )
    parser.add_argument(
        "--annotate", metavar="FILE", help="write the kernel's source beside its assembly, with counts (.html, .json or .txt)"
    )
    parser.add_argument("--out", metavar="DIR", help="write each table of the tools to a file of its own in DIR")
    parser.add_argument("--out-format", choices=("parquet", "csv", "json"), default="parquet", help="of these files (parquet)")
    parser.add_argument("--json", metavar="FILE", help="write what happened as JSON (- for standard output, with no tables)")
    parser.add_argument(
        "--dump", metavar="I=FILE.npy", action="append", default=[], help="write argument I's contents after the run"
    )
    parser.add_argument(
        "--symbol", metavar="NAME[:TYPE]", action="append", default=[], help="print a global variable after the run"
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--coverage", metavar="TARGET", nargs="?", const="", help="the operations that it refuses, of a processor or of all"
    )


def add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.py", help="defines kernel, reference and case (docs/judge.md)")
    parser.add_argument(
        "--target", metavar="T", dest="targets", action="append", default=[], help="instead of the file's (repeatable)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the judgement as JSON (- for standard output)")


def add_batch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=("count", "lift", "instrument", "check", "run"), help="what to do")
    parser.add_argument("paths", metavar="PATH", nargs="+", help="files, folders, wheels, zip and tar archives")
    parser.add_argument("--out", metavar="DIR", required=True, help="Parquet data sets go there: objects and kernels")
    parser.add_argument(
        "--tool", metavar="TOOL", action="append", default=[], help="as for luthier run; check takes instr_count without one"
    )
    parser.add_argument("--target", metavar="PATTERN", help="only code for processors of this pattern (gfx90a, gfx11*)")
    parser.add_argument("--kernel", metavar="PATTERN", help="only kernels whose name, mangled or not, is of this pattern")
    parser.add_argument("--write", action="store_true", help="keep instrumented code objects, in DIR/instrumented")
    parser.add_argument(
        "--launches", metavar="FILE.py", help="of run: its function launch(kernel) gives a launch's keywords, or None"
    )
    parser.add_argument("--workers", metavar="N", help="processes (one for each core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="do it on a Dask cluster (tcp://host:8786)")
    parser.add_argument("--timeout", metavar="SECONDS", default="300", help="give a code object up after so long (300)")
    parser.add_argument("--memory", metavar="MEGABYTES", help="the most memory of a process")
    parser.add_argument(
        "--retries", metavar="N", default="1", help="how often a code object is tried again whose process was lost (1)"
    )
    parser.add_argument("--limit", metavar="N", help="only the first N code objects")
    parser.add_argument("--sample", metavar="N[:SEED]", help="only N code objects, chosen by the seed")
    parser.add_argument("--part", metavar="N", default="500", help="write results down for every N code objects (500)")
    parser.add_argument("--redo-errors", action="store_true", help="do code objects again whose rows are errors")
