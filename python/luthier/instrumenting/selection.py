"""Which launches are instrumented: ``--select``, and ``select=`` in Python."""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..objects.kernel import Kernel

if TYPE_CHECKING:
    from .. import _core
    from ..objects.code_object import CodeObject

#: HIP's own kernels, for fills and copies.
_RUNTIMES_OWN = "__amd_rocclr_*"


@dataclass(frozen=True)
class Select:
    """Launches of some kernels: ``KERNEL[,grid=X[xYxZ]][,first=N][,every=N][,process=P]`` on the command line,
    ``lt.Select("reduce*", grid=4096, every=100)`` in Python."""

    #: A name or a pattern, mangled or not; "" for all but HIP's own for fills and copies.
    kernel: str = ""
    #: Work-items, a number or up to three; 0 for any number.
    grid: int | tuple[int, ...] = (0, 0, 0)
    #: How many; 0 for all.
    first: int = 0
    every: int = 1
    #: A process's number, or a pattern of its program's name or path.
    process: str | None = None

    def __post_init__(self) -> None:
        sizes = (self.grid,) if isinstance(self.grid, int) else tuple(self.grid)
        whole = [self.first, self.every, *sizes]
        if not isinstance(self.kernel, str) or len(sizes) > 3 or not all(isinstance(n, int) and 0 <= n < 1 << 63 for n in whole):
            raise ArgumentError(f"{self!r}: a kernel's name or pattern, and numbers from 1")
        if self.every == 0:
            raise ArgumentError(f"{self!r}: every= is a number from 1")
        object.__setattr__(self, "grid", (*sizes, 0, 0)[:3])

    @property
    def rule(self) -> dict[str, Any]:
        """As the agent gets it."""
        return {
            "grid": list(self.grid) if isinstance(self.grid, tuple) else [self.grid, 0, 0],
            "first": self.first,
            "every": self.every,
        }

    def is_for(self, pid: int, program: str) -> bool:
        """Whether it is about the process ``pid`` of ``program``."""
        if self.process is None or self.process == str(pid):
            return True
        return any(fnmatch.fnmatchcase(name, self.process) for name in (program, os.path.basename(program)))

    def kernels(self, core: _core.CodeObject) -> list[str]:
        """The kernels of the code object ``core`` that it is about."""
        from ..objects.matching import matching

        if self.kernel:
            return matching(core, self.kernel)
        own = matching(core, _RUNTIMES_OWN)
        return [name for name in core.kernels if name not in own]


_OPTION = re.compile(r",(grid|first|every|process)=([^,]*)$")


def parse(text: str) -> Select:
    """A selection, from the command line's words. A kernel's name may have commas."""
    rest, found = text, {}
    while (match := _OPTION.search(rest)) is not None:
        if match[1] in found:
            raise ArgumentError(f"--select {text}: {match[1]} is given twice")
        found[match[1]] = match[2]
        rest = rest[: match.start()]
    if not rest:
        raise ArgumentError(f"--select {text}: begins with a kernel's name or pattern, '*' for any")

    def number(name: str, default: int) -> int:
        value = found.get(name)
        if value is None:
            return default
        if not value.isdecimal() or not 0 < int(value) < 1 << 63:
            raise ArgumentError(f"--select {text}: {name}={value} is no number from 1")
        return int(value)

    grid = [0, 0, 0]
    if "grid" in found:
        pieces = found["grid"].split("x")
        if len(pieces) > 3 or not all(p.isdecimal() and 0 < int(p) < 1 << 32 for p in pieces):
            raise ArgumentError(f"--select {text}: grid={found['grid']} is not of the form X, XxY or XxYxZ, in work-items")
        grid[: len(pieces)] = map(int, pieces)
    if found.get("process") == "":
        raise ArgumentError(f"--select {text}: process= is a process's number, or its program's name or a pattern of it")
    x, y, z = grid
    return Select(rest, (x, y, z), number("first", 0), number("every", 1), found.get("process"))


def rules(selections: tuple[Select, ...], core: _core.CodeObject, pid: int, program: str) -> dict[str, list[dict[str, Any]]]:
    """For each kernel of a code object that is to be instrumented, the rules for its launches; none for all launches."""
    found: dict[str, list[dict[str, Any]]] = {}
    free: set[str] = set()
    for selection in selections or (Select(""),):
        if not selection.is_for(pid, program):
            continue
        for name in selection.kernels(core):
            found.setdefault(name, []).append(selection.rule)
            if selection.rule == Select("").rule:
                free.add(name)
    return {name: [] if name in free else some for name, some in found.items()}


def listed(select: Iterable[Select | str]) -> tuple[Select, ...]:
    """Selections as a user gives them: a list, or one; a text is read as on the command line."""
    given = [select] if isinstance(select, (str, Select)) else list(select)
    for one in given:
        if not isinstance(one, (str, Select)):
            raise ArgumentError(f"select: {one!r} is not a Select, nor the text of one")
    return tuple(one if isinstance(one, Select) else parse(one) for one in given)


class Chooser:
    """Which launches of a code object's kernels some selections are about, in this process. The agent counts in the same way
    (``crates/agent/src/code.rs``)."""

    def __init__(self, select: Iterable[Select | str], code_object: CodeObject):
        given = listed(select)
        self._rules = self.rules_of(given, code_object)
        if not self._rules:
            known = ", ".join(code_object.core.kernels[:8])
            raise ArgumentError(
                f"select: {' and '.join(map(repr, given))} is about no kernel of {code_object.path or 'the code object'}: it has {known}"
            )
        #: How many launches each rule was about.
        self._seen = {name: [0] * len(some) for name, some in self._rules.items()}

    @staticmethod
    def rules_of(select: tuple[Select, ...], code_object: CodeObject) -> dict[str, list[dict[str, Any]]]:
        """For each kernel with launches that are wanted, the rules for them; none for all launches."""
        return rules(select, code_object.core, os.getpid(), os.path.abspath(sys.argv[0] or sys.executable))

    @property
    def kernels(self) -> list[str]:
        """The kernels with launches that are wanted."""
        return list(self._rules)

    def wants(self, kernel: str, grid: Sequence[int]) -> bool:
        """Whether the next launch, of this size, is wanted. Each launch is asked about once."""
        if kernel not in self._rules:
            return False
        wanted = not self._rules[kernel]
        for number, rule in enumerate(self._rules[kernel]):
            if all(size in (0, of) for size, of in zip(rule["grid"], grid, strict=True)):
                n = self._seen[kernel][number]
                self._seen[kernel][number] += 1
                wanted |= (rule["first"] == 0 or n < rule["first"]) and n % rule["every"] == 0
        return wanted


def kernel_names(kernels: Iterable[str | Kernel] | None) -> list[str] | None:
    """Kernels as a user gives them, by name; None for all."""
    if isinstance(kernels, str):
        raise ArgumentError(f"kernels={kernels!r}: expected a list of kernels")
    if kernels is None:
        return None
    listed = list(kernels)
    for kernel in listed:
        if not isinstance(kernel, (str, Kernel)):
            raise ArgumentError(f"kernels: {kernel!r} is neither a kernel nor the name of one")
    return [(k if isinstance(k, str) else k.name).removesuffix(".kd") for k in listed]
