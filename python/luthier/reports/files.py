"""Every table of some reports as a file of its own: Parquet, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..base.outputs import Outputs
from ..errors import ArgumentError
from .as_arrow import needed, parquet_bytes
from .as_json import plain
from .report import Report

if TYPE_CHECKING:
    from .report import Records, Table

FORMATS = ("parquet", "csv", "json")


def write_tables(reports: Iterable[Report], folder: str | os.PathLike[str], format: str = "parquet") -> list[str]:
    """Writes ``FOLDER/TOOL.TITLE.FORMAT`` for each table, all of them or none; gives the paths. The folder is made where it
    is not there. ArgumentError for a format that is none of :data:`FORMATS`, without pyarrow for Parquet, and for what cannot
    be written."""
    if format not in FORMATS:
        raise ArgumentError(f"format={format!r}: {', '.join(FORMATS)}")
    if format == "parquet":
        needed()
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"cannot make the folder {os.fspath(folder)}: {(error.strerror or str(error)).lower()}") from None
    paths: dict[str, bytes] = {}
    for report in reports:
        for table in report.all_tables():
            base = f"{_name(report.tool)}.{_name(table.title)}"
            path, again = os.path.join(folder, f"{base}.{format}"), 1
            while path in paths:
                again += 1
                path = os.path.join(folder, f"{base}.{again}.{format}")
            paths[path] = _DATA[format](table)
    with Outputs() as outputs:
        for path, data in paths.items():
            outputs.open(path).write(data)
        outputs.commit()
    return list(paths)


def _name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "table"


def _parquet(table: Table | Records) -> bytes:
    return parquet_bytes(table.to_arrow())


def _csv(table: Table | Records) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if table.headers:
        writer.writerow(table.headers)
    writer.writerows([plain(value) for value in row] for row in table.rows)
    return stream.getvalue().encode()


def _json(table: Table | Records) -> bytes:
    rows = [dict(zip(table.headers, plain(row))) if table.headers else plain(row) for row in table.rows]
    return (json.dumps(rows, indent=1) + "\n").encode()


_DATA = {"parquet": _parquet, "csv": _csv, "json": _json}


def read_reports(path: str | os.PathLike[str]) -> list[Report]:
    """The reports of the tools in a file that ``luthier run --json`` has written. ArgumentError where there are none."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise ArgumentError(f"cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise ArgumentError(f"{name} is no JSON: {error}") from None
    try:
        return [Report.of(report) for report in data["reports"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(
            f"{name} holds no reports as luthier run --json writes them: {type(error).__name__} {error}"
        ) from None
