"""Files with the findings that were there before: only new ones count."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ArgumentError
from ..reports.frames import chain, shown
from .identity import stable

_VERSION = 1


class Baseline:
    """How many findings of each identity were there."""

    def __init__(self, counts: Mapping[str, int] | None = None):
        self.counts = Counter(counts or {})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Baseline:
        """A file that :meth:`text` made. ArgumentError for any other."""
        try:
            with open(path, "rb") as file:
                content = json.load(file)
        except OSError as error:
            raise ArgumentError(f"baseline {os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
        except ValueError:
            raise ArgumentError(f"baseline {os.fspath(path)}: it is not JSON") from None
        if not isinstance(content, dict) or content.get("luthier-baseline") != _VERSION:
            raise ArgumentError(f"baseline {os.fspath(path)}: it is none of version {_VERSION}: --write-baseline makes one")
        rows = content.get("findings")
        if not isinstance(rows, list) or not all(isinstance(r, dict) and isinstance(r.get("id"), str) for r in rows):
            raise ArgumentError(f"baseline {os.fspath(path)}: its findings have no ids")
        return cls(Counter(row["id"] for row in rows))

    @staticmethod
    def text(findings: Iterable[Mapping[str, Any]]) -> str:
        """The file's content for these findings: a line for each, in an order that does not change."""
        rows = []
        for finding in findings:
            frames = chain(finding)
            source = shown(frames[0]) if frames else None
            rows.append({"id": stable(finding), "kind": finding["kind"], "kernel": finding["kernel"], "source": source})
        rows.sort(key=lambda row: (row["kind"], row["kernel"], row["source"] or "", row["id"]))
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        return f'{{"luthier-baseline": {_VERSION}, "findings": [\n{lines}\n]}}\n'
