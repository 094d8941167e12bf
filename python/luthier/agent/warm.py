"""What the first launch of all would have to wait for, done while the program starts: imports, tools' hooks, LLVM."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LuthierError

if TYPE_CHECKING:
    from ..instrumenting.tool import Tool

#: What Linux says of the machine's GPUs.
_TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"


def processors(environment: Mapping[str, str], topology: str = _TOPOLOGY) -> set[str]:
    """The GPUs that a program with this environment will find: mock ones, or those of the machine."""
    if mock := environment.get("LUTHIER_MOCK"):
        return {mock.partition(",")[0]}
    found = set()
    for path in Path(topology).glob("*/properties"):
        with contextlib.suppress(OSError, ValueError):
            values = dict(line.split(maxsplit=1) for line in path.read_text().splitlines())
            if version := int(values.get("gfx_target_version", "0")):
                found.add(f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}")
    return found


def warm_up(tools: Iterable[Tool], processors: Iterable[str]) -> None:
    """Whatever is wrong here is told when it matters."""
    from .. import _core
    from ..instrumenting.kept import keep_hooks
    from ..lang import Hook

    for name in ("..objects.code_object", "..objects.matching", "..instrumenting.planning", ".launches"):
        importlib.import_module(name, __package__)
    with contextlib.suppress(LuthierError):
        keep_hooks()
        for hook in {v for tool in tools for base in type(tool).__mro__ for v in vars(base).values() if isinstance(v, Hook)}:
            hook.check()
        for processor in processors:
            _core.warm_up(processor)
