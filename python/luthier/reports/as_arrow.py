"""Tables as Arrow has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from .as_json import plain

if TYPE_CHECKING:
    from .report import Table


def arrow_table(table: Table) -> Any:
    """A ``pyarrow.Table``. Columns without a header are ``column 0`` and so on; of several kinds of values, text."""
    pyarrow = needed()
    count = len(table.rows[0]) if table.rows else len(table.headers)
    names = list(table.headers) or [f"column {i}" for i in range(count)]
    return pyarrow.table([_array(pyarrow, [plain(row[i]) for row in table.rows]) for i in range(count)], names=_apart(names))


def needed() -> Any:
    """pyarrow, which is no part of the usual set-up."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise ArgumentError("Arrow and Parquet need pyarrow: pip install 'luthier[report]'; CSV and JSON need nothing") from None
    return pyarrow


def parquet_bytes(table: Any) -> bytes:
    """A ``pyarrow.Table`` as the contents of a Parquet file."""
    import io

    import pyarrow.parquet  # type: ignore[import-untyped]

    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _array(pyarrow: Any, values: list[Any]) -> Any:
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        pass
    try:
        if all(isinstance(value, int) for value in values):
            return pyarrow.array(values, pyarrow.uint64())
    except (pyarrow.ArrowInvalid, OverflowError):
        pass
    return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())


def _apart(names: list[str]) -> list[str]:
    """The names, each once: a second one gets a number."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made
