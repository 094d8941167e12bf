"""Where compiled hooks may be kept: a folder of this user's alone, since what is in there becomes code."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ArgumentError

#: A folder, or ``off``.
VARIABLE = "LUTHIER_CACHE"


def check_folder() -> str | None:
    """The folder: ``$LUTHIER_CACHE``, or ``luthier`` in the user's folder of caches; None where hooks are not to be kept, or
    cannot be. A folder that was named and is not this user's alone is an ArgumentError; another one is left alone."""
    named = os.environ.get(VARIABLE)
    folder = named or _usual()
    if named == "off" or folder is None:
        return None
    try:
        why = _why_not(Path(folder))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    if why is not None and named:
        raise ArgumentError(f"{VARIABLE}={folder}: hooks cannot be kept there: {why}; {VARIABLE}=off keeps none")
    return folder if why is None else None


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
