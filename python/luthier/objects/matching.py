"""Which kernels a name or a pattern means."""

from __future__ import annotations

import fnmatch

from .. import _core


def matching(core: _core.CodeObject, pattern: str) -> list[str]:
    """The kernels that ``pattern`` names: one by its name, or those whose name, mangled or not, it is a pattern of."""
    if core.kernel(pattern) is not None:
        return [pattern.removesuffix(".kd")]
    return [k["name"] for k in core.kernel_table() if _fits(k["name"], pattern) or _fits(k["demangled"], pattern)]


def _fits(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or name.partition("(")[0] == pattern
