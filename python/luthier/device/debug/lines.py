"""Source lines and the addresses of their code, calls that were inlined among them."""

from __future__ import annotations

import linecache
import os
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import ArgumentError

if TYPE_CHECKING:
    from ..._core import Frame, Instruction
    from ...objects.code_object import CodeObject

#: A file and a line of it.
Line = tuple[str, int]


class Lines:
    """The source of a kernel and of what it reaches."""

    def __init__(self, code_object: CodeObject, kernel: str):
        self.code_object = code_object
        self.kernel = kernel

    def instruction(self, address: int) -> Instruction | None:
        """The instruction that begins there."""
        return self.code_object.program.instruction_at(address)

    def text(self, address: int) -> str:
        """The same as assembly; empty for no code."""
        found = self.instruction(address)
        return "" if found is None else found.text

    def frames(self, address: int) -> list[Frame]:
        """Where the instruction is in the source, innermost first. Empty without DWARF."""
        found = self.instruction(address)
        return [] if found is None else found.source

    def line(self, address: int) -> Line | None:
        """The innermost line."""
        return next(((frame.file, frame.line) for frame in self.frames(address) if frame.file and frame.line), None)

    def source(self, address: int) -> str:
        """The text of that line, where the file is there."""
        line = self.line(address)
        return "" if line is None else linecache.getline(*line).strip()

    @cached_property
    def starts(self) -> dict[Line, list[int]]:
        """Where the code of each line begins, by function and address: where the instruction before is of other lines. A call
        that was inlined counts for its line, too."""
        found: dict[Line, list[int]] = {}
        for function in self.code_object.program.select(self.kernel):
            before: set[Line] = set()
            for instruction in function.instructions:
                here = {(frame.file, frame.line) for frame in instruction.source if frame.file and frame.line}
                for line in here - before:
                    found.setdefault(line, []).append(instruction.address)
                before = here
        return found

    @property
    def files(self) -> list[str]:
        """The files that the kernel's code comes from."""
        return sorted({file for file, _ in self.starts})

    def file(self, name: str | None) -> str:
        """The file that a name stands for: its path, or the end of it. None for the one and only, or the kernel's own.
        ArgumentError for none, and for several."""
        if not self.starts:
            raise ArgumentError(f"kernel {self.kernel} has no source lines: compile it with -g")
        if name is None:
            # The outermost: the first instruction may be of a function that was inlined.
            frames = self.frames(self.code_object.program.select(self.kernel)[0].address)
            own = next((frame.file for frame in reversed(frames) if frame.file), None)
            if own is not None:
                return own
            name = ""
        fits = [file for file in self.files if file == name or file.endswith(os.sep + name) or not name]
        if len(fits) != 1:
            known = ", ".join(self.files)
            raise ArgumentError(
                f"{name!r} is {'no' if not fits else 'more than one'} source file of kernel {self.kernel}: {known}"
            )
        return fits[0]

    def addresses(self, name: str | None, line: int) -> tuple[Line, list[int]]:
        """Where the code of a line begins. A line without code stands for the next one that has some, which is given back.
        ArgumentError for a file that is not there, and for a line behind all code."""
        file = self.file(name)
        behind = sorted(number for other, number in self.starts if other == file and number >= line)
        if not behind:
            raise ArgumentError(f"{file}:{line}: there is no code of kernel {self.kernel} in this line, nor behind it")
        found = (file, behind[0])
        return found, self.starts[found]
