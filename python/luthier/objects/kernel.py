"""A kernel as a tool sees it: what it consists of, and where to insert."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ToolError
from .parameters import explicit
from .places import AFTER, BEFORE, EDGE, ENTRY, INSTEAD, Inserts, Place

if TYPE_CHECKING:
    import numpy as np

    from .._core import Block, Blocks, Function, Instruction, Instructions
    from ..views.drawing import Drawing
    from .code_object import CodeObject


class Kernel:
    """One kernel of a code object, with the device functions that it can reach.

    Where code calls through a pointer that cannot be followed, every function whose address is taken counts as reached.
    A function that several kernels reach is offered with each of them; an insertion that is made again, the same in
    every way, for another kernel is made once.
    """

    def __init__(self, code_object: CodeObject, name: str, planner: Inserts | None = None, tool: Any = None):
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
        """The :attr:`instructions` as NumPy arrays: a column for each of ``names``; see :func:`luthier.columns.columns`."""
        from ..columns import columns

        return columns(self.instructions, *names)

    def to_arrow(self, *names: str) -> Any:
        """The :attr:`instructions` as a ``pyarrow.Table`` with the columns ``names``; see :func:`luthier.columns.to_arrow`."""
        from ..columns import to_arrow

        return to_arrow(self.code_object.program, self.instructions, *names)

    def cfg(self, function: Function | None = None) -> Drawing:
        """The control flow graph of the kernel's own code, or of ``function``, one of :attr:`functions`, drawn: notebooks show it, and
        ``save`` writes it as SVG."""
        from ..views.drawing import Drawing
        from ..views.graph import function_svg

        return Drawing(function_svg(self._function(function or self.functions[0])))

    def insert_before(self, instr: Instruction, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` before ``instr``, each time that a wave gets there. Gives the point's number, which
        :class:`~luthier.PointId` passes to the hook.

        Arguments: a :class:`~luthier.DeviceArray` (or ``array.at(i)``) for a pointer, a :class:`~luthier.Counter` for a
        counter, and what :mod:`luthier.instrumenting.given` lists. Several hooks at one place run by ``priority``, the lowest first;
        those of the same in the order of the tools, then in that in which they were inserted.
        """
        return self._insert(Place(BEFORE, self._own(instr)), hook, args, priority)

    def insert_after(self, instr: Instruction, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` after ``instr``, with its results in place: of a branch, on every way that it goes; of a call, when
        the function called has returned. Nothing runs after a return, a jump to another function or the end of the
        program: there it is rejected. After an instruction that is replaced or removed it runs behind what stands there
        instead. ``priority`` is that of :meth:`insert_before`."""
        return self._insert(Place(AFTER, self._own(instr)), hook, args, priority)

    def insert_on_edge(self, block: Block, successor: Block, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` each time that control goes from the end of ``block`` to ``successor``, one of ``priority`` is that of
        :meth:`insert_before`.

        :attr:`~luthier.Block.successors`."""
        last = self._own(self._block(block).instructions[-1])
        if self._block(successor) not in block.successors:
            raise self._error(f"the block at {block.address:#x} has no edge to {successor.address:#x}")
        return self._insert(Place(EDGE, last, successor.address), hook, args, priority)

    def insert_at_block(self, block: Block, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` each time that control enters ``block``: before its first instruction. ``priority`` is that of
        :meth:`insert_before`."""
        return self._insert(Place(BEFORE, self._own(self._block(block).instructions[0])), hook, args, priority)

    def insert_at_entry(self, hook: Any, *args: Any, function: Function | None = None, priority: int = 0) -> int:
        """Runs ``hook(*args)`` when a wave starts the kernel, once; or each time that ``function``, one of ``priority`` is that of
        :meth:`insert_before`.

        :attr:`functions`, is entered. It runs before what is inserted at the first instruction, which a loop may come
        back to, and which waves of a kernel with preloaded arguments never run."""
        address = self._function(function or self.functions[0]).address
        return self._insert(Place(ENTRY, address), hook, args, priority)

    def insert_at_exit(self, hook: Any, *args: Any, function: Function | None = None, priority: int = 0) -> list[int]:
        """Runs ``hook(*args)`` when a wave ends: before every ``s_endpgm`` of the kernel and of the functions that it reaches. Or
        each time that ``function`` gives control back: before its returns and its jumps to other functions. Gives the
        numbers of all these points. ``priority`` is that of :meth:`insert_before`."""
        if function is None:
            ends = [b for b in self.blocks if b.terminator == "end"]
        else:
            blocks = self._function(function).blocks
            ends = [b for b in blocks if leaves(b)]
            inside = {b.address for b in blocks}
            for last in (b.instructions[-1] for b in blocks if b.terminator == "cond_branch"):
                if last.branch_target not in inside:
                    raise self._error(f"{function.name} is left by {last.text} at {last.address:#x}: on one way only")
        return [self._insert(Place(BEFORE, b.instructions[-1].address), hook, args, priority) for b in ends]

    def replace(self, instr: Instruction, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` in the place of ``instr``. What decides where control goes cannot be replaced, but for conditional
        branches, which fall through then; nor what says which registers later instructions mean. If it is rejected, the
        instruction stays. ``priority`` is that of :meth:`insert_before`."""
        return self._insert(Place(INSTEAD, self._own(instr)), hook, args, priority)

    def remove(self, instr: Instruction) -> int:
        """Takes ``instr`` out: see :meth:`replace`."""
        planner, tool = self._inserting()
        return planner.remove(tool, self.name, Place(INSTEAD, self._own(instr)))

    def insert_asm(self, instr: Instruction, text: str, after: bool = False, priority: int = 0) -> int:
        """Inserts the instructions ``text`` before or after ``instr``: assembly as LLVM has it, one a line (``;`` begins a comment).

        They run as if the application had them: what they change stays changed, and no wait states or waits are added.
        They cannot branch, nor refer to symbols. ``priority`` is that of :meth:`insert_before`.
        """
        planner, tool = self._inserting()
        return planner.insert_assembly(tool, self.name, Place(AFTER if after else BEFORE, self._own(instr)), text, priority)

    def insert_at_place(self, place: Place, hook: Any, *args: Any, priority: int = 0) -> int:
        """Runs ``hook(*args)`` at a place of the kernel that is known to be one, as those of :mod:`luthier.counting` are: it is not
        looked for again. ``priority`` is that of :meth:`insert_before`."""
        return self._insert(place, hook, args, priority)

    def insert_lengths(self, hook: Any, args: tuple[Any, ...], after: bool) -> None:
        """Runs ``hook(*args, n)`` where increments of blocks' lengths belong, with ``after`` behind blocks' first instructions:
        what :func:`luthier.counting.insert_lengths` does."""
        planner, tool = self._inserting()
        planner.insert_lengths(tool, self.name, self.functions, hook, args, after)

    def _insert(self, place: Place, hook: Any, args: tuple[Any, ...], priority: int) -> int:
        planner, tool = self._inserting()
        return planner.insert(tool, self.name, place, hook, args, priority)

    def _inserting(self) -> tuple[Inserts, Any]:
        if self._planner is None or self._tool is None:
            raise ToolError("hooks can be inserted in on_kernel only")
        return self._planner, self._tool

    def _own(self, instr: Instruction) -> int:
        """The address of an instruction of this kernel."""
        try:
            self.instructions.index(instr)
        except ValueError:
            raise self._error(f"{instr!r} is not an instruction of the kernel {self.name}") from None
        return instr.address

    def _block(self, block: Block) -> Block:
        if not isinstance(block, _core.Block):
            raise self._error(f"{block!r} is not a block of the kernel {self.name}")
        return block

    def _function(self, function: Function) -> Function:
        if function not in self.functions:
            raise self._error(f"{function!r} is not a function of the kernel {self.name}")
        return function

    def _error(self, message: str) -> ToolError:
        return ToolError(f"{self._tool.name}: {message}" if self._tool else message)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}>"

    def _repr_html_(self) -> str:
        """For notebooks: what the kernel takes, and its size."""
        from ..reports.as_html import html_table

        row = next(row for row in self.code_object.core.kernel_table() if row["name"] == self.name)
        names = ("demangled", "target", "sgprs", "vgprs", "lds", "scratch", "arguments", "code_size")
        facts = [(name.replace("_", " "), row.get(name, self.target)) for name in names]
        return html_table(self.name, (), [(name, "" if value is None else value) for name, value in facts])


def leaves(block: Block) -> bool:
    """Whether control returns from the block's function, or jumps to another one."""
    if block.terminator in ("return", "unknown_jump"):
        return True
    return block.terminator in ("jump", "branch") and not block.successors
