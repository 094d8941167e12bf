"""Where compiled hooks are kept, so that each is compiled once and not in every process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from . import _core
from .errors import ArgumentError

#: A folder, or ``off``.
_VARIABLE = "LUTHIER_CACHE"


@cache
def keep_hooks() -> None:
    """From now on keeps them in ``$LUTHIER_CACHE``, or in ``luthier`` in the user's folder of caches. What is in there becomes code, so a
    folder that is not this user's alone is refused if it was named, and left alone if not."""
    named = os.environ.get(_VARIABLE)
    folder = named or _usual()
    if named == "off" or folder is None:
        return
    try:
        why = _why_not(Path(folder))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    if why is None:
        _core.keep_hooks(folder)
    elif named:
        raise ArgumentError(f"{_VARIABLE}={folder}: hooks cannot be kept there: {why}; {_VARIABLE}=off keeps none")


def _usual() -> str | None:
    """By the XDG base directory specification; None for a user without a home."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):
        caches = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "luthier") if os.path.isabs(caches) else None


def _why_not(folder: Path) -> str | None:
    """Makes the folder if it is not there; what is wrong with it, if anything."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, and this is user {os.geteuid()}"
    return "others may write to it" if found.st_mode & 0o022 else None
