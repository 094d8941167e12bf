"""Many instructions at once: a NumPy array for each property, or an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from .errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

#: The columns that one gets without naming any. ``docs/program.md`` says what is in each.
COLUMNS = (
    "address", "size", "opcode_id", "flags", "block", "function", "target", "memory_space", "memory_width",
    "file", "line", "column",
)  # fmt: skip

#: Columns that take a liveness analysis of every function concerned, and so have to be named.
LIVE_COLUMNS = ("live_sgprs", "live_vgprs", "live_agprs")

#: A column for instrumented objects: see :attr:`Instruction.origin`; 2**64 - 1 for inserted instructions.
ORIGIN_COLUMNS = ("origin",)

#: What the numbers of the ``memory_space`` column stand for; 0 is an instruction that reaches no memory.
MEMORY_SPACES = (None, "flat", "global", "scratch", "lds", "gds", "buffer", "image")


def columns(instructions: _core.Instructions, *names: str) -> dict[str, np.ndarray[Any, Any]]:
    """The named columns of the instructions, or all of :data:`COLUMNS`: arrays of the length of ``instructions``."""
    import numpy

    known = COLUMNS + LIVE_COLUMNS + ORIGIN_COLUMNS
    for name in names:
        if name not in known:
            raise ArgumentError(f"there is no column {name!r}: {', '.join(known)}")
    made = _core.columns(instructions, list(names or COLUMNS))
    return {name: numpy.frombuffer(data, kind) for name, (kind, data) in made.items()}


def to_arrow(program: _core.Program, instructions: _core.Instructions, *names: str) -> Any:
    """A ``pyarrow.Table`` of the columns, with names where :func:`columns` has numbers that stand for names: a column
    ``mnemonic`` and one ``opcode`` for ``opcode_id``, the text of ``memory_space`` and ``file``, function names."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise ArgumentError("to_arrow needs pyarrow: pip install pyarrow, or use columns(), which gives NumPy arrays") from None

    def named(indices: Any, names: list[Any], missing: int | None = None) -> Any:
        """Text as numbers into a list of it; null where the number is ``missing``."""
        mask = None if missing is None else indices == missing
        indices = indices if mask is None else numpy.where(mask, 0, indices)
        values = pyarrow.array(indices.astype("i4"), mask=mask)
        return pyarrow.DictionaryArray.from_arrays(values, pyarrow.array(names, pyarrow.string()))

    import numpy

    table: dict[str, Any] = {}
    for name, values in columns(instructions, *names).items():
        if name == "opcode_id":
            table["mnemonic"] = named(values, program.mnemonics)
            table["opcode"] = named(values, program.opcodes)
        elif name == "function":
            table[name] = named(values, [f.name for f in program.functions])
        elif name == "memory_space":
            table[name] = named(values, ["", *MEMORY_SPACES[1:]], missing=0)
        elif name == "file":
            table[name] = named(values, program.source_files, missing=-1)
        elif name == "origin":
            table[name] = pyarrow.array(values, mask=values == 2**64 - 1)
        else:
            table[name] = pyarrow.array(values)
    return pyarrow.table(table)
