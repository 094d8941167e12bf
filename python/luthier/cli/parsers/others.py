"""The options of commands about results and about Luthier itself."""

from __future__ import annotations

import argparse


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT.json", nargs="+", help="what luthier run --json wrote")
    parser.add_argument("-o", "--output", metavar="OUT.html", required=True, help="the page")


def add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def add_examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="luthier-examples", help="a new folder (luthier-examples)")


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")
