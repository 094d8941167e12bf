"""A kernel as a tool sees it: what it consists of, and where to insert."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from .arguments import explicit
from .errors import ToolError

if TYPE_CHECKING:
    import numpy as np

    from ._core import Blocks, Function, Instruction, Instructions
    from .code_object import CodeObject
    from .planning import Planner
    from .tool import Tool


class Kernel:
    """One kernel of a code object, with the device functions that it can reach.

    Where code calls through a pointer that cannot be followed, every function whose address is taken counts as reached.
    A function that several kernels reach is offered with each of them; an insertion that is made again, the same in
    every way, for another kernel is made once.
    """

    def __init__(self, code_object: CodeObject, name: str, planner: Planner | None = None, tool: Tool | None = None):
        #: Without the ``.kd`` of its descriptor.
        self.name = name
        self.code_object = code_object
        self._planner, self._tool = planner, tool

    @property
    def target(self) -> str:
        """The target id."""
        return self.code_object.target

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Arguments, segment sizes, workgroup limits: what ``luthier inspect --json`` has under ``launch``."""
        facts = self.code_object.core.kernel(self.name)
        assert facts is not None
        return facts

    @property
    def arguments(self) -> list[dict[str, Any]]:
        """The explicit arguments, each with ``name``, ``offset``, ``size`` and ``kind``."""
        return explicit(self.name, self.facts)

    @cached_property
    def functions(self) -> list[Function]:
        """The kernel's own code first, then the device functions that it reaches, by address."""
        return self.code_object.program.select(self.name)

    @cached_property
    def blocks(self) -> Blocks:
        """The basic blocks of all :attr:`functions`: a sequence that makes a :class:`~luthier.Block` when it is asked
        for one."""
        return self.code_object.program.blocks_of(self.functions)

    @cached_property
    def instructions(self) -> Instructions:
        """The instructions of all :attr:`functions`, in the order of the code: a sequence that makes an
        :class:`~luthier.Instruction` when it is asked for one."""
        return self.code_object.program.instructions_of(self.functions)

    def columns(self, *names: str) -> dict[str, np.ndarray[Any, Any]]:
        """:attr:`instructions` as NumPy arrays, by name; see :func:`luthier.columns.columns`."""
        from .columns import columns

        return columns(self.instructions, *names)

    def to_arrow(self, *names: str) -> Any:
        """:attr:`instructions` as a ``pyarrow.Table``; see :func:`luthier.columns.to_arrow`."""
        from .columns import to_arrow

        return to_arrow(self.code_object.program, self.instructions, *names)

    def insert_before(self, instr: Instruction, hook: Any, *args: Any) -> None:
        """Runs ``hook(*args)`` before ``instr``, each time that a wave gets there.

        Arguments: a :class:`~luthier.DeviceArray` (or ``array.at(i)``) for a pointer, a :class:`~luthier.Counter` for a
        counter, :class:`~luthier.Imm` or a plain number for a number, :class:`~luthier.Reg` for a register's value.
        Several hooks at one place run in the order in which they were inserted.
        """
        self._insert(instr, False, hook, args)

    def insert_after(self, instr: Instruction, hook: Any, *args: Any) -> None:
        """Runs ``hook(*args)`` after ``instr``, with its results in place. Not for instructions that do not go on to the
        next one: see :attr:`~luthier.Instruction.goes_on`."""
        if not instr.goes_on:
            raise ToolError(f"{instr.mnemonic} at {instr.address:#x}: nothing runs after it; insert before it instead")
        self._insert(instr, True, hook, args)

    def _insert(self, instr: Instruction, after: bool, hook: Any, args: tuple[Any, ...]) -> None:
        if self._planner is None or self._tool is None:
            raise ToolError("hooks can be inserted in on_kernel only")
        self._planner.insert(self._tool, self.name, instr.address, after, hook, args)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}>"
