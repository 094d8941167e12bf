"""``luthier examples``: copies the examples into a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

_PACKAGE = Path(__file__).resolve().parent.parent
#: In a checkout, and in an installation.
_PLACES = (_PACKAGE.parent.parent / "examples", _PACKAGE / "examples")


def main(args: Any) -> int:
    """Copies them into a folder that is new, and says what is there."""
    into = Path(args.folder)
    found = next((place for place in _PLACES if (place / "nan_checker.py").is_file()), None)
    if found is None:
        raise ArgumentError(f"{_PLACES[-1]}: the examples are missing from this installation")
    if into.exists():
        raise ArgumentError(f"{into}: it is there already; name a folder that is not")
    new = into.with_name(f".{into.name}-{os.getpid()}")
    try:
        shutil.copytree(found, new, ignore=shutil.ignore_patterns("__pycache__"))
        new.rename(into)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise ArgumentError(f"cannot write {into}: {(error.strerror or str(error)).lower()}") from None
    for path in sorted(into.rglob("*")):
        if path.is_file():
            print(path)
    return 0
