"""Results as a Parquet data set: ``objects`` has a row for each code object, ``kernels`` one for each kernel.

Each part is written beside its place and moved there, the kernels' before the objects': a job is done when its row in
``objects`` is there. What a run that was killed has left unfinished is taken away by the next one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .jobs import Job

_VERSION = 1
#: Columns whose type has to be known where a part has no value of them, so that all parts have the same.
_TEXT = {"error", "error_kind", "target", "reasons", "kinds", "refusals", "first_remark", "demangled"}
_SECONDS = {"seconds"}


class Results:
    """The folder of a batch."""

    def __init__(self, folder: str | os.PathLike[str], what: dict[str, Any]):
        """``what`` is what the batch does; a folder that holds another batch is an ArgumentError, and so is one that cannot be
        written, or a Python without pyarrow."""
        try:
            import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise ArgumentError("results are written by pyarrow, which is not here: pip install 'luthier[batch]'") from None
        self.folder = Path(folder)
        told = {"luthier-batch": _VERSION, **what}
        about = self.folder / "batch.json"
        try:
            for name in ("objects", "kernels"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            if about.exists():
                before = json.loads(about.read_text())
                if before != told:
                    different = sorted(key for key in {*before, *told} if before.get(key) != told.get(key))
                    raise ArgumentError(f"{self.folder} holds another batch ({', '.join(different)}): name another folder")
            else:
                new = about.with_suffix(".new")
                new.write_text(json.dumps(told, indent=1) + "\n")
                new.replace(about)
            self._tidy()
        except OSError as error:
            raise ArgumentError(f"cannot write {self.folder}: {(error.strerror or str(error)).lower()}") from None
        except ValueError:
            raise ArgumentError(f"{about}: it is not JSON") from None
        self._number = len(self._parts())

    def _parts(self) -> list[Path]:
        return sorted((self.folder / "objects").glob("part-*.parquet"))

    def _tidy(self) -> None:
        done = {path.name for path in self._parts()}
        for path in (*self.folder.glob("*/.new-*"), *(self.folder / "kernels").glob("part-*.parquet")):
            if path.name not in done:
                path.unlink()

    def done(self, with_errors: bool = True) -> set[Job]:
        """The jobs that have a row; with or without those whose row is an error."""
        import pyarrow.parquet as parquet

        found = set()
        for path in self._parts():
            for row in parquet.read_table(path, columns=["path", "member", "entry", "error"]).to_pylist():
                if with_errors or row["error"] is None:
                    found.add(Job(row["path"], row["member"], row["entry"]))
        return found

    def forget_errors(self) -> None:
        """Takes the rows of errors out, so that their jobs are done again."""
        import pyarrow.parquet as parquet

        for path in self._parts():
            table = parquet.read_table(path)
            kept = table.filter(table["error"].is_null())
            if len(kept) < len(table):
                self._write(path, kept)

    def add(self, objects: list[dict[str, Any]], kernels: list[dict[str, Any]]) -> None:
        """Writes a part."""
        import pyarrow

        if not objects:
            return
        while (self.folder / "objects" / self._name()).exists():
            self._number += 1
        if kernels:
            columns = list(dict.fromkeys(key for row in kernels for key in row))
            arrays = {key: _column(key, [row.get(key) for row in kernels]) for key in columns}
            self._write(self.folder / "kernels" / self._name(), pyarrow.table(arrays))
        columns = list(dict.fromkeys(key for row in objects for key in row))
        arrays = {key: _column(key, [row.get(key) for row in objects]) for key in columns}
        self._write(self.folder / "objects" / self._name(), pyarrow.table(arrays))
        self._number += 1

    def _name(self) -> str:
        return f"part-{self._number:06}.parquet"

    def _write(self, path: Path, table: Any) -> None:
        import pyarrow.parquet as parquet

        new = path.with_name(f".new-{os.getpid()}")
        parquet.write_table(table, new, compression="zstd")
        new.replace(path)

    def table(self, name: str) -> Any:
        """``objects`` or ``kernels`` as a ``pyarrow.Table``, in the order of the jobs."""
        import pyarrow
        import pyarrow.parquet as parquet

        tables = [parquet.read_table(path) for path in sorted((self.folder / name).glob("part-*.parquet"))]
        if not tables:
            return pyarrow.table({})
        table = pyarrow.concat_tables(tables, promote_options="permissive")
        keys = [(key, "ascending") for key in ("path", "member", "entry", "kernel") if key in table.column_names]
        return table.sort_by(keys)


def _column(name: str, values: list[Any]) -> Any:
    """Values of one type; text columns stay text where all values are missing."""
    import pyarrow

    if any(isinstance(value, dict) for value in values):
        pairs = [None if value is None else list(value.items()) for value in values]
        return pyarrow.array(pairs, pyarrow.map_(pyarrow.string(), pyarrow.int64()))
    if all(value is None for value in values):
        kind = pyarrow.string() if name in _TEXT else pyarrow.float64() if name in _SECONDS else pyarrow.int64()
        return pyarrow.array(values, kind)
    if any(isinstance(value, float) for value in values):
        return pyarrow.array(values, pyarrow.float64())
    return pyarrow.array(values)
