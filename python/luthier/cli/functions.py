"""``luthier trace --functions``: the functions of HSA and HIP that tools can hear of."""

from __future__ import annotations

import fnmatch

from ..errors import ArgumentError


def show(pattern: str) -> int:
    """One in a line, with its parameters and what they are."""
    from ..agent.functions import functions

    found = [f for f in functions() if fnmatch.fnmatchcase(f.name, pattern)]
    if not found:
        raise ArgumentError(f"--functions {pattern}: neither HSA nor HIP has such a function that can be wrapped")
    for function in found:
        parameters = ", ".join(f"{p.name}: {p.kind}" for p in function.parameters)
        print(f"{function.name}({parameters}) -> {function.returns}")
    return 0
