"""What a tool says at the end: a result for programs, tables, columns and plots for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .as_html import html_table
from .as_json import plain


@dataclass
class Table:
    """Rows for people to read. Numbers are aligned to the right."""

    title: str
    headers: Sequence[str]
    rows: list[tuple[Any, ...]]

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``. A column whose values are of several kinds is one of text."""
        from .as_arrow import arrow_table

        return arrow_table(self)


class Records:
    """Many rows as arrays, one for each column: files and Arrow have all of them, people are shown tables instead."""

    def __init__(self, title: str, columns: Mapping[str, Any]):
        self.title = title
        #: A NumPy array, a pyarrow array, or a list for each column, all of one length.
        self.columns = dict(columns)

    @property
    def headers(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, as a table has them; made when they are asked for."""
        lists = [values.tolist() if hasattr(values, "tolist") else list(values) for values in self.columns.values()]
        return list(zip(*lists, strict=True))

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``."""
        from .as_arrow import needed

        return needed().table(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"<Records {self.title}: {len(self):,} rows of {', '.join(self.columns)}>"


@dataclass
class Column:
    """A number for each of some instructions: what ``luthier annotate`` shows beside the assembly."""

    title: str
    #: By the address that the application has the instruction at.
    values: dict[int, float]
    #: What one of them is: ``waves``, ``bytes``, ...; "" for a plain number.
    unit: str = ""
    #: How the numbers of a line's or a block's instructions become one.
    combine: Literal["sum", "max"] = "sum"
    #: What the column says, in a sentence.
    about: str = ""


@dataclass
class Plot:
    """A picture, as a specification of Vega-Lite (https://vega.github.io/vega-lite), with its data in it."""

    title: str
    spec: dict[str, Any] = field(default_factory=dict)


class Report:
    """One tool's results: :attr:`result` for programs (JSON), tables, columns and plots for people."""

    def __init__(self, tool: str):
        self.tool = tool
        self.tables: list[Table] = []
        self.columns: list[Column] = []
        self.plots: list[Plot] = []
        #: What is too long to be read: only files and Arrow have it.
        self.data: list[Records] = []
        self._result: Any = None

    def table(self, title: str, rows: Mapping[Any, Any] | Iterable[Any], headers: Sequence[str] = ()) -> None:
        """Adds the table ``title``. ``rows`` is a mapping (two columns) or an iterable of rows; a single value is a row of one. ``headers`` are those of the columns."""
        if isinstance(rows, Mapping):
            rows = rows.items()
        listed = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in rows]
        width = max((len(row) for row in listed), default=0)
        for row in listed:
            if len(row) != width:
                raise ValueError(f"table {title!r}: a row of {len(row)} columns among rows of {width}")
        if headers and listed and len(headers) != width:
            raise ValueError(f"table {title!r}: {len(headers)} headers for {width} columns")
        self.tables.append(Table(title, list(headers), listed))

    def column(
        self,
        title: str,
        values: Mapping[int, float],
        *,
        unit: str = "",
        combine: Literal["sum", "max"] = "sum",
        about: str = "",
    ) -> None:
        """Adds the column ``title`` for annotated code: ``values`` has a number for each instruction, by the address that the application has
        it at. ``unit``, ``combine`` and ``about`` are those of :class:`Column`."""
        if combine not in ("sum", "max"):
            raise ValueError(f"column {title!r}: combine={combine!r}: sum or max")
        self.columns.append(Column(title, {int(address): value for address, value in values.items()}, unit, combine, about))

    def records(self, title: str, columns: Mapping[str, Any]) -> None:
        """Adds rows by the thousand under ``title``: ``columns`` has an array for each column (of NumPy or pyarrow, or a list): ``--out`` and
        :meth:`to_arrow` have them, terminals and pages do not."""
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"records {title!r}: columns of different lengths: {lengths}")
        self.data.append(Records(title, columns))

    def plot(self, title: str, spec: Mapping[str, Any]) -> None:
        """Adds a picture: ``spec`` is a specification of Vega-Lite with its data in it, ``title`` its heading. Nothing is drawn before the page is opened."""
        self.plots.append(Plot(title, dict(plain(spec))))

    def __repr__(self) -> str:
        return f"<Report {self.tool}: {', '.join(t.title for t in self.tables) or repr(self._result)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the tables."""
        return "".join(html_table(t.title, t.headers, t.rows) for t in self.tables)

    def to_arrow(self) -> dict[str, Any]:
        """Each table, all records, and all columns as one, as a ``pyarrow.Table``, by title. It needs pyarrow."""
        return {table.title: table.to_arrow() for table in self.all_tables()}

    def all_tables(self) -> list[Table | Records]:
        """The tables, the records, and one table with all columns by address if there are any."""
        if not self.columns:
            return [*self.tables, *self.data]
        addresses = sorted({address for column in self.columns for address in column.values})
        rows = [(address, *(column.values.get(address) for column in self.columns)) for address in addresses]
        return [*self.tables, *self.data, Table("by instruction", ["address", *(column.title for column in self.columns)], rows)]

    @property
    def result(self) -> Any:
        """What ``--json`` holds for the tool. If it was never set: the tables, by title."""
        if self._result is not None:
            return self._result
        return {t.title: dict(t.rows) if t.rows and len(t.rows[0]) == 2 else t.rows for t in self.tables}

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value

    def to_dict(self) -> dict[str, Any]:
        """Everything for people, as JSON can hold it (docs/report.md); :meth:`of` reads it."""
        return {
            "tool": self.tool,
            "tables": [{"title": t.title, "headers": list(t.headers), "rows": plain(t.rows)} for t in self.tables],
            "columns": [
                {
                    "title": c.title, "unit": c.unit, "combine": c.combine, "about": c.about,
                    "values": {f"{address:#x}": plain(value) for address, value in c.values.items()},
                }
                for c in self.columns
            ],
            "plots": [{"title": p.title, "spec": p.spec} for p in self.plots],
        }  # fmt: skip

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Report:
        """The report that :meth:`to_dict` has told of in ``data``, without its :attr:`result`."""
        made = cls(data["tool"])
        for table in data["tables"]:
            made.table(table["title"], table["rows"], table["headers"])
        for c in data["columns"]:
            values = {int(address, 0): value for address, value in c["values"].items()}
            made.column(c["title"], values, unit=c["unit"], combine=c["combine"], about=c["about"])
        for plot in data["plots"]:
            made.plot(plot["title"], plot["spec"])
        return made
