"""Compiled hooks are kept, so that each is compiled once and not in every process."""

from __future__ import annotations

from functools import cache

from .. import _core
from ..base.folder import check_folder


@cache
def keep_hooks() -> None:
    """From now on keeps them where :func:`~luthier.base.folder.check_folder` says. Raises ArgumentError as that does."""
    folder = check_folder()
    if folder is not None:
        _core.keep_hooks(folder)
