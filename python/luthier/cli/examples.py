"""``luthier examples``: copies the examples into a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

_EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main(args: Any) -> int:
    """Copies them into a folder that is new, and says what is there."""
    into = Path(args.folder)
    if not _EXAMPLES.is_dir():
        raise ArgumentError(f"{_EXAMPLES}: the examples are missing from this installation")
    if into.exists():
        raise ArgumentError(f"{into}: it is there already; name a folder that is not")
    new = into.with_name(f".{into.name}-{os.getpid()}")
    try:
        shutil.copytree(_EXAMPLES, new, ignore=shutil.ignore_patterns("__pycache__"))
        new.rename(into)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise ArgumentError(f"cannot write {into}: {(error.strerror or str(error)).lower()}") from None
    for path in sorted(into.rglob("*")):
        if path.is_file():
            print(path)
    return 0
