"""Long work on a terminal: a bar while it goes on, and nothing of it when it is over. Files and other programs get lines."""

from __future__ import annotations

import sys
from typing import Any


class Bar:
    """A bar on standard error, where that is a terminal and rich is there (``pip install 'luthier[progress]'``)."""

    def __init__(self, what: str):
        self._what = what
        self._progress: Any = None
        self._task: Any = None
        self._is_possible = sys.stderr.isatty()

    def show(self, done: int, of: int, more: str = "") -> bool:
        """Shows how far the work is; whether it could."""
        if not self._is_possible:
            return False
        self._progress = self._progress or self._begin()
        if self._progress is None:
            return False
        self._progress.update(self._task, completed=done, total=of, more=more)
        return True

    def close(self) -> None:
        """Takes the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _begin(self) -> Any:
        """The bar; None without rich."""
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        except ImportError:
            self._is_possible = False
            return None
        columns = (
            TextColumn("luthier: {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        made = Progress(*columns, TextColumn("{task.fields[more]}"), console=Console(stderr=True), transient=True)
        self._task = made.add_task(self._what, total=None, more="")
        made.start()
        return made

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
