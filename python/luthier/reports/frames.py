"""Where in the user's source a finding is."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Folders of compilers, runtimes and installed packages: frames in there are not the user's.
_INSTALLED = ("/usr/include/", "/usr/lib/", "/usr/local/lib/", "/opt/", "/site-packages/", "/dist-packages/", "/lib/clang/")

#: A frame of a finding's ``source``: ``function``, ``file``, ``line``, ``column``.
Frame = Mapping[str, Any]


def split(finding: Mapping[str, Any]) -> tuple[list[Frame], list[Frame]]:
    """The user's innermost frame and those that called it, from the inside out; and what it called, from the user's on inwards. Both
    are empty for code without line numbers."""
    frames: Sequence[Frame] = finding.get("source") or ()
    known = [frame for frame in frames if frame["file"] and frame["line"]]
    mine = next((i for i, frame in enumerate(known) if not is_installed(frame["file"])), 0)
    return known[mine:], known[:mine][::-1]


def chain(finding: Mapping[str, Any]) -> list[Frame]:
    """The inlined calls that lead to the instruction, the user's innermost frame first, then those that called it, then what
    it called. Empty for code without line numbers."""
    own, called = split(finding)
    return [*own, *called[::-1]]


def is_installed(file: str) -> bool:
    """Whether a file came with a package or a compiler."""
    return any(folder in file for folder in _INSTALLED)


def relative(file: str, root: str | None = None) -> str:
    """A file's path from the folder ``root`` (the current one), with ``/``; as it is where it lies elsewhere."""
    try:
        return Path(os.path.normpath(file)).relative_to(root or os.getcwd()).as_posix()
    except ValueError:
        return file


def line_text(frame: Frame) -> str | None:
    """What the source line says, where the file is there."""
    return " ".join(linecache.getline(frame["file"], frame["line"]).split()) or None


def shown(frame: Frame) -> str:
    """``FILE:LINE:COLUMN``."""
    column = f":{frame['column']}" if frame.get("column") else ""
    return f"{relative(frame['file'])}:{frame['line']}{column}"
