"""Which Triton this is, and whether it is one that is known to work."""

from __future__ import annotations

import re
from importlib import metadata

from ..errors import ArgumentError

#: The first one that works, and the first one that was not tried.
_FIRST, _UNKNOWN = (3, 6), (3, 10)


def checked_version() -> tuple[int, int]:
    """The major and minor version of the Triton that is installed. ArgumentError if it is none of those that work."""
    try:
        text = metadata.version("triton")
    except metadata.PackageNotFoundError:
        raise ArgumentError("luthier.triton needs Triton: pip install 'luthier[triton]'") from None
    found = re.match(r"(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if not _FIRST <= version < _UNKNOWN:
        raise ArgumentError(f"luthier.triton works with Triton 3.6 to 3.9, and this is {text}: pip install 'triton>=3.6,<3.10'")
    return version
