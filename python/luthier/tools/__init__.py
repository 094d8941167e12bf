"""The tools that come with Luthier, and how a tool is found and made from the text of ``--tool``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..errors import ToolError

if TYPE_CHECKING:
    from ..instrumenting.tool import Tool

#: Name on the command line -> class, in the module of that name.
BUILTIN = {
    "api_check": "ApiCheck",
    "block_count": "BlockCount",
    "bounds_check": "BoundsCheck",
    "coalescing": "Coalescing",
    "coverage": "Coverage",
    "divergence": "Divergence",
    "fault_inject": "FaultInject",
    "init_check": "InitCheck",
    "instr_count": "InstrCount",
    "kernel_args": "KernelArgs",
    "launches": "Launches",
    "lds_conflicts": "LdsConflicts",
    "mem_trace": "MemTrace",
    "nan_check": "NanCheck",
    "opcode_hist": "OpcodeHist",
    "precision": "Precision",
    "race_check": "RaceCheck",
    "reuse": "Reuse",
    "roofline": "Roofline",
    "timeline": "Timeline",
    "value_profile": "ValueProfile",
}

#: Those that hear of HIP's functions: a program finds the agent before it finds HIP then, which has to be known as it starts.
HEAR_HIP = ("api_check", "launches")


def load(text: str) -> Tool:
    """The tool that ``NAME[:option=value,...]`` or ``path.py[:CLASS][:option=value,...]`` names."""
    name, _, rest = text.partition(":")
    if name in BUILTIN:
        import importlib

        cls = getattr(importlib.import_module(f".{name}", __name__), BUILTIN[name])
    elif name.endswith(".py"):
        first, _, others = rest.partition(":")
        if "=" in first:
            first, others = "", rest
        cls = _from_file(name, first)
        name, rest = f"{name}:{first}" if first else name, others
    else:
        raise ToolError(f"there is no tool {name!r}: {', '.join(BUILTIN)}, or a file that ends in .py")
    return cls(**_options(cls, name, rest))


def _from_file(path: str, wanted: str) -> type[Tool]:
    """The tool that a file defines: the only one, or the one of a class's name."""
    import importlib.util

    from ..instrumenting.tool import Tool

    if not os.path.isfile(path):
        raise ToolError(f"{path}: there is no such file")
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(f"luthier_tool_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ToolError(f"{path}:{error.lineno}: {error.msg}") from None
    # By name those that it has imported, too.
    known = {n: v for n, v in vars(module).items() if isinstance(v, type) and issubclass(v, Tool) and v is not Tool}
    own = {n: v for n, v in known.items() if v.__module__ == spec.name}
    if wanted:
        if wanted not in known:
            raise ToolError(f"{path}: there is no tool {wanted}" + (f": it has {', '.join(own)}" if own else ""))
        return known[wanted]
    found = list({id(v): v for v in own.values()}.values())
    if len(found) > 1:
        raise ToolError(f"{path}: several tools: {', '.join(own)}: name one, as in {path}:{next(iter(own))}")
    if not found:
        raise ToolError(f"{path}: no class that derives from luthier.Tool")
    return found[0]


def _options(cls: type[Tool], name: str, text: str) -> dict[str, Any]:
    """``option=value,...`` as arguments of the class, read as its annotations say."""
    if not text:
        return {}
    import inspect

    known = inspect.signature(cls).parameters
    options: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise ToolError(f"--tool {name}: {part!r} is not option=value")
        if key not in known:
            raise ToolError(f"--tool {name}: there is no option {key!r}" + (f" ({', '.join(known)})" if known else ""))
        options[key] = _convert(name, key, value, str(known[key].annotation))
    return options


def _convert(name: str, key: str, value: str, kind: str) -> Any:
    kind = kind.removeprefix("<class '").removesuffix("'>")
    try:
        if kind == "int":
            return int(value, 0)
        if kind == "float":
            return float(value)
        if kind == "bool":
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[value.lower()]
    except (ValueError, KeyError):
        raise ToolError(f"--tool {name}: {key}={value} is not of type {kind}") from None
    return value
