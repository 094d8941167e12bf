"""Sizes of grids and workgroups: three numbers each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ArgumentError


def dimensions(what: str, value: Any) -> tuple[int, int, int]:
    """One to three sizes as three: an int or a sequence; none may be zero."""
    if type(value) is int and 0 < value < 1 << 32:
        return value, 1, 1
    sizes: list[Any]
    if hasattr(value, "__index__"):
        sizes = [value]
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        sizes = list(value)
    else:
        raise ArgumentError(f"{what}={value!r}: expected an integer, or up to three")
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{what}: one to three sizes, not {len(sizes)}")
    for axis, size in zip("xyz", sizes):
        if not hasattr(size, "__index__"):
            raise ArgumentError(f"{what}: {size!r} is not an integer")
        if not 1 <= size.__index__() < 1 << 32:
            raise ArgumentError(f"{what}: the {axis} size is {size}, it has to be 1 to {(1 << 32) - 1}")
    x, y, z = (*(s.__index__() for s in sizes), 1, 1)[:3]
    return x, y, z


def check_workgroup(kernel: str, facts: dict[str, Any], block: tuple[int, int, int]) -> None:
    """The workgroup must be one that the kernel was compiled for."""
    size = block[0] * block[1] * block[2]
    limit = facts["max_workgroup_size"] or 1024
    if size > limit:
        raise ArgumentError(f"kernel {kernel}: a workgroup of {size} work-items, it was compiled for at most {limit}")
    required = facts["required_workgroup_size"]
    if required and tuple(required) != block:
        raise ArgumentError(f"kernel {kernel}: the workgroup is {block}, it was compiled for exactly {tuple(required)}")
